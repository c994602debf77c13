package stats

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// UnknownModel is the model of agents whose programs do not tell it.
const UnknownModel = "unknown"

// Rest is the agent and the model of a table's last row, if there are more than it can have.
const Rest = "other"

// maxRows is how many rows a table has, besides the rest.
const maxRows = 1000

// Row is what is counted of an agent with a model.
type Row struct {
	Agent       string `json:"agent"`
	Model       string `json:"model"`
	Turns       int64  `json:"turns"`
	NearMisses  int64  `json:"near_misses"`
	FalseClaims int64  `json:"false_claims"`
	Rework      int64  `json:"rework"`
	// CostUSD is what the agents' programs say that it cost; null if none did.
	CostUSD *float64 `json:"cost_usd"`
	// Uncosted is how many sessions are not in it: their programs did not say.
	Uncosted int64 `json:"sessions_without_cost"`
}

// CostWords say what was paid: a + says that some sessions are not in it.
func (r Row) CostWords() string {
	switch {
	case r.CostUSD == nil:
		return "unknown"
	case r.Uncosted > 0:
		return fmt.Sprintf("%.2f+", *r.CostUSD)
	}
	return fmt.Sprintf("%.2f", *r.CostUSD)
}

// Table counts facts by agent and model. The zero Table counts all.
type Table struct {
	Run   string    // its subject: facts of others are not counted; empty for all
	Since time.Time // facts before it are not counted

	rows map[[2]string]*tally
	open map[string]*tally // of sessions whose model is not known yet
}

// tally is what is counted in a row, or of a session.
type tally struct {
	Row
	used delivery.Usage
}

// See counts a fact that an event of this time says.
func (t *Table) See(at time.Time, fact Fact) {
	of, ok := fact.(agents)
	if !ok {
		return
	}
	by := of.by()
	if t.Run != "" && t.Run != by.Run {
		return
	}
	if t.rows == nil {
		t.rows, t.open = map[[2]string]*tally{}, map[string]*tally{}
	}
	counts := !at.Before(t.Since)
	if o, ok := fact.(Over); ok {
		t.close(o, counts)
		return
	}
	if !counts {
		return
	}
	n := t.of(by)
	switch f := fact.(type) {
	case Turn:
		n.Turns++
	case NearMiss:
		n.NearMisses++
	case FalseClaim:
		n.FalseClaims++
	case Rework:
		n.Rework++
	case Spent:
		n.used.Add(f.Usage)
	}
}

// of returns where a fact counts: with its session, until that is over.
func (t *Table) of(by By) *tally {
	if by.Over {
		return t.row(by.Agent, by.Model)
	}
	n := t.open[by.Session]
	if n == nil {
		n = &tally{Row: Row{Agent: by.Agent}}
		t.open[by.Session] = n
	}
	return n
}

// close adds what was counted of a session to the row of its model. A session that had no turn says nothing by costing
// nothing.
func (t *Table) close(o Over, counts bool) {
	n := t.open[o.Session]
	if n == nil {
		return
	}
	delete(t.open, o.Session)
	if counts && n.Turns > 0 && o.Used.CostUSD <= 0 {
		n.Uncosted++
	}
	t.row(o.Agent, o.Model).add(n)
}

func (t *Table) row(agent, model string) *tally {
	model = cmp.Or(model, UnknownModel)
	key := [2]string{agent, model}
	n := t.rows[key]
	if n == nil && len(t.rows) >= maxRows {
		key = [2]string{Rest, Rest}
		n = t.rows[key]
	}
	if n == nil {
		n = &tally{Row: Row{Agent: key[0], Model: key[1]}}
		t.rows[key] = n
	}
	return n
}

func (n *tally) add(o *tally) {
	n.Turns += o.Turns
	n.NearMisses += o.NearMisses
	n.FalseClaims += o.FalseClaims
	n.Rework += o.Rework
	n.Uncosted += o.Uncosted
	n.used.Add(o.used)
}

// Rows returns the rows, by agent and model. A session that goes on is counted with an unknown model.
func (t *Table) Rows() []Row {
	all := Table{rows: map[[2]string]*tally{}}
	for key, n := range t.rows {
		row := *n
		all.rows[key] = &row
	}
	for _, session := range slices.Sorted(maps.Keys(t.open)) {
		all.row(t.open[session].Agent, "").add(t.open[session])
	}
	rows := []Row{}
	for _, n := range all.rows {
		if n.used.CostUSD > 0 {
			cost := math.Round(n.used.CostUSD*1e6) / 1e6
			n.CostUSD = &cost
		}
		if n.Row != (Row{Agent: n.Agent, Model: n.Model}) {
			rows = append(rows, n.Row)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model))
	})
	return rows
}
