package command

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// A page says all that the help says; hidden commands and flags, and what every program has, are left out.
func TestManual(t *testing.T) {
	root := &cobra.Command{Use: "tool", Short: "Does things", Long: "Tool does\nthings.\n\n  an example: 'x' \\ ^ ~ `\n  .begins with a point"}
	root.PersistentFlags().Bool("json", false, "print JSON")
	root.PersistentFlags().String("secret", "", "not shown")
	if err := root.PersistentFlags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	nothing := func(*cobra.Command, []string) {}
	do := &cobra.Command{Use: "do THING", Short: "Do a thing", Example: "  tool do it", Run: nothing}
	do.Flags().StringP("from", "f", "here", "the `PLACE` it comes from")
	Group(root, "Work", do, &cobra.Command{Use: "hidden", Hidden: true, Run: nothing})
	root.AddCommand(&cobra.Command{Use: "completion", Short: "As every program has it", Run: nothing})
	Brief(root, "Exit codes: 0 ok.")

	pages := manual(root, "v1.2.3")
	got := map[string]string{}
	for _, p := range pages {
		got[p.file] = p.text
	}
	want := map[string]string{
		"tool.1": `.TH "TOOL" 1 "" "tool v1.2.3" "tool manual"
.nh
.ad l
.SH NAME
tool \- Does things
.SH SYNOPSIS
\fBtool\fR COMMAND [flags]
.SH DESCRIPTION
.PP
Tool does things.
.PP
.RS 4
.nf
an example: \(aqx\(aq \(rs \(ha \(ti \(ga
\&.begins with a point
.fi
.RE
.PP
Exit codes: 0 ok.
.SH COMMANDS
.SS Work
.TP
\fBdo\fR
Do a thing
.SH OPTIONS
.TP
\fB\-\-json\fR
print JSON
.SH SEE ALSO
\fBtool\-do\fR(1)
`,
		"tool-do.1": `.TH "TOOL\-DO" 1 "" "tool v1.2.3" "tool manual"
.nh
.ad l
.SH NAME
tool\-do \- Do a thing
.SH SYNOPSIS
\fBtool do\fR THING [flags]
.SH DESCRIPTION
.PP
Do a thing.
.SH OPTIONS
.TP
\fB\-f\fR, \fB\-\-from\fR \fIPLACE\fR
the PLACE it comes from (default here)
.SH OPTIONS OF EVERY COMMAND
.TP
\fB\-\-json\fR
print JSON
.SH EXAMPLES
.PP
.RS 4
.nf
tool do it
.fi
.RE
.SH SEE ALSO
\fBtool\fR(1)
`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The command writes the pages into a directory that is there, and into no other.
func TestManualCommand(t *testing.T) {
	run := func(dir string) (said string, err error) {
		var out strings.Builder
		p := &Program{Env: Env{Out: &out}}
		root := &cobra.Command{Use: "tool", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(p.ManualCommand("tool"))
		root.SetArgs([]string{"manual", dir})
		err = root.Execute()
		return out.String(), err
	}
	dir := t.TempDir()
	if said, err := run(dir); err != nil || said != "wrote 1 pages\n" {
		t.Errorf("%q, %v", said, err)
	}
	if data, err := os.ReadFile(dir + "/tool.1"); err != nil || !strings.HasPrefix(string(data), `.TH "TOOL" 1`) {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := run(dir + "/none"); err == nil {
		t.Error("a directory that is not there was written into")
	}
}
