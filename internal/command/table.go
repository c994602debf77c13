package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// A Table is rows of texts, safe to print, under headings. Columns whose heading begins with ">" are set to the
// right.
type Table struct {
	headings []string
	rows     [][]string
	remarks  map[int][]string // of a row, below it
	widths   []int
}

// NewTable returns a table without rows.
func NewTable(headings ...string) *Table {
	t := &Table{headings: headings, remarks: map[int][]string{}, widths: make([]int, len(headings))}
	for i, h := range headings {
		t.widths[i] = safetext.Width(strings.TrimPrefix(h, ">"))
	}
	return t
}

// Add adds a row, with a cell for each heading.
func (t *Table) Add(cells ...string) {
	t.rows = append(t.rows, cells)
	for i, c := range cells {
		t.widths[i] = max(t.widths[i], safetext.Width(c))
	}
}

// Remark puts lines below the last row.
func (t *Table) Remark(lines ...string) {
	t.remarks[len(t.rows)] = append(t.remarks[len(t.rows)], lines...)
}

// How a table is laid out that is wider than the screen.
const (
	tableGap    = 2
	tableIndent = 4  // of columns for which there is no room beside the first ones, and of remarks
	leastCell   = 16 // columns in which text can be wrapped
)

// Write writes the table in no more than so many columns, or with each row on one line if columns is 0. If there is no
// room, the last column is wrapped at words, and columns that do not fit beside the others are put below them.
func (t *Table) Write(w io.Writer, columns int) { t.write(w, columns, true) }

// WriteRows is like Write, without the headings: it goes on with a table.
func (t *Table) WriteRows(w io.Writer, columns int) { t.write(w, columns, false) }

func (t *Table) write(w io.Writer, columns int, headed bool) {
	groups := t.groups(columns)
	if headed {
		heading := make([]string, len(t.headings))
		for i, h := range t.headings {
			heading[i] = strings.TrimPrefix(h, ">")
		}
		t.writeRow(w, heading, groups, columns)
	}
	t.writeRemarks(w, 0, columns)
	for i, row := range t.rows {
		t.writeRow(w, row, groups, columns)
		t.writeRemarks(w, i+1, columns)
	}
}

func (t *Table) writeRemarks(w io.Writer, row, columns int) {
	for _, remark := range t.remarks[row] {
		for _, line := range fit(remark, columns-tableIndent, columns == 0) {
			fmt.Fprintln(w, strings.Repeat(" ", tableIndent)+line)
		}
	}
}

// groups are the columns that stand beside each other: the first of each but the first group is below.
func (t *Table) groups(columns int) [][]int {
	groups, used := [][]int{{}}, 0
	for i, width := range t.widths {
		if i == len(t.widths)-1 && !strings.HasPrefix(t.headings[i], ">") {
			width = min(width, leastCell) // it can be wrapped
		}
		if columns > 0 && used+width > columns && len(groups[len(groups)-1]) > 0 {
			groups, used = append(groups, nil), tableIndent
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], i)
		used += width + tableGap
	}
	return groups
}

func (t *Table) writeRow(w io.Writer, row []string, groups [][]int, columns int) {
	for n, group := range groups {
		var line strings.Builder
		if n > 0 {
			line.WriteString(strings.Repeat(" ", tableIndent))
		}
		for _, i := range group {
			before := safetext.Width(line.String())
			pad := strings.Repeat(" ", max(t.widths[i]-safetext.Width(row[i]), 0))
			switch {
			case strings.HasPrefix(t.headings[i], ">"):
				line.WriteString(pad + row[i])
			case i == len(row)-1:
				parts := fit(row[i], columns-before, columns == 0)
				line.WriteString(strings.Join(parts, "\n"+strings.Repeat(" ", before)))
			default:
				line.WriteString(row[i] + pad)
			}
			line.WriteString(strings.Repeat(" ", tableGap))
		}
		if text := strings.TrimRight(line.String(), " "); text != "" || n == 0 {
			fmt.Fprintln(w, text)
		}
	}
}

// Wrap is a text, safe to print, in lines of so many columns, broken at words where that can be.
func Wrap(text string, columns int) []string { return fit(text, columns, false) }

// fit is a text in lines of so many columns, or as it is.
func fit(text string, columns int, whole bool) []string {
	if whole || safetext.Width(text) <= columns {
		return []string{text}
	}
	return strings.Split(wrap(strings.Fields(text), max(columns, 1)), "\n")
}
