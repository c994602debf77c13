package work_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

const subject = "01JD0000000000000000000001"

// apply records an event on the item, as the ledger would.
func apply(t *testing.T, i work.Item, e work.Event) work.Item {
	t.Helper()
	data := stored(t, i, e)
	event, err := ledger.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	next, err := work.Fold(i, i.Seq+1, event, data)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func stored(t *testing.T, i work.Item, e work.Event) []byte {
	t.Helper()
	payload, err := json.Marshal(e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	lease := ""
	if e.Token != (work.Token{}) {
		lease = e.Token.String()
	}
	data, err := ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: subject, ItemSeq: i.Tip.ItemSeq + 1, Prev: i.Tip.Sum,
		Type: e.Type, Actor: e.Actor, Session: e.Session, Lease: lease, Key: e.Key,
		Time: time.Unix(0, 0), Payload: payload,
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func do(t *testing.T, i work.Item, c work.Command) work.Item {
	t.Helper()
	e, err := work.Decide(i, c)
	if err != nil {
		t.Fatalf("%#v on %s: %v", c, i.Phase, err)
	}
	return apply(t, i, e)
}

func added(t *testing.T, phase agentsig.Phase) work.Item {
	return do(t, work.Item{}, work.Add{ID: "T-1", Title: "a title", Phase: phase, Actor: "operator"})
}

func grant(role agentsig.Role) work.Grant {
	return work.Grant{Epoch: 1, Actor: "ann", Role: role, TTL: time.Minute}
}

func exit(phase agentsig.Phase, reason agentsig.ExitReason) agentsig.Signal {
	return agentsig.NewExitSignal(phase, reason).Signal()
}

func line(kind agentsig.Kind) agentsig.Signal { return agentsig.Signal{Kind: kind, Subject: "T-1"} }

// The path of the phase table, with the gate where only the gate may go on.
func TestPhases(t *testing.T) {
	i := added(t, agentsig.PhaseDraft)
	for _, step := range []struct {
		role agentsig.Role
		say  agentsig.Signal
		next agentsig.Phase
	}{
		{agentsig.RoleAnalyst, agentsig.Signal{Kind: agentsig.KindExpandedSpec, Subject: "T-1", Payload: "Confidence: HIGH\n"}, agentsig.PhaseImplementation},
		{agentsig.RoleDeveloper, exit(agentsig.PhaseImplementation, agentsig.ExitCompleted), agentsig.PhaseCIPending},
		{},
		{"", exit(agentsig.PhaseReadyForReview, agentsig.ExitCompleted), agentsig.PhaseReview},
		{agentsig.RoleCritic, line(agentsig.KindReviewFailed), agentsig.PhaseImplementation},
		{agentsig.RoleDeveloper, line(agentsig.KindReadyForReview), agentsig.PhaseCIPending},
		{},
		{agentsig.RoleCritic, line(agentsig.KindReviewPassed), agentsig.PhaseReadyForMerge},
		{agentsig.RoleAuditor, line(agentsig.KindAuditPassed), agentsig.PhaseCompleted},
	} {
		if step.next == "" {
			i = do(t, i, work.Report{Commit: "0123abc", Passed: true})
			continue
		}
		i = do(t, i, grant(step.role))
		i = do(t, i, work.End{Token: i.Lease.Token, Actor: "ann", Signal: step.say})
		if i.Phase != step.next || i.Lease != nil {
			t.Fatalf("after %v: %s, lease %v, want %s", step.say.Kind, i.Phase, i.Lease, step.next)
		}
	}
	if i.Granted != 7 {
		t.Errorf("%d grants, want 7", i.Granted)
	}
}

// Every refusal has its own error, and changes nothing.
func TestRefusals(t *testing.T) {
	draft := added(t, agentsig.PhaseDraft)
	held := do(t, draft, grant(""))
	released := do(t, held, work.Release{Token: held.Lease.Token})
	ended := do(t, held, work.End{Token: held.Lease.Token, Signal: exit(agentsig.PhaseDraft, agentsig.ExitCompleted), Actor: "ann"})
	pending := do(t, added(t, agentsig.PhaseCIPending), grant(""))
	audited := auditedTask(t)
	reviewing := do(t, do(t, added(t, agentsig.PhaseCIPending), work.Report{Commit: "0123abc", Passed: true}), grant(agentsig.RoleCritic))
	building := do(t, added(t, agentsig.PhaseImplementation), grant(agentsig.RoleDeveloper))
	token := held.Lease.Token
	anyHeld, anyRole := errors.New("a HeldError"), errors.New("a RoleError")
	for _, c := range []struct {
		name string
		item work.Item
		do   work.Command
		want error
	}{
		{"add twice", draft, work.Add{ID: "T-1", Title: "t", Phase: agentsig.PhaseDraft, Actor: "a"}, work.ErrExists},
		{"bad id", work.Item{}, work.Add{ID: "../x", Title: "t", Phase: agentsig.PhaseDraft, Actor: "a"}, work.ErrBadID},
		{"no title", work.Item{}, work.Add{ID: "T", Title: " ", Phase: agentsig.PhaseDraft, Actor: "a"}, work.ErrNoTitle},
		{"long title", work.Item{}, work.Add{ID: "T", Title: string(make([]byte, 2000)), Phase: agentsig.PhaseDraft, Actor: "a"}, work.ErrTooLong},
		{"bad phase", work.Item{}, work.Add{ID: "T", Title: "t", Phase: "DONE", Actor: "a"}, work.ErrBadPhase},
		{"bad actor", work.Item{}, work.Add{ID: "T", Title: "t", Phase: agentsig.PhaseDraft, Actor: "a\nb"}, work.ErrBadActor},
		{"no item", work.Item{}, grant(""), work.ErrNoItem},
		{"role unknown", draft, grant("boss"), work.ErrBadRole},
		{"role of another phase", draft, grant(agentsig.RoleCritic), anyRole},
		{"term too short", draft, work.Grant{Epoch: 1, Actor: "a", TTL: 1}, work.ErrBadTTL},
		{"completed", added(t, agentsig.PhaseCompleted), grant(""), work.ErrCompleted},
		{"blocked", added(t, agentsig.PhaseBlocked), grant(""), work.ErrBlocked},
		{"held", held, grant(""), anyHeld},
		{"never granted", draft, work.Release{Token: token}, work.ErrNoSession},
		{"from the future", held, work.Release{Token: work.Token{Epoch: 1, Counter: 2}}, work.ErrNoSession},
		{"released", released, work.Release{Token: token}, work.ErrNotHolder},
		{"expire what was released", released, work.Expire{Token: token}, work.ErrNotHolder},
		{"note without lease", released, work.Note{Token: token}, work.ErrNotHolder},
		{"over", ended, work.End{Token: token, Signal: exit(agentsig.PhaseDraft, agentsig.ExitCompleted)}, work.ErrSessionOver},
		{"other phase", held, work.End{Token: token, Signal: exit(agentsig.PhaseReview, agentsig.ExitCompleted)}, agentsig.ErrWrongPhase},
		{"no handover", held, work.End{Token: token, Signal: line(agentsig.KindExpertAdvice)}, agentsig.ErrNoHandover},
		{"helping where nobody needs it", added(t, agentsig.PhaseBlocked), grant(agentsig.RoleExpert), work.ErrBlocked},
		{"helping with what is not blocked", draft, grant(agentsig.RoleExpert), anyRole},
		{"unread without lease", released, work.Unread{Token: token, Limit: 3}, work.ErrNotHolder},
		{"answer what was not asked", draft, work.Answer{Actor: work.OperatorActor, Question: "T-1-Q1", Text: "yes"}, work.ErrNoQuestion},
		{"gate only", pending, work.End{Token: pending.Lease.Token, Signal: exit(agentsig.PhaseCIPending, agentsig.ExitCompleted)}, agentsig.ErrGateOnly},
		{"not pending", draft, work.Report{Commit: "0123abc"}, work.ErrNotPending},
		{"bad commit", pending, work.Report{Commit: "HEAD"}, work.ErrBadCommit},
		{"no reason", draft, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseReview}, work.ErrNoReason},
		{"long reason", draft, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseReview, Reason: string(make([]byte, 5000)) + "x"}, work.ErrTooLong},
		{"same phase", draft, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseDraft, Reason: "r"}, work.ErrSamePhase},
		{"override to nowhere", draft, work.Override{Actor: work.OperatorActor, Phase: "X", Reason: "r"}, work.ErrBadPhase},
		{"audited", audited, grant(""), work.ErrAudited},
		{"merge without audit", draft, work.Merged{Commit: "0123abc"}, work.ErrNotAudited},
		{"merge of another commit", audited, work.Merged{Commit: "fffffff"}, work.ErrNotAudited},
		{"merge that was not allowed", audited, work.Merged{Commit: "0123abc", Tree: "7ee0123"}, work.ErrNotAllowed},
		{"merge from another base", audited, allow("0123abc", "0123001"), work.ErrOtherBase},
		{"merge of another tree", audited, work.Merged{Commit: "0123abc", Tree: "7ee9999"}, work.ErrNotSeen},
		{"showing without lease", released, work.Show{Token: token, Commit: "0123abc", Tree: "7ee0123", Base: "0123000"}, work.ErrNotHolder},
		{"showing another commit", reviewing, work.Show{Token: reviewing.Lease.Token, Commit: "fffffff", Tree: "7ee0123", Base: "0123000"}, work.ErrOtherCommit},
		{"showing no tree", reviewing, work.Show{Token: reviewing.Lease.Token, Commit: "0123abc", Base: "0123000"}, work.ErrBadCommit},
		{"showing no base", reviewing, work.Show{Token: reviewing.Lease.Token, Commit: "0123abc", Tree: "7ee0123"}, work.ErrBadCommit},
		{"showing to a developer", building, work.Show{Token: building.Lease.Token, Commit: "0123abc", Tree: "7ee0123", Base: "0123000"}, anyRole},
		{"failed merge of another commit", audited, work.Unmerged{Commit: "fffffff"}, work.ErrNotAudited},
		{"merge of nothing", audited, work.Merged{Commit: "HEAD"}, work.ErrBadCommit},
		{"block what is held", held, work.Block{Cause: "c", Reason: "r"}, anyHeld},
		{"block what is completed", added(t, agentsig.PhaseCompleted), work.Block{Cause: "c", Reason: "r"}, work.ErrCompleted},
		{"block twice", added(t, agentsig.PhaseBlocked), work.Block{Cause: "c", Reason: "r"}, work.ErrSamePhase},
		{"unblock what is not", draft, work.Unblock{Reason: "r"}, work.ErrNotBlocked},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := work.Decide(c.item, c.do)
			var held *work.HeldError
			var role *work.RoleError
			ok := errors.Is(err, c.want)
			switch {
			case errors.Is(c.want, anyHeld):
				ok = errors.As(err, &held)
			case errors.Is(c.want, anyRole):
				ok = errors.As(err, &role)
			}
			if !ok {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if e.Type != "" {
				t.Errorf("refused, and yet %s", e.Type)
			}
		})
	}
}

