package lua

import (
	"errors"
	"fmt"
	"strings"
)

// What a pattern may be at most.
const (
	maxPatternItems = 1000 // each can need a stack frame
	maxCaptures     = 32
)

// item is a part of a pattern.
type item struct {
	kind   itemKind
	repeat byte    // of a class: '*', '+', '-', '?', or 0 for once
	class  classes // of a class or frontier
	number int     // of a capture
	pair   [2]byte // of a balanced match
}

type itemKind uint8

const (
	itemClass itemKind = iota
	itemOpen           // a capture begins
	itemClose          // and ends
	itemPosition
	itemBack // what a capture has matched, again
	itemBalanced
	itemFrontier
	itemEnd // of the text
)

// classes is a set of bytes.
type classes [256 / 64]uint64

func (c *classes) add(b byte)      { c[b/64] |= 1 << (b % 64) }
func (c *classes) has(b byte) bool { return c[b/64]>>(b%64)&1 != 0 }

// pattern is a Lua pattern that was parsed.
type pattern struct {
	items    []item
	captures int
	anchored bool // at the beginning
}

var (
	errPatternEnds  = errors.New("malformed pattern (it ends too early)")
	errPatternLong  = fmt.Errorf("pattern too complex (more than %d parts)", maxPatternItems)
	errManyCaptures = fmt.Errorf("too many captures (more than %d)", maxCaptures)
)

func parsePattern(text string) (*pattern, error) {
	p := &pattern{}
	text, p.anchored = strings.CutPrefix(text, "^")
	var open []int
	for text != "" {
		if len(p.items) >= maxPatternItems {
			return nil, errPatternLong
		}
		it := item{}
		switch {
		case text == "$":
			it.kind, text = itemEnd, ""
		case text[0] == '(':
			if p.captures == maxCaptures {
				return nil, errManyCaptures
			}
			it.kind, it.number, text = itemOpen, p.captures, text[1:]
			p.captures++
			if strings.HasPrefix(text, ")") {
				it.kind, text = itemPosition, text[1:]
			} else {
				open = append(open, it.number)
			}
		case text[0] == ')':
			if len(open) == 0 {
				return nil, errors.New("invalid pattern capture")
			}
			it.kind, it.number, text = itemClose, open[len(open)-1], text[1:]
			open = open[:len(open)-1]
		default:
			var err error
			if it, text, err = p.parseItem(text, open); err != nil {
				return nil, err
			}
		}
		p.items = append(p.items, it)
	}
	if len(open) > 0 {
		return nil, errors.New("unfinished capture")
	}
	return p, nil
}

// parseItem reads a class with what repeats it, or one of %b, %f and %1 to %9.
func (p *pattern) parseItem(text string, open []int) (it item, rest string, err error) {
	if text[0] == '%' && len(text) > 1 {
		switch c := text[1]; {
		case c == 'b':
			if len(text) < 4 {
				return it, "", errors.New("malformed pattern (missing arguments to '%b')")
			}
			return item{kind: itemBalanced, pair: [2]byte{text[2], text[3]}}, text[4:], nil
		case c == 'f':
			if !strings.HasPrefix(text[2:], "[") {
				return it, "", errors.New("missing '[' after '%f' in pattern")
			}
			it.kind = itemFrontier
			it.class, rest, err = parseClass(text[2:])
			return it, rest, err
		case '0' <= c && c <= '9':
			n := int(c - '1')
			for _, o := range open {
				if o == n {
					n = -1
				}
			}
			if n < 0 || n >= p.captures {
				return it, "", fmt.Errorf("invalid capture index %%%c in pattern", c)
			}
			return item{kind: itemBack, number: n}, text[2:], nil
		}
	}
	if it.class, rest, err = parseClass(text); err != nil {
		return it, "", err
	}
	if rest != "" && strings.IndexByte("*+-?", rest[0]) >= 0 {
		it.repeat, rest = rest[0], rest[1:]
	}
	return it, rest, nil
}

// parseClass reads a single character, '.', %x or a set.
func parseClass(text string) (c classes, rest string, err error) {
	switch {
	case text[0] == '.':
		return classes{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}, text[1:], nil
	case text[0] == '%':
		if len(text) < 2 {
			return c, "", errPatternEnds
		}
		return namedClass(text[1]), text[2:], nil
	case text[0] != '[':
		c.add(text[0])
		return c, text[1:], nil
	}
	text, negated := strings.CutPrefix(text[1:], "^")
	for first := true; ; first = false {
		switch {
		case text == "":
			return c, "", errors.New("malformed pattern (missing ']')")
		case text[0] == ']' && !first:
			if negated {
				for i := range c {
					c[i] = ^c[i]
				}
			}
			return c, text[1:], nil
		case text[0] == '%':
			if len(text) < 2 {
				return c, "", errPatternEnds
			}
			named := namedClass(text[1])
			for i := range c {
				c[i] |= named[i]
			}
			text = text[2:]
		case len(text) > 2 && text[1] == '-' && text[2] != ']':
			for b := int(text[0]); b <= int(text[2]); b++ {
				c.add(byte(b))
			}
			text = text[3:]
		default:
			c.add(text[0])
			text = text[1:]
		}
	}
}

