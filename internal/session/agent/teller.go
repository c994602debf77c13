package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/safetext"
)

// teller makes events of what an agent says and of the tools it uses, for adapters whose
// programs tell these apart. It belongs to the goroutine that hears the program.
type teller struct {
	out    chan<- Event
	spoken bool             // the voice has begun a message, and not ended it
	inLine bool             // nor its last line
	tools  map[string]*tool // that are open
	held   []*tool          // of these, in order, those whose titles may not be whole yet
}

// tool is a tool that an agent uses.
type tool struct {
	title, kind string
	said        bool // it is in the transcript
	result      string
	refused     bool
}

// Limits of what is remembered and kept of tools.
const (
	maxTools  = 256
	maxResult = 8 << 10
	maxTitle  = 200
)

// heard tells of a sign of life.
func (t *teller) heard() { t.out <- Event{Kind: Heard} }

// speak gives out text of a source.
func (t *teller) speak(from agentsig.Source, text string) {
	if text == "" {
		t.heard()
		return
	}
	if from != agentsig.Voice {
		t.endMessage()
	}
	t.sayHeld()
	t.out <- Event{Kind: Said, Source: from, Text: []byte(text)}
	t.spoken = from == agentsig.Voice
	t.inLine = t.spoken && !strings.HasSuffix(text, "\n")
}

// endMessage ends the voice's message: what it has said is whole, and what it says next
// begins a line.
func (t *teller) endMessage() {
	if t.inLine {
		t.out <- Event{Kind: Said, Source: agentsig.Voice, Text: []byte("\n")}
	}
	if t.spoken {
		t.out <- Event{Kind: Paused}
	}
	t.spoken, t.inLine = false, false
}

// remark puts a line into the transcript that the agent has not said.
func (t *teller) remark(text string) {
	t.speak(agentsig.Tool, "["+safetext.Escape(text)+"]\n")
}

// passOver tells of a line that is too long to be read.
func (t *teller) passOver() {
	t.remark(fmt.Sprintf("a message of more than %d MiB was passed over", maxLine>>20))
}

// tool returns the tool of an id, with what is new of it.
func (t *teller) tool(id, kind, title string) *tool {
	id = short(id, maxTitle)
	known := t.tools[id]
	if known == nil {
		known = &tool{}
		if t.tools == nil {
			t.tools = map[string]*tool{}
		}
		if len(t.tools) < maxTools {
			t.tools[id] = known
		}
	}
	if title != "" {
		known.title = oneLine(title, maxTitle)
	}
	if kind != "" {
		known.kind = short(kind, maxTitle)
	}
	return known
}

// uses tells that a tool is open, and once what it does. What the voice says
// next is another message.
func (t *teller) uses(known *tool) {
	t.endMessage()
	t.say(known)
	t.out <- Event{Kind: Working, Open: len(t.tools)}
}

// plans tells that a tool will be used. Some programs have a mere kind for its title at first, so it is said when more is
// known of it, or something else is said.
func (t *teller) plans(known *tool) {
	if known.said || slices.Contains(t.held, known) || len(t.held) == maxTools {
		t.uses(known)
		return
	}
	t.endMessage()
	t.held = append(t.held, known)
	t.out <- Event{Kind: Working, Open: len(t.tools)}
}

// say puts into the transcript what a tool does, once.
func (t *teller) say(known *tool) {
	t.held = slices.DeleteFunc(t.held, func(held *tool) bool { return held == known })
	if known.said || known.words() == "" {
		return
	}
	known.said = true
	held := t.held
	t.held = nil // they stay held: this is not something else
	t.remark(known.words())
	t.held = held
}

// sayHeld says what is held, before something else is said.
func (t *teller) sayHeld() {
	held := t.held
	t.held = nil
	for _, known := range held {
		t.say(known)
	}
}

// words say what a tool does.
func (t *tool) words() string { return strings.TrimSpace(t.kind + " " + t.title) }

// gives takes what a tool has given so far.
func (t *tool) gives(result string) { t.result = strings.TrimRight(short(result, maxResult), "\n") }

// used tells that a tool is done, with its result.
func (t *teller) used(id string, known *tool, failed bool) {
	t.uses(known)
	delete(t.tools, short(id, maxTitle))
	if known.result != "" {
		t.speak(agentsig.Tool, known.result+"\n")
	}
	if failed {
		t.remark("it failed")
	}
	t.out <- Event{Kind: Working, Open: len(t.tools)}
}

// deny tells that the agent was refused something.
func (t *teller) deny(what, by string) {
	t.remark("refused: " + what)
	t.out <- Event{Kind: Denied, Text: []byte(safetext.Escape(fmt.Sprintf("%s (%s)", what, by)))}
}

// rest ends the message and forgets the tools that are open, when a turn ends.
func (t *teller) rest() {
	t.endMessage()
	t.sayHeld()
	if len(t.tools) > 0 {
		clear(t.tools)
		t.out <- Event{Kind: Working}
	}
}
