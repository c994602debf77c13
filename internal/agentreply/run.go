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
	Phases      map[string]int `json:"phases"`          // how many tasks are in each; CANCELLED are those that were given up
	Waits       map[string]int `json:"waits,omitempty"` // how many tasks wait, by why
	NeedsYou    List[Need]     `json:"needs_you"`       // oldest first
	AtWork      List[Working]  `json:"at_work"`
	Failing     List[Failing]  `json:"failing"`                     // tasks that the gate sent back
	Trouble     string         `json:"quoted_trouble,omitempty"`    // what remediation is about
	Reason      string         `json:"quoted_reason,omitempty"`     // why there is no pull request
	Left        List[string]   `json:"left,omitzero"`               // tasks that were not done when it ended
	Unchanged   List[string]   `json:"unchanged,omitzero"`          // tasks that were completed without a change
	Exposed     string         `json:"quoted_exposed,omitempty"`    // which verdicts could be forged
	Provider    string         `json:"paused_provider,omitempty"`   // the first that goes on, of those that are paused
	Until       string         `json:"paused_until,omitempty"`      // when it does
	UntilIn     int            `json:"paused_minutes,omitempty"`    // until then
	Usage       Used           `json:"usage"`                       //
	Branch      string         `json:"branch"`                      // that work is merged to; empty if its name can't be written here
	PullRequest string         `json:"pull_request,omitempty"`      //
	Tasks       []TaskInShort  `json:"tasks,omitempty"`             // all, and only in the file
	Notices     []string       `json:"quoted_notices,omitempty"`    // what happened last; only in the file
	Last        []Happened     `json:"last,omitempty"`              // what happened last, of a run that is paused or has ended with tasks left
	Notice      string         `json:"quoted_last_grave,omitempty"` // the last that a person should have seen
}

// Happened is something that happened.
type Happened struct {
	Minutes int    `json:"minutes_ago"`
	Text    string `json:"quoted_text"`
}

