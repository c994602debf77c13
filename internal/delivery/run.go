package delivery

import (
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Run is a plan on its way: the fold of its events. The zero Run is one that has
// not been started.
type Run struct {
	Started
	Subject string     // in the ledger
	By      string     // who handed in its plan, as it is now
	First   uint64     // the ledger's sequence of its first event, by which runs have their order
	Seq     uint64     // and of its last
	Tip     ledger.Tip // the end of its chain
	Epoch   uint64     // of the ledger, at its last event
	At      time.Time  // when it was started
	Granted uint64     // the counter of the latest session that holds no item

	Tasks     []*Task
	Sessions  map[string]*Session // whose process has not ended yet
	Requests  []*Request          // of experts, that are not done with
	Questions []*Asked
	Known     []string             // experts
	Waits     map[string]time.Time // providers that are paused, and until when
	Logins    map[string]Login     // of providers that have refused one
	Unknown   map[string]int       // outputs in a row without a signal that counts, by task and role

	Remediation Remediation
	Baseline    *Baseline  // nil until it is checked
	Verified    int        // how often it was checked, and repairs were checked or merged
	Repairs     []Repaired // that were merged
	Lost        []string   // what a box went on without, of what was protected when it was started
	Tolerated   []string   // checks that may fail: the operator declared the environment healthy
	Paused      bool
	Distrust    string  // why the box paused it, if it did
	Stopping    Outcome // cancelled or halted: it ends as soon as its sessions have
	Raised      int     // how often the budget was granted again
	Used        Usage
	Asks        int    // questions so far
	Calls       int    // expert requests so far
	Told        []Told // the latest messages of the operator's
	Publication *PullRequest
	Added       []string          // tasks that came with amendments of the plan, in order
	Renamed     map[string]string // what tasks of the plan are called in the run, as far as it is something else
	Amended     uint64            // the sequence of the plan's last amendment; 0 if there is none
	Outdated    uint64            // what was proposed before this sequence of the ledger is proposed anew: the branch has moved
	BranchGone  bool              // its branch was removed: another of the same name is none of its own
	Finished    *Finished
	FinishedAt  time.Time

	byID, bySubject map[string]*Task
}

// Task is a task of the plan and what the run knows of it besides its item.
type Task struct {
	ID         string
	BlockedBy  []string
	Item       work.Item
	Count      Count
	Findings   []uint64 // fingerprints of what reviews and audits found
	Failed     *Failure // the last commit that did not pass, since a person looked at it; never changed in place
	Given      string   // the commit that a person handed in, if it was one: what is checked, whatever becomes of the worktree
	Pushed     string   // the commit that the work is at, as its last session handed it in: the next one, wherever it is, begins there
	Unfit      []string // machines on which agents on it could not be started, since a person looked at it
	Missing    string   // the runner that has not handed in what its session called ready; empty if nothing is missing
	Away       string   // the session that was lost with its runner last
	Late       int      // results that came too late, since a person looked at it
	AtHome     bool     // what was done lies in home's worktree alone: there is no such commit, and nobody can go on with it elsewhere
	Unpushed   string   // why what its last session on another machine has done can't be judged
	NoChange   string   // why nothing has to be changed, if the last developer claims that
	Briefs     []Brief  // what the next agent has to be told
	Developer  Developer
	Need       *Need  // what a person has to be asked
	Question   string // that holds it up
	Trouble    bool   // the environment holds it up
	Awaits     string // another task that it turned out to depend on
	Conflict   *FileConflict
	Cancelled  bool
	DroppedBy  string         // who gave it up, if somebody did
	DroppedFor string         // the reason that they gave
	Dropped    bool           // the plan was amended, and does not have it any more
	Anew       agentsig.Phase // the plan was amended: where it begins anew
	Dead       bool           // it will never be completed
	Lost       bool           // the run was no longer protected before it was completed
	Skipped    bool           // the operator took it past a verdict
	ByHand     bool           // somebody worked on it, or reported for the gate, whom the box had not started
	Dependents int            // how many others wait for it, directly or not
	Used       Usage
	TaskLeave  Leave     // of the budget of a task
	TurnLeave  Leave     // and of its agents' turns
	Reached    Scope     // the budget that a person has to be asked about
	Since      time.Time // when its phase or holder last changed, or its merge was proposed
	Moved      uint64    // the ledger's sequence of the last change of phase or holder
	Outdated   uint64    // a merge of it that was checked, proposed or approved before this sequence is not made: the plan was amended
}

// Count counts what went wrong with a task since a person last looked at it.
type Count struct {
	Reviews, Audits, Gates, Merges, Crashes, Timeouts, Obstacles, Conflicts int
	Unchanged                                                               int // in a row
}

// Failure is a commit that did not pass: by whose word, and what that was.
type Failure struct {
	By           work.Since
	Commit, Text string
}

// Unchanged says since when nothing was changed in a commit that is handed in, and touches so many files, if that is
// known; empty if there is something to look at. What is handed in again is not looked at again.
func (t *Task) Unchanged(commit string, files *int) work.Since {
	switch {
	case t.Failed != nil && t.Failed.Commit == commit:
		return t.Failed.By
	case files != nil && *files == 0 && t.NoChange == "":
		return work.SinceStart
	}
	return ""
}

// Brief is something that the next agent on a task has to be told.
type Brief struct {
	From string // review, audit, gate, merge, answer, advice, analyst, signals, crash, time-out, budget, conflict, incomplete, infrastructure, operator
	Text string
}

// lasts reports whether every agent on the task has to be told, and not the next
// one alone: what a person, an expert or the analyst said goes for the whole task.
func (b Brief) lasts() bool {
	switch b.From {
	case "answer", "operator", "advice", "analyst":
		return true
	}
	return false
}

// Need is a question that has not been asked yet.
type Need = work.Need

// Told is a message of the operator's: the request's key, and the session that it has
// reached.
type Told struct {
	Key, Session string
	At           time.Time
}

// Messages of the operator's are remembered for longer than any client repeats one, and the latest
// of them in any case.
const (
	keepTold = 5 * time.Minute
	minTold  = 16
)

// Asked is a question, and its answer once there is one.
type Asked struct {
	Question
	Seq    uint64 // the ledger's sequence of the question
	At     time.Time
	Answer *Answered
}

// Session is an agent's process.
type Session struct {
	ID      string
	Role    agentsig.Role
	Agent   string
	Task    string // whose item it holds, or in whose worktree it is
	Request string // that an expert is to answer
	Round   int    // of remediation
	Commit  string // of a repair, that it is to review
	Runner  string // that its process is on; "" for home
	Pushed  bool   // it is known where what it has done so far is, or why that can't be judged
	Started time.Time
	Turn    int      // the last one that was dealt with
	Noted   int      // the last report that was noted
	Prompt  *Prompt  // what it is being asked
	Waiting string   // the request that it waits for
	Asks    int      // how often it asked for an expert
	Over    string   // why it has to end
	Prompts int      // how many it was given
	Denied  []string // what it was refused since the last of them
	Used    Usage    // as it was last heard
	GivenUp bool     // it came to no end
	Resumes *Resumed // whose conversation it goes on with; never changed in place
}

// Holds reports whether the session holds an item.
func (s *Session) Holds() bool { return s.Request == "" && s.Round == 0 }

// Working reports whether it takes up a place among the agents at once.
func (s *Session) Working() bool { return s.Over == "" && s.Waiting == "" }

// Busy reports whether it has a turn under way: the first one, or one that it was prompted for.
func (s *Session) Busy() bool {
	return s.Waiting == "" && (s.Turn == 0 || s.Prompt != nil && s.Prompt.Delivered)
}

// Ask is what a prompt is for.
type Ask string

// The asks.
const (
	AskProgress Ask = "progress"
	AskSignal   Ask = "signal"
	AskAdvice   Ask = "advice"  // which the requester is given
	AskRefused  Ask = "refused" // its request for an expert
)

// Prompt is something that a session is to be told in the same conversation.
type Prompt struct {
	ID         string
	Ask        Ask
	Text       string // an expert's advice, or why something was refused
	NearMisses []NearMiss
	Denied     []string      // what the agent was refused before
	Answer     time.Duration // in which it has to answer; 0 for as long as its time lasts
	Delivered  bool
}

// Request is a request for an expert.
type Request struct {
	ExpertCall
	Session  string // that waits for it
	Expert   string // the session that works on it
	Attempts int
	Failed   string // the expert's last word, if it gave up
	Advice   string
	Advised  bool
}

// Remediation is the repair of the environment.
type Remediation struct {
	Stage      Stage
	Round      int
	Task       string
	Cause      string
	Question   string
	Hint       string       // the operator's answer, for the next round
	Last       string       // how the last agent ended that had nothing to say
	Crashes    int          // of agents in a row
	Declared   bool         // the operator calls the environment healthy, whatever the checks say
	Repair     *Repair      // the last one that was checked
	SentBack   string       // why the last repair was not merged
	Dropped    bool         // work goes on without the repair
	Accepted   bool         // a person who plays the critic accepts the repair
	AcceptedBy string       // who that is
	Merging    bool         // what is asked is whether a repair that passed its review may be merged
	Approved   bool         // a person says that it may
	Reviewed   uint64       // the ledger's sequence of the review that passed
	Allowed    *work.Permit // the merge that was allowed since; never changed in place
}

// Repaired is a repair that was merged.
type Repaired struct {
	Merged RepairMerge
	At     time.Time
}

// Stage is a step of remediation; empty if there is none.
type Stage string

// The stages.
const (
	StageRepair Stage = "repair"
	StageAudit  Stage = "audit"
	StageVerify Stage = "verify" // the box runs the checks itself
	StageReview Stage = "review" // a critic reviews what was committed for the repair
	StageMerge  Stage = "merge"  // the box merges it
	StageAsked  Stage = "asked"
)

// Task returns the task with this id, or nil.
func (r *Run) Task(id string) *Task { return r.byID[id] }

// Reviewer reports whether a role looks at work and changes nothing.
func Reviewer(r agentsig.Role) bool { return r == agentsig.RoleCritic || r == agentsig.RoleAuditor }

// Reviews reports whether a session looks at what passed the gate: a reviewer's, or that of an
// expert who advises one.
func (r *Run) Reviews(s *Session) bool {
	role := s.Role
	for _, q := range r.Requests {
		if asked := r.Sessions[q.Session]; q.Request == s.Request && asked != nil {
			role = asked.Role
		}
	}
	return Reviewer(role)
}

// Exists reports whether the run was started.
func (r *Run) Exists() bool { return r.ID != "" }

// Live reports whether the run goes on.
func (r *Run) Live() bool { return r.Exists() && r.Finished == nil }

// Planned reports whether every task of the plan has its item.
func (r *Run) Planned() bool { return r.Exists() && len(r.Tasks) == r.Started.Tasks }

func (r *Run) ofSubject(subject string) *Task { return r.bySubject[subject] }

// SessionOf returns the session that works on a task, or did and whose process has
// not ended yet.
func (r *Run) SessionOf(task string) *Session {
	for _, s := range r.Sessions {
		if s.Task == task && s.Holds() {
			return s
		}
	}
	return nil
}

func (r *Run) request(id string) *Request {
	for _, q := range r.Requests {
		if q.Request == id {
			return q
		}
	}
	return nil
}

func (r *Run) question(id string) *Asked {
	for _, q := range r.Questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// Open returns the questions that wait for an answer.
func (r *Run) Open() []*Asked {
	var open []*Asked
	for _, q := range r.Questions {
		if q.Answer == nil {
			open = append(open, q)
		}
	}
	return open
}

// dead reports whether a task will never be completed: it was cancelled, or
// depends on one that was.
func (r *Run) dead(t *Task) bool { return t.Dead }

// bury marks the tasks that will never be completed.
func (r *Run) bury() {
	seen := map[string]bool{}
	for _, t := range r.Tasks {
		r.buryOne(t, seen)
	}
}

func (r *Run) buryOne(t *Task, seen map[string]bool) {
	if seen[t.ID] {
		return
	}
	seen[t.ID] = true
	t.Dead = t.Cancelled
	for _, id := range t.BlockedBy {
		if b := r.Task(id); b != nil {
			r.buryOne(b, seen)
			t.Dead = t.Dead || b.Dead
		}
	}
	t.Dead = t.Dead && t.Item.Phase != agentsig.PhaseCompleted
}

// countDependents counts for each task how many others wait for it, directly or not.
func (r *Run) countDependents() {
	for _, t := range r.Tasks {
		t.Dependents = 0
	}
	for _, t := range r.Tasks {
		seen := map[string]bool{}
		r.ancestors(t, seen)
		for id := range seen {
			r.Task(id).Dependents++
		}
	}
}

// blocker returns a task that has to be completed before this one is started.
func (r *Run) blocker(t *Task) string {
	for _, id := range t.BlockedBy {
		if b := r.Task(id); b == nil || b.Item.Phase != agentsig.PhaseCompleted {
			return id
		}
	}
	return ""
}

// failing returns the checks of a baseline that fail and are not tolerated.
func (r *Run) failing() []string {
	if r.Baseline == nil {
		return nil
	}
	var names []string
	for _, c := range r.Baseline.Checks {
		if !c.Passed && !slices.Contains(r.Tolerated, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// roleFor returns the role that works on an item in a phase.
func roleFor(p agentsig.Phase) (agentsig.Role, bool) {
	switch p {
	case agentsig.PhaseDraft:
		return agentsig.RoleAnalyst, true
	case agentsig.PhaseImplementation:
		return agentsig.RoleDeveloper, true
	case agentsig.PhaseReadyForReview, agentsig.PhaseReview:
		return agentsig.RoleCritic, true
	case agentsig.PhaseReadyForMerge:
		return agentsig.RoleAuditor, true
	}
	return "", false
}