// The phase that a blocked item came from is kept, and an override ends a lease.
func TestBlockedAndOverridden(t *testing.T) {
	i := do(t, added(t, agentsig.PhaseImplementation), grant(agentsig.RoleDeveloper))
	i = do(t, i, work.End{Token: i.Lease.Token, Signal: line(agentsig.KindInfraBlocked)})
	if i.Phase != agentsig.PhaseBlocked || i.BlockedFrom != agentsig.PhaseImplementation {
		t.Fatalf("%s from %s", i.Phase, i.BlockedFrom)
	}
	i = do(t, i, work.Override{Actor: work.OperatorActor, Phase: i.BlockedFrom, Reason: "disk is back"})
	if i.BlockedFrom != "" {
		t.Errorf("still blocked from %s", i.BlockedFrom)
	}
	i = do(t, i, grant(""))
	late := i.Lease.Token
	i = do(t, i, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseReview, Reason: "by hand"})
	e, err := work.Decide(i, work.End{Token: late, Actor: "ann", Signal: exit(agentsig.PhaseImplementation, agentsig.ExitCompleted)})
	if err != nil || e.Type != work.LateResultRecorded {
		t.Fatalf("%s, %v, want a late result", e.Type, err)
	}
	if after := apply(t, i, e); after.Phase != agentsig.PhaseReview || after.Lease != nil {
		t.Errorf("a late result moved the item: %+v", after)
	}
}

