package work_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

var schedules = flag.Int("schedules", 20_000, "how many schedules TestSchedules runs")

// TestSchedules plays clients against one item: their messages are delayed,
// doubled and reordered, leases expire at any time, and every decision is taken
// on a state that may be old and is written only if it still is the latest. After
// each write the history is held against the rules of fencing.
func TestSchedules(t *testing.T) {
	reached := map[string]int{}
	n := *schedules
	if testing.Short() {
		n = min(n, 2_000)
	}
	for seed := range n {
		s := schedule{rand: rand.New(rand.NewPCG(uint64(seed), 7)), reached: reached}
		s.run(t)
		if err := errors.Join(s.check(), s.checkTask()); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, s.story())
		}
	}
	for _, what := range append(work.Types(), "conflict", "refused", "doubled") {
		if want := n / 200; what != work.SignalRecorded && reached[what] < want {
			t.Errorf("%s was reached %d times, want %d", what, reached[what], want)
		}
	}
	t.Logf("reached: %v", reached)
}

type schedule struct {
	rand    *rand.Rand
	reached map[string]int
	item    work.Item
	old     []work.Item // states that a decider may still have in hand
	flight  []work.Command
	tokens  []work.Token // granted so far
	sent    []work.Token // of every End that was delivered
	history []entry
}

type entry struct {
	event  work.Event
	before work.Item
	after  work.Item
}

func (s *schedule) run(t *testing.T) {
	add := work.Add{ID: "T-1", Title: "t", Phase: agentsig.PhaseDraft, Actor: "operator"}
	if s.rand.IntN(2) == 0 {
		add.Run, add.Task = "01JD0000000000000000000002", "T-1"
		add.Phase = []agentsig.Phase{agentsig.PhaseDraft, agentsig.PhaseCIPending, agentsig.PhaseReadyForMerge}[s.rand.IntN(3)]
		add.Unaudited = s.rand.IntN(2) == 0
	}
	s.deliver(t, add)
	for range 50 {
		switch n := s.rand.IntN(12); {
		case n < 3:
			s.flight = append(s.flight, work.Grant{Epoch: 1, Actor: fmt.Sprint("agent", s.rand.IntN(3)), TTL: time.Minute, Role: s.role()})
		case n < 6 && len(s.tokens) > 0:
			token := s.tokens[s.rand.IntN(len(s.tokens))]
			if s.item.Lease != nil && s.rand.IntN(2) == 0 {
				token = s.item.Lease.Token
			}
			phase := s.item.Phase
			if s.rand.IntN(4) == 0 {
				phase = agentsig.Phases()[s.rand.IntN(8)]
			}
			reason := agentsig.ExitCompleted
			if s.rand.IntN(8) == 0 {
				reason = agentsig.ExitBlocked
			}
			signal := exit(phase, reason)
			if s.item.Run == "" && s.rand.IntN(3) == 0 {
				signal = line(asides[s.rand.IntN(len(asides))])
			}
			s.flight = append(s.flight, work.End{Token: token, Actor: "agent", Signal: signal, Limits: limits})
		case n < 7 && len(s.tokens) > 0:
			token := s.tokens[len(s.tokens)-1]
			s.flight = append(s.flight, work.Expire{Token: token})
			if s.rand.IntN(3) == 0 {
				s.flight = append(s.flight, work.Release{Token: token})
			}
		case n < 8:
			report := work.Report{Commit: "0123abc", Passed: s.rand.IntN(3) > 0}
			if s.rand.IntN(4) == 0 {
				report.Files, report.NoChange = new(s.rand.IntN(3)/2), []string{"", "it is there", "it is there", "it is there"}[s.rand.IntN(4)]
			}
			s.flight = append(s.flight, report)
			if s.item.Phase == agentsig.PhaseBlocked {
				s.flight = append(s.flight, work.Override{Actor: work.OperatorActor, Phase: s.item.BlockedFrom, Reason: "go on"})
			}
		case n < 9:
			commit := []string{"0123abc", "0123abc", "0123abc", "fffffff"}[s.rand.IntN(4)]
			tree := []string{"7ee0123", "7ee0123", "7ee0123", "7eeffff"}[s.rand.IntN(4)]
			s.flight = append(s.flight, work.Merged{Commit: commit, Tree: tree, Result: "0123abd"})
			if s.rand.IntN(2) == 0 {
				s.flight = append(s.flight, work.Allow{Allowed: work.Allowed{Task: s.item.Task, Commit: commit, Base: s.item.Base(), Onto: "0123aaa", Tree: "0123bbb"}})
			}
			if s.rand.IntN(2) == 0 {
				s.flight = append(s.flight, work.Unmerged{Commit: commit, Reason: "conflict"})
			}
		case n < 10:
			s.flight = append(s.flight, work.Unblock{Reason: "answered"})
			if s.rand.IntN(4) == 0 {
				s.flight = append(s.flight, work.Block{Cause: "gates", Reason: "too often"})
			}
		case n < 11 && s.rand.IntN(16) == 0:
			s.flight = append(s.flight, work.Take{Epoch: 1, Actor: work.OperatorActor})
		case n < 11 && len(s.tokens) > 0 && s.item.Run == "":
			s.flight = append(s.flight, work.Unread{Token: s.tokens[len(s.tokens)-1], Limit: limits.Unknown})
		case s.item.Wait != nil:
			s.flight = append(s.flight, work.Answer{Actor: work.OperatorActor, Question: s.item.Wait.ID, Text: "go on"})
		}
		if l := s.item.Lease; l != nil && (l.Role == agentsig.RoleCritic || l.Role == agentsig.RoleAuditor) && s.rand.IntN(2) == 0 {
			commit := s.item.Commit
			if commit == "" {
				commit = "0123abc"
			}
			s.deliver(t, work.Show{Token: l.Token, Commit: commit, Tree: "7ee0123", Base: "0123000"})
		}
		if s.item.Phase == agentsig.PhaseReadyForMerge && s.rand.IntN(2) == 0 {
			s.flight = append(s.flight, work.Leave{})
		}
		if s.item.Phase == agentsig.PhaseReadyForMerge && s.rand.IntN(2) == 0 {
			s.flight = append(s.flight, work.Waive{Start: 1})
		}
		if s.item.Judged() && s.rand.IntN(4) == 0 {
			s.propose(t)
		}
		if s.item.Judged() && s.rand.IntN(2) == 0 {
			base := []string{s.item.Base(), s.item.Base(), s.item.Base(), "0123001"}[s.rand.IntN(4)]
			allow := work.Allow{Allowed: work.Allowed{Task: s.item.Task, Commit: cmp.Or(s.item.Commit, "0123abc"), Base: base, Onto: "0123aaa", Tree: "0123bbb"}}
			s.say(&allow.Allowed)
			if p := s.item.Proposal; p != nil && s.rand.IntN(4) > 0 {
				allow.Approval = p.Approved
			}
			s.deliver(t, allow)
			s.flight = append(s.flight, work.Merged{Commit: "0123abc", Tree: "7ee0123", Result: "0123abd"})
		}
		if len(s.flight) > 0 {
			k := s.rand.IntN(len(s.flight))
			s.deliver(t, s.flight[k])
			if s.rand.IntN(4) == 0 {
				s.reached["doubled"]++
			} else {
				s.flight = slices.Delete(s.flight, k, k+1)
			}
		}
	}
}

