package web

import (
	"html/template"
	"net/http"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/history"
	"github.com/signalbox-dev/signalbox/internal/runview"
	"github.com/signalbox-dev/signalbox/ledger"
)

// picturesView is a run besides its board: its plan as a graph, its timeline, or what it cost.
type picturesView struct {
	frame
	runRow
	View  string // plan, time or cost
	Plan  *runview.Plan
	Time  *runview.Time
	Costs *runview.Cost
}

// viewsOfRun are the views of a run besides its board.
var viewsOfRun = []string{"plan", "time", "cost"}

// showPictures answers with a view of a run besides its board.
func (p *Page) showPictures(w http.ResponseWriter, a asked, f frame, r api.Run, view string) {
	v := picturesView{frame: f, runRow: p.row(r), View: view}
	v.Title = r.ID + ": " + r.Title
	var err error
	switch view {
	case "plan":
		v.Plan = runview.PlanOf(r, hrefOf)
	case "time":
		err = p.historyOf(a, r, func(h *history.Fold) { v.Time = runview.TimeOf(r, h, p.o.Now()) })
	case "cost":
		err = p.historyOf(a, r, func(h *history.Fold) { v.Costs = runview.CostOf(r, h, hrefOf) })
	}
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	name := "pictures.html"
	if a.URL.Query().Get("part") == "pictures" {
		name = "pictures-part"
	}
	p.show(w, a.Request, http.StatusOK, name, v)
}

// hrefOf is where more of a task is.
func hrefOf(t api.Task) string { return "task?id=" + template.URLQueryEscaper(t.Work) }

// runHistory is what happened in a run up to an event.
type runHistory struct {
	mu   sync.Mutex
	fold history.Fold
	upTo uint64
}

// maxHistories is for how many runs that is kept.
const maxHistories = 8

// historyOf calls see with what happened in a run. What is new since the last time is asked for, with the rights of who asks.
func (p *Page) historyOf(a asked, r api.Run, see func(*history.Fold)) error {
	one := p.histories.of(r.Subject, maxHistories, func() *runHistory { return &runHistory{} })
	one.mu.Lock()
	defer one.mu.Unlock()
	for {
		next, err := a.client.RunEvents(a.Context(), r.ID, one.upTo, api.PageSize, func(stored api.Event) error {
			e, err := ledger.Decode(stored.Event)
			if err == nil {
				err = one.fold.Next(stored.Sequence, e)
			}
			if err == nil {
				one.upTo = stored.Sequence
			}
			return err
		})
		if err != nil {
			return err
		}
		if next == 0 {
			see(&one.fold)
			return nil
		}
	}
}
