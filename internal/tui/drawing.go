package tui

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Screen draws the model: no line is wider than the options' width, and there are no more lines than their height. The keys,
// or what is typed, are in the last ones.
func (m Model) Screen(o Options) []string {
	o.Width, o.Height = max(o.Width, 0), max(o.Height, 0)
	foot := m.foot(o)
	foot = foot[:min(len(foot), o.Height)]
	room := o.Height - len(foot)
	var body []line
	switch m.mode {
	case helping:
		body = helpPage
	case typing:
		body = m.page(o, room)
	default:
		body = m.table(o, room)
	}
	lines := body[:min(len(body), room)]
	for len(lines) < room {
		lines = append(lines[:len(lines):len(lines)], nil)
	}
	drawn := make([]string, 0, o.Height)
	for _, l := range append(lines[:room:room], foot...) {
		drawn = append(drawn, l.draw(o.Width, o.Color))
	}
	return drawn
}

// table is the run, with a mark at the chosen task.
func (m Model) table(o Options, room int) []line {
	o.Height = room
	if room == 0 {
		return nil
	}
	v := newView(m.run, o, len("59m 59s"), m.chosen)
	return v.lines()
}

// subject is what an answer or a message is about: its head, and all of its text.
func (m Model) subject(o Options) (head line, text []line) {
	if q := m.question; q.ID != "" {
		head = line{{important, "? " + q.ID}}
		if q.Task != "" {
			head = append(head, span{plain, "  " + q.Task})
		}
		if since := elapsed(q.AskedAt, o.Now); since != "" {
			head = append(head, span{dim, "  asked " + since + " ago"})
		}
		text = prose(plain, q.Text, o.Width, maxBlock)
		if strings.TrimSpace(q.Context) != "" && q.Context != q.Text {
			text = append(append(text, nil), prose(dim, q.Context, o.Width, maxBlock)...)
		}
		if more := q.More(); more != "" {
			text = append(text, nil, line{{plain, "all of it: "}, {cyan, more}})
		}
		if len(q.Choices) > 0 {
			text = append(append(text, nil), prose(plain, "choices: "+strings.Join(q.Choices, ", ")+", or your own words", o.Width, maxBlock)...)
		}
		return head, text
	}
	i := m.index()
	if i < 0 {
		return nil, nil
	}
	t := m.run.Tasks[i]
	if t.Agent == nil {
		text = []line{{{dim, "No agent works on it now: the next one is told."}}}
	} else if t.Agent.Says != "" {
		text = append([]line{{{dim, fmt.Sprintf("%s (%s) says:", t.Agent.Role, t.Agent.Name)}}}, prose(plain, t.Agent.Says, o.Width, maxBlock)...)
	}
	return line{{bold, t.ID}, {plain, "  "}, {bold, t.Title}}, text
}

// pageHead is how many lines stand above a text, and below it if it does not fit.
const pageHead, pageMore = 2, 1

// page is what an answer or a message is about: as much of it as there is room for, from where the person is.
func (m Model) page(o Options, room int) []line {
	head, text := m.subject(o)
	lines := []line{head, nil}
	shown := max(room-pageHead, 0)
	if len(text) <= shown {
		return append(lines, text...)
	}
	shown = max(shown-pageMore, 0)
	from := min(m.scroll, len(text)-shown)
	return append(append(lines, text[from:from+shown]...), line{{dim, fmt.Sprintf("lines %d to %d of %d; ↑ ↓ move", from+1, from+shown, len(text))}})
}

// mostScroll is how far a text can be moved on a screen of this size.
func (m Model) mostScroll(o Options) int {
	_, text := m.subject(o)
	room := o.Height - len(m.foot(o)) - pageHead
	if len(text) <= room {
		return 0
	}
	return len(text) - max(room-pageMore, 0)
}

// maxBlock is how many lines of a text can be looked at; a question's text may be long, and is drawn each second.
const maxBlock = 2000

// foot is what the person is asked or told, and the keys.
func (m Model) foot(o Options) []line {
	var lines []line
	if said := oneLine(m.said); said != "" {
		sign := span{green, "› "}
		if m.failed {
			sign = span{red, "! "}
		}
		for i, s := range wrap(said, max(o.Width-2, 2), 3) {
			if i > 0 {
				sign = span{plain, "  "}
			}
			lines = append(lines, line{sign, {plain, s}})
		}
	}
	switch m.mode {
	case helping:
		return append(lines, line{{dim, "any key goes back"}})
	case confirming:
		for _, s := range wrap(m.asked, max(o.Width, 2), 4) {
			lines = append(lines, line{{important, s}})
		}
		return append(lines, line{{bold, "y"}, {plain, " yes   any other key: no"}})
	case typing:
		return append(append(lines, m.typedLines(o.Width)...), m.typingKeys())
	}
	if o.Height >= airy {
		lines = append([]line{nil}, lines...)
	}
	return append(lines, m.keys(o.Width))
}

