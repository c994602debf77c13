package plan

import (
	"slices"
	"strings"
	"unicode"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// text returns the section as it is written, without the blank lines and
// thematic breaks around it.
func (s *section) text() string {
	said := func(n numbered) bool { return n.text != "" && !isRule(n.text) }
	first := slices.IndexFunc(s.lines, said)
	if first < 0 {
		return ""
	}
	last := len(s.lines)
	for !said(s.lines[last-1]) {
		last--
	}
	var lines []string
	for _, n := range s.lines[first:last] {
		lines = append(lines, n.text)
	}
	return strings.Join(lines, "\n")
}

// item is an item of a list, or a paragraph beside it.
type item struct {
	line   int
	lines  []string // without the blanks around them
	listed bool
}

// items reads the section as a list. What is indented below an item belongs to
// it, but for a checkbox: that is an item wherever it stands.
func (s *section) items() []item {
	var items []item
	content := 0 // the column in which the item's text begins
	apart := true
	for _, n := range s.lines {
		columns, text := indent(n.text)
		if text == "" || isRule(text) {
			apart = true
			continue
		}
		rest, marked := cutMarker(text)
		_, boxed := cutBox(rest)
		switch {
		case marked && (boxed || apart && columns < 2 || columns < content || len(items) == 0 || !items[len(items)-1].listed):
			items = append(items, item{n.line, []string{strings.TrimSpace(rest)}, true})
			content = columns + len(text) - len(strings.TrimLeft(rest, " \t"))
		case apart && columns < 2 || len(items) == 0:
			items = append(items, item{n.line, []string{strings.TrimSpace(text)}, false})
			content = 0
		default:
			last := &items[len(items)-1]
			last.lines = append(last.lines, strings.TrimSpace(text))
		}
		apart = false
	}
	return items
}

func (i item) text() string { return strings.TrimSpace(strings.Join(i.lines, " ")) }

func (s *section) criteria() []string {
	var criteria []string
	for _, i := range s.items() {
		text := i.text()
		if i.listed {
			text, _ = cutBox(text)
		}
		if text != "" {
			criteria = append(criteria, text)
		}
	}
	return criteria
}

// reading takes each item of a list as it is, and splits other lines at commas.
func (s *section) reading(errs *Errors) []string {
	var reading []string
	for _, i := range s.items() {
		parts := []string{i.text()}
		if !i.listed {
			parts = strings.Split(strings.Join(i.lines, ","), ",")
		}
		for _, part := range parts {
			part = cutTicks(strings.TrimSpace(part))
			said := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
			if !strings.ContainsFunc(part, said) || strings.EqualFold(part, "none") {
				continue
			}
			if _, isFence := openFence(part); isFence || looksBlocked("- "+part) {
				errs.add(i.line, "%s is nothing to read: name a file or a page", quote(part))
			}
			reading = append(reading, part)
		}
	}
	return reading
}

// blockers reads ids that are separated by commas or are items of a list.
func (s *section) blockers(errs *Errors) []blocker {
	var blockers []blocker
	seen := map[string]bool{}
	none := 0
	for _, n := range s.lines {
		text := strings.TrimSpace(n.text)
		if isRule(text) {
			continue
		}
		text, _ = cutMarker(text)
		for id := range strings.SplitSeq(text, ",") {
			id = cutTicks(strings.TrimSpace(id))
			switch {
			case id == "":
			case strings.EqualFold(id, "none"):
				none = n.line
			case !agentsig.ValidID(id):
				errs.add(n.line, "%s in Blocked By is no id: write ids with commas between them, or none", quote(id))
			case !seen[id]:
				seen[id] = true
				blockers = append(blockers, blocker{n.line, id})
			}
		}
	}
	if none > 0 && len(blockers) > 0 {
		errs.add(none, "Blocked By says none and %s: write one or the other", blockers[0].id)
	}
	return blockers
}
