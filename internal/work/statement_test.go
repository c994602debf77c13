package work_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// story folds what commands lead to.
type story struct {
	t    *testing.T
	item work.Item
	all  []ledger.Event
}

func (s *story) do(c work.Command) {
	s.t.Helper()
	e, err := work.Decide(s.item, c)
	if err != nil {
		s.t.Fatal(err)
	}
	payload, err := json.Marshal(e.Payload)
	if err != nil {
		s.t.Fatal(err)
	}
	stored := ledger.Event{Subject: "S", Type: e.Type, Actor: e.Actor, Session: e.Session, Key: e.Key, Payload: payload}
	if e.Token != (work.Token{}) {
		stored.Lease = e.Token.String()
	}
	s.all = append(s.all, stored)
	if s.item, err = work.Evolve(s.item, uint64(len(s.all)), stored); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) turn(role agentsig.Role, signal agentsig.Signal) {
	s.t.Helper()
	s.do(work.Grant{Epoch: 1, Actor: string(role), Role: role, TTL: time.Minute})
	s.do(work.End{Token: s.item.Lease.Token, Signal: signal, Said: work.Said{Signal: signal.Kind}})
}

// An item knows where it is that somebody said something of it: the last claim is that of who built it, whatever reviewers said
// since, and what comes late says nothing.
func TestLatest(t *testing.T) {
	s := &story{t: t}
	s.do(work.Add{ID: "T-1", Title: "a title", Asked: "more", Phase: agentsig.PhaseImplementation, Actor: "ann"})                                           // 1
	s.turn(agentsig.RoleDeveloper, agentsig.NewExitSignal(agentsig.PhaseImplementation, agentsig.ExitCompleted).WithPRURL("https://github.com/a").Signal()) // 3
	s.do(work.Report{Commit: "0a1b2c3"})                                                                                                                    // 4
	if want := (work.Latest{Asked: 1, Claim: 3, Findings: 4, PullRequest: 3}); s.item.Said != want {
		t.Errorf("after the gate: %+v", s.item.Said)
	}
	s.turn(agentsig.RoleDeveloper, agentsig.Signal{Kind: agentsig.KindReadyForReview, Subject: "T-1"}) // 6
	s.do(work.Report{Commit: "0a1b2c3", Passed: true})                                                 // 7
	s.turn(agentsig.RoleCritic, agentsig.Signal{Kind: agentsig.KindReviewFailed, Subject: "T-1"})      // 9
	if want := (work.Latest{Asked: 1, Claim: 6, Findings: 9, PullRequest: 3}); s.item.Said != want {
		t.Errorf("after the review: %+v", s.item.Said)
	}
	s.do(work.Grant{Epoch: 1, Actor: "slow", Role: agentsig.RoleDeveloper, TTL: time.Minute}) // 10
	late := s.item.Lease.Token
	s.do(work.Expire{Token: late})                                                                                                                              // 11
	s.do(work.End{Token: late, Actor: "slow", Signal: agentsig.Signal{Kind: agentsig.KindReadyForReview, Subject: "T-1"}})                                      // 12
	s.turn(agentsig.RoleDeveloper, agentsig.Signal{Kind: agentsig.KindReadyForReview, Subject: "T-1"})                                                          // 14
	s.do(work.Report{Commit: "0a1b2c3", Passed: true})                                                                                                          // 15
	s.turn(agentsig.RoleCritic, agentsig.NewExitSignal(agentsig.PhaseReview, agentsig.ExitCompleted).WithNotes("good").WithPRURL("https://gitea.com").Signal()) // 17
	if want := (work.Latest{Asked: 1, Claim: 14, Findings: 9, PullRequest: 17}); s.item.Said != want {
		t.Errorf("at the end: %+v", s.item.Said)
	}
	for seq, e := range s.all {
		_, err := work.StatementOf(uint64(seq+1), e)
		if says := strings.HasSuffix(e.Type, "Completed") || e.Type == work.GateFailed || e.Type == work.LateResultRecorded; says != (err == nil) {
			t.Errorf("%s: %v", e.Type, err)
		}
	}
}

// Who helps with BLOCKED work has found nothing in it.
func TestAdviceIsNoFinding(t *testing.T) {
	s := &story{t: t}
	s.do(work.Add{ID: "T-1", Title: "a title", Phase: agentsig.PhaseImplementation, Actor: "ann"})
	s.turn(agentsig.RoleDeveloper, agentsig.Signal{Kind: agentsig.KindExpertRequest})
	s.turn(agentsig.RoleExpert, agentsig.Signal{Kind: agentsig.KindExpertAdvice})
	if s.item.Phase != agentsig.PhaseImplementation || s.item.Said.Findings != 0 {
		t.Errorf("in %s, with findings in event %d", s.item.Phase, s.item.Said.Findings)
	}
}
