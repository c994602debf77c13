package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/stats"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Kind is what an entry is.
type Kind string

// The kinds.
const (
	Session  Kind = "session"  // somebody works
	Question Kind = "question" // something waits for a person's answer
	Review   Kind = "review"   // work waits for who judges it, an agent or a person, or for a person's word on its merge
	Pause    Kind = "pause"    // nobody is started, on the run or of a provider
	Gate     Kind = "gate"     // a moment: the gate's verdict
	Merge    Kind = "merge"    // a moment: a merge, or that there could be none
)

// Entry is a stretch of time, or a moment, of a run.
type Entry struct {
	Sequence uint64 // of the event that it began with
	Kind     Kind
	Task     string // its id in the run; empty if it is about the run as a whole
	Role     agentsig.Role
	Agent    string // the program that the box started, "person", or who claimed the work; of a question its id, of a pause the provider
	Began    time.Time
	Ended    time.Time // zero while it goes on; of a moment the same as Began
	How      string    // it ended, in a word
	By       string    // who decided, answered or merged
	Bad      bool      // it did not end well
}

// Cost is what the agents of one name used in one role, or all of them on one task.
type Cost struct {
	Role     agentsig.Role
	Agent    string
	Task     string // its id in the run; empty of a role, and of what is about the run as a whole
	Sessions int    // that are over
	Uncosted int    // of them: they had turns, and their programs did not say what they cost
	Usage    delivery.Usage
}

// shortest is how long work waits for who judges it before that is worth telling.
const shortest = 2 * time.Second

// maxEntries is how many entries a fold holds. What comes after them is counted.
const maxEntries = 20_000

// Fold takes the events of a run. The zero Fold has seen none.
type Fold struct {
	stats    stats.Fold
	at       uint64 // the sequence of the event that is taken
	entries  []*Entry
	dropped  int
	tasks    map[string]string // the ids of tasks, by subject
	sessions map[string]*Entry // that have not ended
	holds    map[string]*Entry // by the task's subject
	asked    map[string]*Entry // questions, by id
	waits    map[string]*Entry // for who judges it, by the task's subject; none of them is among the entries
	paused   *Entry            // the run
	costs    map[Cost]*Cost    // by role and agent, or by task
	turns    map[string]int    // of sessions that are not over
}

// Next takes an event. It fails on one that can't be read, of which nothing is taken.
func (f *Fold) Next(sequence uint64, e ledger.Event) error {
	if f.tasks == nil {
		f.tasks, f.sessions, f.holds, f.asked = map[string]string{}, map[string]*Entry{}, map[string]*Entry{}, map[string]*Entry{}
		f.waits, f.costs, f.turns = map[string]*Entry{}, map[Cost]*Cost{}, map[string]int{}
	}
	if err := f.stats.Next(e, f.spent); err != nil {
		return err
	}
	f.at = sequence
	if how, ok := judgedBy[e.Type]; ok {
		f.judged(e, how)
	}
	if role, ok := judgedFrom[e.Type]; ok {
		f.wait(e, role)
	}
	if take := takers[e.Type]; take != nil {
		if err := take(f, sequence, e); err != nil {
			return fmt.Errorf("the payload of %s, event %d: %w", e.Type, sequence, err)
		}
	}
	return nil
}

// Entries returns what happened, in the order in which it began.
func (f *Fold) Entries() []Entry {
	all := make([]Entry, 0, len(f.entries)+len(f.waits))
	for _, e := range f.entries {
		all = append(all, *e)
	}
	for _, e := range f.waits {
		if len(all) < maxEntries {
			all = append(all, *e)
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return all
}

// Dropped is how many entries are not held, since there are too many.
func (f *Fold) Dropped() int { return f.dropped }

// Costs returns what was used by role and agent, the dearest first.
func (f *Fold) Costs() []Cost { return f.dearest(false) }

// TaskCosts returns what was used by task, the dearest first. What no task has is of the run as a whole.
func (f *Fold) TaskCosts() []Cost { return f.dearest(true) }

func (f *Fold) dearest(byTask bool) []Cost {
	all := []Cost{}
	for key, c := range f.costs {
		if (key.Role == "" && key.Agent == "") != byTask {
			continue
		}
		row := *c
		row.Usage.CostUSD = math.Round(row.Usage.CostUSD*1e6) / 1e6
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b Cost) int {
		return cmp.Or(cmp.Compare(b.Usage.CostUSD, a.Usage.CostUSD), cmp.Compare(b.Usage.Tokens(), a.Usage.Tokens()),
			cmp.Compare(a.Role, b.Role), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Task, b.Task))
	})
	return all
}

