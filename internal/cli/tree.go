package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/groot"
	"github.com/signalbox-dev/signalbox/bt/lua"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/internal/rehearsal"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) treeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tree",
		Short:   "Check, draw and rehearse behaviour trees",
		Example: `  signalbox tree check oracle.lua`,
		Long: `A behaviour tree decides what ask does after each of the model's turns. Trees are Lua files,
or XML files of Groot2 (.xml); docs/oracle.md says how they are written. A FILE can also be the name of a tree that is built in,
oracle-agent or react; without one it is oracle-agent.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.treeShowCommand(), a.treeCheckCommand(), a.treeDrawCommand(), a.treeRunCommand(), a.treeExportCommand(),
		a.treeReplayCommand(), a.treeResumeCommand())
	return cmd
}

func (a *app) treeShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show [NAME]",
		Short:   "Print the file of a built-in tree",
		Long:    "Show prints the file of a tree that comes with the program: " + list(oracle.TreeNames()) + ". Without a NAME it is the first.",
		Example: "  signalbox tree show > my-tree.lua",
		Args:    atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			name := cmp.Or(first(args), oracle.TreeName)
			source, ok := oracle.Tree(name)
			if !ok {
				return a.UsageError("no tree called %s comes with this: there are %s", safetext.Escape(name), list(oracle.TreeNames()))
			}
			return a.sayText("source", string(source))
		},
	}
}

func (a *app) treeCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "check [FILE]",
		Short:   "Check that a tree can be run",
		Example: `  signalbox tree check oracle.lua`,
		Long: `Check loads a tree and holds it against what ask can do: kinds of nodes, functions and their
arguments, keys of the blackboard, subtrees. Each problem has its line. Exit codes: 0 if the
tree is in order, 1 if not.`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			tree, err := loadTree(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			program, err := oracle.Compile(tree)
			if err != nil {
				return err
			}
			nodes := len(program.Nodes())
			if a.JSON {
				return command.WriteJSON(a.Out, map[string]any{"tree": tree.Name, "nodes": nodes})
			}
			_, err = fmt.Fprintf(a.Out, "%s is in order: %s\n", safetext.Escape(tree.Name), english.Count(nodes, "node"))
			return err
		},
	}
}

func (a *app) treeDrawCommand() *cobra.Command {
	var svg string
	cmd := &cobra.Command{
		Use:   "draw [FILE]",
		Short: "Draw a tree, as text or SVG",
		Example: `  signalbox tree draw
  signalbox tree draw my-tree.lua --svg my-tree.svg`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			tree, err := loadTree(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			program, err := rehearsal.Compile(tree)
			if err != nil {
				return err
			}
			if svg == "" {
				var text strings.Builder
				if err := program.Draw(&text, nil, nil); err != nil {
					return err
				}
				return a.sayText("drawing", text.String())
			}
			return writeNamed(cmd.Context(), svg, os.O_TRUNC, func(w io.Writer) error { return program.DrawSVG(w, nil) })
		},
	}
	cmd.Flags().StringVar(&svg, "svg", "", "write an SVG document to this `FILE`")
	return cmd
}

func (a *app) treeExportCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "export --groot FILE [TREE]",
		Short: "Write a tree as XML for Groot2, the editor of BehaviorTree.CPP",
		Long: `Export writes a tree in the format of BehaviorTree.CPP 4, so that it can be drawn and changed in
Groot2. What that format does not have is written as nodes that the file declares. The commands
that take a tree read such a file back if its name ends in .xml.`,
		Example: `  signalbox tree export my-tree.lua --groot my-tree.xml
  signalbox tree check my-tree.xml`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return a.UsageError("where to? Name a file with --groot")
			}
			tree, err := loadTree(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			return writeNamed(cmd.Context(), file, os.O_TRUNC, func(w io.Writer) error { return groot.Write(w, tree) })
		},
	}
	cmd.Flags().StringVar(&file, "groot", "", "write the XML to this `FILE`")
	return cmd
}

func (a *app) treeRunCommand() *cobra.Command {
	var results, svg string
	cmd := &cobra.Command{
		Use:   "run [FILE]",
		Short: "Rehearse a tree: its leaves do nothing, and say what you tell them to",
		Long: `Run goes through a tree without a model or a tool: each leaf answers what the results say,
