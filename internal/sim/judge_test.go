package sim_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// judge reads the recorded events as an outsider and says which rule was broken.
// It keeps its own account of everything and asks the rules for nothing.
type judge struct {
	seen      uint64 // how many events
	set       delivery.Started
	tasks     map[string]*taskFacts // by subject
	byID      map[string]*taskFacts
	sessions  map[string]*sessionFacts
	live      map[string]*sessionFacts // whose process has not ended
	questions map[string]*questionFacts
	calls     map[string]*callFacts // requests for experts
	waits     map[string]time.Time  // providers
	unknown   map[string]int
	known     []string

	baseline    *delivery.Baseline
	tolerated   []string
	remediation remediationFacts
	paused      bool
	stopping    bool
	tokens      int64
	cost        float64
	raised      int
	finished    bool
	repairs     map[string]bool // commits of remediation
	passed      map[string]bool // those of them that a critic passed
	repaired    bool            // one of them is merged
}

// taskFacts is what is on record about a task.
type taskFacts struct {
	id        string
	blockedBy []string
	phase     agentsig.Phase
	from      agentsig.Phase // that a block came from
	cancelled bool
	dropped   bool // the plan does not have it any more
	anew      bool // its text is another one, and it has not begun again
	byHand    bool // the operator set its phase since it was last worked on
	writers   []string
	written   bool // somebody may have changed it since the gate passed
	gated     string
	seen      map[agentsig.Role]string // the tree that a reviewer was shown since the gate passed, and where the work was said to begin
	allowed   string                   // the commit whose merge is about to be made
	proposed  *work.Proposed           // the merge that a person is asked about, or has approved; nil if it has to be proposed anew
	approved  uint64                   // the sequence of their word
	reviewed  bool
	audited   bool   // it waits for its merge
	verdict   uint64 // the sequence of the audit, or of the word that there is none
	shownAt   uint64 // the sequence of the event that says what the critic was shown last
	passed    uint64 // the sequence of the critic's pass, on what it was shown last
	waived    bool   // no auditor has looked at it
	merges    int
	claim     bool    // the last developer says that nothing has to be changed
	same      bool    // nothing is changed in what passed the gate, and that is claimed to be right
	unchanged bool    // it was completed so
	shown     string  // the commit that a reviewer was shown last
	refused   refusal // the last that did not pass, since a person looked
	holder    string
	person    agentsig.Role          // that the holder plays, if it is a person
	count     map[delivery.Cause]int // what went wrong since a person last looked
	findings  map[string]bool
	conflict  *delivery.FileConflict
	asked     bool // a question is owed for something that is no limit
	talk      talkFacts
}

// refusal is a commit that did not pass.
type refusal struct {
	commit string
	cause  delivery.Cause
}

type sessionFacts struct {
	id, task, request string
	role              agentsig.Role
	round             int
	commit            string
	over, waiting     bool
	used              delivery.Usage // that is known
	asks              int
	agent, resumes    string // the session whose conversation it goes on with
	runner            string // that it is on
	givenUp           bool
}

type questionFacts struct {
	delivery.Question
	answered bool
}

type callFacts struct {
	session, target, task string
	attempts              int
	failed, done          bool
	expert                string
}

type remediationFacts struct {
	on       bool
	round    int
	repaired bool // and not audited yet
	healthy  bool // by the last audit, or a person's word
	verify   bool // the baseline has to be checked
	verified bool
	declared bool   // healthy, by a person
	gated    string // the commit that waits for a critic
	accepted bool   // by the person who is the critic
	approved bool   // by the person who approves merges
	reviewed string // the commit that waits for its merge
	verdict  uint64 // the sequence of that review
}

func newJudge() *judge {
	return &judge{
		tasks: map[string]*taskFacts{}, byID: map[string]*taskFacts{}, sessions: map[string]*sessionFacts{}, live: map[string]*sessionFacts{},
		questions: map[string]*questionFacts{}, calls: map[string]*callFacts{}, waits: map[string]time.Time{}, unknown: map[string]int{},
		repairs: map[string]bool{}, passed: map[string]bool{},
	}
}