// propose has a person asked about a merge, who approves that one or another, or sends it back.
func (s *schedule) propose(t *testing.T) {
	other := func(commit string) string { return []string{commit, commit, commit, "fffffff"}[s.rand.IntN(4)] }
	commit := cmp.Or(s.item.Commit, "0123abc")
	allowed := work.Allowed{Task: s.item.Task, Commit: other(commit), Base: s.item.Base(), Onto: "0123aaa", Tree: other("0123bbb")}
	s.say(&allowed)
	s.deliver(t, work.Propose{Proposed: work.Proposed{Allowed: allowed, Checked: "0123ccc"}})
	s.flight = append(s.flight, work.Approve{Actor: work.OperatorActor, Commit: other(commit), Onto: other("0123aaa"), Tree: other("0123bbb")})
	if s.rand.IntN(4) == 0 {
		s.flight = append(s.flight, work.Unmerged{Actor: work.OperatorActor, Commit: commit, Reason: "say more"})
	}
}

// say has a merge say whether it was audited; now and then it is wrong.
func (s *schedule) say(a *work.Allowed) {
	if w := s.item.Waived; (w != nil) != (s.rand.IntN(8) == 0) {
		a.Unaudited = true
		if w != nil {
			a.Verdict = w.Seq
		}
	}
}

