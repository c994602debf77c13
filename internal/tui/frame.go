package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
)

// Options say what a run is drawn for.
type Options struct {
	Width  int // columns
	Height int // lines; 0 for as many as it takes
	Color  bool
	Whole  bool      // nothing is cut: the width is what lines have at least, as where nobody sees how wide they are
	Now    time.Time // times of day are shown in its location
}

// Widths from which there is room for more.
const (
	mediumWidth = 60  // the agent's name and the time on a task's line
	wideWidth   = 120 // the agent's last line too, and the head on one line
)

// Frame draws a run: no line is wider than the options' width, and there are no
// more lines than their height. If there is no room for all tasks, those at work
// are shown first, and the rest is counted.
func Frame(r api.Run, o Options) []string {
	v := newView(r, o, len("59m 59s"), "")
	if v.Height <= 0 {
		v.Height = math.MaxInt32
	}
	var drawn []string
	for _, l := range v.lines() {
		drawn = append(drawn, l.draw(v.room(), v.Color))
	}
	return drawn[:min(len(drawn), v.Height)]
}

// view is a run on its way to a screen.
type view struct {
	api.Run
	Options
	chosen                                        string // the task that has a mark; none if nobody can choose
	idWidth, titleWidth, statusWidth, figureWidth int    // of the table's columns
}

// newView sets the widths of the table's columns; the last holds a figure. They
// depend on the plan and the screen alone, so that nothing moves while the run
// goes on.
func newView(r api.Run, o Options, figure int, chosen string) *view {
	if r.State == api.RunFinished { // nobody works or waits any more
		r.Questions, r.Others, r.Providers = nil, nil, nil
	}
	v := &view{Run: r, Options: o, figureWidth: figure, chosen: chosen}
	v.Width = max(v.Width, 0)
	for _, t := range v.Tasks {
		v.idWidth = max(v.idWidth, min(columns(t.ID), 10))
		v.titleWidth = max(v.titleWidth, columns(t.Title))
	}
	rest := v.Width - v.gutter() - columns("● ") - v.idWidth - 2*len("  ")
	switch {
	case v.Width < mediumWidth:
		v.statusWidth = 14
		v.titleWidth = min(v.titleWidth, rest-v.statusWidth)
	case v.Width < wideWidth:
		rest -= v.figureWidth + len("  ")
		v.titleWidth = min(v.titleWidth, max(rest-29, rest/2))
		v.statusWidth = min(rest-v.titleWidth, 36)
	default:
		v.titleWidth = min(v.titleWidth, v.Width*3/10)
		v.statusWidth = 29
	}
	return v
}

// room is how wide a line may be.
func (v *view) room() int {
	if v.Whole {
		return math.MaxInt32
	}
	return v.Width
}

// gutter is how wide the mark of the chosen task is.
func (v *view) gutter() int {
	if v.chosen == "" {
		return 0
	}
	return len("  ")
}

// airy is how many lines there are from which there are empty ones in between.
const airy = 16

// lines composes the frame: the head, the tasks and the agents that hold none, what
// a person should know, and what happened last.
func (v *view) lines() []line {
	head := v.head()
	gap := 0
	if v.Height >= airy {
		gap = 1
	}
	room := v.Height - len(head) - 3*gap
	var table []drawnRow
	need := 0
	chosen := -1
	add := func(w row) {
		lines := v.row(w)
		table = append(table, drawnRow{w.kind, lines})
		need += len(lines)
	}
	for i, t := range v.Tasks {
		if v.chosen != "" && t.ID == v.chosen {
			chosen = i
		}
		add(rowOf(v.Run, t, v.Now))
	}
	for _, a := range v.Others {
		add(rowOfOther(a, v.Now))
	}
	notices := v.notices()
	least := min(len(notices), room/5)
	part := room / 3
	if v.chosen != "" { // a person is there to answer
		part = room / 2
	}
	alerts := v.alerts(max(part, room-need-least))
	tasks := choose(table, room-len(alerts)-max(least, room-need-len(alerts)), chosen)
	notices = notices[len(notices)-min(len(notices), max(room-len(alerts)-len(tasks), 0)):]

	all := head
	for _, section := range [][]line{tasks, alerts, notices} {
		if len(section) > 0 && gap > 0 {
			all = append(all, nil)
		}
		all = append(all, section...)
	}
	return all
}

