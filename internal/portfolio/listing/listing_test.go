package listing

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
	"github.com/signalbox-dev/signalbox/internal/portfolio/report"
)

func usd(s string) portfolio.Decimal {
	d, err := portfolio.ParseDecimal(s)
	if err != nil {
		panic(err)
	}
	return d
}

func day(s string) portfolio.Date {
	d, err := portfolio.ParseDate(s)
	if err != nil {
		panic(err)
	}
	return d
}

// input is a portfolio on 2026-11-13 with rows of "date account action symbol quantity price".
func input(t *testing.T, rows string) Input {
	t.Helper()
	in := Input{AsOf: day("2026-11-13"), Accounts: []portfolio.Account{{ID: "home", Kind: portfolio.Taxable, Method: portfolio.FIFO}, {ID: "ira", Kind: portfolio.IRA, Method: portfolio.FIFO}}}
	var history []portfolio.Transaction
	for row := range strings.Lines(rows) {
		f := strings.Fields(row)
		if len(f) < 6 {
			continue
		}
		history = append(history, portfolio.Transaction{Date: day(f[0]), Account: f[1], Action: portfolio.Action(f[2]), Symbol: f[3], Quantity: usd(f[4]), Price: usd(f[5])})
	}
	in.Book = lots.Build(history, lots.Rules{Accounts: in.Accounts}, in.AsOf)
	return in
}

func names(list []agentformat.Flag) (names []string) {
	for _, f := range list {
		names = append(names, f.Name)
	}
	return names
}