// auditedTask is a task of a run whose work passed the gate, the review and the
// audit.
func auditedTask(t *testing.T) work.Item {
	t.Helper()
	i := do(t, work.Item{}, work.Add{ID: "T-1", Title: "a title", Phase: agentsig.PhaseCIPending, Actor: "operator", Run: "R", Task: "T-1"})
	i = do(t, i, work.Report{Commit: "0123abc", Passed: true})
	i = do(t, i, grant(agentsig.RoleCritic))
	i = do(t, i, work.Show{Token: i.Lease.Token, Commit: "0123abc", Tree: "7ee0123", Base: "0123000"})
	i = do(t, i, work.End{Token: i.Lease.Token, Signal: line(agentsig.KindReviewPassed)})
	i = do(t, i, grant(agentsig.RoleAuditor))
	i = do(t, i, work.Show{Token: i.Lease.Token, Commit: "0123abc", Tree: "7ee0123", Base: "0123000"})
	return do(t, i, work.End{Token: i.Lease.Token, Signal: line(agentsig.KindAuditPassed)})
}

// allow is a merge that is about to be made.
func allow(commit, base string) work.Allow {
	return work.Allow{Allowed: work.Allowed{Task: "T-1", Commit: commit, Base: base, Onto: "0123aaa", Tree: "0123bbb"}}
}

