package stats

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Fold makes facts of events, which it takes in their order. The zero Fold has seen none.
type Fold struct {
	sessions map[string]*session // of agents, that have not ended
	tasks    map[string]*task    // by the subjects of their items; of runs that go on
}

// session is one agent's.
type session struct {
	By
	began   time.Time // the turn that is under way; zero if there is none, or it is not known
	used    delivery.Usage
	refused []agentsig.Reason // of signals that were refused in the turn that is under way
}

// task is a task of a run.
type task struct {
	run     string
	claimed *session // whose claim the gate and the reviewers look at; nil if it is nobody's
}

// Next takes an event, and calls see with each fact that follows from it. It fails on an event that can't be read, of which
// nothing is taken.
func (f *Fold) Next(e ledger.Event, see func(Fact)) error {
	take, ok := takers[e.Type]
	if !ok {
		return nil
	}
	if f.sessions == nil {
		f.sessions, f.tasks = map[string]*session{}, map[string]*task{}
	}
	if err := take(f, e, see); err != nil {
		return fmt.Errorf("the payload of %s, event %d of %s: %w", e.Type, e.ItemSeq, e.Subject, err)
	}
	return nil
}

// taking makes a taker of a function that takes the payload.
func taking[P any](take func(*Fold, ledger.Event, P, func(Fact))) func(*Fold, ledger.Event, func(Fact)) error {
	return func(f *Fold, e ledger.Event, see func(Fact)) error {
		var p P
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return err
		}
		take(f, e, p, see)
		return nil
	}
}

// signalled takes an event that a turn with a signal led to.
var signalled = taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) { f.turned(e, Signalled, see) })

var takers = map[string]func(*Fold, ledger.Event, func(Fact)) error{
	delivery.RunFinished: taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) { f.finished(e.Subject, see) }),
	delivery.SessionGranted: taking(func(f *Fold, e ledger.Event, p delivery.Granted, _ func(Fact)) {
		f.granted(e, e.Subject, p.Role, p.Agent)
	}),
	delivery.SessionEnded: taking((*Fold).ended),
	delivery.PromptDelivered: taking(func(f *Fold, e ledger.Event, _ struct{}, _ func(Fact)) {
		if s := f.sessions[e.Session]; s != nil {
			s.began = e.Time
		}
	}),
	delivery.UsageReported: taking(func(f *Fold, e ledger.Event, p delivery.Spending, see func(Fact)) {
		if s := f.sessions[e.Session]; s != nil {
			s.spends(p.Usage, see)
		}
	}),
	delivery.SignalRefused: taking(func(f *Fold, e ledger.Event, p delivery.Refused, _ func(Fact)) {
		if s := f.sessions[e.Session]; s != nil {
			s.refused = append(s.refused, p.Reason)
		}
	}),
	delivery.UnknownRecovery: taking((*Fold).unread),
	delivery.SignalFailure:   taking((*Fold).unread),
	delivery.SignalRequested: taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) { f.turned(e, Progress, see) }),
	delivery.AnswerMissed:    taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) { f.turned(e, NoAnswer, see) }),
	delivery.QuestionAsked: taking(func(f *Fold, e ledger.Event, p delivery.Question, see func(Fact)) {
		if p.Turn > 0 { // others are the box's
			f.turned(e, Signalled, see)
		}
	}),
	delivery.RemediationCompleted: signalled,
	delivery.HealthAudited:        signalled,
	delivery.RepairReviewed:       signalled,
	delivery.ExpertRequested:      signalled,
	delivery.ExpertRefused:        signalled,
	delivery.ExpertAdvised:        signalled,
	delivery.ExpertFailed:         signalled,
	delivery.ConflictReported:     signalled,

	work.WorkAdded: taking(func(f *Fold, e ledger.Event, p work.Added, _ func(Fact)) {
		if p.Run != "" {
			f.tasks[e.Subject] = &task{run: p.Run}
		}
	}),
	work.LeaseGranted:          taking((*Fold).leased),
	work.ReviewStarted:         taking((*Fold).leased),
	work.AgentSessionCompleted: taking((*Fold).completed),
	work.LateResultRecorded:    taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) { f.turned(e, Late, see) }),
	work.WorkTaken:             taking((*Fold).unclaimed),
	work.WorkOverridden:        taking((*Fold).unclaimed),
	work.GateFailed: taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) {
		if t := f.tasks[e.Subject]; t != nil && t.claimed != nil {
			see(FalseClaim{t.claimed.By})
			see(Rework{t.claimed.By})
		}
	}),
	work.MergeFailed: taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) {
		if work.ByOperator(e.Actor) { // who was asked to approve it; others can't be merged, which is nobody's verdict
			f.sentBack(e.Subject, see)
		}
	}),
}

