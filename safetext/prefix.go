package safetext

import "unicode/utf8"

// Prefix returns the beginning of a text, of at most so many bytes, and whether that is all of it. It cuts no character in two.
func Prefix(s string, bytes int) (prefix string, whole bool) {
	bytes = max(bytes, 0)
	if len(s) <= bytes {
		return s, true
	}
	for back := 1; back < utf8.UTFMax && back <= bytes; back++ {
		start := bytes - back
		if !utf8.RuneStart(s[start]) {
			continue
		}
		if _, size := utf8.DecodeRuneInString(s[start:]); size > back {
			return s[:start], false
		}
		break
	}
	return s[:bytes], false
}
