package agent

import (
	"fmt"
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
}

// tool is a tool that an agent uses.
type tool struct {
	title, kind string
	said        string // of the title, in the transcript
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

// uses tells that a tool is open, and what it does if that is new. What the voice says
// next is another message.
func (t *teller) uses(known *tool) {
	t.endMessage()
	if known.said != known.title {
		known.said = known.title
		t.remark(known.words())
	}
	t.out <- Event{Kind: Working, Open: len(t.tools)}
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
	if len(t.tools) > 0 {
		clear(t.tools)
		t.out <- Event{Kind: Working}
	}
}
