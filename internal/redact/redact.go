package redact

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Redactor replaces secrets in text. It may be used from several goroutines.
type Redactor struct {
	kinds  []compiled
	starts starts
	listed []listed
}

type compiled struct {
	kind
	re   *regexp.Regexp // anchored
	mark string
}

// listed is a pattern of the operator's, and the same with marks as a second
// thing to find, so that no match begins inside a mark.
type listed struct{ plain, orMark *regexp.Regexp }

const (
	markPattern = `\[redacted:[a-z0-9-]+\]`
	listedMark  = "[redacted:listed]"
)

var markStart = regexp.MustCompile(`\A` + markPattern)

// New returns a Redactor that knows the common kinds of secrets and the extra
// ones that an operator lists: regular expressions in Go's syntax, none of which
// may match empty text.
func New(extra []string) (*Redactor, error) {
	r := &Redactor{}
	for i, k := range kinds {
		r.kinds = append(r.kinds, compiled{k, regexp.MustCompile(`\A(?:` + k.pattern + `)`), "[redacted:" + k.name + "]"})
		r.starts.add(i, k)
	}
	for i, pattern := range extra {
		l, err := compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("secret pattern %d, %q: %w", i+1, pattern, err)
		}
		r.listed = append(r.listed, l)
	}
	return r, nil
}

var errMatchesEmpty = errors.New("it matches empty text, which is found everywhere: make it ask for at least one character")

func compile(pattern string) (listed, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return listed{}, err
	}
	if matchesEmpty(tree) {
		return listed{}, errMatchesEmpty
	}
	plain, err := regexp.Compile(pattern)
	if err != nil {
		return listed{}, err
	}
	orMark, err := regexp.Compile(markPattern + `|(?:` + pattern + `)`)
	return listed{plain, orMark}, err
}

// matchesEmpty says whether an expression can match without taking a character.
func matchesEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpNoMatch, syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return matchesEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || matchesEmpty(re.Sub[0])
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, matchesEmpty)
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !matchesEmpty(sub) })
	default: // empty, stars, question marks, and what only looks at its surroundings
		return true
	}
}

// A text in which something was found is gone through again, because a mark can
// bring out what was hidden by the secret: a token as the user of a URL whose
// password was taken. The limit is for listed patterns that never come to rest.
const maxRounds = 8

// Text returns s with every secret replaced by [redacted:<kind>], and s itself
// if there is none.
func (r *Redactor) Text(s string) string {
	for range maxRounds {
		before := s
		for _, l := range r.listed {
			s = l.redact(s)
		}
		s = r.known(s)
		if s == before {
			break
		}
	}
	return s
}

// Bytes is Text for bytes. It never changes b.
func (r *Redactor) Bytes(b []byte) []byte {
	if at, _ := next(&r.starts, b, 0); at < 0 && len(r.listed) == 0 {
		return b
	}
	before := string(b)
	s := r.Text(before)
	if s == before {
		return b
	}
	return []byte(s)
}

func (l listed) redact(s string) string {
	if !l.plain.MatchString(s) {
		return s
	}
	var out strings.Builder
	done := 0
	for _, m := range l.orMark.FindAllStringIndex(s, -1) {
		start, end := m[0], m[1]
		if start < done || isMark(s[start:end]) {
			continue
		}
		// A match that ends inside a mark takes the rest of it.
		if open := start + strings.LastIndexByte(s[start:end], '['); open >= start {
			end = max(end, open+len(markStart.FindString(s[open:])))
		}
		out.WriteString(s[done:start])
		out.WriteString(listedMark)
		done = end
	}
	out.WriteString(s[done:])
	return out.String()
}

func isMark(s string) bool { return s != "" && len(markStart.FindString(s)) == len(s) }