// head says what the run is and how far it has come.
func (v *view) head() []line {
	left := line{{bold, v.ID}, {plain, "  "}, {bold, v.Title}}
	end := v.Now
	if !v.FinishedAt.IsZero() {
		end = v.FinishedAt
	}
	right := line{state(v.Run)}
	if took := elapsed(v.StartedAt, end); took != "" {
		right = append(right, span{plain, "  " + took})
	}
	if v.Width < wideWidth {
		return []line{v.justify(left, right), v.facts(min(v.Width/4, 20), v.room())}
	}
	right = append(append(right, span{plain, "   "}), v.facts(20, v.Width/2)...)
	return []line{v.justify(left, right)}
}

// facts are the figures of a run, as many as there is room for.
func (v *view) facts(bar, room int) line {
	ended, unchanged := completed(v.Run)
	facts := []line{{{plain, fmt.Sprintf("%d/%d done", ended, len(v.Tasks))}}}
	if v.State != api.RunFinished && v.State != api.RunDry {
		facts = append(facts, line{{plain, fmt.Sprintf("%d/%d agents", v.Agents, v.AtOnce)}})
	}
	for _, c := range waitCounts(v.Questions) {
		facts = append(facts, line{{important, c}})
	}
	if unchanged > 0 {
		facts = append(facts, line{{yellow, fmt.Sprintf("%d %s", unchanged, noChange)}})
	}
	if v.Checks == 0 {
		facts = append(facts, line{{yellow, "no checks"}})
	}
	if v.Unchecked != "" {
		what, _, _ := strings.Cut(v.Unchecked, ":")
		facts = append(facts, line{{important, what}})
	}
	if v.Unaudited != "" {
		facts = append(facts, line{{yellow, "no auditor"}})
	}
	if len(v.Unprotected) > 0 {
		facts = append(facts, line{{yellow, "not protected"}})
	}
	if c := cost(v.Usage); c != "" {
		facts = append(facts, line{{plain, c}})
	}
	full := 0
	if len(v.Tasks) > 0 {
		full = bar * ended / len(v.Tasks)
	}
	l := line{{green, strings.Repeat("━", full)}, {dim, strings.Repeat("─", bar-full)}, {plain, "  "}}
	for i, f := range facts {
		if i > 0 {
			f = append(line{{dim, " · "}}, f...)
		}
		if l.width()+f.width() > room {
			break
		}
		l = append(l, f...)
	}
	return l
}

// waitCounts say how many questions, reviews and tasks wait for a person.
func waitCounts(all []api.Question) (counts []string) {
	questions, reviews, tasks := 0, 0, 0
	for _, q := range all {
		switch {
		case q.Asks():
			questions++
		case q.Kind == string(delivery.PartReview):
			reviews++
		default:
			tasks++
		}
	}
	if questions > 0 {
		counts = append(counts, english.Count(questions, "question"))
	}
	if reviews > 0 {
		counts = append(counts, english.Count(reviews, "review"))
	}
	if tasks > 0 {
		counts = append(counts, english.Count(tasks, "task")+" for you")
	}
	return counts
}

// completed counts the tasks that are completed, and those of them in which nothing was changed.
func completed(r api.Run) (ended, unchanged int) {
	for _, t := range r.Tasks {
		if t.Phase != agentsig.PhaseCompleted {
			continue
		}
		ended++
		if t.NoChange != "" {
			unchanged++
		}
	}
	return ended, unchanged
}

// unaudited counts the tasks that were merged and that no auditor has looked at.
func unaudited(r api.Run) (n int) {
	for _, t := range r.Tasks {
		if t.Phase == agentsig.PhaseCompleted && t.Unaudited {
			n++
		}
	}
	return n
}

