package delivery

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Write is something to be recorded: a command on the item of a task, or an event
// on the run.
type Write struct {
	Item  string // the item's subject; empty for an event on the run
	Do    work.Command
	Event Event
}

func (t *Task) do(c work.Command) Write { return Write{Item: t.Item.Subject, Do: c} }

func (r *Run) event(what, session string, payload any) Write {
	return Write{Event: Event{Type: what, Actor: work.BoxActor, Session: session, Payload: payload}}
}

// Input is what happened outside: a [Turn], a [Note], an [End] of a process, the
// result of a command, or an operator's word.
type Input interface {
	decide(r *Run, now time.Time) ([]Write, error)
}

// Decide says what an input leads to, or why it is refused. What was dealt with
// before leads to nothing. The writes hold in their order, each only as long as
// nothing else happens to the same subject.
func (r *Run) Decide(in Input, now time.Time) ([]Write, error) { return in.decide(r, now) }

// Turn is the end of an agent's turn.
type Turn struct {
	Session    string
	Turn       int
	Verdict    agentsig.Kind // of its one signal, or unknown or ambiguous
	Signal     agentsig.Signal
	Said       work.Said
	Key        string // of the request that an item's event is recorded for
	NearMisses []NearMiss
	Preview    string
	NoAnswer   bool // it was asked, and did not answer in time
}

func (in Turn) decide(r *Run, now time.Time) ([]Write, error) {
	s := r.Sessions[in.Session]
	switch {
	case s != nil && in.Turn <= s.Turn:
		return nil, nil
	case s == nil || s.Over != "" && s.Holds() && !r.holdsLease(s):
		return r.late(in)
	case s.Over != "" || s.Waiting != "" && !in.handsOver():
		return nil, nil // it repeats itself, or has been told to end
	}
	writes := r.refusals(s, in)
	w, err := r.handle(s, in, now)
	if err != nil {
		return nil, err
	}
	return append(writes, w...), nil
}

// handsOver reports whether the turn's signal is one that ends work on an item.
func (in Turn) handsOver() bool {
	_, err := in.Signal.Handover(agentsig.PhaseImplementation)
	return in.Signal.Terminal() && in.Verdict == in.Signal.Kind && !errors.Is(err, agentsig.ErrNoHandover)
}

func (r *Run) holdsLease(s *Session) bool {
	t := r.Task(s.Task)
	return t != nil && t.Item.Lease != nil && t.Item.Session() == s.ID
}

// late records a result whose session does not hold its item any more.
func (r *Run) late(in Turn) ([]Write, error) {
	subject, token, err := work.ParseSession(in.Session)
	t := r.ofSubject(subject)
	if err != nil || t == nil || !in.handsOver() {
		return nil, nil
	}
	var writes []Write
	if t.Item.Holds(token) {
		if t.Away != in.Session {
			return nil, nil // its process has ended, and the item is about to be given back
		}
		writes = append(writes, t.do(work.Release{Token: token}))
	}
	if t.Late >= maxLate {
		return nil, nil
	}
	if t.Item.Completed == token.Counter || len(t.Item.Recorded(in.Key)) > 0 {
		return nil, nil // it is the word that ended it
	}
	actor, ok := t.Item.ActorOf(token)
	if !ok {
		actor = "unknown"
	}
	return append(writes, t.do(work.End{Token: token, Actor: actor, Signal: in.Signal, Said: in.Said, Key: in.Key})), nil
}

// maxLate bounds how many results of a task are recorded that came too late.
const maxLate = 32

// refusals are signals that an agent gave in another's name.
func (r *Run) refusals(s *Session, in Turn) []Write {
	var writes []Write
	for _, m := range in.NearMisses {
		switch m.Reason {
		case agentsig.ReasonWrongID, agentsig.ReasonWrongRole, agentsig.ReasonWrongNonce:
			if len(writes) < maxRefusals {
				writes = append(writes, r.event(SignalRefused, s.ID, Refused{s.Task, m}))
			}
		}
	}
	return writes
}

// maxRefusals bounds how many of a turn's refused signals are recorded.
const maxRefusals = 3

