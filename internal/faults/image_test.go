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

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// image is a copy of a box's directory, and what has to be in it.
type image struct {
	dir       string
	old       string // the same box some time before
	other     string // another box
	elsewhere bool   // the archive lies outside of the directory
	split     bool   // the log lies outside of the archive
	mirror    string // where the log is written too; "" for nowhere

	key    string
	events [][]byte
	sealed int64      // how many of them the checkpoint covers
	items  []api.Work // nil if they are not compared
	left   []string   // items that have left memory
}

const (
	imageItems = 16
	earlier    = 400 // events before the old copy
	recent     = 500 // events at least after it
	burst      = 320 // events right before the kill: more than a segment of the log
	tallEvents = 65_800
	overEvents = 12_000
)

// imageReason makes events large, so that the log has several segments.
var imageReason = strings.Repeat("Because it was asked for. ", 150)

// takeImages records events with the real program:
//
//	killed     after kill -9, with a snapshot from before, and events that no checkpoint covers
//	stopped    the same box, after a clean stop
//	young      after kill -9 in its first life: there never was a snapshot
//	tall       after a clean stop, with so many events that tiles of level 1 are full
//	evicted    after a clean stop, with so many items that are completed that some have left memory
//	elsewhere  as stopped, with the archive on another disk
//	mirrored   as young, with a mirror of the log
//	split      as stopped, with the log on another disk
//	strayed    as young, with the archive on another disk
func takeImages(t *testing.T) map[string]*image {
	t.Helper()
	temp := t.TempDir()
	program, dir := build(t), filepath.Join(temp, "box")
	at := func(name string) string { return filepath.Join(temp, name, "box") }
	w := &writer{dir: dir, reason: imageReason}
	w.up(t, program)
	w.begin(t)
	w.write(t, earlier)
	w.down(t, at("old"))
	w.up(t, program)
	w.write(t, recent)
	w.killUnsealed(t, program, burst, ledger.TileWidth)
	w.keep(t, at("killed"))
	sealed := w.sealed(t)
	w.up(t, program)
	items := w.list(t)
	w.down(t, at("stopped"))
	x := &writer{dir: filepath.Join(temp, "another"), reason: imageReason}
	x.up(t, program)
	x.begin(t)
	x.write(t, int(w.events-x.events))
	x.down(t, at("other"))

	stopped := image{dir: at("stopped"), old: at("old"), other: at("other"), items: items, sealed: w.events}
	stopped.read(t, dir, w.events)
	killed, elsewhere, split := stopped, stopped, stopped
	split.split = true
	killed.dir, killed.sealed = at("killed"), sealed
	elsewhere.elsewhere = true
	young := takeYoung(t, program, temp, false)
	strayed := *young
	strayed.elsewhere = true
	return map[string]*image{
		"killed": &killed, "stopped": &stopped, "young": young, "elsewhere": &elsewhere, "strayed": &strayed, "split": &split,
		"mirrored": takeYoung(t, program, temp, true),
		"tall":     takeFilled(t, temp, program, "tall", tallEvents, agentsig.PhaseDraft),
		"evicted":  takeFilled(t, temp, program, "evicted", overEvents, agentsig.PhaseCompleted),
	}
}

