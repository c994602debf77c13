package agentsig

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/safetext"
)

// plainLines passes over complete lines that neither hold anything nor change
// anything. This is where a scanner spends its time. Long input is looked at in
// blocks, and what is left of it, or short input, line by line.
func (s *Scanner) plainLines(c *cursor) {
	if s.delegation || s.largeObject || s.slow || s.opts.Own != nil || s.plainBlocks(c) {
		return
	}
	for {
		nl := bytes.IndexByte(c.w[c.i:min(len(c.w), c.i+maxLine)], '\n')
		if nl < 0 {
			return
		}
		end := c.i + nl + 1
		switch {
		case nl == 0 && s.fence.length == 0:
			s.endParagraph(c, end)
		case nextTag(c.w[:end], c.i) < end || nextUnderscore(c.w[:end], c.i) < end,
			!s.plainStart(c.w[c.i:], nl+1, false):
			return
		case c.w[c.i] == '{' && s.fence.length == 0:
			s.endParagraph(c, c.i)
		}
		s.line++
		c.i = end
	}
}

// The fast path looks at the text in blocks, and at eight bytes at a time: those
// of a word, each with its high bit for the answer. What that costs does not
// depend on the text, whereas to [bytes.IndexByte] a hit costs as much as some
// hundred bytes without one. The loops over the words of a block are written
// out, which makes them twice as fast.
const (
	blockSize = 64
	blockView = blockSize + 10 // with what is looked at behind the block

	each  = 0x0101010101010101 // times a byte: a word of that byte
	lows  = 0x7f * each
	highs = 0x80 * each
)

type view = *[blockView]byte

func word(b view, k int) uint64 { return binary.LittleEndian.Uint64(b[k:]) }

// plainBlocks is plainLines for what can be looked at in whole blocks. It
// reports whether it stopped at a line that may not be plain.
func (s *Scanner) plainBlocks(c *cursor) (stopped bool) {
	w, i, paragraph := c.w, c.i, -1
	partsEnd := i // behind the last block that may hold a part
	for base := i; base+blockView <= len(w) && !stopped; base += blockSize {
		b := view(w[base:])
		ends := newlines(b)
		if mayHoldPart(b) {
			partsEnd = base + blockSize
			if k := firstThatMatters(w, i, base); k >= 0 {
				ends &= 1<<k - 1
				stopped = true
			}
		}
	lines:
		for ; ends != 0; ends &= ends - 1 {
			end := base + bits.TrailingZeros64(ends)
			switch {
			case w[end] != '\n':
				continue
			case end == i:
				paragraph = end + 1
			case end-i >= maxLine, mayMatter((*[10]byte)(w[i:])) && !s.plainStart(w[i:], end+1-i, i >= partsEnd):
				stopped = true
				break lines
			case w[i] == '{':
				paragraph = i
			}
			s.line++
			i = end + 1
		}
	}
	if paragraph >= 0 && s.fence.length == 0 {
		s.endParagraph(c, paragraph)
	}
	c.i = i
	return stopped
}

// newlines returns where the newlines of a block stand, a bit for each byte. It
// takes 0x8a, which occurs in UTF-8, for a newline too.
func newlines(b view) uint64 {
	return ^(noNewline(word(b, 0)) | noNewline(word(b, 8))<<8 |
		noNewline(word(b, 16))<<16 | noNewline(word(b, 24))<<24 |
		noNewline(word(b, 32))<<32 | noNewline(word(b, 40))<<40 |
		noNewline(word(b, 48))<<48 | noNewline(word(b, 56))<<56)
}

// noNewline returns a bit for each byte of x that is no newline. The product
// moves the high bits of the bytes together.
func noNewline(x uint64) uint64 {
	return ((x&lows ^ '\n'*each) + lows) & highs * 0x0002040810204081 >> 56
}

// mayHoldPart reports whether a block may hold a part of something that matters
// in the middle of a line: a tag, a terminal line signal's name or the exit
// protocol's, or of the word protocol. It looks at every fourth place only.
func mayHoldPart(b view) bool {
	return isPart(b, 0) || isPart(b, 4) || isPart(b, 8) || isPart(b, 12) ||
		isPart(b, 16) || isPart(b, 20) || isPart(b, 24) || isPart(b, 28) ||
		isPart(b, 32) || isPart(b, 36) || isPart(b, 40) || isPart(b, 44) ||
		isPart(b, 48) || isPart(b, 52) || isPart(b, 56) || isPart(b, 60)
}

func isPart(b view, k int) bool {
	x := binary.LittleEndian.Uint32(b[k:])
	return parts[x*partHash>>partShift] == x
}

const (
	partHash  = 0x9e3780cf // one for which no two parts meet
	partShift = 32 - 10
)

