package plan

import (
	"slices"
	"strings"
)

// Names of a task's sections.
const (
	nameWork        = "Work"
	nameCriteria    = "Acceptance Criteria"
	nameBlockedBy   = "Blocked By"
	nameReading     = "Required Reading"
	nameEnvironment = "Environment"
)

// indent returns the columns of the blanks that a line begins with, and the rest.
func indent(s string) (columns int, rest string) {
	for i := range len(s) {
		switch s[i] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return columns, s[i:]
		}
	}
	return columns, ""
}

// block returns what a line that may be structure says: one that is indented by
// less than a code block is.
func block(s string) (string, bool) {
	columns, rest := indent(s)
	return rest, columns < 4
}

// heading reads a heading with its level, without the #s that may close it.
func heading(s string) (level int, text string, ok bool) {
	s, ok = block(s)
	text = strings.TrimLeft(s, "#")
	level = len(s) - len(text)
	if !ok || level < 1 || level > 6 || text != "" && text[0] != ' ' && text[0] != '\t' {
		return 0, "", false
	}
	for {
		open := strings.TrimRight(text, "#")
		if open == text || open != "" && !strings.HasSuffix(open, " ") && !strings.HasSuffix(open, "\t") {
			return level, strings.TrimSpace(text), true
		}
		text = strings.TrimSpace(open)
	}
}

// label reads the beginning of a section, with what stands behind it.
func label(s string) (name, rest string, ok bool) {
	s, ok = block(s)
	if !ok {
		return "", "", false
	}
	level, text, isHeading := heading(s)
	if isHeading && level < 4 {
		return "", "", false
	}
	for _, name := range []string{nameWork, nameCriteria, nameBlockedBy, nameReading, nameEnvironment} {
		forms := []string{"**" + name + "**:", "**" + name + ":**", name + ":"}
		alone := "**" + name + "**"
		if isHeading {
			s, forms, alone = text, []string{name + ":"}, name
		}
		if s == alone {
			return name, "", true
		}
		for _, form := range forms {
			if rest, ok := strings.CutPrefix(s, form); ok {
				return name, strings.TrimSpace(rest), true
			}
		}
	}
	return "", "", false
}

// looksBlocked reports whether a person would take a line for the beginning of
// Blocked By, however it is written.
func looksBlocked(s string) bool {
	bare := strings.TrimLeft(s, " \t")
	text := strings.TrimLeft(bare, " \t-+*_#>")
	n := len(nameBlockedBy)
	if len(text) < n || !strings.EqualFold(text[:n], nameBlockedBy) {
		return false
	}
	rest := strings.TrimLeft(text[n:], " \t*_")
	return strings.HasPrefix(rest, ":") || rest == "" && text != bare
}

// isRule reports whether a line is a thematic break, such as people put between
// tasks.
func isRule(s string) bool {
	s = strings.Join(strings.Fields(s), "")
	return len(s) >= 3 && strings.IndexByte("-*_", s[0]) >= 0 && strings.Trim(s, s[:1]) == ""
}

// fence is an open code fence; its zero value is none.
type fence struct {
	char   string
	length int
}

// openFence reads a line that opens fenced code, at any depth of a list.
func openFence(s string) (fence, bool) {
	for {
		_, s = indent(s)
		rest, ok := cutMarker(s)
		if !ok {
			break
		}
		s = rest
	}
	if s == "" || s[0] != '`' && s[0] != '~' {
		return fence{}, false
	}
	info := strings.TrimLeft(s, s[:1])
	f := fence{s[:1], len(s) - len(info)}
	if f.length < 3 || f.char == "`" && strings.Contains(info, "`") {
		return fence{}, false
	}
	return f, true
}

// closedBy reports whether a line closes the fence.
func (f fence) closedBy(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) >= f.length && strings.Trim(s, f.char) == ""
}

// cutMarker takes the marker of a list item off a line that begins with one.
func cutMarker(s string) (string, bool) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits == len(s) || digits > 9 {
		return s, false
	}
	end := "-*+"
	if digits > 0 {
		end = ".)"
	}
	rest := s[digits+1:]
	if !strings.Contains(end, s[digits:digits+1]) || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return s, false
	}
	return rest, true
}

// cutBox takes the checkbox off an item.
func cutBox(s string) (string, bool) {
	s = strings.TrimSpace(s)
	for _, box := range []string{"[ ]", "[x]", "[X]"} {
		if rest, ok := strings.CutPrefix(s, box); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
			return strings.TrimSpace(rest), true
		}
	}
	return s, false
}

// cutTicks takes the backticks off a text that is inline code and nothing else.
func cutTicks(s string) string {
	inner := strings.TrimLeft(s, "`")
	n := len(s) - len(inner)
	ticks := s[:n]
	inner, ok := strings.CutSuffix(inner, ticks)
	if n == 0 || !ok || slices.Contains(tickRuns(inner), n) || strings.HasSuffix(inner, "`") {
		return s
	}
	return strings.TrimSpace(inner)
}

// tickRuns returns the lengths of the runs of backticks in a text.
func tickRuns(s string) []int {
	var runs []int
	for {
		i := strings.IndexByte(s, '`')
		if i < 0 {
			return runs
		}
		rest := strings.TrimLeft(s[i:], "`")
		runs = append(runs, len(s)-i-len(rest))
		s = rest
	}
}
