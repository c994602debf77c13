package exitsignal

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

func told(t *testing.T, r *Result, name string) string {
	t.Helper()
	for _, f := range r.Snapshot().Flags() {
		if f.Name == name {
			return string(f.Severity) + ": " + f.Message
		}
	}
	return ""
}

// A gain of zero of shares that nobody knows the cost of is none: the agent is told how many they are.
func TestUnknownCostIsTold(t *testing.T) {
	all := Check(input("96", trade("2024-03-01 main TRANSFER_IN SLV 30 0")))
	if want := "warning: 15 of 15 shares to sell have no known cost: the gain is unknown"; told(t, all, "unknown_cost") != want {
		t.Errorf("%q", told(t, all, "unknown_cost"))
	}
	body, err := json.Marshal(Reply(all, Params{Format: reply.FormatAgent}, agentformat.File{}).Body)
	if err != nil || !strings.Contains(string(body), `"quantity_without_cost":15`) {
		t.Errorf("%s, %v", body, err)
	}
	known := Check(input("96", trade("2023-01-10 main BUY SLV 30 80")))
	body, err = json.Marshal(Reply(known, Params{Format: reply.FormatAgent}, agentformat.File{}).Body)
	if err != nil || told(t, known, "unknown_cost") != "" || strings.Contains(string(body), "quantity_without_cost") {
		t.Errorf("%s, %v", body, err)
	}
	in := input("96", trade("2024-03-01 main TRANSFER_IN SLV 30 0"))
	s := CheckAll(in, []string{"SLV"}, func(string) (exitrule.Market, error) { return in.Market, nil }).Snapshot()
	var names []string
	for _, f := range s.Flags() {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"exit_signal", "unknown_cost"}, names); diff != "" || s.Exits[0].WithoutCost != 15 {
		t.Errorf("%+v\n%s", s.Exits, diff)
	}
}

// What a note says is a flag where it changes what to do.
func TestNotesAreFlags(t *testing.T) {
	more := input("96", trade("2023-01-10 main BUY SLV 30 80"), trade("2023-02-10 second SELL SLV 5 80"))
	more.Shares = new(usd("200"))
	r := Check(more)
	if told(t, r, "shares_not_held") != "warning: 200 shares were asked for, 30 are held" || told(t, r, "history_problems") != "warning: 1 transaction of it not explained by the history" {
		t.Errorf("%+v", r.Snapshot().Flags())
	}
	bare := input("96")
	bare.Shares = new(usd("10"))
	if r := Check(bare); told(t, r, "no_history") == "" || told(t, r, "shares_not_held") != "" {
		t.Errorf("%+v", r.Snapshot().Flags())
	}
	part := input("96", trade("2023-01-10 main BUY SLV 30 80"))
	part.Shares = new(usd("10"))
	if diff := cmp.Diff([]string{"exit_signal", "trade_recommended"}, flagNames(Check(part))); diff != "" {
		t.Error(diff)
	}
}

// An account's id as a reply has cut it means that account, and the reply says which; if it could be
// another's, it is refused.
func TestCutAccount(t *testing.T) {
	one, other := "long-account-name-at-a-broker-number-1", "long-account-name-of-a-friend-number-1"
	in := input("96", trade("2023-01-10 "+one+" BUY SLV 30 80"))
	in.AccountID = reply.ShortAccount(one)
	r := Check(in)
	if r.Status != agentformat.StatusSuccess || r.AccountID != one || r.Snapshot().AccountID != one || r.Position.Shares.String() != "30" {
		t.Errorf("%+v", r)
	}
	market := func(string) (exitrule.Market, error) { return in.Market, nil }
	if s := CheckAll(in, []string{"SLV"}, market); s.AccountID != one || s.Snapshot().AccountID != one {
		t.Errorf("%+v", s)
	}
	in.AccountID = one
	if s := Check(in).Snapshot(); s.AccountID != "" {
		t.Errorf("%q was asked for whole", s.AccountID)
	}
	in.Rules.Accounts = append(in.Rules.Accounts, portfolio.Account{ID: other, Kind: portfolio.Taxable})
	in.AccountID = reply.ShortAccount(one)
	if r := Check(in); reply.ShortAccount(other) != in.AccountID || !strings.Contains(r.Error, "there is no account") {
		t.Errorf("%+v", r)
	}
}
