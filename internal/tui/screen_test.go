package tui_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// screen is a terminal that knows the sequences that Live uses, and no others.
type screen struct {
	columns, rows int
	reflow        bool     // wraps and moves lines when its size changes, as some terminals do
	above         []row    // scrolled off
	lines         []row    // as many as it has rows
	x, y          int      // the cursor
	hidden        bool     // the cursor
	alternate     bool     // another screen is shown
	updating      bool     // a synchronised update has begun
	wrong         []string // what it was not made for
}

// row is a row of cells; the second one of a wide character is empty.
type row struct {
	cells   []string
	wrapped bool // goes on in the next one
}

func newScreen(columns, rows int, reflow bool) *screen {
	return &screen{columns: columns, rows: rows, reflow: reflow, lines: make([]row, rows)}
}

var sequence = regexp.MustCompile(`^\x1b\[(\??)([0-9;]*)([A-Za-z])`)

func (s *screen) Write(p []byte) (int, error) {
	for text := string(p); text != ""; {
		if m := sequence.FindStringSubmatch(text); m != nil {
			s.control(m[1]+m[3], m[2])
			text = text[len(m[0]):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch {
		case r == '\r':
			s.x = 0
		case r == '\n':
			s.down()
		case unicode.IsControl(r):
			s.wrong = append(s.wrong, fmt.Sprintf("%q", r))
		default:
			s.put(r)
		}
	}
	return len(p), nil
}

func (s *screen) control(name, argument string) {
	switch name + argument {
	case "H":
		s.x, s.y = 0, 0
	case "K":
		s.lines[s.y].cells = s.lines[s.y].cells[:min(len(s.lines[s.y].cells), s.x)]
	case "J":
		s.control("K", "")
		clear(s.lines[s.y+1:])
	case "?h25", "?l25":
		s.hidden = name == "?l"
	case "?h1049", "?l1049":
		s.alternate = name == "?h"
	case "?h2004", "?l2004": // pastes are marked
	case "?h2026", "?l2026":
		s.updating = name == "?h"
	default:
		n, err := strconv.Atoi(argument)
		switch {
		case name == "A" && err == nil:
			s.y = max(s.y-n, 0)
		case name != "m":
			s.wrong = append(s.wrong, "CSI "+argument+name)
		}
	}
}

func (s *screen) down() {
	if s.y++; s.y == s.rows {
		s.above = append(s.above, s.lines[0])
		s.lines = append(s.lines[1:], row{})
		s.y--
	}
}

func (s *screen) put(r rune) {
	width := 1
	switch {
	case unicode.Is(unicode.Mn, r):
		if cells := s.lines[s.y].cells; s.x > 0 && s.x <= len(cells) {
			at := s.x - 1
			for cells[at] == "" {
				at--
			}
			cells[at] += string(r)
		}
		return
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana), r == '、', r == 'ー', r >= 0x1f300:
		width = 2
	}
	if s.x+width > s.columns {
		s.wrong = append(s.wrong, "a line that is too long")
		s.lines[s.y].wrapped = true
		s.x = 0
		s.down()
	}
	l := &s.lines[s.y]
	for len(l.cells) < s.x+width {
		l.cells = append(l.cells, " ")
	}
	l.cells[s.x] = string(r)
	if width == 2 {
		l.cells[s.x+1] = ""
	}
	s.x += width
}

// resize changes the size as terminals do: either lines are cut off and nothing
// moves but what has to, or lines are wrapped anew and come back from above.
func (s *screen) resize(columns, rows int) {
	cursor := len(s.above) + s.y
	all := slices.Concat(s.above, s.lines)
	if s.reflow {
		all, cursor = rewrap(all, columns, cursor)
	} else {
		for i := range all[len(s.above):] {
			l := &all[len(s.above)+i]
			l.cells = l.cells[:min(len(l.cells), columns)]
		}
	}
	top := min(len(s.above), len(all))
	if s.reflow || cursor-top >= rows {
		top = max(cursor-rows+1, 0)
	}
	for len(all) < top+rows {
		all = append(all, row{})
	}
	s.columns, s.rows = columns, rows
	s.above, s.lines, s.x, s.y = all[:top:top], slices.Clone(all[top:top+rows]), min(s.x, columns-1), cursor-top
}

// rewrap breaks lines for another width, and says where the cursor's has gone.
func rewrap(all []row, columns, cursor int) ([]row, int) {
	var out []row
	var cells []string
	moved := 0
	for i, l := range all {
		if i == cursor {
			moved = len(out) + len(cells)/columns
		}
		cells = append(cells, l.cells...)
		if l.wrapped {
			continue
		}
		for len(cells) > columns {
			out = append(out, row{slices.Clone(cells[:columns]), true})
			cells = cells[columns:]
		}
		out = append(out, row{cells, false})
		cells = nil
	}
	return out, moved
}

func (s *screen) text() []string {
	var lines []string
	for _, l := range s.lines {
		lines = append(lines, strings.TrimRight(strings.Join(l.cells, ""), " "))
	}
	return lines
}
