package web

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// shade is text in one look: classes of the page's style, or none.
type shade struct{ Class, Text string }

// coloured takes apart what a program printed for a terminal. Colours and the like (SGR) become classes; what else a terminal would act
// upon is taken out, and text never is: what is concealed or overwritten there is shown here. The text is not safe to be shown as it is.
func coloured(text string) []shade { return new(look).colour(text) }

// colour does the same with text that goes on in a look.
func (l *look) colour(text string) (all []shade) {
	var held strings.Builder // what is in this look so far
	class, from := l.class(), 0
	flush := func() {
		if held.Len() > 0 {
			all = append(all, shade{class, held.String()})
			held.Reset()
		}
	}
	for i := 0; i < len(text); {
		n, sgr := escape(text[i:])
		if n == 0 {
			i++
			continue
		}
		held.WriteString(text[from:i])
		if sgr != "" {
			l.take(sgr[:len(sgr)-1])
			if next := l.class(); next != class {
				flush()
				class = next
			}
		}
		i += n
		from = i
	}
	held.WriteString(text[from:])
	flush()
	return all
}

// maxEscape is how long an escape may be, in bytes. What is longer is text.
const maxEscape = 4 << 10

// escape returns how long the escape is that a text begins with; 0 if it begins with none. Of one that sets the look it returns the
// parameters and the m.
func escape(text string) (n int, sgr string) {
	if len(text) < 2 || text[0] != '\x1b' {
		return 0, ""
	}
	text = text[:min(len(text), maxEscape)]
	switch text[1] {
	case '[':
		i := 2
		for i < len(text) && text[i] >= 0x20 && text[i] < 0x40 {
			i++
		}
		switch {
		case i == len(text) || text[i] < 0x40 || text[i] > 0x7e:
			return 0, ""
		case text[i] == 'm' && strings.Trim(text[2:i], "0123456789;:") == "":
			return i + 1, text[2 : i+1]
		}
		return i + 1, ""
	case ']', 'P', '_', '^', 'X': // a string, up to a bell or ESC \
		for i := 2; i < len(text); i++ {
			switch {
			case text[i] == '\a':
				return i + 1, ""
			case text[i] == '\x1b' && i+1 < len(text) && text[i+1] == '\\':
				return i + 2, ""
			case text[i] == '\n' || text[i] == '\x1b':
				return 0, "" // it has no end: it is text
			}
		}
		return 0, ""
	case '(', ')':
		if len(text) > 2 && text[2] > 0x20 && text[2] < utf8.RuneSelf {
			return 3, ""
		}
	case '=', '>', '7', '8', 'M', 'c':
		return 2, ""
	}
	return 0, ""
}

// look is how a terminal would show text.
type look struct {
	fore, back                         int // one more than the colour, of 16; 0 is the usual one
	bold, faint, italic, under, strike bool
	inverse                            bool
}

// class names the look.
func (l look) class() string {
	var all []string
	for _, c := range []struct {
		is   bool
		name string
	}{{l.bold, "bo"}, {l.faint, "fa"}, {l.italic, "it"}, {l.under, "un"}, {l.strike, "st"}, {l.inverse, "iv"}} {
		if c.is {
			all = append(all, c.name)
		}
	}
	if l.fore > 0 {
		all = append(all, "f"+strconv.Itoa((l.fore-1)%8))
	}
	if l.back > 0 {
		all = append(all, "b"+strconv.Itoa((l.back-1)%8))
	}
	return strings.Join(all, " ")
}

// take takes the parameters of an escape.
func (l *look) take(parameters string) {
	all := strings.Split(strings.ReplaceAll(parameters, ":", ";"), ";")
	for i := 0; i < len(all); i++ {
		n, _ := strconv.Atoi(all[i]) // nothing is 0, and what is too large is none that is known
		switch {
		case n == 0 && len(all[i]) < 4:
			*l = look{}
		case n == 1:
			l.bold = true
		case n == 2:
			l.faint = true
		case n == 3:
			l.italic = true
		case n == 4:
			l.under = true
		case n == 7:
			l.inverse = true
		case n == 9:
			l.strike = true
		case n == 22:
			l.bold, l.faint = false, false
		case n == 23:
			l.italic = false
		case n == 24:
			l.under = false
		case n == 27:
			l.inverse = false
		case n == 29:
			l.strike = false
		case n >= 30 && n < 38:
			l.fore = n - 30 + 1
		case n == 38:
			l.fore, i = extended(all, i)
		case n == 39:
			l.fore = 0
		case n >= 40 && n < 48:
			l.back = n - 40 + 1
		case n == 48:
			l.back, i = extended(all, i)
		case n == 49:
			l.back = 0
		case n >= 90 && n < 98:
			l.fore = n - 90 + 9
		case n >= 100 && n < 108:
			l.back = n - 100 + 9
		}
	}
}

// extended reads one of 256 colours, or one of its parts red, green and blue, from a place in parameters on. It returns the nearest one
// of 16, and the last place that it has read.
func extended(all []string, i int) (colour, last int) {
	number := func(at int) int {
		if at >= len(all) {
			return 0
		}
		n, _ := strconv.Atoi(all[at])
		return min(max(n, 0), 255)
	}
	switch {
	case number(i+1) == 5:
		n := number(i + 2)
		switch {
		case n < 16:
			return n + 1, i + 2
		case n >= 232:
			grey := 8 + (n-232)*10
			return nearest(grey, grey, grey), i + 2
		}
		n -= 16
		return nearest(n/36*51, n/6%6*51, n%6*51), i + 2
	case number(i+1) == 2:
		return nearest(number(i+2), number(i+3), number(i+4)), i + 4
	}
	return 0, i + 1
}

// nearest returns one more than the colour of eight that is most like it.
func nearest(red, green, blue int) int {
	strongest := max(red, green, blue)
	if strongest < 64 {
		return 1
	}
	colour := 0
	for bit, part := range []int{red, green, blue} {
		if part*3 >= strongest*2 {
			colour |= 1 << bit
		}
	}
	return colour + 1
}
