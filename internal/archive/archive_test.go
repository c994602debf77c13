package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/ledger"
)

// The directory is a ledger that anyone can verify, after every seal.
func TestSealedDirectoryVerifies(t *testing.T) {
	keys, dir := newKeys(t), filepath.Join(t.TempDir(), "archive")
	b := mustOpen(t, archive.Dir(dir), keys)
	for _, n := range []int{0, 1, 1, 253, 1, 1, 300, 700} {
		if err := b.record(b.pen.many(n)...); err != nil {
			t.Fatal(err)
		}
		note, err := b.Seal()
		if err != nil {
			t.Fatal(err)
		}
		report, err := ledger.Verify(os.DirFS(dir), keys.Verifier)
		if err != nil {
			t.Fatal(err)
		}
		if report.Events != b.Size() || b.Sealed() != b.Size() {
			t.Errorf("of %d events, %d are sealed and %d verified", b.Size(), b.Sealed(), report.Events)
		}
		if root, err := b.Root(b.Size()); err != nil || root != report.Checkpoint.Root {
			t.Errorf("the root is %s, %v; %s was signed", root, err, report.Checkpoint.Root)
		}
		again, err := b.Seal()
		if err != nil || !bytes.Equal(again, note) || !bytes.Equal(b.Checkpoint(), note) {
			t.Errorf("nothing to seal, and another checkpoint: %v", err)
		}
	}
	partial, err := filepath.Glob(filepath.Join(dir, "tile/*/*.p/*"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"tile/0/004.p/233", "tile/1/000.p/4", "tile/entries/004.p/233"}
	for i := range partial {
		partial[i], _ = filepath.Rel(dir, partial[i])
	}
	if diff := cmp.Diff(want, partial); diff != "" {
		t.Errorf("partial tiles (-want +got):\n%s", diff)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(b.pen.many(1)); !errors.Is(err, archive.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	wrote := b.wrote
	b = mustOpen(t, archive.Dir(dir), keys)
	defer b.Close()
	if err := same(b.wrote, wrote); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(archive.Findings{Verified: b.Size()}, b.found); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestProofs(t *testing.T) {
	keys := newKeys(t)
	b := mustOpen(t, archivetest.NewLossy(), keys)
	if err := b.record(b.pen.many(600)...); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Prove(3); !errors.Is(err, archive.ErrNotSealed) {
		t.Errorf("before the seal: %v", err)
	}
	if _, err := b.Seal(); err != nil {
		t.Fatal(err)
	}
	for _, index := range []int64{0, 255, 256, 599} {
		proof, err := b.Prove(index)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := proof.Verify(keys.Verifier); err != nil || !bytes.Equal(proof.Event, b.wrote[index]) {
			t.Errorf("event %d: %v", index, err)
		}
	}
	for _, index := range []int64{-1, 600} {
		if _, err := b.Prove(index); err == nil {
			t.Errorf("event %d was proven", index)
		}
	}
}

func TestBlobs(t *testing.T) {
	fs := archivetest.NewLossy()
	b := mustOpen(t, fs, newKeys(t))
	for range 2 { // the second time is harmless
		blob, err := b.PutBlob([]byte("a transcript"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Blob(blob.SHA256)
		if err != nil || string(got) != "a transcript" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	blob := ledger.NewBlob([]byte("a transcript"))
	fs.Put(ledger.BlobPath(blob.SHA256), []byte("b transcript"))
	var damage *archive.Damage
	if _, err := b.Blob(blob.SHA256); !errors.As(err, &damage) {
		t.Errorf("a changed blob: %v", err)
	}
	if _, err := b.Blob(ledger.Hash{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a blob that was never stored: %v", err)
	}
}

// An event costs one sync, and one more where a segment of the log begins.
func TestAppendSyncsOnce(t *testing.T) {
	fs := archivetest.NewLossy()
	b := mustOpen(t, fs, newKeys(t))
	before, extra := fs.Syncs(), 0
	const appends = 100
	for range appends {
		if err := b.record(b.pen.write("item-1", strings.Repeat("x", 3*archive.SegmentLimit/2/appends), nil), b.pen.write("item-2", "", nil)); err != nil {
			t.Fatal(err)
		}
	}
	names, err := fs.ReadDir("log")
	if err != nil {
		t.Fatal(err)
	}
	if extra = len(names) - 1; extra != 1 {
		t.Errorf("one and a half segments made %d more segments", extra)
	}
	if got := fs.Syncs() - before; got != appends+extra {
		t.Errorf("%d appends took %d syncs", appends, got)
	}
}

func TestAppendRefusesWhatIsNoEvent(t *testing.T) {
	b := mustOpen(t, archivetest.NewLossy(), newKeys(t))
	for _, stored := range [][]byte{{}, make([]byte, ledger.MaxEvent+1)} {
		if _, err := b.Append([][]byte{stored}); err == nil {
			t.Errorf("%d bytes were taken", len(stored))
		}
	}
	if err := b.record(b.pen.many(1)...); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
}

func TestNothingIsWrittenBeforeStart(t *testing.T) {
	fs := archivetest.NewLossy()
	a, err := archive.Open(fs, newKeys(t))
	if err != nil {
		t.Fatal(err)
	}
	_, sealErr := a.Seal()
	_, blobErr := a.PutBlob([]byte("x"))
	_, appendErr := a.Append(pen{}.many(1))
	_, scrubErr := a.Scrub(bg, 0, 1, nil)
	for _, err := range []error{appendErr, sealErr, blobErr, scrubErr} {
		if !errors.Is(err, archive.ErrNotStarted) {
			t.Errorf("got %v", err)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if names, err := fs.ReadDir("."); err != nil || len(names) > 0 {
		t.Errorf("there is %v, %v", names, err)
	}
}

// After a sync that failed nothing is taken any more, wherever it happened.
func TestFailedSyncPoisons(t *testing.T) {
	keys := newKeys(t)
	for n := 1; ; n++ {
		fs := archivetest.NewLossy()
		b := mustOpen(t, fs, keys)
		fs.FailSync(n)
		err := b.record(b.pen.many(3)...)
		if err == nil {
			_, err = b.PutBlob([]byte("x"))
		}
		if err == nil {
			_, err = b.Seal()
		}
		if err == nil {
			if n < 8 {
				t.Errorf("there were only %d syncs", n-1)
			}
			return
		}
		if !errors.Is(err, archivetest.ErrSync) {
			t.Fatalf("sync %d: %v", n, err)
		}
		_, sealErr := b.Seal()
		_, blobErr := b.PutBlob([]byte("x"))
		_, appendErr := b.Append(b.pen.many(1))
		for _, err := range []error{appendErr, sealErr, blobErr, b.Close()} {
			if !errors.Is(err, archive.ErrFailed) {
				t.Errorf("after failed sync %d: %v", n, err)
			}
		}
		if b, err := open(fs, keys); err != nil || b.Size() != 3 {
			t.Errorf("opened again: %v", err)
		}
	}
}

// fullDisk is files that can be made but not written once it is full, but for the log.
type fullDisk struct {
	archive.FS
	full bool
}

var errFull = errors.New("no space left on device")

func (d *fullDisk) Create(name string) (archive.File, error) {
	f, err := d.FS.Create(name)
	if d.full {
		f = fullFile{f}
	}
	return f, err
}

type fullFile struct{ archive.File }

func (fullFile) Write([]byte) (int, error) { return 0, errFull }

// A file that does not fit, and was not to be synced yet, is no reason to stop.
func TestFullDiskPoisonsNotYet(t *testing.T) {
	keys, files := newKeys(t), archivetest.NewLossy()
	disk := &fullDisk{FS: files}
	b := mustOpen(t, disk, keys)
	disk.full = true
	if _, err := b.PutBlob([]byte("x")); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	if names, err := files.ReadDir("tmp"); err != nil || len(names) > 0 {
		t.Errorf("there is %v, %v", names, err)
	}
	if err := b.record(b.pen.many(1)...); err != nil {
		t.Error(err)
	}
}

// gate is files of which those in tmp are synced only when it opens.
type gate struct {
	archive.FS
	reached, open chan struct{}
	once          sync.Once
}

func (g *gate) Create(name string) (archive.File, error) {
	f, err := g.FS.Create(name)
	if strings.HasPrefix(name, "tmp/") {
		f = gatedFile{f, g}
	}
	return f, err
}

type gatedFile struct {
	archive.File
	gate *gate
}

func (f gatedFile) Sync() error {
	f.gate.once.Do(func() { close(f.gate.reached) })
	<-f.gate.open
	return f.File.Sync()
}

// A seal that waits for the disk holds up no append.
func TestSealHoldsUpNoAppend(t *testing.T) {
	keys, files := newKeys(t), archivetest.NewLossy()
	first := mustOpen(t, files, keys)
	if err := first.record(first.pen.many(5)...); err != nil {
		t.Fatal(err)
	}
	g := &gate{FS: files, reached: make(chan struct{}), open: make(chan struct{})}
	b := mustOpen(t, g, keys)
	sealed := make(chan error, 1)
	go func() {
		_, err := b.Seal()
		sealed <- err
	}()
	<-g.reached
	if err := b.record(b.pen.many(5)...); err != nil {
		t.Fatal(err)
	}
	if b.Size() != 10 || b.Sealed() != 0 {
		t.Errorf("size %d, sealed %d", b.Size(), b.Sealed())
	}
	close(g.open)
	if err := <-sealed; err != nil || b.Sealed() != 5 {
		t.Errorf("sealed %d: %v", b.Sealed(), err)
	}
}

func TestConcurrentUse(t *testing.T) {
	keys, dir := newKeys(t), t.TempDir()
	b := mustOpen(t, archive.Dir(dir), keys)
	events := b.pen.many(1500)
	done, failed := make(chan struct{}), make(chan error, 5)
	var users sync.WaitGroup
	for _, use := range []func() error{
		func() error { _, err := b.Seal(); return err },
		func() error { _, err := b.PutBlob(fmt.Append(nil, b.Size())); return err },
		func() error { _, err := entries(b.Archive); return err },
		func() error { return scrubAll(b.Archive, 300) },
		func() error {
			if b.Sealed() == 0 {
				return nil
			}
			_, err := b.Prove(b.Sealed() - 1)
			return err
		},
	} {
		users.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := use(); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for i := 0; i < len(events); i += 10 {
		if err := b.record(events[i : i+10]...); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	users.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := archive.Verify(bg, archive.Dir(dir), keys.Verifier); err != nil || report.Events != 1500 {
		t.Errorf("verified %d events: %v", report.Events, err)
	}
}

func TestKeysHaveToBeAPair(t *testing.T) {
	one, other := newKeys(t), newKeys(t)
	if _, err := archive.Open(archivetest.NewLossy(), archive.Keys{Signer: one.Signer, Verifier: other.Verifier}); err == nil {
		t.Error("two halves of two pairs were taken")
	}
}

func TestStartCanBeCancelled(t *testing.T) {
	keys, fs := newKeys(t), archivetest.NewLossy()
	b := mustOpen(t, fs, keys)
	if err := b.record(b.pen.many(3000)...); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(fs, keys)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := a.Start(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