// handle is the table of the signals: what each leads to, said by an agent that
// may say it.
func (r *Run) handle(s *Session, in Turn, now time.Time) ([]Write, error) {
	one := func(what string, payload any) ([]Write, error) {
		return []Write{r.event(what, s.ID, payload)}, nil
	}
	switch in.Verdict {
	case agentsig.KindExpertRequest:
		if s.Holds() {
			return r.expertRequest(s, in), nil
		}
	case agentsig.KindExpertAdvice:
		return one(ExpertAdvised, ExpertCall{Request: s.Request, Task: s.Task, Text: advice(in), Turn: in.Turn})
	case agentsig.KindExpertUnsuccessful:
		return one(ExpertFailed, ExpertCall{Request: s.Request, Task: s.Task, Text: advice(in), Turn: in.Turn})
	case agentsig.KindRemediationComplete:
		return one(RemediationCompleted, Round{Round: s.Round, Turn: in.Turn})
	case agentsig.KindHealthHealthy, agentsig.KindHealthUnhealthy:
		return one(HealthAudited, Round{Round: s.Round, Turn: in.Turn, Healthy: in.Verdict == agentsig.KindHealthHealthy, Detail: cut(in.Signal.Payload)})
	case agentsig.KindReviewPassed, agentsig.KindReviewFailed:
		if w := r.reviewRepair(s, in); w != nil {
			return w, nil
		}
	case agentsig.KindFileConflict:
		if s.Holds() {
			return one(ConflictReported, r.conflict(s, in, now))
		}
	case agentsig.KindDivineClarification:
		if !s.Holds() {
			return one(QuestionAsked, Question{
				ID: r.questionID(), Cause: CauseClarification, Text: cut(orSome(in.Said.Field("Question"), "remediation needs a person")),
				Context: cut(in.Said.Text()), Choices: remediationChoices, Session: s.ID, Turn: in.Turn,
			})
		}
	}
	t := r.Task(s.Task)
	if s.Holds() && t != nil && in.handsOver() {
		end := work.End{Token: t.Item.Lease.Token, Actor: s.Agent, Signal: in.Signal, Said: in.Said, Key: in.Key}
		if _, err := work.Decide(t.Item, end); err == nil {
			return []Write{t.do(end)}, nil
		}
	}
	return r.unknown(s, in), nil
}

// OnlyByHolders lists the kinds of line signals that a run acts upon if the session holds a task, and not if it helps with
// one, or repairs the environment.
func OnlyByHolders() []agentsig.Kind {
	return []agentsig.Kind{agentsig.KindExpertRequest, agentsig.KindFileConflict}
}

// advice is what an expert says below its signal, and on its line.
func advice(in Turn) string {
	return cut(strings.TrimSpace(strings.TrimSpace(in.Signal.Note) + "\n" + in.Signal.Payload))
}

// Bounds on texts in an event, in bytes of JSON: two texts fit in one, or a text and the results of all checks (8 KiB).
const (
	maxText = 6 << 10
	maxName = 256
)

func cut(s string) string { return cutTo(s, maxText) }

// TaskText is what a task of a plan asks for, as its item has it: what is to be done, and how one sees that it is. What does not fit
// is in the plan alone: it takes no more than so many bytes of JSON, and no more than any text.
func TaskText(text string, criteria []string, most int) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(text))
	if len(criteria) > 0 {
		b.WriteString("\n\nAcceptance criteria:")
	}
	for _, c := range criteria {
		b.WriteString("\n- " + c)
	}
	return cutTo(strings.TrimSpace(b.String()), min(most, maxText))
}

func cutTo(s string, most int) string { return work.Cut(s, most) }

// unknown is the ladder for output without a signal that counts: twice the agent
// is asked how far it is and then for its signal, the third time it is given up.
func (r *Run) unknown(s *Session, in Turn) []Write {
	progress := in.Verdict == agentsig.KindCheckpoint
	asked := s.Prompt != nil && s.Prompt.Ask == AskProgress
	switch {
	case asked && in.NoAnswer:
		return []Write{r.event(AnswerMissed, s.ID, Turned{Turn: in.Turn})}
	case asked && progress:
		return []Write{r.event(SignalRequested, s.ID, Turned{Turn: in.Turn, NearMisses: s.Prompt.NearMisses})}
	}
	n := r.Unknown[r.unknownKey(s)] + 1
	u := Unknown{
		TaskID: orSome(s.Task, string(s.Role)), AgentID: s.ID, Turn: in.Turn, Attempt: n, OutputPreview: in.Preview,
		NearMisses: in.NearMisses, Ambiguous: in.Verdict == agentsig.KindAmbiguous, Progress: progress,
	}
	what, u := u.Step(r.Settings.Limits.Unknown)
	return []Write{r.event(what, s.ID, u)}
}

