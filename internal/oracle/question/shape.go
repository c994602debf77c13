package question

import (
	"path"
	"strings"
	"unicode"
)

// look tells what a chunk of text without blanks looks like.
func look(s string) kind {
	lower := strings.ToLower(s)
	switch {
	case brands[lower]:
		return isPlain
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"), strings.HasPrefix(lower, "www."):
		return isAddress
	case strings.HasPrefix(s, "-") && strings.Trim(s, "-") != "":
		return isFlag
	case looksLikeNumber(s):
		return isNumber
	case strings.Contains(s, "`"), statements[s]:
		return isName
	}
	if k := fileKind(lower); k != isPlain {
		return k
	}
	if looksLikeName(s) {
		return isName
	}
	return isPlain
}

// looksLikeNumber reports whether a text is made of digits and what stands beside
// them: 1,000, 2.4.0, 20%, v1.
func looksLikeNumber(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.Trim(s, "0123456789.,:%$€£+-/#v") == ""
}

// fileKind tells whether a text in lower case is the name of a file, and of which
// sort.
func fileKind(s string) kind {
	base := path.Base(s)
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	ending := strings.TrimPrefix(ext, ".")
	switch {
	case documentNames[stem] && s != stem,
		stem != "" && documentEndings[ending],
		strings.HasPrefix(s, "docs/"), strings.HasPrefix(s, "doc/"), strings.Contains(s, "/docs/"):
		return isDocument
	case sourceNames[base], stem != "" && sourceEndings[ending]:
		return isSource
	case looksLikePath(s):
		return isPath
	}
	return isPlain
}

// looksLikePath tells a path from two words with a stroke between them, such as
// and/or, w/o, km/h.
func looksLikePath(s string) bool {
	before, after, found := strings.Cut(s, "/")
	switch {
	case !found, pairs[s], len(s) < 3:
		return false
	case before == "", before == ".", before == "..", before == "~", strings.Contains(after, "/"):
		return true
	}
	return len(before) > 2 && (after == "" || len(after) > 2)
}

// looksLikeName reports whether a text is written as names in source are: with a
// hump, an underscore, brackets, or parts joined by a dot, :: or ->.
func looksLikeName(s string) bool {
	if strings.Contains(s, "::") || strings.Contains(s, "->") || strings.Contains(s, "()") {
		return true
	}
	letters, joined := 0, false
	var before rune
	for _, r := range s {
		switch {
		case unicode.IsLetter(r):
			joined = joined || unicode.IsUpper(r) && unicode.IsLower(before) || before == '.' && letters > 1
			letters++
		case r == '_':
			joined = true
		case strings.ContainsRune("([<=", r):
			return letters > 0
		case r != '.' && !unicode.IsDigit(r):
			return false
		}
		before = r
	}
	return joined && letters > 1
}