// see takes the next event on record.
func (j *judge) see(e ledger.Event, payload any) error {
	var err error
	j.seen++
	if t := j.tasks[e.Subject]; t != nil || e.Type == work.WorkAdded {
		err = j.seeItem(t, e, payload)
	} else {
		if j.finished != (e.Type == delivery.LeftoversRemoved) {
			return breaks("the run has ended: %v, and %s comes", j.finished, e.Type)
		}
		err = j.seeRun(e, payload)
	}
	if err != nil {
		return fmt.Errorf("event %d, %s: %w", e.ItemSeq, e.Type, err)
	}
	return nil
}

func (j *judge) dead(t *taskFacts) bool {
	if t.phase == agentsig.PhaseCompleted {
		return false
	}
	return t.cancelled || slices.ContainsFunc(t.blockedBy, func(id string) bool { return j.byID[id] != nil && j.dead(j.byID[id]) })
}

// openOn returns the open questions that hold up a task.
func (j *judge) openOn(task string) (open []*questionFacts) {
	for _, q := range j.questions {
		if !q.answered && q.Task == task {
			open = append(open, q)
		}
	}
	return open
}

func (j *judge) limits() delivery.Limits { return j.set.Settings.Limits }

// limitOf returns how often something may go wrong before a person is asked.
func (j *judge) limitOf(cause delivery.Cause) int {
	l := j.limits()
	return map[delivery.Cause]int{
		delivery.CauseReviews: l.Reviews, delivery.CauseAudits: l.Audits, delivery.CauseGates: l.Gates, delivery.CauseMerges: l.Gates,
		delivery.CauseCrashes: l.Crashes, delivery.CauseTimeouts: l.Timeouts, delivery.CauseObstacles: l.Obstacles,
		delivery.CauseConflict: l.ConflictRetries + 1, delivery.CauseFinding: 1, delivery.CauseUnchanged: 2,
	}[cause]
}

// wrong counts something that went wrong with a task.
func (j *judge) wrong(t *taskFacts, cause delivery.Cause) {
	t.count[cause]++
	t.talk.wrong(kinds[cause])
}

// looked forgets what went wrong: a person has looked at it.
func (t *taskFacts) looked() {
	t.refused = refusal{}
	t.talk.failed, t.talk.again = "", false
	t.count, t.findings, t.conflict, t.asked = map[delivery.Cause]int{}, map[string]bool{}, nil, false
}

// over notes that a session has to end, and what that means for who waits for it.
func (j *judge) over(s *sessionFacts) {
	if s != nil {
		s.over = true
	}
}

func (j *judge) overTask(task string) {
	for _, s := range j.live {
		if s.task == task {
			s.over = true
		}
	}
}

func (j *judge) overAll() {
	j.stopping = true
	for _, s := range j.live {
		s.over = true
	}
}

// start checks that an agent may be started now.
func (j *judge) start(e ledger.Event, s *sessionFacts, agent string) error {
	role := j.set.Settings.Roles[s.role]
	switch {
	case j.sessions[s.id] != nil:
		return breaks("the session %s is not a new one", s.id)
	case agent == "" || agent != role.Agent:
		return breaks("%q plays %s, not %q", role.Agent, s.role, agent)
	case j.paused:
		return breaks("a start while the run is paused")
	case j.stopping:
		return breaks("a start while the run is being ended")
	case s.round == 0 && j.baseline == nil:
		return breaks("a start before the baseline was checked")
	case s.round == 0 && j.remediation.on:
		return breaks("a start during remediation")
	case j.waits[role.Provider].After(e.Time):
		return breaks("a start while the provider %s is paused", role.Provider)
	case j.overBudget():
		return breaks("a start over the budget")
	}
	j.sessions[s.id], j.live[s.id] = s, s
	return j.atOnce()
}

func (j *judge) overBudget() bool {
	b, n := j.set.Settings.Budget, 1+j.raised
	return b.Tokens > 0 && j.tokens >= b.Tokens*int64(n) || b.CostUSD > 0 && j.cost >= b.CostUSD*float64(n)
}

