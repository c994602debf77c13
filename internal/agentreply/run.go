package agentreply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
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
		to.add(FlagRunRunning, "%s, %s at work", done, english.Count(len(f.working), "agent"))
	case api.RunWaiting:
		to.add(FlagRunWaiting, "%s; only a person can bring it on", done)
	case api.RunPaused:
		to.add(FlagRunPaused, "%s; no agent is started", done)
	case api.RunEnding:
		to.add(FlagRunEnding, "%s; %s to end", done, verb(len(f.working), "agent", "has", "have"))
	case api.RunStopped:
		stand := "and no agent works"
		if n := len(f.working); n > 0 {
			stand = fmt.Sprintf("and %s may be at work yet: they end by themselves after a while, or the next box takes them over", english.Count(n, "agent"))
		}
		to.add(FlagRunStopped, "%s; no box brings it on, %s", done, stand)
	case api.RunDry:
		to.add(FlagPlanOK, "%s", english.Count(f.total, "task"))
	case api.RunFinished:
		switch r.Outcome {
		case delivery.Completed:
			to.add(FlagRunFinished, "%s closed", english.Count(f.total, "task"))
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
	if s.fit(length, steps...) {
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
