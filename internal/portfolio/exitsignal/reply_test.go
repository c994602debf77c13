package exitsignal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
)

func answered(t *testing.T, r *Result, format string, file agentformat.File) map[string]any {
	t.Helper()
	return jsonObject(t, Reply(r, Params{Format: format}, file).Body)
}

// saved is the file of a result, as the callers of the tool write it.
func saved(t *testing.T, r *Result) agentformat.File {
	t.Helper()
	file := agentformat.Save(filepath.Join(t.TempDir(), "exit_signals"), r.FileName(), time.Date(2024, 5, 31, 16, 5, 9, 0, time.UTC), r)
	if file.Err != nil {
		t.Fatal(file.Err)
	}
	return file
}

// wantSaved checks that a reply names a file with the full result.
func wantSaved(t *testing.T, got map[string]any) {
	t.Helper()
	path, _ := got["file_path"].(string)
	if filepath.Base(path) != "exit_signals_SLV_20240531_160509.json" || !filepath.IsAbs(path) {
		t.Fatalf("the path is %q", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var full map[string]any
	if err := json.Unmarshal(data, &full); err != nil {
		t.Fatal(err)
	}
	position, _ := full["position"].(map[string]any)
	if full["ticker"] != "SLV" || position["shares"] != "100" {
		t.Errorf("the file has %s", data)
	}
}

// test_agent_response_structure
func TestAgentResponseStructure(t *testing.T) {
	got := answered(t, selling(assessed("EXIT (a)"), "50", "100"), reply.FormatAgent, agentformat.File{})
	for _, key := range []string{"status", "format", "snapshot", "flags", "file_path"} {
		if _, ok := got[key]; !ok {
			t.Errorf("there is no %s", key)
		}
	}
	if len(got) != 5 || got["status"] != "success" || got["format"] != "agent" {
		t.Errorf("got %v", got)
	}
}

// test_file_output_agent
func TestFileOutputAgent(t *testing.T) {
	r := selling(assessed("EXIT (a)"), "50", "100")
	wantSaved(t, answered(t, r, reply.FormatAgent, saved(t, r)))
}

// test_inline_no_file_path
func TestInlineNoFilePath(t *testing.T) {
	got := answered(t, assessed("HOLD"), reply.FormatAgent, agentformat.File{})
	if path, ok := got["file_path"]; !ok || path != nil {
		t.Errorf("file_path is %v", path)
	}
}

// test_file_output_summary
func TestFileOutputSummary(t *testing.T) {
	r := selling(assessed("EXIT (a)"), "50", "100")
	for _, format := range []string{"", reply.FormatSummary} {
		got := answered(t, r, format, saved(t, r))
		wantSaved(t, got)
		if got["format"] != "summary" || got["sell_quantity"] != "50" || got["verdict"] != "SLV: EXIT (a) — sell 50 of 100 shares" {
			t.Errorf("got %v", got)
		}
	}
}

// test_file_output_full
func TestFileOutputFull(t *testing.T) {
	r := selling(assessed("EXIT (a)"), "50", "100")
	got := answered(t, r, reply.FormatFull, saved(t, r))
	wantSaved(t, got)
	for _, key := range []string{
		"status", "ticker", "overall_assessment", "assessment", "signals", "trade_eligible", "recommended_actions", "position", "sizing", "tax", "as_of", "disclaimer",
	} {
		if _, ok := got[key]; !ok {
			t.Errorf("there is no %s", key)
		}
	}
}

// test_agent_error_propagation
func TestAgentErrorPropagation(t *testing.T) {
	r := Failed("SLV", errors.New("no prices"))
	got := Reply(r, Params{Format: reply.FormatAgent}, agentformat.File{})
	body := jsonObject(t, got.Body)
	flags, _ := body["flags"].([]any)
	if !got.Failed || body["status"] != "error" || len(flags) != 1 || flags[0].(map[string]any)["flag"] != "signal_error" {
		t.Errorf("got %v", body)
	}
}

// Outside agent format an error is a status and a text, and what became of the file.
func TestErrorReply(t *testing.T) {
	r := Failed("SLV", errors.New("no prices"))
	for _, format := range []string{"", reply.FormatSummary, reply.FormatFull} {
		got := Reply(r, Params{Format: format}, agentformat.File{})
		if diff := cmp.Diff(map[string]any{"status": "error", "error": "no prices"}, jsonObject(t, got.Body)); diff != "" || !got.Failed {
			t.Errorf("%q: %s", format, diff)
		}
		got = Reply(r, Params{Format: format, Output: reply.OutputFile}, agentformat.File{Path: "/logs/x.json"})
		if diff := cmp.Diff(map[string]any{"status": "error", "error": "no prices", "file_path": "/logs/x.json"}, jsonObject(t, got.Body)); diff != "" || got.FilePath != "/logs/x.json" {
			t.Errorf("%q with a file: %s", format, diff)
		}
	}
}

// A file that could not be written is told in every format, and fails nothing.
func TestFileError(t *testing.T) {
	for _, format := range []string{"", reply.FormatSummary, reply.FormatFull, reply.FormatAgent} {
		got := Reply(assessed("HOLD"), Params{Format: format, Output: reply.OutputFile}, agentformat.File{Err: errors.New("the disk is full")})
		body := jsonObject(t, got.Body)
		if body["file_error"] != "the disk is full" || body["file_path"] != nil || body["status"] != "success" || got.Failed || got.FilePath != "" {
			t.Errorf("%q: %v", format, body)
		}
	}
}

// What is not allowed is refused with what is.
func TestUnknownFormatAndOutput(t *testing.T) {
	for _, c := range []struct {
		params Params
		want   string
	}{
		{Params{Format: "report"}, `format is summary, full or agent, not "report"`},
		{Params{Output: "printer"}, `output is inline or file, not "printer"`},
		{Params{Format: reply.FormatFull, Output: "printer"}, `output is inline or file, not "printer"`},
	} {
		got := Reply(assessed("HOLD"), c.params, agentformat.File{})
		if diff := cmp.Diff(map[string]any{"status": "error", "error": c.want}, jsonObject(t, got.Body)); diff != "" || !got.Failed {
			t.Errorf("%+v: %s", c.params, diff)
		}
	}
	body := answeredWith(t, Params{Format: reply.FormatAgent, Output: "printer"})
	if body["status"] != "error" || body["format"] != "agent" {
		t.Errorf("an agent is answered in its format: %v", body)
	}
}

func answeredWith(t *testing.T, params Params) map[string]any {
	t.Helper()
	return jsonObject(t, Reply(assessed("HOLD"), params, agentformat.File{}).Body)
}

// TestReplySize: no result makes a reply to an agent longer than 2 KB, nor one that JSON does
// not have.
func TestReplySize(t *testing.T) {
	const limit = 2048
	text := rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.StringMatching(`[a-z<&"\\]{1,20}`), func(s string) string { return strings.Repeat(s, 40) }),
		rapid.Just(strings.Repeat("\x1b", 3000)),
		rapid.Just(strings.Repeat("銀", 1000)),
	)
	overall := rapid.OneOf(text, rapid.SampledFrom([]string{"EXIT (a)", "STRONG EXIT (a, b)", "ERROR"}))
	number := rapid.Map(rapid.Int64(), func(n int64) portfolio.Decimal { return portfolio.NewDecimal(n, -7) })
	longest := 0
	rapid.Check(t, func(t *rapid.T) {
		r := newResult(text.Draw(t, "ticker"))
		r.Status = rapid.OneOf(rapid.Just("success"), text).Draw(t, "status")
		r.Error = text.Draw(t, "error")
		r.AsOf = dayOf("2024-05-31")
		r.Assessment = exitrule.Assessment(text.Draw(t, "assessment"))
		r.OverallAssessment = overall.Draw(t, "overall")
		for range rapid.IntRange(0, 40).Draw(t, "signals") {
			r.Signals = append(r.Signals, exitrule.Signal{
				RuleName: text.Draw(t, "rule"), Severity: rapid.Float64().Draw(t, "severity"), Status: rapid.OneOf(text, rapid.Just("error")).Draw(t, "state"),
			})
		}
		r.TradeEligible = rapid.Bool().Draw(t, "eligible")
		for range rapid.IntRange(0, 6).Draw(t, "actions") {
			stop := number.Draw(t, "stop")
			r.RecommendedActions = append(r.RecommendedActions, exitrule.Order{
				Action: text.Draw(t, "action"), AccountID: text.Draw(t, "account"), Ticker: text.Draw(t, "of"), Quantity: number.Draw(t, "quantity"), OrderType: text.Draw(t, "type"), StopPrice: &stop,
			})
		}
		r.UnreadRowCount, r.Unassigned = rapid.IntRange(0, 1e9).Draw(t, "unread"), rapid.IntRange(0, 1e6).Draw(t, "unassigned")
		if rapid.Bool().Draw(t, "may be of it") {
			r.MayBeOf = []string{r.Ticker}
		}
		r.Position.Shares, r.LastPrice = number.Draw(t, "shares"), number.Draw(t, "price")
		r.Sizing = &exitrule.Plan{Sell: number.Draw(t, "sell")}
		r.Tax = &Tax{ShortTermGain: number.Draw(t, "short"), LongTermGain: number.Draw(t, "long"), Disallowed: number.Draw(t, "disallowed"), NoBuyUntil: dayOf("2024-07-01")}
		file := rapid.SampledFrom([]agentformat.File{
			{}, {Path: "/" + strings.Repeat("directory/", 15) + "exit_signals_SLV_20240531_160509.json"}, {Err: errors.New(strings.Repeat("no ", 1000))},
		}).Draw(t, "file")
		data, err := json.Marshal(Reply(r, Params{Format: reply.FormatAgent}, file).Body)
		if err != nil {
			t.Fatal(err)
		}
		if longest = max(longest, len(data)); len(data) > limit {
			t.Fatalf("%d bytes: %s", len(data), data)
		}
	})
	t.Logf("the longest was %d bytes", longest)
}