// takeYoung kills a box that was never stopped, and that may have a mirror.
func takeYoung(t *testing.T, program, temp string, mirrored bool) *image {
	t.Helper()
	home := filepath.Join(temp, fmt.Sprint("first-", mirrored))
	dir := filepath.Join(home, "box")
	i := &image{dir: filepath.Join(home, "young", "box"), old: filepath.Join(temp, "old", "box"), other: filepath.Join(temp, "other", "box")}
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if mirrored {
		i.mirror = filepath.Join(home, "young", "mirror")
		settings := "archive:\n  mirror: " + filepath.Join(home, "mirror") + "\n"
		if err := os.WriteFile(filepath.Join(home, "signalbox.yaml"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := &writer{dir: dir, reason: imageReason}
	w.up(t, program)
	w.begin(t)
	w.killUnsealed(t, program, imageItems, 1)
	w.keep(t, i.dir)
	if mirrored {
		if err := copyTree(i.mirror, filepath.Join(home, "mirror")); err != nil {
			t.Fatal(err)
		}
	}
	i.sealed = w.sealed(t)
	w.up(t, program)
	i.items = w.list(t)
	w.client.Close()
	if err := w.box.stop(); err != nil {
		t.Fatal(err)
	}
	i.read(t, dir, w.events)
	return i
}

// takeFilled writes an archive of many small events past the box: items that were added in a phase.
func takeFilled(t *testing.T, temp, program, name string, events int, phase agentsig.Phase) *image {
	t.Helper()
	dir := filepath.Join(temp, name, "box")
	if err := os.Mkdir(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	w := &writer{dir: dir}
	w.up(t, program)
	w.begin(t)
	w.down(t, filepath.Join(temp, name+".begun"))
	if err := os.RemoveAll(filepath.Join(temp, name+".begun")); err != nil {
		t.Fatal(err)
	}
	size := fillUp(t, box.Dir(dir), events, phase)
	w.up(t, program)
	w.client.Close()
	if err := w.box.stop(); err != nil {
		t.Fatal(err)
	}
	i := &image{dir: dir, other: filepath.Join(temp, "other", "box"), sealed: size}
	if phase == agentsig.PhaseCompleted {
		for n := 25; n <= 5000; n += 25 { // so many that every part of the index with names and records is read
			i.left = append(i.left, fmt.Sprintf("F-%d", n))
		}
	}
	i.read(t, dir, size)
	return i
}

// keysOf reads the keys of a box.
func keysOf(dir box.Dir) (keys archive.Keys, err error) {
	for name, key := range map[string]*string{"signer.key": &keys.Signer, "verifier.key": &keys.Verifier} {
		data, readErr := os.ReadFile(filepath.Join(string(dir), name))
		*key, err = strings.TrimSpace(string(data)), errors.Join(err, readErr)
	}
	return keys, err
}

// fillUp adds items to an archive, and returns how many events it has then.
func fillUp(t *testing.T, dir box.Dir, size int, phase agentsig.Phase) int64 {
	t.Helper()
	keys, err := keysOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(archive.Dir(dir.Archive("")), keys)
	if err == nil {
		_, err = a.Start(t.Context(), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	stored, err := a.Event(0)
	if err != nil {
		t.Fatal(err)
	}
	event, err := ledger.Decode(stored)
	if err != nil {
		t.Fatal(err)
	}
	for at := int(a.Size()); at < size; {
		var batch [][]byte
		for ; len(batch) < 1000 && at < size; at++ {
			batch = append(batch, filling(t, event, at, phase)...)
		}
		if _, err := a.Append(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return a.Size()
}

// filling returns the events of an item: one that adds it, and one that moves it on if it is to be in
// another phase.
func filling(t *testing.T, e ledger.Event, n int, phase agentsig.Phase) [][]byte {
	t.Helper()
	encode := func() []byte {
		stored, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	e.Subject, e.Key = fmt.Sprintf("%026d", n), fmt.Sprintf("filled-%d", n)
	e.Payload = fmt.Appendf(nil, `{"id":"F-%d","phase":"DRAFT","title":"an item"}`, n)
	added := encode()
	if phase == agentsig.PhaseDraft {
		return [][]byte{added}
	}
	e.Type, e.Key, e.ItemSeq, e.Prev = work.WorkOverridden, "", 2, ledger.Sum(added)
	e.Payload = fmt.Appendf(nil, `{"from":"DRAFT","next_phase":"%s","reason":"it is done"}`, phase)
	return [][]byte{added, encode()}
}

// read takes what has to be there from a box that was stopped.
func (i *image) read(t *testing.T, dir string, events int64) {
	t.Helper()
	var err error
	if i.key, err = box.Dir(dir).Verifier(); err != nil {
		t.Fatal(err)
	}
	if i.events, err = verified(os.DirFS(box.Dir(dir).Archive("")), i.key); err != nil {
		t.Fatal(err)
	}
	if int64(len(i.events)) != events {
		t.Fatalf("%d events were acknowledged, and there are %d", events, len(i.events))
	}
}

// copy puts a copy of the image below a directory, as box; the archive or the log below disk, if it
// lies elsewhere; and the mirror, if there is one.
func (i *image) copy(to string) error {
	dir := filepath.Join(to, "box")
	if i.mirror != "" {
		if err := copyTree(filepath.Join(to, "mirror"), i.mirror); err != nil {
			return err
		}
	}
	if err := copyTree(dir, i.dir); err != nil {
		return err
	}
	disk := filepath.Join(to, "disk")
	move := func(from, as, note string) error {
		return errors.Join(os.Mkdir(disk, 0o700), os.Rename(filepath.Join(dir, from), filepath.Join(disk, as)),
			os.WriteFile(filepath.Join(dir, note), []byte(filepath.Join(disk, as)+"\n"), 0o600))
	}
	switch {
	case i.elsewhere:
		return move("archive", "archive", "archive.path")
	case i.split:
		return move("archive/log", "log", "segments.path")
	}
	return nil
}

// options returns how a box is started on a copy.
func (i *image) options(dir string) box.Options {
	o := box.Options{Dir: box.Dir(dir)}
	if i.mirror != "" {
		o.Mirror = filepath.Join(filepath.Dir(dir), "mirror")
	}
	return o
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

// list returns the items.
func (w *writer) list(t *testing.T) []api.Work {
	t.Helper()
	listed, err := w.client.List(t.Context(), "", api.From{})
	if err != nil {
		t.Fatal(err)
	}
	return listed.Items
}

// killUnsealed records so many events and kills the box before a checkpoint covers the last ones.
func (w *writer) killUnsealed(t *testing.T, program string, events int, unsealed int64) {
	t.Helper()
	for {
		w.untilSealed(t)
		w.write(t, events)
		if err := w.box.kill(); err != nil {
			t.Fatal(err)
		}
		if w.sealed(t) <= w.events-unsealed {
			return
		}
		w.up(t, program) // the box has sealed meanwhile: once more
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
