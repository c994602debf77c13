package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/signalbox-dev/signalbox/ledger"
)

// verifyPlainly is Verify in the simplest way: one thing after another, with
// everything in memory.
func verifyPlainly(files fs.FS, key string) (ledger.Report, error) {
	wrong := func(path string, event int64, err error) (ledger.Report, error) {
		return ledger.Report{}, &ledger.VerifyError{Path: path, Event: event, Problem: err}
	}
	signed, err := fs.ReadFile(files, ledger.CheckpointPath)
	if err != nil {
		return wrong(ledger.CheckpointPath, -1, err)
	}
	c, err := ledger.OpenCheckpoint(signed, key)
	if err != nil {
		return wrong(ledger.CheckpointPath, -1, err)
	}
	var tree ledger.Tree
	var chains ledger.Chains
	r := ledger.Report{Checkpoint: c, Events: c.Size}
	for tree.Size() < c.Size {
		width := int(min(ledger.TileWidth, c.Size-tree.Size()))
		path := ledger.EntriesPath(tree.Size()/ledger.TileWidth, width)
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return wrong(path, -1, err)
		}
		entries, err := ledger.Entries(data)
		if err != nil || len(entries) != width {
			return wrong(path, -1, fmt.Errorf("%d events: %w", len(entries), err))
		}
		for _, stored := range entries {
			e, err := chains.Add(stored)
			if err != nil || e.Epoch != 1 {
				return wrong(path, tree.Size(), err)
			}
			refs, err := e.Blobs()
			if err != nil {
				return wrong(path, tree.Size(), err)
			}
			for _, ref := range refs {
				data, err := fs.ReadFile(files, ledger.BlobPath(ref.SHA256))
				if err != nil || sha256.Sum256(data) != ref.SHA256 || int64(len(data)) != ref.Size {
					return wrong(path, tree.Size(), fmt.Errorf("a blob: %w", err))
				}
				r.Blobs++
			}
			if err := tree.Append(stored); err != nil {
				return wrong(path, tree.Size(), err)
			}
		}
	}
	err = tree.Tiles(0, c.Size, func(path string, want []byte) error {
		got, err := fs.ReadFile(files, path)
		if err != nil || !bytes.Equal(got, want) {
			_, err = wrong(path, -1, fmt.Errorf("other bytes: %w", err))
		}
		return err
	})
	if err != nil {
		return ledger.Report{}, err
	}
	if root, err := tree.Root(c.Size); err != nil || root != c.Root {
		return wrong(ledger.CheckpointPath, -1, errors.New("another root"))
	}
	r.Subjects = chains.Subjects()
	return r, nil
}

// sameFinding compares what two ways of verifying say.
func sameFinding(files fs.FS, key string) (found bool, err error) {
	got, gotErr := ledger.Verify(files, key)
	want, wantErr := verifyPlainly(files, key)
	if wantErr == nil {
		if gotErr != nil || got != want {
			return false, fmt.Errorf("got %+v, %w, want %+v", got, gotErr, want)
		}
		return false, nil
	}
	var g, w *ledger.VerifyError
	if !errors.As(gotErr, &g) || !errors.As(wantErr, &w) || g.Path != w.Path || g.Event != w.Event {
		return true, fmt.Errorf("got %w, want %w", gotErr, wantErr)
	}
	var gotChain, wantChain *ledger.ChainError
	if errors.As(wantErr, &wantChain) && (!errors.As(gotErr, &gotChain) || *gotChain != *wantChain) {
		return true, fmt.Errorf("got %w, want %w", gotErr, wantErr)
	}
	return true, nil
}

// Whatever is damaged, also in several places, the finding is that of the simplest
// way to verify.
func TestVerifyFindsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 2))
	whole := filled(t, 900)
	whole.seal(t)
	var paths []string
	for path := range whole.files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	rounds, damaged := 200, 0
	if testing.Short() {
		rounds = 40
	}
	for round := range rounds {
		files := fstest.MapFS{}
		for path, file := range whole.files {
			files[path] = &fstest.MapFile{Data: slices.Clone(file.Data)}
		}
		var what []string
		for range r.IntN(4) {
			what = append(what, damage(t, r, files, paths[r.IntN(len(paths))]))
		}
		found, err := sameFinding(files, whole.key)
		if err != nil {
			t.Fatalf("round %d: %s: %v", round, strings.Join(what, ", "), err)
		}
		if found {
			damaged++
		}
	}
	if damaged < rounds/2 {
		t.Errorf("only %d ledgers were damaged: the test tests little", damaged)
	}
}

// A history that is whole in itself, and not the one that was signed.
func TestVerifyFindsAnotherHistory(t *testing.T) {
	signed, other := filled(t, 300), filled(t, 299)
	signed.seal(t)
	other.add(t, event("item-0", 1))
	other.seal(t)
	other.files[ledger.CheckpointPath] = signed.files[ledger.CheckpointPath]
	for path, file := range signed.files {
		if strings.HasPrefix(path, "blob/") {
			other.files[path] = file
		}
	}
	var wrong *ledger.VerifyError
	if _, err := ledger.Verify(other.files, signed.key); !errors.As(err, &wrong) || wrong.Path != ledger.CheckpointPath {
		t.Errorf("got %v, want an error about the checkpoint", err)
	}
}

