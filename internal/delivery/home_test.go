package delivery_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A box that shares its ledger with nobody records the start of a run in the same bytes as before there were others.
func TestStartedAlone(t *testing.T) {
	s := delivery.Started{ID: "R1", Title: "t", Plan: ledger.Blob{Size: 3}, Digest: "d", Tasks: 2, Base: "b", Branch: "signalbox/R1", Repo: "/r", Checks: 1, Key: "k", Path: "p"}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	rest, settings := "", "" // of which nothing is said here
	if at, end := strings.Index(string(data), `"settings":`), strings.Index(string(data), `,"base":`); at > 0 && end > at {
		rest, settings = string(data[:at])+string(data[end+1:]), string(data[at:end])
	}
	const want = `{"id":"R1","title":"t","plan":{"blob":"0000000000000000000000000000000000000000000000000000000000000000","size":3},"digest":"d","tasks":2,` +
		`"base":"b","branch":"signalbox/R1","repo":"/r","checks":1,"key":"k","path":"p"}`
	if rest != want || settings == "" {
		t.Errorf("%s\nwant %s", rest, want)
	}
	s.Home = "c"
	with, err := json.Marshal(s)
	if err != nil || strings.Replace(string(with), `,"home":"c"`, "", 1) != string(data) || string(with) == string(data) {
		t.Errorf("%s, %v", with, err)
	}
}

// While the box is not reached in whose directory a run was started, nobody is started for it on any machine, and every task that could be gone on
// with says so. What was begun stays where it is.
func TestHomeAway(t *testing.T) {
	task := func(id string, phase agentsig.Phase) *delivery.Task {
		return &delivery.Task{ID: id, Item: work.Item{Phase: phase, Chain: work.Chain{Subject: id}}, Pushed: "0123abc"}
	}
	r := &delivery.Run{
		Started: delivery.Started{ID: "R1", Home: "c", Tasks: 4, Settings: delivery.Settings{
			Roles:  map[agentsig.Role]delivery.Role{agentsig.RoleDeveloper: {Agent: "claude"}, agentsig.RoleExpert: {Agent: "claude"}},
			Limits: delivery.DefaultLimits(),
		}},
		Baseline: &delivery.Baseline{}, Sessions: map[string]*delivery.Session{},
		Tasks: []*delivery.Task{task("T-1", agentsig.PhaseImplementation), task("T-2", agentsig.PhaseCIPending), task("T-3", agentsig.PhaseImplementation), task("T-4", agentsig.PhaseCompleted)},
	}
	r.Settings.Limits.Agents = 4
	r.Restored()
	gpu1 := delivery.Machine{Name: "gpu1", Agents: []string{"claude"}, Checks: true}
	there := delivery.Moment{Machines: []delivery.Machine{{Agents: []string{"claude"}, Checks: true}, gpu1}}
	away := delivery.Moment{Machines: []delivery.Machine{{Away: true}, gpu1}}
	if _, due := r.Next(there); !due {
		t.Error("nobody is started")
	}
	if w, due := r.Next(away); due {
		t.Errorf("home is away, and due is %+v", w)
	}
	const words = "box c, whose directory the run was started in, is not reached"
	for i, want := range []delivery.Wait{delivery.WaitHome, delivery.WaitHome, delivery.WaitHome, delivery.WaitCompleted} {
		why := r.Why(r.Tasks[i], away)
		if why != want || why == delivery.WaitHome && why.Words(r, r.Tasks[i], away) != words {
			t.Errorf("%s waits for %q: %s", r.Tasks[i].ID, why, why.Words(r, r.Tasks[i], away))
		}
	}
	gate := func(m delivery.Moment) string {
		for _, c := range r.Commands(m) {
			if c.Do == delivery.DoGate {
				away.Gates = map[string]string{c.ID: ""}
				return c.Runner
			}
		}
		return "none"
	}
	gate(there)
	if on := gate(away); on != "" {
		t.Errorf("checks that are under way at home go to %q", on)
	}
	r.Sessions = map[string]*delivery.Session{"a": {ID: "a", Task: "T-1"}, "b": {ID: "b", Task: "T-3", Runner: "gpu1"}}
	r.Restored()
	for i, want := range map[int]delivery.Wait{0: delivery.WaitHome, 2: delivery.WaitSession} {
		if why := r.Why(r.Tasks[i], away); why != want {
			t.Errorf("%s, with an agent at work, waits for %q, want %q", r.Tasks[i].ID, why, want)
		}
	}
	if why := r.Why(r.Tasks[0], there); why != delivery.WaitSession {
		t.Errorf("at home, which is there, an agent is at work: %q", why)
	}
	r.Sessions = map[string]*delivery.Session{}
	r.Restored()
	r.Paused = true
	if why := r.Why(r.Tasks[0], away); why != delivery.WaitPaused {
		t.Errorf("a paused task waits for %q", why)
	}
	n := map[string]int{}
	r.Sessions = map[string]*delivery.Session{"a": {}, "b": {Runner: "gpu1"}}
	r.CountOn(n, "c")
	r.CountOn(n, "a")
	if n[""] != 1 || n["gpu1"] != 2 {
		t.Errorf("sessions are counted as %v", n)
	}
}
