package toolbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const maxName = 64 // bytes of a tool's name, as the models' vendors have it

// reserved are the names of the built-in tools. A server never gets one, whether or not
// the tool is on: a name always means the same thing.
var reserved = []string{nameSearch, nameRead, nameFetch}

// assemble gives every tool its name and keeps as many as there may be. The lists are in
// the order of the servers' names.
func assemble(builtin []entry, lists []listing) (tools map[string]entry, warnings []string) {
	tools = map[string]entry{}
	for _, e := range builtin {
		e.ReadOnly = true
		tools[e.Name] = e
	}
	most := share(lists, maxTools-len(reserved))
	for _, l := range lists {
		warnings = append(warnings, l.warnings...)
		if n := len(l.tools); n > most {
			warnings = append(warnings, fmt.Sprintf("the MCP server %s has %d tools of which %d are used: there may be %d in all", quote(l.server), n, most, maxTools))
			l.tools = l.tools[:most]
		}
		for _, e := range l.tools {
			e.Name = unique(l.server, e.Name, func(name string) bool {
				_, taken := tools[name]
				return taken || slices.Contains(reserved, name)
			})
			tools[e.Name] = e
		}
	}
	return tools, warnings
}

// share returns how many tools each server may have so that all have no more than there
// may be: those with few keep them all, and those with many are cut to the same number.
func share(lists []listing, all int) int {
	for most := all; ; most-- {
		sum := 0
		for _, l := range lists {
			sum += min(len(l.tools), most)
		}
		if sum <= all {
			return most
		}
	}
}

// unique makes a name that models can use and no other tool has: the tool's own, or with
// the server's before it, or with a number after it.
func unique(server, tool string, taken func(string) bool) string {
	name := cleanName(tool)
	if !taken(name) {
		return name
	}
	name = cleanName(server + "_" + tool)
	for n, base := 2, name; taken(name); n++ {
		end := fmt.Sprintf("_%d", n)
		name = base[:min(len(base), maxName-len(end))] + end
	}
	return name
}

// cleanName puts an underscore for what may not stand in a name.
func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	return cmp.Or(s[:min(len(s), maxName)], "_")
}

// near returns up to three names that were perhaps meant by one that does not exist.
func near(name string, names []string) []string {
	name = strings.ToLower(cleanName(name))
	type candidate struct {
		name string
		away int
	}
	var found []candidate
	for _, n := range names {
		lower := strings.ToLower(n)
		away := distance(name, lower)
		if len(name) >= 4 && (strings.Contains(lower, name) || strings.Contains(name, lower)) {
			away = min(away, 1)
		}
		if away <= max(1, len(name)/4) {
			found = append(found, candidate{n, away})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.away - b.away })
	var result []string
	for _, c := range found[:min(3, len(found))] {
		result = append(result, c.name)
	}
	return result
}

// distance is how many characters have to be put in, left out or changed to make one name
// of the other. Both are short.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
