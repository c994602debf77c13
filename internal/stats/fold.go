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
	sessions map[string]*session    // of agents, that have not ended
	tasks    map[string]*task       // by the subjects of their items; of runs that go on
	asked    map[question]time.Time // that are open; of runs that go on
	paused   map[string]time.Time   // by provider: until when
}

// question is one of a run.
type question struct{ run, id string }

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
	f.begin()
	if err := take(f, e, see); err != nil {
		return fmt.Errorf("the payload of %s, event %d of %s: %w", e.Type, e.ItemSeq, e.Subject, err)
	}
	return nil
}

func (f *Fold) begin() {
	if f.sessions == nil {
		f.sessions, f.tasks, f.asked, f.paused = map[string]*session{}, map[string]*task{}, map[question]time.Time{}, map[string]time.Time{}
	}
}

// Resume takes a run as it is, in place of its events so far: for a fold that begins in the middle of a ledger. When a turn began
// that is under way is known of the first turn of a session alone; what was claimed before is nobody's claim.
func (f *Fold) Resume(r *delivery.Run) {
	f.begin()
	for _, s := range r.Sessions {
		own := &session{By: By{Run: r.Subject, Session: s.ID, Role: s.Role, Agent: s.Agent}, used: s.Used}
		if s.Turn == 0 {
			own.began = s.Started
		}
		f.sessions[s.ID] = own
	}
	for _, t := range r.Tasks {
		f.tasks[t.Item.Subject] = &task{run: r.Subject}
	}
	for _, q := range r.Open() {
		f.asked[question{r.Subject, q.ID}] = q.At
	}
	for provider, until := range r.Waits {
		if until.After(f.paused[provider]) {
			f.paused[provider] = until
		}
	}
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

// ofTask makes a taker of an event that says nothing unless it is about a task of a run: of work that stands alone it is not read.
func ofTask(take func(*Fold, ledger.Event, func(Fact)) error) func(*Fold, ledger.Event, func(Fact)) error {
	return func(f *Fold, e ledger.Event, see func(Fact)) error {
		if f.tasks[e.Subject] == nil {
			return nil
		}
		return take(f, e, see)
	}
}

// signalled makes a taker of an event that a turn with a signal of this kind led to.
func signalled(kind agentsig.Kind, use Use) func(*Fold, ledger.Event, func(Fact)) error {
	return taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) {
		f.turned(e, Signalled, see)
		see(Signal{kind, use})
	})
}

// said makes a taker of an event that records a signal, and leads to nothing else.
func said(use Use) func(*Fold, ledger.Event, func(Fact)) error {
	return taking(func(_ *Fold, _ ledger.Event, p work.Said, see func(Fact)) { see(Signal{p.Signal, use}) })
}

