package plan

import (
	"slices"
	"strconv"
	"strings"
)

// checkColumns are the columns of the table of checks.
var checkColumns = []string{"Check", "Environment", "Command", "Expected exit code"}

// table is a Verification section: the rows of its tables are checks.
type table struct {
	line    int            // of the section
	rows    int            // of the table that it is in
	refused bool           // the table has other columns
	found   bool           // there is a row, or a table that was refused
	seen    map[Check]bool // names and environments of the checks of the whole plan
}

// row adds the check of a line to checks.
func (t *table) row(errs *Errors, checks []Check, n numbered) []Check {
	text, ok := block(n.text)
	if !ok || !strings.HasPrefix(text, "|") {
		t.rows, t.refused = 0, false
		return checks
	}
	t.rows++
	cells := splitRow(text)
	switch {
	case t.refused:
		return checks
	case t.rows == 1:
		if !slices.EqualFunc(cells, checkColumns, strings.EqualFold) {
			t.refused, t.found = true, true
			errs.add(n.line, "the table of checks begins with other columns: write %q", "| "+strings.Join(checkColumns, " | ")+" |")
		}
		return checks
	case t.rows == 2 && strings.Trim(text, "|-: \t") == "":
		return checks
	}
	t.found = true
	if len(cells) != len(checkColumns) {
		errs.add(n.line, `the check has %d columns of %d: write \| for a | that belongs to a command`, len(cells), len(checkColumns))
		return checks
	}
	c := Check{Name: cells[0], Environment: cells[1], Command: cutTicks(cells[2])}
	exit, err := strconv.Atoi(cells[3])
	c.Exit = exit
	key := Check{Name: c.Name, Environment: c.Environment}
	switch {
	case c.Name == "":
		errs.add(n.line, "the check has no name")
	case c.Command == "":
		errs.add(n.line, "check %s has no command", quote(c.Name))
	case err != nil || exit < 0 || exit > 255:
		errs.add(n.line, "%s can't be the exit code of check %s: write a number from 0 to 255", quote(cells[3]), quote(c.Name))
	case t.seen[key]:
		errs.add(n.line, "check %s is there twice for the same environment: give it another name", quote(c.Name))
	}
	t.seen[key] = true
	return append(checks, c)
}

// splitRow returns the cells of a row. A | that a backslash stands before is part
// of a cell.
func splitRow(s string) []string {
	var cells []string
	var cell strings.Builder
	s = strings.TrimPrefix(s, "|")
	for i := range len(s) {
		switch {
		case s[i] == '\\' && strings.HasPrefix(s[i+1:], "|"):
		case s[i] == '|' && (i == 0 || s[i-1] != '\\'):
			cells = append(cells, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(s[i])
		}
	}
	if rest := strings.TrimSpace(cell.String()); rest != "" {
		cells = append(cells, rest)
	}
	return cells
}