// What reviewers saw begin from one commit is not merged from another one, whichever of them saw
// it so.
func TestCheckBase(t *testing.T) {
	i := auditedTask(t)
	if err := i.CheckBase("0123000"); err != nil || i.Base() != "0123000" {
		t.Errorf("%q, %v", i.Base(), err)
	}
	for name, change := range map[string]func(*work.Item){
		"another review": func(i *work.Item) { i.Review.Base = "0123001" },
		"another audit":  func(i *work.Item) { i.Audit.Base = "0123001" },
		"none is known":  func(i *work.Item) { i.Review.Base = "" },
	} {
		other := i
		change(&other)
		if err := other.CheckBase("0123000"); !errors.Is(err, work.ErrOtherBase) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := work.Decide(other, allow("0123abc", "0123000")); !errors.Is(err, work.ErrOtherBase) {
			t.Errorf("%s is allowed: %v", name, err)
		}
	}
	if _, err := work.Decide(do(t, i, allow("0123abc", "0123000")), work.Merged{Commit: "0123abc", Tree: "7ee0123", Result: "0123abd"}); err != nil {
		t.Error(err)
	}
	if _, err := work.Decide(i, work.Merged{Commit: "0123abc", Tree: "7ee0123", Result: "0123abd"}); !errors.Is(err, work.ErrNotAllowed) {
		t.Errorf("merged, and not allowed: %v", err)
	}
}

// What is merged was seen by the critic and the auditor of the same round, but for those
// whom the operator took it past.
func TestCheckMerge(t *testing.T) {
	const commit, tree = "0123abc", "7ee0123"
	i := auditedTask(t)
	if unseen, err := i.CheckMerge(commit, tree); unseen != nil || err != nil {
		t.Errorf("%v, %v", unseen, err)
	}
	for name, change := range map[string]func(*work.Item){
		"no review":               func(i *work.Item) { i.Review = work.Seen{} },
		"no audit":                func(i *work.Item) { i.Audit = work.Seen{} },
		"another tree reviewed":   func(i *work.Item) { i.Review.Tree = "7ee9999" },
		"another tree audited":    func(i *work.Item) { i.Audit.Tree = "7ee9999" },
		"another commit":          func(i *work.Item) { i.Audit.Commit = "fffffff" },
		"another commit reviewed": func(i *work.Item) { i.Review.Commit = "fffffff" },
		"another tree by hand":    func(i *work.Item) { i.Review, i.Audit.Tree, i.ByHand = work.Seen{}, "7ee9999", true },
	} {
		other := i
		change(&other)
		if _, err := other.CheckMerge(commit, tree); !errors.Is(err, work.ErrNotSeen) {
			t.Errorf("%s: %v", name, err)
		}
	}
	rework := do(t, do(t, i, work.Unmerged{Commit: commit, Reason: "conflict"}), grant(agentsig.RoleDeveloper))
	rework = do(t, rework, work.End{Token: rework.Lease.Token, Signal: line(agentsig.KindReadyForReview)})
	rework = do(t, rework, work.Report{Commit: commit, Passed: true})
	if rework.Review != (work.Seen{}) || rework.Audit != (work.Seen{}) || rework.ByHand {
		t.Errorf("a gate leaves what was seen before: %+v", rework)
	}
	past := do(t, i, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseReview, Reason: "r"})
	past = do(t, past, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseReadyForMerge, Reason: "r"})
	past = do(t, past, grant(agentsig.RoleAuditor))
	past = do(t, past, work.Show{Token: past.Lease.Token, Commit: "fffffff", Tree: "7eeffff", Base: "0123000"})
	past = do(t, past, work.End{Token: past.Lease.Token, Signal: line(agentsig.KindAuditPassed)})
	past = do(t, past, allow("fffffff", "0123000"))
	e, err := work.Decide(past, work.Merged{Commit: "fffffff", Tree: "7eeffff", Result: "0123abd"})
	if m, ok := e.Payload.(work.Merge); err != nil || !ok || !slices.Equal(m.Unseen, []agentsig.Role{agentsig.RoleCritic}) {
		t.Errorf("past the review: %+v, %v", e.Payload, err)
	}
}

