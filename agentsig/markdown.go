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
// emphasis around it.
func isDelegation(line []byte, marker string) bool {
	const around = " \t-=*#_~[]<>"
	return string(bytes.TrimRight(bytes.TrimLeft(line, around), around+":")) == marker
}

// fence is an open code fence; its zero value is none.
type fence struct {
	char   byte
	length int
	indent int // how far the closing fence may be indented
}

// openFence reads a line that opens a fenced code block, as CommonMark has it:
// three or more backticks or tildes, indented by at most three blanks, with no
// backtick in the info string of a backtick fence. A list marker may stand
// before it.
func openFence(line []byte) (fence, bool) {
	start, columns := indentation(line)
	if columns > 3 {
		return fence{}, false
	}
	for marker := listMarker(line[start:]); marker > 0; marker = listMarker(line[start:]) {
		start += marker
	}
	if start == len(line) || line[start] != '`' && line[start] != '~' {
		return fence{}, false
	}
	f := fence{char: line[start], length: run(line[start:]), indent: start + 3}
	if f.length < 3 || f.char == '`' && bytes.IndexByte(line[start+f.length:], '`') >= 0 {
		return fence{}, false
	}
	return f, true
}

// closedBy reports whether a line closes the fence.
func (f fence) closedBy(line []byte) bool {
	start, columns := indentation(line)
	if columns > f.indent || start == len(line) || line[start] != f.char {
		return false
	}
	n := run(line[start:])
	return n >= f.length && isBlank(line[start+n:])
}

// listMarker returns the length of a list marker with its blanks, or 0.
func listMarker(b []byte) int {
	i := 0
	for i < len(b) && i < 9 && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	switch {
	case i == len(b):
		return 0
	case i == 0 && (b[0] == '-' || b[0] == '*' || b[0] == '+'):
	case i > 0 && (b[i] == '.' || b[i] == ')'):
	default:
		return 0
	}
	i++
	blanks := leadingBlanks(b[i:])
	if blanks == 0 || blanks > 4 {
		return 0
	}
	return i + blanks
}

// isQuote reports whether a line belongs to a block quote.
func isQuote(line []byte) bool {
	i, columns := indentation(line)
	return columns <= 3 && i < len(line) && line[i] == '>'
}

// indentation returns how many bytes a line is indented by, and how many
// columns that is: a tab goes to the next multiple of four.
func indentation(line []byte) (n, columns int) {
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

// tickRun is a run of backticks: bytes start to end, of which length count (a
// backslash before the run takes one of them away).
type tickRun struct{ start, end, length int }

// tickRuns appends the runs of b to dst.
func tickRuns(dst []tickRun, b []byte) []tickRun {
	for i := 0; ; {
		k := bytes.IndexByte(b[i:], '`')
		if k < 0 {
			return dst
		}
		i += k
		n := run(b[i:])
		if length := n - escapes(b[:i]); length > 0 {
			dst = append(dst, tickRun{i, i + n, length})
		}
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
		for j := i + 1; j < len(runs); j++ {
			if runs[j].length == runs[i].length {
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

// ticks are the backtick runs of a paragraph so far. A run opens inline code if
// a run of the same length follows in the paragraph; otherwise it is text. That
// can only be known at the paragraph's end.
type ticks struct {
	open []int // lengths of the runs since the last point that is outside inline code for certain
	full bool  // there were too many to tell
}

const maxTicks = 256

func (t *ticks) reset() { t.open, t.full = t.open[:0], false }

func (t *ticks) any() bool { return len(t.open) > 0 || t.full }

func (t *ticks) add(length int) {
	switch {
	case len(t.open) > 0 && t.open[0] == length:
		t.open = t.open[:0]
	case len(t.open) == maxTicks:
		t.full = true
	default:
		t.open = append(t.open, length)
	}
}

// enclose reports whether a point after the runs of t is inside inline code,
// given the lengths of the runs that follow it in the paragraph.
func (t *ticks) enclose(after []int) bool {
	if t.full {
		return true
	}
	for i := 0; i < len(t.open); i++ {
		if j := slices.Index(t.open[i+1:], t.open[i]); j >= 0 {
			i += 1 + j
		} else if slices.Contains(after, t.open[i]) {
			return true
		}
	}
	return false
}
