package archive_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/ledger"
)

// remove writes an event that says that blobs were removed.
func (p pen) remove(removed ...ledger.RemovedBlob) []byte {
	payload, err := json.Marshal(ledger.BlobRemoved{Removed: removed, Reason: "old"})
	if err != nil {
		panic(err)
	}
	tip := p["housekeeping"]
	stored, err := ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: "housekeeping", ItemSeq: tip.ItemSeq + 1, Prev: tip.Sum,
		Type: ledger.TypeBlobRemoved, Actor: "box", Time: time.Unix(1700000000, 0).UTC(), Payload: payload,
	}.Encode()
	if err != nil {
		panic(err)
	}
	p["housekeeping"] = ledger.Tip{ItemSeq: tip.ItemSeq + 1, Sum: ledger.Sum(stored)}
	return stored
}

// say stores a text and an event that refers to it.
func (b *box) say(text string) (ledger.Blob, error) {
	blob, err := b.PutBlob([]byte(text))
	if err == nil {
		err = b.record(b.pen.write("item", "a result", &blob))
	}
	return blob, err
}

// removeOld removes blobs that were not put since a time, as the box does.
func (b *box) removeOld(since time.Time, refs ...ledger.Blob) (n int, err error) {
	old, err := b.MarkBlobs(refs, since)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	if err := b.record(b.pen.remove(old...)); err != nil {
		return 0, err
	}
	index := b.Size() - 1
	if _, err := b.Seal(); err != nil {
		return 0, err
	}
	return b.RemoveBlobs(index)
}

const keep = time.Hour

// there says whether a blob's file is there.
func there(b *box, blob ledger.Blob) bool {
	_, err := b.Blob(blob.SHA256)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	return err == nil
}