// parts holds four parts, of four bytes each, of everything that mayHoldPart
// looks for. They follow each other, so that one of them stands at a
// fourth place wherever the whole stands.
var parts = func() (t [1 << (32 - partShift)]uint32) {
	add := func(part []byte) {
		x := binary.LittleEndian.Uint32(part)
		at := &t[x*partHash>>partShift]
		if *at != 0 && *at != x {
			panic("agentsig: two parts meet: choose another partHash")
		}
		*at = x
	}
	for i := range 4 {
		for _, name := range midLineNames() {
			add([]byte(name[strings.IndexByte(name, '_')-3+i:]))
		}
		add([]byte("rotocol"[i:]))
		for upper := range 1 << 4 { // a tag in any case
			for _, tag := range []string{openTag, closeTag[1:]} {
				part := []byte(tag[i : i+4])
				for k := range part {
					if upper>>k&1 != 0 && part[k] >= 'a' {
						part[k] -= 'a' - 'A'
					}
				}
				add(part)
			}
		}
	}
	return t
}()

// midLineNames returns the names that matter in the middle of a line.
func midLineNames() []string {
	names := []string{ExitProtocol}
	for i := range vocabulary {
		if e := &vocabulary[i]; e.Dialect == DialectLine && e.Terminal {
			names = append(names, e.Wire)
		}
	}
	return names
}

// firstThatMatters returns where in the block at w[base:], or right behind it,
// the first thing stands that matters in the middle of the lines from w[i] on,
// or -1.
func firstThatMatters(w []byte, i, base int) int {
	const around = 8 // no further does what matters reach from any of its parts
	from, to := max(i, base-around), min(len(w), base+blockSize+around)
	at := min(nextTag(w[:to], from), nextUnderscore(w[:to], from))
	if at == to {
		return -1
	}
	return max(0, at-base)
}

// mayMatter reports whether plainStart has to look at a line, by its first three
// letters.
func mayMatter(ln *[10]byte) bool {
	k, odd := firstLetter(binary.LittleEndian.Uint64(ln[:]))
	return odd || mayStart[0][ln[k]]&mayStart[1][ln[k+1]]&mayStart[2][ln[k+2]] != 0
}

// firstLetter returns where the first letter stands in the word that a line
// starts with, or any other character from '@' on; if there is none, that is 0.
// What stands before it is taken for decoration. It is odd if it may be more:
// if there is a control character in it, or a '>'.
func firstLetter(x uint64) (k int, odd bool) {
	letters := (x | x<<1) & highs
	before := (letters - 1) &^ letters
	noTab := (x&lows ^ '\t'*each) + lows
	quote := highs - (x&lows ^ '>'*each)
	control := ^x << 2
	return bits.TrailingZeros64(letters) / 8 % 8, (control&noTab|quote)&before&highs != 0
}

// mayStart[n] has bits for each byte that may be the nth letter of what matters
// at the start of a line: one for each first letter of a name, in either case.
// The three letters of a line may matter if they have a bit in common.
var mayStart = func() (t [3][256]uint16) {
	const (
		look   = 1 << 15 // the first letter has to be looked at, whatever follows
		unseen = 1 << 14 // a letter of a name, and then what the eye may not see
	)
	for c, class := range startClass {
		t[1][c], t[2][c] = look, look|unseen
		if c < ' ' || c >= 0x7f {
			t[1][c], t[2][c] = 0xffff, 0xffff
		}
		if class != startPlain && class != startLetter {
			t[0][c] = look
		}
	}
	bit := uint16(1)
	for c := 'A'; c <= 'Z'; c++ {
		names := namesByLetter[c]
		if c == rune(delegationStart[0]) {
			names = append(names, &Entry{Wire: delegationStart})
		}
		if c == rune(exitLinePrefix[0]) {
			names = append(slices.Clip(names), &Entry{Wire: exitLinePrefix})
		}
		for _, e := range names {
			for n := range t {
				t[n][e.Wire[n]] |= bit
				t[n][e.Wire[n]|0x20] |= bit
			}
			t[0][c] |= unseen
			t[0][c|0x20] |= unseen
		}
		if len(names) > 0 {
			bit <<= 1
		}
	}
	if bit >= unseen {
		panic("agentsig: names begin with too many letters")
	}
	return t
}()

// flatObject reports whether what stands between braces leads to the closing
// one even if it is not JSON, and can't make an exit record: nothing in it is
// nested, escaped or forbidden, every string is closed, and no member is named
// protocol. It may err to the safe side.
func flatObject(b []byte) bool {
	var nested, quotes uint64
	noControl, noP := uint64(highs), uint64(highs)
	rest := b
	for ; len(rest) > 8; rest = rest[8:] {
		x, next := binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[1:])
		letter := x & (0x5f * each)
		nested |= (letter + (0x80-'[')*each) &^ (letter + (0x80-'_')*each) // [\]^ and {|}~
		noQuote := ((x&lows ^ '"'*each) + lows) | x
		quotes ^= noQuote
		noControl &= x | x<<1 | x<<2
		noP &= noQuote | ((next&lows ^ 'p'*each) + lows)
	}
	odd := bits.OnesCount64(quotes&highs) % 2
	for _, c := range rest {
		switch {
		case c < ' ' || c >= '[' && c <= '^' || c >= '{':
			return false
		case c == '"':
			odd ^= 1
		}
	}
	if (nested|^noControl)&highs != 0 || odd != 0 {
		return false
	}
	return noP&highs == highs || !namesProtocol(b)
}

