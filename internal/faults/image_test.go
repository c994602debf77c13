package faults_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/ledger"
)

// images are copies of one box's directory, and what has to be in each.
type images struct {
	old     string // some time before
	killed  string // after kill -9, with events that no checkpoint covers
	stopped string // after a clean stop
	other   string // another box, with as many events

	key    string
	events [][]byte // of killed and of stopped
	items  []api.Work
}

const (
	imageItems = 16
	earlier    = 1000 // events before the old copy
	later      = 2900 // events at least after it
	burst      = 320  // events right before the kill: more than a segment of the log
)

// imageReason makes events large, so that the log has several segments.
var imageReason = strings.Repeat("Because it was asked for. ", 150)

// takeImages records events with the real program: large ones, so that the engine
// has several blocks; one with a blob; and the last ones right before a kill.
func takeImages(t *testing.T) *images {
	t.Helper()
	temp := t.TempDir()
	program, dir := build(t), filepath.Join(temp, "box")
	at := func(name string) string { return filepath.Join(temp, name, "box") }
	i := &images{old: at("old"), killed: at("killed"), stopped: at("stopped"), other: at("other")}
	w := &writer{dir: dir, reason: imageReason}
	w.up(t, program)
	w.begin(t)
	w.write(t, earlier)
	w.down(t, i.old)
	w.up(t, program)
	w.write(t, later)
	for {
		w.untilSealed(t)
		w.write(t, burst)
		if err := w.box.kill(); err != nil {
			t.Fatal(err)
		}
		if w.sealed(t) <= w.events-ledger.TileWidth {
			break
		}
		w.up(t, program) // the box has sealed meanwhile: once more
	}
	w.keep(t, i.killed)
	w.up(t, program)
	listed, err := w.client.List(t.Context(), "", api.From{})
	if err != nil {
		t.Fatal(err)
	}
	i.items = listed.Items
	w.down(t, i.stopped)
	if i.key, err = box.Dir(dir).Verifier(); err != nil {
		t.Fatal(err)
	}
	if i.events, err = verified(os.DirFS(box.Dir(dir).Archive("")), i.key); err != nil {
		t.Fatal(err)
	}
	if int64(len(i.events)) != w.events {
		t.Fatalf("%d events were acknowledged, and there are %d", w.events, len(i.events))
	}
	x := &writer{dir: filepath.Join(temp, "another"), reason: imageReason}
	x.up(t, program)
	x.begin(t)
	x.write(t, int(w.events-x.events))
	x.down(t, i.other)
	return i
}

// writer is the one client of a box. It counts what is acknowledged.
type writer struct {
	dir    string
	box    *process
	client *api.Client
	events int64
	reason string // of each event that is written
}

func (w *writer) up(t *testing.T, program string) {
	t.Helper()
	var err error
	if w.box, err = launch(t, program, w.dir); err == nil {
		err = w.box.listens()
	}
	if err != nil {
		t.Fatal(err)
	}
	token, err := box.Dir(w.dir).APIToken()
	if err != nil {
		t.Fatal(err)
	}
	w.client = api.NewClient(w.box.found.Address, token)
}

// down stops the box and keeps a copy of its directory.
func (w *writer) down(t *testing.T, as string) {
	t.Helper()
	w.client.Close()
	if err := w.box.stop(); err != nil {
		t.Fatal(err)
	}
	w.keep(t, as)
}

func (w *writer) keep(t *testing.T, as string) {
	t.Helper()
	if err := copyTree(as, w.dir); err != nil {
		t.Fatal(err)
	}
}

// sealed returns how many events the archive's checkpoint covers.
func (w *writer) sealed(t *testing.T) int64 {
	t.Helper()
	key, err := box.Dir(w.dir).Verifier()
	if err != nil {
		t.Fatal(err)
	}
	signed, err := os.ReadFile(filepath.Join(box.Dir(w.dir).Archive(""), ledger.CheckpointPath))
	if err != nil {
		t.Fatal(err)
	}
	c, err := ledger.OpenCheckpoint(signed, key)
	if err != nil {
		t.Fatal(err)
	}
	return c.Size
}

// untilSealed returns when the checkpoint covers everything.
func (w *writer) untilSealed(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); w.sealed(t) < w.events; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the box does not seal")
		}
	}
}

// begin adds the items, and hands in an output that is too large for an event.
func (w *writer) begin(t *testing.T) {
	t.Helper()
	for n := range imageItems {
		if _, err := w.client.Add(t.Context(), api.AddWork{ID: itemName(n), Title: "an item"}); err != nil {
			t.Fatal(err)
		}
	}
	g, err := w.client.Claim(t.Context(), api.Claim{Work: itemName(0), Actor: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := agentsig.NewExitSignal(g.Phase, agentsig.ExitCompleted).JSON()
	if err != nil {
		t.Fatal(err)
	}
	output := strings.Repeat("A line of a long transcript.\n", 4000) + string(exit) + "\n"
	if e, err := w.client.Emit(t.Context(), g.Session, []byte(output)); err != nil || !e.Accepted {
		t.Fatalf("%+v, %v", e, err)
	}
	w.events += imageItems + 2
}

func itemName(n int) string { return fmt.Sprintf("T-%d", n) }

// write records so many large events, on every item in turn.
func (w *writer) write(t *testing.T, events int) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var clients sync.WaitGroup
	for n := range imageItems {
		clients.Go(func() {
			for i := n; i < events && ctx.Err() == nil; i += imageItems {
				current, err := w.client.Work(ctx, itemName(n))
				next := agentsig.PhaseReview
				if current.Phase == next {
					next = agentsig.PhaseReadyForMerge
				}
				if err == nil {
					_, err = w.client.Override(ctx, itemName(n), api.Override{Phase: next, Reason: w.reason})
				}
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	clients.Wait()
	if err := context.Cause(ctx); err != nil {
		t.Fatal(err)
	}
	w.events += int64(events)
}

// closed stops a box, and says whether its state was what the events make, and
// whether everything is there.
func (i *images) closed(b *box.Box, dir box.Dir) error {
	listed, wrong := b.List("", api.From{})
	if d := cmp.Diff(i.items, listed.Items); d != "" && wrong == nil {
		wrong = fmt.Errorf("the items differ (-want +got):\n%s", d)
	}
	return errors.Join(wrong, b.Close(), i.whole(dir))
}

// whole says whether everything is in the archive of a box that was stopped.
func (i *images) whole(dir box.Dir) error {
	events, err := verified(os.DirFS(dir.Archive("")), i.key)
	if err != nil {
		return fmt.Errorf("the archive: %w", err)
	}
	return i.same(events)
}

func (i *images) same(events [][]byte) error {
	return errors.Join(continues(events, i.events), continues(i.events, events))
}
