package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Action is what becomes of a file.
type Action string

// The actions.
const (
	Write        Action = "write"
	Replace      Action = "replace"
	Delete       Action = "delete"
	AddEntry     Action = "add entry"
	ReplaceEntry Action = "replace entry"
	DeleteEntry  Action = "delete entry"
	Leave        Action = "leave"
)

// Step is one change, or, with [Leave], something that is left as it is.
type Step struct {
	Path   string `json:"path"` // below the program's directory, with slashes
	Action Action `json:"action"`
	Why    string `json:"why,omitempty"` // something is left

	before, after []byte // nil: there is no such file
}

// Plan is what has to be done, in this order. An empty plan means that all is as it should be.
type Plan struct {
	Steps []Step
	made  []string // directories to make, the outer ones first
	empty []string // directories to remove at the end if they are empty, the inner ones first
}

// Changed reports whether the plan changes anything.
func (p Plan) Changed() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Action != Leave })
}

// Leaves reports whether the plan leaves something that was changed since it was installed.
func (p Plan) Leaves() bool { return leaves(p.Steps) }

func leaves(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Action == Leave })
}

// Found is what is in a program's directory, as far as an installation has to do with it: files and directories by their paths
// below it.
type Found struct {
	files map[string][]byte
	dirs  map[string]bool // "." is the directory itself
}

// Install plans an installation. It is refused as a whole if a file or an entry stands in the way that is not ours, or if the
// server was changed since it was installed. Another file that was changed is kept, and the plan says so: it must not stand in
// the way of narrower scopes.
func Install(w Wanted, f Found) (Plan, error) {
	l, err := w.layout()
	if err != nil {
		return Plan{}, err
	}
	old, err := readManifest(f.files[manifestName], l)
	if err != nil {
		return Plan{}, &RefusedError{[]string{named(manifestName, err)}}
	}
	next := manifest{Format: manifestFormat, Files: map[string][]string{}}
	var steps []Step
	refused := &RefusedError{}
	for _, p := range slices.Sorted(maps.Keys(l.files)) {
		next.Files[p] = []string{hash(l.files[p])}
		step, err := file(p, f.files[p], l.files[p], old)
		switch {
		case errors.Is(err, errChanged) && p != l.serves:
			next.Files[p] = old.Files[p]
			step = []Step{{Path: p, Action: Leave, Why: "it was changed since it was installed, and is kept"}}
		case err != nil:
			refused.Reasons = append(refused.Reasons, named(p, err))
		}
		steps = append(steps, step...)
	}
	for _, step := range outdated(old, l, f) {
		if step.Action == Leave {
			next.Files[step.Path] = old.Files[step.Path]
		}
		steps = append(steps, step)
	}
	if l.entry != "" {
		step, e, err := l.enter(f.files[l.entry], w.server(), old)
		if err != nil {
			refused.Reasons = append(refused.Reasons, named(l.entry, err))
		}
		next.Entry = e
		steps = append(steps, step...)
	}
	if len(refused.Reasons) > 0 {
		return Plan{}, refused
	}
	p := Plan{made: f.missing(append(slices.Sorted(maps.Keys(l.files)), l.entry, manifestName))}
	next.Dirs = p.made
	if old != nil {
		next.Dirs = append(slices.Clone(old.Dirs), slices.DeleteFunc(slices.Clone(p.made), func(d string) bool { return slices.Contains(old.Dirs, d) })...)
		slices.Sort(next.Dirs)
	}
	p.Steps = framed(f.files[manifestName], old.with(next), next, steps)
	return p, nil
}

// file plans one file of ours.
func file(p string, is, wanted []byte, old *manifest) ([]Step, error) {
	switch {
	case is == nil:
		return []Step{{Path: p, Action: Write, after: wanted}}, nil
	case bytes.Equal(is, wanted):
		return nil, nil
	case old.has(p, is):
		return []Step{{Path: p, Action: Replace, before: is, after: wanted}}, nil
	case old != nil && len(old.Files[p]) > 0:
		return nil, errChanged
	}
	return nil, errForeign
}

var (
	errChanged      = errors.New("it was changed since it was installed: move it away, or put it back as it was")
	errForeign      = errors.New("it is there, and signalbox did not install it: move it away")
	errChangedEntry = fmt.Errorf("its entry %s was changed since it was installed: take the entry out", Name)
	errForeignEntry = fmt.Errorf("it has an entry %s that signalbox did not install: take the entry out, or keep it and do without the plugin", Name)
)

// outdated plans what becomes of files that an earlier version installed and this one does not have.
func outdated(old *manifest, l layout, f Found) []Step {
	if old == nil {
		return nil
	}
	var steps []Step
	for _, p := range slices.Sorted(maps.Keys(old.Files)) {
		if _, wanted := l.files[p]; !wanted {
			steps = append(steps, away(p, f.files[p], old)...)
		}
	}
	return steps
}

// away plans that a file of ours goes.
func away(p string, is []byte, old *manifest) []Step {
	switch {
	case is == nil:
		return nil
	case old.has(p, is):
		return []Step{{Path: p, Action: Delete, before: is}}
	}
	return []Step{{Path: p, Action: Leave, Why: "it was changed since it was installed"}}
}

