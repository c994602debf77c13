package box_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/prompt"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// What the instructions for work by hand teach a role is acted upon, each signal of it; and what is not taught is what a
// run alone acts upon.
func TestTaughtByHand(t *testing.T) {
	t.Parallel()
	u := up(t, t.TempDir())
	n, taught := 0, map[agentsig.Kind]bool{}
	for _, role := range agentsig.Roles() {
		text, err := prompt.Voice{Subject: "ID", Hand: true}.Signals(role)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^    (.+)$`).FindAllStringSubmatch(text, -1) {
			n++
			g := u.assigned(t, role, n)
			subject := g.Work
			if role == agentsig.RoleExpert {
				subject = g.Waits.ID
			}
			line := strings.ReplaceAll(m[1], ": ID", ": "+subject)
			e := u.emit(t, g.Session, line+"\nConfidence: HIGH\n")
			if !e.Accepted {
				t.Errorf("the %s is taught %q, and it is not accepted: %s", role, line, e.Error)
			}
			found, err := agentsig.Scan(strings.NewReader(line+"\n"), agentsig.Options{})
			if err != nil {
				t.Fatal(err)
			}
			taught[found.Verdict.Kind] = true
		}
	}
	for _, k := range work.OnlyInRuns() {
		if taught[k] {
			t.Errorf("%s is taught, and nobody acts upon it", k)
		}
		taught[k] = true
	}
	for _, e := range agentsig.Vocabulary() {
		if e.Dialect == agentsig.DialectLine && !taught[e.Kind] {
			t.Errorf("nobody is taught %s", e.Wire)
		}
	}
}

// A developer may hold DRAFT: what is taught then completes DRAFT, and READY_FOR_REVIEW, which does not, is refused with the way out.
func TestTaughtInDraft(t *testing.T) {
	t.Parallel()
	u := up(t, t.TempDir())
	u.add(t, "T-1", agentsig.PhaseDraft)
	g := u.claim(t, api.Claim{Work: "T-1", Role: agentsig.RoleDeveloper})
	e := u.emit(t, g.Session, "READY_FOR_REVIEW: T-1\n")
	if e.Accepted || !strings.Contains(e.Error, "EXPANDED_TASK_SPECIFICATION completes DRAFT") || !strings.Contains(e.Error, "signalbox work override T-1 --phase IMPLEMENTATION") {
		t.Errorf("%+v", e)
	}
	for range 2 {
		e = u.emit(t, g.Session, "done\n")
	}
	g = u.claim(t, api.Claim{Work: "T-1", Role: agentsig.RoleDeveloper})
	if !strings.Contains(g.Format, "    EXPANDED_TASK_SPECIFICATION: T-1\n") || strings.Contains(g.Format, "READY_FOR_REVIEW") || strings.Contains(g.Format, "INFRA_BLOCKED") {
		t.Errorf("after %+v the claim teaches\n%s", e, g.Format)
	}
	if e := u.emit(t, g.Session, "EXPANDED_TASK_SPECIFICATION: T-1\nConfidence: HIGH\n"); !e.Accepted || e.NextPhase != agentsig.PhaseImplementation {
		t.Errorf("what is taught is not acted upon: %+v", e)
	}
}

// assigned gives an agent in a role something that it may hold.
func (u *bench) assigned(t *testing.T, role agentsig.Role, n int) api.Grant {
	t.Helper()
	id := "T-" + string(role) + string(rune('a'+n/26)) + string(rune('a'+n%26))
	phase, ok := role.Phase()
	if !ok {
		phase = agentsig.PhaseImplementation
	}
	u.add(t, id, phase)
	if !ok {
		says := "INFRA_BLOCKED: " + id + "\n"
		if role == agentsig.RoleExpert {
			says = "EXPERT_REQUEST\n"
		}
		u.emit(t, u.claim(t, api.Claim{Work: id, Role: agentsig.RoleDeveloper}).Session, says)
		if role == agentsig.RoleHealthAuditor {
			u.emit(t, u.claim(t, api.Claim{Work: id, Role: agentsig.RoleRemediation}).Session, "REMEDIATION_COMPLETE\n")
		}
	}
	return u.claim(t, api.Claim{Work: id, Role: role})
}

// A request that ended its session, whose answer was lost, is the same request when it comes again: not a late result.
func TestUnreadAgain(t *testing.T) {
	t.Parallel()
	u := up(t, t.TempDir())
	u.add(t, "T-1", agentsig.PhaseDraft)
	session := u.claim(t, api.Claim{Work: "T-1"}).Session
	for i, want := range []string{work.UnknownRecovery, work.UnknownRecovery, work.SignalFailure, work.SignalFailure} {
		key := "output-" + string(rune('1'+min(i, 2))) // the last one is sent twice
		e, err := u.Emit(session, []byte("READY_FOR_REVIEW: T-1\n"), key)
		if err != nil || e.Accepted || e.Event != want {
			t.Fatalf("output %d: %+v, %v; want %s", i+1, e, err, want)
		}
	}
}