// spent takes what `signalbox stats` counts too.
func (f *Fold) spent(fact stats.Fact) {
	switch x := fact.(type) {
	case stats.Turn:
		f.turns[x.Session]++
	case stats.Spent:
		for _, c := range f.costsOf(x.By) {
			c.Usage.Add(x.Usage)
		}
	case stats.Over:
		for _, c := range f.costsOf(x.By) {
			c.Sessions++
			if f.turns[x.Session] > 0 && x.Used.CostUSD <= 0 {
				c.Uncosted++
			}
		}
		delete(f.turns, x.Session)
	}
}

// costsOf are the costs that a session adds to: of its role and agent, and of its task.
func (f *Fold) costsOf(by stats.By) (both [2]*Cost) {
	task := Cost{}
	if s := f.sessions[by.Session]; s != nil {
		task.Task = s.Task
	}
	for i, key := range [2]Cost{{Role: by.Role, Agent: by.Agent}, task} {
		if f.costs[key] == nil {
			c := key
			f.costs[key] = &c
		}
		both[i] = f.costs[key]
	}
	return both
}

// taking makes a taker of a function that takes the payload.
func taking[P any](take func(*Fold, uint64, ledger.Event, P)) func(*Fold, uint64, ledger.Event) error {
	return func(f *Fold, sequence uint64, e ledger.Event) error {
		var p P
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return err
		}
		take(f, sequence, e, p)
		return nil
	}
}

// lost makes a taker of an event by which who holds a task holds it no longer.
func lost(how string) func(*Fold, uint64, ledger.Event) error {
	return func(f *Fold, _ uint64, e ledger.Event) error {
		f.lose(e, how, true)
		return nil
	}
}

var takers = map[string]func(*Fold, uint64, ledger.Event) error{
	work.WorkAdded:     taking(func(f *Fold, _ uint64, e ledger.Event, p work.Added) { f.tasks[e.Subject] = p.Task }),
	work.LeaseGranted:  taking((*Fold).granted),
	work.ReviewStarted: taking((*Fold).granted),
	work.WorkTaken: taking(func(f *Fold, sequence uint64, e ledger.Event, p work.Granted) {
		f.lose(e, "taken over", false)
		f.granted(sequence, e, p)
	}),
	work.AgentSessionCompleted: taking(func(f *Fold, _ uint64, e ledger.Event, p work.Result) {
		f.sessions[e.Session].end(e, string(p.Signal), p.NextPhase == agentsig.PhaseBlocked)
		delete(f.holds, e.Subject)
		if p.NextPhase == agentsig.PhaseReadyForMerge && !p.Audited {
			f.wait(e, agentsig.RoleAuditor)
		}
	}),
	work.LeaseReleased:  lost("released"),
	work.LeaseExpired:   lost("expired"),
	work.WorkOverridden: lost("overridden"),
	work.GatePassed:     moment(Gate, "passed", false),
	work.GateFailed:     moment(Gate, "failed", true),
	work.WorkMerged:     moment(Merge, "merged", false),
	work.MergeFailed:    moment(Merge, "not merged", true),

	delivery.SessionGranted: taking(func(f *Fold, sequence uint64, e ledger.Event, p delivery.Granted) {
		f.begin(&Entry{Sequence: sequence, Kind: Session, Task: p.Task, Role: p.Role, Agent: p.Agent, Began: e.Time}, e)
	}),
	delivery.SessionEnded: taking(func(f *Fold, _ uint64, e ledger.Event, p delivery.Ended) {
		if s := f.sessions[e.Session]; s != nil {
			how := string(p.How)
			if p.How == delivery.Done {
				how = s.How
			}
			s.end(e, cmp.Or(how, string(p.How)), s.Bad || p.How != delivery.Done)
			delete(f.sessions, e.Session)
		}
	}),
	delivery.QuestionAsked: taking(func(f *Fold, sequence uint64, e ledger.Event, p delivery.Question) {
		q := &Entry{Sequence: sequence, Kind: Question, Task: p.Task, Agent: p.ID, Began: e.Time}
		f.asked[p.ID] = q
		f.add(q)
	}),
	delivery.QuestionAnswered: taking(func(f *Fold, _ uint64, e ledger.Event, p delivery.Answered) {
		f.asked[p.ID].end(e, "answered", false)
		delete(f.asked, p.ID)
	}),
	delivery.RunPaused: func(f *Fold, sequence uint64, e ledger.Event) error {
		if f.paused == nil {
			f.paused = &Entry{Sequence: sequence, Kind: Pause, Began: e.Time, By: e.Actor}
			f.add(f.paused)
		}
		return nil
	},
	delivery.RunResumed: func(f *Fold, _ uint64, e ledger.Event) error {
		f.paused.end(e, "resumed", false)
		f.paused = nil
		return nil
	},
	delivery.ProviderPaused: taking(func(f *Fold, sequence uint64, e ledger.Event, p delivery.Pause) {
		until, how := p.Until, "usage limit"
		if p.Login {
			how = "login refused"
		}
		if until.Before(e.Time) {
			until = e.Time
		}
		f.add(&Entry{Sequence: sequence, Kind: Pause, Agent: p.Provider, Began: e.Time, Ended: until, How: how, Bad: p.Login})
	}),
	delivery.RunFinished: func(f *Fold, _ uint64, e ledger.Event) error {
		for subject := range f.waits {
			f.judged(ledger.Event{Subject: subject, Time: e.Time, Actor: e.Actor}, judgedBy[e.Type])
		}
		for _, open := range f.entries {
			if open.Ended.IsZero() {
				open.end(e, "the run ended", false)
			}
		}
		clear(f.sessions)
		clear(f.holds)
		clear(f.asked)
		f.paused = nil
		return nil
	},
}

