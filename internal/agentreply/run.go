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
	Unchanged   List[string]   `json:"unchanged,omitzero"`          // tasks that were completed without a change
	Exposed     string         `json:"quoted_exposed,omitempty"`    // which verdicts could be forged
	Until       string         `json:"paused_until,omitempty"`      // when the first provider that is paused goes on
	Usage       Used           `json:"usage"`                       //
	Branch      string         `json:"branch"`                      // that work is merged to; empty if its name can't be written here
	PullRequest string         `json:"pull_request,omitempty"`      //
	Notice      string         `json:"quoted_last_grave,omitempty"` // the last that a person should have seen
}

// Need is what waits for a person.
type Need struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"` // question, review, take or give
	Run     string   `json:"run,omitempty"`
	Task    string   `json:"task,omitempty"`
	Role    string   `json:"role,omitempty"`
	Cause   string   `json:"cause,omitempty"`
	Minutes int      `json:"waiting_minutes"`
	Tool    string   `json:"tool,omitempty"` // that brings the person's word to the box
	Command string   `json:"command"`        // that does the same
	Text    string   `json:"quoted_text"`
	Context string   `json:"quoted_context,omitempty"`
	Choices []string `json:"quoted_choices,omitempty"`
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
	return respond(agentformat.StatusSuccess, runSnapshot(r, now), file)
}

// Done is the reply to a command: what it led to, in the caller's own words and with ids that were checked, and the run as it is now.
func Done(what string, r api.Run, now time.Time) agentformat.Response[RunSnapshot] {
	s := runSnapshot(r, now)
	s.Did = jsontext.Shorten(what, maxDid)
	s.flags = slices.Insert(s.flags, 0, agentformat.Flag{Name: FlagDone, Severity: kinds[FlagDone].Severity, Message: s.Did})
	return respond(agentformat.StatusSuccess, s, agentformat.File{})
}

