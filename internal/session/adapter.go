package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// adapter drives one kind of agent. Its methods are called by one goroutine, which also
// takes the events until the agent has stopped; none of them waits for the agent.
type adapter interface {
	// ready reports whether a turn can begin: the agent of the last one may not have
	// stopped yet, and an event will say so.
	ready() bool
	// prompt begins a turn.
	prompt(turn int, text string) error
	// tell sends a message into the turn that runs, or returns errCantBeTold.
	tell(kind, text string) error
	// canBeTold reports whether tell can do anything.
	canBeTold() bool
	// stays reports whether the agent goes on between turns. A turn of one that does
	// not is over when it has stopped.
	stays() bool
	// marksEnd reports whether the agent always says when a turn is over, so that one
	// which does not hangs. With others, a terminal signal and silence after it will do.
	marksEnd() bool
	// cancel ends the turn that runs: turnOver, failed or stopped will follow.
	cancel()
	// end ends the agent. It returns false if there is none; otherwise stopped will follow.
	end() bool
	// clear takes note of stopped.
	clear() error
	// events has what the agent does.
	events() <-chan event
}

// errCantBeTold refuses a message in the middle of a turn.
var errCantBeTold = errors.New("this agent can't be told anything in the middle of a turn")

// event is something that an agent did.
type event struct {
	kind   eventKind
	source agentsig.Source // of said
	text   []byte          // of said and complained; of denied and failed, in words
	usage  delivery.Usage  // of used: since the last one
	open   int             // of working: how many tools are; of turnOver: how many things of the agent run on
	how    string          // of failed: api.HowCrashed or api.HowLimited
	reset  time.Time       // of failed: when a usage limit ends, if that is known
	exit   int             // of stopped
	err    error           // of stopped: why its output could not be read
}

type eventKind int

const (
	said       eventKind = iota // text of the agent or its tools
	complained                  // text beside it, which is no voice: a program's stderr
	paused                      // a message of the agent is whole: no more of it will come
	heard                       // a sign of life that is neither
	working                     // a tool was begun or ended: silence counts while none is open
	used                        // tokens or money
	denied                      // something that the agent wanted was refused
	turnOver                    // the agent has ended its turn
	failed                      // the turn can't go on
	stopped                     // the agent's processes are gone
)

// newAdapter returns what drives the spec's agent.
func newAdapter(p program) (adapter, error) {
	switch p.spec.Agent.Adapter {
	case AdapterPlain:
		return newPlain(p), nil
	case AdapterACP:
		return newACP(p), nil
	case AdapterClaude:
		return newClaude(p), nil
	case AdapterCodex:
		return newCodex(p), nil
	}
	return nil, fmt.Errorf("%w: there is no adapter %q", ErrBadSpec, p.spec.Agent.Adapter)
}

// message kinds that an agent may be sent.
const (
	messagePrompt = "prompt"
	messageTell   = "tell"
	messageAsk    = "ask" // for progress
)