func (r *Run) expertRequest(s *Session, in Turn) []Write {
	target := cutTo(strings.TrimSpace(in.Said.Field("Target Agent")), maxName)
	call := ExpertCall{Task: s.Task, Target: target, Type: cutTo(in.Said.Field("Request Type"), maxName), Turn: in.Turn}
	switch {
	case s.Asks >= r.Settings.Limits.ExpertRequests:
		return []Write{r.event(QuestionAsked, s.ID, Question{
			ID: r.questionID(), Task: s.Task, Cause: CauseExpertRequests, Session: s.ID, Turn: in.Turn,
			Text:    fmt.Sprintf("the agent asked for an expert %d times, and asks again: what now?", s.Asks),
			Context: cut(in.Said.Text()), Choices: taskChoices,
		})}
	case r.Settings.Roles[agentsig.RoleExpert].Agent == "":
		call.Text = "Nobody plays the role of an expert in this run. Go on without one."
		return []Write{r.event(ExpertRefused, s.ID, call)}
	case !slices.Contains(r.Known, target):
		call.Known = r.Known
		call.Text = fmt.Sprintf("There is no expert called %q. Known experts: %s.", target, orSome(strings.Join(r.Known, ", "), "none"))
		return []Write{r.event(ExpertRefused, s.ID, call)}
	}
	call.Request = fmt.Sprintf("%s-E%d", r.ID, r.Calls+1)
	call.Text = cut(in.Signal.Payload)
	return []Write{r.event(ExpertRequested, s.ID, call)}
}

func (r *Run) conflict(s *Session, in Turn, now time.Time) FileConflict {
	t := r.Task(s.Task)
	c := FileConflict{
		Task: s.Task, Path: cut(in.Signal.Subject), Reason: cut(in.Said.Field("Reason")), CanWait: !strings.HasPrefix(in.Said.Field("Can Wait"), "NO"),
		Attempt: t.Count.Conflicts + 1, Turn: in.Turn,
	}
	if c.CanWait {
		c.Until = now.Add(r.Settings.Limits.ConflictWait)
	}
	if o := r.named(t, in.Said.Field("Assigned To")); o != "" {
		c.Holder = o
	}
	return c
}

func (r *Run) questionID() string { return fmt.Sprintf("%s-Q%d", r.ID, r.Asks+1) }

// Note is a signal that ends nothing, said in the middle of a turn.
type Note struct {
	Session string
	Report  int
	Said    work.Said
	Key     string
}

func (in Note) decide(r *Run, _ time.Time) ([]Write, error) {
	s := r.Sessions[in.Session]
	if s == nil || s.Over != "" {
		return nil, nil
	}
	if !s.Holds() {
		if in.Report <= s.Noted {
			return nil, nil
		}
		return []Write{r.event(SignalNoted, s.ID, Noted{in.Report, in.Said})}, nil
	}
	t := r.Task(s.Task)
	if t == nil || !r.holdsLease(s) || len(t.Item.Recorded(in.Key)) > 0 {
		return nil, nil
	}
	return []Write{t.do(work.Note{Token: t.Item.Lease.Token, Said: in.Said, Key: in.Key})}, nil
}

// Denied says that something was refused an agent: by the policy of its role, or by its
// own program.
type Denied struct {
	Session string
	Report  int
	Text    string
}

func (in Denied) decide(r *Run, _ time.Time) ([]Write, error) {
	s := r.Sessions[in.Session]
	if s == nil || in.Report <= s.Noted {
		return nil, nil
	}
	return []Write{r.event(PermissionDenied, s.ID, Denial{in.Report, s.Task, cut(in.Text)})}, nil
}

// commitName is what names the commit that a session has handed in.
var commitName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// End is the end of an agent's process.
type End struct {
	Session string
	Ended
}

func (in End) decide(r *Run, now time.Time) ([]Write, error) {
	s := r.Sessions[in.Session]
	if s == nil {
		return nil, nil
	}
	in.Role, in.Task, in.Detail = string(s.Role), s.Task, cut(in.Detail)
	if !commitName.MatchString(in.Commit) {
		in.Commit = ""
	}
	var writes []Write
	if provider := r.Settings.Roles[s.Role].Provider; in.How == Limited && s.Over == "" {
		until := in.ResetAt
		if !until.After(now) {
			until = now.Add(r.Settings.Limits.ProviderPause)
		}
		writes = append(writes, r.event(ProviderPaused, s.ID, Pause{Provider: provider, Until: until, Detail: in.Detail}))
	}
	if r.refused(s, in.How) {
		writes = append(writes, r.event(ProviderPaused, s.ID, Pause{Provider: r.Settings.Roles[s.Role].Provider, Login: true, Detail: in.Detail}))
	}
	return append(writes, r.event(SessionEnded, s.ID, in.Ended)), nil
}

