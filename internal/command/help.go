package command

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Dress makes a program's help read like a page: the long texts of its commands set to 80
// columns, commands under their headings.
func Dress(root *cobra.Command) {
	root.SetUsageTemplate(usage)
	reflow(root)
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

// wrap puts words on lines of so many columns.
func wrap(words []string, columns int) string {
	var b strings.Builder
	at := 0
	for _, w := range words {
		switch n := utf8.RuneCountInString(w); {
		case at == 0:
			at = n
		case at+1+n > columns:
			b.WriteByte('\n')
			at = n
		default:
			b.WriteByte(' ')
			at += 1 + n
		}
		b.WriteString(w)
	}
	return b.String()
}

const usage = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND [flags]{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$commands := .Commands}}{{range $group := .Groups}}

{{.Title}}:{{range $commands}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding}}  {{.Short}}{{end}}{{end}}{{end}}{{if not .AllChildCommandsHaveGroup}}

{{if .Groups}}Other commands{{else}}Commands{{end}}:{{range .Commands}}{{if (and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding}}  {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of every command:
{{.InheritedFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}
`