// typedLines are what was typed so far: the last lines of it.
func (m Model) typedLines(width int) []line {
	label := "answer: "
	if m.question.ID == "" {
		label = "tell " + m.chosen + ": "
	}
	label, _ = safetext.Clip(safetext.Escape(label), max(width/2, 0))
	room := max(width-columns(label)-1, 2)
	text := safetext.Escape(m.input)
	var parts []string
	for text != "" {
		part, _ := safetext.Clip(text, room)
		if part == "" {
			break
		}
		parts = append(parts, part)
		text = text[len(part):]
	}
	const most = 4
	parts = parts[max(len(parts)-most, 0):]
	if len(parts) == 0 {
		parts = []string{""}
	}
	var lines []line
	for i, part := range parts {
		lead := span{bold, label}
		if i > 0 {
			lead = span{plain, strings.Repeat(" ", columns(label))}
		}
		lines = append(lines, line{lead, {plain, part}})
	}
	last := len(lines) - 1
	lines[last] = append(lines[last], span{cyan, "▏"})
	return lines
}

func (m Model) typingKeys() line {
	l := line{{bold, "Enter"}, {dim, " sends  "}, {bold, "Esc"}, {dim, " goes back"}}
	if m.question.ID != "" && len(m.questions()) > 1 {
		l = append(l, span{bold, "  Tab"}, span{dim, " next question"})
	}
	return l
}

// hint is a key and what it does.
type hint struct{ key, does string }

// keys are the keys that do something now, as many as there is room for.
func (m Model) keys(width int) line {
	hints := []hint{{"↑↓", "choose"}, {"⏎", "log"}, {"d", "diff"}, {"s", "show"}}
	if len(m.questions()) > 0 {
		hints = append(hints, hint{"a", "answer"})
	}
	if _, waits := m.toReview(); waits {
		hints = append(hints, hint{"r", "review"})
	}
	pause := hint{"p", "pause"}
	if m.run.State == api.RunPaused {
		pause.does = "resume"
	}
	hints = append(hints, hint{"t", "tell"}, hint{"o", "open"}, pause, hint{"x", "cancel"})
	last := []hint{{"q", "leave"}, {"?", "help"}}
	room := width
	for _, h := range last {
		room -= columns(h.key+" "+h.does) + 2
	}
	var l line
	for i, h := range append(hints, last...) {
		part := line{{bold, h.key}, {dim, " " + h.does}, {plain, "  "}}
		if i < len(hints) {
			if l.width()+part.width() > room {
				continue
			}
		}
		l = append(l, part...)
	}
	return l
}

// helpPage explains the keys.
var helpPage = []line{
	{{bold, "Keys"}},
	nil,
	{{bold, "  ↑ ↓  j k  "}, {plain, "choose a task; PgUp, PgDn, Home, End too"}},
	{{bold, "  Enter     "}, {plain, "its log, in your pager (signalbox logs)"}},
	{{bold, "  d         "}, {plain, "what it changes (signalbox diff)"}},
	{{bold, "  s         "}, {plain, "why to believe that it is done (signalbox show)"}},
	{{bold, "  a         "}, {plain, "a question, whole, and your answer (signalbox answer)"}},
	{{bold, "  t         "}, {plain, "a message to its agent (signalbox tell)"}},
	{{bold, "  r         "}, {plain, "review it, if it waits for you (signalbox review)"}},
	{{bold, "  o         "}, {plain, "take it over, in your editor (signalbox take --open)"}},
	{{bold, "  x         "}, {plain, "cancel it; asks first (signalbox cancel)"}},
	{{bold, "  p         "}, {plain, "start no further agents, and go on again (signalbox pause)"}},
	{{bold, "  q         "}, {plain, "leave: a box that runs elsewhere goes on; if this program is the"}},
	{{bold, "            "}, {plain, "box, its agents are ended, and you are asked first"}},
	{{bold, "  Ctrl-C    "}, {plain, "the same, without a question"}},
	{{bold, "  Ctrl-Z    "}, {plain, "suspend this program"}},
	nil,
	{{dim, "Signs: ● at work  ? asks you  ! blocked  ○ waits  ✓ done  ✗ cancelled"}},
}
