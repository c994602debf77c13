package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// A table is rows of texts under headings. Columns whose heading begins with ">" are set to the
// right.
type table struct {
	headings []string
	rows     [][]string
	remarks  map[int][]string // of a row, below it
}

func newTable(headings ...string) *table { return &table{headings: headings} }

// remark puts lines below the last row, if there is anything to say.
func (t *table) remark(lines ...string) {
	if t.remarks == nil {
		t.remarks = map[int][]string{}
	}
	t.remarks[len(t.rows)] = append(t.remarks[len(t.rows)], lines...)
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer) {
	widths := make([]int, len(t.headings))
	heading := make([]string, len(t.headings))
	for i, h := range t.headings {
		heading[i] = strings.TrimPrefix(h, ">")
		widths[i] = safetext.Width(heading[i])
		for _, row := range t.rows {
			widths[i] = max(widths[i], safetext.Width(row[i]))
		}
	}
	for i, row := range append([][]string{heading}, t.rows...) {
		var line strings.Builder
		for j, cell := range row {
			pad := strings.Repeat(" ", widths[j]-safetext.Width(cell))
			if strings.HasPrefix(t.headings[j], ">") {
				line.WriteString(pad + cell + "  ")
			} else {
				line.WriteString(cell + pad + "  ")
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
		for _, remark := range t.remarks[i] {
			fmt.Fprintln(w, "    "+remark)
		}
	}
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
