package command

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ManualCommand writes the program's manual pages. It is for packages, so the help does not list it.
func (p *Program) ManualCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use:     "manual DIRECTORY",
		Short:   "Write the manual pages into a directory",
		Long:    "Manual writes a manual page for each command into a directory, which has to be there: " + name + ".1, " + name + "-COMMAND.1.",
		Example: "  " + name + " manual /usr/local/share/man/man1",
		Args:    cobra.ExactArgs(1),
		Hidden:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			pages := manual(cmd.Root(), BuildVersion().Version)
			for _, m := range pages {
				if err := os.WriteFile(filepath.Join(args[0], m.file), []byte(m.text), 0o644); err != nil {
					return err
				}
			}
			if p.JSON {
				return WriteJSON(p.Out, map[string]int{"pages": len(pages)})
			}
			_, err := fmt.Fprintf(p.Out, "wrote %d pages\n", len(pages))
			return err
		},
	}
}

// A page is a manual page.
type page struct{ file, text string }

// manual returns the pages of a command and of those below it. What every program has, help and completion, has none:
// these stand in no group.
func manual(cmd *cobra.Command, version string) []page {
	pages := []page{{file: dashed(cmd) + ".1", text: manualPage(cmd, version)}}
	for _, c := range documented(cmd) {
		pages = append(pages, manual(c, version)...)
	}
	return pages
}

// documented returns the commands below one that have pages.
func documented(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() || !cmd.HasParent() && c.GroupID == ""
	})
}

// dashed is a command as its page is named.
func dashed(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manualPage writes the page of one command. It has no date, so that it is the same whenever it is written.
func manualPage(cmd *cobra.Command, version string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.TH "%s" 1 "" "%s" "%s"`, roff(strings.ToUpper(dashed(cmd))), roff(cmd.Root().Name()+" "+version), roff(cmd.Root().Name()+" manual"))
	line(".nh\n.ad l\n.SH NAME\n%s \\- %s", roff(dashed(cmd)), roff(cmd.Short))
	if cmd.HasAvailableSubCommands() {
		line(".SH SYNOPSIS\n\\fB%s\\fR COMMAND [flags]", roff(cmd.CommandPath()))
	} else {
		line(".SH SYNOPSIS\n\\fB%s\\fR%s", roff(cmd.CommandPath()), roff(strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath())))
	}
	line(".SH DESCRIPTION")
	prose(&b, cmp.Or(cmd.Long, cmd.Short+"."))
	if text := cmd.Annotations[about]; text != "" {
		prose(&b, text)
	}
	below := documented(cmd)
	if len(below) > 0 {
		line(".SH COMMANDS")
	}
	for _, g := range groupsOf(cmd) {
		if g.Title != "" {
			line(".SS %s", roff(g.Title))
		}
		for _, c := range below {
			if c.GroupID == g.ID {
				line(".TP\n\\fB%s\\fR\n%s", roff(c.Name()), roff(c.Short))
			}
		}
	}
	options(&b, "OPTIONS", cmd.NonInheritedFlags())
	options(&b, "OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if cmd.HasExample() {
		line(".SH EXAMPLES")
		prose(&b, cmd.Example)
	}
	if cmd.HasParent() {
		below = append([]*cobra.Command{cmd.Parent()}, below...)
	}
	if len(below) > 0 {
		line(".SH SEE ALSO")
	}
	for i, c := range below {
		line("\\fB%s\\fR(1)%s", roff(dashed(c)), strings.Repeat(",", min(1, len(below)-1-i)))
	}
	return b.String()
}

// groupsOf returns the headings of the commands below one; a nameless one if there are none.
func groupsOf(cmd *cobra.Command) []*cobra.Group {
	if groups := cmd.Groups(); len(groups) > 0 {
		return groups
	}
	return []*cobra.Group{{}}
}

// options writes flags, if there are any.
func options(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		argument, text := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB%s\\fR, ", roff("-"+f.Shorthand))
		}
		fmt.Fprintf(b, "\\fB%s\\fR", roff("--"+f.Name))
		if argument != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(argument))
		}
		if !slices.Contains([]string{"", "0", "false", "[]", "0s"}, f.DefValue) {
			text += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(b, "\n%s\n", roff(text))
	})
}

// prose writes paragraphs. One that begins with a space is an example, whose lines stay as they are.
func prose(b *strings.Builder, text string) {
	for p := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if !strings.HasPrefix(p, " ") {
			fmt.Fprintf(b, ".PP\n%s\n", roff(strings.Join(strings.Fields(p), " ")))
			continue
		}
		b.WriteString(".PP\n.RS 4\n.nf\n")
		for l := range strings.SplitSeq(p, "\n") {
			b.WriteString(roff(strings.TrimPrefix(l, "  ")) + "\n")
		}
		b.WriteString(".fi\n.RE\n")
	}
}

// roff escapes one line of text: a character means itself, and a line is no request.
func roff(text string) string {
	text = roffEscapes.Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}

var roffEscapes = strings.NewReplacer(`\`, `\(rs`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`, "\n", " ")