// The window of a loss is open on the thirtieth day, and closed on the day after; it is no one's
// concern once nothing is left of the loss.
func TestWindowOpenUntil(t *testing.T) {
	in := input(t, `
		2025-01-10 home BUY A 10 50
		2025-01-10 home BUY B 10 50
		2025-01-10 home BUY C 10 50
		2025-01-10 home BUY D 10 50
		2026-10-14 home SELL A 10 40
		2026-10-13 home SELL B 10 40
		2026-11-02 home SELL C 10 60
		2026-11-02 home SELL D 10 40
		2026-11-03 home BUY D 10 40
		2025-01-10 home BUY E 10 50
		2026-11-02 home SELL E 10 40
		2026-11-03 home BUY E 4 40
	`)
	got := map[string]string{}
	for _, g := range in.Gains() {
		got[g.Symbol] = g.WindowOpenUntil.String()
	}
	want := map[string]string{"A": "2026-11-13", "B": "", "C": "", "D": "", "E": "2026-12-02"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	r := ListGains(in)
	text, err := json.Marshal(r)
	if err != nil || strings.Count(string(text), "window_open_until") != 2 {
		t.Errorf("%s, %v", text, err)
	}
	wantFlag := agentformat.Flag{Name: "window_open", Severity: agentformat.Warning, Message: "Losses of 2 tickers can still be washed by a purchase up to 2026-12-02: E, A"}
	if flags := r.Snapshot().Flags(); flags[0] != wantFlag {
		t.Errorf("%v", flags)
	}
}

func TestListGains(t *testing.T) {
	in := input(t, `
		2024-01-10 home BUY A 10 50
		2025-06-10 home SELL A 5 60
		2026-06-10 home SELL A 5 70
		2026-01-10 home BUY B 10 50
		2026-03-10 home SELL B 10 40
		2026-03-12 ira BUY B 5 40
		2026-02-02 home TRANSFER_IN C 10 0
		2026-04-10 home SELL C 10 40
	`)
	in.Year = 2026
	r := ListGains(in)
	if r.Status != agentformat.StatusSuccess || r.GainCount != 2 || r.Short.String() != "-50" || r.Long.String() != "100" ||
		r.Disallowed.String() != "50" || r.Permanent.String() != "50" || len(r.UnknownGains) != 1 {
		t.Fatalf("%+v", r)
	}
	s := r.Snapshot()
	if want := "Realised in 2026: -$50 short-term, $100 long-term, in 2 rows, $50 disallowed; 1 sale of unknown cost not counted"; s.Verdict != want {
		t.Errorf("%s", s.Verdict)
	}
	if s.Gains[0].Symbol != "A" || s.Gains[1].Disallowed != 50 {
		t.Errorf("%+v", s.Gains)
	}
	if got := names(s.Flags()); got[0] != "unknown_cost" || got[len(got)-1] != "wash_sales" {
		t.Errorf("%v", got)
	}
	in.Symbol = "A"
	if one := ListGains(in); one.GainCount != 1 || len(one.UnknownGains) != 0 || names(one.Snapshot().Flags())[0] != "gains_known" {
		t.Errorf("%+v", one)
	}
	in.Year = 2023
	if none := ListGains(in).Snapshot(); none.Verdict != "Nothing was sold in 2023 in a taxable account" || names(none.Flags())[0] != "no_gains" {
		t.Errorf("%+v", none)
	}
	in.AccountID = "x"
	if r := ListGains(in); r.Error != `there is no account "x"; the accounts are "home", "ira"` {
		t.Errorf("%s", r.Error)
	}
}

func position(symbol, account, quantity, inLots, basis, price, on string) report.Position {
	p := report.Position{Symbol: symbol, Account: account, Quantity: usd(quantity), InLots: usd(inLots), Basis: usd(basis)}
	if on != "" {
		p.Price, p.PricedOn = usd(price), day(on)
		p.Long = p.InLots.Mul(p.Price).Sub(p.Basis)
	}
	return p
}

func TestListPositions(t *testing.T) {
	in := input(t, "2024-01-10 home BUY A 10 50\n2024-01-10 home BUY B 4 50")
	in.Positions = []report.Position{
		position("A", "home", "10", "10", "500", "60", "2026-11-13"), position("B", "home", "4", "4", "200", "900", "2026-09-01"),
		position("C", "ira", "3", "0", "0", "", ""),
	}
	r := ListPositions(in)
	if r.Status != agentformat.StatusSuccess || r.PositionCount != 3 || r.LotCount != 2 || r.Value.String() != "4200" || r.Gain.String() != "3500" {
		t.Fatalf("%+v", r)
	}
	s := r.Snapshot()
	if s.Positions[0].Symbol != "B" || s.Positions[2].Value != nil || s.Verdict != "3 positions worth $4,200, $3,500 unrealised without shares of unknown cost (1 ticker); 1 ticker without a price not counted" {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{"unknown_cost", "missing_prices", "stale_prices"}, names(s.Flags())); diff != "" {
		t.Error(diff)
	}
	in.AccountID, in.Symbol = "home", "A"
	if one := ListPositions(in); one.PositionCount != 1 || one.LotCount != 1 || names(one.Snapshot().Flags())[0] != "positions_known" {
		t.Errorf("%+v", one)
	}
	in.Symbol = "NOPE"
	if none := ListPositions(in); names(none.Snapshot().Flags())[0] != "no_positions" {
		t.Errorf("%+v", none)
	}
}

// Rows that nobody could read are told with the rows that they may spoil.
func TestUnreadRowsAreTold(t *testing.T) {
	in := input(t, "2024-01-10 home BUY A 10 50\n2026-06-10 home SELL A 5 70\n2024-01-10 home BUY B 4 50")
	in.Positions = []report.Position{position("A", "home", "5", "5", "250", "60", "2026-11-13"), position("B", "home", "4", "4", "200", "900", "2026-11-13")}
	in.Unread = []portfolio.Unread{{Symbol: "A", Account: "home"}, {Account: "home"}, {Symbol: "Z"}}
	gains, positions := ListGains(in), ListPositions(in)
	if !gains.Gains[0].UnreadRows || !positions.Positions[0].UnreadRows || positions.Positions[1].UnreadRows {
		t.Errorf("%+v, %+v", gains.Gains, positions.Positions)
	}
	for _, flags := range [][]agentformat.Flag{gains.Snapshot().Flags(), positions.Snapshot().Flags()} {
		if diff := cmp.Diff([]string{"unread_rows", "unread_rows_no_ticker"}, names(flags)); diff != "" {
			t.Error(diff)
		}
		if want := "Some rows of 2 tickers could not be read: A, Z — what is listed of them may be wrong, or lacks something: import what they did as CSV (if anything), then settle them: `portfolio unread`"; flags[0].Message != want {
			t.Errorf("%s", flags[0].Message)
		}
		if want := "1 row that could not be read names no ticker — any position may be affected"; flags[1].Message != want {
			t.Errorf("%s", flags[1].Message)
		}
	}
}

// An agent's reply is at most 3 KB with the longest names and numbers, and its keys are the same on failure.
func TestSizesAndKeys(t *testing.T) {
	huge := usd("-123456789012345678901234567890")
	gains := &GainsResult{Status: agentformat.StatusSuccess, AsOf: day("2026-11-13"), GainCount: 1e9, Short: huge, Long: huge, Disallowed: huge.Neg(), Permanent: huge.Neg(), Unsettled: huge.Neg()}
	positions := &PositionsResult{Status: agentformat.StatusSuccess, AsOf: day("2026-11-13"), PositionCount: 1e9, LotCount: 1e9, Value: huge.Neg(), Gain: &huge}
	for i := range 500 {
		symbol, account := fmt.Sprintf("%04d%s", i, strings.Repeat("&", 28)), strings.Repeat("\"&", 32)
		d := lots.Disposal{Symbol: symbol, Account: account, Quantity: huge.Neg(), Basis: huge.Neg(), Sold: day("2026-11-13"), Acquired: day("2026-11-13")}
		gains.Gains = append(gains.Gains, Gain{Symbol: symbol, Account: account, Quantity: huge.Neg(), Acquired: d.Acquired, Sold: d.Sold, Term: "short", WindowOpenUntil: d.Sold, Disposal: d})
		gains.UnknownGains = append(gains.UnknownGains, UnknownGain{Symbol: symbol})
		p := position(symbol, account, "123456789012345678901234567890", "1", "1", "123456789012345678901234567890", "2026-09-01")
		row := Position{Symbol: symbol, Account: account, Quantity: p.Quantity, InLots: p.InLots, Unknown: p.Quantity, Basis: new("1"), Position: p}
		if i%2 == 0 {
			row.Price, row.PricedOn, row.Gain = new("1"), &p.PricedOn, new("1")
		}
		positions.Positions = append(positions.Positions, row)
		gains.Unread = append(gains.Unread, symbol)
	}
	gains.Unassigned, gains.problems = 1e9, 1e9
	positions.doubts = gains.doubts
	file := agentformat.File{Path: "/home/" + strings.Repeat("x", 160) + "/logs/gains/gains_2026_20261113_163005.json"}
	for name, body := range map[string]any{
		"gains": GainsReply(gains, Params{Format: reply.FormatAgent}, file).Body, "positions": PositionsReply(positions, Params{Format: reply.FormatAgent}, file).Body,
		"failed gains":     GainsReply(FailedGains(errors.New(strings.Repeat("<\x00", 9999))), Params{Format: reply.FormatAgent}, file).Body,
		"failed positions": PositionsReply(FailedPositions(errors.New(strings.Repeat("<\x00", 9999))), Params{Format: reply.FormatAgent}, file).Body,
	} {
		data, err := json.Marshal(body)
		if err != nil || len(data) > 3<<10 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		t.Logf("%s: %d bytes", name, len(data))
	}
	g, p := gains.Snapshot().Capped(), positions.Snapshot().Capped()
	if len(g.Gains) < 3 || len(g.Gains)+g.Omitted != 500 || len(p.Positions) < 3 || len(p.Positions)+p.Omitted != 500 {
		t.Errorf("%d gains, %d positions", len(g.Gains), len(p.Positions))
	}
	for name, pair := range map[string][2]any{
		"gains":     {g, FailedGains(errors.New("no")).Snapshot().Capped()},
		"positions": {p, FailedPositions(errors.New("no")).Snapshot().Capped()},
	} {
		if diff := cmp.Diff(keys(t, pair[0]), keys(t, pair[1])); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func keys(t *testing.T, v any) map[string]bool {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for key := range object {
		set[key] = true
	}
	return set
}

func TestSummaries(t *testing.T) {
	in := input(t, "2024-01-10 home BUY A 100 50")
	for i := range 30 {
		in.Positions = append(in.Positions, position(fmt.Sprintf("S%02d", i), "home", "1", "1", "1", "2", "2026-11-13"))
	}
	body := PositionsReply(ListPositions(in), Params{}, agentformat.File{}).Body.(PositionsSummary)
	if len(body.Positions) != maxSummary || body.Omitted != 10 || body.Format != "summary" {
		t.Errorf("%d, %d", len(body.Positions), body.Omitted)
	}
	failed := GainsReply(ListGains(in), Params{Format: "report"}, agentformat.File{})
	if data, _ := json.Marshal(failed.Body); !failed.Failed || string(data) != `{"status":"error","error":"format is summary, full or agent, not \"report\""}` {
		t.Errorf("%s", data)
	}
}

var (
	_ agentformat.Snapshot[GainsSnapshot]     = GainsSnapshot{}
	_ agentformat.Snapshot[PositionsSnapshot] = PositionsSnapshot{}
)

// A cost that nobody knows is null, not zero, and the shares of unknown cost are counted.
func TestUnknownCostIsNull(t *testing.T) {
	in := input(t, "2024-01-10 home BUY A 20 330")
	in.Positions = []report.Position{
		position("A", "home", "70", "20", "6600", "300", "2026-11-13"), position("Q", "home", "10", "0", "0", "600", "2026-11-13"),
	}
	r := ListPositions(in)
	s := r.Snapshot()
	part, none := s.Positions[0], s.Positions[1]
	if *part.Basis != 6600 || *part.Gain != -600 || part.Unknown != 50 || none.Basis != nil || none.Gain != nil || *none.Value != 6000 || none.Unknown != 10 {
		t.Errorf("%+v", s.Positions)
	}
	if s.Verdict != "2 positions worth $27,000, -$600 unrealised without shares of unknown cost (2 tickers)" {
		t.Error(s.Verdict)
	}
	data, err := json.Marshal(r.Positions)
	if err != nil || !strings.Contains(string(data), `"basis":null,"price":"600.00","priced_on":"2026-11-13","value":"6000.00","gain":null,"unknown_cost_shares":"10"`) {
		t.Errorf("%s, %v", data, err)
	}
	in.Symbol = "Q"
	if s := ListPositions(in).Snapshot(); s.Gain != nil || s.Verdict != "1 position worth $6,000, gain unknown" {
		t.Errorf("%+v", s)
	}
}

// An account's id as a reply has cut it means that account, and the reply says which.
func TestCutAccount(t *testing.T) {
	const whole = "long-account-name-at-a-broker-number-1"
	in := input(t, "2024-01-10 "+whole+" BUY A 10 50\n2026-06-10 "+whole+" SELL A 5 60\n2024-01-10 home BUY A 10 50")
	in.Accounts = append(in.Accounts, portfolio.Account{ID: whole, Kind: portfolio.Taxable})
	in.AccountID = reply.ShortAccount(whole)
	gains, positions := ListGains(in), ListPositions(in)
	if gains.GainCount != 1 || positions.LotCount != 1 || gains.Snapshot().AccountID != whole || positions.Snapshot().AccountID != whole {
		t.Errorf("%+v, %+v", gains, positions)
	}
	if v := gains.Snapshot().Verdict; v != "Realised: $0 short-term, $50 long-term, in 1 row" {
		t.Error(v)
	}
}