// judgedFrom begins the wait for who judges work, and judgedBy ends it.
var judgedFrom = map[string]agentsig.Role{work.GatePassed: agentsig.RoleCritic, work.MergeProposed: delivery.RoleMerge}

var judgedBy = map[string]string{
	work.LeaseGranted: "begun", work.ReviewStarted: "begun", work.MergeApproved: "approved", work.MergeFailed: "refused", work.WorkTaken: "taken over", work.WorkOverridden: "overridden",
	work.WorkBlocked: "blocked", work.GateFailed: "the gate failed", work.AuditWaived: "waived", work.MergeAllowed: "merged", work.WorkMerged: "merged", work.WorkUnchanged: "nothing to change",
	delivery.RunFinished: "the run ended",
}

// wait notes that work waits for somebody from an event on.
func (f *Fold) wait(e ledger.Event, role agentsig.Role) {
	f.judged(e, "begun anew")
	f.waits[e.Subject] = &Entry{Sequence: f.at, Kind: Review, Task: f.tasks[e.Subject], Role: role, Began: e.Time}
}

// judged notes that it does not any more.
func (f *Fold) judged(e ledger.Event, how string) {
	w := f.waits[e.Subject]
	if delete(f.waits, e.Subject); w == nil {
		return
	}
	if w.end(e, how, false); w.Ended.Sub(w.Began) >= shortest {
		f.add(w)
	}
}

// moment makes a taker of an event that takes no time.
func moment(kind Kind, how string, bad bool) func(*Fold, uint64, ledger.Event) error {
	return func(f *Fold, sequence uint64, e ledger.Event) error {
		f.add(&Entry{Sequence: sequence, Kind: kind, Task: f.tasks[e.Subject], Began: e.Time, Ended: e.Time, How: how, By: e.Actor, Bad: bad})
		return nil
	}
}

// granted notes that somebody holds a task.
func (f *Fold) granted(sequence uint64, e ledger.Event, p work.Granted) {
	s := &Entry{Sequence: sequence, Kind: Session, Task: f.tasks[e.Subject], Role: p.Role, Agent: cmp.Or(p.Agent, e.Actor), Began: e.Time}
	f.holds[e.Subject] = s
	f.begin(s, e)
}

// lose notes that who holds a task holds it no longer. A process may have ended before.
func (f *Fold) lose(e ledger.Event, how string, bad bool) {
	if s := f.holds[e.Subject]; s != nil && s.Ended.IsZero() {
		s.end(e, how, bad)
	}
	delete(f.holds, e.Subject)
}

func (f *Fold) begin(s *Entry, e ledger.Event) {
	f.sessions[e.Session] = s
	f.add(s)
}

func (f *Fold) add(e *Entry) {
	if len(f.entries) >= maxEntries {
		f.dropped++
		return
	}
	f.entries = append(f.entries, e)
}

// end notes how an entry ended. A clock may have been set back.
func (e *Entry) end(by ledger.Event, how string, bad bool) {
	if e == nil {
		return
	}
	e.Ended, e.How, e.Bad = by.Time, how, bad
	if e.Ended.Before(e.Began) {
		e.Ended = e.Began
	}
	if e.Kind == Question || e.Kind == Review || e.Kind == Pause && e.By == "" {
		e.By = by.Actor
	}
}