// plainStart reports whether nothing at the start of the line b[:n] matters,
// which has its newline. It may err to the safe side. The caller may know that
// the word protocol is not on the line.
func (s *Scanner) plainStart(b []byte, n int, noProtocol bool) bool {
	ln, k := b[:n], 0
	for startClass[ln[k]] == startDecoration {
		k++
	}
	if s.fence.length > 0 {
		return ln[k] != s.fence.char && (k > 0 || startClass[ln[k]] != startLetter || !mayStartName(ln))
	}
	switch startClass[ln[k]] {
	case startPlain:
		return true
	case startLetter:
		return !mayStartName(ln[k:])
	case startNewline:
		return !isBlank(trimCR(ln[:k]))
	}
	if ln[k] == '{' {
		return k > 0 || plainObject(ln[:n-1], n < len(b) && b[n] == '{', noProtocol)
	}
	if k == 0 || ln[k] < utf8.RuneSelf {
		return false
	}
	r, _ := utf8.DecodeRune(ln[k:])
	return r != utf8.RuneError && !safetext.Invisible(r) && lookAlike(r) == 0
}

// plainObject reports whether a line is a JSON object, or as good as one, that
// can't be an exit record. It may err to the safe side. The caller knows whether
// another object follows on the next line, as in a log. Then this one ends here,
// complete or broken, if the line ends with a brace: no object goes on with one
// right behind the other.
func plainObject(ln []byte, another, noProtocol bool) bool {
	ln = trimBlanks(trimCR(ln))
	if ln[len(ln)-1] != '}' {
		return false
	}
	if !another && flatObject(ln[1:len(ln)-1]) {
		return true
	}
	if bytes.IndexByte(ln, '\\') >= 0 || !noProtocol && bytes.Contains(ln, []byte("protocol")) {
		return false
	}
	var o object
	return another || o.feed(ln) == len(ln) && o.done
}

// What the first byte of a line can be.
const (
	startPlain      = iota
	startLetter     // the first letter of a name, in either case
	startDecoration // what can stand before a name or a marker
	startNewline
	startLook // what has to be looked at more closely
)

var startClass = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c < ' ' || c >= 0x7f:
			t[c] = startLook
		case bytes.IndexByte([]byte("`~>{"), byte(c)) >= 0:
			t[c] = startLook
		case bytes.IndexByte([]byte(" *_-=#[]<+.)0123456789"), byte(c)) >= 0:
			t[c] = startDecoration
		}
	}
	t['\t'], t['\r'], t['\n'] = startDecoration, startDecoration, startNewline
	for c, names := range namesByLetter {
		if names != nil {
			t[c] = startLetter
		}
	}
	t[delegationStart[0]], t[exitLinePrefix[0]] = startLetter, startLetter
	return t
}()

// mayStartName reports whether b, which ends with a newline, may start with a
// name or a delegation marker, exactly or in disguise, or announce an exit
// record. It may err to the safe side.
func mayStartName(b []byte) bool {
	if b[0] == delegationStart[0] || bytes.HasPrefix(b, []byte(exitLinePrefix)) {
		return true
	}
names:
	for _, e := range namesByLetter[b[0]] {
		for i := 1; i < len(e.Wire); i++ {
			switch c := b[i]; {
			case c < ' ' || c >= 0x7f || c == '\\', e.Wire[i] == ' ', e.Wire[i] == '_' && c == ' ': // as match reads it
				return true
			case c&^0x20 == e.Wire[i]&^0x20:
			default:
				continue names
			}
		}
		return true
	}
	return false
}

// nextTag returns where the next '<' stands that may begin a tag of ours, or
// len(w).
func nextTag(w []byte, from int) int {
	for {
		k := bytes.IndexByte(w[from:], '<')
		if k < 0 {
			return len(w)
		}
		from += k + 1
		b := w[from:]
		if len(b) > 0 && b[0] == '/' {
			b = b[1:]
		}
		if len(b) < 2 || b[0]|0x20 == 's' && b[1]|0x20 == 'i' {
			return from - 1
		}
	}
}

// nextUnderscore returns where the next underscore stands that matters, or
// len(w).
func nextUnderscore(w []byte, from int) int {
	for {
		k := bytes.IndexByte(w[from:], '_')
		if k < 0 {
			return len(w)
		}
		from += k + 1
		if underscoreMatters(w, from-1) {
			return from - 1
		}
	}
}
