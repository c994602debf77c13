package redact

import (
	"math/bits"
	"strings"
)

// starts says which kinds can begin with a byte, by its place among the first
// three: one bit for each kind.
type starts [3][256]uint64

func (t *starts) add(i int, k kind) {
	for _, prefix := range k.prefixes {
		for place := range t {
			if place >= len(prefix) {
				for c := range t[place] {
					t[place][c] |= 1 << i
				}
				continue
			}
			t[place][prefix[place]] |= 1 << i
			if k.fold {
				t[place][strings.ToUpper(prefix)[place]] |= 1 << i
			}
		}
	}
}

// next finds the first place from there on where a kind may begin, and which
// kinds; the place is negative if there is none. Ordinary text costs no more
// than this.
func next[T string | []byte](t *starts, s T, from int) (at int, which uint64) {
	for i := from; i+2 < len(s); i++ {
		if which := t[0][s[i]] & t[1][s[i+1]] & t[2][s[i+2]]; which != 0 {
			return i, which
		}
	}
	return -1, 0
}

// known replaces the secrets of the table.
func (r *Redactor) known(s string) string {
	var out strings.Builder
	done := 0
	for i, which := next(&r.starts, s, 0); i >= 0; i, which = next(&r.starts, s, i) {
		start, end, mark := r.secretAt(s, i, which, i == done)
		if mark == "" {
			i++
			continue
		}
		out.WriteString(s[done:start])
		out.WriteString(mark)
		done, i = end, end
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// secretAt finds the secret of one of the kinds whose prefix is at s[i:]. First
// says that nothing comes before it, or a mark.
func (r *Redactor) secretAt(s string, i int, which uint64, first bool) (start, end int, mark string) {
	for ; which != 0; which &= which - 1 {
		k := &r.kinds[bits.TrailingZeros64(which)]
		if !k.begins(s[i:]) || !first && !k.edge.allows(s[:i]) {
			continue
		}
		m := k.re.FindStringSubmatchIndex(s[i:])
		if m == nil {
			continue
		}
		start, end = i+m[len(m)-2], i+m[len(m)-1]
		if start > 0 && s[start-1] == '\\' {
			start++ // \npm_… may be a line break and pm_…: the escape stays whole
		}
		if !isMark(s[start:end]) {
			return start, end, k.mark
		}
	}
	return 0, 0, ""
}

func (k *kind) begins(s string) bool {
	for _, prefix := range k.prefixes {
		if strings.HasPrefix(s, prefix) || k.fold && len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
			return true
		}
	}
	return false
}

// allows says whether a secret may come after this text, which is not empty.
func (e edge) allows(before string) bool {
	last := before[len(before)-1]
	switch {
	case e == anywhere:
		return true
	case last == '-' || last == '_':
		return e != token
	case isAlnum(last):
		return endsEscape(before)
	default:
		return true
	}
}

// endsEscape says whether the letter or digit at the end of a text belongs to an
// escape: \n, \u0026, %3D, or a terminal's colour.
func endsEscape(s string) bool {
	at := func(back int, c byte) bool { return len(s) >= back && s[len(s)-back] == c }
	switch {
	case at(2, '\\'), at(3, '%'), at(6, '\\') && at(5, 'u'):
		return true
	case at(1, 'm'):
		code := s[max(0, len(s)-12) : len(s)-1]
		return strings.HasSuffix(strings.TrimRight(code, "0123456789;"), "[")
	default:
		return false
	}
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
