package agent

import (
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// Adapter drives one agent. Its methods are called by one goroutine, which also takes the
// events until the agent has stopped; none of them waits for the agent.
type Adapter interface {
	// Traits say how the agent's turns go. They can change when the program is up.
	Traits() Traits
	// Ready reports whether a turn can begin: the agent of the last one may not have
	// stopped yet, and an event will say so.
	Ready() bool
	// Prompt begins a turn.
	Prompt(turn int, text string) error
	// Tell sends a message of a kind into the turn that runs, or returns ErrCantBeTold.
	Tell(kind, text string) error
	// Cancel ends the turn that runs: TurnOver, Failed or Stopped will follow.
	Cancel()
	// End ends the agent. It returns false if there is none; otherwise Stopped will follow.
	End() bool
	// Clear takes note of Stopped.
	Clear()
	// Events has what the agent does.
	Events() <-chan Event
}

// Traits are how an agent's turns go.
type Traits struct {
	// CanBeTold: Tell can do something.
	CanBeTold bool
	// Stays: the agent goes on between turns. A turn of one that does not is over when it
	// has stopped.
	Stays bool
	// MarksEnd: the agent always says when a turn is over, so that one which does not hangs.
	// With others, a terminal signal and silence after it will do.
	MarksEnd bool
}

// ErrCantBeTold refuses a message in the middle of a turn.
var ErrCantBeTold = errors.New("this agent can't be told anything in the middle of a turn")

// The kinds of messages.
const (
	MessageTell = "tell"
	MessageAsk  = "ask" // for progress

	messagePrompt = "prompt"
)

// Event is something that an agent did.
type Event struct {
	Kind    EventKind
	Source  agentsig.Source // of Said
	Text    []byte          // of Said and Complained; of Denied, Failed and Forgotten, in words
	Usage   delivery.Usage  // of Used: since the last one; of Using: since the last Used
	Open    int             // of Working: how many tools are; of TurnOver: how many things of the agent run on
	Limited bool            // of Failed: the provider's usage limit is reached
	Refused bool            // of Failed: the provider refuses the login
	Spent   bool            // of Failed: the program has kept to [Spec.Left]
	Reset   time.Time       // of Failed: when a usage limit ends, if that is known
	Exit    int             // of Stopped
	Err     error           // of Stopped: why its output could not be read

	Conversation delivery.Conversation // of Conversed

	Step     delivery.Step       // of Stepped
	Recorded func(recorded bool) // of Stepped, or nil: to be called, from any goroutine, when the ledger has the step, or can't have it
}

// EventKind is what kind of thing an agent did.
type EventKind int

// The kinds of events.
const (
	Said       EventKind = iota // text of the agent or its tools
	Complained                  // text beside it, which is no voice: a program's stderr
	Paused                      // a message of the agent is whole: no more of it will come
	Heard                       // a sign of life that is neither
	Working                     // a tool was begun or ended: silence counts while none is open
	Used                        // tokens or money
	Using                       // what a turn that goes on uses, as far as it is known; Used will say it for good
	Denied                      // something that the agent wanted was refused
	TurnOver                    // the agent has ended its turn
	Failed                      // the turn can't go on
	Conversed                   // how the conversation is that the program can go on with later
	Forgotten                   // the conversation of [Spec.Resume] can't be gone on with: the next turn begins another one
	Stopped                     // the agent's processes are gone
	Stepped                     // the model of an expert did something that is to be recorded
)

// The adapters.
const (
	AdapterPlain  = "plain"  // any program: its output is its voice
	AdapterACP    = "acp"    // one that speaks the Agent Client Protocol
	AdapterClaude = "claude" // Claude Code's own program, which streams JSON
	AdapterCodex  = "codex"  // Codex's own program, which streams JSON
	AdapterAsk    = "ask"    // this program as an expert: a model with tools
)

// adapters are all that there are.
var adapters = []struct {
	name  string
	drive func(program) Adapter
}{
	{AdapterPlain, func(p program) Adapter { return newPlain(p) }},
	{AdapterACP, func(p program) Adapter { return newACP(p) }},
	{AdapterClaude, func(p program) Adapter { return newClaude(p) }},
	{AdapterCodex, func(p program) Adapter { return newCodex(p) }},
	{AdapterAsk, func(p program) Adapter { return newAsk(p) }},
}

// Adapters returns the names of the adapters.
func Adapters() (names []string) {
	for _, a := range adapters {
		names = append(names, a.name)
	}
	return names
}

// New returns what drives the spec's agent. Nothing is started before its first turn.
func New(s Spec) (Adapter, error) {
	for _, a := range adapters {
		if a.name == s.Agent.Adapter {
			return a.drive(newProgram(s)), nil
		}
	}
	return nil, fmt.Errorf("there is no adapter %q: use one of %q", s.Agent.Adapter, Adapters())
}