func TestRemoveBlobs(t *testing.T) {
	files, keys := archivetest.NewLossy(), newKeys(t)
	b := mustOpen(t, files, keys)
	old, young := must(b.say("old")), must(b.say("young"))
	if err := b.record(b.pen.write("item", ledger.TypeBlobRemoved, nil)); err != nil { // a word, and no type
		t.Fatal(err)
	}
	files.Age(ledger.BlobPath(old.SHA256), 2*keep)
	never := ledger.NewBlob([]byte("never stored"))
	marked := must(b.MarkBlobs([]ledger.Blob{old, young, never}, time.Now().Add(-keep)))
	if len(marked) != 1 || ledger.Blob(marked[0]) != old {
		t.Fatalf("%v are old, and should be %v", marked, old)
	}
	if _, err := b.RemoveBlobs(b.Size() - 1); !errors.Is(err, archive.ErrNotRemoved) {
		t.Errorf("blobs are removed that no event names: %v", err)
	}
	if err := b.record(b.pen.remove(marked...)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.RemoveBlobs(b.Size() - 1); !errors.Is(err, archive.ErrNotRemoved) || !there(b, old) {
		t.Errorf("a blob is removed before the event is sealed: %v", err)
	}
	must(b.Seal())
	if _, err := b.RemoveBlobs(0); !errors.Is(err, archive.ErrNotRemoved) {
		t.Errorf("an event that is no removal removes: %v", err)
	}
	if n := must(b.RemoveBlobs(b.Size() - 1)); n != 1 || there(b, old) || !there(b, young) {
		t.Errorf("%d blobs are removed; the old one is there: %t, the young one: %t", n, there(b, old), there(b, young))
	}
	if n := must(b.RemoveBlobs(b.Size() - 1)); n != 0 {
		t.Errorf("%d blobs are removed twice", n)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if v, err := archive.Verify(bg, files, keys.Verifier); err != nil || v.Removed != 1 || v.Blobs != 1 {
		t.Errorf("verified with %d blobs and %d that were removed: %v", v.Blobs, v.Removed, err)
	}
	mustOpen(t, files, keys)
	if done, err := archive.Repair(bg, files, keys); err != nil || len(done) != 0 {
		t.Errorf("what was removed on purpose is repaired: %v, %v", done, err)
	}
}

// A blob is missed unless a later event says that it was removed: by a start, the scrub, verify and
// repair alike.
func TestMissingBlobs(t *testing.T) {
	for _, c := range []struct {
		name  string
		then  func(*box, ledger.Blob) error
		fine  bool
		after int64 // the index of the removal, as the scrub is told
	}{
		{"nobody says that it was removed", func(*box, ledger.Blob) error { return nil }, false, -1},
		{"a later event says it", func(b *box, blob ledger.Blob) error {
			return b.record(b.pen.remove(ledger.RemovedBlob(blob)))
		}, true, 1},
		{"an event with the words in a text", func(b *box, blob ledger.Blob) error {
			return b.record(b.pen.write("item", `"BlobRemoved"`+blob.SHA256.String(), nil))
		}, false, -1},
		{"another one was removed", func(b *box, blob ledger.Blob) error {
			return b.record(b.pen.remove(ledger.RemovedBlob(ledger.NewBlob([]byte("another")))))
		}, false, -1},
		{"an event after that refers to it", func(b *box, blob ledger.Blob) error {
			return b.record(b.pen.remove(ledger.RemovedBlob(blob)), b.pen.write("item", "again", &blob))
		}, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, keys := archivetest.NewLossy(), newKeys(t)
			b := mustOpen(t, files, keys)
			blob := must(b.say("a transcript"))
			if err := c.then(b, blob); err != nil {
				t.Fatal(err)
			}
			must(b.Seal())
			if err := files.Remove(ledger.BlobPath(blob.SHA256)); err != nil {
				t.Fatal(err)
			}
			_, scrubbed := b.Scrub(bg, 0, 100, func(_ ledger.Hash, index int64) (bool, error) { return c.after > index, nil })
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			_, verified := archive.Verify(bg, files, keys.Verifier)
			_, started := open(files, keys)
			_, repaired := archive.Repair(bg, files, keys)
			for name, err := range map[string]error{"scrub": scrubbed, "verify": verified, "start": started, "repair": repaired} {
				if fine := err == nil; fine != c.fine {
					t.Errorf("%s: %v", name, err)
				}
				if err != nil && name != "verify" && !strings.Contains(err.Error(), ledger.BlobPath(blob.SHA256)) {
					t.Errorf("%s does not name the blob: %v", name, err)
				}
			}
		})
	}
}

// What is put again stays, whenever that happens.
func TestPutAgain(t *testing.T) {
	for step := range 4 {
		files, keys := archivetest.NewLossy(), newKeys(t)
		b := mustOpen(t, files, keys)
		blob := must(b.say("the same words"))
		files.Age(ledger.BlobPath(blob.SHA256), 2*keep)
		put := func(at int) {
			if at == step {
				must(b.PutBlob([]byte("the same words")))
			}
		}
		put(0)
		marked := must(b.MarkBlobs([]ledger.Blob{blob}, time.Now().Add(-keep)))
		put(1)
		if err := b.record(b.pen.remove(ledger.RemovedBlob(blob))); err != nil {
			t.Fatal(err)
		}
		index := b.Size() - 1
		put(2)
		must(b.Seal())
		n := must(b.RemoveBlobs(index))
		put(3)
		if !there(b, blob) || n != map[int]int{3: 1}[step] || (len(marked) == 0) != (step == 0) {
			t.Errorf("put again in step %d: %d marked, %d removed, there: %t", step, len(marked), n, there(b, blob))
		}
		if err := b.record(b.pen.write("item", "said again", &blob)); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		mustOpen(t, files, keys)
	}
}

// Blobs are put and removed at the same time. When one is marked there is none that was put and is
// not referred to yet: that is what its age stands for.
func TestPutAgainstRemove(t *testing.T) {
	dir, keys := archive.Dir(t.TempDir()), newKeys(t)
	b := mustOpen(t, dir, keys)
	var writing sync.Mutex   // of events
	var putting sync.RWMutex // for reading from a put until the event
	var refs []ledger.Blob
	for n := range 12 {
		refs = append(refs, ledger.NewBlob([]byte{byte(n)}))
	}
	var all sync.WaitGroup
	for seed := range uint64(3) {
		all.Go(func() {
			chance := rand.New(rand.NewPCG(seed, 2))
			for range 100 {
				putting.RLock()
				blob, err := b.PutBlob([]byte{byte(chance.IntN(len(refs)))})
				writing.Lock()
				if err == nil {
					err = b.record(b.pen.write("item", "a result", &blob))
				}
				writing.Unlock()
				putting.RUnlock()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	removed := 0
	for range 40 {
		putting.Lock()
		old, err := b.MarkBlobs(refs, time.Now().Add(keep))
		putting.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if len(old) == 0 {
			continue
		}
		writing.Lock()
		err = b.record(b.pen.remove(old...))
		index := b.Size() - 1
		writing.Unlock()
		if err == nil {
			_, err = b.Seal()
		}
		n := 0
		if err == nil {
			n, err = b.RemoveBlobs(index)
		}
		if removed += n; err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files were removed", removed)
	if _, err := archive.Verify(bg, dir, keys.Verifier); err != nil {
		t.Error(err)
	}
	mustOpen(t, dir, keys)
}

// A power cut at every write of a removal, with a put in between.
func TestPowerCutInRemoval(t *testing.T) {
	keys := newKeys(t)
	lives, gone, seeds := 0, 0, uint64(6)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		for writes, done := 0, false; !done; writes++ {
			files := archivetest.NewLossy()
			b := mustOpen(t, files, keys)
			first, second := must(b.say("first")), must(b.say("second"))
			must(b.Seal())
			for _, blob := range []ledger.Blob{first, second} {
				files.Age(ledger.BlobPath(blob.SHA256), 2*keep)
			}
			files.StopAfter(writes)
			_, err := b.removeOld(time.Now().Add(-keep), first)
			if err == nil {
				_, err = b.say("second")
			}
			if err == nil {
				_, err = b.removeOld(time.Now().Add(-keep), first, second)
			}
			if err == nil {
				_, err = b.say("first")
			}
			done = err == nil
			files.PowerCut(rand.New(rand.NewPCG(seed, uint64(writes))))
			if _, err := ledger.VerifyExcept(files.Files(), keys.Verifier, func(kind, _ string) (bool, error) { return kind != ledger.UncoveredFile, nil }); err != nil {
				t.Fatalf("seed %d, cut off after %d writes: %v", seed, writes, err)
			}
			again, err := open(files, keys)
			if err != nil {
				t.Fatalf("seed %d, cut off after %d writes: %v", seed, writes, err)
			}
			if !there(again, second) {
				t.Fatalf("seed %d, cut off after %d writes: what was young is gone", seed, writes)
			}
			if lives++; !there(again, first) {
				gone++
				// What the next life says has its transcript.
				if first := must(again.say("first")); !there(again, first) {
					t.Fatal("a blob can't be put again")
				}
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			mustOpen(t, files, keys)
		}
	}
	t.Logf("%d power cuts, after %d of which the blob was gone", lives, gone)
	if gone == 0 || gone == lives {
		t.Error("the cuts were not before and after the removal")
	}
}

// A file that can't be removed stays, and the archive goes on.
func TestRemoveFails(t *testing.T) {
	dir, keys := t.TempDir(), newKeys(t)
	b := mustOpen(t, archive.Dir(dir), keys)
	blob := must(b.say("a transcript"))
	path := filepath.Join(dir, filepath.FromSlash(ledger.BlobPath(blob.SHA256)))
	if err := errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "full"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if n, err := b.removeOld(time.Now().Add(keep), blob); err == nil || n != 0 || !strings.Contains(err.Error(), "remove blob/") {
		t.Errorf("%d removed: %v", n, err)
	}
	if err := b.record(b.pen.many(1)...); err != nil {
		t.Error(err)
	}
	if fmt.Sprint(must(b.MarkBlobs(nil, time.Now()))) != "[]" {
		t.Error("of nothing something is old")
	}
}

// hooked calls a function before a blob gets its name.
type hooked struct {
	archive.FS
	placed func()
}

func (h *hooked) Rename(from, to string) error {
	if strings.HasPrefix(to, "blob/") && h.placed != nil {
		h.placed()
	}
	return h.FS.Rename(from, to)
}

// No blob is unlinked while one is put.
func TestPutTakesLock(t *testing.T) {
	files := &hooked{FS: archivetest.NewLossy()}
	b := mustOpen(t, files, newKeys(t))
	put := 0
	files.placed = func() {
		if put++; !b.Putting() {
			t.Error("a blob could be unlinked while one is put")
		}
	}
	must(b.say("a transcript"))
	if put != 1 || b.Putting() {
		t.Errorf("%d blobs were put, and one still is: %t", put, b.Putting())
	}
}

// What was removed does not come back after a power cut.
func TestRemovedForGood(t *testing.T) {
	keys := newKeys(t)
	for seed := range uint64(20) {
		files := archivetest.NewLossy()
		b := mustOpen(t, files, keys)
		blob := must(b.say("a transcript"))
		if n := must(b.removeOld(time.Now().Add(keep), blob)); n != 1 {
			t.Fatalf("%d are removed", n)
		}
		files.PowerCut(rand.New(rand.NewPCG(seed, 5)))
		if there(mustOpen(t, files, keys), blob) {
			t.Fatalf("seed %d: a power cut brings back what was removed", seed)
		}
	}
}
