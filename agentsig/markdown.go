package agentsig

import (
	"bytes"
	"slices"
)

// The lines around what an agent asks of an expert. What stands between them
// is meant for that expert.
const (
	delegationStart = "DELEGATION PROMPT START"
	delegationEnd   = "DELEGATION PROMPT END"
)

// isDelegation reports whether a line is the marker, with or without rules and
// emphasis around it. Indented or as a list item, it is only mentioned.
func isDelegation(line []byte, marker string) bool {
	const around = " \t-=*#_~[]<>"
	if leadingBlanks(line) > 0 || listMarker(line) > 0 {
		return false
	}
	return string(bytes.TrimRight(bytes.TrimLeft(line, around), around+":")) == marker
}

// fence is an open code fence; its zero value is none.
type fence struct {
	char    byte
	length  int
	content int // the column at which the list item's content begins that it stands in; 0 for none
}

// openFence reads a line that opens a fenced code block, as CommonMark has it:
// three or more backticks or tildes, indented by at most three columns, with no
// backtick in the info string of a backtick fence. List markers may stand
// before it.
func openFence(line []byte) (fence, bool) {
	start, columns := indentation(line, 0)
	if columns > 3 {
		return fence{}, false
	}
	f := fence{}
	for marker := listMarker(line[start:]); marker > 0; marker = listMarker(line[start:]) {
		blanks, after := indentation(line[start+marker:], columns+marker)
		if blanks == 0 || after-columns-marker > 4 {
			break
		}
		start, columns = start+marker+blanks, after
		f.content = columns
	}
	if start == len(line) || line[start] != '`' && line[start] != '~' {
		return fence{}, false
	}
	f.char, f.length = line[start], run(line[start:])
	if f.length < 3 || f.char == '`' && bytes.IndexByte(line[start+f.length:], '`') >= 0 {
		return fence{}, false
	}
	return f, true
}

// closedBy reports whether a line closes the fence.
func (f fence) closedBy(line []byte) bool {
	start, columns := indentation(line, 0)
	if columns < f.content || columns > f.content+3 || start == len(line) || line[start] != f.char {
		return false
	}
	n := run(line[start:])
	return n >= f.length && isBlank(line[start+n:])
}

// replacedBy reports whether a line ends the list item that the fence stands
// in, and opens a fence of its own.
func (f fence) replacedBy(line []byte) (fence, bool) {
	if _, columns := indentation(line, 0); columns >= f.content {
		return fence{}, false
	}
	return openFence(line)
}

// listMarker returns the length of a list marker that a blank follows, or 0.
func listMarker(b []byte) int {
	i := 0
	for i < len(b) && i < 9 && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	switch {
	case i+1 >= len(b) || b[i+1] != ' ' && b[i+1] != '\t':
		return 0
	case i == 0 && (b[0] == '-' || b[0] == '*' || b[0] == '+'), i > 0 && (b[i] == '.' || b[i] == ')'):
		return i + 1
	}
	return 0
}

// isQuote reports whether a line belongs to a block quote.
func isQuote(line []byte) bool {
	i, columns := indentation(line, 0)
	return columns <= 3 && i < len(line) && line[i] == '>'
}

// indentation returns how many blanks there are at the start of b, which stands
// at a column, and the column behind them: a tab goes to the next multiple of
// four.
func indentation(line []byte, from int) (n, columns int) {
	columns = from
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		columns++
		if line[n] == '\t' {
			columns = (columns + 3) / 4 * 4
		}
		n++
	}
	return n, columns
}

func leadingBlanks(b []byte) int {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

func isBlank(b []byte) bool { return leadingBlanks(b) == len(b) }

func trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// run returns how often b's first byte repeats at its start.
func run(b []byte) int {
	n := 1
	for n < len(b) && b[n] == b[0] {
		n++
	}
	return n
}

// tickRun is a run of backticks: bytes start to end of a line.
type tickRun struct {
	start, end int
	ticks
}

// ticks says what a run of backticks can do: close inline code that a run of so
// many opened, and open inline code. A backslash before the run takes one away
// from what it opens; inside inline code a backslash is just that.
type ticks struct{ closes, opens int }

// tickRuns appends the runs of b to dst.
func tickRuns(dst []tickRun, b []byte) []tickRun {
	for i := 0; ; {
		k := bytes.IndexByte(b[i:], '`')
		if k < 0 {
			return dst
		}
		i += k
		n := run(b[i:])
		dst = append(dst, tickRun{i, i + n, ticks{n, n - escapes(b[:i])}})
		i += n
	}
}

// escapes returns 1 if what follows b is escaped by a backslash.
func escapes(b []byte) int {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n % 2
}

// inCode reports whether a position of a line is inside inline code that opens
// and closes on that line, whose runs are given.
func inCode(runs []tickRun, at int) bool {
	for i := 0; i < len(runs) && runs[i].start < at; i++ {
		for j := i + 1; j < len(runs) && runs[i].opens > 0; j++ {
			if runs[j].closes == runs[i].opens {
				if runs[j].start > at {
					return true
				}
				i = j
				break
			}
		}
	}
	return false
}

// paragraph holds the backticks of a paragraph so far. A run opens inline code
// if a run of the same length follows in the paragraph; otherwise it is text.
// That can only be known at the paragraph's end.
type paragraph struct {
	open []ticks // the runs since the last point that is outside inline code for certain
	full bool    // there were too many to tell
}

const maxTicks = 256

func (p *paragraph) reset() { p.open, p.full = p.open[:0], false }

func (p *paragraph) any() bool { return len(p.open) > 0 || p.full }

func (p *paragraph) add(t ticks) {
	switch {
	case len(p.open) > 0 && p.open[0].opens == t.closes:
		p.open = p.open[:0]
	case len(p.open) == maxTicks:
		p.full = true
	case len(p.open) > 0 || t.opens > 0:
		p.open = append(p.open, t)
	}
}

// encloses reports whether a point after the runs of p is inside inline code,
// given the runs that follow it in the paragraph.
func (p *paragraph) encloses(after []ticks) bool {
	if p.full {
		return true
	}
	for i := 0; i < len(p.open); i++ {
		closes := func(t ticks) bool { return t.closes == p.open[i].opens }
		if p.open[i].opens == 0 {
			continue
		} else if j := slices.IndexFunc(p.open[i+1:], closes); j >= 0 {
			i += 1 + j
		} else if slices.ContainsFunc(after, closes) {
			return true
		}
	}
	return false
}
