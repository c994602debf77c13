package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/runview"
)

// maxRuns is how many runs are on one page.
const maxRuns = 50

// runsView is the box's runs.
type runsView struct {
	frame
	Live []runRow // that have not ended
	Over []runRow // the others, of this page
	Next string   // where the list goes on; empty at its end
	More bool     // it is not the first page
}

// runRow is a run in a few words.
type runRow struct {
	api.Run
	Done int // tasks that are completed
	took time.Duration
}

func (p *Page) row(r api.Run) runRow {
	row := runRow{Run: r, took: p.o.Now().Sub(r.StartedAt)}
	if !r.FinishedAt.IsZero() {
		row.took = r.FinishedAt.Sub(r.StartedAt)
	}
	for _, t := range r.Tasks {
		if t.Phase == agentsig.PhaseCompleted {
			row.Done++
		}
	}
	return row
}

// Took says for how long it has gone on, or went on.
func (r runRow) Took() string { return runview.Lasted(r.took) }

// Word is the state in which a run is, or how it ended.
func (r runRow) Word() string { return cmp.Or(string(r.Outcome), string(r.State)) }

// Look is how the word looks.
func (r runRow) Look() string {
	switch {
	case r.State == api.RunWaiting || r.State == api.RunPaused || r.State == api.RunStopped:
		return "warn"
	case r.Outcome == delivery.Completed:
		return "good"
	case r.Outcome != "":
		return "bad"
	}
	return ""
}

// Over reports whether it has ended.
func (r runRow) Over() bool { return r.State == api.RunFinished }

func (p *Page) runs(w http.ResponseWriter, a asked) {
	v := runsView{frame: p.framed(a, "Runs", "runs", topicRuns)}
	after := a.URL.Query().Get("after")
	live, err := a.client.Runs(a.Context(), true, api.From{Limit: api.PageSize})
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	all, err := a.client.Runs(a.Context(), false, api.From{After: after, Limit: maxRuns})
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	v.Next, v.More = all.Next, after != ""
	for _, r := range live.Items {
		v.Live = append(v.Live, p.row(r))
	}
	for _, r := range all.Items {
		if r.State == api.RunFinished {
			v.Over = append(v.Over, p.row(r))
		}
	}
	slices.Reverse(v.Live)
	slices.Reverse(v.Over)
	name := "runs.html"
	if a.URL.Query().Get("part") == "runs" {
		name = "runs-list"
	}
	p.show(w, a.Request, http.StatusOK, name, v)
}

// runView is a run: what needs a person first, then its tasks by phase.
type runView struct {
	frame
	runRow
	Board   []column
	View    string       // none: the board
	Notices []api.Notice // what happened last, the latest first
	Pauses  bool         // it can be paused
	Resumes bool
}

// column is the tasks that are in one phase, or that need a person.
type column struct {
	Title string
	Needs bool
	Done  bool // nothing is left to do
	Tasks []boardTask
}

// boardTask is a task on the board.
type boardTask struct {
	api.Task
	Steers bool
	Over   bool // it is completed or given up
	Taken  bool // a person works on it, and nobody else does
}

func boardOf(r api.Run, t api.Task, steers bool) boardTask {
	given := func(q api.Question) bool { return q.Kind == string(delivery.PartGive) && q.Task == t.ID }
	return boardTask{
		t, steers && r.State != api.RunFinished, t.Phase == agentsig.PhaseCompleted || t.Why == delivery.WaitCancelled,
		t.Why == delivery.WaitPerson && slices.ContainsFunc(r.Questions, given),
	}
}

// GaveUp reports whether it was given up.
func (t boardTask) GaveUp() bool { return t.Over && t.Phase != agentsig.PhaseCompleted }

// columns put a run's tasks in order: those that wait for a person, those of each phase, those that were given up.
func columns(r api.Run, steers bool) (all []column) {
	asked := map[string]bool{}
	for _, q := range r.Questions {
		asked[q.Task] = q.Task != ""
	}
	needs, dropped := column{Title: "Needs you", Needs: true}, column{Title: "Given up", Done: true}
	phases := map[agentsig.Phase]*column{}
	for _, phase := range agentsig.Phases() {
		phases[phase] = &column{Title: runview.PhaseWords(phase), Done: phase == agentsig.PhaseCompleted}
	}
	for _, t := range r.Tasks {
		task := boardOf(r, t, steers)
		switch in := phases[t.Phase]; {
		case asked[t.ID]:
			needs.Tasks = append(needs.Tasks, task)
		case t.Why == delivery.WaitCancelled || in == nil:
			dropped.Tasks = append(dropped.Tasks, task)
		default:
			in.Tasks = append(in.Tasks, task)
		}
	}
	all = append(all, needs)
	for _, phase := range agentsig.Phases() {
		all = append(all, *phases[phase])
	}
	return slices.DeleteFunc(append(all, dropped), func(c column) bool { return len(c.Tasks) == 0 })
}

func (p *Page) run(w http.ResponseWriter, a asked) {
	p.showRun(w, a, a.URL.Query().Get("id"), http.StatusOK, refused{})
}

