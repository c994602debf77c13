package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/ledger"
)

// maxHappened is how many of a task's events are shown, the last ones.
const maxHappened = 200

// taskView is a task: what was asked, claimed and found, what is to be reviewed, and what happened. Of the run it shows what the
// run's board has of it.
type taskView struct {
	frame
	Task     boardTask
	Run      string
	Plan     string // the run's title
	Handoff  api.Handoff
	Gate     string
	Review   *reviewView // nil if it waits for none
	Happened []happening // the latest first
	Earlier  int         // that are not shown
}

// happening is an event in words.
type happening struct {
	At   time.Time
	By   string
	Text string
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
	if err == nil {
		v.Handoff = item.Handoff
		v.Gate, err = gateWords(a.Context(), a.client, item.ID, item.Claim)
	}
	if err == nil {
		v.Happened, v.Earlier, err = happened(a, item.ID, id)
	}
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	if slices.ContainsFunc(r.Questions, func(q api.Question) bool { return q.Kind == string(delivery.PartReview) && q.Task == id }) {
		v.Review = p.evidence(a, v.Task.Work)
	}
	view := "task.html"
	if a.URL.Query().Get("part") == "task" {
		view = "task-part"
	}
	p.show(w, a.Request, http.StatusOK, view, v)
}

// happened returns the last events of a task in words, the latest first, and how many there are before.
func happened(a asked, name, id string) (all []happening, earlier int, err error) {
	err = a.client.Events(a.Context(), name, 0, false, func(stored api.Event) error {
		e, err := ledger.Decode(stored.Event)
		if err != nil {
			return err
		}
		words := strings.TrimPrefix(delivery.Words(e, func(string) string { return "" }), ": ")
		if words = strings.TrimPrefix(words, id+": "); words != "" {
			all = append(all, happening{e.Time, e.Actor, words})
		}
		return nil
	})
	earlier = max(0, len(all)-maxHappened)
	all = all[earlier:]
	slices.Reverse(all)
	return all, earlier, err
}
