package bt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clipped collects text that is safe to print, up to so many columns. Text that is longer
// ends in an ellipsis.
type clipped struct {
	text  []byte
	most  int
	used  int
	room  int // how much of the text leaves room for an ellipsis
	full  bool
	marks int // how many accents the last character has
}

// cut returns a text as it may be printed, in so many columns at most.
func cut(s string, columns int) string {
	c := &clipped{most: columns}
	c.add(s)
	return string(c.text)
}

// add appends text. Characters that can't be seen, that move others about, or that are none,
// are written as Go does, such as \x1b and \u202e.
func (c *clipped) add(s string) {
	for i := 0; i < len(s) && !c.full; {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			c.marks = 0
			c.put(fmt.Sprintf(`\x%02x`, s[i]), 4)
		case !c.visible(r):
			quoted := strconv.QuoteRuneToASCII(r)
			c.put(quoted[1:len(quoted)-1], len(quoted)-2)
		default:
			c.put(s[i:i+size], columnsOf(r))
		}
		i += size
	}
}

// visible reports whether a character may be printed as it is. Of a pile of accents only the
// first three are.
func (c *clipped) visible(r rune) bool {
	if !unicode.Is(unicode.M, r) {
		c.marks = 0
	} else if c.marks++; c.marks > 3 {
		return false
	}
	return strconv.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func (c *clipped) put(piece string, columns int) {
	if c.used+columns > c.most {
		c.text = append(c.text[:c.room], "…"...)
		c.full = true
		return
	}
	c.text = append(c.text, piece...)
	c.used += columns
	if c.used < c.most {
		c.room = len(c.text)
	}
}

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// value appends an argument's value.
func (c *clipped) value(value any) {
	if c.full {
		return
	}
	switch v := value.(type) {
	case nil:
		c.add("nil")
	case bool, int:
		c.add(fmt.Sprint(v))
	case float64:
		c.add(strconv.FormatFloat(v, 'g', -1, 64))
	case string:
		// A column takes 16 bytes at most: a character of four with three accents.
		c.add(`"` + quoting.Replace(v[:min(len(v), 16*c.most)]) + `"`)
	case []any:
		c.add("[")
		for i, x := range v {
			if c.full {
				return
			}
			c.add(either(i > 0, ", ", ""))
			c.value(x)
		}
		c.add("]")
	case map[string]any:
		c.add("{")
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if c.full {
				return
			}
			c.add(either(i > 0, ", ", "") + key + "=")
			c.value(v[key])
		}
		c.add("}")
	default:
		c.add(fmt.Sprintf("%T", v))
	}
}

// wide has the characters that take two columns: East Asian ones, and pictures.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x2329, 0x232a, 1}, {0x23e9, 0x23f3, 1}, {0x25fd, 0x25fe, 1}, {0x2600, 0x27bf, 1},
		{0x2b1b, 0x2b55, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xa960, 0xa97c, 1}, {0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1}, {0xfe10, 0xfe19, 1}, {0xfe30, 0xfe6f, 1}, {0xff01, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x16fe0, 0x18dff, 1}, {0x1aff0, 0x1b2ff, 1}, {0x1d300, 0x1d37f, 1}, {0x1f000, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

func columnsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// width is how many columns a text takes that [cut] has made.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}
