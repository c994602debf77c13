package agentsig_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// own are signals of a project's own.
var own = []agentsig.Own{
	{Name: "DONE_FOR_TODAY", Kind: agentsig.KindReadyForReview, Argument: "none", Fields: []string{"Summary", "Left To Do"}},
	{Name: "LOOKS_GOOD", Kind: agentsig.KindReviewPassed},
	{Name: "STILL_ALIVE", Kind: agentsig.KindCheckpoint, Roles: []agentsig.Role{agentsig.RoleDeveloper, agentsig.RoleCritic}},
}

func extended(t testing.TB) *agentsig.Extension {
	t.Helper()
	x, err := agentsig.Extend(own...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// read returns what is found in a text, in short.
func read(t testing.TB, text string, o agentsig.Options) (found []string) {
	t.Helper()
	r, err := agentsig.Scan(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		found = append(found, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", f.Outcome, f.Signal.Kind, f.Signal.Name, f.Signal.Subject, f.Reason)))
	}
	return append(found, string(r.Verdict.Kind))
}

// A project's own signals are read as the others are, and lead to the kinds that they stand for; nobody else's are.
func TestOwnSignals(t *testing.T) {
	x := extended(t)
	developer := agentsig.Options{Role: agentsig.RoleDeveloper, Task: "T-1", Own: x}
	critic := agentsig.Options{Role: agentsig.RoleCritic, Task: "T-1", Own: x}
	for _, c := range []struct {
		name, text string
		o          agentsig.Options
		want       []string
	}{
		{"without an argument", "all is well\nDONE_FOR_TODAY\nSummary: x\n", developer, []string{"signal ready_for_review DONE_FOR_TODAY T-1", "ready_for_review"}},
		{"with one", "LOOKS_GOOD: T-1 indeed\n", critic, []string{"signal review_passed LOOKS_GOOD T-1", "review_passed"}},
		{"twice, by both names", "READY_FOR_REVIEW: T-1\nDONE_FOR_TODAY\n", developer, []string{"signal ready_for_review  T-1", "signal ready_for_review DONE_FOR_TODAY T-1", "ready_for_review"}},
		{"two that differ", "DONE_FOR_TODAY\nTASK_INCOMPLETE: T-1\n", developer, []string{"signal ready_for_review DONE_FOR_TODAY T-1", "signal task_incomplete  T-1", "ambiguous"}},
		{"another role", "DONE_FOR_TODAY\n", critic, []string{"near_miss ready_for_review DONE_FOR_TODAY T-1 wrong_role", "unknown"}},
		{"another task", "LOOKS_GOOD: T-2\n", critic, []string{"near_miss review_passed LOOKS_GOOD T-2 wrong_id", "unknown"}},
		{"something behind it", "DONE_FOR_TODAY: T-1\n", developer, []string{"near_miss ready_for_review DONE_FOR_TODAY T-1 extra_text", "unknown"}},
		{"in another case", "Done_for_today\n", developer, []string{"near_miss ready_for_review DONE_FOR_TODAY  case", "unknown"}},
		{"indented", "  DONE_FOR_TODAY\n", developer, []string{"near_miss ready_for_review DONE_FOR_TODAY  indented", "unknown"}},
		{"with a full stop", "DONE_FOR_TODAY.\n", developer, []string{"near_miss ready_for_review DONE_FOR_TODAY  extra_text", "unknown"}},
		{"fenced", "```\nLOOKS_GOOD: T-1\n```\n", critic, []string{"near_miss review_passed LOOKS_GOOD T-1 fenced", "unknown"}},
		{"in the middle of a line", "I say LOOKS_GOOD: T-1\n", critic, []string{"near_miss review_passed LOOKS_GOOD T-1 mid_line", "unknown"}},
		{"beside another", "STILL_ALIVE: T-1\nLOOKS_GOOD: T-1\n", critic, []string{"signal checkpoint STILL_ALIVE T-1", "signal review_passed LOOKS_GOOD T-1", "review_passed"}},
		{"of another project", "LOOKS_GOOD: T-1\n", agentsig.Options{}, []string{"unknown"}},
		{"a nonce", "DONE_FOR_TODAY run=abc\n", agentsig.Options{Nonce: "abc", Task: "T-1", Own: x}, []string{"signal ready_for_review DONE_FOR_TODAY T-1", "ready_for_review"}},
		{"without its nonce", "DONE_FOR_TODAY\n", agentsig.Options{Nonce: "abc", Task: "T-1", Own: x}, []string{"near_miss ready_for_review DONE_FOR_TODAY T-1 missing_nonce", "unknown"}},
	} {
		if diff := cmp.Diff(c.want, read(t, c.text, c.o)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		// Any split is read the same, and what is shown never has a part of a signal.
		for i := range c.text {
			var text strings.Builder
			s := agentsig.NewScanner(c.o, agentsig.Sink{Text: func(b []byte) { text.Write(b) }})
			for _, part := range []string{c.text[:i], c.text[i:]} {
				if _, err := s.Write([]byte(part)); err != nil {
					t.Fatal(err)
				}
			}
			if v := s.Close(); string(v.Kind) != c.want[len(c.want)-1] {
				t.Errorf("%s, split at %d: %s", c.name, i, v.Kind)
			}
			if v := c.want[0]; strings.HasPrefix(v, "signal") && strings.Contains(text.String(), "DONE_FOR") {
				t.Errorf("%s, split at %d, shows %q", c.name, i, text.String())
			}
		}
	}
}

// A signal that was said by an own name is written by its kind's, and read back as the same.
func TestOwnSignalsWire(t *testing.T) {
	r, err := agentsig.Scan(strings.NewReader("DONE_FOR_TODAY\nSummary: x\n"), agentsig.Options{Task: "T-1", Own: extended(t)})
	if err != nil {
		t.Fatal(err)
	}
	if wire, err := r.Verdict.Signal.Wire(); err != nil || wire != "READY_FOR_REVIEW: T-1\nSummary: x\n" {
		t.Errorf("%q, %v", wire, err)
	}
}

// What could be taken for another signal, or would lead to more than a kind does, is refused.
func TestExtendRefuses(t *testing.T) {
	kind := agentsig.KindReadyForReview
	for _, c := range []struct {
		own  agentsig.Own
		want string
	}{
		{agentsig.Own{Name: "READY_FOR_REVIEW", Kind: kind}, "it is, or looks like, READY_FOR_REVIEW"},
		{agentsig.Own{Name: "READY_FOR_REVIEWS", Kind: kind}, "looks like, READY_FOR_REVIEW"},
		{agentsig.Own{Name: "REVIEW_PA55ED", Kind: kind}, "looks like, REVIEW_PASSED"},
		{agentsig.Own{Name: "READYFOR_REVIEW", Kind: kind}, "looks like, READY_FOR_REVIEW"},
		{agentsig.Own{Name: "FILE_CONFLICT", Kind: kind}, "looks like, FILE CONFLICT"},
		{agentsig.Own{Name: "HEALTH_AUDIT", Kind: kind}, "looks like, HEALTH_AUDIT: HEALTHY"},
		{agentsig.Own{Name: "CHECKPOINT_DONE", Kind: kind}, "looks like, CHECKPOINT"},
		{agentsig.Own{Name: "DONE", Kind: kind}, "a name is words"},
		{agentsig.Own{Name: "Done_For", Kind: kind}, "a name is words"},
		{agentsig.Own{Name: "DONE_\x1b[2J", Kind: kind}, "a name is words"},
		{agentsig.Own{Name: "DONE_" + strings.Repeat("X", 60), Kind: kind}, "a name is words"},
		{agentsig.Own{Name: "ALL_DONE", Kind: "merge_it"}, "no kind of line signal"},
		{agentsig.Own{Name: "ALL_DONE", Kind: agentsig.KindExit}, "no kind of line signal"},
		{agentsig.Own{Name: "ALL_DONE", Kind: agentsig.KindStuck}, "no kind of line signal"},
		{agentsig.Own{Name: "ALL_DONE", Kind: kind, Roles: []agentsig.Role{agentsig.RoleCritic}}, "READY_FOR_REVIEW is said by developer"},
		{agentsig.Own{Name: "ALL_DONE", Kind: kind, Argument: "path"}, "that of READY_FOR_REVIEW is task, or none"},
		{agentsig.Own{Name: "ALL_DONE", Kind: agentsig.KindFileConflict, Argument: "none"}, "that of FILE CONFLICT is path"},
		{agentsig.Own{Name: "ALL_DONE", Kind: kind, Fields: []string{"A: b"}}, "can't be a field"},
	} {
		if _, err := agentsig.Extend(c.own); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.own, err)
		}
	}
	if _, err := agentsig.Extend(agentsig.Own{Name: "ALL_DONE", Kind: kind}, agentsig.Own{Name: "ALL_DONE_", Kind: kind}, agentsig.Own{Name: "A1L_DONE", Kind: kind}); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Error(err)
	}
	if _, err := agentsig.Extend(make([]agentsig.Own, 51)...); err == nil {
		t.Error("any number is taken")
	}
	if x, err := agentsig.Extend(); err != nil || x != nil || x.Entries() != nil {
		t.Error(x, err)
	}
}

// The instructions teach own signals beside the others, and an echo of them is none.
func TestOwnInstructions(t *testing.T) {
	x := extended(t)
	for role, want := range map[agentsig.Role]string{
		agentsig.RoleDeveloper: "\n    DONE_FOR_TODAY run=abc\nSay it when the task is done and you have verified it yourself. It counts as READY_FOR_REVIEW. Follow it with these lines:\nSummary: …\nLeft To Do: …\n",
		agentsig.RoleCritic:    "\n    LOOKS_GOOD: T-1 run=abc\n",
	} {
		text, err := x.Instructions(role, "T-1", "abc")
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%v: there is no %q in\n%s", err, want, text)
		}
		if r, err := agentsig.Scan(strings.NewReader(text), agentsig.Options{Own: x}); err != nil || r.Verdict.Kind != agentsig.KindUnknown {
			t.Errorf("an echo is %s, %v", r.Verdict.Kind, err)
		}
	}
	if text, _ := x.Instructions(agentsig.RoleAuditor, "T-1", ""); strings.Contains(text, "STILL_ALIVE") {
		t.Error("an auditor is taught what it may not say")
	}
}

