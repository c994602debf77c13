package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

const ninetyDays = 90 * 24 * time.Hour

// keeper is a box that keeps outputs for ninety days, and the test's clock.
type keeper struct {
	*Box
	t     *testing.T
	dir   Dir
	later *atomic.Int64 // how far the clock is ahead
}

func newKeeper(t *testing.T) *keeper {
	k := &keeper{t: t, dir: Dir(t.TempDir()), later: &atomic.Int64{}}
	k.open()
	t.Cleanup(func() { closeBox(t, k.Box) })
	return k
}

func (k *keeper) open() {
	k.t.Helper()
	b, _, err := Open(k.t.Context(), Options{
		Dir: k.dir, Keep: ninetyDays, ExitEnabled: true,
		Now: func() time.Time { return time.Now().Add(time.Duration(k.later.Load())) },
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.Box = b
}

func (k *keeper) reopen() {
	k.t.Helper()
	closeBox(k.t, k.Box)
	k.open()
}

// pass lets time pass.
func (k *keeper) pass(d time.Duration) { k.later.Add(int64(d)) }

// long is an output that is too long for an event.
func (k *keeper) long(words string) []byte {
	k.t.Helper()
	exit, err := agentsig.NewExitSignal(agentsig.PhaseImplementation, agentsig.ExitCompleted).JSON()
	if err != nil {
		k.t.Fatal(err)
	}
	return append([]byte(strings.Repeat(words+"\n", maxInline/len(words))), append(exit, '\n')...)
}

// say has a session say something on an item, which is completed then if that is asked for. It returns the
// blob.
func (k *keeper) say(id, words string, completed bool) ledger.Blob {
	k.t.Helper()
	if _, err := k.Add(k.t.Context(), work.OperatorActor, api.AddWork{ID: id, Title: "a title", Phase: agentsig.PhaseImplementation}, ""); err != nil {
		k.t.Fatal(err)
	}
	g, err := k.Claim(k.t.Context(), api.Claim{Work: id, Actor: "ann"}, "")
	if err != nil {
		k.t.Fatal(err)
	}
	text := k.long(words)
	if e, err := k.Emit(g.Session, text, ""); err != nil || !e.Accepted {
		k.t.Fatal(e, err)
	}
	if completed {
		k.complete(id)
	}
	return ledger.NewBlob(text)
}

func (k *keeper) complete(id string) {
	k.t.Helper()
	if _, err := k.Override(work.OperatorActor, id, api.Override{Phase: agentsig.PhaseCompleted, Reason: "so be it"}, ""); err != nil {
		k.t.Fatal(err)
	}
}

// remove looks at the whole ledger for outputs to remove.
func (k *keeper) remove() {
	k.t.Helper()
	if err := k.removeBlobs(k.t.Context(), 0, k.archive.Sealed()); err != nil {
		k.t.Fatal(err)
	}
}

// scrubbed scrubs the whole archive.
func (k *keeper) scrubbed(when string) {
	k.t.Helper()
	if _, err := k.archive.Scrub(k.t.Context(), 0, k.archive.Sealed(), k.state.removedAfter); err != nil {
		k.t.Errorf("%s the scrub finds: %v", when, err)
	}
}

func (k *keeper) there(blob ledger.Blob) bool {
	_, err := os.Stat(filepath.Join(k.dir.Archive(""), filepath.FromSlash(ledger.BlobPath(blob.SHA256))))
	return err == nil
}

// removals returns what the ledger says was removed, by event.
func (k *keeper) removals() (all [][]ledger.RemovedBlob) {
	k.t.Helper()
	err := k.archive.Entries(0, func(_ int64, stored []byte) error {
		e, err := ledger.Decode(stored)
		if err != nil || e.Type != ledger.TypeBlobRemoved {
			return err
		}
		p, err := ledger.ParseBlobRemoved(e.Payload)
		if e.Subject != housekeeping || e.Actor != work.BoxActor || !strings.Contains(p.Reason, "older than 90 days") {
			k.t.Errorf("%s by %s on %s: %s", e.Type, e.Actor, e.Subject, p.Reason)
		}
		all = append(all, p.Removed)
		return err
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return all
}

func (k *keeper) verify() archive.Verified {
	k.t.Helper()
	v, err := archive.Verify(k.t.Context(), archive.Dir(k.dir.Archive("")), k.keys.Verifier)
	if err != nil {
		k.t.Fatal(err)
	}
	return v
}

// Outputs of what is over go when they are old, and nothing else does.
func TestOutputsAreRemoved(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	over, open := k.say("T-1", "over", true), k.say("T-2", "open", false)
	shared := k.say("T-3", "said by two", true)
	if again := k.say("T-4", "said by two", false); again != shared {
		t.Fatal("the two said something else")
	}
	question := strings.Repeat("why? ", maxInline)
	c, err := k.Ask(t.Context(), work.OperatorActor, api.Ask{Question: question}, "")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Repeat("because. ", maxInline)
	if _, err := k.Signalled(c.ID, api.Signalled{Turn: 1, Type: agentsig.KindNeedTurn, At: time.Unix(0, 0), RawXML: words}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Answered(c.ID, api.Answered{Outcome: conversation.OutcomeAnswered}, ""); err != nil {
		t.Fatal(err)
	}
	asked, said := ledger.NewBlob([]byte(question)), ledger.NewBlob([]byte(words))
	letGo(t, k.Box)
	k.pass(ninetyDays - time.Hour)
	if k.remove(); !k.there(over) || len(k.removals()) > 0 {
		t.Fatal("an output is removed before its time")
	}
	k.pass(2 * time.Hour)
	young := k.say("T-5", "young", true)
	letGo(t, k.Box)
	k.remove()
	for name, c := range map[string]struct {
		blob  ledger.Blob
		stays bool
	}{
		"an output of what is over": {over, false}, "what a model said": {said, false},
		"an output of what is open": {open, true}, "what an open item says too": {shared, true}, "a young one": {young, true}, "a question": {asked, true},
	} {
		if k.there(c.blob) != c.stays {
			t.Errorf("%s is there: %t", name, !c.stays)
		}
	}
	if r := k.removals(); len(r) != 1 || len(r[0]) != 2 {
		t.Errorf("the ledger says of the removals: %v", r)
	}
	k.scrubbed("in memory,")
	if letGo(t, k.Box); len(k.state.removed) != 0 {
		t.Error("what was removed stays in memory")
	}
	k.scrubbed("from the index,")
	if v := k.verify(); v.Removed != 2 {
		t.Errorf("verify finds %d removed blobs", v.Removed)
	}
	k.complete("T-4")
	letGo(t, k.Box)
	if k.remove(); k.there(shared) {
		t.Error("what was said by two is not removed when both are over")
	}
	for _, again := range []func(){k.reopen, func() {
		closeBox(t, k.Box)
		if err := errors.Join(os.Remove(k.dir.path(snapshotFile)), os.RemoveAll(k.dir.path(indexDir))); err != nil {
			t.Fatal(err)
		}
		k.open()
	}} {
		again()
		k.scrubbed("after a start,")
		if k.remove(); len(k.removals()) != 2 {
			t.Errorf("after a start the ledger says of the removals: %v", k.removals())
		}
		if w, err := k.Work("T-1"); err != nil || w.Phase != agentsig.PhaseCompleted {
			t.Errorf("what has no output any more is shown as %+v: %v", w, err)
		}
	}
}

// The scrub's own rounds remove outputs, and a box that keeps everything removes none.
func TestScrubRemovesOutputs(t *testing.T) {
	t.Parallel()
	for _, keep := range []time.Duration{0, ninetyDays} {
		synctest.Test(t, func(t *testing.T) {
			k := &keeper{t: t, dir: Dir(t.TempDir()), later: &atomic.Int64{}}
			k.open()
			blob := k.say("T-1", "over", true)
			closeBox(t, k.Box)
			old := time.Now().Add(-100 * 24 * time.Hour)
			if err := os.Chtimes(filepath.Join(k.dir.Archive(""), filepath.FromSlash(ledger.BlobPath(blob.SHA256))), old, old); err != nil {
				t.Fatal(err)
			}
			b, _, err := Open(t.Context(), Options{Dir: k.dir, Keep: keep, ExitEnabled: true})
			if err != nil {
				t.Fatal(err)
			}
			k.Box = b
			defer closeBox(t, b)
			for day := range 95 {
				time.Sleep(24 * time.Hour)
				if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: fmt.Sprint("D-", day), Title: "a day", Phase: agentsig.PhaseImplementation}, ""); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if k.there(blob) != (keep == 0) {
				t.Errorf("after 95 days, with outputs kept for %v, one is there: %t", keep, k.there(blob))
			}
			k.scrubbed("after 95 days")
		})
	}
}

// A box that ended after it had said that an output is removed, and before it was, removes it later.
func TestRemovalIsFinished(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	blob := k.say("T-1", "over", true)
	letGo(t, k.Box)
	said := removal{ledger.BlobRemoved{Removed: []ledger.RemovedBlob{ledger.RemovedBlob(blob)}, Reason: "older than 90 days"}}
	if _, err := ofHousekeeping.record(k.Box, housekeeping, "", said); err != nil {
		t.Fatal(err)
	}
	k.reopen()
	if !k.there(blob) {
		t.Fatal("a start removes")
	}
	k.pass(ninetyDays + time.Hour)
	letGo(t, k.Box)
	if k.remove(); k.there(blob) || len(k.removals()) < 2 { // the box's own scrub may be at it too
		t.Errorf("the output is there: %t; the ledger says of removals: %v", k.there(blob), k.removals())
	}
	again := k.say("T-2", "over", true)
	if again != blob || !k.there(blob) {
		t.Error("what is said again is not kept")
	}
	letGo(t, k.Box)
	k.scrubbed("after it was said again,")
	k.verify()
	path := filepath.Join(k.dir.Archive(""), filepath.FromSlash(ledger.BlobPath(blob.SHA256)))
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	var damage *archive.Damage
	if _, err := k.archive.Scrub(t.Context(), 0, k.archive.Sealed(), k.state.removedAfter); !errors.As(err, &damage) {
		t.Errorf("the scrub does not miss what was said again after the removal: %v", err)
	}
	if err := os.Rename(away, path); err != nil {
		t.Fatal(err)
	}
}

// Plans and questions are no outputs, and neither is what only looks like a reference.
func TestOutputsOf(t *testing.T) {
	t.Parallel()
	blob := ledger.NewBlob([]byte("some bytes"))
	other := ledger.NewBlob([]byte("others"))
	for _, c := range []struct {
		kind    string
		payload any
		want    []ledger.Blob
	}{
		{delivery.RunStarted, delivery.Started{Plan: blob}, nil},
		{conversation.TypeStarted, conversation.Asked{Stored: &blob}, nil},
		{conversation.TypeSignalled, conversation.Signalled{Stored: &blob}, []ledger.Blob{blob}},
		{conversation.TypeCallDecided, conversation.Decided{Stored: &blob}, []ledger.Blob{blob}},
		{work.AgentSessionCompleted, work.Result{Said: work.Said{Transcript: work.Transcript{Blob: &blob}}}, []ledger.Blob{blob}},
		{work.LateResultRecorded, work.Result{Said: work.Said{Transcript: work.Transcript{Blob: &blob}}}, []ledger.Blob{blob}},
		{work.SignalRecorded, work.Signalled{Said: work.Said{Transcript: work.Transcript{Blob: &blob}, Fields: []work.Field{{Name: "x", Value: other}}}}, []ledger.Blob{blob}},
		{work.SignalRecorded, work.Signalled{Said: work.Said{Transcript: work.Transcript{Text: "short"}}}, nil},
		{"SomethingNew", work.Signalled{Said: work.Said{Transcript: work.Transcript{Blob: &blob}}}, nil},
		{work.SignalRecorded, work.Signalled{Said: work.Said{Transcript: work.Transcript{Blob: &blob}, Evidence: &work.Kept{Blob: &other}}}, []ledger.Blob{blob, other}},
		{work.AgentSessionCompleted, work.Result{Said: work.Said{Evidence: &work.Kept{Blob: &other}}}, []ledger.Blob{other}},
		{work.AgentSessionCompleted, work.Result{Said: work.Said{Evidence: &work.Kept{Problem: "it is not there"}}}, nil},
	} {
		payload, err := json.Marshal(c.payload)
		if err != nil {
			t.Fatal(err)
		}
		got, err := outputsOf(ledger.Event{Type: c.kind, Payload: payload})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.kind, got, err, c.want)
		}
	}
}

// A snapshot and the events after it are as good as all events.
func TestRemovedAfterRestart(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	one := k.say("T-1", "one", true)
	letGo(t, k.Box)
	k.pass(ninetyDays + time.Hour)
	k.remove()
	k.reopen()
	if seq, err := k.state.last(housekeeping); err != nil || seq == 0 {
		t.Fatalf("after a restart the last event on %s is %d: %v", housekeeping, seq, err)
	}
	k.scrubbed("after a restart,")
	two := k.say("T-2", "two", true)
	letGo(t, k.Box)
	k.pass(ninetyDays + time.Hour)
	if k.remove(); k.there(one) || k.there(two) || len(k.removals()) < 2 {
		t.Errorf("there: %t, %t; removals: %v", k.there(one), k.there(two), k.removals())
	}
	if name := k.state.nameOf(housekeeping); name != "" {
		t.Errorf("the housekeeping has the name %q", name)
	}
}
