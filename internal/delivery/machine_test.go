package delivery_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Who has no runners has in the ledger the bytes that were there before there were any.
func TestEventsOfHomeNameNoRunner(t *testing.T) {
	for _, c := range []struct {
		payload any
		want    string
	}{
		{work.Granted{Phase: agentsig.PhaseReview, Role: agentsig.RoleCritic, TTLMS: 1000, Agent: "codex"}, `{"phase":"REVIEW","role":"critic","ttl_ms":1000,"agent":"codex"}`},
		{work.Gate{Commit: "0123abc", NextPhase: agentsig.PhaseImplementation}, `{"commit":"0123abc","next_phase":"IMPLEMENTATION"}`},
		{delivery.Granted{Role: agentsig.RoleExpert, Agent: "codex", Task: "T-1", Request: "R1-E1"}, `{"role":"expert","agent":"codex","task":"T-1","request":"R1-E1"}`},
		{delivery.Ended{How: delivery.Done}, `{"how":"done","usage":{},"bytes":0}`},
	} {
		if got, err := json.Marshal(c.payload); err != nil || string(got) != c.want {
			t.Errorf("%T is written as %s (%v), want %s", c.payload, got, err, c.want)
		}
	}
	item := work.Item{ID: "T-1", Phase: agentsig.PhaseImplementation}
	granted, err := work.Decide(item, work.Grant{Epoch: 1, Actor: "codex", Role: agentsig.RoleDeveloper, Agent: "codex", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(granted.Payload); string(got) != `{"phase":"IMPLEMENTATION","role":"developer","ttl_ms":60000,"agent":"codex"}` {
		t.Errorf("a grant at home is written as %s", got)
	}
}

// play plays lines of a scenario, and returns it as it is then.
func play(t *testing.T, lines ...string) *scenario {
	t.Helper()
	var out strings.Builder
	s := &scenario{t: t, out: &out, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), items: map[string]work.Item{}, turns: map[string]int{}}
	for _, line := range lines {
		s.play(line)
	}
	return s
}

// Who goes on after a machine was lost is told, and from where it goes on.
func TestLostIsTold(t *testing.T) {
	s := play(t, "machines home/has=none gpu1", "plan T-1", "baseline pass", "machines home/has=none gpu2", "lost T-1")
	task := s.run.Task("T-1")
	if b := task.Briefs; len(b) != 1 || !strings.Contains(b[0].Text, "gpu1") || !strings.Contains(b[0].Text, "from the start") || task.Count != (delivery.Count{}) {
		t.Errorf("the next agent is told %+v, counted is %+v", b, task.Count)
	}
	s.play("lost T-1 pushed")
	if b := task.Briefs; len(b) != 2 || !strings.Contains(b[1].Text, "gpu2") || !strings.Contains(b[1].Text, "commit c000001") {
		t.Errorf("the next agent is told %+v", b)
	}
}

// What a lost session says while its item waits to be given back is recorded as late, and the item is given back before.
func TestLostIsLateAtOnce(t *testing.T) {
	s := play(t, "machines home/has=none gpu1", "plan T-1", "baseline pass")
	session := s.session("T-1").ID
	s.take(delivery.End{Session: session, Ended: delivery.Ended{How: delivery.Lost}})
	turn := delivery.Turn{Session: session, Turn: 1, Verdict: agentsig.KindReadyForReview, Signal: agentsig.Signal{Kind: agentsig.KindReadyForReview, Subject: "T-1"}, Key: "late"}
	writes, err := s.run.Decide(turn, s.now)
	if err != nil || len(writes) != 2 {
		t.Fatalf("it leads to %+v, %v", writes, err)
	}
	for _, w := range writes {
		s.record(w)
	}
	if last := s.log[len(s.log)-1].Type; last != work.LateResultRecorded {
		t.Errorf("recorded is %s", last)
	}
	for i := range 100 { // whatever it goes on to say
		turn.Turn, turn.Key = i+2, fmt.Sprint("late", i)
		s.take(turn)
	}
	late := 0
	for _, e := range s.log {
		if e.Type == work.LateResultRecorded {
			late++
		}
	}
	if late != 32 {
		t.Errorf("%d late results are recorded", late)
	}
}

// What the fold has of a commit is what a session can have handed in, and nothing that comes after a person has taken the task.
func TestPushed(t *testing.T) {
	commit, other := strings.Repeat("ab", 20), strings.Repeat("cd", 20)
	s := play(t, "machines home/has=none gpu1", "plan T-1 gates=9", "baseline pass")
	task, first := s.run.Task("T-1"), s.session("T-1").ID
	s.take(delivery.End{Session: first, Ended: delivery.Ended{How: delivery.Crashed, Commit: "main; rm -rf /"}})
	if task.Pushed != "" {
		t.Errorf("the work is at %q", task.Pushed)
	}
	s.settle()
	for _, bad := range []delivery.Pushed{{}, {Commit: "refs/heads/secret"}, {Commit: "--stdin"}, {Commit: "ab"}, {Commit: "HEAD", Problem: "so"}} {
		bad.Session = s.session("T-1").ID
		if writes, err := s.run.Decide(bad, s.now); !errors.Is(err, work.ErrBadCommit) {
			t.Errorf("%+v leads to %+v, %v", bad, writes, err)
		}
	}
	s.take(delivery.Pushed{Session: s.session("T-1").ID, Commit: commit})
	s.play("cut") // the end says nothing more
	s.play("say T-1 READY_FOR_REVIEW: T-1")
	s.play("gate T-1 fail")
	s.take(delivery.Pushed{Session: s.session("T-1").ID, Commit: commit}) // it has changed nothing
	s.play("say T-1 READY_FOR_REVIEW: T-1")
	if task.Missing != "" || task.Pushed != commit || task.Item.Phase != agentsig.PhaseCIPending {
		t.Fatalf("%s: missing %q, at %s", task.Item.Phase, task.Missing, task.Pushed)
	}
	s.play("gate T-1 fail")
	s.take(delivery.Pushed{Session: s.session("T-1").ID, Problem: "a file is too large"})
	s.play("machines home gpu1 gpu2")
	s.play("say T-1 READY_FOR_REVIEW: T-1")
	for _, c := range s.run.Commands(s.moment()) {
		if c.Do == delivery.DoGate && c.Runner != "" {
			t.Errorf("what can't be judged is checked on %s", c.Runner)
		}
	}
	s.play("gate T-1 fail")
	last := s.session("T-1").ID
	s.take(delivery.Take{Actor: work.OperatorActor, Task: "T-1"})
	s.take(delivery.Pushed{Session: last, Commit: other})
	if task.Pushed == other {
		t.Error("what an agent pushes whose task a person has taken is what they go on from")
	}
	s.take(delivery.Give{Actor: work.OperatorActor, Task: "T-1", Back: true, Text: "look", Key: "give"})
	s.take(delivery.End{Session: last, Ended: delivery.Ended{How: delivery.Done, Commit: other}})
	if task.Pushed == other || !task.AtHome {
		t.Errorf("what an agent hands in whose task a person has taken is what the next one goes on from: %q", task.Pushed)
	}
}

// What was never handed in was not judged: the commit that the gate names instead is no one that has failed.
func TestMissing(t *testing.T) {
	s := play(t, "machines home/has=none gpu1", "plan T-1 gates=9", "baseline pass", "cut", "say T-1 READY_FOR_REVIEW: T-1")
	if task := s.run.Task("T-1"); task.Failed != nil || task.Count.Gates != 1 || task.Missing != "" || s.session("T-1").Runner != "gpu1" {
		t.Errorf("%+v, %+v, %q", task.Failed, task.Count, task.Missing)
	}
}

// A gate's machine depends on the task and on who is there; who comes or goes moves no other task's.
func TestGateIsSpread(t *testing.T) {
	m := delivery.Moment{}
	for i := range 5 {
		m.Machines = append(m.Machines, delivery.Machine{Name: fmt.Sprintf("gpu%d", i), Checks: true})
	}
	r, n := &delivery.Run{}, map[string]int{}
	for i := range 1000 {
		task := &delivery.Task{ID: fmt.Sprintf("T-%d", i), Pushed: "c0ffee"}
		on := r.GateOn(task, m)
		n[on]++
		fewer := m
		fewer.Machines = slices.DeleteFunc(slices.Clone(m.Machines), func(o delivery.Machine) bool { return o.Name == "gpu2" })
		if without := r.GateOn(task, fewer); on != "gpu2" && without != on {
			t.Fatalf("%s goes from %s to %s because gpu2 is gone", task.ID, on, without)
		}
	}
	for name, times := range n {
		if times < 100 || times > 300 {
			t.Errorf("%s has %d gates of 1000", name, times)
		}
	}
}