func ExampleExtend() {
	x, err := agentsig.Extend(agentsig.Own{Name: "DONE_FOR_TODAY", Kind: agentsig.KindReadyForReview, Argument: agentsig.NoOwnArgument})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := agentsig.Scan(strings.NewReader("DONE_FOR_TODAY\nSummary: the parser works\n"), agentsig.Options{Task: "T-1", Own: x})
	s := found.Verdict.Signal
	fmt.Println(s.Name, s.Kind, s.Subject, s.Action(), err)
	// Output: DONE_FOR_TODAY ready_for_review T-1 DISPATCH_CRITIC <nil>
}

// FuzzOwnSignals: with signals of a project's own a scanner finds the rest as without, in lines that have none of them; and
// the same for every split.
func FuzzOwnSignals(f *testing.F) {
	for _, text := range []string{"DONE_FOR_TODAY\n", "LOOKS_GOOD: T-1\n> LOOKS_GOOD: T-1", "x LOOKS_GOOD: #1", "{\"protocol\"\nDONE_FOR_TODAY\n", "`DONE_FOR\n_TODAY`", "STILL_ALIVE: T-1\n<signal", "READY_FOR_REVIEW: T-1\nLOOKS_GOOD:"} {
		f.Add(text, 3)
	}
	x := extended(f)
	f.Fuzz(func(t *testing.T, text string, at int) {
		scan := func(o agentsig.Options, parts ...string) (found []string) {
			s := agentsig.NewScanner(o, agentsig.Sink{Finding: func(f agentsig.Finding) {
				found = append(found, fmt.Sprint(f.Outcome, f.Signal, f.Reason, f.Span))
			}})
			for _, p := range parts {
				if _, err := s.Write([]byte(p)); err != nil && !errors.Is(err, agentsig.ErrClosed) {
					t.Fatal(err)
				}
			}
			s.Close()
			return found
		}
		o := agentsig.Options{Own: x}
		whole := scan(o, text)
		if at > 0 && at < len(text) {
			if diff := cmp.Diff(whole, scan(o, text[:at], text[at:])); diff != "" {
				t.Error(diff)
			}
		}
		for _, mine := range own {
			letters := strings.NewReplacer("_", "", " ", "").Replace(strings.ToUpper(text))
			if strings.Contains(letters, mine.Name[:4]) {
				return
			}
		}
		for _, r := range text {
			if r >= 0x7f || r < ' ' && r != '\n' {
				return // it may be a letter of such a name in disguise
			}
		}
		if diff := cmp.Diff(scan(agentsig.Options{}, text), whole); diff != "" {
			t.Error(diff)
		}
	})
}