// A task of a run is completed by its merge, and an audit holds only for the phase
// that it was given in.
func TestMerges(t *testing.T) {
	i := auditedTask(t)
	if i.Phase != agentsig.PhaseReadyForMerge || !i.Audited {
		t.Fatalf("%s, audited %v", i.Phase, i.Audited)
	}
	allowed := do(t, i, allow("0123abc", "0123000"))
	if done := do(t, allowed, work.Merged{Commit: "0123abc", Tree: "7ee0123", Result: "0123abd"}); done.Phase != agentsig.PhaseCompleted {
		t.Errorf("merged, and %s", done.Phase)
	}
	if back := do(t, i, work.Unmerged{Commit: "0123abc", Reason: "conflict"}); back.Phase != agentsig.PhaseImplementation || back.Audited {
		t.Errorf("not merged, and %s, audited %v", back.Phase, back.Audited)
	}
	blocked := do(t, i, work.Block{Cause: "c", Reason: "r"})
	if back := do(t, blocked, work.Unblock{Reason: "r"}); back.Phase != agentsig.PhaseReadyForMerge || back.Audited {
		t.Errorf("unblocked, and %s, audited %v", back.Phase, back.Audited)
	}
}

// Requests are found by their keys, the latest eight of them.
func TestKeys(t *testing.T) {
	i := added(t, agentsig.PhaseDraft)
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		i = do(t, i, work.Override{Actor: work.OperatorActor, Phase: other(i.Phase), Reason: "r", Key: key})
	}
	if got := i.Recorded("i"); len(got) != 1 || got[0] != i.Seq {
		t.Errorf("i was recorded at %v, want %d", got, i.Seq)
	}
	if got := i.Recorded("b"); len(got) != 1 {
		t.Errorf("b was recorded at %v", got)
	}
	if got := i.Recorded("a"); len(got) != 0 {
		t.Errorf("a is remembered for longer than eight requests: %v", got)
	}
}

func other(p agentsig.Phase) agentsig.Phase {
	if p == agentsig.PhaseDraft {
		return agentsig.PhaseImplementation
	}
	return agentsig.PhaseDraft
}

