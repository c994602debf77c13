package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/prompt"
)

func (a *app) signalsCommand() *cobra.Command {
	var role, task, nonce, where, dialect string
	var instructions bool
	cmd := &cobra.Command{
		Use:   "signals",
		Short: "Show the vocabulary, or the prompt text that teaches it",
		Long: `Signals shows every signal there is: how it is written, who may say it, what it
leads to, and whether it ends the agent's work. With --role, only what that role
may say. Line signals of your own, from signals in signalbox.yaml, stand below the
others; with --json their kind is the one that they lead to.

With --instructions it prints the text to put into an agent's prompt: how to
signal in this role, for this task. It teaches what is acted upon where the agent
works, and nothing else: with --for hand, for claim and emit; with --for run, for a
run's agents. Exit records are in it if they are enabled, here or in the settings.
With --dialect xml it is the text for a model that signals what its turn has come to: what
ask tells its models, and what programs with the package bt/signals can tell theirs.`,
		Example: `  signalbox signals --role critic
  signalbox signals --instructions --role developer --task T-1 >> prompt.md
  signalbox signals --instructions --dialect xml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := agentsig.Options{Role: agentsig.Role(role), Task: task, Nonce: nonce}
			if err := a.checkOptions(cmd, o); err != nil {
				return err
			}
			if !instructions {
				if task != "" || nonce != "" || where != "" || dialect != "" {
					return a.UsageError("--task, --nonce, --for and --dialect go with --instructions")
				}
				return a.vocabulary(o.Role)
			}
			if dialect == string(agentsig.DialectXML) {
				if role != "" || task != "" || nonce != "" || where != "" {
					return a.UsageError("--dialect xml is the same for everybody: leave out --role, --task, --nonce and --for")
				}
				return a.sayText("instructions", agentsig.ReflectionInstructions())
			}
			if dialect != "" && dialect != string(agentsig.DialectLine) {
				return a.UsageError("--dialect is line or xml")
			}
			if role == "" || task == "" {
				return a.UsageError("--instructions needs --role and --task")
			}
			if where != "" && !slices.Contains(places, where) {
				return a.UsageError("--for is hand or run")
			}
			return a.instructions(o, where)
		},
	}
	f := cmd.Flags()
	f.StringVar(&role, "role", "", "only what this `ROLE` may say: "+list(agentsig.Roles()))
	f.BoolVar(&instructions, "instructions", false, "print the text for an agent's prompt")
	f.StringVar(&task, "task", "", "with --instructions: the `ID` of the agent's task (for an expert: of its request)")
	f.StringVar(&where, "for", "", "with --instructions: for `WHERE` the agent works, hand or run (default hand)")
	f.StringVar(&nonce, "nonce", "", "with --instructions: the `NONCE` that the agent's signals have to carry")
	f.StringVar(&dialect, "dialect", "", "with --instructions: the `DIALECT` to teach, line or xml (default line)")
	complete(cmd, "role", agentsig.Roles())
	complete(cmd, "dialect", []agentsig.Dialect{agentsig.DialectLine, agentsig.DialectXML})
	complete(cmd, "for", places)
	return cmd
}

// places are where agents signal.
var places = []string{"hand", "run"}

// ownSignals returns the settings, and the signals that they add.
func (a *app) ownSignals() (config.Config, *agentsig.Extension, error) {
	c, err := a.settings("")
	if err != nil {
		return c, nil, err
	}
	own, err := agentsig.Extend(c.Own()...)
	return c, own, err
}

func (a *app) instructions(o agentsig.Options, where string) error {
	c, own, err := a.ownSignals()
	if err != nil {
		return err
	}
	v := prompt.Voice{Own: own, Subject: o.Task, Nonce: o.Nonce, Hand: where != "run", Exit: agentsig.ExitProtocolEnabled(os.LookupEnv, c.ExitProtocol)}
	text, err := v.Signals(o.Role)
	if err != nil {
		return err
	}
	if a.JSON {
		return command.WriteJSON(a.Out, struct {
			Role         agentsig.Role `json:"role"`
			Task         string        `json:"task"`
			Instructions string        `json:"instructions"`
		}{o.Role, o.Task, text})
	}
	_, err = fmt.Fprint(a.Out, text)
	return err
}

// spoken returns what a role may say. Only roles that hold a phase hand one over.
func spoken(role agentsig.Role, own *agentsig.Extension) []agentsig.Entry {
	var all []agentsig.Entry
	_, holds := role.Phase()
	for _, e := range slices.Concat(agentsig.Vocabulary(), own.Entries()) {
		if e.MayBeSaidBy(role) && (role == "" || holds || e.Dialect != agentsig.DialectExit) {
			all = append(all, e)
		}
	}
	return all
}

func (a *app) vocabulary(role agentsig.Role) error {
	_, own, err := a.ownSignals()
	if err != nil {
		return err
	}
	entries := spoken(role, own)
	if a.JSON {
		return command.WriteJSON(a.Out, entriesJSON(entries))
	}
	for i, dialect := range []agentsig.Dialect{agentsig.DialectLine, agentsig.DialectXML, agentsig.DialectExit} {
		heading := headings[dialect]
		cells := func(cells ...string) []string {
			if role != "" {
				cells = cells[:len(cells)-1] // who may say it is known
			}
			return cells
		}
		t := command.NewTable(cells(heading[0], "LEADS TO", heading[1], "SAID BY")...)
		some := false
		for _, e := range entries {
			if e.Dialect == dialect {
				t.Add(cells(written(e), string(e.Action), yes(e.Terminal), saidBy(e))...)
				some = true
			}
		}
		if !some {
			continue
		}
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		t.Write(a.Out, a.Columns())
	}
	return nil
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func saidBy(e agentsig.Entry) string {
	switch {
	case e.Dialect == agentsig.DialectExit:
		return "whoever holds the phase"
	case e.Roles == nil:
		return "anyone"
	}
	return list(e.Roles)
}

var headings = map[agentsig.Dialect][2]string{
	agentsig.DialectLine: {"LINE SIGNALS", "ENDS THE WORK"},
	agentsig.DialectXML:  {"XML SIGNALS", "ENDS THE TURN"},
	agentsig.DialectExit: {"EXIT RECORD", "ENDS THE WORK"},
}

func written(e agentsig.Entry) string {
	switch e.Dialect {
	case agentsig.DialectXML:
		return `<signal type="` + e.Wire + `">`
	case agentsig.DialectExit:
		return `{"protocol":"` + e.Wire + `",…}`
	}
	if e.Argument == agentsig.NoArgument {
		return e.Wire
	}
	return e.Wire + ": <" + string(e.Argument) + ">"
}

type entryJSON struct {
	Kind     agentsig.Kind     `json:"kind"`
	Dialect  agentsig.Dialect  `json:"dialect"`
	Wire     string            `json:"wire"`
	Argument agentsig.Argument `json:"argument"`
	Roles    []agentsig.Role   `json:"roles"` // empty for anyone
	Action   agentsig.Action   `json:"action"`
	Terminal bool              `json:"terminal"`
	Keys     []keyJSON         `json:"keys"`
	When     string            `json:"when"`
}

type keyJSON struct {
	Name     string           `json:"name"`
	Type     agentsig.KeyType `json:"type"`
	Required bool             `json:"required"`
	Min      int              `json:"min,omitempty"`
	Max      int              `json:"max,omitempty"`
	Values   []string         `json:"values,omitempty"`
	When     string           `json:"when,omitempty"`
}

func entriesJSON(entries []agentsig.Entry) []entryJSON {
	all := make([]entryJSON, len(entries))
	for i, e := range entries {
		all[i] = entryJSON{
			Kind: e.Kind, Dialect: e.Dialect, Wire: e.Wire, Argument: e.Argument,
			Roles: append([]agentsig.Role{}, e.Roles...), Action: e.Action, Terminal: e.Terminal,
			Keys: []keyJSON{}, When: strings.TrimSpace(e.When),
		}
		for _, k := range e.Keys {
			all[i].Keys = append(all[i].Keys, keyJSON{k.Name, k.Type, k.Required, k.Min, k.Max, k.Values, k.When})
		}
	}
	return all
}
