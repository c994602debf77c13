package agentsig_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// Every kind of signal can be written, and reads the same.
func TestWire(t *testing.T) {
	fields := agentsig.Fields{{"Files Modified", []string{"a.go", "b.go"}}, {"Summary", "done"}}
	for _, e := range agentsig.Vocabulary() {
		var s agentsig.Signal
		switch e.Dialect {
		case agentsig.DialectLine:
			s = agentsig.Signal{Kind: e.Kind, Run: "n1", Payload: fields.Payload()}
			if e.Argument != agentsig.NoArgument {
				s.Subject = "T-1"
			}
		case agentsig.DialectXML:
			s = agentsig.Reflection{Type: e.Kind, Confidence: 0.25, Fields: agentsig.Fields{
				{"reason", `a < b && "c"`}, {"scope", "everything"}, {"sources_found", 2}, {"attempted", []string{"<x>", "]]>"}},
				{"blocker", "the wall"}, {"capability", "shell"}, {"missing", "the rest"},
			}}.Signal()
			s = only(t, s, e)
		case agentsig.DialectExit:
			s = agentsig.NewExitSignal(agentsig.PhaseReview, agentsig.ExitBlocked).
				WithPRURL("https://git.example.org/x").WithNotes("<signal>\x1b\n").Signal()
		}
		wire, err := s.Wire()
		if err != nil {
			t.Errorf("%s: %v", e.Kind, err)
			continue
		}
		res, err := agentsig.Scan(strings.NewReader("before\n"+wire), agentsig.Options{Nonce: s.Run, Hosts: []string{"git.example.org"}})
		if err != nil || len(res.Findings) != 1 || res.Findings[0].Outcome != agentsig.Accepted {
			t.Errorf("%s: %q reads as %+v, %v", e.Kind, wire, res.Findings, err)
			continue
		}
		got := res.Findings[0].Signal
		r1, _ := s.Reflection()
		r2, _ := got.Reflection()
		if diff := cmp.Diff(r1.View(), r2.View()); diff != "" {
			t.Errorf("%s: %s", e.Kind, diff)
		}
		if diff := cmp.Diff(s.Fields(), got.Fields()); diff != "" && e.Dialect != agentsig.DialectXML || got.Subject != s.Subject || got.Run != s.Run {
			t.Errorf("%s: %s", e.Kind, diff)
		}
	}
}

// only leaves the fields that the kind has.
func only(t *testing.T, s agentsig.Signal, e agentsig.Entry) agentsig.Signal {
	r, ok := s.Reflection()
	if !ok {
		t.Fatal("no reflection")
	}
	var fields agentsig.Fields
	for _, k := range e.Keys {
		if v, ok := r.Fields.Get(k.Name); ok {
			fields = append(fields, agentsig.Field{Name: k.Name, Value: v})
		}
	}
	r.Fields = fields
	return r.Signal()
}

// What does not fit the dialect is refused, not bent.
func TestWireRefuses(t *testing.T) {
	for name, s := range map[string]agentsig.Signal{
		"an unknown kind":          {Kind: "nonsense"},
		"no task":                  {Kind: agentsig.KindReadyForReview},
		"a task with a blank":      {Kind: agentsig.KindReadyForReview, Subject: "T 1"},
		"a note of two lines":      {Kind: agentsig.KindReadyForReview, Subject: "T-1", Note: "a\nb"},
		"a signal in the payload":  {Kind: agentsig.KindReadyForReview, Subject: "T-1", Payload: "CHECKPOINT: T-1\n"},
		"a subject too many":       {Kind: agentsig.KindExpertRequest, Subject: "T-1"},
		"a payload too long":       {Kind: agentsig.KindCheckpoint, Subject: "T-1", Payload: strings.Repeat("x", 70_000)},
		"no reflection":            {Kind: agentsig.KindStuck},
		"no record":                {Kind: agentsig.KindExit},
		"a reason too short":       agentsig.Reflection{Type: agentsig.KindNeedTurn, Fields: agentsig.Fields{{"reason", "no"}}}.Signal(),
		"an unknown phase":         agentsig.NewExitSignal("DONE", agentsig.ExitCompleted).Signal(),
		"a URL of another scheme":  agentsig.NewExitSignal("REVIEW", agentsig.ExitCompleted).WithPRURL("http://github.com/").Signal(),
		"notes that are too long":  agentsig.NewExitSignal("REVIEW", agentsig.ExitCompleted).WithNotes(strings.Repeat("x", 10_241)).Signal(),
		"a phase that has no next": agentsig.NewExitSignal("COMPLETED", agentsig.ExitCompleted).Signal(),
	} {
		if wire, err := s.Wire(); err == nil {
			t.Errorf("%s: wrote %q", name, wire)
		}
	}
}

// The examples that an agent is given are signals, and an echo of them is not.
func TestInstructions(t *testing.T) {
	for _, role := range agentsig.Roles() {
		for _, nonce := range []string{"", "n-1"} {
			text, err := agentsig.Instructions(role, "T-7", nonce)
			if err != nil {
				t.Fatal(err)
			}
			o := agentsig.Options{Role: role, Task: "T-7", Nonce: nonce}
			echo, err := agentsig.Scan(strings.NewReader(text), o)
			if err != nil || echo.Verdict.Kind != agentsig.KindUnknown {
				t.Errorf("%s: the echoed prompt reads as %s, %v", role, echo.Verdict.Kind, err)
			}
			var said []agentsig.Kind
			before := ""
			for line := range strings.Lines(text) {
				example, ok := strings.CutPrefix(line, "    ")
				if !ok {
					continue
				}
				if strings.HasPrefix(example, "EXIT: ") { // the record follows on the next line
					before = example
					continue
				}
				example, before = before+example, ""
				res, err := agentsig.Scan(strings.NewReader(example), o)
				if err != nil || len(res.Findings) != 1 || !res.Verdict.OK() {
					t.Errorf("%s: the example %q reads as %+v, %v", role, example, res.Findings, err)
					continue
				}
				said = append(said, res.Verdict.Kind)
			}
			var may []agentsig.Kind
			_, holds := role.Phase()
			for _, terminal := range []bool{true, false} {
				for _, e := range agentsig.Vocabulary() {
					if e.Dialect == agentsig.DialectLine && e.Terminal == terminal && e.MayBeSaidBy(role) {
						may = append(may, e.Kind)
					}
				}
			}
			if holds {
				may = append(may, agentsig.KindExit)
			}
			if !slices.Equal(said, may) {
				t.Errorf("%s: the examples are %v, want %v", role, said, may)
			}
			for _, advice := range []string{
				"Do NOT poll for CI status", "exit_reason is completed;", "or blocked, if something outside your reach stops you;", "or error, if the session cannot go on.",
			} {
				if holds != strings.Contains(strings.Join(strings.Fields(text), " "), advice) {
					t.Errorf("%s: %q is for roles that hand over a phase", role, advice)
				}
			}
		}
	}
	for _, bad := range [][3]string{{"boss", "T-1", ""}, {"critic", "", ""}, {"critic", "a b", ""}, {"critic", "T-1", "a b"}} {
		if _, err := agentsig.Instructions(agentsig.Role(bad[0]), bad[1], bad[2]); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}