// merge makes a taker of what became of a merge.
func merge(result MergeResult) func(*Fold, ledger.Event, func(Fact)) error {
	return taking(func(_ *Fold, _ ledger.Event, _ struct{}, see func(Fact)) { see(Merge{result}) })
}

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
	delivery.SignalRefused: taking(func(f *Fold, e ledger.Event, p delivery.Refused, see func(Fact)) {
		see(Signal{p.Kind, Refused})
		if s := f.sessions[e.Session]; s != nil {
			s.refused = append(s.refused, p.Reason)
		}
	}),
	delivery.UnknownRecovery: unread(Unread),
	delivery.SignalFailure:   unread(GivenUp),
	delivery.SignalRequested: taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) { f.turned(e, Progress, see) }),
	delivery.AnswerMissed:    taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) { f.turned(e, NoAnswer, see) }),
	delivery.QuestionAsked: taking(func(f *Fold, e ledger.Event, p delivery.Question, see func(Fact)) {
		f.asked[question{e.Subject, p.ID}] = e.Time
		if p.Turn == 0 {
			return // it is the box's
		}
		f.turned(e, Signalled, see)
		if p.Cause == delivery.CauseClarification {
			see(Signal{agentsig.KindDivineClarification, Accepted})
		} else {
			see(Signal{agentsig.KindExpertRequest, Refused})
		}
	}),
	delivery.QuestionAnswered: taking(func(f *Fold, e ledger.Event, p delivery.Answered, see func(Fact)) {
		q := question{e.Subject, p.ID}
		if at, ok := f.asked[q]; ok {
			delete(f.asked, q)
			see(Answer{max(e.Time.Sub(at), 0)})
		}
	}),
	delivery.ProviderPaused: taking(func(f *Fold, e ledger.Event, p delivery.Pause, see func(Fact)) {
		from := e.Time
		if f.paused[p.Provider].After(from) {
			from = f.paused[p.Provider]
		}
		if p.Until.After(from) {
			f.paused[p.Provider] = p.Until
			see(Pause{p.Until.Sub(from)})
		}
	}),
	delivery.SignalNoted:          said(Noted),
	delivery.RemediationCompleted: signalled(agentsig.KindRemediationComplete, Accepted),
	delivery.HealthAudited: taking(func(f *Fold, e ledger.Event, p delivery.Round, see func(Fact)) {
		f.verdict(e, p.Healthy, agentsig.KindHealthHealthy, agentsig.KindHealthUnhealthy, see)
	}),
	delivery.RepairReviewed: taking(func(f *Fold, e ledger.Event, p delivery.RepairReview, see func(Fact)) {
		f.verdict(e, p.Passed, agentsig.KindReviewPassed, agentsig.KindReviewFailed, see)
	}),
	delivery.ExpertRequested:  signalled(agentsig.KindExpertRequest, Accepted),
	delivery.ExpertRefused:    signalled(agentsig.KindExpertRequest, Refused),
	delivery.ExpertAdvised:    signalled(agentsig.KindExpertAdvice, Accepted),
	delivery.ExpertFailed:     signalled(agentsig.KindExpertUnsuccessful, Accepted),
	delivery.ConflictReported: signalled(agentsig.KindFileConflict, Accepted),
	delivery.RepairMerged:     merge(Merged),
	delivery.RepairUnmerged:   merge(MergeFailed),

	work.WorkAdded: taking(func(f *Fold, e ledger.Event, p work.Added, _ func(Fact)) {
		if p.Run != "" {
			f.tasks[e.Subject] = &task{run: p.Run}
		}
	}),
	work.LeaseGranted:          ofTask(taking((*Fold).leased)),
	work.ReviewStarted:         ofTask(taking((*Fold).leased)),
	work.AgentSessionCompleted: taking((*Fold).completed),
	work.LateResultRecorded: taking(func(f *Fold, e ledger.Event, p work.Said, see func(Fact)) {
		f.turned(e, Late, see)
		see(Signal{p.Signal, TooLate})
	}),
	work.SignalRecorded: said(Noted),
	work.WorkMerged:     merge(Merged),
	work.WorkTaken:      taking((*Fold).unclaimed),
	work.WorkOverridden: taking((*Fold).unclaimed),
	work.GateFailed: taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) {
		if t := f.tasks[e.Subject]; t != nil && t.claimed != nil {
			see(FalseClaim{t.claimed.By})
			see(Rework{t.claimed.By})
		}
	}),
	work.MergeFailed: taking(func(f *Fold, e ledger.Event, _ struct{}, see func(Fact)) {
		if !work.ByOperator(e.Actor) { // it can't be merged, which is nobody's verdict
			see(Merge{MergeFailed})
			return
		}
		see(Merge{Declined})
		f.sentBack(e.Subject, see)
	}),
}

// leased notes who works on a task.
func (f *Fold) leased(e ledger.Event, p work.Granted, _ func(Fact)) {
	if p.Agent != work.PersonAgent {
		f.granted(e, f.tasks[e.Subject].run, p.Role, p.Agent)
	}
}

func (f *Fold) granted(e ledger.Event, run string, role agentsig.Role, agent string) {
	if agent != "" {
		f.sessions[e.Session] = &session{By: By{Run: run, Session: e.Session, Role: role, Agent: agent}, began: e.Time}
	}
}

// completion is what counts of a [work.Result].
type completion struct {
	Signal         agentsig.Kind  `json:"signal"`
	PhaseCompleted agentsig.Phase `json:"phase_completed"`
	NextPhase      agentsig.Phase `json:"next_phase"`
}

// completed takes the word that ends a session's work on a task: its claim, or its verdict on another's.
func (f *Fold) completed(e ledger.Event, p completion, see func(Fact)) {
	f.turned(e, Signalled, see)
	see(Signal{p.Signal, Accepted})
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

// verdict takes a turn with one of two signals.
func (f *Fold) verdict(e ledger.Event, good bool, yes, no agentsig.Kind, see func(Fact)) {
	f.turned(e, Signalled, see)
	if e.Session == "" {
		return // a person's word
	}
	if good {
		no = yes
	}
	see(Signal{no, Accepted})
}

// unread makes a taker of output without a signal that counts. What was refused of it is among its near misses.
func unread(use Use) func(*Fold, ledger.Event, func(Fact)) error {
	return taking(func(f *Fold, e ledger.Event, p work.Unknown, see func(Fact)) {
		kind, outcome := agentsig.KindUnknown, Unknown
		if p.Ambiguous {
			kind, outcome = agentsig.KindAmbiguous, Ambiguous
		}
		see(Signal{kind, use})
		if s := f.sessions[e.Session]; s != nil {
			s.refused = nil
			for _, m := range p.NearMisses {
				s.refused = append(s.refused, m.Reason)
			}
			s.turned(e.Time, outcome, see)
		}
	})
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
	for q := range f.asked {
		if q.run == run {
			delete(f.asked, q)
		}
	}
}
