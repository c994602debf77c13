package tui

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// Deed is what a person wants done.
type Deed string

// The deeds. What they do is what the command of that name does.
const (
	Log       Deed = "logs"
	Diff      Deed = "diff"
	Show      Deed = "show"
	Answer    Deed = "answer"
	Tell      Deed = "tell"
	Review    Deed = "review"
	Open      Deed = "take --open"
	Pause     Deed = "pause"
	Resume    Deed = "pause --resume"
	Cancel    Deed = "cancel"
	Leave     Deed = "leave"
	Interrupt Deed = "interrupt" // as Ctrl-C does where no keys are taken
	Suspend   Deed = "suspend"
)

// Action is a deed, and what it is about.
type Action struct {
	Do   Deed   // empty for nothing
	Name string // the task's work item, the question or the run
	Text string // an answer or a message
}

// mode is what keys mean.
type mode int

const (
	choosing   mode = iota // a task, and what to do with it
	helping                // the keys are explained
	typing                 // an answer or a message
	confirming             // yes or no
)

// Model is a live view that takes keys: the run, the chosen task, and what the person is about to do. It is a value:
// [Model.Press] and [Model.See] return what it becomes.
type Model struct {
	run    api.Run
	own    bool      // whoever shows it is the box: leaving ends its agents
	chosen string    // the id of a task
	said   string    // what came of the last deed
	failed bool      // it did not work
	since  time.Time // what was said is shown; zero if it was not shown yet

	mode     mode
	question api.Question // that is answered, while typing; none for a message
	pending  Action       // that is typed or confirmed
	asked    string       // what is confirmed
	input    string
	scroll   int // lines of a text that are above the screen
	size     Options
}

// NewModel returns a model. If own is set, leaving ends the run's agents, and a person is asked first.
func NewModel(own bool) Model { return Model{own: own} }

// See takes the run as it is now. The chosen task stays chosen.
func (m Model) See(r api.Run) Model {
	m.run = r
	if m.chosen == "" || m.index() < 0 {
		m.chosen = firstChoice(r)
	}
	return m
}

// Sized takes how large the screen is: a text is moved no further than to its end.
func (m Model) Sized(columns, rows int) Model {
	m.size = screenOptions(columns, rows)
	return m
}

// firstChoice is the task that a person most likely wants to do something about: what asks them, what is at work, any.
func firstChoice(r api.Run) string {
	best, id := len(kindWords), ""
	for _, t := range r.Tasks {
		k := kindOf(r, t)
		rank := int(k) + 1
		if k == asking {
			rank = 0
		}
		if rank < best {
			best, id = rank, t.ID
		}
	}
	if id == "" && len(r.Tasks) > 0 {
		id = r.Tasks[0].ID
	}
	return id
}

// Done takes what came of a deed.
func (m Model) Done(said string, err error) Model {
	m.said, m.failed, m.since = said, err != nil, time.Time{}
	if err != nil {
		m.said = err.Error()
	}
	return m
}

// saidFor is how long what came of a deed is shown, unless a key is pressed before: the run goes on meanwhile.
const saidFor = 15 * time.Second

// Tick takes the time. What came of a deed goes after a while; what did not work stays until a key is pressed.
func (m Model) Tick(now time.Time) Model {
	switch {
	case m.said == "" || m.failed:
	case m.since.IsZero():
		m.since = now
	case now.Sub(m.since) >= saidFor:
		m.said = ""
	}
	return m
}

// index is where the chosen task is; -1 if there is none.
func (m Model) index() int {
	return slices.IndexFunc(m.run.Tasks, func(t api.Task) bool { return t.ID == m.chosen })
}

// Press takes a key.
func (m Model) Press(k Key) (Model, Action) {
	switch {
	case k.Name == KeySuspend:
		return m, Action{Do: Suspend}
	case k.Name == KeyInterrupt && m.mode != choosing:
		return m.back(), Action{}
	case k.Name == KeyInterrupt:
		return m, Action{Do: Interrupt}
	}
	m.said, m.failed = "", false
	switch m.mode {
	case helping:
		return m.back(), Action{}
	case typing:
		return m.typed(k)
	case confirming:
		act := m.pending
		m = m.back()
		if k.Name == "y" || k.Name == "Y" {
			return m, act
		}
		return m, Action{}
	}
	return m.command(k)
}

// back returns to the list.
func (m Model) back() Model {
	m.mode, m.question, m.pending, m.asked, m.input, m.scroll = choosing, api.Question{}, Action{}, "", "", 0
	return m
}

// moves are how far a key moves the choice, or a text.
var moves = map[string]int{
	KeyUp: -1, "k": -1, KeyDown: 1, "j": 1, KeyPageUp: -10, KeyPageDown: 10, KeyHome: -1 << 20, KeyEnd: 1 << 20,
}

// command takes a key that is a command.
func (m Model) command(k Key) (Model, Action) {
	if by, ok := moves[k.Name]; ok {
		if n := len(m.run.Tasks); n > 0 {
			m.chosen = m.run.Tasks[min(max(m.index()+by, 0), n-1)].ID
		}
		return m, Action{}
	}
	switch k.Name {
	case "?", "h":
		m.mode = helping
		return m, Action{}
	case "q":
		return m.leave()
	case "a":
		return m.answer(), Action{}
	case "p":
		if m.run.State == api.RunPaused {
			return m, Action{Do: Resume, Name: m.run.ID}
		}
		return m, Action{Do: Pause, Name: m.run.ID}
	}
	return m.onTask(k)
}

