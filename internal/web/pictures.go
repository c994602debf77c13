package web

import (
	"html/template"
	"net/http"
	"slices"
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
		v.Plan = runview.PlanOf(r, func(t api.Task) string { return "task?id=" + template.URLQueryEscaper(t.Work) })
	case "time":
		err = p.histories.of(a, r, func(h *history.Fold) { v.Time = runview.TimeOf(r, h, p.o.Now()) })
	case "cost":
		err = p.histories.of(a, r, func(h *history.Fold) { v.Costs = runview.CostOf(h) })
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

// histories hold what happened in the runs that were looked at last, so that only what is new is read.
type histories struct {
	mu  sync.Mutex
	all []*runHistory // the one that was looked at last is the last
}

// runHistory is what happened in a run up to an event.
type runHistory struct {
	run  string // its subject
	mu   sync.Mutex
	fold history.Fold
	upTo uint64
}

// maxHistories is how many runs' histories are held.
const maxHistories = 8

// of calls see with what happened in a run. What is new since the last time is asked for, with the rights of who asks.
func (h *histories) of(a asked, r api.Run, see func(*history.Fold)) error {
	one := h.one(r.Subject)
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

func (h *histories) one(run string) *runHistory {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := &runHistory{run: run}
	if at := slices.IndexFunc(h.all, func(x *runHistory) bool { return x.run == run }); at >= 0 {
		one = h.all[at]
		h.all = slices.Delete(h.all, at, at+1)
	} else if len(h.all) == maxHistories {
		h.all = slices.Delete(h.all, 0, 1)
	}
	h.all = append(h.all, one)
	return one
}
