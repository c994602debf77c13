package command_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/safetext"
)

func TestTable(t *testing.T) {
	table := command.NewTable("ID", ">COST", "PHASE", "TITLE")
	table.Add("T-1", "1.20", "IMPLEMENTATION", "mend the parser of empty files")
	table.Add("T-12", "11.20", "DRAFT", "a")
	table.Remark("this was looked at twice")
	for _, c := range []struct {
		name    string
		columns int
		want    string
	}{
		{"whole", 0, `
ID     COST  PHASE           TITLE
T-1    1.20  IMPLEMENTATION  mend the parser of empty files
T-12  11.20  DRAFT           a
    this was looked at twice
`},
		{"the last is wrapped", 50, `
ID     COST  PHASE           TITLE
T-1    1.20  IMPLEMENTATION  mend the parser of
                             empty files
T-12  11.20  DRAFT           a
    this was looked at twice
`},
		{"the last is below", 32, `
ID     COST  PHASE
    TITLE
T-1    1.20  IMPLEMENTATION
    mend the parser of empty
    files
T-12  11.20  DRAFT
    a
    this was looked at twice
`},
		{"a word is longer", 9, `
ID
     COST
    PHASE
    TITLE
T-1
     1.20
    IMPLEMENTATION
    mend
    the
    parse
    r of
    empty
    files
T-12
    11.20
    DRAFT
    a
    this
    was
    looke
    d at
    twice
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			table.Write(&b, c.columns)
			if diff := cmp.Diff(c.want, "\n"+b.String()); diff != "" {
				t.Error(diff)
			}
			for line := range strings.Lines(b.String()) {
				if w := safetext.Width(strings.TrimSuffix(line, "\n")); c.columns > 20 && w > c.columns {
					t.Errorf("%d columns: %q", w, line)
				}
			}
		})
	}
	var b strings.Builder
	table.WriteRows(&b, 0)
	if strings.Contains(b.String(), "TITLE") {
		t.Errorf("headings:\n%s", b.String())
	}
}
