package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/history"
	"github.com/signalbox-dev/signalbox/internal/picture"
	"github.com/signalbox-dev/signalbox/ledger"
)

// maxValues is how many rows the table beside a picture has.
const maxValues = 1000

// picturesView is a run besides its board: its plan as a graph, its timeline, or what it cost.
type picturesView struct {
	frame
	runRow
	View  string // plan, time or cost
	Plan  *planPicture
	Time  *timePicture
	Costs *costPicture
}

// planPicture is what a run's tasks wait for.
type planPicture struct {
	picture.Graph
	Chain []string // the first of the critical path
	Tasks []planRow
	Left  int // tasks that are not in the table
}

// maxChain is how many tasks of the critical path are named.
const maxChain = 20

// planRow is a task in the table.
type planRow struct {
	picture.Task
	Waiting string // for what it waits now, in words
}

// timePicture is what happened in a run and when.
type timePicture struct {
	picture.Timeline
	Entries []timeRow // the latest first
	Left    int       // that are not in the table
}

// timeRow is something that happened.
type timeRow struct {
	From, To        time.Time
	Took            string
	Task, What, How string
	Bad             bool
}

// costPicture is what a run cost by role and agent.
type costPicture struct {
	picture.Bars
	InUSD    bool // what the bars show; tokens if not
	Rows     []history.Cost
	Uncosted int
	Sum      delivery.Usage
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
		v.Plan = planOf(r)
	case "time":
		err = p.histories.of(a, r, func(h *history.Fold) { v.Time = timeOf(r, h.Entries(), h.Dropped(), p.o.Now()) })
	case "cost":
		err = p.histories.of(a, r, func(h *history.Fold) { v.Costs = costOf(h.Costs()) })
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

// planOf draws a run's plan.
func planOf(r api.Run) *planPicture {
	waiting := map[string]bool{}
	for _, q := range r.Questions {
		waiting[q.Task] = true
	}
	var tasks []picture.Task
	p := &planPicture{Left: max(0, len(r.Tasks)-maxValues)}
	for i, t := range r.Tasks {
		d := picture.Task{ID: t.ID, Title: t.Title, Href: "task?id=" + template.URLQueryEscaper(t.Work), Waits: t.BlockedBy}
		d.State, d.Look, d.Over = stateOf(t, waiting[t.ID])
		tasks = append(tasks, d)
		if i < maxValues {
			p.Tasks = append(p.Tasks, planRow{d, t.Waits})
		}
	}
	p.Graph = picture.Draw(tasks)
	p.Chain = p.Critical[:min(len(p.Critical), maxChain)]
	return p
}

// stateOf says how a task is, how that looks, and whether nothing is left to do.
func stateOf(t api.Task, asks bool) (words, look string, over bool) {
	switch {
	case t.Phase == agentsig.PhaseCompleted:
		return "completed", "good", true
	case t.Why == delivery.WaitCancelled:
		return "given up", "bad", true
	case asks:
		return "needs you", "warn", false
	case t.Agent != nil:
		return "at work: " + string(t.Agent.Role), "busy", false
	case t.Phase == agentsig.PhaseBlocked:
		return "blocked", "warn", false
	}
	return phaseWords(t.Phase), "", false
}

// timeOf lays out what happened in a run.
func timeOf(r api.Run, entries []history.Entry, dropped int, now time.Time) *timePicture {
	titles := map[string]string{}
	for _, t := range r.Tasks {
		titles[t.ID] = t.ID + " " + t.Title
	}
	to := r.FinishedAt
	if to.IsZero() {
		to = now
	}
	var all []picture.Stretch
	p := &timePicture{Left: dropped}
	for _, e := range entries {
		row := timeRow{From: e.Began, To: e.Ended, Task: e.Task, What: whatOf(e), How: e.How, Bad: e.Bad}
		if e.By != "" {
			row.How += " by " + e.By
		}
		end := e.Ended
		if end.IsZero() {
			end, row.How = to, "goes on"
		}
		s := picture.Stretch{
			Row: cmp.Or(titles[e.Task], e.Task, "The run"), From: e.Began, To: end, Look: lookOf(e),
			Moment: e.Kind == history.Gate || e.Kind == history.Merge,
		}
		if !s.Moment {
			row.Took = lasted(end.Sub(e.Began))
		}
		s.Title = row.What + ", " + row.How
		if row.Took != "" {
			s.Title += ", " + row.Took
		}
		all, p.Entries = append(all, s), append(p.Entries, row)
	}
	p.Timeline = picture.Lay(all, r.StartedAt, to)
	slices.Reverse(p.Entries)
	p.Left += max(0, len(p.Entries)-maxValues)
	p.Entries = p.Entries[:min(len(p.Entries), maxValues)]
	return p
}

// whatOf says what an entry is.
func whatOf(e history.Entry) string {
	switch e.Kind {
	case history.Question:
		return "question " + e.Agent
	case history.Pause:
		if e.Agent != "" {
			return "pause of " + e.Agent
		}
		return "pause"
	case history.Gate, history.Merge:
		return string(e.Kind)
	}
	if e.Role == "" {
		return e.Agent
	}
	return fmt.Sprintf("%s: %s", e.Role, e.Agent)
}

// lookOf is the class of what is drawn of an entry.
func lookOf(e history.Entry) string {
	switch {
	case e.Kind == history.Question:
		return "asks"
	case e.Kind == history.Pause:
		return "pause"
	case e.Kind != history.Session && e.Bad:
		return "fail"
	case e.Kind == history.Merge:
		return "merge"
	case e.Kind == history.Gate:
		return "pass"
	}
	switch e.Role {
	case agentsig.RoleDeveloper, agentsig.RoleCritic, agentsig.RoleAuditor:
		return string(e.Role)
	}
	return "helper"
}

// costOf draws what was used: dollars if anybody said them, or else tokens.
func costOf(rows []history.Cost) *costPicture {
	c := &costPicture{Rows: rows}
	for _, r := range rows {
		c.Uncosted += r.Uncosted
		c.Sum.Add(r.Usage)
	}
	c.InUSD = c.Sum.CostUSD > 0
	var amounts []picture.Amount
	for _, r := range rows {
		a := picture.Amount{Label: fmt.Sprintf("%s: %s", r.Role, r.Agent), Value: float64(r.Usage.Tokens()), Words: fmt.Sprintf("%d tokens", r.Usage.Tokens())}
		if c.InUSD {
			a.Value, a.Words = r.Usage.CostUSD, costWords(r.Usage.CostUSD, r.Uncosted)+" USD"
		}
		amounts = append(amounts, a)
	}
	c.Bars = picture.Measure(amounts)
	return c
}

// costWords say what was paid, as `signalbox stats` does.
func costWords(usd float64, uncosted int) string {
	switch {
	case usd <= 0:
		return "unknown"
	case uncosted > 0:
		return fmt.Sprintf("%.2f+", usd)
	}
	return fmt.Sprintf("%.2f", usd)
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