// enter plans the entry in a file of the user's.
func (l layout) enter(data []byte, s server, old *manifest) ([]Step, *entry, error) {
	text, there, _, err := l.keeping.find(data)
	if err != nil {
		return nil, nil, err
	}
	wanted, err := l.keeping.text(s)
	if err != nil {
		return nil, nil, err
	}
	e := &entry{Path: l.entry, Hashes: []string{hash(wanted)}}
	if old != nil && old.Entry != nil && data != nil {
		e.File, e.Parent = old.Entry.File, old.Entry.Parent
	}
	action := AddEntry
	switch {
	case there && text == wanted:
		return nil, e, nil
	case there && (old == nil || old.Entry == nil):
		return nil, nil, errForeignEntry
	case there && !slices.Contains(old.Entry.Hashes, hash(text)):
		return nil, nil, errChangedEntry
	case there:
		action = ReplaceEntry
	}
	after, made, err := l.keeping.put(data, s)
	e.File, e.Parent = e.File || data == nil, e.Parent || made
	return []Step{{Path: l.entry, Action: action, before: data, after: after}}, e, err
}

// framed puts the manifest around the steps: first it knows what was and what will be, so that an installation that is cut off
// can be done again or removed; then what is.
func framed(is []byte, during, next manifest, steps []Step) []Step {
	first, last := printed(during), printed(next)
	write := func(before, after []byte) []Step {
		switch {
		case bytes.Equal(before, after):
			return nil
		case before == nil:
			return []Step{{Path: manifestName, Action: Write, after: after}}
		}
		return []Step{{Path: manifestName, Action: Replace, before: before, after: after}}
	}
	if len(steps) == 0 {
		return write(is, last)
	}
	return slices.Concat(write(is, first), steps, write(first, last))
}

// missing returns the directories above these files that are not there, the outer ones first.
func (f Found) missing(files []string) []string {
	var dirs []string
	for _, p := range files {
		for dir := path.Dir(p); p != "" && !f.dirs[dir] && !slices.Contains(dirs, dir); dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs) // "." is before all others, and "a" before "a/b"
	return dirs
}

// Remove plans that what was installed goes. What was changed since is left, and the plan says so; the manifest knows it then
// for as long as it is there, so that it can be told, and removed once it is as it was.
func Remove(w Wanted, f Found) (Plan, error) {
	l, err := w.layout()
	if err != nil {
		return Plan{}, err
	}
	data := f.files[manifestName]
	old, err := readManifest(data, l)
	switch {
	case err != nil:
		return Plan{}, &RefusedError{[]string{named(manifestName, err)}}
	case old == nil:
		return Plan{}, ErrNotInstalled
	}
	var p Plan
	left := manifest{Format: manifestFormat, Files: map[string][]string{}, Dirs: old.Dirs, Removed: true}
	for _, name := range slices.Sorted(maps.Keys(old.Files)) {
		step := away(name, f.files[name], old)
		if leaves(step) {
			left.Files[name] = old.Files[name]
		}
		p.Steps = append(p.Steps, step...)
	}
	if old.Entry != nil {
		step, err := l.leave(f.files[l.entry], *old.Entry)
		if err != nil {
			return Plan{}, fmt.Errorf("%s", named(l.entry, err))
		}
		if leaves(step) {
			left.Entry = old.Entry
		}
		p.Steps = append(p.Steps, step...)
	}
	p.Steps = append(p.Steps, left.record(data)...)
	p.empty = slices.Clone(old.Dirs)
	slices.Sort(p.empty)
	slices.Reverse(p.empty)
	return p, nil
}

// record plans what becomes of the manifest after a removal: it stays while something is left.
func (m manifest) record(is []byte) []Step {
	if len(m.Files) == 0 && m.Entry == nil {
		return []Step{{Path: manifestName, Action: Delete, before: is}}
	}
	if after := printed(m); !bytes.Equal(is, after) {
		return []Step{{Path: manifestName, Action: Replace, before: is, after: after}}
	}
	return nil
}

// leave plans that the entry goes out of a file of the user's.
func (l layout) leave(data []byte, e entry) ([]Step, error) {
	text, there, more, err := l.keeping.find(data)
	why := ""
	switch {
	case err != nil:
		why = fmt.Sprintf("%v; its entry %s, if it has one, is left", err, Name)
	case !there:
		return nil, nil
	case !slices.Contains(e.Hashes, hash(text)):
		why = fmt.Sprintf("its entry %s was changed since it was installed; take it out yourself", Name)
	case more:
		why = fmt.Sprintf("something was added to its entry %s; take both out yourself", Name)
	}
	if why != "" {
		return []Step{{Path: l.entry, Action: Leave, Why: why}}, nil
	}
	after, empty, err := l.keeping.take(data, e.Parent)
	if err == nil && empty && e.File {
		return []Step{{Path: l.entry, Action: Delete, before: data}}, nil
	}
	return []Step{{Path: l.entry, Action: DeleteEntry, before: data, after: after}}, err
}

func named(p string, err error) string { return safetext.Escape(p) + ": " + err.Error() }