// onTask takes a key that is a command on the chosen task.
func (m Model) onTask(k Key) (Model, Action) {
	deed, ok := map[string]Deed{
		KeyEnter: Log, "d": Diff, "s": Show, "t": Tell, "r": Review, "o": Open, "x": Cancel,
	}[k.Name]
	i := m.index()
	if !ok || i < 0 {
		return m, Action{}
	}
	t := m.run.Tasks[i]
	act := Action{Do: deed, Name: t.Work}
	part, waits := m.part(t)
	if refusal, ok := refusals[deed]; ok && t.Phase == agentsig.PhaseCompleted {
		return m.Done("", errors.New(t.ID+" is completed: "+refusal)), Action{}
	}
	switch deed {
	case Tell:
		m.mode, m.pending = typing, act
		return m, Action{}
	case Cancel:
		return m.confirm(act, fmt.Sprintf("Cancel %s and what depends on it? Its agent is ended; its branch stays.", t.ID)), Action{}
	case Open:
		if !waits || part.Kind == string(delivery.PartReview) {
			return m.confirm(act, fmt.Sprintf("Take %s over and open it in your editor? Whoever works on it is told to end.", t.ID)), Action{}
		}
	case Review:
		if !waits || part.Kind != string(delivery.PartReview) {
			other, some := m.toReview()
			if !some {
				return m.Done(t.ID+" does not wait for your review", nil), Action{}
			}
			m.chosen, act.Name = other.Task, other.Work
		}
	}
	return m, act
}

// refusals say what can't be done with a task that is completed.
var refusals = map[Deed]string{
	Tell: "nobody works on it any more", Open: "it can't be taken over any more", Cancel: "it can't be cancelled any more",
}

// part is what a person has to do on a task, if they have.
func (m Model) part(t api.Task) (api.Question, bool) {
	i := slices.IndexFunc(m.run.Questions, func(q api.Question) bool { return !q.Asks() && q.Task == t.ID })
	if i < 0 {
		return api.Question{}, false
	}
	return m.run.Questions[i], true
}

// toReview is the first task that waits for a review.
func (m Model) toReview() (api.Question, bool) {
	i := slices.IndexFunc(m.run.Questions, func(q api.Question) bool { return q.Kind == string(delivery.PartReview) })
	if i < 0 {
		return api.Question{}, false
	}
	return m.run.Questions[i], true
}

func (m Model) confirm(act Action, asked string) Model {
	m.mode, m.pending, m.asked = confirming, act, asked
	return m
}

// leave leaves at once if the run goes on without whoever shows it.
func (m Model) leave() (Model, Action) {
	if !m.own {
		return m, Action{Do: Leave}
	}
	asked := "Leave? The box is this program and stops with it. The work is kept, and `signalbox run` goes on."
	if n := m.run.Agents; n > 0 {
		asked = fmt.Sprintf("Leave? The box is this program: %s ended with it. The work is kept, and `signalbox run` goes on.", areAgents(n))
	}
	return m.confirm(Action{Do: Leave}, asked), Action{}
}

func areAgents(n int) string {
	if n == 1 {
		return "1 agent is"
	}
	return fmt.Sprintf("%d agents are", n)
}

// answer begins the answer to a question: that of the chosen task, or else that of the run, or else the first.
func (m Model) answer() Model {
	all := m.questions()
	if len(all) == 0 {
		said := "nobody asks you anything"
		if i := m.index(); i >= 0 {
			if part, ok := m.part(m.run.Tasks[i]); ok {
				said = "nothing is asked; this waits for you: " + part.Command()
			}
		}
		return m.Done(said, nil)
	}
	return m.about(all[0])
}

// questions are those that can be answered, the most fitting first.
func (m Model) questions() []api.Question {
	all := slices.DeleteFunc(slices.Clone(m.run.Questions), func(q api.Question) bool { return !q.Asks() })
	rank := func(q api.Question) int {
		switch q.Task {
		case m.chosen:
			return 0
		case "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b api.Question) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

// about shows a question whole, with room for an answer.
func (m Model) about(q api.Question) Model {
	m = m.back()
	m.mode, m.question, m.pending = typing, q, Action{Do: Answer, Name: q.ID}
	return m
}

// maxInput is how long an answer or a message may be, in bytes; what is longer is written with the command.
const maxInput = 8 << 10

// typed takes a key of an answer or a message.
func (m Model) typed(k Key) (Model, Action) {
	by, moved := moves[k.Name]
	switch {
	case k.Name == KeyEscape:
		return m.back(), Action{}
	case k.Name == KeyEnter && strings.TrimSpace(m.input) == "":
		return m.Done("nothing is typed; Escape goes back", nil), Action{}
	case k.Name == KeyEnter:
		act := m.pending
		act.Text = strings.TrimSpace(m.input)
		return m.back(), act
	case k.Name == KeyTab && m.question.ID != "":
		all := m.questions()
		if i := slices.IndexFunc(all, func(q api.Question) bool { return q.ID == m.question.ID }); len(all) > 0 {
			return m.about(all[(i+1)%len(all)]), Action{}
		}
	case k.Name == KeyBackspace:
		_, size := utf8.DecodeLastRuneInString(m.input)
		m.input = m.input[:len(m.input)-size]
	case k.Name == KeyClear:
		m.input = ""
	case k.Text != "":
		text := strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(k.Text)
		if len(m.input)+len(text) > maxInput {
			return m.Done("there is no room for more: `signalbox "+string(m.pending.Do)+"` takes longer texts", nil), Action{}
		}
		m.input += text
	case moved:
		m.scroll = max(min(m.scroll+by, m.mostScroll(m.size)), 0)
	}
	return m, Action{}
}
