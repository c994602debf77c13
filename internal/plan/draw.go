package plan

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Draw draws the plan for a terminal, no line of it wider than width: its steps
// from top to bottom, and beside each task what it waits for. It is meant for a
// plan that [Parse] accepted.
func (p Plan) Draw(width int) string {
	var b strings.Builder
	line := func(s string) {
		b.WriteString(strings.TrimRight(cut(s, width), " ") + "\n")
	}
	waves := p.Waves()
	if p.Title != "" {
		line(safetext.Escape(p.Title))
	}
	said := summary(waves)
	if legend := said + "; ← waits for"; len(waves) > 1 && safetext.Width(legend) <= width {
		said = legend
	}
	line(said)
	l := p.layout(waves, width)
	for w, wave := range waves {
		if w == 0 {
			line("")
		} else {
			line(pad("", l.number) + "  │")
		}
		for n, t := range wave {
			line(l.rail(waves, w, n) + l.task(t))
			if l.below && len(t.BlockedBy) > 0 {
				line(l.beside(waves, w, n) + pad("", l.id) + "  " + waits(t.BlockedBy, l.blockers))
			}
		}
	}
	return b.String()
}

func summary(waves [][]Task) string {
	tasks, most := 0, 0
	for _, wave := range waves {
		tasks += len(wave)
		most = max(most, len(wave))
	}
	switch {
	case tasks == 1:
		return "1 task"
	case len(waves) == 1:
		return fmt.Sprintf("%d tasks, all at once", tasks)
	case most == 1:
		return fmt.Sprintf("%d tasks, one after the other", tasks)
	}
	return fmt.Sprintf("%d tasks in %d steps, up to %d at once", tasks, len(waves), most)
}

// layout has the columns of a drawing.
type layout struct {
	number, id, title, blockers int
	below                       bool // blockers stand below the title, since there is little room
}

// littleRoom is how many columns are too few for a title and blockers beside it.
const littleRoom = 40

func (p Plan) layout(waves [][]Task, width int) layout {
	l := layout{number: len(fmt.Sprint(len(waves)))}
	for _, t := range p.Tasks {
		l.id = max(l.id, safetext.Width(safetext.Escape(t.ID)))
		l.title = max(l.title, safetext.Width(safetext.Escape(t.Title)))
		l.blockers = max(l.blockers, safetext.Width(waits(t.BlockedBy, width)))
	}
	l.id = min(l.id, max(width/4, 8))
	room := width - l.number - safetext.Width(" ─┬─ ") - l.id - 2
	switch {
	case l.title+2+l.blockers <= room:
	case l.blockers == 0 || room < littleRoom:
		l.below, l.title, l.blockers = true, room, room
	default:
		l.blockers = min(l.blockers, max(room/3, room-2-l.title))
		l.title = room - 2 - l.blockers
	}
	return l
}

// rail draws the line that joins the steps, beside the n-th task of a step.
func (l layout) rail(waves [][]Task, w, n int) string {
	first := w == 0 && n == 0
	last := w == len(waves)-1 && n == len(waves[w])-1
	switch {
	case n > 0 && last:
		return pad("", l.number) + "  └─ "
	case n > 0:
		return pad("", l.number) + "  ├─ "
	}
	joint := "┼"
	switch {
	case first && last:
		joint = "─"
	case first:
		joint = "┬"
	case last:
		joint = "┴"
	}
	return fmt.Sprintf("%*d ─%s─ ", l.number, w+1, joint)
}

// beside draws the line that joins the steps, below a task.
func (l layout) beside(waves [][]Task, w, n int) string {
	if w == len(waves)-1 && n == len(waves[w])-1 {
		return pad("", l.number) + "     "
	}
	return pad("", l.number) + "  │  "
}

func (l layout) task(t Task) string {
	s := pad(cut(safetext.Escape(t.ID), l.id), l.id) + "  " + pad(cut(safetext.Escape(t.Title), l.title), l.title)
	if len(t.BlockedBy) > 0 && !l.below {
		s += "  " + waits(t.BlockedBy, l.blockers)
	}
	return s
}

// waits writes what a task waits for into so many columns: as many ids as there
// is room for, and the number of the others.
func waits(ids []string, columns int) string {
	if len(ids) == 0 {
		return ""
	}
	s := "←"
	for i, id := range ids {
		next := s + " " + safetext.Escape(id)
		if i > 0 {
			next = s + ", " + safetext.Escape(id)
		}
		more := ""
		if i < len(ids)-1 {
			more = fmt.Sprintf(" +%d", len(ids)-1-i)
		}
		if safetext.Width(next+more) > columns {
			if i == 0 && len(ids) == 1 {
				return cut(next, columns)
			}
			return cut(fmt.Sprintf("%s +%d", s, len(ids)-i), columns)
		}
		s = next
	}
	return s
}
