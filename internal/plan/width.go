package plan

import (
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// cut shortens a text that takes more columns than there are, at the end of a
// word if that does not cost much of it.
func cut(s string, columns int) string {
	if safetext.Width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	n, end := 0, 0
	for i, r := range s {
		if n += safetext.RuneWidth(r); n > columns-1 {
			end = i
			break
		}
	}
	short := s[:end]
	if i := strings.LastIndexByte(short, ' '); i > len(short)*3/4 && s[end] != ' ' {
		short = short[:i]
	}
	return strings.TrimRight(short, " ,;:.-") + "…"
}

// pad fills a text up with blanks.
func pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-safetext.Width(s)))
}