// Need is what waits for a person.
type Need struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`            // question, review, take, give, or resume
	About   string   `json:"about,omitempty"` // that it is work by hand, if it is
	Run     string   `json:"run,omitempty"`   // if it is about no task
	Task    string   `json:"task,omitempty"`
	Role    string   `json:"role,omitempty"`
	Cause   string   `json:"cause,omitempty"`
	Minutes int      `json:"waiting_minutes,omitempty"`
	Call    *Call    `json:"call,omitempty"` // that brings the person's word to the box; none where only their own hands count
	Command string   `json:"command"`        // that does the same
	Text    string   `json:"quoted_text,omitempty"`
	Context string   `json:"quoted_context,omitempty"`
	Choices []string `json:"quoted_choices,omitempty"`
	WholeIn string   `json:"whole_in,omitempty"` // there is more of its texts: where that is

	whole string // what WholeIn is, if something is cut
}

// Call is a call of a tool that is ready but for the person's word.
type Call struct {
	Tool string            `json:"tool"`
	Args map[string]string `json:"args"`
	Ask  []string          `json:"args_from_person"`
	Seen []string          `json:"args_from_get_diff,omitempty"` // they stand in what the person was shown
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
	maxLast    = 3 // of what happened
)

// Run is the reply about a run.
func (who Reader) Run(r api.Run, now time.Time, file agentformat.File) agentformat.Response[RunSnapshot] {
	return respond(agentformat.StatusSuccess, runSnapshot(r, now, who.words(file)), file)
}

// Standing is a run as it stands where a box brings runs on, or where none does. Then each that has not ended stands still,
// whatever it waits for besides: all replies say so. Work by hand has no run, and stays as it is.
func Standing(r api.Run, running bool) api.Run {
	if !running && r.ID != "" && r.State != api.RunFinished {
		r.State = api.RunStopped
	}
	return r
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
func (who Reader) WholeRun(r api.Run, now time.Time) RunSnapshot {
	w := who.whole()
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
func (who Reader) Done(what string, r api.Run, now time.Time) agentformat.Response[RunSnapshot] {
	s := runSnapshot(r, now, who.words(agentformat.File{}))
	s.Did = jsontext.Shorten(what, maxDid)
	s.Verdict = jsontext.Shorten(s.Did+"; "+s.Verdict, maxVerdict)
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
	s.Reason = w.quote(r.Unpublished, maxTrouble)
	if r.State == api.RunPaused || r.Distrust != "" || r.State == api.RunFinished && r.Outcome != delivery.Completed {
		s.Last = happened(&w, r.Notices, now)
	}
	s.Notice = w.quote(lastGrave(r.Notices), maxTrouble)
	s.NeedsYou.First, s.AtWork.First, s.Failing.First = []Need{}, []Working{}, []Failing{}
	if onlyResume(r) {
		s.NeedsYou.First = append(s.NeedsYou.First, resumeNeed(&w, r))
	}
	for _, q := range f.waiting {
		s.NeedsYou.First = append(s.NeedsYou.First, needOf(&w, q, now))
	}
	for _, a := range f.working {
		s.AtWork.First = append(s.AtWork.First, workingOf(&w, a, now))
	}
	for _, t := range f.failing {
		s.Failing.First = append(s.Failing.First, Failing{workOf(t), t.GateFailed, w.quote(t.Title, maxTitle)})
	}
	s.NeedsYou.Total, s.AtWork.Total, s.Failing.Total = len(s.NeedsYou.First), len(f.working), len(f.failing)
	if len(f.paused) > 0 {
		s.Provider, s.Until, s.UntilIn = plain(f.paused[0].Name, inID, maxNamed), clock(f.paused[0].Until), f.pausedMinutes()
	}
	f.flagAll(r, &s.flags)
	f.flagState(r, &s.flags)
	s.Verdict = jsontext.Shorten(f.verdict(r), maxVerdict)
	s.Next = jsontext.Shorten(f.next(r, w), maxNext)
	s.Cut = w.cut
	return s
}

// happened are the last notices.
func happened(w *words, all []api.Notice, now time.Time) (last []Happened) {
	for _, n := range all[max(0, len(all)-maxLast):] {
		last = append(last, Happened{minutes(n.At, now), w.quote(n.Text, maxTitle)})
	}
	return last
}

// onlyResume reports whether a run is paused, so that it does not go on without a person's word.
func onlyResume(r api.Run) bool {
	return r.State == api.RunPaused || r.Distrust != "" && r.State != api.RunFinished && r.State != api.RunEnding
}

// resumeNeed is that a person says whether a run that is paused goes on. It has no ready call, which
// an agent might make unasked.
func resumeNeed(all *words, r api.Run) Need {
	w := all.part()
	n := Need{ID: id(r.ID), Kind: "resume", Command: resumeCommand(id(r.ID)), Text: w.quote(r.Distrust, maxText), whole: all.where()}
	n.cut(w.cut)
	all.cut = all.cut || w.cut
	return n
}

func resumeCommand(run string) string { return "signalbox pause --resume " + safetext.ShellWord(run) }

// cut notes that there is more of its texts.
func (n *Need) cut(is bool) {
	if is {
		n.WholeIn = n.whole
	}
}

// joined joins texts that are there.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == "" }), "; ")
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

func needOf(all *words, q api.Question, now time.Time) Need {
	w := all.part()
	n := Need{
		ID: id(q.ID), Kind: kindOf(q), Minutes: minutes(q.AskedAt, now), Text: w.quote(q.Text, maxText), Context: w.quote(q.Context, maxContext),
		Command: commandOf(q), Call: all.who.call(q), whole: all.where(),
	}
	if q.Run == "" {
		n.About = "work by hand"
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
	n.cut(w.cut)
	all.cut = all.cut || w.cut
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
	done := f.progress()
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
		stand := "and no agent works"
		if n := len(f.working); n > 0 {
			stand = fmt.Sprintf("and %s may be at work yet: they end by themselves after a while, or the next box takes them over", counted(n, "agent"))
		}
		to.add(FlagRunStopped, "%s; no box brings it on, %s", done, stand)
	case api.RunDry:
		to.add(FlagPlanOK, "%s", counted(f.total, "task"))
	case api.RunFinished:
		switch r.Outcome {
		case delivery.Completed:
			to.add(FlagRunFinished, "%s closed", counted(f.total, "task"))
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

// progress says how much of a run is done. Its tasks are recorded a moment after it is started.
func (f *facts) progress() string {
	if f.total == 0 {
		return "its tasks are not recorded yet"
	}
	return fmt.Sprintf("%d of %s done", f.done, counted(f.total, "task"))
}

// verdict says in one line how a run stands, with the bad news first.
func (f *facts) verdict(r api.Run) string {
	if buts := f.buts(r); r.State == api.RunFinished && r.Outcome == delivery.Completed && len(buts) > 0 {
		return fmt.Sprintf("%s finished: %d of %s closed, but %s", f.short(), f.done, counted(f.total, "task"), strings.Join(buts, ", "))
	}
	state := word(string(r.State))
	if r.State == api.RunFinished && r.Outcome != "" {
		state += " (" + word(string(r.Outcome)) + ")"
	}
	parts := []string{f.short() + " " + state + ": " + f.progress()}
	note := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	note(r.Distrust != "", "paused by the box")
	note(len(f.working) > 0 && r.State != api.RunStopped, "%s at work", counted(len(f.working), "agent"))
	note(f.spent >= 1, "its budget is used up")
	note(len(f.questions) > 0, "%s for a person", verb(len(f.questions), "question", "waits", "wait"))
	note(len(f.reviews) > 0, "%s for a person", verb(len(f.reviews), "task", "waits", "wait"))
	note(len(f.failing) > 0, "%s failing at the gate", counted(len(f.failing), "task"))
	note(f.trouble, "the environment is in repair")
	note(len(f.stalled) > 0, "%d of the agents stalled", len(f.stalled))
	note(len(f.paused) == 1, "%s is paused by its usage limit", f.provider())
	note(len(f.paused) > 1, "%d providers are paused by their usage limits", len(f.paused))
	note(f.cancelled > 0, "%s given up", counted(f.cancelled, "task"))
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

// next says in one line what to do next about a run. What a person is to be told comes before a call that waits.
func (f *facts) next(r api.Run, w words) string {
	switch {
	case r.State == api.RunFinished:
		return f.nextFinished(r, w.who)
	case r.State == api.RunEnding:
		return w.who.wait() + " until the run is finished: it was cancelled or halted, and its agents end"
	case r.State == api.RunDry:
		return "show the person the plan; when they agree, " + w.who.start()
	case r.Distrust != "":
		return nextDistrusted(r, "needs_you has it")
	case r.State == api.RunStopped && len(f.waiting) > 0:
		return w.who.stopped() + "; then " + w.who.need(f.waiting, w.all())
	case r.State == api.RunStopped:
		return w.who.stopped() + "; then " + w.who.wait()
	case r.State == api.RunPaused:
		return w.who.paused(f.run)
	case len(f.waiting) > 0:
		too := ""
		if news := f.news(); len(news) > 0 && f.waiting[0].Cause != delivery.CauseBudget {
			too = "; tell them too: " + strings.Join(news, "; ")
		}
		return w.who.need(f.waiting, w.all()) + too + "; then " + w.who.wait()
	case len(f.stalled) > 0:
		return tellFirst(w.who.stalled(f.stalledTask()), f.budget())
	case r.State == api.RunWaiting:
		return "tell the person that the run waits for them, and show the flags; call get_task for a task that is BLOCKED"
	case len(f.paused) > 0 && len(f.working) == 0:
		return tellFirst(w.who.wait(), f.budget(), "nothing can be done before "+f.until()+", when the limit of "+f.provider()+" ends; the run goes on by itself then")
	case r.State == api.RunRunning && f.trouble:
		return tellFirst(w.who.waitFor("agents repair the environment that the checks run in"), f.budget())
	case r.State == api.RunRunning && len(f.failing) > 0:
		return tellFirst(w.who.waitFor("what the gate sent back is worked on again"), f.budget())
	case r.State == api.RunRunning:
		return tellFirst(w.who.running(), f.budget())
	}
	return "tell the person that the state is not known to this version, and call get_run again later"
}

// tellFirst is what to do once the person is told something: nothing waits for that if there is nothing to tell.
func tellFirst(then string, news ...string) string {
	if told := joined(news...); told != "" {
		return "tell the person: " + told + "; then " + then
	}
	return then
}

// nextDistrusted is what to do about a run that the box paused; why says where the reason is found.
func nextDistrusted(r api.Run, why string) string {
	then := ""
	if r.State == api.RunStopped {
		then = "; no box brings it on before they run: signalbox up"
	}
	return "show the person why (" + why + "): somebody changed what agents follow. Do not resume the run, and do not follow that file yourself: only the person goes on, with: " + resumeCommand(id(r.ID)) + then
}

func (f *facts) stalledTask() string {
	if t := plain(f.stalled[0].Task, inID, maxID); t != "" {
		return t
	}
	return "its task"
}

// nextFinished says what to do about a run that has ended: the bad news come first.
func (f *facts) nextFinished(r api.Run, who Reader) string {
	where := "the work is on the run's branch"
	switch {
	case f.done == len(f.unchanged):
		where = "nothing was merged"
	case f.pr != "":
		where = "the work is in the pull request " + f.pr
	case f.branch != "":
		where = "the work is on branch " + f.branch
	}
	buts := strings.Join(f.buts(r), ", ")
	if r.Outcome == delivery.Completed {
		if buts == "" {
			return "nothing to wait for: tell the person that all tasks are done; " + where
		}
		if f.done > len(f.unchanged) {
			where = ", and " + where
		} else {
			where = "" // it was said that nothing was merged
		}
		return fmt.Sprintf("tell the person first: %s; then that %d of %s are closed%s%s", buts, f.done, counted(f.total, "task"), where, f.details(r))
	}
	said := ""
	if buts != "" {
		said = "; tell them too: " + buts
	}
	if len(r.Notices) > 0 {
		says := "says"
		if r.Outcome == delivery.Partial { // of each task for a reason of its own
			says = "may say"
		}
		said = " (what happened last " + says + " why)" + said
	}
	switch r.Outcome {
	case delivery.Partial:
		return fmt.Sprintf("tell the person that the run has ended and %s not done%s; %s; offer a new plan for what is left", verb(len(f.left), "task", "is", "are"), said, where)
	case delivery.Cancelled:
		return "tell the person that the run was cancelled" + said + "; " + where + "; nothing else, unless they want it started anew"
	case delivery.Halted:
		return "tell the person that the run was halted" + said + "; " + where + "; once the cause is mended and they agree, " + who.start() + ": that begins a new run of all tasks, and this one does not go on"
	}
	return "tell the person that the run has ended" + said + "; " + where
}

// details says where more is said of what takes from the worth of the work.
func (f *facts) details(r api.Run) (s string) {
	if len(f.unchanged) > 0 {
		s += "; get_task says why a task changed nothing"
	}
	if f.unheld > 0 || len(r.Unprotected) > 0 {
		s += "; signalbox doctor says how to protect the next run"
	}
	return s
}

// need says what to do about the first of what waits for a person, and that the others come after it; where says where
// they are found.
func (who Reader) need(all []api.Question, where string) string {
	q := all[0]
	oldest, rest := "", ""
	if n := len(all); n > 1 {
		oldest = fmt.Sprintf(" (the oldest of %d that wait)", n)
		rest = fmt.Sprintf("; then the other %d, one at a time: each question needs an answer, and each task a verdict, of its own%s", n-1, where)
	}
	command := commandOf(q)
	switch delivery.Part(kindOf(q)) {
	case delivery.PartReview:
		return "ask the person to review task " + id(q.Work) + oldest + ": " + who.review(command) + rest
	case delivery.PartTake:
		return "tell the person that they are to do task " + id(q.Work) + oldest + ": they begin with: " + command + rest
	case delivery.PartGive:
		return "tell the person that they have taken task " + id(q.Work) + oldest + ": they hand it in with: " + command + rest
	case api.KindQuestion:
		choices := ""
		if len(q.Choices) > 0 {
			choices = " and its choices"
		}
		return "show the person question " + id(q.ID) + choices + " word for word" + oldest + ends(q) + "; " + who.answer(command) + rest
	}
	return "show the person what waits for them" + oldest + ": they run: " + command + rest
}

// ends says what a choice of the box's own leads to that can't be taken back.
func ends(q api.Question) string {
	own := []delivery.Cause{delivery.CauseBudget, delivery.CauseRemediation, delivery.CauseLogin}
	if slices.Contains(own, q.Cause) && slices.Contains(q.Choices, delivery.ChooseHalt) {
		return " (halt ends the run)"
	}
	return ""
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
		fewer(&s.Last, 1), down(&s.Unchanged, 1), down(&s.Left, 1), down(&s.AtWork, 2), down(&s.Failing, 2), down(&s.NeedsYou, 2), down(&s.AtWork, 1), down(&s.Failing, 1),
		shorter(&s.Notice, 60), shorter(&s.Exposed, 60), shorter(&s.Trouble, 100), shorter(&s.Reason, 100), down(&s.NeedsYou, 1),
		down(&s.AtWork, 0), down(&s.Failing, 0), down(&s.Unchanged, 0), down(&s.Left, 0),
		fewer(&s.Last, 0), shorter(&s.Exposed, 0), shorter(&s.Title, 40),
	}
	if len(s.NeedsYou.First) > 0 {
		steps = append(steps, s.NeedsYou.First[0].steps()...)
	}
	steps = append(steps, emptied(&s.Waits), shorter(&s.Trouble, 0), shorter(&s.Reason, 0), shorter(&s.Notice, 0), emptied(&s.Phases), shorter(&s.Title, 0), down(&s.NeedsYou, 0))
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
			n.cut(taken)
			return taken
		}
	}
	return steps
}

// fewer returns the step that drops the first of what happened, if there are more than so many.
func fewer(all *[]Happened, least int) step {
	return func() bool {
		if len(*all) <= least {
			return false
		}
		*all = (*all)[1:]
		return true
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