// Prompted says that a prompt has reached its session.
type Prompted struct{ Session, Prompt string }

func (in Prompted) decide(r *Run, _ time.Time) ([]Write, error) {
	s := r.Sessions[in.Session]
	if s == nil || s.Prompt == nil || s.Prompt.ID != in.Prompt || s.Prompt.Delivered {
		return nil, nil
	}
	return []Write{r.event(PromptDelivered, s.ID, Delivered{in.Prompt})}, nil
}

// GateRan is the gate's result on a task.
type GateRan struct {
	Command string // whose result it is
	Runner  string // who ran it; "" for home
	Commit  string
	Passed  bool
	Checks  []work.Check
	Output  string
	Files   *int   // that the change touches, if that is known
	Trouble string // why it could not be told, or that the same checks fail without the change

	Since work.Since // nothing was changed since then, so no check ran ([Task.Unchanged])

	Signed *work.Signed // by the runner; nil if nothing has to be ([GateRan.Verdict])
}

// Verdict reports whether it says what checks came to, which a runner on another machine signs.
func (in GateRan) Verdict() bool { return in.Trouble == "" && in.Since == "" }

// Statement is what the runner signs of a task of a run.
func (in GateRan) Statement(runner, run string, t *Task) work.GateStatement {
	g := work.Gate{Runner: runner, Commit: in.Commit, Checks: in.Checks, Files: in.Files, Output: cut(in.Output), Signed: &work.Signed{Order: in.Command}}
	return g.Statement(run, t.ID, t.Item.Subject, in.Passed)
}

// ErrOtherWork refuses what a runner says of another commit than the one that it was to look at.
var ErrOtherWork = errors.New("the checks ran on other work")

func (in GateRan) decide(r *Run, _ time.Time) ([]Write, error) {
	t := r.due(DoGate, in.Command)
	switch {
	case t == nil || t.Item.Phase != agentsig.PhaseCIPending || t.Item.Lease != nil:
		return nil, nil
	case in.Runner != "" && in.Commit != t.checked():
		return nil, fmt.Errorf("%w: the runner %s looked at %s, and was to look at %s", ErrOtherWork, in.Runner, short(in.Commit), short(t.checked()))
	}
	if in.Trouble != "" {
		return []Write{t.do(work.Block{Cause: string(CauseInfrastructure), Reason: cut(in.Trouble)})}, nil
	}
	if in.Since = cmp.Or(t.Unchanged(in.Commit, in.Files), in.Since); in.Since != "" {
		return []Write{t.do(work.Report{Commit: in.Commit, Files: in.Files, Since: in.Since, Runner: in.Runner})}, nil
	}
	return []Write{t.do(work.Report{
		Commit: in.Commit, Passed: in.Passed, Checks: in.Checks, Output: cut(in.Output), Files: in.Files, NoChange: cutTo(t.NoChange, maxText/4), Runner: in.Runner,
		Signed: in.Signed,
	})}, nil
}

// Shown says which commit a reviewer is given to look at, and where it is told that the work begins,
// before it is started.
type Shown struct{ Session, Commit, Tree, Base string }

func (in Shown) decide(r *Run, _ time.Time) ([]Write, error) {
	s := r.Sessions[in.Session]
	if s == nil || !s.Holds() || !r.holdsLease(s) {
		return nil, nil
	}
	t, seen := r.Task(s.Task), work.Seen{Session: s.ID, Commit: in.Commit, Tree: in.Tree, Base: in.Base}
	if t.Item.Review == seen || t.Item.Audit == seen {
		return nil, nil
	}
	return []Write{t.do(work.Show{Token: t.Item.Lease.Token, Commit: in.Commit, Tree: in.Tree, Base: in.Base})}, nil
}

// BaselineRan is the gate's result on what the work starts from.
type BaselineRan struct {
	Command string // whose result it is
	Baseline
}

func (in BaselineRan) decide(r *Run, _ time.Time) ([]Write, error) {
	if !r.Live() || r.Baseline != nil || in.Command != r.baselineCommand() {
		return nil, nil
	}
	in.Output, in.Trouble = cut(in.Output), cutTo(in.Trouble, maxText/4)
	return []Write{r.event(BaselineChecked, "", in.Baseline)}, nil
}