// TestOwnMutants drops each rule about signals of a project's own once.
func TestOwnMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestOwn(Signals|Instructions)|^TestExtendRefuses$", []mutant.Mutant{
		{Name: "a name that looks like another is taken", File: "extend.go", Old: "distance(a, b) <= 2", New: "distance(a, b) < 1"},
		{Name: "a longer name is taken", File: "extend.go", Old: "strings.HasPrefix(name, known+\"_\") || ", New: ""},
		{Name: "own names may look like each other", File: "extend.go", Old: "range slices.Concat(vocabulary, x.entries) {", New: "range vocabulary {"},
		{Name: "a role says what its kind does not let it say", File: "extend.go", Old: "!slices.Contains(Roles(), r) || !kind.MayBeSaidBy(r)", New: "!slices.Contains(Roles(), r)"},
		{Name: "a path is left out", File: "extend.go", Old: "case o.Argument == NoOwnArgument && (named || kind.Argument == NoArgument):", New: "case o.Argument == NoOwnArgument && (named || true):"},
		{Name: "plain lines hide own signals", File: "fast.go", Old: "s.slow || s.opts.Own != nil ||", New: "s.slow ||"},
		{Name: "a part of an own signal is shown", File: "text.go", Old: "s.opts.Own.lines(func(e *Entry) bool {\n\t\t\tn := min", New: "(*Extension)(nil).lines(func(e *Entry) bool {\n\t\t\tn := min"},
		{Name: "nobody is told of the task", File: "line.go", Old: "\t\tr.signal.Subject = o.Task // as if it were said\n", New: ""},
		{Name: "an own signal in the middle of a line is not seen", File: "text.go", Old: "!s.opts.Own.underscoreMatters(text, p)", New: "!underscoreMatters(text, p)"},
	}))
}