// Of several wrong tiles the first one of the lowest level is named: what is above
// it is wrong with it.
func TestVerifyFindsTheLowestTile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 65,836 events; not with -short")
	}
	b := newBook(t)
	for n := range 256*256 + 300 {
		b.add(t, event("item", n))
	}
	b.seal(t)
	b.files[ledger.TilePath(1, 0, ledger.TileWidth)].Data[0] ^= 1
	for _, path := range []string{ledger.TilePath(1, 0, ledger.TileWidth), ledger.TilePath(0, 257, 44), ledger.TilePath(0, 256, ledger.TileWidth)} {
		if path != ledger.TilePath(1, 0, ledger.TileWidth) {
			b.files[path].Data[0] ^= 1
		}
		var wrong *ledger.VerifyError
		if _, err := ledger.Verify(b.files, b.key); !errors.As(err, &wrong) || wrong.Path != path {
			t.Errorf("got %v, want an error about %s", err, path)
		}
	}
}

// endless has one file that does not end, and counts what is read of it.
type endless struct {
	fs.FS
	path string
	read atomic.Int64
}

func (e *endless) Open(path string) (fs.File, error) {
	file, err := e.FS.Open(path)
	if path == e.path && err == nil {
		file = &endlessFile{file, &e.read}
	}
	return file, err
}

type endlessFile struct {
	fs.File
	read *atomic.Int64
}

func (f *endlessFile) Read(p []byte) (int, error) {
	if f.read.Add(int64(len(p))) > 32<<20 {
		return 0, errors.New("too much was read of a file that does not end")
	}
	return len(p), nil
}

// Files that were made long on purpose take neither memory nor time.
func TestVerifyFindsEndlessFiles(t *testing.T) {
	b := filled(t, 300)
	c, _ := b.seal(t)
	for path := range b.files {
		files := &endless{FS: b.files, path: path}
		var wrong *ledger.VerifyError
		_, err := ledger.Verify(files, b.key)
		if !errors.As(err, &wrong) || wrong.Path != path && !strings.HasPrefix(path, "blob/") || files.read.Load() > 9<<20 {
			t.Errorf("%s: got %v after %d bytes", path, err, files.read.Load())
		}
		files.read.Store(0)
		if _, err := ledger.ReadEdge(files, c); strings.Contains(path, ".p/") && !strings.Contains(path, "entries") && err == nil || files.read.Load() > 9<<20 {
			t.Errorf("%s: the edge is read with %v after %d bytes", path, err, files.read.Load())
		}
		files.read.Store(0)
		f, err := ledger.OpenFiles(files, b.key)
		for n := int64(0); n < c.Size && err == nil; n++ {
			_, err = f.Prove(n)
		}
		if (err == nil) != strings.HasPrefix(path, "blob/") || files.read.Load() > 9<<20 {
			t.Errorf("%s: proofs end with %v after %d bytes", path, err, files.read.Load())
		}
	}
}

// damage changes a file and says how. A bundle gets another event, too.
func damage(t *testing.T, r *rand.Rand, files fstest.MapFS, path string) string {
	if files[path] == nil {
		return path + " was damaged before"
	}
	data := files[path].Data
	kind := r.IntN(4)
	if strings.HasPrefix(path, "tile/entries/") {
		kind += 3
	}
	switch at := r.IntN(max(1, len(data))); {
	case len(data) == 0 || kind == 0:
		delete(files, path)
		return path + " is missing"
	case kind == 1:
		files[path].Data = data[:at]
		return fmt.Sprintf("%s is cut at %d", path, at)
	case kind == 2:
		files[path].Data = append(bytes.Clone(data), 0)
		return path + " is longer by a byte"
	case kind == 3:
		data[at] ^= 1 << r.IntN(8)
		return fmt.Sprintf("byte %d of %s is changed", at, path)
	}
	entries, err := ledger.Entries(data)
	if err != nil {
		return path + " was damaged before"
	}
	at := r.IntN(len(entries))
	how := "been left out"
	switch r.IntN(8) {
	case 0:
		entries = slices.Delete(entries, at, at+1)
	case 1:
		entries = append(entries, entries[at])
		how = "been added at the end"
	default:
		how = damageEvent(t, r, &entries[at])
	}
	var changed []byte
	for _, stored := range entries {
		changed = ledger.AppendEntry(changed, stored)
	}
	files[path].Data = changed
	return fmt.Sprintf("event %d of %s has %s", at, path, how)
}

// damageEvent changes an event into one that can be decoded.
func damageEvent(t *testing.T, r *rand.Rand, stored *[]byte) (how string) {
	e, err := ledger.Decode(*stored)
	if err != nil {
		return "damage"
	}
	switch r.IntN(6) {
	case 0:
		e.ItemSeq += []uint64{1, 1 << 56}[r.IntN(2)]
		how = "another place"
	case 1:
		e.Prev[r.IntN(32)] ^= 1
		how = "another event before it"
	case 2:
		e.Epoch = 2
		how = "another epoch"
	case 3:
		e.Subject = "item-1"
		how = "another subject"
	case 4:
		e.ItemSeq, e.Prev = 1, ledger.Hash{}
		how = "become the first"
	case 5:
		e.Payload = json.RawMessage(`{"n":"ä"}`)
		how = "another payload"
	}
	if e.ItemSeq > 1 && e.Prev == (ledger.Hash{}) {
		e.Prev[0] = 1
	}
	if e.ItemSeq == 1 {
		e.Prev = ledger.Hash{}
	}
	if *stored, err = e.Encode(); err != nil {
		t.Fatal(err)
	}
	return how
}