// leased notes who works on a task.
func (f *Fold) leased(e ledger.Event, p work.Granted, _ func(Fact)) {
	if t := f.tasks[e.Subject]; t != nil && p.Agent != work.PersonAgent {
		f.granted(e, t.run, p.Role, p.Agent)
	}
}

func (f *Fold) granted(e ledger.Event, run string, role agentsig.Role, agent string) {
	if agent != "" {
		f.sessions[e.Session] = &session{By: By{Run: run, Session: e.Session, Role: role, Agent: agent}, began: e.Time}
	}
}

// completed takes the word that ends a session's work on a task: its claim, or its verdict on another's.
func (f *Fold) completed(e ledger.Event, p work.Result, see func(Fact)) {
	f.turned(e, Signalled, see)
	t := f.tasks[e.Subject]
	if t == nil {
		return
	}
	switch p.PhaseCompleted {
	case agentsig.PhaseImplementation:
		t.claimed = f.sessions[e.Session]
	case agentsig.PhaseReview, agentsig.PhaseReadyForMerge:
		if p.NextPhase == agentsig.PhaseImplementation {
			f.sentBack(e.Subject, see)
		}
	}
}

func (f *Fold) sentBack(subject string, see func(Fact)) {
	if t := f.tasks[subject]; t != nil && t.claimed != nil {
		see(Rework{t.claimed.By})
	}
}

// unclaimed notes that a person has changed where a task stands: what becomes of that is no agent's.
func (f *Fold) unclaimed(e ledger.Event, _ struct{}, _ func(Fact)) {
	if t := f.tasks[e.Subject]; t != nil {
		t.claimed = nil
	}
}

// unread takes output without a signal that counts. What was refused of it is among its near misses.
func (f *Fold) unread(e ledger.Event, p work.Unknown, see func(Fact)) {
	s := f.sessions[e.Session]
	if s == nil {
		return
	}
	s.refused = nil
	for _, m := range p.NearMisses {
		s.refused = append(s.refused, m.Reason)
	}
	outcome := Unknown
	if p.Ambiguous {
		outcome = Ambiguous
	}
	f.turned(e, outcome, see)
}

// turned takes the end of a turn, with what was nearly a signal in it.
func (f *Fold) turned(e ledger.Event, outcome Outcome, see func(Fact)) {
	if s := f.sessions[e.Session]; s != nil {
		s.turned(e.Time, outcome, see)
	}
}

func (s *session) turned(at time.Time, outcome Outcome, see func(Fact)) {
	for _, reason := range s.refused {
		see(NearMiss{s.By, reason})
	}
	s.refused = nil
	took := time.Duration(-1)
	if !s.began.IsZero() {
		took = max(at.Sub(s.began), 0) // a clock may be set back
	}
	s.began = time.Time{}
	see(Turn{s.By, outcome, took})
}

func (s *session) spends(all delivery.Usage, see func(Fact)) {
	since := all.Since(s.used)
	s.used = s.used.Larger(all)
	if since != (delivery.Usage{}) {
		see(Spent{s.By, since})
	}
}

// ended takes the end of a session. A turn that was under way has ended with it, unless the session was told to end.
func (f *Fold) ended(e ledger.Event, p delivery.Ended, see func(Fact)) {
	s := f.sessions[e.Session]
	if s == nil {
		return
	}
	delete(f.sessions, e.Session)
	if !s.began.IsZero() && p.How != delivery.Done {
		outcome := Otherwise
		if slices.Contains(delivery.Hows(), p.How) {
			outcome = Outcome(p.How)
		}
		s.turned(e.Time, outcome, see)
	}
	s.spends(p.Usage, see)
	if p.Conversation != nil {
		s.Model = p.Conversation.Model
	}
	s.over(see)
}

// over tells that the session is over. What is told of it later, by the gate and by reviewers, has its model.
func (s *session) over(see func(Fact)) {
	see(Over{s.By, s.used})
	s.Over = true
}

// finished forgets a run. No session of it goes on.
func (f *Fold) finished(run string, see func(Fact)) {
	for id, s := range f.sessions {
		if s.Run == run {
			delete(f.sessions, id)
			s.over(see)
		}
	}
	for subject, t := range f.tasks {
		if t.run == run {
			delete(f.tasks, subject)
		}
	}
}