and time passes by itself. It prints what each tick did, and the tree as it was at the end.

Results have a line for each leaf, by its name, with what it returns from tick to tick; the last
is repeated, and leaves that are not named succeed:

    ask-model: running success
    is-last-turn: failure
    has-tool-calls: success failure
    find: success {"names": ["a", "b"]}
    think: success spent {"tokens": 1200, "money": 0.02}
    otherwise: success

A result is success, failure, running, panic, or temporary for an llm_call that is tried again. Keys
that a leaf sets follow its result, as JSON; scripts do not run, so what they would set is set like
this. What stands after spent counts against a budget. A line "ticks: 0s 5s 90s" says when the tree is ticked. Any function will do here; check says
which there are. With --json it prints the end: status, and the nodes with theirs.

To run a tree for real, give it to ask (--tree).`,
		Example: `  signalbox tree run --results results.txt
  signalbox tree run my-tree.lua --svg run.svg`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			tree, err := loadTree(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			return a.rehearseTree(cmd.Context(), tree, results, svg)
		},
	}
	cmd.Flags().StringVar(&results, "results", "", "the `FILE` with the leaves' results")
	cmd.Flags().StringVar(&svg, "svg", "", "write the tree with its statuses to this `FILE`, as SVG")
	return cmd
}

// rehearseTree runs a tree with the results of a file, and shows what came of it.
func (a *app) rehearseTree(ctx context.Context, tree bt.Tree, file, svg string) error {
	var text []byte
	var err error
	if file != "" {
		if text, err = readFile(ctx, file, "name the file with the leaves' results"); err != nil {
			return err
		}
	}
	results, err := rehearsal.Parse(string(text))
	if err != nil {
		return err
	}
	trace := a.Out
	if a.JSON {
		trace = io.Discard
	}
	o, err := rehearsal.Rehearse(tree, results, trace)
	if err != nil {
		return err
	}
	if svg != "" {
		if err := writeNamed(ctx, svg, os.O_TRUNC, func(w io.Writer) error { return o.Program.DrawSVG(w, o.Marks) }); err != nil {
			return err
		}
	}
	if a.JSON {
		return command.WriteJSON(a.Out, rehearsedJSON(o))
	}
	fmt.Fprintln(a.Out)
	return o.Program.Draw(a.Out, o.Marks, a.paintStatus)
}

type nodeJSON struct {
	Path   string    `json:"path"`
	Kind   bt.Kind   `json:"kind"`
	Status bt.Status `json:"status"`
	MS     int64     `json:"ms,omitempty"`
	Note   string    `json:"note,omitempty"`
}

func rehearsedJSON(o rehearsal.Outcome) any {
	nodes := make([]nodeJSON, len(o.Marks))
	for i, n := range o.Program.Nodes() {
		m := o.Marks[i]
		nodes[i] = nodeJSON{n.Path, n.Node.Kind, m.Status, m.Elapsed.Milliseconds(), m.Note}
	}
	return map[string]any{"status": o.Status, "nodes": nodes}
}

// sayText prints a text, or for programs an object that has it.
func (a *app) sayText(name, text string) error {
	if a.JSON {
		return command.WriteJSON(a.Out, map[string]string{name: text})
	}
	_, err := io.WriteString(a.Out, text)
	return err
}

func (a *app) paintStatus(s bt.Status, word string) string {
	return a.Paint(map[bt.Status]string{bt.Success: command.Green, bt.Failure: command.Red, bt.Running: command.Yellow}[s], word)
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// loadTree reads a tree's file, or the one that is built in under this name; without a name it
// is the oracle's own.
func loadTree(ctx context.Context, name string) (bt.Tree, error) {
	if source, ok := oracle.Tree(cmp.Or(name, oracle.TreeName)); ok {
		return lua.Load(ctx, cmp.Or(name, oracle.TreeName)+".lua", source)
	}
	source, err := readFile(ctx, name, "name a tree's Lua file; `signalbox tree show` prints the built-in one")
	if err != nil {
		return bt.Tree{}, err
	}
	if strings.EqualFold(filepath.Ext(name), ".xml") {
		return groot.Parse(name, source)
	}
	return lua.Load(ctx, name, source)
}
