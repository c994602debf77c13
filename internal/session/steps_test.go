//go:build unix

package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// asking is a session whose agent is a model: it calls one tool, writes down what it is told of that, and answers.
func asking(t *testing.T) (s session.Spec, told string) {
	told = filepath.Join(t.TempDir(), "told")
	s = spec(t, `read -r request
		echo '{"step":{"call":{"call":1,"turn":1,"tool":"x","changes":true}}}'
		read -r word; echo "$word" >`+told+`.new; mv `+told+`.new `+told+`
		echo '{"step":{"result":{"call":1,"tool":"x","bytes":3}}}'
		echo '{"done":{"answered":true,"text":"Because."}}'`)
	s.Agent.Adapter, s.Role, s.Task, s.Phase, s.Nonce = agent.AdapterAsk, agentsig.RoleExpert, "R1-E1", "", "NONCE"
	return s, told
}

// A model's call is recorded before it is made: while the box is away, it waits.
func TestCallWaitsForTheBox(t *testing.T) {
	t.Parallel()
	s, told := asking(t)
	r := &run{t: t, dir: filepath.Join(t.TempDir(), "session"), box: newBox(), ended: make(chan error, 1)}
	r.box.away = true
	if err := session.Write(r.dir, s); err != nil {
		t.Fatal(err)
	}
	r.start()
	await(t, filepath.Join(r.dir, "outbox", "00001.json"))
	if _, err := os.Stat(told); err == nil {
		t.Error("the call went on before the box had it")
	}
	r.box.change(func() { r.box.away = false })
	if c := r.next(api.ReportNote).Step; c == nil || c.Call == nil || c.Call.Tool != "x" {
		t.Fatalf("the first report is %+v", c)
	}
	if got := await(t, told); got != `{"call":1,"recorded":true}` {
		t.Errorf("the agent was told %s", got)
	}
	if c := r.next(api.ReportNote).Step; c == nil || c.Result == nil {
		t.Fatalf("the second report is %+v", c)
	}
	turn := r.next(api.ReportTurn)
	if turn.Verdict != agentsig.KindExpertAdvice || len(turn.Signals) != 1 || !strings.Contains(turn.Signals[0].Wire, "Because.") {
		t.Errorf("the turn is %+v", turn)
	}
	r.end()
}

// A call that the box refuses for good is not made.
func TestCallIsRefused(t *testing.T) {
	t.Parallel()
	s, told := asking(t)
	r := &run{t: t, dir: filepath.Join(t.TempDir(), "session"), box: newBox(), ended: make(chan error, 1)}
	r.box.refuses = func(report api.SessionReport) bool { return report.Step != nil && report.Step.Call != nil }
	if err := session.Write(r.dir, s); err != nil {
		t.Fatal(err)
	}
	r.start()
	if got := await(t, told); got != `{"call":1,"recorded":false}` {
		t.Errorf("the agent was told %s", got)
	}
	if n := r.next(api.ReportNote); n.Denied == "" { // in its place
		t.Errorf("the first report is %+v", n)
	}
	r.next(api.ReportNote)
	r.next(api.ReportTurn)
	r.end()
}
