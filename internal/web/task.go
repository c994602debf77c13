package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// taskView is a task: what was asked, claimed and found, what is to be reviewed, and what happened. Of the run it shows what the
// run's board has of it.
type taskView struct {
	frame
	Task     boardTask
	Run      string
	Plan     string      // the run's title
	Asked    []waiting   // questions about it that wait for an answer
	Review   *reviewView // nil if it waits for none
	Card     cardView
	Changes  changesView
	Spoken   saidView
	Happened []happening // the latest first
	Earlier  int         // that are not shown
}

func (p *Page) task(w http.ResponseWriter, a asked) {
	p.showTask(w, a, a.URL.Query().Get("id"), http.StatusOK, refused{})
}

// showTask shows a task, and why a form on it was refused if it was.
func (p *Page) showTask(w http.ResponseWriter, a asked, name string, status int, why refused) {
	run, id, _ := strings.Cut(name, ".")
	v := taskView{frame: p.framed(a, name, "runs", topicOf(run)), Run: run}
	if a.Method == http.MethodPost {
		v.Here = taskAddress(name)
	}
	r, err := a.client.Run(a.Context(), run)
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	at := slices.IndexFunc(r.Tasks, func(t api.Task) bool { return t.ID == id })
	if at < 0 {
		p.show(w, a.Request, http.StatusNotFound, "plain.html", plain{Title: "There is no such task", Text: []string{name + " is no task of a run"}, Back: true})
		return
	}
	v.Task, v.Plan = boardOf(r, r.Tasks[at], v.Steers), r.Title
	v.Title, v.Problem, v.Typed = name+": "+r.Tasks[at].Title, why.problem, why.typed
	item, err := a.client.Work(a.Context(), v.Task.Work)
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	part := a.URL.Query().Get("part")
	if a.Method == http.MethodPost {
		part = ""
	}
	view := "task.html"
	switch part {
	case "said":
		v.Card = p.card(a.Context(), a.client, item, r, v.Since, never)
		p.show(w, a.Request, status, "said-part", p.saidOf(a, v))
		return
	case "task":
		view = "task-part"
		err = p.fill(a, &v, item, r, gone)
	default:
		if err = p.fill(a, &v, item, r, atOnce); err == nil {
			v.Spoken = p.saidOf(a, v)
			v.Changes.Work = v.Task.Work
			if a.URL.Query().Get("show") == "changes" && v.Card.Problem == "" {
				v.Changes = p.changesOf(a.Context(), v.Task.Work, v.Card.work, r)
			}
		}
	}
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	v.keep(why)
	p.show(w, a.Request, status, view, v)
}

// keep puts what was typed into the form that it was typed in, if that is there still.
func (v *taskView) keep(why refused) {
	if v.Review != nil && why.review {
		v.Review.Typed, v.Typed = why.typed, ""
	}
	for i := range v.Asked {
		if v.Asked[i].ID == why.about {
			v.Asked[i].Typed, v.Typed = why.typed, ""
		}
	}
}

// fill finds what a task's view shows besides what was said.
func (p *Page) fill(a asked, v *taskView, item api.Work, r api.Run, when proving) error {
	was, err := p.pastOf(a.Context(), a.client, item, v.Since)
	if err != nil {
		return err
	}
	v.Happened, v.Earlier = was.happened, was.count-len(was.happened)
	slices.Reverse(v.Happened)
	for _, q := range r.Questions {
		q.Run = r.ID
		if q.Kind == string(delivery.PartReview) && q.Task == v.Task.ID {
			v.Review = p.evidence(a, q, v.Task.Work)
		} else if q.Asks() && q.Task == v.Task.ID {
			v.Asked = append(v.Asked, p.waitingOf(a, q, v.Task.Work))
		}
	}
	v.Card = p.card(a.Context(), a.client, item, r, v.Since, when)
	v.Card.Again = v.Review != nil
	return nil
}

// saidOf finds what was said in the session that a request names, or in the last one.
func (p *Page) saidOf(a asked, v taskView) saidView {
	session, before := a.URL.Query().Get("session"), int64(0)
	if at, err := strconv.ParseInt(a.URL.Query().Get("before"), 10, 64); err == nil && session != "" {
		before = max(0, at)
	}
	return p.said(v.Card.Card, v.Task.Work, topicOf(v.Run), session, before, v.Task.Over)
}
