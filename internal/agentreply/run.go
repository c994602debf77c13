package agentreply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/safetext"
)

// RunSnapshot is a run.
type RunSnapshot struct {
	Head
	Did         string         `json:"did,omitempty"` // what a command led to
	Run         string         `json:"run"`
	Sequence    uint64         `json:"sequence"` // of its last event: what wait_run takes as since
	Title       string         `json:"quoted_title"`
	State       string         `json:"state"`
	Outcome     string         `json:"outcome,omitempty"` // once it is finished
	Minutes     int            `json:"minutes"`           // since it was started, or until it was finished
	Done        int            `json:"done"`
	Total       int            `json:"total"`
	Phases      map[string]int `json:"phases"`          // how many tasks are in each
	Waits       map[string]int `json:"waits,omitempty"` // how many tasks wait, by why
	NeedsYou    List[Need]     `json:"needs_you"`       // oldest first
	AtWork      List[Working]  `json:"at_work"`
	Failing     List[Failing]  `json:"failing"`                     // tasks that the gate sent back
	Trouble     string         `json:"quoted_trouble,omitempty"`    // what remediation is about
	Reason      string         `json:"quoted_reason,omitempty"`     // why the box paused it, or there is no pull request
	Left        List[string]   `json:"left,omitzero"`               // tasks that were not done when it ended
	Unchanged   List[string]   `json:"unchanged,omitzero"`          // tasks that were completed without a change
	Exposed     string         `json:"quoted_exposed,omitempty"`    // which verdicts could be forged
	Until       string         `json:"paused_until,omitempty"`      // when the first provider that is paused goes on
	Usage       Used           `json:"usage"`                       //
	Branch      string         `json:"branch"`                      // that work is merged to; empty if its name can't be written here
	PullRequest string         `json:"pull_request,omitempty"`      //
	Tasks       []TaskInShort  `json:"tasks,omitempty"`             // all, and only in the file
	Notices     []string       `json:"quoted_notices,omitempty"`    // what happened last; only in the file
	Notice      string         `json:"quoted_last_grave,omitempty"` // the last that a person should have seen
}

