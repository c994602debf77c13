package harvest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// An agent that has the reply alone knows which lot of which account to sell, what is washed of it,
// and from when on it is not.
func TestOffers(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 100 30
		2026-06-01 high BUY SLV 10.5 41
		2026-11-02 ira BUY SLV 40 20
		2024-01-10 home BUY GLD 10 100
		2024-05-10 home BUY GLD 10 250
	`, "SLV 20\nGLD 200"))
	wantSuccess(t, r)
	body := Reply(r, Params{Format: reply.FormatAgent}, agentformat.File{}).Body.(agentformat.Response[Snapshot])
	want := []Offer{
		{
			Ticker: "SLV", Account: "home", Acquired: dayOf("2025-01-10"), Shares: 100, Loss: -1000, Term: "long",
			Disallowed: 400, Permanent: new(400.0), WashedBy: &Washer{"ira", dayOf("2026-11-02"), 40}, NoBuyUntil: dayOf("2026-12-14"), WashFreeFrom: dayOf("2026-12-03"),
		},
		{Ticker: "GLD", Account: "home", Acquired: dayOf("2024-05-10"), Shares: 10, Loss: -500, Term: "long", NoBuyUntil: dayOf("2026-12-14"), NameTheLot: true},
		{
			Ticker: "SLV", Account: "high", Acquired: dayOf("2026-06-01"), Shares: 10.5, Loss: -220.5, Term: "short",
			Disallowed: 220.5, Permanent: new(220.5), WashedBy: &Washer{"ira", dayOf("2026-11-02"), 10.5}, NoBuyUntil: dayOf("2026-12-14"), WashFreeFrom: dayOf("2026-12-03"),
		},
	}
	if diff := cmp.Diff(want, body.Snapshot.Lots, cmpopts.EquateComparable(portfolio.Date{}), cmpopts.IgnoreUnexported(Offer{})); diff != "" || body.Snapshot.LotsOmitted != 0 {
		t.Errorf("%d omitted\n%s", body.Snapshot.LotsOmitted, diff)
	}
	wantFlag(t, r, agentformat.Flag{
		Name: "name_the_lot", Severity: agentformat.Info,
		Message: "1 lot must be named in a sale, or the account's method sells another first (not needed if all shares of it there are sold together): GLD in home of 2024-05-10 (first: that of 2024-01-10, a gain)",
	})
}

// Lots come in the order that was asked for; those that are left out are counted, and flags know them.
func TestOffersOmitted(t *testing.T) {
	var candidates []Candidate
	for i := range 30 {
		c := candidate(fmt.Sprintf("T%02d", i), fmt.Sprintf("-%d", 100+i), "short_term")
		c.Account, c.Acquired = "Z12345678", dayOf("2026-05-19")
		if i >= 25 {
			c.SoldFirst = &First{Acquired: dayOf("2026-01-02")}
		}
		candidates = append(candidates, c)
	}
	r := harvested(candidates...)
	s := r.Snapshot()
	sent := s.Capped()
	if len(sent.Lots) == 0 || len(sent.Lots) > maxOffers || len(sent.Lots)+sent.LotsOmitted != 30 || sent.Lots[0].Ticker != "T00" || len(s.Lots) != 30 {
		t.Errorf("%d lots, %d omitted", len(sent.Lots), sent.LotsOmitted)
	}
	wantFlag(t, r, agentformat.Flag{
		Name: "name_the_lot", Severity: agentformat.Info,
		Message: "5 lots must be named in a sale, or the account's method sells another first (not needed if all shares of it there are sold together): " +
			"T25 in Z12345678 of 2026-05-19 (first: that of 2026-01-02), T26 in Z12345678 of 2026-05-19 (first: that of 2026-01-02), " +
			"T27 in Z12345678 of 2026-05-19 (first: that of 2026-01-02) + 2 more",
	})
}

// Names of files are cut and escaped: both ends of an account's id are left.
func TestOffersAreSafe(t *testing.T) {
	c := candidate("EVIL\u202e\x1b[31m", "-10", "short_term")
	c.Account = "broker-" + strings.Repeat("x", 60) + "-0042"
	sent := harvested(c).Snapshot().Capped().Lots[0]
	if len(sent.Account) > 24 || !strings.HasSuffix(sent.Account, "-0042") || !strings.HasPrefix(sent.Account, "broker-") {
		t.Errorf("%q", sent.Account)
	}
	if strings.ContainsAny(sent.Ticker, "\u202e\x1b") {
		t.Errorf("%q", sent.Ticker)
	}
}

// An agent that is not shown all lots is told how to see them, and flags name lots that are shown alone.
func TestLotsOmittedAreTold(t *testing.T) {
	var candidates []Candidate
	for i := range 30 {
		c := candidate(fmt.Sprintf("T%02d", i), fmt.Sprintf("-%d", 200-i), "long_term")
		c.Account, c.Acquired = "Z12345678", dayOf("2025-05-19")
		if i == 1 || i >= 25 {
			c.SoldFirst = &First{Acquired: dayOf("2025-01-02")}
		}
		candidates = append(candidates, c)
	}
	for _, c := range []struct {
		file agentformat.File
		how  string
	}{
		{agentformat.File{}, "ask by account_id or with output=file, or leave out small ones by a higher min_loss"},
		{agentformat.File{Path: "/logs/x.json"}, "the file has them"},
	} {
		body := Reply(harvested(candidates...), Params{Format: reply.FormatAgent}, c.file).Body.(agentformat.Response[Snapshot])
		shown := len(body.Snapshot.Lots)
		told := map[string]string{}
		for _, f := range body.Flags {
			told[f.Name] = f.Message
		}
		if shown < 5 || shown > maxOffers || told["lots_omitted"] != fmt.Sprintf("%d lots not shown: %s", 30-shown, c.how) || body.Snapshot.LotsOmitted != 30-shown {
			t.Errorf("%d shown: %v", shown, told)
		}
		if !strings.HasPrefix(told["name_the_lot"], "1 lot must be named") || !strings.Contains(told["name_the_lot"], "T01 in Z12345678 of") {
			t.Error(told["name_the_lot"])
		}
	}
	if body := Reply(harvested(candidates[:2]...), Params{Format: reply.FormatAgent}, agentformat.File{}).Body.(agentformat.Response[Snapshot]); slices.ContainsFunc(body.Flags, func(f agentformat.Flag) bool { return f.Name == "lots_omitted" }) {
		t.Errorf("%v", body.Flags)
	}
	wantNoFlag(t, harvested(candidates...), "lots_omitted") // a summary and a report have their own lists
}

// The purchase that washes the most is told; what the law does not say for sure is none.
func TestWashedByTheMost(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 100 30
		2026-11-02 high BUY SLV 10 20
		2026-11-03 ira BUY SLV 30 20
		2026-11-04 work BUY SLV 50 20
	`, "SLV 20"))
	if got := r.Snapshot().Capped().Lots[0].WashedBy; got == nil || *got != (Washer{"ira", dayOf("2026-11-03"), 30}) {
		t.Errorf("%+v", got)
	}
	unsettled := suggest(input(t, "2025-01-10 home BUY SLV 100 30\n2026-11-04 work BUY SLV 50 20", "SLV 20"))
	if got := unsettled.Snapshot().Lots[0]; got.WashedBy != nil || got.Permanent != nil {
		t.Errorf("%+v", got)
	}
}
