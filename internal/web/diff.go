package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// How much of a diff is shown.
const (
	maxDiff      = 1 << 20 // bytes
	maxDiffLines = 20_000
)

// shownDiff is a diff as it is shown. What it does not show is said: nobody accepts that without a word.
type shownDiff struct {
	Files          []shownFile
	Added, Removed int64
	Unseen         []string // why something can't be seen here, a sentence each
	Raw            string   // the diff as git wrote it, if it can't be taken apart
}

type shownFile struct {
	Name   string
	Was    string // its name before, if that was another
	Notes  []string
	Hunks  []shownHunk
	Binary bool

	Added, Removed int64
}

type shownHunk struct {
	Head  string
	Lines []shownLine
}

type shownLine struct {
	Kind     string // add, del, or empty
	Old, New int64  // the line's number; 0 if it is in none
	Text     string
	At       string // path:line, which a comment begins with; empty if the line is gone
}

// parseDiff takes a diff apart. Cut says that it is not whole. A diff of which a part would not be found among the files is shown as
// git wrote it: nothing is left out quietly.
func parseDiff(text []byte, cut bool) (d shownDiff) {
	files, _, err := gitdiff.Parse(bytes.NewReader(text))
	heads := bytes.Count(text, []byte("\n"+fileHead))
	if bytes.HasPrefix(text, []byte(fileHead)) {
		heads++
	}
	if !cut && (err != nil || heads != len(files)) || heads < len(files) || len(files) == 0 && len(bytes.TrimSpace(text)) > 0 {
		d.Raw, files = string(text), nil
	}
	lines := 0
	for _, f := range files {
		shown, n := showFile(f, maxDiffLines-lines)
		lines += n
		d.Files = append(d.Files, shown)
		d.Added, d.Removed = d.Added+shown.Added, d.Removed+shown.Removed
		if f.IsBinary {
			d.Unseen = append(d.Unseen, shown.Name+" is binary: what it holds is not shown")
		}
	}
	if cut || lines > maxDiffLines {
		d.Unseen = append(d.Unseen, "the diff is longer than is shown here: `signalbox diff` has all of it")
	}
	return d
}

// fileHead begins each file in git's format, and no line of a file: those have a sign before them.
const fileHead = "diff --git "

// showFile shows the changes of a file, with so many lines at most.
func showFile(f *gitdiff.File, most int) (shown shownFile, lines int) {
	shown = shownFile{Name: cmp.Or(f.NewName, f.OldName), Binary: f.IsBinary}
	switch {
	case f.IsNew:
		shown.Notes = append(shown.Notes, "new")
	case f.IsDelete:
		shown.Notes = append(shown.Notes, "deleted")
	case f.IsRename || f.IsCopy:
		shown.Was = f.OldName
	}
	switch {
	case f.NewMode != 0 && f.OldMode != 0 && f.NewMode != f.OldMode:
		shown.Notes = append(shown.Notes, fmt.Sprintf("mode %o to %o", f.OldMode, f.NewMode))
	case f.IsNew && f.NewMode != 0o100644:
		shown.Notes = append(shown.Notes, fmt.Sprintf("mode %o", f.NewMode))
	}
	for _, t := range f.TextFragments {
		shown.Added, shown.Removed = shown.Added+t.LinesAdded, shown.Removed+t.LinesDeleted
		if lines >= most {
			continue
		}
		h := shownHunk{Head: strings.TrimSpace(fmt.Sprintf("@@ -%d,%d +%d,%d @@ %s", t.OldPosition, t.OldLines, t.NewPosition, t.NewLines, t.Comment))}
		from, to := t.OldPosition, t.NewPosition
		for _, l := range t.Lines {
			if lines++; lines > most {
				break
			}
			line := shownLine{Text: strings.TrimSuffix(l.Line, "\n")}
			switch l.Op {
			case gitdiff.OpAdd:
				line.Kind, line.New = "add", to
				to++
			case gitdiff.OpDelete:
				line.Kind, line.Old = "del", from
				from++
			default:
				line.Old, line.New = from, to
				from, to = from+1, to+1
			}
			if line.New > 0 {
				line.At = fmt.Sprintf("%s:%d", shown.Name, line.New)
			}
			h.Lines = append(h.Lines, line)
		}
		shown.Hunks = append(shown.Hunks, h)
	}
	return shown, lines
}

// diffs keeps the last diffs that were looked at. They are of commits, which never change.
type diffs struct {
	mu  sync.Mutex
	all []keptDiff // the latest last
}

type keptDiff struct {
	base, commit string
	diff         shownDiff
}

const maxKept = 8

// of returns what a person is shown of a task, as a diff.
func (k *diffs) of(ctx context.Context, s api.Sight, write func(context.Context, api.Sight, io.Writer) error) (shownDiff, error) {
	commit := cmp.Or(s.Merge, s.Commit)
	k.mu.Lock()
	for _, kept := range k.all {
		if kept.base == s.Base && kept.commit == commit {
			k.mu.Unlock()
			return kept.diff, nil
		}
	}
	k.mu.Unlock()
	var text beginning
	if err := write(ctx, s, &text); err != nil && !text.over {
		return shownDiff{}, err
	}
	d := parseDiff(text.text.Bytes(), text.over)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, keptDiff{s.Base, commit, d})
	k.all = k.all[max(0, len(k.all)-maxKept):]
	return d, nil
}

// beginning takes so much, and then no more.
type beginning struct {
	text bytes.Buffer // not embedded: its other methods know no limit
	over bool
}

var errEnough = errors.New("there is more than can be taken")

func (b *beginning) Write(p []byte) (int, error) {
	if room := maxDiff - b.text.Len(); len(p) > room {
		b.over = true
		_, _ = b.text.Write(p[:room])
		return room, errEnough
	}
	return b.text.Write(p)
}
