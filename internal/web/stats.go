package web

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/picture"
	"github.com/signalbox-dev/signalbox/internal/stats"
	"github.com/signalbox-dev/signalbox/ledger"
)

// maxCounted is how many events are counted for one request. The next one goes on.
const maxCounted = 50_000

// counted is what the ledger says of agents, as far as it was read.
type counted struct {
	mu    sync.Mutex
	fold  stats.Fold
	table stats.Table
	upTo  uint64
}

// rows counts what is new, with the rights of who asks. It returns the rows, and the event up to which they are counted if there are more.
func (c *counted) rows(a asked) (rows []stats.Row, upTo uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range maxCounted / api.PageSize {
		next, err := a.client.EventsUpTo(a.Context(), "", c.upTo, api.PageSize, func(stored api.Event) error {
			e, err := ledger.Decode(stored.Event)
			if err == nil {
				err = c.fold.Next(e, func(f stats.Fact) { c.table.See(e.Time, f) })
			}
			if err != nil {
				return fmt.Errorf("event %d: %w", stored.Sequence, err)
			}
			c.upTo = stored.Sequence
			return nil
		})
		if err != nil || next == 0 {
			return c.table.Rows(), 0, err
		}
	}
	return c.table.Rows(), c.upTo, nil
}

// statsView is how agents do.
type statsView struct {
	frame
	Rows     []stats.Row
	UpTo     uint64 // the last event that is counted, if there are more
	Uncosted bool   // some sessions did not say what they cost
	Cost     picture.Bars
	Rework   picture.Bars
}

// stats answers with what `signalbox stats` prints.
func (p *Page) stats(w http.ResponseWriter, a asked) {
	v := statsView{frame: p.framed(a, "Agents", "stats", "")}
	var err error
	if v.Rows, v.UpTo, err = p.counted.rows(a); err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	var cost, rework []picture.Amount
	for _, r := range v.Rows {
		label := r.Agent + ", model " + r.Model
		v.Uncosted = v.Uncosted || r.Uncosted > 0
		c := picture.Amount{Label: label, Words: r.CostWords() + " USD"}
		if r.CostUSD != nil {
			c.Value = *r.CostUSD
		}
		cost = append(cost, c)
		back := picture.Amount{Label: label, Words: fmt.Sprintf("%d in %s", r.Rework, english.Count(int(r.Turns), "turn"))}
		if r.Turns > 0 {
			back.Value = float64(r.Rework) / float64(r.Turns)
		}
		rework = append(rework, back)
	}
	v.Cost, v.Rework = picture.Measure(cost), picture.Share(rework, 1)
	p.show(w, a.Request, http.StatusOK, "stats.html", v)
}
