package agentsig

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Own is a line signal of a project's own: a name beside that of a kind. It leads
// to what the kind leads to, and to nothing else. What is left out is the kind's.
type Own struct {
	Name     string   `json:"name"`               // as DONE_FOR_TODAY: words in upper case, with underscores between them
	Kind     Kind     `json:"kind"`               // a kind of the line dialect
	Roles    []Role   `json:"roles,omitempty"`    // who may say it; some of those who may say the kind
	Argument string   `json:"argument,omitempty"` // the kind's, as "task"; or "none", if the kind's is the id that the agent was assigned
	Fields   []string `json:"fields,omitempty"`   // keys of the lines below it
}

// Extension is a vocabulary with signals of a project's own; [Extend] makes one.
// A nil Extension has none. It does not change, and may be used by many.
type Extension struct {
	entries []Entry
	byFirst [256][]*Entry
}

// NoOwnArgument is the argument of an [Own] signal that is its name alone.
const NoOwnArgument = "none"

// maxOwn bounds how many signals of its own a project has.
const maxOwn = 50

var ownName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)

// Extend returns the vocabulary with these signals as well, or all that is wrong
// with them.
func Extend(own ...Own) (*Extension, error) {
	if len(own) == 0 {
		return nil, nil
	}
	if len(own) > maxOwn {
		return nil, fmt.Errorf("there are %d signals of your own, and %d at most may be", len(own), maxOwn)
	}
	x := &Extension{}
	var errs []error
	for _, o := range own {
		e, err := x.entry(o)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", quote(o.Name), err))
			continue
		}
		x.entries = append(x.entries, e)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for i := range x.entries {
		e := &x.entries[i]
		first := e.Wire[0]
		if x.byFirst[first] == nil {
			x.byFirst[first] = slices.Clone(namesByLetter[first])
		}
		x.byFirst[first] = append(x.byFirst[first], e)
	}
	return x, nil
}

// Entries returns the signals of the project's own as rows of the vocabulary: Kind
// is the kind that each leads to, Wire its own name.
func (x *Extension) Entries() []Entry {
	if x == nil {
		return nil
	}
	return cloned(x.entries)
}

// entry makes a row of the vocabulary.
func (x *Extension) entry(o Own) (Entry, error) {
	kind := entryOf(o.Kind)
	switch {
	case len(o.Name) > 64 || !ownName.MatchString(o.Name):
		return Entry{}, errors.New("a name is words of upper case letters and digits with underscores between them, as DONE_FOR_TODAY, 64 bytes at most")
	case kind == nil || kind.Dialect != DialectLine:
		return Entry{}, fmt.Errorf("it leads to %s, which is no kind of line signal", quote(string(o.Kind)))
	}
	for _, known := range slices.Concat(vocabulary, x.entries) {
		if known.Dialect == DialectLine && looksLike(o.Name, known.Wire) {
			return Entry{}, fmt.Errorf("it is, or looks like, %s: call it something else", known.Wire)
		}
	}
	e := *kind
	e.Wire, e.own = o.Name, true
	for _, r := range o.Roles {
		if !slices.Contains(Roles(), r) || !kind.MayBeSaidBy(r) {
			return Entry{}, fmt.Errorf("the role %s may not say it: %s is said by %s", quote(string(r)), kind.Wire, saidBy(kind.Roles))
		}
	}
	if o.Roles != nil {
		e.Roles = slices.Clone(o.Roles)
	}
	switch named := kind.Argument == TaskArgument || kind.Argument == RequestArgument; {
	case o.Argument == "" || o.Argument == string(kind.Argument):
	case o.Argument == NoOwnArgument && (named || kind.Argument == NoArgument):
		e.Argument = NoArgument
	default:
		return Entry{}, fmt.Errorf("its argument can't be %s: that of %s is %s", quote(o.Argument), kind.Wire, argumentForms(kind))
	}
	if o.Fields != nil {
		e.Keys = nil
	}
	for _, f := range o.Fields {
		if !ownField.MatchString(f) || len(f) > maxKey {
			return Entry{}, fmt.Errorf("%s can't be a field: it is words of letters and digits, as Files Modified, %d bytes at most", quote(f), maxKey)
		}
		key := Key{Name: f, Type: TextKey}
		for _, k := range kind.Keys {
			if k.Name == f {
				key = k
			}
		}
		e.Keys = append(e.Keys, key)
	}
	return e, nil
}

var ownField = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*( [A-Za-z0-9-]+)*$`)

func saidBy(roles []Role) string {
	if roles == nil {
		return "anyone"
	}
	return join(roles)
}

func argumentForms(kind *Entry) string {
	switch kind.Argument {
	case NoArgument:
		return NoOwnArgument
	case TaskArgument, RequestArgument:
		return string(kind.Argument) + ", or " + NoOwnArgument
	}
	return string(kind.Argument)
}

// looksLike reports whether one name could be taken for another: the same but for
// two letters, or for what separates words; or one begins as the other, a word longer.
func looksLike(name, known string) bool {
	if first, _, ok := strings.Cut(known, ":"); ok && looksLike(name, first) {
		return true
	}
	a, b := seen.Replace(name), seen.Replace(known)
	return strings.HasPrefix(name, known+"_") || strings.HasPrefix(known, name+"_") || distance(a, b) <= 2
}

// seen folds what the eye takes for the same.
var seen = strings.NewReplacer("_", "", " ", "", ":", "", "0", "O", "1", "I", "L", "I", "5", "S")

// distance is how many letters have to be put in, left out or replaced to make one text of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			step := diagonal
			if a[i] != b[j] {
				step = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], step
		}
	}
	return row[len(b)]
}

// lines calls f with each line signal until it returns false.
func (x *Extension) lines(f func(*Entry) bool) {
	for i := range vocabulary {
		if e := &vocabulary[i]; e.Dialect == DialectLine && !f(e) {
			return
		}
	}
	if x == nil {
		return
	}
	for i := range x.entries {
		if !f(&x.entries[i]) {
			return
		}
	}
}

// names returns the line signals whose names may begin with a letter.
func (x *Extension) names(first byte) []*Entry {
	if x == nil || x.byFirst[first] == nil {
		return namesByLetter[first]
	}
	return x.byFirst[first]
}

// underscoreMatters reports whether a name may have its first underscore there.
func (x *Extension) underscoreMatters(text []byte, at int) bool {
	if underscoreMatters(text, at) {
		return true
	}
	if x == nil {
		return false
	}
	for i := range x.entries { // an entry is too large to be copied for each underscore
		e := &x.entries[i]
		from := at - strings.IndexByte(e.Wire, '_')
		if end := from + len(e.Wire); e.Terminal && from >= 0 && end <= len(text) && string(text[from:end]) == e.Wire {
			return true
		}
	}
	return false
}

// said is the signal that an entry's line is.
func (e *Entry) said(subject string) Signal {
	s := Signal{Kind: e.Kind, Subject: subject}
	if e.own {
		s.Name = e.Wire
	}
	return s
}