func (p *Page) showRun(w http.ResponseWriter, a asked, id string, status int, why refused) {
	f := p.framed(a, id, "runs", topicOf(id))
	if a.Method == http.MethodPost {
		f.Here = "run?id=" + template.URLQueryEscaper(id)
	}
	r, err := a.client.Run(a.Context(), id)
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	if view := a.URL.Query().Get("view"); a.Method == http.MethodGet && slices.Contains(viewsOfRun, view) {
		p.showPictures(w, a, f, r, view)
		return
	}
	v := runView{frame: f, runRow: p.row(r), Board: columns(r, f.Steers), Notices: slices.Clone(r.Notices)}
	slices.Reverse(v.Notices)
	v.Title, v.Problem, v.Typed = r.ID+": "+r.Title, why.problem, why.typed
	v.Pauses, v.Resumes = r.State == api.RunRunning || r.State == api.RunWaiting, r.State == api.RunPaused
	name := "run.html"
	if part := a.URL.Query().Get("part"); a.Method == http.MethodGet && (part == "run" || part == "steer" || part == "notices") {
		name = part + "-part"
	}
	p.show(w, a.Request, status, name, v)
}

// topicOf is the topic of a run. What is no name of one is the topic of nothing.
func topicOf(id string) string {
	if strings.ContainsAny(id, " \t\n") {
		return ""
	}
	return id
}

// steer carries out a word on a run that a form names: pause, resume or cancel.
func (p *Page) steer(w http.ResponseWriter, a asked) {
	id, text := a.PostForm.Get("run"), strings.TrimSpace(a.PostForm.Get("text"))
	do := map[string]func() (api.Run, error){
		"pause":  func() (api.Run, error) { return a.client.PauseRun(a.Context(), id, api.Message{Text: text}) },
		"resume": func() (api.Run, error) { return a.client.ResumeRun(a.Context(), id, api.Message{Text: text}) },
		"cancel": func() (api.Run, error) { return a.client.CancelRun(a.Context(), id, api.Message{Text: text}) },
	}[a.PostForm.Get("do")]
	p.carry(w, a, carried{id, "run?id=" + template.URLQueryEscaper(id), text, a.PostForm.Get("do"), do}, func(status int, why refused) { p.showRun(w, a, id, status, why) })
}

// onTask carries out a word on a task that a form names: tell, retry, cancel, take or give it back. The task's view is shown then.
func (p *Page) onTask(w http.ResponseWriter, a asked) {
	work, text := a.PostForm.Get("work"), strings.TrimSpace(a.PostForm.Get("text"))
	verb := a.PostForm.Get("do")
	if verb == "take" && a.may(access.ToOperate) {
		p.take(w, a, work, text)
		return
	}
	do := map[string]func() (api.Run, error){
		"tell": func() (api.Run, error) {
			_, err := a.client.Tell(a.Context(), work, api.Message{Text: text})
			return api.Run{}, err
		},
		"retry":  func() (api.Run, error) { return a.client.RetryTask(a.Context(), work, api.Message{Text: text}) },
		"cancel": func() (api.Run, error) { return a.client.CancelTask(a.Context(), work, api.Message{Text: text}) },
		"give":   func() (api.Run, error) { return a.client.Give(a.Context(), work, api.Give{Back: true, Text: text}) },
	}[verb]
	if verb == "cancel" {
		verb = "gaveup"
	}
	p.carry(w, a, carried{work, taskAddress(work), text, verb, do}, func(status int, why refused) { p.showTask(w, a, work, status, why) })
}

// carried is a word on a run or a task.
type carried struct {
	what string // the run or the task
	to   string // where it is shown
	text string
	verb string
	do   func() (api.Run, error) // nil if there is no such word
}

// carry carries out a word, and shows what it is about then. What was typed is kept if it was refused.
func (p *Page) carry(w http.ResponseWriter, a asked, c carried, show func(int, refused)) {
	switch {
	case !a.may(access.ToOperate):
		show(http.StatusForbidden, refuses(c.what, scopeNeeded(access.Operate), c.text))
		return
	case c.do == nil:
		show(http.StatusBadRequest, refuses(c.what, "the form does not say what to do", c.text))
		return
	}
	if _, err := c.do(); err != nil {
		show(statusOf(err), refuses(c.what, err.Error(), c.text))
		return
	}
	done(w, a.Request, c.to, c.verb, c.what)
}

// used is what was used, rounded, and as it was said.
type used struct{ Words, Exact string }

// usageOf says what was used; nothing if nobody has said it.
func usageOf(u delivery.Usage) *used {
	if u.Tokens() == 0 && u.CostUSD == 0 {
		return nil
	}
	w := &used{runview.TokenWords(u.Tokens()), fmt.Sprintf("%d tokens in, %d out", u.InputTokens, u.OutputTokens)}
	if u.CostUSD > 0 {
		w.Words += fmt.Sprintf(", %.2f USD", u.CostUSD)
	}
	return w
}