// The longest that a result can get: nothing but long texts, and numbers of many digits.
func TestReplyAtItsLongest(t *testing.T) {
	long := strings.Repeat("W", 5000)
	big := usd("-987654321.123456")
	r := newResult(long)
	r.AsOf = dayOf("2024-05-31")
	r.Assessment, r.OverallAssessment = exitrule.Assessment(long), "STRONG EXIT ("+long
	for range 40 {
		r.Signals = append(r.Signals, exitrule.Signal{RuleName: long, Severity: 0.1234, Status: exitrule.StatusError})
	}
	for range 6 {
		r.RecommendedActions = append(r.RecommendedActions, exitrule.Order{Action: long, AccountID: long, Ticker: long, Quantity: big, OrderType: long, StopPrice: &big})
	}
	r.TradeEligible, r.LastPrice = true, big
	r.UnreadRowCount, r.Unassigned = 1e9, 1e9
	r.Position.Shares, r.Sizing = big.Neg(), &exitrule.Plan{Sell: big.Neg()}
	r.Tax = &Tax{ShortTermGain: big, LongTermGain: big, Disallowed: big, NoBuyUntil: dayOf("2024-07-01")}
	checkLongest(t, r)
	r.Unread = reply.NewUnread(nil, r.AsOf, nil) // then there are orders
	r.Unassigned, r.UnreadRowCount, r.ProblemCount = 1e9, 1e9, 1e9
	r.Tax.Disallowed, r.Tax.QuantityWithoutCost, r.Tax.Unsettled, r.Tax.WashFreeFrom = big.Neg(), big.Neg(), big.Neg(), r.AsOf
	r.Position.Requested, r.Sizing.Note, r.asked, r.AccountID = new(usd("9987654321.123456")), long, "x", long
	checkLongest(t, r)
}

func checkLongest(t *testing.T, r *Result) {
	t.Helper()
	file := agentformat.File{Path: "/" + strings.Repeat("d", 149)}
	data, err := json.Marshal(Reply(r, Params{Format: reply.FormatAgent}, file).Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 2048 {
		t.Errorf("%d bytes: %s", len(data), data)
	}
	if !strings.Contains(string(data), `"signal_count":40`) || !strings.Contains(string(data), "sell 987654321.123456 of") {
		t.Errorf("got %s", data)
	}
	t.Logf("%d bytes", len(data))
}