var (
	limits = work.Limits{Unknown: 2, Obstacles: 2, ExpertRequests: 2, RemediationRounds: 2}
	asides = []agentsig.Kind{
		agentsig.KindDivineClarification, agentsig.KindInfraBlocked, agentsig.KindTaskIncomplete, agentsig.KindExpertRequest,
		agentsig.KindExpertAdvice, agentsig.KindExpertUnsuccessful, agentsig.KindRemediationComplete, agentsig.KindHealthHealthy, agentsig.KindHealthUnhealthy,
	}
)

func (s *schedule) role() agentsig.Role {
	if s.rand.IntN(2) == 0 {
		if role := s.item.Helper(); role != "" {
			return role
		}
		switch s.item.Phase {
		case agentsig.PhaseReadyForReview, agentsig.PhaseReview:
			return agentsig.RoleCritic
		case agentsig.PhaseReadyForMerge:
			return agentsig.RoleAuditor
		}
	}
	all := []agentsig.Role{"", "", "", agentsig.RoleDeveloper, agentsig.RoleCritic, agentsig.RoleAuditor}
	return all[s.rand.IntN(len(all))]
}

// deliver decides on the latest state or an older one, and writes the event if
// that state is the latest: the compare-and-set. The loser looks again.
func (s *schedule) deliver(t *testing.T, c work.Command) {
	seen := s.item
	if len(s.old) > 0 && s.rand.IntN(3) == 0 {
		seen = s.old[len(s.old)-1-s.rand.IntN(min(3, len(s.old)))]
	}
	for {
		e, err := work.Decide(seen, c)
		if err != nil {
			if seen.Seq != s.item.Seq && s.rand.IntN(2) == 0 {
				seen = s.item // refused on what is old: a careful caller looks again
				continue
			}
			s.reached["refused"]++
			return
		}
		if seen.Seq != s.item.Seq {
			s.reached["conflict"]++
			seen = s.item
			continue
		}
		if end, ok := c.(work.End); ok {
			s.sent = append(s.sent, end.Token)
		}
		s.old = append(s.old, s.item)
		after := apply(t, s.item, e)
		s.history = append(s.history, entry{e, s.item, after})
		s.item = after
		s.reached[e.Type]++
		if after.Lease != nil && e.Token == after.Lease.Token && e.Type != work.LateResultRecorded && e.Type != work.WorkShown && e.Type != work.UnknownRecovery {
			s.tokens = append(s.tokens, e.Token)
		}
		return
	}
}

// check reads the history as an outsider: who was the holder is taken from the
// events alone.
func (s *schedule) check() error {
	var holder, last work.Token
	var none work.Token
	completions, late := map[work.Token]int{}, map[work.Token]int{}
	phase := agentsig.PhaseDraft
	for n, h := range s.history {
		moved := h.before.Phase != h.after.Phase
		switch e := h.event; e.Type {
		case work.LeaseGranted, work.ReviewStarted:
			if holder != none {
				return fmt.Errorf("event %d grants what %v holds", n, holder)
			}
			if e.Token.Counter <= last.Counter {
				return fmt.Errorf("event %d: token %v does not rise over %v", n, e.Token, last)
			}
			holder, last = e.Token, e.Token
		case work.WorkTaken:
			if e.Token.Counter <= last.Counter || h.before.Judged() || h.before.Phase == agentsig.PhaseCompleted || h.after.Phase != agentsig.PhaseImplementation {
				return fmt.Errorf("event %d: %v takes what is in %s, with %v before it", n, e.Token, h.before.Phase, last)
			}
			holder, last = e.Token, e.Token
		case work.AgentSessionCompleted:
			if e.Token != holder {
				return fmt.Errorf("event %d: %v completes what %v holds", n, e.Token, holder)
			}
			if completions[e.Token]++; completions[e.Token] > 1 {
				return fmt.Errorf("event %d: %v completes again", n, e.Token)
			}
			if h.after.Lease != nil {
				return fmt.Errorf("event %d: %v completes, and keeps the item", n, e.Token)
			}
			holder = none
		case work.LeaseExpired, work.LeaseReleased:
			if e.Token != holder {
				return fmt.Errorf("event %d: takes the lease of %v, and %v has it", n, e.Token, holder)
			}
			if moved {
				return fmt.Errorf("event %d moves the phase", n)
			}
			holder = none
		case work.GatePassed, work.GateFailed:
			if h.before.Phase != agentsig.PhaseCIPending {
				return fmt.Errorf("event %d: the gate moves %s", n, h.before.Phase)
			}
			holder = none
		case work.WorkOverridden, work.WorkUnblocked:
			holder = none
		case work.SignalFailure:
			if e.Token != holder || moved || h.after.Lease != nil {
				return fmt.Errorf("event %d gives up %v, and %v has it", n, e.Token, holder)
			}
			holder = none
		case work.UnknownRecovery:
			if e.Token != holder || moved || h.after.Lease == nil {
				return fmt.Errorf("event %d asks %v, and %v has it", n, e.Token, holder)
			}
		case work.QuestionAnswered:
			if h.before.Phase != agentsig.PhaseBlocked || h.after.Phase != h.before.BlockedFrom {
				return fmt.Errorf("event %d: an answer leads from %s to %s", n, h.before.Phase, h.after.Phase)
			}
			holder = none
		case work.LateResultRecorded:
			if e.Token == holder {
				return fmt.Errorf("event %d: %v holds the item, and is called late", n, e.Token)
			}
			if moved || (h.after.Lease == nil) != (h.before.Lease == nil) {
				return fmt.Errorf("event %d: a late result moves the item", n)
			}
			late[e.Token]++
		}
		if h.before.Phase == agentsig.PhaseCIPending && h.after.Phase == agentsig.PhaseReadyForReview && h.event.Type != work.GatePassed && h.event.Type != work.WorkOverridden {
			return fmt.Errorf("event %d: %s passes CI", n, h.event.Type)
		}
		if h.after.Wait != nil && (h.after.Phase != agentsig.PhaseBlocked || h.after.Run != "") {
			return fmt.Errorf("event %d: what is in %s waits for %s", n, h.after.Phase, h.after.Wait.ID)
		}
		if p, ok := h.event.Payload.(work.Granted); ok && h.before.Phase == agentsig.PhaseBlocked && (p.Role == "" || p.Role != h.before.Helper()) {
			return fmt.Errorf("event %d: %q helps with what waits for %q", n, p.Role, h.before.Helper())
		}
		phase = h.after.Phase
	}
	if phase != s.item.Phase {
		return errors.New("the fold lost the phase")
	}
	for _, token := range s.sent {
		if completions[token]+late[token] == 0 {
			return fmt.Errorf("a result of %v was taken, and is not in the history", token)
		}
	}
	return nil
}

