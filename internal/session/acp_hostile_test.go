//go:build unix

package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// told is a line of a prompt that makes the agent tell something as it is.
func told(update string) string {
	return `raw {"jsonrpc":"2.0","method":"session/update","params":{"update":` + update + "}}\n"
}

// A message ends where the agent does something else, though nobody says so, and what it
// says then begins a line. What is odd about an update does not hide the rest of it.
func TestACPMessages(t *testing.T) {
	t.Parallel()
	const looking = `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Looking."}}`
	for name, between := range map[string]string{
		"a thought":             "think\n",
		"a plan":                told(`{"sessionUpdate":"plan","entries":[]}`),
		"a tool without a name": told(`{"sessionUpdate":"tool_call","toolCallId":"q","status":"pending"}`),
		"a tool that gives nothing": told(`{"sessionUpdate":"tool_call","toolCallId":"q","title":"make","status":"pending"}`) + told(looking) +
			told(`{"sessionUpdate":"tool_call_update","toolCallId":"q","status":"completed"}`),
		"an odd update": told(`{"sessionUpdate":"agent_message_chunk","messageId":7,"_meta":{"claudeCode":"x"},"content":{"type":"text","text":" There."}}`) + "think\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, acpSpec(t, told(looking)+between+"say READY_FOR_REVIEW: T-1"))
			turn := r.next(api.ReportTurn)
			stands(t, r, turn, "READY_FOR_REVIEW: T-1")
			if transcript := r.file("transcript"); name == "an odd update" && !strings.HasPrefix(transcript, "Looking. There.\n") {
				t.Errorf("transcript: %s", transcript)
			}
			r.end()
		})
	}
}

// However many questions come at once, each is answered.
func TestACPBurst(t *testing.T) {
	t.Parallel()
	const questions = 500
	s := spec(t, "")
	s.Agent = agent.Config{Name: "agent", Adapter: agent.AdapterACP, Command: []string{"sh", "-c", fmt.Sprintf(`
read -r initialize; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r new; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"c"}}'
read -r prompt
i=0; while [ $i -lt %d ]; do i=$((i+1)); echo '{"jsonrpc":"2.0","id":"q'$i'","method":"session/request_permission","params":{"toolCall":{"toolCallId":"t","kind":"read"},"options":[{"optionId":"y","kind":"allow_once"}]}}'; done > burst
cat burst
answers=0; while read -r line; do case $line in *'"optionId":"y"'*) answers=$((answers+1)); [ $answers -lt %[1]d ] || break;; esac; done
echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
cat > rest`, questions)}}
	r := start(t, s)
	r.next(api.ReportTurn)
	r.end()
}

// Whatever size something has, the box can be told of it.
func TestACPSizes(t *testing.T) {
	t.Parallel()
	size := 2 << 20
	if testing.Short() {
		size = 256 << 10
	}
	huge := strings.Repeat("k", size)
	s := acpSpec(t, told(`{"sessionUpdate":"tool_call","toolCallId":"`+huge+`","title":"`+huge+`","kind":"`+huge+`","status":"failed"}`)+"stop "+huge)
	s.Allow = nil
	r := start(t, s)
	for _, report := range []api.SessionReport{r.next(api.ReportNote), r.next(api.ReportTurn)} {
		if data, err := json.Marshal(report); err != nil || len(data) > 4<<10 {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	}
	if transcript := r.file("transcript"); len(transcript) > 4<<10 {
		t.Errorf("transcript of %d bytes", len(transcript))
	}
	r.end()
	long := start(t, acpSpec(t, `raw {"jsonrpc":"2.0","id":3,"result":{"usage":{"inputTokens":`+strings.Repeat("1", size)+"}}}\nhang"))
	if last := long.finish(); last.How != api.HowCrashed || len(last.Detail) > 8<<10 {
		t.Errorf("%d bytes", len(last.Detail))
	}
}

// What nobody can have used is not counted: it would not even add up.
func TestACPCountsNoNonsense(t *testing.T) {
	t.Parallel()
	cost := func(amount string) string {
		return told(`{"sessionUpdate":"usage_update","cost":{"amount":` + amount + `,"currency":"USD"}}`)
	}
	r := start(t, acpSpec(t, cost("0.5")+cost("1e308")+cost("0")+cost("1e308")+cost("0.25")+`raw {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":9223372036854775807}}}`+"\nhang"))
	if turn := r.next(api.ReportTurn); turn.Usage != (delivery.Usage{CostUSD: 0.75}) {
		t.Errorf("%+v", turn.Usage)
	}
	r.end()
}

// An answer that is an error is one, in whatever form.
func TestACPOddErrors(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`"error":{"code":"500","message":"oh"}`: "oh",
		`"error":"oh"`:                          "it does not say why",
		`"error":{"code":1}`:                    "it does not say why",
	} {
		last := start(t, acpSpec(t, `raw {"jsonrpc":"2.0","id":3,`+answer+"}\nhang")).finish()
		if want := "the agent agent: its turn failed: " + want; last.How != api.HowCrashed || last.Detail != want {
			t.Errorf("%s: %s, %q", answer, last.How, last.Detail)
		}
	}
}

// A tool that was open when a turn failed is not waited for in the next one.
func TestACPForgetsTools(t *testing.T) {
	t.Parallel()
	s := acpSpec(t, "open make\nsay READY_FOR_REVIEW: T-1\nfail -32603 oh no")
	stallsAfter4s(&s)
	r := start(t, s)
	if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReadyForReview {
		t.Errorf("%+v", turn)
	}
	r.prompt("p", "tool read a|b\nhang")
	if last := r.finish(); last.How != api.HowStalled {
		t.Errorf("%+v", last)
	}
}
