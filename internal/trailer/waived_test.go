package trailer_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// light is a ledger of a merge that nobody audited, each event of it as it can be forged. The other one of two that a change
// can have is on a subject or by a session of its own.
type light struct {
	started                      delivery.Started
	shown                        work.Shown
	passed                       work.Result
	waived                       work.Waived
	allowed                      work.Allowed
	session, gives, critic, says string
	second, other, late          bool
	start, verdict               string // the types of the events that start the run, and are the verdict
}

func newLight() light {
	return light{
		started: delivery.Started{ID: "R1", Settings: delivery.Settings{Unaudited: delivery.UnauditedSentence}},
		shown:   work.Shown{Role: agentsig.RoleCritic, Commit: merges, Tree: other, Base: onto},
		passed: work.Result{AgentSessionCompleted: agentsig.AgentSessionCompleted{
			PhaseCompleted: agentsig.PhaseReview, ExitReason: agentsig.ExitCompleted, NextPhase: agentsig.PhaseReadyForMerge,
		}},
		waived: work.Waived{Commit: merges, Tree: other, Start: 1, Shown: 4, Review: 5},
		allowed: work.Allowed{
			Run: "R1", Task: "T-1", Verdict: 6, Commit: merges, Onto: onto, Tree: tree, Unaudited: true,
		},
		gives: work.BoxActor, says: work.BoxActor, critic: "codex", start: delivery.RunStarted, verdict: work.AuditWaived,
	}
}

// write writes the ledger, and makes the commit: 1 the run starts, 2 and 3 the task, 4 the critic is shown it, 5 it passes, 6
// nobody audits it, 7 its merge is allowed.
func (l light) write(b *book) trailer.Commit {
	b.subject = "RUN"
	if l.second {
		b.add(delivery.RunStarted, "operator", delivery.Started{ID: "R1"})
		l.waived.Start, l.waived.Shown, l.waived.Review, l.allowed.Verdict = 2, 5, 6, 7
	}
	b.add(l.start, "operator", l.started)
	b.subject = "ITEM"
	b.add(work.WorkAdded, "operator", work.Added{ID: "R1.T-1", Unaudited: true})
	b.add(work.GatePassed, work.GateActor, work.Gate{Commit: merges})
	show := func() {
		b.session = "ITEM-1.2"
		b.add(work.WorkShown, l.gives, l.shown)
	}
	if !l.late {
		show()
	}
	if l.other {
		b.subject = "ITEM2"
	}
	b.session = cmp.Or(l.session, "ITEM-1.2")
	b.add(work.AgentSessionCompleted, l.critic, l.passed)
	b.subject = "ITEM"
	if l.late {
		show()
	}
	b.session = ""
	if l.verdict == work.AuditWaived {
		b.add(l.verdict, l.says, l.waived)
	} else {
		b.add(l.verdict, "auditor", audit())
	}
	return b.commit(b.add(work.MergeAllowed, work.BoxActor, l.allowed))
}

// against holds the commit against its ledger.
func (l light) against(t *testing.T) (trailer.Recorded, error) {
	b := newBook(t, "ledger.example")
	c := l.write(b)
	p, err := trailer.Check(c, b.key)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ledger.OpenFiles(b.files, b.key)
	if err != nil {
		t.Fatal(err)
	}
	return p.Against(f)
}

// A merge that nobody audited says so in its message, and the ledger has why and who passed it.
func TestUnaudited(t *testing.T) {
	b := newBook(t, "ledger.example")
	c := newLight().write(b)
	if !strings.Contains(c.Message, "\n\nSignalbox-Audit: none\nSignalbox-Task: T-1\n") {
		t.Errorf("the message is\n%s", c.Message)
	}
	p, err := trailer.Check(c, b.key)
	if err != nil || !p.Allowed.Unaudited || !p.Trailers.Unaudited {
		t.Fatalf("%+v, %v", p, err)
	}
	r, err := newLight().against(t)
	if err != nil || r.Audit != nil || r.Waived == nil || r.Waived.Why != delivery.UnauditedSentence || r.Waived.Critic != "codex" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = p.With(b.prove(6), b.key)
	if err != nil || r.Audit != nil || r.Waived == nil || r.Waived.Why != "" || r.Waived.Critic != "" {
		t.Errorf("with a proof alone: %+v, %v", r, err)
	}
	for name, message := range map[string]string{
		"taken away": strings.Replace(c.Message, "Signalbox-Audit: none\n", "", 1), "another": strings.Replace(c.Message, "Audit: none", "Audit: passed", 1),
		"twice": strings.Replace(c.Message, "Signalbox-Audit: none\n", "Signalbox-Audit: none\nSignalbox-Audit: none\n", 1),
	} {
		edited := c
		edited.Message = message
		if _, err := trailer.Check(edited, b.key); !isFault(err, trailer.Edited) {
			t.Errorf("%s: %v", name, err)
		}
	}
	audited := newBook(t, "ledger.example")
	claims := audited.merge()
	claims.Message = strings.Replace(claims.Message, "\n\nSignalbox-", "\n\nSignalbox-Audit: none\nSignalbox-", 1)
	if _, err := trailer.Check(claims, audited.key); !isFault(err, trailer.Edited) {
		t.Errorf("an audited merge that claims that it is none: %v", err)
	}
}

func isFault(err error, want trailer.Kind) bool {
	kind, _ := trailer.IsFault(err)
	return kind == want
}

// A claim that nobody has to audit a merge, which the ledger does not bear out, is named.
func TestUnauditedForged(t *testing.T) {
	for name, forge := range map[string]func(*light){
		"a run with an auditor":         func(l *light) { l.started.Settings.Unaudited = "" },
		"a reason that nobody knows":    func(l *light) { l.started.Settings.Unaudited = "nonsense" },
		"the start of another run":      func(l *light) { l.started.ID = "R2" },
		"a second start":                func(l *light) { l.second = true },
		"an event that starts nothing":  func(l *light) { l.waived.Start = 2 },
		"an event of another kind":      func(l *light) { l.start = delivery.RunResumed },
		"an event that is not there":    func(l *light) { l.waived.Start = 0 },
		"an auditor was shown it":       func(l *light) { l.shown.Role = agentsig.RoleAuditor },
		"an agent showed it":            func(l *light) { l.gives = "codex" },
		"another commit was shown":      func(l *light) { l.shown.Commit = onto },
		"another tree was shown":        func(l *light) { l.shown.Tree = onto },
		"the critic sent it back":       func(l *light) { l.passed.NextPhase = agentsig.PhaseImplementation },
		"a developer's word":            func(l *light) { l.passed.PhaseCompleted = agentsig.PhaseImplementation },
		"another session passed it":     func(l *light) { l.session = "ITEM-1.3" },
		"another work was passed":       func(l *light) { l.other = true },
		"it was passed before":          func(l *light) { l.late, l.waived.Shown, l.waived.Review = true, 5, 4 },
		"an agent waives it":            func(l *light) { l.says = "codex" },
		"a waiver of another commit":    func(l *light) { l.waived.Commit, l.shown.Commit = onto, merges },
		"the merge hides it":            func(l *light) { l.allowed.Unaudited = false },
		"it was audited":                func(l *light) { l.verdict = work.AgentSessionCompleted },
		"the gate's word is the review": func(l *light) { l.waived.Review = 3 },
	} {
		l := newLight()
		forge(&l)
		r, err := l.against(t)
		if name == "an event that is not there" && err != nil {
			continue
		}
		if !isFault(err, trailer.Contrary) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}
