package cli

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// withItems makes a box with so many work items, and returns its directory and the items' names.
func withItems(t *testing.T, n int) (dir string, names []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "box")
	b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		w, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: fmt.Sprint("item ", i)}, "")
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, w.ID)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, names
}

// opener opens the box whenever something is printed: whoever reads that may take for ever. It waits for a moment, as commands do: a process that another test
// is just starting has the directory open too until its program begins.
type opener struct {
	ctx context.Context
	dir string
	bytes.Buffer
	err error
}

func (o *opener) Write(p []byte) (int, error) {
	if o.err == nil {
		b, _, err := box.Open(o.ctx, box.Options{Dir: box.Dir(o.dir), Patience: openPatience})
		if o.err = err; err == nil {
			o.err = b.Close()
		}
	}
	return o.Buffer.Write(p)
}

// While a command prints, anybody can have the box.
func TestPrintsWithoutTheBox(t *testing.T) {
	t.Parallel()
	dir, names := withItems(t, 3)
	for _, line := range []string{
		"events", "events --json", "events --limit 2", "work list", "work list --json", "work list --limit 2", "work list --phase BLOCKED",
		"work show " + names[0], "runs", "runs --json", "status", "status --json", "inbox", "work show W-99999", "logs " + names[0],
	} {
		t.Run(line, func(t *testing.T) {
			o := &opener{ctx: t.Context(), dir: dir}
			Run(t.Context(), append(strings.Fields(line), "--dir", dir), command.Env{Out: o, Err: o})
			if o.err != nil || o.Len() == 0 {
				t.Errorf("%v\n%s", o.err, o)
			}
		})
	}
}

// Events that are held in parts are shown as one list.
func TestEventsInParts(t *testing.T) {
	t.Parallel()
	dir, names := withItems(t, 4)
	for limit, next := range map[int]uint64{0: 0, 1: 1, 3: 3, 4: 0, 5: 0} {
		for _, room := range []int{1, 500, heldBytes} {
			var out bytes.Buffer
			a := &app{Program: command.Program{Env: command.Env{Out: &out, Err: &out}}, dir: dir, home: t.TempDir()}
			got, err := a.showEvents(t.Context(), "", 0, limit, room)
			var shown []string
			for line := range strings.Lines(out.String()) {
				shown = append(shown, strings.Fields(line)[3])
			}
			want := names
			if limit > 0 {
				want = names[:min(limit, len(names))]
			}
			if err != nil || got != next || !slices.Equal(shown, want) {
				t.Errorf("limit %d, room for %d: next %d, %v\n%s", limit, room, got, err, &out)
			}
		}
	}
}