// namedClass returns the class of %a and its like; of a character that names none it is
// that character.
func namedClass(name byte) (c classes) {
	lower := name | 0x20
	var in func(b byte) bool
	switch lower {
	case 'a':
		in = isLetter
	case 'c':
		in = func(b byte) bool { return b < ' ' || b == 0x7f }
	case 'd':
		in = isDigit
	case 'g':
		in = func(b byte) bool { return '!' <= b && b <= '~' }
	case 'l':
		in = func(b byte) bool { return 'a' <= b && b <= 'z' }
	case 'p':
		in = func(b byte) bool { return '!' <= b && b <= '~' && !isLetter(b) && !isDigit(b) }
	case 's':
		in = func(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }
	case 'u':
		in = func(b byte) bool { return 'A' <= b && b <= 'Z' }
	case 'w':
		in = func(b byte) bool { return isLetter(b) || isDigit(b) }
	case 'x':
		in = func(b byte) bool { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }
	default:
		c.add(name)
		return c
	}
	for b := range 256 {
		if in(byte(b)) != (name != lower) {
			c.add(byte(b))
		}
	}
	return c
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isDigit(b byte) bool  { return '0' <= b && b <= '9' }

// span is what a capture has matched; the end of a position is -1.
type span struct{ start, end int }

// matcher tries a pattern on a text. Every step is counted, and counts for the quota:
// patterns can take exponentially many.
type matcher struct {
	*pattern
	text  string
	spans [maxCaptures]span
	count func(steps int)
	steps int
}

func (m *matcher) step(n int) {
	const batch = 1 << 10
	if m.steps += n; m.steps >= batch {
		m.count(m.steps)
		m.steps = 0
	}
}

// find returns the first match that begins at or after a place.
func (m *matcher) find(from int) (start, end int, ok bool) {
	for ; from <= len(m.text); from++ {
		if end := m.match(0, from); end >= 0 {
			return from, end, true
		}
		if m.anchored {
			break
		}
	}
	return 0, 0, false
}

// match matches the items from number i on at a place, and returns where the match ends,
// or -1. It calls itself for each item that can match in several ways.
func (m *matcher) match(i, at int) int {
	for ; i < len(m.items); i++ {
		m.step(1)
		switch it := &m.items[i]; it.kind {
		case itemOpen:
			m.spans[it.number].start = at
		case itemClose:
			m.spans[it.number].end = at
		case itemPosition:
			m.spans[it.number] = span{at, -1}
		case itemEnd:
			if at != len(m.text) {
				return -1
			}
		case itemFrontier:
			if it.class.has(m.byteAt(at-1)) || !it.class.has(m.byteAt(at)) {
				return -1
			}
		case itemBack:
			if at = m.back(it.number, at); at < 0 {
				return -1
			}
		case itemBalanced:
			if at = m.balanced(it.pair, at); at < 0 {
				return -1
			}
		case itemClass:
			if it.repeat != 0 {
				return m.repeated(i, at)
			}
			if !m.is(it, at) {
				return -1
			}
			at++
		}
	}
	return at
}

// repeated matches an item that can match several times, and those after it.
func (m *matcher) repeated(i, at int) int {
	it := &m.items[i]
	least, most := 0, len(m.text)-at
	switch it.repeat {
	case '+':
		least = 1
	case '?':
		most = min(most, 1)
	case '-':
		for ; ; at++ {
			m.step(1)
			if end := m.match(i+1, at); end >= 0 {
				return end
			}
			if !m.is(it, at) {
				return -1
			}
		}
	}
	n := 0
	for n < most && m.is(it, at+n) {
		m.step(1)
		n++
	}
	for ; n >= least; n-- {
		m.step(1)
		if end := m.match(i+1, at+n); end >= 0 {
			return end
		}
	}
	return -1
}

func (m *matcher) is(it *item, at int) bool { return at < len(m.text) && it.class.has(m.text[at]) }

// byteAt returns a byte of the text, which has zeros around it.
func (m *matcher) byteAt(at int) byte {
	if at < 0 || at >= len(m.text) {
		return 0
	}
	return m.text[at]
}

func (m *matcher) back(number, at int) int {
	s := m.spans[number]
	if s.end < 0 {
		return -1
	}
	m.step(1 + (s.end-s.start)/16)
	if !strings.HasPrefix(m.text[at:], m.text[s.start:s.end]) {
		return -1
	}
	return at + s.end - s.start
}

func (m *matcher) balanced(pair [2]byte, at int) int {
	if at >= len(m.text) || m.text[at] != pair[0] {
		return -1
	}
	depth := 1
	for at++; at < len(m.text); at++ {
		m.step(1)
		switch m.text[at] {
		case pair[1]:
			if depth--; depth == 0 {
				return at + 1
			}
		case pair[0]:
			depth++
		}
	}
	return -1
}
