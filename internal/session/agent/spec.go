package agent

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/advice"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// Config is an agent's program and how it is driven.
type Config struct {
	Name    string   `json:"name"`
	Adapter string   `json:"adapter,omitempty"` // one of Adapters; plain is the default
	Command []string `json:"command"`
	Input   string   `json:"input,omitempty"` // once, which is the default, or json
	Exec    bool     `json:"exec,omitempty"`  // it runs commands by `signalbox exec` alone

	Ask advice.Settings `json:"ask,omitzero"` // of an expert that asks a model
}

// How a plain program takes what it is told.
const (
	InputOnce = "once" // a prompt is the whole of its input, and each turn a run of it
	InputJSON = "json" // it stays, and a message is a line of JSON
)

// Check names what is wrong with a config.
func (c Config) Check() error {
	switch {
	case len(c.Command) == 0 || c.Command[0] == "":
		return fmt.Errorf("the agent %q has no command", c.Name)
	case c.Adapter != "" && !slices.Contains(Adapters(), c.Adapter):
		return fmt.Errorf("there is no adapter %q: use one of %q", c.Adapter, Adapters())
	case c.Input != "" && c.Input != InputOnce && c.Input != InputJSON:
		return fmt.Errorf("there is no input %q: use %q or %q", c.Input, InputOnce, InputJSON)
	}
	return nil
}

// WithDefaults fills in what is empty.
func (c Config) WithDefaults() Config {
	c.Input = cmp.Or(c.Input, InputOnce)
	c.Adapter = cmp.Or(c.Adapter, AdapterPlain)
	return c
}

// is reports whether an agent's program is the one of a name, which may be started by another.
func (c Config) is(name string) bool { return sandbox.Runs(c.Command, name) }

// Permission is something that an agent may be allowed to do besides reading.
type Permission string

// The permissions.
const (
	Edit    Permission = "edit"    // change files with the agent's own tools
	Execute Permission = "execute" // run commands, and tools of which nothing is known
	Fetch   Permission = "fetch"   // get something from the network
)

// Spec is what an adapter knows of the session that it drives an agent for.
type Spec struct {
	Agent Config // with its defaults
	Dir   string // the working directory
	Role  agentsig.Role
	Task  string
	Nonce string   // for the signals that an adapter makes itself; the program does not get it
	Env   []string // NAME=value, besides what Signalbox itself has
	Allow []Permission

	Confine   *sandbox.Policy // of the program; nil for none
	Nested    *sandbox.Policy // of the commands that it starts
	Judges    bool            // the program takes no settings from the working directory
	GitWrites []string        // directories outside Dir that git writes when the agent commits

	Answer time.Duration // which an agent has to say something when it is asked
	Grace  time.Duration // from TERM to KILL

	Resume delivery.Conversation // that the first turn goes on with; zero for none

	// Left returns what the next turn may cost in US dollars, for a program that can be told so; 0 for no bound. It may be nil.
	Left func() float64

	Marker  string // of the program's processes, in their environment
	Private string // a directory for what the program alone may read and write
	Nest    string // the directory that a confined program runs commands through

	// Started keeps which process group the program is, for whoever has to end it if the session
	// can't. If that fails, the program is ended.
	Started func(pid int, started string) error
}

func (s Spec) may(p Permission) bool { return slices.Contains(s.Allow, p) }

func (s Spec) left() float64 {
	if s.Left == nil {
		return 0
	}
	return s.Left()
}

// mayNot says why something is refused.
func (s Spec) mayNot() string { return fmt.Sprintf("the role %s may not", s.Role) }

// confined reports whether the program runs in a sandbox.
func (s Spec) confined() bool { return s.Confine != nil }
