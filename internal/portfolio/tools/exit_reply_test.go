package tools

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
)

func exitReply(t *testing.T, r *ExitResult, format string, file agentformat.File) map[string]any {
	t.Helper()
	return jsonObject(t, ExitReply(r, ExitParams{Format: format}, file).Body)
}

// savedExit is the file of a result, as the callers of the tool write it.
func savedExit(t *testing.T, r *ExitResult) agentformat.File {
	t.Helper()
	file := agentformat.Save(filepath.Join(t.TempDir(), "exit_signals"), r.FileName(), time.Date(2024, 5, 31, 16, 5, 9, 0, time.UTC), r)
	if file.Err != nil {
		t.Fatal(file.Err)
	}
	return file
}

// wantSaved checks that a reply names a file with the full result.
func wantSaved(t *testing.T, reply map[string]any) {
	t.Helper()
	path, _ := reply["file_path"].(string)
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
func TestExitAgentResponseStructure(t *testing.T) {
	reply := exitReply(t, selling(assessed("EXIT (a)"), "50", "100"), FormatAgent, agentformat.File{})
	for _, key := range []string{"status", "format", "snapshot", "flags", "file_path"} {
		if _, ok := reply[key]; !ok {
			t.Errorf("there is no %s", key)
		}
	}
	if len(reply) != 5 || reply["status"] != "success" || reply["format"] != "agent" {
		t.Errorf("got %v", reply)
	}
}

// test_file_output_agent
func TestExitFileOutputAgent(t *testing.T) {
	r := selling(assessed("EXIT (a)"), "50", "100")
	wantSaved(t, exitReply(t, r, FormatAgent, savedExit(t, r)))
}

// test_inline_no_file_path
func TestExitInlineNoFilePath(t *testing.T) {
	reply := exitReply(t, assessed("HOLD"), FormatAgent, agentformat.File{})
	if path, ok := reply["file_path"]; !ok || path != nil {
		t.Errorf("file_path is %v", path)
	}
}

// test_file_output_summary
func TestExitFileOutputSummary(t *testing.T) {
	r := selling(assessed("EXIT (a)"), "50", "100")
	for _, format := range []string{"", FormatSummary} {
		reply := exitReply(t, r, format, savedExit(t, r))
		wantSaved(t, reply)
		if reply["format"] != "summary" || reply["sell_quantity"] != "50" || reply["verdict"] != "SLV: EXIT (a) — sell 50 of 100 shares" {
			t.Errorf("got %v", reply)
		}
	}
}

// test_file_output_full
func TestExitFileOutputFull(t *testing.T) {
	r := selling(assessed("EXIT (a)"), "50", "100")
	reply := exitReply(t, r, FormatFull, savedExit(t, r))
	wantSaved(t, reply)
	for _, key := range []string{
		"status", "ticker", "overall_assessment", "assessment", "signals", "trade_eligible", "recommended_actions", "position", "sizing", "tax", "as_of", "disclaimer",
	} {
		if _, ok := reply[key]; !ok {
			t.Errorf("there is no %s", key)
		}
	}
}

// test_agent_error_propagation
func TestExitAgentErrorPropagation(t *testing.T) {
	r := ExitError("SLV", errors.New("no prices"))
	reply := ExitReply(r, ExitParams{Format: FormatAgent}, agentformat.File{})
	body := jsonObject(t, reply.Body)
	flags, _ := body["flags"].([]any)
	if !reply.Failed || body["status"] != "error" || len(flags) != 1 || flags[0].(map[string]any)["flag"] != "signal_error" {
		t.Errorf("got %v", body)
	}
}

// Outside agent format an error is a status and a text, and what became of the file.
func TestExitErrorReply(t *testing.T) {
	r := ExitError("SLV", errors.New("no prices"))
	for _, format := range []string{"", FormatSummary, FormatFull} {
		reply := ExitReply(r, ExitParams{Format: format}, agentformat.File{})
		if diff := cmp.Diff(map[string]any{"status": "error", "error": "no prices"}, jsonObject(t, reply.Body)); diff != "" || !reply.Failed {
			t.Errorf("%q: %s", format, diff)
		}
		reply = ExitReply(r, ExitParams{Format: format, Output: OutputFile}, agentformat.File{Path: "/logs/x.json"})
		if diff := cmp.Diff(map[string]any{"status": "error", "error": "no prices", "file_path": "/logs/x.json"}, jsonObject(t, reply.Body)); diff != "" || reply.FilePath != "/logs/x.json" {
			t.Errorf("%q with a file: %s", format, diff)
		}
	}
}

// A file that could not be written is told in every format, and fails nothing.
func TestExitFileError(t *testing.T) {
	for _, format := range []string{"", FormatSummary, FormatFull, FormatAgent} {
		reply := ExitReply(assessed("HOLD"), ExitParams{Format: format, Output: OutputFile}, agentformat.File{Err: errors.New("the disk is full")})
		body := jsonObject(t, reply.Body)
		if body["file_error"] != "the disk is full" || body["file_path"] != nil || body["status"] != "success" || reply.Failed || reply.FilePath != "" {
			t.Errorf("%q: %v", format, body)
		}
	}
}

// What is not allowed is refused with what is.
func TestExitUnknownFormatAndOutput(t *testing.T) {
	for _, c := range []struct {
		params ExitParams
		want   string
	}{
		{ExitParams{Format: "report"}, `format is summary, full or agent, not "report"`},
		{ExitParams{Output: "printer"}, `output is inline or file, not "printer"`},
		{ExitParams{Format: FormatFull, Output: "printer"}, `output is inline or file, not "printer"`},
	} {
		reply := ExitReply(assessed("HOLD"), c.params, agentformat.File{})
		if diff := cmp.Diff(map[string]any{"status": "error", "error": c.want}, jsonObject(t, reply.Body)); diff != "" || !reply.Failed {
			t.Errorf("%+v: %s", c.params, diff)
		}
	}
	body := exitReplyWith(t, ExitParams{Format: FormatAgent, Output: "printer"})
	if body["status"] != "error" || body["format"] != "agent" {
		t.Errorf("an agent is answered in its format: %v", body)
	}
}

func exitReplyWith(t *testing.T, params ExitParams) map[string]any {
	t.Helper()
	return jsonObject(t, ExitReply(assessed("HOLD"), params, agentformat.File{}).Body)
}

// TestExitReplySize: no result makes a reply to an agent longer than 2 KB, nor one that JSON does
// not have.
func TestExitReplySize(t *testing.T) {
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
		r := newExitResult(text.Draw(t, "ticker"))
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
				Action: text.Draw(t, "action"), Ticker: text.Draw(t, "of"), Quantity: number.Draw(t, "quantity"), OrderType: text.Draw(t, "type"), StopPrice: &stop,
			})
		}
		r.Position.Shares, r.LastPrice = number.Draw(t, "shares"), number.Draw(t, "price")
		r.Sizing = &exitrule.Plan{Sell: number.Draw(t, "sell")}
		r.Tax = &ExitTax{ShortTermGain: number.Draw(t, "short"), LongTermGain: number.Draw(t, "long"), Disallowed: number.Draw(t, "disallowed"), NoBuyUntil: dayOf("2024-07-01")}
		file := rapid.SampledFrom([]agentformat.File{
			{}, {Path: "/" + strings.Repeat("directory/", 15) + "exit_signals_SLV_20240531_160509.json"}, {Err: errors.New(strings.Repeat("no ", 1000))},
		}).Draw(t, "file")
		data, err := json.Marshal(ExitReply(r, ExitParams{Format: FormatAgent}, file).Body)
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
func TestExitReplyAtItsLongest(t *testing.T) {
	long := strings.Repeat("W", 5000)
	big := usd("-987654321.123456")
	r := newExitResult(long)
	r.AsOf = dayOf("2024-05-31")
	r.Assessment, r.OverallAssessment = exitrule.Assessment(long), "STRONG EXIT ("+long
	for range 40 {
		r.Signals = append(r.Signals, exitrule.Signal{RuleName: long, Severity: 0.1234, Status: exitrule.StatusError})
	}
	for range 6 {
		r.RecommendedActions = append(r.RecommendedActions, exitrule.Order{Action: long, Ticker: long, Quantity: big, OrderType: long, StopPrice: &big})
	}
	r.TradeEligible, r.LastPrice = true, big
	r.Position.Shares, r.Sizing = big.Neg(), &exitrule.Plan{Sell: big.Neg()}
	r.Tax = &ExitTax{ShortTermGain: big, LongTermGain: big, Disallowed: big, NoBuyUntil: dayOf("2024-07-01")}
	file := agentformat.File{Path: "/" + strings.Repeat("d", 149)}
	data, err := json.Marshal(ExitReply(r, ExitParams{Format: FormatAgent}, file).Body)
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
