package web

import (
	"net/http"
	"slices"
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
	Review   *reviewView // nil if it waits for none
	Card     cardView
	Changes  changesView
	Spoken   saidView
	Happened []happening // the latest first
	Earlier  int         // that are not shown
}

func (p *Page) task(w http.ResponseWriter, a asked) {
	name := a.URL.Query().Get("id")
	run, id, _ := strings.Cut(name, ".")
	v := taskView{frame: p.framed(a, name, "runs", topicOf(run)), Run: run}
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
	v.Title = name + ": " + r.Tasks[at].Title
	item, err := a.client.Work(a.Context(), v.Task.Work)
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	switch part := a.URL.Query().Get("part"); part {
	case "said":
		v.Card = p.card(a.Context(), a.client, item, r, v.Since, never)
		p.show(w, a.Request, http.StatusOK, "said-part", p.saidOf(a, v))
		return
	case "task":
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
	view := "task.html"
	if a.URL.Query().Get("part") == "task" {
		view = "task-part"
	}
	p.show(w, a.Request, http.StatusOK, view, v)
}

// fill finds what a task's view shows besides what was said.
func (p *Page) fill(a asked, v *taskView, item api.Work, r api.Run, when proving) error {
	was, err := p.pastOf(a.Context(), a.client, item.ID, v.Since)
	if err != nil {
		return err
	}
	v.Happened, v.Earlier = was.happened, was.count-len(was.happened)
	slices.Reverse(v.Happened)
	if slices.ContainsFunc(r.Questions, func(q api.Question) bool { return q.Kind == string(delivery.PartReview) && q.Task == v.Task.ID }) {
		v.Review = p.evidence(a, v.Task.Work)
	}
	v.Card = p.card(a.Context(), a.client, item, r, v.Since, when)
	v.Card.Again = v.Review != nil
	return nil
}

// saidOf finds what was said in the session that a request names, or in the last one.
func (p *Page) saidOf(a asked, v taskView) saidView {
	return p.said(v.Card.Card, v.Task.Work, topicOf(v.Run), a.URL.Query().Get("session"), v.Task.Over)
}
