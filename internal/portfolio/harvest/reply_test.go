package harvest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

var harvestTime = time.Date(2026, 11, 13, 16, 30, 5, 0, time.UTC)

// harvestFormats are all of them; the empty one is the default.
var harvestFormats = []string{"", reply.FormatSummary, reply.FormatFull, reply.FormatReport, reply.FormatAgent}

func usual(t *testing.T) *Result {
	t.Helper()
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 100 30
		2026-11-02 ira BUY SLV 40 20
		2025-01-10 home BUY WIN 10 20
	`, "SLV 20\nWIN 30"))
	wantSuccess(t, r)
	return r
}

func TestAgentResponseStructure(t *testing.T) {
	got := Reply(usual(t), Params{Format: reply.FormatAgent}, agentformat.File{})
	if diff := cmp.Diff([]string{"file_path", "flags", "format", "snapshot", "status"}, jsonKeys(t, got.Body)); diff != "" {
		t.Error(diff)
	}
	body := jsonObject(t, got.Body)
	if got.Failed || body["status"] != "success" || body["format"] != "agent" {
		t.Errorf("%+v", got)
	}
}

func TestFileOutputAgent(t *testing.T) { testFile(t, reply.FormatAgent) }

func TestInlineNoFilePath(t *testing.T) {
	for _, format := range harvestFormats {
		got := Reply(usual(t), Params{Format: format, Output: reply.OutputInline}, agentformat.File{})
		if path := jsonObject(t, got.Body)["file_path"]; path != nil || got.FilePath != "" {
			t.Errorf("%s: %v", format, path)
		}
	}
}

func TestFileOutputReport(t *testing.T) { testFile(t, reply.FormatReport) }

func TestFileOutputFull(t *testing.T) { testFile(t, reply.FormatFull) }

func TestFileOutputSummary(t *testing.T) { testFile(t, reply.FormatSummary) }

// testFile checks that the reply tells of a file that has the full result.
func testFile(t *testing.T, format string) {
	result := usual(t)
	file := agentformat.Save(filepath.Join(t.TempDir(), "logs", "tax_harvest"), "tax_harvest", harvestTime, result)
	if file.Err != nil {
		t.Fatal(file.Err)
	}
	got := Reply(result, Params{Format: format, Output: reply.OutputFile}, file)
	body := jsonObject(t, got.Body)
	if body["file_path"] != file.Path || got.FilePath != file.Path || body["status"] != "success" || body["format"] != format {
		t.Errorf("%v", body)
	}
	if _, ok := body["file_error"]; ok {
		t.Errorf("%v", body)
	}
	data, err := os.ReadFile(file.Path)
	if err != nil {
		t.Fatal(err)
	}
	var saved map[string]any
	if err := json.Unmarshal(data, &saved); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(jsonObject(t, result), saved); diff != "" {
		t.Error(diff)
	}
}

// The snapshot has a few tickers, and the file has every lot, and every ticker at risk of a wash sale.
func TestFileHasEveryLot(t *testing.T) {
	const tickers = 8
	var book, prices strings.Builder
	for i := range tickers {
		fmt.Fprintf(&book, "2025-01-10 home BUY T%d 10 30\n2025-02-10 home BUY T%d 10 28\n2026-11-02 home BUY T%d 1 20\n", i, i, i)
		fmt.Fprintf(&prices, "T%d 20\n", i)
	}
	result := suggest(input(t, book.String(), prices.String()))
	wantSuccess(t, result)
	file := agentformat.Save(t.TempDir(), "tax_harvest", harvestTime, result)
	snapshot := Reply(result, Params{Format: reply.FormatAgent, Output: reply.OutputFile}, file).Body.(agentformat.Response[Snapshot]).Snapshot
	if len(snapshot.TopCandidates) != maxTickers || len(snapshot.WashSaleTickers) != maxTickers {
		t.Errorf("the snapshot has %v and %v", snapshot.TopCandidates, snapshot.WashSaleTickers)
	}
	data, err := os.ReadFile(file.Path)
	if err != nil {
		t.Fatal(err)
	}
	var saved struct {
		Candidates []struct{ Ticker, Acquired string }
		Warnings   []struct{ Ticker string } `json:"wash_sale_warnings"`
	}
	if err := json.Unmarshal(data, &saved); err != nil {
		t.Fatal(err)
	}
	lots, warned := map[string]bool{}, map[string]bool{}
	for _, c := range saved.Candidates {
		lots[c.Ticker+" "+c.Acquired] = true
	}
	for _, w := range saved.Warnings {
		warned[w.Ticker] = true
	}
	for i := range tickers {
		for _, acquired := range []string{"2025-01-10", "2025-02-10"} {
			if lot := fmt.Sprintf("T%d %s", i, acquired); !lots[lot] {
				t.Errorf("the file has no lot %s", lot)
			}
		}
		if !warned[fmt.Sprintf("T%d", i)] {
			t.Errorf("the file does not warn of T%d", i)
		}
	}
	if len(saved.Candidates) != 2*tickers {
		t.Errorf("the file has %d candidates", len(saved.Candidates))
	}
}

func TestAgentErrorPropagation(t *testing.T) {
	got := Reply(Failed(errors.New("the store is locked")), Params{Format: reply.FormatAgent}, agentformat.File{})
	response := got.Body.(agentformat.Response[Snapshot])
	if !got.Failed || response.Status != "error" || len(response.Flags) != 1 || response.Flags[0].Name != "harvest_error" {
		t.Errorf("%+v", response)
	}
	if diff := cmp.Diff(jsonKeys(t, Reply(usual(t), Params{Format: reply.FormatAgent}, agentformat.File{}).Body), jsonKeys(t, response)); diff != "" {
		t.Error(diff)
	}
}

func TestFileSaveReturnsNoneOnFailure(t *testing.T) {
	inTheWay := filepath.Join(t.TempDir(), "logs")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file := agentformat.Save(inTheWay, "tax_harvest", harvestTime, usual(t))
	if file.Err == nil || file.Path != "" {
		t.Fatalf("%+v", file)
	}
	for _, format := range harvestFormats {
		got := Reply(usual(t), Params{Format: format, Output: reply.OutputFile}, file)
		body := jsonObject(t, got.Body)
		why, _ := body["file_error"].(string)
		if body["file_path"] != nil || got.FilePath != "" || !strings.HasPrefix(why, "the result could not be saved") || got.Failed {
			t.Errorf("%s: %v", format, body)
		}
	}
}

func TestAgentEarlyReturnNoTransactions(t *testing.T) {
	testEarlyReturn(t, suggest(input(t, "", "")), noLotData)
}

func TestAgentEarlyReturnNoOpenLots(t *testing.T) {
	testEarlyReturn(t, suggest(input(t, "2025-01-10 home BUY SLV 10 30\n2025-02-10 home SELL SLV 10 40", "")), noOpenLots)
}

// testEarlyReturn checks that a reply without lots has the form of every other, with a flag
// that says why.
func testEarlyReturn(t *testing.T, result *Result, flag string) {
	file := agentformat.Save(t.TempDir(), "tax_harvest", harvestTime, result)
	for _, format := range harvestFormats {
		params := Params{Format: format, Output: reply.OutputFile}
		got := Reply(result, params, file)
		if diff := cmp.Diff(jsonKeys(t, Reply(usual(t), params, file).Body), jsonKeys(t, got.Body)); got.Failed || got.FilePath == "" || diff != "" {
			t.Errorf("%s: %+v\n%s", format, got, diff)
		}
	}
	response := Reply(result, Params{Format: reply.FormatAgent}, agentformat.File{}).Body.(agentformat.Response[Snapshot])
	if len(response.Flags) != 1 || response.Flags[0].Name != flag || response.Snapshot.CandidateCount != 0 {
		t.Errorf("%+v", response)
	}
}

// Outside of the agent format, an error is its status and text.
func TestErrorReplies(t *testing.T) {
	failed := Failed(errors.New("the store is locked"))
	for _, format := range []string{"", reply.FormatSummary, reply.FormatFull, reply.FormatReport} {
		got := Reply(failed, Params{Format: format}, agentformat.File{})
		if diff := cmp.Diff(map[string]any{"status": "error", "error": "the store is locked"}, jsonObject(t, got.Body)); diff != "" || !got.Failed {
			t.Error(format, diff)
		}
		got = Reply(failed, Params{Format: format, Output: reply.OutputFile}, agentformat.File{Path: "/saved.json"})
		if body := jsonObject(t, got.Body); body["file_path"] != "/saved.json" || got.FilePath != "/saved.json" {
			t.Errorf("%s: %v", format, body)
		}
	}
}

func TestDefaults(t *testing.T) {
	said := Reply(usual(t), Params{Format: reply.FormatSummary, Output: reply.OutputInline}, agentformat.File{})
	unsaid := Reply(usual(t), Params{}, agentformat.File{})
	if diff := cmp.Diff(jsonObject(t, said.Body), jsonObject(t, unsaid.Body)); diff != "" {
		t.Error(diff)
	}
}

func TestRefusesParams(t *testing.T) {
	for want, params := range map[string]Params{
		`format is full, summary, report or agent, not "json"`: {Format: "json"},
		`output is inline or file, not "printer"`:              {Output: "printer"},
	} {
		got := Reply(usual(t), params, agentformat.File{})
		if diff := cmp.Diff(map[string]any{"status": "error", "error": want}, jsonObject(t, got.Body)); diff != "" || !got.Failed {
			t.Error(diff)
		}
	}
	got := Reply(usual(t), Params{Format: reply.FormatAgent, Output: "printer"}, agentformat.File{})
	if response, ok := got.Body.(agentformat.Response[Snapshot]); !ok || response.Status != "error" || !got.Failed {
		t.Errorf("%+v", got)
	}
	in := input(t, "2025-01-10 home BUY SLV 10 30", "SLV 20")
	in.SortBy = "size"
	got = Reply(suggest(in), Params{SortBy: "size"}, agentformat.File{})
	if body := jsonObject(t, got.Body); body["status"] != "error" || !strings.Contains(body["error"].(string), "loss, ticker, date or term") {
		t.Errorf("%v", body)
	}
}

// Amounts are exact strings in the full result and the summary, and numbers in the snapshot.
func TestAmounts(t *testing.T) {
	in := input(t, "2025-01-10 home BUY SLV 3 10.123456", "SLV 10")
	r := suggest(in)
	for format, want := range map[string]any{reply.FormatFull: "-0.370368", reply.FormatSummary: "-0.370368"} {
		if got := jsonObject(t, Reply(r, Params{Format: format}, agentformat.File{}).Body)["total_harvestable_loss"]; got != want {
			t.Errorf("%s: %v", format, got)
		}
	}
	agent := jsonObject(t, Reply(r, Params{Format: reply.FormatAgent}, agentformat.File{}).Body)
	if got := agent["snapshot"].(map[string]any)["total_harvestable_loss"]; got != -0.37 {
		t.Errorf("%v", got)
	}
}

// The full result has the names that callers know.
func TestFullKeys(t *testing.T) {
	body := jsonObject(t, Reply(usual(t), Params{Format: reply.FormatFull}, agentformat.File{}).Body)
	candidate := body["candidates"].([]any)[0].(map[string]any)
	for key, object := range map[string]map[string]any{
		"status total_harvestable_loss short_term_loss long_term_loss candidate_count data_coverage_pct metadata wash_sale_warnings candidates disclaimer": body,
		"positions_analyzed positions_with_lots coverage_by_value_pct coverage_by_quantity_pct":                                                            body["metadata"].(map[string]any),
		"ticker purchases projected_reinvestments": body["wash_sale_warnings"].([]any)[0].(map[string]any),
		"ticker unrealized_loss holding_period wash_sale_risk account acquired holding_since quantity basis price price_date term washes disallowed permanently_disallowed unsettled no_buy_until projected_reinvestments long_term_from fifo_reaches": candidate,
		"account ticker bought quantity disallowed permanent unsettled": candidate["washes"].([]any)[0].(map[string]any),
	} {
		for name := range strings.FieldsSeq(key) {
			if _, ok := object[name]; !ok {
				t.Errorf("no %s in %v", name, object)
			}
		}
	}
}

func TestReport(t *testing.T) {
	got := Reply(usual(t), Params{Format: reply.FormatReport}, agentformat.File{})
	body := jsonObject(t, got.Body)
	report, _ := body["report"].(string)
	for _, want := range []string{
		"# Tax-loss harvest on 2026-11-13\n",
		"$1,000 harvestable losses across 1 lots (100% long-term), 100% data coverage, wash sale risk on 1 ticker.",
		"- **warning** Wash sale risk on 1 ticker: SLV",
		"| Lost for good of it | 400.00 |",
		"| SLV | home | 2025-01-10 | long | 100 | 3,000.00 | 20 on 2026-11-13 | -1,000.00 | 400.00 | 400.00 | 0.00 | 2026-12-03 | fifo |",
		"from 2026-12-14",
		"- **SLV**: 400.00 disallowed if sold today; ira bought SLV on 2026-11-02 (lost for good)",
		reply.Disclaimer,
	} {
		if !strings.Contains(report, want) {
			t.Errorf("no %q in\n%s", want, report)
		}
	}
	for _, format := range harvestFormats {
		got := Reply(suggest(input(t, "", "")), Params{Format: format}, agentformat.File{})
		data, _ := json.Marshal(got.Body)
		if !strings.Contains(string(data), "not tax or investment advice") {
			t.Errorf("%s has no disclaimer: %s", format, data)
		}
	}
}

// Names and texts from files are no markup.
func TestReportEscapes(t *testing.T) {
	r := usual(t)
	hostile := "x|y <script>[a](http://b) *c* `d` www.e.org\x1b[31m\n# f"
	r.Candidates[0].Account, r.Candidates[0].Ticker = hostile, hostile
	r.WashSaleWarnings[0].Ticker = hostile
	r.WashSaleWarnings[0].Purchases[0].Account = hostile
	r.WashSaleWarnings[0].Projected = []Reinvestment{{hostile, hostile, r.AsOf}}
	r.MissingPrices, r.StalePrices = []string{hostile}, []Price{{hostile, r.AsOf}}
	r.Unreconciled = []Mismatch{{hostile, hostile, portfolio.Decimal{}, portfolio.Decimal{}}}
	r.Problems, r.ProblemCount = []Problem{{r.AsOf, hostile, hostile, hostile}}, 3
	report := r.Markdown()
	for _, bad := range []string{"x|y", "<script>", "[a]", "http://", "*c*", "`d`", "\x1b", "www.", "\n# f"} {
		if at := strings.Index(strings.ReplaceAll(report, `\<`, ""), bad); at >= 0 {
			t.Errorf("%q in the report: %.80q", bad, report[max(at-20, 0):])
		}
	}
	if n := strings.Count(report, `x\|y`); n < 12 {
		t.Errorf("the names are there %d times only:\n%s", n, report)
	}
}