// checkTask holds the history of an item against what a run may rely on: it is
// completed by a merge of what the gate saw and an auditor passed, or by a critic who was shown that nothing was
// changed and agrees with that; and blocked only to return to where it was.
func (s *schedule) checkTask() error {
	from, audited, gated := agentsig.PhaseDraft, false, ""
	waived, passed, shown, light := false, "", work.Token{}, s.history[0].event.Payload.(work.Added).Unaudited
	claimed, agreed := false, false
	seen, byHand := map[agentsig.Role]string{}, false
	var proposed *work.Proposed
	approval := uint64(0)
	for n, h := range s.history {
		moved := h.before.Phase != h.after.Phase
		if moved && h.after.Phase == agentsig.PhaseBlocked {
			from = h.before.Phase
		}
		if h.after.Phase == agentsig.PhaseCompleted && moved && s.item.Run != "" && !slices.Contains([]string{work.WorkMerged, work.WorkUnchanged, work.WorkOverridden}, h.event.Type) {
			return fmt.Errorf("event %d: a task is completed by %s", n, h.event.Type)
		}
		switch p := h.event.Payload.(type) {
		case work.Gate:
			gated, byHand = p.Commit, false
			same := p.Files != nil && *p.Files == 0
			if claimed, agreed = p.NoChange != "", false; h.event.Type == work.GatePassed && same != claimed || h.event.Type == work.GateFailed && claimed {
				return fmt.Errorf("event %d: nothing was changed: %v, and that is claimed: %v", n, same, claimed)
			}
			clear(seen)
			passed = ""
		case work.Taken:
			gated, byHand, claimed, agreed = "", false, false, false
			clear(seen)
			passed = ""
		case work.Overridden:
			gated, byHand = "", true // what the gate saw may not be what is there by now
			claimed, agreed = false, false
			clear(seen)
			passed = ""
		case work.Shown:
			seen[p.Role], gated = p.Tree, p.Commit
			if p.Role == agentsig.RoleCritic {
				passed, shown = "", h.event.Token
			}
		case work.Waived:
			if !light || audited || moved || passed == "" || p.Commit+" "+p.Tree != passed || p.Commit != gated || claimed || h.event.Actor != work.BoxActor || h.before.Lease != nil || h.before.Phase != agentsig.PhaseReadyForMerge {
				return fmt.Errorf("event %d: nobody audits %s in %s; without an auditor: %v, the critic has passed %q", n, p.Commit, h.before.Phase, light, passed)
			}
			audited, waived = true, true
		case work.Merge:
			for _, role := range []agentsig.Role{agentsig.RoleCritic, agentsig.RoleAuditor} {
				if waived && role == agentsig.RoleAuditor && p.Unaudited && p.Commit+" "+p.Tree == passed {
					continue
				}
				if h.event.Type == work.WorkMerged && p.Tree != seen[role] && (seen[role] != "" || !byHand) {
					return fmt.Errorf("event %d merges the tree %s, and the %s saw %q", n, p.Tree, role, seen[role])
				}
			}
			if !audited || gated != "" && p.Commit != gated {
				return fmt.Errorf("event %d speaks of a merge of %s; audited %v at %q", n, p.Commit, audited, gated)
			}
			if h.event.Type == work.MergeFailed && h.event.Actor == work.OperatorActor && (proposed == nil || approval != 0) {
				return fmt.Errorf("event %d: a person sends back what they were not asked about", n)
			}
		case work.Proposed:
			if !audited || gated != "" && p.Commit != gated || moved || h.event.Actor != work.BoxActor {
				return fmt.Errorf("event %d proposes the merge of %s; audited %v at %q", n, p.Commit, audited, gated)
			}
			proposed, approval = &p, 0
		case work.Approved:
			if proposed == nil || approval != 0 || moved || h.event.Actor != work.OperatorActor || p.Commit != proposed.Commit || p.Onto != proposed.Onto || p.Tree != proposed.Tree {
				return fmt.Errorf("event %d approves %+v; proposed is %+v, approved at %d", n, p, proposed, approval)
			}
			approval = h.after.Seq
		case work.Unchanged:
			if !agreed || p.Commit != gated || h.before.Lease != nil {
				return fmt.Errorf("event %d completes %s without a change; a critic agreed at %q: %v", n, p.Commit, gated, agreed)
			}
		case work.Allowed:
			if !audited || gated != "" && p.Commit != gated || moved {
				return fmt.Errorf("event %d allows the merge of %s; audited %v at %q", n, p.Commit, audited, gated)
			}
			if p.Unaudited != waived {
				return fmt.Errorf("event %d allows a merge, audited: %v; nobody audits it: %v", n, !p.Unaudited, waived)
			}
			if p.Approval != approval || proposed != nil && (approval == 0 || p.Commit != proposed.Commit || p.Onto != proposed.Onto || p.Tree != proposed.Tree || p.Base != proposed.Base) {
				return fmt.Errorf("event %d allows %+v; proposed is %+v, approved at %d", n, p, proposed, approval)
			}
		case work.Blocked:
			if h.before.Lease != nil || h.before.Phase == agentsig.PhaseCompleted {
				return fmt.Errorf("event %d blocks what is in %s", n, h.before.Phase)
			}
		case work.Unblocked:
			if h.before.Phase != agentsig.PhaseBlocked || h.after.Phase != from {
				return fmt.Errorf("event %d: %s from %s becomes %s", n, h.before.Phase, from, h.after.Phase)
			}
		case work.Granted:
			if audited {
				return fmt.Errorf("event %d grants what waits for its merge", n)
			}
			if agreed && h.before.Phase == agentsig.PhaseReadyForMerge {
				return fmt.Errorf("event %d grants what has nothing to be audited", n)
			}
		}
		if p, ok := h.event.Payload.(work.Result); ok && h.event.Type == work.AgentSessionCompleted {
			if p.PhaseCompleted == agentsig.PhaseReview && p.ExitReason == agentsig.ExitCompleted {
				agreed = claimed && seen[agentsig.RoleCritic] != ""
				if h.event.Token == shown && seen[agentsig.RoleCritic] != "" {
					passed = gated + " " + seen[agentsig.RoleCritic]
				}
			}
			waived = false
			audited = s.item.Run != "" && p.PhaseCompleted == agentsig.PhaseReadyForMerge && p.ExitReason == agentsig.ExitCompleted
		} else if moved {
			audited, waived = false, false
		}
		if !audited {
			proposed, approval = nil, 0
		}
	}
	return nil
}

func (s *schedule) story() string {
	out := ""
	for n, h := range s.history {
		out += fmt.Sprintf("%2d %-22s token %v by %-8s %s -> %s\n", n, h.event.Type, h.event.Token, h.event.Actor, h.before.Phase, h.after.Phase)
	}
	return out
}
