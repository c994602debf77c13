package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/command"
)

func (a *app) signalsCommand() *cobra.Command {
	var role, task, nonce string
	var instructions bool
	cmd := &cobra.Command{
		Use:   "signals",
		Short: "Show the vocabulary, or the prompt text that teaches it",
		Long: `Signals shows every signal there is: how it is written, who may say it, what it
leads to, and whether it ends the agent's work. With --role, only what that role
may say.

With --instructions it prints the text to put into an agent's prompt: how to
signal in this role, for this task.`,
		Example: `  signalbox signals --role critic
  signalbox signals --instructions --role developer --task T-1 >> prompt.md`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := agentsig.Options{Role: agentsig.Role(role), Task: task, Nonce: nonce}
			if err := a.checkOptions(cmd, o); err != nil {
				return err
			}
			if !instructions {
				if task != "" || nonce != "" {
					return a.UsageError("--task and --nonce go with --instructions")
				}
				return a.vocabulary(o.Role)
			}
			if role == "" || task == "" {
				return a.UsageError("--instructions needs --role and --task")
			}
			return a.instructions(o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&role, "role", "", "only what this `ROLE` may say: "+list(agentsig.Roles()))
	f.BoolVar(&instructions, "instructions", false, "print the text for an agent's prompt")
	f.StringVar(&task, "task", "", "with --instructions: the `ID` of the agent's task (for an expert: of its request)")
	f.StringVar(&nonce, "nonce", "", "with --instructions: the `NONCE` that the agent's signals have to carry")
	complete(cmd, "role", agentsig.Roles())
	return cmd
}

func (a *app) instructions(o agentsig.Options) error {
	text, err := agentsig.Instructions(o.Role, o.Task, o.Nonce)
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
func spoken(role agentsig.Role) []agentsig.Entry {
	var all []agentsig.Entry
	_, holds := role.Phase()
	for _, e := range agentsig.Vocabulary() {
		if e.MayBeSaidBy(role) && (role == "" || holds || e.Dialect != agentsig.DialectExit) {
			all = append(all, e)
		}
	}
	return all
}

func (a *app) vocabulary(role agentsig.Role) error {
	entries := spoken(role)
	if a.JSON {
		return command.WriteJSON(a.Out, entriesJSON(entries))
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	row := func(cells ...string) {
		if role != "" {
			cells = cells[:len(cells)-1] // who may say it is known
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	var last agentsig.Dialect
	for _, e := range entries {
		if e.Dialect != last {
			heading := headings[e.Dialect]
			row(heading[0], "LEADS TO", heading[1], "SAID BY")
			last = e.Dialect
		}
		who, ends := list(e.Roles), "no"
		if e.Roles == nil {
			who = "anyone"
		}
		if e.Dialect == agentsig.DialectExit {
			who = "whoever holds the phase"
		}
		if e.Terminal {
			ends = "yes"
		}
		row(written(e), string(e.Action), ends, who)
	}
	return w.Flush()
}

var headings = map[agentsig.Dialect][2]string{
	agentsig.DialectLine: {"LINE SIGNALS", "ENDS THE WORK"},
	agentsig.DialectXML:  {"\nXML SIGNALS", "ENDS THE TURN"},
	agentsig.DialectExit: {"\nEXIT RECORD", "ENDS THE WORK"},
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