func TestNames(t *testing.T) {
	token := work.Token{Epoch: 2, Counter: 17}
	s, back, err := work.ParseSession(token.Session(subject))
	if err != nil || s != subject || back != token {
		t.Errorf("%s %v %v", s, back, err)
	}
	for _, bad := range []string{"", "x", "-1.1", "x-1", "x-01.1", "x-1.1.1", "x-1.-1", "x-1.1 "} {
		if _, _, err := work.ParseSession(bad); !errors.Is(err, work.ErrNoSession) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// claimedTask is a task in review whose developer changed nothing, and says why.
func claimedTask(t *testing.T) work.Item {
	t.Helper()
	i := do(t, work.Item{}, work.Add{ID: "T-1", Title: "t", Phase: agentsig.PhaseCIPending, Actor: "operator", Run: "R", Task: "T-1"})
	i = do(t, i, work.Report{Commit: "0123000", Passed: true, Files: new(0), NoChange: "it is there"})
	i = do(t, i, grant(agentsig.RoleCritic))
	return do(t, i, work.Show{Token: i.Lease.Token, Commit: "0123000", Tree: "7ee0123", Base: "0123000"})
}

// Work in which nothing was changed passes the gate only with a claim why, and ends without a merge if the critic agrees.
func TestUnchanged(t *testing.T) {
	pending := do(t, work.Item{}, work.Add{ID: "T-1", Title: "t", Phase: agentsig.PhaseCIPending, Actor: "operator", Run: "R", Task: "T-1"})
	if _, err := work.Decide(pending, work.Report{Commit: "0123000", Passed: true, Files: new(0)}); !errors.Is(err, work.ErrUnchanged) {
		t.Errorf("nothing was changed, nobody says why, and it passes: %v", err)
	}
	if back := do(t, pending, work.Report{Commit: "0123000", Passed: true, Since: work.SinceStart}); back.Phase != agentsig.PhaseImplementation {
		t.Errorf("nothing was changed, and %s", back.Phase)
	}
	if changed := do(t, pending, work.Report{Commit: "0123abc", Passed: true, Files: new(1), NoChange: "it is there"}); changed.NoChange != "" {
		t.Errorf("something was changed, and the claim is %q", changed.NoChange)
	}

	// What a version before let pass is merged as it was, though nothing was changed.
	old := apply(t, pending, work.Event{Type: work.GatePassed, Actor: work.GateActor, Payload: work.Gate{Commit: "0123000", Files: new(0), NextPhase: agentsig.PhaseReadyForReview}})
	for _, by := range []struct {
		role agentsig.Role
		word agentsig.Kind
	}{{agentsig.RoleCritic, agentsig.KindReviewPassed}, {agentsig.RoleAuditor, agentsig.KindAuditPassed}} {
		old = do(t, old, grant(by.role))
		old = do(t, old, work.Show{Token: old.Lease.Token, Commit: "0123000", Tree: "7ee0123", Base: "0123000"})
		old = do(t, old, work.End{Token: old.Lease.Token, Signal: line(by.word)})
	}
	if done := do(t, old, work.Merged{Commit: "0123000", Tree: "7ee0123", Result: "0123000"}); done.Phase != agentsig.PhaseCompleted || done.Unchanged() {
		t.Errorf("merged, and %s, without a change: %v", done.Phase, done.Unchanged())
	}

	i := claimedTask(t)
	if _, err := work.Decide(i, work.Leave{}); !errors.Is(err, work.ErrNotAgreed) {
		t.Errorf("it ends before the critic has spoken: %v", err)
	}
	refused := do(t, i, work.End{Token: i.Lease.Token, Signal: line(agentsig.KindReviewFailed)})
	if _, err := work.Decide(refused, work.Leave{}); !errors.Is(err, work.ErrNotAgreed) || refused.Phase != agentsig.PhaseImplementation {
		t.Errorf("it ends in %s, and the critic does not agree: %v", refused.Phase, err)
	}
	agreed := do(t, i, work.End{Token: i.Lease.Token, Signal: line(agentsig.KindReviewPassed)})
	if _, err := work.Decide(agreed, grant(agentsig.RoleAuditor)); !errors.Is(err, work.ErrAgreed) {
		t.Errorf("it is audited: %v", err)
	}
	e, err := work.Decide(agreed, work.Leave{})
	want := work.Unchanged{Commit: "0123000", Base: "0123000", Reason: "it is there", NextPhase: agentsig.PhaseCompleted}
	if err != nil || e.Type != work.WorkUnchanged || e.Payload != want {
		t.Fatalf("%+v, %v", e, err)
	}
	if done := apply(t, agreed, e); !done.Unchanged() {
		t.Errorf("completed, and not without a change: %+v", done)
	}
	for _, phase := range []agentsig.Phase{agentsig.PhaseCompleted, agentsig.PhaseReview} {
		if by := do(t, agreed, work.Override{Actor: work.OperatorActor, Phase: phase, Reason: "r"}); by.NoChange != "" || by.Unchanged() {
			t.Errorf("the operator's %s is taken for no change: %+v", phase, by)
		}
	}
	if past := do(t, do(t, agreed, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseReview, Reason: "r"}), work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseReadyForMerge, Reason: "r"}); past.Agreed() {
		t.Errorf("the operator's word is the critic's: %+v", past)
	}
}
