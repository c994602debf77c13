package harvest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// notRead is a row of a day, an account and a ticker, as far as each is said.
func notRead(day, account, ticker string) portfolio.Unread {
	row := portfolio.Unread{Account: account, Symbol: ticker, Line: 7, Text: "Merger", Reason: "a merger; write it as MERGER"}
	if day != "" {
		row.Date = dayOf(day)
	}
	return row
}

func replied(t *testing.T, r *Result, format string) string {
	t.Helper()
	data, err := json.Marshal(Reply(r, Params{Format: format}, agentformat.File{}).Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const lossesOfThree = `
	2025-01-10 home BUY GONE 10 30
	2025-01-10 home BUY KEPT 10 30
	2025-01-10 high BUY WIN 10 1
`

// Of a ticker with an unread row nothing is advised, and no coverage counts it. Every format says so.
func TestUnreadRow(t *testing.T) {
	in := input(t, lossesOfThree, "GONE 20\nKEPT 10\nWIN 10")
	in.Unread = []portfolio.Unread{notRead("2026-02-03", "ira", "GONE"), notRead("2026-11-14", "home", "KEPT")}
	r := suggest(in)
	wantSuccess(t, r)
	if len(r.Candidates) != 1 || r.Candidates[0].Ticker != "KEPT" || r.TotalHarvestableLoss.Cmp(usd("-200")) != 0 || r.Metadata.LotsAnalyzed != 2 {
		t.Errorf("%+v", r.Candidates)
	}
	m := r.Metadata
	if m.PositionsAnalyzed != 3 || m.PositionsWithLots != 2 || m.PositionsUnread != 1 || m.PositionsUncertain != 1 || r.DataCoveragePct != 200.0/3 || *m.CoverageByValuePct != 50 {
		t.Errorf("%+v, %v", m, r.DataCoveragePct)
	}
	want := reply.Unread{
		UnreadRowCount: 1, UnreadTickers: []string{"GONE"}, MayBeOf: []string{}, UnassignedAccounts: []string{},
		UnreadRows: []reply.UnreadRow{{Ticker: "GONE", Account: "ira", Date: dayOf("2026-02-03"), Reason: "a merger; write it as MERGER"}},
	}
	if diff := cmp.Diff(want, r.Unread, cmp.Comparer(func(a, b portfolio.Date) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	wantFlag(t, r, agentformat.Flag{Name: "unread_rows", Severity: agentformat.Warning, Message: "1 row of 1 ticker could not be read: GONE — no advice on it: import what it did as CSV (if anything), then settle it: `portfolio unread`"})
	wantNoFlag(t, r, "unread_rows_no_ticker")
	if want := "$200 harvestable losses across 1 lots (100% long-term), 67% data coverage, unread rows on 1 ticker"; r.Snapshot().Verdict != want {
		t.Errorf("%s", r.Snapshot().Verdict)
	}
	for format, said := range map[string]string{
		reply.FormatSummary: `"unread_rows":[{"ticker":"GONE","account":"ira","date":"2026-02-03","reason":"a merger; write it as MERGER"}]`,
		reply.FormatFull:    `"unread_rows":[{"ticker":"GONE","account":"ira","date":"2026-02-03","reason":"a merger; write it as MERGER"}]`,
		reply.FormatReport:  `## Rows that were not read`,
		reply.FormatAgent:   `"unread_row_count":1,"unread_tickers":["GONE"]`,
	} {
		if got := replied(t, r, format); !strings.Contains(got, said) || format != reply.FormatFull && !strings.Contains(got, "unread rows on 1 ticker") {
			t.Errorf("%s lacks %s: %s", format, said, got)
		}
	}
	if !strings.Contains(r.Markdown(), "- 2026-02-03, GONE in ira: a merger; write it as MERGER\n") {
		t.Error(r.Markdown())
	}
	in.Unread = nil
	if r := suggest(in); len(r.Candidates) != 2 || r.DataCoveragePct != 100 || strings.Contains(replied(t, r, reply.FormatAgent), "unread") {
		t.Errorf("%+v", r)
	}
}

// A row that names no ticker withholds nothing. Its account is told, and nothing claims to be whole.
func TestUnreadRowWithoutTicker(t *testing.T) {
	in := input(t, lossesOfThree, "GONE 20\nKEPT 10\nWIN 10")
	in.Unread = []portfolio.Unread{notRead("", "home", ""), notRead("", "", ""), notRead("2026-02-03", "home", "")}
	r := suggest(in)
	if len(r.Candidates) != 2 || r.Metadata.PositionsWithLots != 3 || r.DataCoveragePct != 99.9 || *r.Metadata.CoverageByValuePct != 99.9 {
		t.Errorf("%+v, %v", r.Metadata, r.DataCoveragePct)
	}
	wantFlag(t, r, agentformat.Flag{Name: "unread_rows_no_ticker", Severity: agentformat.Warning,
		Message: "3 unread rows of an unnamed account, home name no ticker — any position of the account may be affected; import what they did as CSV (if anything), then settle them: `portfolio unread`"})
	wantNoFlag(t, r, "unread_rows")
	if verdict := r.Snapshot().Verdict; !strings.HasSuffix(verdict, ", 99% data coverage, 3 unread rows without a ticker") {
		t.Error(verdict)
	}
}

// That there is no loss is said for sure only if all rows were read.
func TestUnreadAndNoCandidates(t *testing.T) {
	for _, c := range []struct {
		row     portfolio.Unread
		message string
	}{
		{notRead("", "home", "WIN"), "No unrealized losses among the lots with a current price — of 1 position, 1 without lots or a current price, or with rows that were not read"},
		{notRead("", "home", "ELSE"), "No unrealized losses among the lots that are known — some rows were not read"},
		{notRead("", "home", ""), "No unrealized losses among the lots that are known — some rows were not read"},
	} {
		in := input(t, "2025-01-10 home BUY WIN 10 1", "WIN 10")
		in.Unread = []portfolio.Unread{c.row}
		r := suggest(in)
		wantFlag(t, r, agentformat.Flag{Name: "no_known_candidates", Severity: agentformat.Info, Message: c.message})
		wantNoFlag(t, r, "no_candidates")
		if r.DataCoveragePct > 99.9 {
			t.Errorf("%+v: %v", c.row, r.DataCoveragePct)
		}
	}
	in := input(t, "", "")
	in.Unread = []portfolio.Unread{notRead("", "home", "X")}
	wantFlag(t, suggest(in), agentformat.Flag{Name: "unread_rows", Severity: agentformat.Warning, Message: "1 row of 1 ticker could not be read: X — no advice on it: import what it did as CSV (if anything), then settle it: `portfolio unread`"})
}

// Whatever the portfolio: a ticker with an unread row is no candidate and counts in no coverage, in
// any format, and no coverage is whole.
func TestPropertyUnread(t *testing.T) {
	withheld := 0
	for seed := range uint64(1000) {
		in := randomInput(seed)
		random := rand.New(rand.NewPCG(seed, 7))
		before := Suggest(in)
		tickers := map[string]bool{}
		for range 1 + random.IntN(3) {
			row := notRead("", []string{"", "home", "ira"}[random.IntN(3)], []string{"", "A", "B", "C", "D"}[random.IntN(5)])
			if random.IntN(2) == 0 {
				row.Date = in.AsOf.Add(-random.IntN(900))
			}
			tickers[row.Symbol] = true
			in.Unread = append(in.Unread, row)
		}
		delete(tickers, "")
		r := Suggest(in)
		with := 0
		for _, p := range in.Book.Positions {
			kind := in.Rules.Accounts[slices.IndexFunc(in.Rules.Accounts, func(a portfolio.Account) bool { return a.ID == p.Account })].Kind
			if kind == portfolio.Taxable && p.InLots.Sign() > 0 && !tickers[p.Symbol] {
				with++
			}
		}
		kept := slices.DeleteFunc(slices.Clone(before.Candidates), func(c Candidate) bool { return tickers[c.Ticker] })
		withheld += len(before.Candidates) - len(kept)
		if len(r.Candidates) != len(kept) || r.Metadata.PositionsWithLots != with {
			t.Fatalf("seed %d: %d candidates of %d, %d positions with lots of %d", seed, len(r.Candidates), len(kept), r.Metadata.PositionsWithLots, with)
		}
		for _, format := range []string{reply.FormatSummary, reply.FormatFull, reply.FormatAgent} {
			var body struct {
				Candidates []Ticker `json:"candidates"`
				Coverage   float64  `json:"data_coverage_pct"`
				Metadata   struct {
					With int `json:"positions_with_lots"`
				} `json:"metadata"`
				Snapshot struct {
					Verdict  string   `json:"verdict"`
					Top      []Ticker `json:"top_candidates"`
					Lots     []Ticker `json:"lots"`
					Washes   []string `json:"wash_sale_tickers"`
					Coverage float64  `json:"data_coverage_pct"`
					With     int      `json:"positions_with_lots"`
				} `json:"snapshot"`
			}
			if err := json.Unmarshal([]byte(replied(t, r, format)), &body); err != nil {
				t.Fatal(err)
			}
			s := body.Snapshot
			for _, c := range slices.Concat(body.Candidates, s.Top, s.Lots) {
				if tickers[c.Ticker] {
					t.Fatalf("seed %d: %s has %s", seed, format, c.Ticker)
				}
			}
			if body.Coverage >= 100 || s.Coverage >= 100 || strings.Contains(s.Verdict, "100% data") || slices.ContainsFunc(s.Washes, func(x string) bool { return tickers[x] }) || s.With+body.Metadata.With != with {
				t.Fatalf("seed %d: %s: %+v", seed, format, body)
			}
		}
		for line := range strings.Lines(r.Markdown()) {
			for ticker := range tickers {
				if strings.HasPrefix(line, "| "+ticker+" |") || strings.Contains(line, "Lots cover 100%") {
					t.Fatalf("seed %d: %s", seed, line)
				}
			}
		}
	}
	if withheld < 300 {
		t.Errorf("only %d candidates were withheld", withheld)
	}
}

// However many rows there are, and whatever they say, replies stay small.
func TestUnreadRepliesAreBounded(t *testing.T) {
	in := largeInput(60, costlySymbol)
	in.Book = nil
	for i := range 3000 {
		row := notRead("", strings.Repeat("<&\"", 21), costlySymbol(i))
		row.Reason = strings.Repeat("\x1b<&\u202e\"\\é", 500)
		if i%3 == 0 {
			row.Symbol, row.Account = "", fmt.Sprint(i, strings.Repeat("&", 50))
		}
		in.Unread = append(in.Unread, row)
	}
	r := suggest(in)
	wantSuccess(t, r)
	if r.UnreadRowCount != 3000 || len(r.UnreadRows) != 100 || len(r.UnreadTickers) != 2000 || len(r.UnassignedAccounts) != 1000 || len(r.Candidates) == 0 {
		t.Fatalf("%d rows, %d told, %d tickers, %d accounts, %d candidates", r.UnreadRowCount, len(r.UnreadRows), len(r.UnreadTickers), len(r.UnassignedAccounts), len(r.Candidates))
	}
	agent, summary := replySize(t, r, reply.FormatAgent), replySize(t, r, reply.FormatSummary)
	t.Logf("agent %d, summary %d bytes", agent, summary)
	if agent > 3<<10 || summary > 2*maxHarvestSummary {
		t.Errorf("agent %d, summary %d bytes", agent, summary)
	}
	if s := r.Snapshot().Capped(); len(s.UnreadTickers) == 0 || len(s.UnreadTickers) > maxNamed || s.UnreadRowCount != 3000 {
		t.Errorf("%+v", s.unreadTold)
	}
	if report := replySize(t, r, reply.FormatReport); report > 200<<10 {
		t.Errorf("the report has %d bytes", report)
	}
}

// A coverage of 100 is of all shares: it does not stand beside a lower one by value.
func TestCoverageIsNotWholeBesideUnknownCost(t *testing.T) {
	r := suggest(input(t, "2025-01-10 home TRANSFER_IN HALF 10 0\n2025-01-10 home BUY HALF 10 20\n2025-01-10 home BUY FULL 10 1", "HALF 10\nFULL 10"))
	if r.Metadata.PositionsWithLots != 2 || r.DataCoveragePct != 99.9 || *r.Metadata.CoverageByValuePct >= 67 || !strings.Contains(r.Snapshot().Verdict, ", 99% data coverage") {
		t.Errorf("%v, %+v, %s", r.DataCoveragePct, r.Metadata, r.Snapshot().Verdict)
	}
}

// The coverage is rounded down: 100 is all.
func TestCoverageIsRoundedDown(t *testing.T) {
	for pct, want := range map[float64]float64{99.96: 99.9, 99.9: 99.9, 99.999999: 99.9, 100: 100, 0: 0, 53.8: 53.8, 200.0 / 3: 66.6, 0.1: 0.1, 33.3: 33.3} {
		if got := roundedDown(pct); got != want {
			t.Errorf("%v became %v, want %v", pct, got, want)
		}
	}
}

// A row counts once, whatever it may be of. One without a ticker tells its account and what it withholds.
func TestUnreadRowCountsOnce(t *testing.T) {
	in := input(t, lossesOfThree, "GONE 20\nKEPT 10\nWIN 10")
	copied := func(place int, ticker string) portfolio.Unread {
		row := notRead("2026-02-03", "home", ticker)
		row.Original = place
		return row
	}
	in.Unread = []portfolio.Unread{notRead("2026-02-03", "home", ""), notRead("2026-02-03", "home", "OLD"), copied(1, "GONE"), copied(1, "OLD"), copied(2, "KEPT")}
	r := suggest(in)
	if r.UnreadRowCount != 2 || r.Unassigned != 1 || len(r.Candidates) != 0 || len(r.UnreadRows) != 4 {
		t.Errorf("%+v", r.Unread)
	}
	if diff := cmp.Diff([][]string{{"GONE", "KEPT", "OLD"}, {"GONE"}, {"home"}}, [][]string{r.UnreadTickers, r.MayBeOf, r.UnassignedAccounts}); diff != "" {
		t.Error(diff)
	}
	wantFlag(t, r, agentformat.Flag{Name: "unread_rows", Severity: agentformat.Warning,
		Message: "1 row of 2 tickers could not be read: KEPT, OLD — no advice on them: import what it did as CSV (if anything), then settle it: `portfolio unread`"})
	wantFlag(t, r, agentformat.Flag{Name: "unread_rows_no_ticker", Severity: agentformat.Warning,
		Message: "1 unread row of home names no ticker — 1 ticker withheld, since it may be of it: GONE"})
	if verdict := r.Snapshot().Verdict; !strings.HasSuffix(verdict, ", unread rows on 2 tickers, 1 unread row without a ticker") {
		t.Error(verdict)
	}
}