// state is what a run does, or how it ended.
func state(r api.Run) span {
	switch {
	case r.State == api.RunRunning:
		return span{cyan, "● running"}
	case r.State == api.RunWaiting:
		return span{important, "? waiting for you"}
	case r.State == api.RunPaused:
		return span{yellow, "○ paused"}
	case r.State == api.RunEnding:
		return span{yellow, "○ ending"}
	case r.State == api.RunStopped:
		return span{yellow, "○ stopped"}
	case r.State == api.RunDry:
		return span{yellow, "○ dry run"}
	case r.Outcome == delivery.Completed:
		return span{green, "✓ completed"}
	case r.Outcome == delivery.Partial && !slices.ContainsFunc(r.Tasks, func(t api.Task) bool { return t.Phase == agentsig.PhaseCompleted }):
		return span{red, "✗ " + string(delivery.Cancelled)} // each of its tasks was, or depends on one
	case r.Outcome == delivery.Partial:
		return span{yellow, "✗ partly completed"}
	case r.Outcome != "":
		return span{red, "✗ " + string(r.Outcome)}
	}
	return span{plain, string(r.State)}
}

// drawnRow is a row of the table, and its note if that is below it.
type drawnRow struct {
	kind  kind
	lines []line
}

// choose returns no more than room lines of the table, in the plan's order, and
// counts the tasks that are not among them; where some are left out before a row that can be chosen, it has a mark. The chosen one is, with what is around it; there is none if it is -1.
func choose(table []drawnRow, room, chosen int) []line {
	type part struct{ row, line int }
	var parts []part
	for i, w := range table {
		for n := range w.lines {
			parts = append(parts, part{i, n})
		}
	}
	if len(parts) > room {
		rank := func(p part) int {
			if away := max(p.row-chosen, chosen-p.row); chosen >= 0 && p.line == 0 && away <= around {
				return away - around - 1
			}
			return urgency(table[p.row].kind, p.line)
		}
		slices.SortStableFunc(parts, func(a, b part) int { return rank(a) - rank(b) })
		urgent := 0
		for urgent < len(parts) && (rank(parts[urgent]) < 0 || table[parts[urgent].row].kind <= troubled) {
			urgent++
		}
		parts = parts[:max(min(room-1, urgent+ahead), 0)]
	}
	shown := make([]int, len(table)) // lines of each row
	for _, p := range parts {
		shown[p.row]++
	}
	var lines []line
	hidden := make([]int, len(kindWords))
	for i, n := range shown {
		if n > 0 && chosen >= 0 && i > 0 && shown[i-1] == 0 {
			table[i].lines[0] = leftOut(table[i].lines[0])
		}
		lines = append(lines, table[i].lines[:n]...)
		if n == 0 {
			hidden[table[i].kind]++
		}
	}
	var rest []string
	for k, n := range hidden {
		if n > 0 {
			rest = append(rest, fmt.Sprintf("%d %s", n, kindWords[k]))
		}
	}
	if len(rest) > 0 && room > 0 {
		lines = append(lines, line{{dim, "+ " + strings.Join(rest, ", ")}})
	}
	return lines
}

// leftOut marks a row that does not follow the one before it, where nothing else marks it.
func leftOut(row line) line {
	if len(row) == 0 || row[0] != (span{plain, "  "}) {
		return row
	}
	return append(line{{dim, "⋮ "}}, row[1:]...)
}

// around is how many rows before and after the chosen one are shown, if there is no room for all.
const around = 2

// ahead is how many lines tell what comes next, if there is no room for all.
const ahead = 10

// urgency orders the lines of tasks: what is at work, what agents say, the others.
func urgency(k kind, line int) int {
	switch {
	case line == 0:
		return 2 * int(max(k, troubled))
	case k <= troubled:
		return 2*int(troubled) + 1
	}
	return 2 * int(done+1)
}

