package runview

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/history"
	"github.com/signalbox-dev/signalbox/internal/picture"
	"github.com/signalbox-dev/signalbox/internal/stats"
	"github.com/signalbox-dev/signalbox/safetext"
)

//go:embed pictures.html
var templates embed.FS

// maxValues is how many rows the table beside a picture has.
const maxValues = 1000

// Parse adds the templates plan of a [Plan], time of a [Time] and cost of a [Cost] to others, with the functions that they call.
func Parse(t *template.Template) (*template.Template, error) {
	t, err := t.Funcs(words).ParseFS(picture.Templates, "picture.html")
	if err != nil {
		return nil, err
	}
	return t.ParseFS(templates, "pictures.html")
}

// words are what templates call. Whatever others have said goes through safe, or through lines if it may have several.
var words = template.FuncMap{
	"safe":   func(s any) string { return safetext.Escape(fmt.Sprint(s)) },
	"lines":  func(s any) string { return safetext.EscapeLines(fmt.Sprint(s)) },
	"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"second": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"count":  english.Count[int],
	"cost":   costWords,
	"said":   evidence.StatementWords,
}

// TokenWords say how many tokens were used: many are rounded.
func TokenWords(n int64) string {
	switch {
	case n >= 9_950_000:
		return fmt.Sprintf("%.0fM tokens", float64(n)/1e6)
	case n >= 999_500:
		return fmt.Sprintf("%.1fM tokens", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.0fk tokens", float64(n)/1e3)
	}
	return english.Count(int(n), "token")
}

// PhaseWords is a phase as people write it.
func PhaseWords(p agentsig.Phase) string {
	return strings.ReplaceAll(strings.ToLower(string(p)), "_", " ")
}

// Lasted says how long something takes.
func Lasted(d time.Duration) string {
	switch d = max(0, d).Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// Plan is what a run's tasks wait for.
type Plan struct {
	picture.Graph
	Chain []string // the first of the critical path
	Tasks []PlanRow
	Left  int // tasks that are not in the table
}

// maxChain is how many tasks of the critical path are named.
const maxChain = 20

// PlanRow is a task in the table.
type PlanRow struct {
	picture.Task
	Waiting string // for what it waits now, in words
}

// Time is what happened in a run and when.
type Time struct {
	picture.Timeline
	Entries []TimeRow // the latest first
	Left    int       // that are not in the table
}

// TimeRow is something that happened.
type TimeRow struct {
	From, To        time.Time
	Took            string
	Task, What, How string
	Bad             bool
}

// Cost is what a run cost by role and agent, and by task.
type Cost struct {
	picture.Bars      // none if nobody said what they used
	InUSD        bool // what the bars show; tokens if not
	Rows         []history.Cost
	Uncosted     int
	Sum          delivery.Usage
	ByTask       picture.Bars
	Tasks        []TaskCost
	TasksLeft    int // that are not in the table
}

// TaskCost is what a task cost, or what is about the run as a whole.
type TaskCost struct {
	history.Cost
	Title, Href string // none of the run as a whole
}

// PlanOf draws a run's plan. More of a task is at href.
func PlanOf(r api.Run, href func(api.Task) string) *Plan {
	waiting := map[string]bool{}
	for _, q := range r.Questions {
		waiting[q.Task] = true
	}
	var tasks []picture.Task
	p := &Plan{Left: max(0, len(r.Tasks)-maxValues)}
	for i, t := range r.Tasks {
		d := picture.Task{ID: t.ID, Title: t.Title, Href: href(t), Waits: t.BlockedBy}
		d.State, d.Look, d.Over = stateOf(t, waiting[t.ID])
		tasks = append(tasks, d)
		if i < maxValues {
			p.Tasks = append(p.Tasks, PlanRow{d, t.Waits.Text})
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
	return PhaseWords(t.Phase), "", false
}

// TimeOf lays out what happened in a run, which goes on until now if it has not ended.
func TimeOf(r api.Run, h *history.Fold, now time.Time) *Time {
	titles := map[string]string{}
	for _, t := range r.Tasks {
		titles[t.ID] = t.ID + " " + t.Title
	}
	to := r.FinishedAt
	if to.IsZero() {
		to = now
	}
	var all []picture.Stretch
	p := &Time{Left: h.Dropped()}
	for _, e := range h.Entries() {
		row := TimeRow{From: e.Began, To: e.Ended, Task: e.Task, What: whatOf(e), How: saidWords(agentsig.Kind(e.How)), Bad: e.Bad}
		if e.By != "" {
			row.How += " by " + e.By
		}
		end := e.Ended
		if end.IsZero() {
			end, row.How = to, "goes on"
		}
		s := picture.Stretch{
			Row: cmp.Or(titles[e.Task], e.Task, theRun), From: e.Began, To: end, Look: lookOf(e),
			Moment: e.Kind == history.Gate || e.Kind == history.Merge,
		}
		if !s.Moment {
			row.Took = Lasted(end.Sub(e.Began))
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
	case history.Review:
		if e.Role == delivery.RoleMerge {
			return "waits for a word on the merge"
		}
		return "waits for the " + string(e.Role)
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
	case e.Kind == history.Review:
		return "waits"
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

// CostOf draws what was used: dollars if anybody said them, or else tokens. More of a task is at href.
func CostOf(r api.Run, h *history.Fold, href func(api.Task) string) *Cost {
	c := &Cost{Rows: h.Costs()}
	for _, row := range c.Rows {
		c.Uncosted += row.Uncosted
		c.Sum.Add(row.Usage)
	}
	c.InUSD = c.Sum.CostUSD > 0
	var byRole, byTask []picture.Amount
	for _, row := range c.Rows {
		byRole = c.amount(byRole, fmt.Sprintf("%s: %s", row.Role, row.Agent), row)
	}
	tasks := map[string]api.Task{}
	for _, t := range r.Tasks {
		tasks[t.ID] = t
	}
	all := h.TaskCosts()
	for _, row := range all {
		t := TaskCost{Cost: row}
		if of, ok := tasks[row.Task]; ok {
			t.Title, t.Href = of.Title, href(of)
		}
		byTask = c.amount(byTask, cmp.Or(strings.TrimSpace(row.Task+" "+t.Title), theRun), row)
		c.Tasks = append(c.Tasks, t)
	}
	c.TasksLeft = max(0, len(c.Tasks)-maxValues)
	c.Tasks = c.Tasks[:len(c.Tasks)-c.TasksLeft]
	c.Bars, c.ByTask = picture.Measure(byRole), picture.Measure(byTask)
	return c
}

// theRun is what concerns no single task.
const theRun = "The run"

// amount adds what one has used, if anybody has said what they used.
func (c *Cost) amount(all []picture.Amount, label string, of history.Cost) []picture.Amount {
	switch {
	case c.InUSD:
		return append(all, picture.Amount{Label: label, Value: of.Usage.CostUSD, Words: costWords(of.Usage.CostUSD, of.Uncosted) + " USD"})
	case c.Sum.Tokens() > 0:
		return append(all, picture.Amount{Label: label, Value: float64(of.Usage.Tokens()), Words: TokenWords(of.Usage.Tokens())})
	}
	return all
}

// costWords say what was paid, as `signalbox stats` does.
func costWords(usd float64, uncosted int) string {
	r := stats.Row{Uncosted: int64(uncosted)}
	if usd > 0 {
		r.CostUSD = &usd
	}
	return r.CostWords()
}