// atOnce checks how many agents work.
func (j *judge) atOnce() error {
	all, roles, experts := 0, map[agentsig.Role]int{}, map[string]int{}
	for _, s := range j.live {
		if s.over || s.waiting {
			continue
		}
		all++
		roles[s.role]++
		if s.request != "" {
			experts[j.calls[s.request].target]++
		}
	}
	if most := j.limits().Agents; all > most {
		return breaks("%d agents at once, %d are allowed", all, most)
	}
	for role, n := range roles {
		if most := j.set.Settings.Roles[role].AtOnce; most > 0 && n > most {
			return breaks("%d at once as %s, %d are allowed", n, role, most)
		}
	}
	for name, n := range experts {
		if most := j.limits().ExpertAtOnce; n > most {
			return breaks("the expert %s has %d requests at once, %d are allowed", name, n, most)
		}
	}
	return nil
}

// startOn checks that a task may be worked on.
func (j *judge) startOn(t *taskFacts, e ledger.Event) error {
	if err := j.unblocked(t); err != nil {
		return err
	}
	for cause, n := range t.count {
		if most := j.limitOf(cause); most > 0 && n >= most {
			return breaks("%s is tried again after %s went wrong %d of %d times", t.id, cause, n, most)
		}
	}
	for _, s := range j.live {
		if s.task == t.id && s.request == "" && s.id != e.Session {
			return breaks("%s is started while %s has not ended", t.id, s.id)
		}
	}
	switch {
	case j.dead(t):
		return breaks("%s is started, and was cancelled", t.id)
	case len(j.openOn(t.id)) > 0:
		return breaks("%s is started with an open question", t.id)
	case t.asked:
		return breaks("%s is started before a person was asked", t.id)
	case t.conflict != nil && t.conflict.Until.After(e.Time) && !j.settled(t.conflict.Holder):
		return breaks("%s is started before its file is free", t.id)
	}
	return nil
}

func (j *judge) unblocked(t *taskFacts) error {
	for _, id := range t.blockedBy {
		if j.byID[id].phase != agentsig.PhaseCompleted {
			return breaks("%s is started before %s is completed", t.id, id)
		}
	}
	return nil
}

func (j *judge) settled(task string) bool {
	t := j.byID[task]
	return t != nil && (t.phase == agentsig.PhaseCompleted || j.dead(t))
}

// rest is called when nothing is due: whoever has to be asked has been.
func (j *judge) rest(time.Time) error {
	if j.stopping || j.finished || len(j.tasks) < j.set.Tasks {
		return nil
	}
	for _, t := range j.tasks {
		if j.dead(t) || t.phase == agentsig.PhaseCompleted || t.holder != "" || slices.ContainsFunc(j.onTask(t.id), func(s *sessionFacts) bool { return s.request == "" }) {
			continue
		}
		limit := delivery.Cause("")
		for cause, n := range t.count {
			if most := j.limitOf(cause); most > 0 && n >= most {
				limit = cause
			}
		}
		if limit == "" && !t.asked && t.same && t.phase == agentsig.PhaseReadyForMerge {
			return breaks("%s: the critic agrees that there is nothing to change, and it goes on", t.id)
		}
		if (limit != "" || t.asked) && len(j.openOn(t.id)) == 0 {
			return breaks("%s: a person should be asked (%s), and is not", t.id, limit)
		}
	}
	return nil
}

func (j *judge) onTask(task string) (all []*sessionFacts) {
	for _, s := range j.live {
		if s.task == task {
			all = append(all, s)
		}
	}
	return all
}

// end looks at the whole when the schedule is over.
func (j *judge) end(finished bool) error {
	if finished != j.finished {
		return breaks("the run says that it has ended: %v, and the record: %v", finished, j.finished)
	}
	if !finished || j.stopping {
		return nil
	}
	for _, t := range j.tasks {
		if t.phase != agentsig.PhaseCompleted && !j.dead(t) {
			return breaks("%s was lost in %s", t.id, t.phase)
		}
	}
	return nil
}