// MergeChecked says that the checks hold on a merge, which is made once that is
// recorded as [work.MergeAllowed]; if a person approves merges, it is proposed to them first. Nothing is recorded if the merge is not due any more,
// or was allowed before; the item tells, or [Remediation.Allowed] of a repair.
type MergeChecked struct {
	Command                  string // that it is a part of
	Commit, Onto, Tree, Base string // as in [work.Allowed]
	Checked                  string // the commit that the checks ran on
}

func (in MergeChecked) decide(r *Run, _ time.Time) ([]Write, error) {
	if in.Command == r.mergeRepairCommand() {
		return r.allowRepair(in), nil
	}
	t := r.due(DoMerge, in.Command)
	if t == nil || r.dead(t) || !t.Item.Judged() || r.checkWaived(t) != nil || t.Item.Commit != "" && t.Item.Commit != in.Commit {
		return nil, nil
	}
	if t.Item.CheckBase(in.Base) != nil {
		return nil, nil // reviewers saw another change than this
	}
	// What moved it last is the audit: no lease is granted on audited work.
	allowed := work.Allowed{Run: r.ID, Task: t.ID, Verdict: t.Moved, Commit: in.Commit, Onto: in.Onto, Tree: in.Tree, Base: in.Base}
	if w := t.Item.Waived; w != nil {
		allowed.Verdict, allowed.Unaudited = w.Seq, true
	}
	return r.allow(t, allowed, in.Checked), nil
}

// Permitted returns the merge that was allowed last for a command that is due; nil if there is none.
func (r *Run) Permitted(command string) *work.Permit {
	if command == r.mergeRepairCommand() {
		return r.Remediation.Allowed
	}
	if t := r.due(DoMerge, command); t != nil {
		return t.Item.Allowed
	}
	return nil
}

// MergeRan is what became of a merge.
type MergeRan struct {
	Command string // whose result it is
	Commit  string
	Tree    string // of the commit
	Result  string // the merge
	Failed  string // why there is none: it goes back to be worked on
	Trouble string // why it could not be tried: a person is asked
}

func (in MergeRan) decide(r *Run, _ time.Time) ([]Write, error) {
	t := r.due(DoMerge, in.Command)
	if t == nil || !t.Item.Judged() || t.Item.Commit != "" && t.Item.Commit != in.Commit {
		return nil, nil
	}
	_, err := t.Item.CheckMerge(in.Commit, in.Tree)
	if err = cmp.Or(r.checkWaived(t), err); err != nil && in.Failed == "" && in.Trouble == "" {
		in.Trouble = err.Error()
	}
	if in.Failed == "" && in.Trouble == "" && !t.Item.MayMerge(in.Commit) {
		in.Trouble = work.ErrNotAllowed.Error()
	}
	if in.Trouble != "" {
		return []Write{t.do(work.Block{Cause: string(CauseMerge), Reason: cut(in.Trouble)})}, nil
	}
	if in.Failed != "" {
		return []Write{t.do(work.Unmerged{Commit: in.Commit, Reason: cut(in.Failed)})}, nil
	}
	return []Write{t.do(work.Merged{Commit: in.Commit, Tree: in.Tree, Result: in.Result})}, nil
}

// Published says what became of the pull request.
type Published struct{ PullRequest }

func (in Published) decide(r *Run, _ time.Time) ([]Write, error) {
	if !r.Live() || r.Publication != nil {
		return nil, nil
	}
	in.Problem = cut(in.Problem)
	return []Write{r.event(PullRequestOpened, "", in.PullRequest)}, nil
}

// Touched says that something outside of its worktree changed while an agent ran.
type Touched struct{ Session, Task, Text string }

func (in Touched) decide(r *Run, _ time.Time) ([]Write, error) {
	if !r.Live() {
		return nil, nil
	}
	return []Write{r.event(CheckoutTouched, in.Session, OnTask{in.Task, cut(in.Text)})}, nil
}

// Distrust says that what a session's program follows was changed by somebody. The run is
// paused, and nothing that the session says counts.
type Distrust struct{ Session, Reason string }

func (in Distrust) decide(r *Run, _ time.Time) ([]Write, error) {
	if s := r.Sessions[in.Session]; s == nil || s.Over != "" {
		return nil, nil
	}
	return []Write{r.event(RunPaused, in.Session, Reason{cut(in.Reason)})}, nil
}

// Why an operator's word is refused.
var (
	ErrFinished   = errors.New("the run has ended")
	ErrNoTask     = errors.New("the run has no such task")
	ErrNoQuestion = work.ErrNoQuestion
	ErrAnswered   = work.ErrAnswered
	ErrNoAnswer   = work.ErrNoAnswer
	ErrTaskOver   = errors.New("the task is COMPLETED")
)