// row draws a row of the table; its note is beside it if there is room, and below
// it if not.
func (v *view) row(w row) []line {
	style := w.kind.text()
	var l line
	if v.chosen != "" {
		l = line{{plain, "  "}}
	}
	if v.chosen != "" && w.task && w.id == v.chosen {
		style = bold
		l = line{{bold, "› "}}
	}
	l = append(l, w.kind.mark(), span{plain, " "})
	l = append(append(l, v.cell(style, w.id, v.idWidth)...), span{plain, "  "})
	l = append(append(l, v.cell(style, w.title, v.titleWidth)...), span{plain, "  "})
	status, note := w.status, w.note
	if v.Width >= mediumWidth {
		status = strings.TrimSpace(w.status + " " + w.agent)
	} else if w.agent != "" {
		note = append(line{{plain, w.agent + " " + w.figure + "  "}}, note...)
	}
	if w.kind == asking {
		style = important
	}
	l = append(l, v.cell(style, status, v.statusWidth)...)
	if v.Width >= mediumWidth {
		l = append(l, span{plain, "  " + strings.Repeat(" ", max(v.figureWidth-len(w.figure), 0))}, span{style, w.figure})
	}
	switch {
	case len(note) == 0:
		return []line{l}
	case v.Width >= wideWidth:
		return []line{append(append(l, span{plain, "  "}), note...)}
	}
	below := line{{plain, strings.Repeat(" ", v.gutter()+v.idWidth+2)}, {dim, "└ "}}
	return []line{l, append(below, note...)}
}

// alerts are what is wrong, and the questions, in no more than room lines.
func (v *view) alerts(room int) []line {
	var lines []line
	if v.Trouble != "" {
		what := "environment: "
		if v.Round > 0 {
			what = fmt.Sprintf("environment, repair round %d: ", v.Round)
		}
		lines = append(lines, line{{red, "! " + what}, {plain, oneLine(v.Trouble)}})
	}
	if v.Distrust != "" {
		lines = append(lines, line{{red, "! paused: "}, {plain, oneLine(v.Distrust)}})
	}
	if v.Unchecked != "" {
		lines = append(lines, line{{yellow, "! " + oneLine(v.Unchecked)}})
	}
	for _, p := range v.Providers {
		lines = append(lines, line{{yellow, "! " + p.Name + " is paused"}, {plain, " by its usage limit until " + delivery.Until(v.Now, p.Until) + " (" + elapsed(v.Now, p.Until) + ")"}})
	}
	if n := len(v.Repairs); n > 0 {
		lines = append(lines, repairLine(v.Repairs[n-1]))
	}
	each := 2 // lines: the question, and the command that answers it
	if v.chosen != "" {
		each = 1 // a key does
	}
	roomy := len(lines)+2*len(v.Questions) <= room && each == 2
	for i, q := range v.Questions {
		if left := len(v.Questions) - i; left > 1 && len(lines) >= room-1 {
			lines = append(lines, line{{important, "? " + english.Count(left, "more question")}})
			break
		}
		about := "  "
		if q.Task != "" {
			about += q.Task + "  "
		}
		whole := line{{important, "? " + nameOf(q)}, {plain, about + oneLine(q.Text)}}
		short := whole.width() > v.Width
		if more := prose(plain, q.Text, v.Width, maxProse); short && len(lines)+len(more)+each*(len(v.Questions)-i) <= room {
			lines = append(lines, line{{important, "? " + nameOf(q)}, {plain, about}})
			lines = append(lines, more...)
			short = cutOff(more)
		} else {
			lines = append(lines, whole)
		}
		if roomy {
			lines = append(lines, append(line{{plain, "  "}}, answer(q, short)...))
		}
	}
	return lines[:min(len(lines), max(room, 0))]
}

// nameOf is what a person calls something that waits for them.
func nameOf(q api.Question) string {
	if q.Asks() {
		return q.ID
	}
	return q.Work
}

// answer is how a question is answered, and how all of it is seen if it is cut here. The choices stay out of the command: they
// may be an agent's words, and a command is made to be copied.
func answer(q api.Question, short bool) line {
	l := line{{cyan, q.Command()}}
	if short {
		l = append(l, span{plain, "  all of it: "}, span{cyan, "signalbox inbox"})
	}
	if len(q.Choices) > 0 {
		l = append(l, span{plain, "  choices: " + strings.Join(q.Choices, ", ")})
	}
	return l
}

// notices are what happened, the last at the end.
func (v *view) notices() []line {
	var lines []line
	for _, n := range v.Notices {
		at := span{dim, n.At.In(v.Now.Location()).Format("15:04:05")}
		if n.Grave {
			lines = append(lines, line{at, {yellow, " ! "}, {plain, n.Text}})
		} else {
			lines = append(lines, line{at, {dim, "   " + n.Text}})
		}
	}
	return lines
}