func runSnapshot(r api.Run, now time.Time) RunSnapshot {
	var w words
	f := factsOf(r, now)
	s := RunSnapshot{
		Run: f.run, Sequence: r.Sequence, Title: w.quote(r.Title, maxTitle), State: word(string(r.State)), Done: f.done, Total: f.total, Phases: f.phases, Waits: f.waitsByWhy,
		Trouble: w.quote(r.Trouble, maxTrouble), Exposed: w.quote(strings.Join(r.Unprotected, "; "), maxTrouble),
		Usage: usedOf(r.Usage, r.Budget), Branch: f.branch, PullRequest: f.pr,
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
		s.Failing.First = append(s.Failing.First, Failing{id(t.ID), t.GateFailed, w.quote(t.Title, maxTitle)})
	}
	s.NeedsYou.Total, s.AtWork.Total, s.Failing.Total = len(f.waiting), len(f.working), len(f.failing)
	if len(f.paused) > 0 {
		s.Until = clock(f.paused[0].Until)
	}
	f.flagAll(r, &s.flags)
	f.flagState(r, &s.flags)
	s.Verdict = jsontext.Shorten(f.verdict(r), maxVerdict)
	s.Next = jsontext.Shorten(f.next(r), maxNext)
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

func needOf(w *words, q api.Question, now time.Time) Need {
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
	if q.Run != "" {
		n.Run = id(q.Run)
	}
	if t := firstOf(q.Work, q.Task); t != "" {
		n.Task = id(t)
	}
	if q.Role != "" {
		n.Role = word(string(q.Role))
	}
	if q.Cause != "" {
		n.Cause = word(string(q.Cause))
	}
	for _, c := range q.Choices[:min(len(q.Choices), maxChoices)] {
		n.Choices = append(n.Choices, w.quote(c, maxChoice))
	}
	w.cut = w.cut || len(q.Choices) > maxChoices
	return n
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
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
	v := Working{Role: word(string(a.Role)), Minutes: minutes(a.StartedAt, now), Away: a.Away, Says: w.quote(a.Says, maxSays)}
	if a.Task != "" {
		v.Task = id(a.Task)
	}
	v.Quiet = minutes(a.QuietFrom, now)
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
			to.add(FlagRunFinished, "all of %s done", counted(f.total, "task"))
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
	if n := len(f.working); n > 0 {
		parts = append(parts, counted(n, "agent")+" at work")
	}
	if n := len(f.questions); n > 0 {
		parts = append(parts, verb(n, "question", "waits", "wait")+" for a person")
	}
	if n := len(f.reviews); n > 0 {
		parts = append(parts, verb(n, "review or task", "waits", "wait")+" for a person")
	}
	if n := len(f.failing); n > 0 {
		parts = append(parts, counted(n, "task")+" failing at the gate")
	}
	if f.cancelled > 0 {
		parts = append(parts, counted(f.cancelled, "task")+" cancelled")
	}
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
func (f *facts) next(r api.Run) string {
	resume := "signalbox pause --resume " + safetext.ShellWord(f.run)
	if r.State == api.RunFinished {
		return f.nextFinished(r)
	}
	switch {
	case r.State == api.RunEnding:
		return "call wait_run until the run is finished: it was cancelled or halted, and its agents end"
	case r.State == api.RunDry:
		return "call start_run with the same plan"
	case r.State == api.RunStopped:
		return "have a box started with: signalbox up; it goes on with the run. Then call wait_run"
	case r.Distrust != "":
		return "show the person quoted_reason: somebody changed what agents follow. Only the person decides; to go on they run: " + resume
	case r.State == api.RunPaused:
		return "ask the person whether the run should go on; if so: " + resume + ", then call wait_run"
	case len(f.waiting) > 0:
		return nextNeed(f.waiting[0], len(f.waiting)) + "; then call wait_run"
	case len(f.stalled) > 0:
		return "call wait_run once; if stalled is flagged again, tell the person and offer to retry " + f.stalledTask()
	case r.State == api.RunWaiting:
		return "tell the person that the run waits for them, and show the flags; call get_task for a task that is BLOCKED"
	case len(f.paused) > 0 && len(f.working) == 0:
		return "nothing can be done before " + clock(f.paused[0].Until) + ": tell the person, then call wait_run"
	case r.State == api.RunRunning:
		return "nothing to decide: call wait_run, which returns when something has changed"
	}
	return "tell the person that the state is not known to this version, and call get_run again later"
}

func (f *facts) stalledTask() string {
	if t := plain(f.stalled[0].Task, inID, maxID); t != "" {
		return "task " + t
	}
	return "its task"
}

// nextFinished says what to do about a run that has ended.
func (f *facts) nextFinished(r api.Run) string {
	where := "the work is on the run's branch"
	switch {
	case f.pr != "":
		where = "the work is in the pull request " + f.pr
	case f.done == len(f.unchanged):
		where = "nothing was merged"
	case f.branch != "":
		where = "the work is on branch " + f.branch + " (get_diff shows a task's change)"
	}
	switch r.Outcome {
	case delivery.Completed:
		return "nothing to wait for: tell the person that it is finished; " + where
	case delivery.Partial:
		return fmt.Sprintf("nothing to wait for: tell the person that %s not done; %s; offer a new plan for what is left", verb(f.total-f.done, "task", "is", "are"), where)
	case delivery.Cancelled:
		return "nothing to wait for: tell the person that it was cancelled; " + where
	case delivery.Halted:
		return "nothing to wait for: tell the person that the run was halted, and why (quoted_trouble, quoted_last_grave, flags); " + where + "; when the cause is mended, call start_run again"
	}
	return "nothing to wait for: tell the person that it has ended; " + where
}

// nextNeed says what to do about the first of what waits for a person.
func nextNeed(q api.Question, all int) string {
	more := ""
	if all > 1 {
		more = fmt.Sprintf(" (the oldest of %d; the others after it)", all)
	}
	command := commandOf(q)
	switch delivery.Part(kindOf(q)) {
	case delivery.PartReview:
		return "ask the person to review task " + id(q.Work) + more + " (get_diff shows it); bring their verdict with review_task, or they run: " + command
	case delivery.PartTake:
		return "tell the person that they are to do task " + id(q.Work) + more + ": they run: " + command
	case delivery.PartGive:
		return "tell the person that they have taken task " + id(q.Work) + more + " and hand it in with: " + command
	case api.KindQuestion:
		return "ask the person question " + id(q.ID) + more + "; bring their answer with answer_question, or they run: " + command
	}
	return "show the person what waits for them" + more + ": they run: " + command
}

func (s RunSnapshot) inRoom(bytes int) RunSnapshot { s.room = bytes; return s }

// Capped is the snapshot as it is sent.
func (s RunSnapshot) Capped() RunSnapshot {
	cut := s.NeedsYou.keep(maxEntries)
	cut = s.AtWork.keep(maxEntries) || cut
	cut = s.Failing.keep(maxEntries) || cut
	cut = s.Unchanged.keep(maxEntries) || cut
	s.NeedsYou.First = slices.Clone(s.NeedsYou.First)
	s.Cut = s.Cut || cut
	length := func() int { return jsontext.Length(s) }
	steps := []step{
		down(&s.Unchanged, 1), down(&s.AtWork, 2), down(&s.Failing, 2), down(&s.NeedsYou, 2), down(&s.AtWork, 1), down(&s.Failing, 1),
		shorter(&s.Notice, 60), shorter(&s.Exposed, 60), shorter(&s.Trouble, 100), shorter(&s.Reason, 100), down(&s.NeedsYou, 1),
		down(&s.AtWork, 0), down(&s.Failing, 0), down(&s.Unchanged, 0),
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
	return []step{
		shorter(&n.Context, 80), shorter(&n.Context, 0), shorter(&n.Text, 200),
		func() bool {
			had := len(n.Choices) > 0
			n.Choices = nil
			return had
		},
		shorter(&n.Text, 80),
	}
}

// emptied returns the step that drops counts.
func emptied(m *map[string]int) step {
	return func() bool {
		had := len(*m) > 0
		*m = map[string]int{}
		return had
	}
}
