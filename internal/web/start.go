package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"html/template"
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/safetext"
)

// maxPlanForm is how long the form with a plan may be, in bytes: what is not of Latin letters is sent with three bytes for one.
const maxPlanForm = 4 * api.MaxPlan

// maxStepRows is how many tasks of a plan are listed before it is started.
const maxStepRows = 200

// startView is the form in which a plan is pasted, and what is said of it.
type startView struct {
	frame
	Plan  string      // as it was pasted
	Wrong []wrongLine // what is wrong with it
	More  int         // what else is, and is not listed
	Would *wouldView  // what would be started
}

// wrongLine is what is wrong with a line of a plan.
type wrongLine struct {
	Line int    // from 1; 0 if it is about the plan as a whole
	Has  string // the line
	Text string
}

// wouldView is the run that a plan would be.
type wouldView struct {
	api.Run
	Digest string // of the plan's text: what is started is what was looked at
	Steps  int    // in which its tasks can be started
	Rows   []stepRow
	Left   int          // tasks that are not listed
	Own    []plan.Check // that the plan adds, which run commands
}

// stepRow is a task that would be started in a step.
type stepRow struct {
	api.Task
	Step int
}

// Begins says who begins with it; empty if it waits.
func (r stepRow) Begins() string {
	switch {
	case r.Agent != nil:
		return string(r.Agent.Role) + ": " + r.Agent.Name
	case r.Why == delivery.WaitPerson:
		return "you take it"
	}
	return ""
}

// Unsafe says what of the run would not be protected; empty if all is.
func (v wouldView) Unsafe() string { return delivery.NotProtected(v.Unprotected) }

// wouldOf is what a dry run says of a plan.
func wouldOf(p plan.Plan, r api.Run, digest string) *wouldView {
	v := &wouldView{Run: r, Digest: digest, Own: p.Checks, Left: max(0, len(r.Tasks)-maxStepRows)}
	tasks := map[string]api.Task{}
	for _, t := range r.Tasks {
		tasks[t.ID] = t
	}
	for n, wave := range p.Waves() {
		v.Steps = n + 1
		for _, t := range wave {
			if task, ok := tasks[t.ID]; ok && len(v.Rows) < maxStepRows {
				v.Rows = append(v.Rows, stepRow{task, n + 1})
			}
		}
	}
	return v
}

// wrongWith says what is wrong with a plan, by the lines that it is pasted with.
func (v *startView) wrongWith(err error) {
	var all *plan.Errors
	if !errors.As(err, &all) {
		v.Wrong = []wrongLine{{Text: err.Error()}}
		return
	}
	lines := strings.Split(v.Plan, "\n")
	for _, e := range all.List {
		wrong := wrongLine{Line: e.Line, Text: e.Text}
		if e.Line > 0 && e.Line <= len(lines) {
			wrong.Has = safetext.Cut(strings.TrimSpace(lines[e.Line-1]), 120)
		}
		v.Wrong = append(v.Wrong, wrong)
	}
	v.More = all.More
}

// startForm answers with the form alone.
func (p *Page) startForm(w http.ResponseWriter, a asked) {
	p.show(w, a.Request, http.StatusOK, "start.html", startView{frame: p.framed(a, "Start a run", "runs", "")})
}

// start says what a plan would be that a form has, or starts it: the one that was looked at, and no other.
func (p *Page) start(w http.ResponseWriter, a asked) {
	v := startView{frame: p.framed(a, "Start a run", "runs", ""), Plan: strings.ReplaceAll(a.PostForm.Get("plan"), "\r\n", "\n")}
	refuse := func(status int, problem string) {
		v.Problem = problem
		p.show(w, a.Request, status, "start.html", v)
	}
	switch {
	case !a.may(access.ToOperate):
		refuse(http.StatusForbidden, scopeNeeded(access.Operate))
		return
	case strings.TrimSpace(v.Plan) == "":
		refuse(http.StatusBadRequest, "paste a plan")
		return
	}
	parsed, err := plan.Parse([]byte(v.Plan))
	if err == nil {
		err = delivery.CheckSize(len(parsed.Tasks))
	}
	if err != nil {
		v.wrongWith(err)
		refuse(http.StatusBadRequest, "")
		return
	}
	would, err := a.client.Deliver(a.Context(), api.StartRun{Plan: v.Plan, DryRun: true})
	if err != nil {
		refuse(statusOf(err), err.Error())
		return
	}
	sum := sha256.Sum256([]byte(v.Plan))
	v.Would = wouldOf(parsed, would, hex.EncodeToString(sum[:]))
	switch {
	case a.PostForm.Get("do") != "start":
		refuse(http.StatusOK, "")
		return
	case a.PostForm.Get("checked") != v.Would.Digest:
		refuse(http.StatusConflict, "the plan was changed since you looked at what it would be: look at it now, and start it then. Nothing was started.")
		return
	}
	r, err := a.client.Deliver(a.Context(), api.StartRun{Plan: v.Plan})
	if err != nil {
		refuse(statusOf(err), err.Error())
		return
	}
	done(w, a.Request, "run?id="+template.URLQueryEscaper(r.ID), "start", r.ID)
}
