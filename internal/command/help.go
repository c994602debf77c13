package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Dress makes a program's help read like a page: the long texts of its commands set to 80
// columns, commands under their headings.
func Dress(root *cobra.Command) {
	root.SetUsageTemplate(usage)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return badFlag(err) })
	reflow(root)
}

// badFlag says what a flag takes that has got something else.
func badFlag(err error) error {
	bad, is := errors.AsType[*pflag.InvalidValueError](err)
	if !is {
		return err
	}
	takes := map[string]string{"int": "a whole number", "duration": "a time such as 90s, 30m or 12h", "bool": "true or false"}[bad.GetFlag().Value.Type()]
	if takes == "" {
		return err
	}
	return fmt.Errorf("--%s %s: it takes %s", bad.GetFlag().Name, safetext.ShellWord(bad.GetValue()), takes)
}

// Annotations of a root: its help describes the first group only, and names the others; a text about all of them.
const (
	brief = "brief"
	about = "about"
)

// Brief makes the help of a program with many commands short: it describes the first group of commands, and names the
// others; "help all" describes them all, after a text about them.
func Brief(root *cobra.Command, text string) {
	root.Annotations = map[string]string{brief: "true", about: text}
	root.SetHelpCommand(&cobra.Command{
		Use:     "help [COMMAND | all]",
		Short:   "Show the help of a command, or all commands",
		Example: "  " + root.Name() + " help all",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "all" {
				delete(root.Annotations, brief)
				paragraphs := strings.Split(text, "\n\n")
				for i, p := range paragraphs {
					paragraphs[i] = wrap(strings.Fields(p), 80)
				}
				root.Long += "\n\n" + strings.Join(paragraphs, "\n\n")
				return root.Help()
			}
			cmd, _, err := root.Find(args)
			if err != nil {
				return err
			}
			return cmd.Help()
		},
	})
}

// Group adds commands under a heading.
func Group(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// reflow sets the long help of a command and those below it to 80 columns.
func reflow(cmd *cobra.Command) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") { // which is an example
			paragraphs[i] = wrap(strings.Fields(p), 80)
		}
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, c := range cmd.Commands() {
		reflow(c)
	}
}

// wrap puts words, safe to print, on lines of so many columns. A word that is longer is broken.
func wrap(words []string, columns int) string {
	var b strings.Builder
	at := 0
	for _, w := range words {
		n := safetext.Width(w)
		switch {
		case at == 0:
		case at+1+n > columns:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		for n > columns {
			part, _ := safetext.Clip(w, columns)
			if part == "" { // a character that is wider than all there is
				break
			}
			b.WriteString(part + "\n")
			w = w[len(part):]
			n = safetext.Width(w)
		}
		b.WriteString(w)
		at += n
	}
	return b.String()
}

const usage = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND [flags]{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$commands := .Commands}}{{$brief := index .Annotations "brief"}}{{range $i, $group := .Groups}}{{if and $brief $i}}{{if eq $i 1}}

More, which "{{$.Name}} help all" describes:{{end}}
  {{rpad (printf "%s:" .Title) 24}}{{range $commands}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}} {{.Name}}{{end}}{{end}}{{else}}

{{.Title}}:{{range $commands}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding}}  {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if and (not $brief) (not .AllChildCommandsHaveGroup)}}

{{if .Groups}}Other commands{{else}}Commands{{end}}:{{range .Commands}}{{if (and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding}}  {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of every command:
{{.InheritedFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}
`