// Need is what waits for a person.
type Need struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`          // question, review, take or give
	Run     string   `json:"run,omitempty"` // if it is about no task
	Task    string   `json:"task,omitempty"`
	Role    string   `json:"role,omitempty"`
	Cause   string   `json:"cause,omitempty"`
	Minutes int      `json:"waiting_minutes"`
	Tool    string   `json:"tool,omitempty"` // that brings the person's word to the box
	Command string   `json:"command"`        // that does the same
	Text    string   `json:"quoted_text"`
	Context string   `json:"quoted_context,omitempty"`
	Choices []string `json:"quoted_choices,omitempty"`
	Cut     bool     `json:"cut,omitempty"` // there is more of its texts: the file has it
}

// Working is an agent at work.
type Working struct {
	Role    string `json:"role"`
	Task    string `json:"task,omitempty"`
	Minutes int    `json:"minutes"`
	Quiet   int    `json:"quiet_minutes,omitempty"`
	Away    bool   `json:"out_of_touch,omitempty"`
	Says    string `json:"quoted_says,omitempty"` // the last line that it printed
}

// Failing is a task that the gate sent back.
type Failing struct {
	Task  string `json:"task"`
	Times int    `json:"times"`
	Title string `json:"quoted_title"`
}

// How much of a run a reply has, in entries, and in bytes of JSON.
const (
	maxEntries = 5

	maxTitle   = 100
	maxText    = 400 // of a question
	maxContext = 240
	maxChoice  = 40
	maxChoices = 6
	maxSays    = 100
	maxTrouble = 200
	maxDid     = 120
)

// Run is the reply about a run.
func Run(r api.Run, now time.Time, file agentformat.File) agentformat.Response[RunSnapshot] {
	return respond(agentformat.StatusSuccess, runSnapshot(r, now, words{}), file)
}

// TaskInShort is a task of a run.
type TaskInShort struct {
	Task      string   `json:"task"`
	Phase     string   `json:"phase"`
	Why       string   `json:"why,omitempty"` // nobody is started on it
	BlockedBy []string `json:"blocked_by,omitempty"`
	Gates     int      `json:"gate_failed,omitempty"`
	Usage     Used     `json:"usage"`
	Title     string   `json:"quoted_title"`
	NoChange  string   `json:"quoted_no_change,omitempty"`
}

// WholeRun is what the file of a reply about a run has: the same keys with nothing cut, all tasks and what happened last.
func WholeRun(r api.Run, now time.Time) RunSnapshot {
	w := words{whole: true}
	s := runSnapshot(r, now, w)
	for _, t := range r.Tasks {
		v := TaskInShort{
			Task: workOf(t), Phase: known(string(t.Phase), phases), Gates: t.GateFailed, Usage: usedOf(t.Usage, t.Budget), Title: w.quote(t.Title, maxTitle), NoChange: w.quote(t.NoChange, maxClaim),
		}
		if t.Why != "" {
			v.Why = known(string(t.Why), waits)
		}
		for _, b := range t.BlockedBy {
			v.BlockedBy = append(v.BlockedBy, id(b))
		}
		s.Tasks = append(s.Tasks, v)
	}
	for _, n := range r.Notices {
		s.Notices = append(s.Notices, w.quote(n.Text, maxTrouble))
	}
	return s
}

// Done is the reply to a command: what it led to, in the caller's own words and with ids that were checked, and the run as it is now.
func Done(what string, r api.Run, now time.Time) agentformat.Response[RunSnapshot] {
	s := runSnapshot(r, now, words{})
	s.Did = jsontext.Shorten(what, maxDid)
	s.flags = slices.Insert(s.flags, 0, agentformat.Flag{Name: FlagDone, Severity: kinds[FlagDone].Severity, Message: s.Did})
	return respond(agentformat.StatusSuccess, s, agentformat.File{})
}

func runSnapshot(r api.Run, now time.Time, w words) RunSnapshot {
	f := factsOf(r, now)
	s := RunSnapshot{
		Run: f.run, Sequence: r.Sequence, Title: w.quote(r.Title, maxTitle), State: word(string(r.State)), Done: f.done, Total: f.total, Phases: f.phases, Waits: f.waitsByWhy,
		Trouble: w.quote(r.Trouble, maxTrouble), Exposed: w.quote(strings.Join(r.Unprotected, "; "), maxTrouble),
		Usage: usedOf(r.Usage, r.Budget), Branch: f.branch, PullRequest: f.pr,
	}
	if r.State == api.RunFinished && len(f.left) > 0 {
		s.Left = listOf(f.left)
	}
	if len(f.unchanged) > 0 {
		s.Unchanged = listOf(f.unchanged)
	}
	if r.Outcome != "" {
		s.Outcome = word(string(r.Outcome))
	}
	s.Minutes = minutes(r.StartedAt, now)
	if !r.FinishedAt.IsZero() {
		s.Minutes = minutes(r.StartedAt, r.FinishedAt)
	}
	s.Reason = w.quote(joined(r.Distrust, r.Unpublished), maxTrouble)
	s.Notice = w.quote(lastGrave(r.Notices), maxTrouble)
	s.NeedsYou.First, s.AtWork.First, s.Failing.First = []Need{}, []Working{}, []Failing{}
	for _, q := range f.waiting {
		s.NeedsYou.First = append(s.NeedsYou.First, needOf(&w, q, now))
	}
	for _, a := range f.working {
		s.AtWork.First = append(s.AtWork.First, workingOf(&w, a, now))
	}
	for _, t := range f.failing {
		s.Failing.First = append(s.Failing.First, Failing{workOf(t), t.GateFailed, w.quote(t.Title, maxTitle)})
	}
	s.NeedsYou.Total, s.AtWork.Total, s.Failing.Total = len(f.waiting), len(f.working), len(f.failing)
	if len(f.paused) > 0 {
		s.Until = clock(f.paused[0].Until)
	}
	f.flagAll(r, &s.flags)
	f.flagState(r, &s.flags)
	s.Verdict = jsontext.Shorten(f.verdict(r), maxVerdict)
	s.Next = jsontext.Shorten(f.next(r, s.flags), maxNext)
	s.Cut = w.cut
	return s
}

// joined joins texts that are there.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "; ")
}

// lastGrave is the last notice that a person should have seen.
func lastGrave(all []api.Notice) string {
	for _, n := range slices.Backward(all) {
		if n.Grave {
			return n.Text
		}
	}
	return ""
}

// The tools that bring a person's word to the box.
const (
	toolAnswer = "answer_question"
	toolReview = "review_task"
)

func needOf(all *words, q api.Question, now time.Time) Need {
	w := words{whole: all.whole}
	n := Need{
		ID: id(q.ID), Kind: kindOf(q), Minutes: minutes(q.AskedAt, now), Text: w.quote(q.Text, maxText), Context: w.quote(q.Context, maxContext),
		Command: commandOf(q), Tool: toolAnswer,
	}
	switch delivery.Part(n.Kind) {
	case delivery.PartReview:
		n.Tool = toolReview
	case delivery.PartTake, delivery.PartGive:
		n.Tool = "" // it is for the person's own hands
	}
	switch {
	case q.Work != "":
		n.Task = id(q.Work)
	case q.Task != "" && q.Run != "":
		n.Task = id(q.Run + "." + q.Task)
	case q.Task != "":
		n.Task = id(q.Task)
	case q.Run != "":
		n.Run = id(q.Run)
	}
	if q.Role != "" {
		n.Role = word(string(q.Role))
	}
	if q.Cause != "" {
		n.Cause = word(string(q.Cause))
	}
	for i, c := range q.Choices {
		if i == maxChoices && !w.whole {
			w.cut = true
			break
		}
		n.Choices = append(n.Choices, w.quote(c, maxChoice))
	}
	n.Cut, all.cut = w.cut, all.cut || w.cut
	return n
}

// kindOf is what is awaited of a person.
func kindOf(q api.Question) string {
	if q.Asks() {
		return api.KindQuestion
	}
	return known(q.Kind, []string{string(delivery.PartReview), string(delivery.PartTake), string(delivery.PartGive)})
}

// commandOf is what a person runs about it.
func commandOf(q api.Question) string {
	if kindOf(q) == "other" {
		return "signalbox inbox"
	}
	q.ID, q.Work = id(q.ID), id(q.Work)
	return q.Command()
}

func workingOf(w *words, a api.Agent, now time.Time) Working {
	v := Working{Role: word(string(a.Role)), Minutes: minutes(a.StartedAt, now), Quiet: minutes(a.QuietFrom, now), Away: a.Away, Says: w.quote(a.Says, maxSays)}
	if a.Task != "" {
		v.Task = id(a.Task)
	}
	return v
}

// flagState flags the state of a run: none goes without.
func (f *facts) flagState(r api.Run, to *flags) {
	done := fmt.Sprintf("%d of %s done", f.done, counted(f.total, "task"))
	switch r.State {
	case api.RunRunning:
		to.add(FlagRunRunning, "%s, %s at work", done, counted(len(f.working), "agent"))
	case api.RunWaiting:
		to.add(FlagRunWaiting, "%s; only a person can bring it on", done)
	case api.RunPaused:
		to.add(FlagRunPaused, "%s; no agent is started", done)
	case api.RunEnding:
		to.add(FlagRunEnding, "%s; %s to end", done, verb(len(f.working), "agent", "has", "have"))
	case api.RunStopped:
		to.add(FlagRunStopped, "%s; no box brings it on", done)
	case api.RunDry:
		to.add(FlagPlanOK, "%s", counted(f.total, "task"))
	case api.RunFinished:
		switch r.Outcome {
		case delivery.Completed:
			to.add(FlagRunFinished, "all done: %s", counted(f.total, "task"))
		case delivery.Partial:
			to.add(FlagRunIncomplete, "%s, %d left", done, f.total-f.done)
		case delivery.Cancelled:
			to.add(FlagRunCancelled, "%s, %d left", done, f.total-f.done)
		case delivery.Halted:
			to.add(FlagRunFailed, "%s, %d left", done, f.total-f.done)
		default:
			to.add(FlagUnknownState, "the run has ended in a way that this version does not know; %s", done)
		}
	default:
		to.add(FlagUnknownState, "the run is in a state that this version does not know; %s", done)
	}
}

// verdict says in one line how a run stands.
func (f *facts) verdict(r api.Run) string {
	state := word(string(r.State))
	if r.State == api.RunFinished && r.Outcome != "" {
		state += " (" + word(string(r.Outcome)) + ")"
	}
	parts := []string{fmt.Sprintf("%s %s: %d of %s done", f.short(), state, f.done, counted(f.total, "task"))}
	note := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	note(r.Distrust != "", "paused by the box")
	note(len(f.working) > 0 && r.State != api.RunStopped, "%s at work", counted(len(f.working), "agent"))
	note(len(f.questions) > 0, "%s for a person", verb(len(f.questions), "question", "waits", "wait"))
	note(len(f.reviews) > 0, "%s for a person", verb(len(f.reviews), "task", "waits", "wait"))
	note(len(f.failing) > 0, "%s failing at the gate", counted(len(f.failing), "task"))
	note(f.trouble, "the environment is in repair")
	note(len(f.stalled) > 0, "%s stalled", counted(len(f.stalled), "agent"))
	note(len(f.paused) > 0, "%s paused", counted(len(f.paused), "provider"))
	note(f.cancelled > 0, "%s cancelled", counted(f.cancelled, "task"))
	note(len(f.unchanged) > 0, "%d without a change", len(f.unchanged))
	return strings.Join(parts, ", ")
}

// short is the run's id if it is short.
func (f *facts) short() string {
	if len(f.run) > maxNamed {
		return "the run"
	}
	return f.run
}

// next says in one line what to do next about a run.
func (f *facts) next(r api.Run, made flags) string {
	resume := "signalbox pause --resume " + safetext.ShellWord(f.run)
	also := tellToo(made, FlagOverBudget)
	switch {
	case r.State == api.RunFinished:
		return f.nextFinished(r) + tellToo(made, FlagNothingChanged, FlagUnprotected, FlagUnchecked, FlagNotPublished)
	case r.State == api.RunEnding:
		return "call wait_run until the run is finished: it was cancelled or halted, and its agents end"
	case r.State == api.RunDry:
		return "call start_run with the same plan"
	case r.State == api.RunStopped && len(f.waiting) > 0:
		return "no box brings the run on: have one started with: signalbox up; then " + nextNeed(f.waiting[0], len(f.waiting))
	case r.State == api.RunStopped:
		return "no box brings the run on: have one started with: signalbox up; then call wait_run"
	case r.Distrust != "":
		return "show the person quoted_reason: somebody changed what agents follow. Do nothing else: only the person may go on, with: " + resume
	case r.State == api.RunPaused:
		return "the run is paused: ask the person whether it should go on; if so, they run: " + resume + "; then call wait_run"
	case len(f.waiting) > 0:
		return nextNeed(f.waiting[0], len(f.waiting)) + "; then call wait_run"
	case len(f.stalled) > 0:
		return "call wait_run once; if stalled is flagged again, tell the person that nothing is heard of the agent, and offer to retry " + f.stalledTask() + also
	case r.State == api.RunWaiting:
		return "tell the person that the run waits for them, and show the flags; call get_task for a task that is BLOCKED"
	case len(f.paused) > 0 && len(f.working) == 0:
		return "nothing can be done before " + clock(f.paused[0].Until) + ", when a provider's limit ends: tell the person, then call wait_run; the run goes on by itself" + also
	case r.State == api.RunRunning && f.trouble:
		return "nothing to decide: agents repair the environment that the checks run in; call wait_run" + also
	case r.State == api.RunRunning && len(f.failing) > 0:
		return "nothing to decide: what the gate sent back is worked on again; call wait_run" + also
	case r.State == api.RunRunning:
		return "nothing to decide: call wait_run, which returns when something has changed" + also
	}
	return "tell the person that the state is not known to this version, and call get_run again later"
}

// tellToo names the flags, of these, that a person should be told of besides.
func tellToo(made flags, names ...string) string {
	var told []string
	for _, f := range made {
		if slices.Contains(names, f.Name) {
			told = append(told, f.Name)
		}
	}
	if len(told) == 0 {
		return ""
	}
	return "; tell the person also what these flags say: " + strings.Join(told, ", ")
}

func (f *facts) stalledTask() string {
	if t := plain(f.stalled[0].Task, inID, maxID); t != "" {
		return t
	}
	return "its task"
}

// nextFinished says what to do about a run that has ended.
func (f *facts) nextFinished(r api.Run) string {
	where := "the work is on the run's branch"
	switch {
	case f.done == len(f.unchanged):
		where = "nothing was merged"
	case f.pr != "":
		where = "the work is in the pull request " + f.pr
	case f.branch != "":
		where = "the work is on branch " + f.branch
	}
	switch r.Outcome {
	case delivery.Completed:
		return "nothing to wait for: tell the person that all tasks are done; " + where
	case delivery.Partial:
		return fmt.Sprintf("nothing to wait for: tell the person that the run has ended and %s not done (left); %s; offer a new plan for what is left", verb(len(f.left), "task", "is", "are"), where)
	case delivery.Cancelled:
		return "nothing to wait for: tell the person that the run was cancelled; " + where
	case delivery.Halted:
		return "nothing to wait for: tell the person that the run was halted, and why (quoted_last_grave, quoted_trouble); " + where + "; once the cause is mended, start the plan again with start_run"
	}
	return "nothing to wait for: tell the person that the run has ended; " + where
}

// nextNeed says what to do about the first of what waits for a person.
func nextNeed(q api.Question, all int) string {
	oldest := ""
	if all > 1 {
		oldest = fmt.Sprintf(", the oldest of %d that wait (the others after it)", all)
	}
	command := commandOf(q)
	switch delivery.Part(kindOf(q)) {
	case delivery.PartReview:
		return "ask the person to review task " + id(q.Work) + oldest + ": get_diff shows its change; bring their verdict with review_task, or they run: " + command
	case delivery.PartTake:
		return "tell the person that they are to do task " + id(q.Work) + oldest + ": they begin with: " + command
	case delivery.PartGive:
		return "tell the person that they have taken task " + id(q.Work) + oldest + ": they hand it in with: " + command
	case api.KindQuestion:
		choices := ""
		if len(q.Choices) > 0 {
			choices = " and its choices"
		}
		return "quote question " + id(q.ID) + choices + " to the person" + oldest + "; bring their own answer with answer_question, or they run: " + command
	}
	return "show the person what waits for them" + oldest + ": they run: " + command
}

func (s RunSnapshot) inRoom(bytes int) RunSnapshot { s.room = bytes; return s }

// Capped is the snapshot as it is sent.
func (s RunSnapshot) Capped() RunSnapshot {
	cut := s.NeedsYou.keep(maxEntries)
	cut = s.AtWork.keep(maxEntries) || cut
	cut = s.Failing.keep(maxEntries) || cut
	cut = s.Unchanged.keep(maxEntries) || cut
	cut = s.Left.keep(maxEntries) || cut
	s.NeedsYou.First = slices.Clone(s.NeedsYou.First)
	s.Cut = s.Cut || cut
	length := func() int { return jsontext.Length(s) }
	steps := []step{
		down(&s.Unchanged, 1), down(&s.Left, 1), down(&s.AtWork, 2), down(&s.Failing, 2), down(&s.NeedsYou, 2), down(&s.AtWork, 1), down(&s.Failing, 1),
		shorter(&s.Notice, 60), shorter(&s.Exposed, 60), shorter(&s.Trouble, 100), shorter(&s.Reason, 100), down(&s.NeedsYou, 1),
		down(&s.AtWork, 0), down(&s.Failing, 0), down(&s.Unchanged, 0), down(&s.Left, 0),
		shorter(&s.Notice, 0), shorter(&s.Exposed, 0), shorter(&s.Title, 40),
	}
	if len(s.NeedsYou.First) > 0 {
		steps = append(steps, s.NeedsYou.First[0].steps()...)
	}
	steps = append(steps, emptied(&s.Waits), shorter(&s.Trouble, 0), shorter(&s.Reason, 0), down(&s.NeedsYou, 0), emptied(&s.Phases), shorter(&s.Title, 0))
	if fit(s.room, length, steps...) {
		s.Cut = true
	}
	return s
}

// steps make what waits for a person shorter.
func (n *Need) steps() []step {
	steps := []step{
		shorter(&n.Context, 80), shorter(&n.Context, 0), shorter(&n.Text, 200),
		func() bool {
			had := len(n.Choices) > 0
			n.Choices = nil
			return had
		},
		shorter(&n.Text, 80),
	}
	for i, take := range steps {
		steps[i] = func() bool {
			taken := take()
			n.Cut = n.Cut || taken
			return taken
		}
	}
	return steps
}

// emptied returns the step that drops counts.
func emptied(m *map[string]int) step {
	return func() bool {
		had := len(*m) > 0
		*m = map[string]int{}
		return had
	}
}
