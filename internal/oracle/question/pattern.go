package question

import (
	"slices"
	"strings"
	"sync"
)

// line is a line of a table: what each of its patterns gives. Patterns stand
// between commas, their words between blanks:
//
//	readme          the word, or its plural
//	read|write      one of these words
//	_               any word
//	...             any words, eight at most
//	^               where a clause begins
//	$               where a sentence ends
//	<name>          a word that looks like a name: see kinds
//	{do}            a word of a group: see groups
//
// A pattern does not reach across sentences, and counts once in a question. A line
// counts three times at most, so that no question is decided by its length; one
// that outweighs what a question is about counts once.
type line struct {
	points   Points
	patterns string
}

const (
	maxGap  = 8
	maxHits = 3
)

// hits is how often a line counts.
func (l line) hits() int {
	if max(l.points.Conversational, l.points.Action, -l.points.Action) >= pointsYou {
		return 1
	}
	return maxHits
}

// kinds are what patterns call the looks of a word.
var kinds = [...]string{
	isPlain:    "<plain>",
	isName:     "<name>",
	isSource:   "<source>",
	isDocument: "<document>",
	isPath:     "<path>",
	isFlag:     "<flag>",
	isNumber:   "<number>",
	isAddress:  "<address>",
	isProper:   "<proper>",
}

// groups are lists of words that patterns name. A name is in none.
var groups = sync.OnceValue(func() []group {
	return []group{
		{"{do}", verbs},
		{"{doing}", inflected(verbs, gerunds)},
		{"{done}", inflected(verbs, participles)},
		{"{setup}", setupVerbs},
		{"{tell}", tellingVerbs},
		{"{worked}", worked},
		{"{tech}", technologies},
	}
})

type group struct {
	name  string
	words map[string]bool
}

// table is lines, ready to be looked up by what their patterns begin with.
type table struct {
	lines   []line
	byFirst map[string][]*pattern
	count   int // of patterns
}

type pattern struct {
	id, line int
	head     bool   // a clause must begin there
	rest     []part // after the first, by which it is found
}

// part is one of several alternatives, a gap, or the end of a sentence.
type part struct {
	words    map[string]bool
	kinds    []kind
	groups   []group
	any      bool
	gap, end bool
}

// The tables take a megabyte, so they are made when the first question comes.
var (
	tables = sync.OnceValue(func() *table {
		return compile(aboutTalk, aboutDoing, aboutDocuments, aboutSource, aboutProject, aboutWorld)
	})
	wishes = sync.OnceValue(func() *table { return compile(aboutWishing) })
)

func compile(all ...[]line) *table {
	t := &table{byFirst: map[string][]*pattern{}}
	for _, lines := range all {
		for _, l := range lines {
			for text := range strings.SplitSeq(l.patterns, ",") {
				fields := strings.Fields(text)
				p := &pattern{id: t.count, line: len(t.lines), head: fields[0] == "^"}
				if p.head {
					fields = fields[1:]
				}
				for _, f := range fields[1:] {
					p.rest = append(p.rest, newPart(f))
				}
				for first := range strings.SplitSeq(fields[0], "|") {
					t.byFirst[first] = append(t.byFirst[first], p)
				}
				t.count++
			}
			t.lines = append(t.lines, l)
		}
	}
	return t
}

// knows reports whether a pattern begins with a word, or a group has it.
func (t *table) knows(word string) bool {
	_, ok := t.byFirst[word]
	return ok || technologies[word] || verbs[word]
}

func newPart(field string) part {
	switch field {
	case "_":
		return part{any: true}
	case "...":
		return part{gap: true}
	case "$":
		return part{end: true}
	}
	p := part{words: map[string]bool{}}
	for s := range strings.SplitSeq(field, "|") {
		if k := slices.Index(kinds[:], s); k >= 0 {
			p.kinds = append(p.kinds, kind(k))
		} else if i := slices.IndexFunc(groups(), func(g group) bool { return g.name == s }); i >= 0 {
			p.groups = append(p.groups, groups()[i])
		} else {
			p.words[s] = true
		}
	}
	return p
}

func (p *part) matches(w *word) bool {
	if p.any || slices.Contains(p.kinds, w.kind) {
		return true
	}
	if p.words[w.text] || w.singular != w.text && p.words[w.singular] || w.stem != w.text && p.words[w.stem] {
		return true
	}
	for _, g := range p.groups {
		if w.kind != isName && g.words[w.text] {
			return true
		}
	}
	return false
}

// firsts calls yield with all that a pattern for this word may begin with.
func (w word) firsts(yield func(string) bool) {
	if !yield(w.text) || w.singular != w.text && !yield(w.singular) || w.stem != w.text && !yield(w.stem) {
		return
	}
	if !yield(kinds[w.kind]) {
		return
	}
	for _, g := range groups() {
		if w.kind != isName && g.words[w.text] && !yield(g.name) {
			return
		}
	}
}

// points adds up what the lines give to a question.
func (t *table) points(q *question) Points {
	var sum Points
	counted := make([]bool, t.count)
	left := make([]int, len(t.lines))
	for i, l := range t.lines {
		left[i] = l.hits()
	}
	for i, w := range q.words {
		for first := range w.firsts {
			for _, p := range t.byFirst[first] {
				if p.head && !w.head || counted[p.id] || left[p.line] == 0 || !q.match(i, i+1, p.rest) {
					continue
				}
				counted[p.id] = true
				left[p.line]--
				sum = sum.plus(t.lines[p.line].points)
			}
		}
	}
	return sum
}

// match reports whether the words from i on, in the sentence of the word at start,
// are what parts say.
func (q *question) match(start, i int, parts []part) bool {
	if len(parts) == 0 {
		return true
	}
	inside := i < len(q.words) && q.words[i].sentence == q.words[start].sentence
	switch p := &parts[0]; {
	case p.end:
		return !inside
	case p.gap:
		for n := 0; n <= maxGap; n++ {
			if q.match(start, i+n, parts[1:]) {
				return true
			}
		}
		return false
	default:
		return inside && p.matches(&q.words[i]) && q.match(start, i+1, parts[1:])
	}
}
