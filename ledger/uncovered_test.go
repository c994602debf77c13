package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/signalbox-dev/signalbox/ledger"
)

// What the checkpoint does not cover is said, with its kind, how many and where; the report of
// what it does cover is there all the same.
func TestVerifyUncovered(t *testing.T) {
	b := filled(t, 700) // 701 events: two full bundles, and one of 189
	c, signed := b.seal(t)
	empty := &fstest.MapFile{Mode: fs.ModeDir | 0o700}
	file := func(data string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(data)} }
	partial := b.files[ledger.EntriesPath(2, 189)].Data
	more := ledger.AppendEntry(slices.Clone(partial), b.stored[700])
	blob := []byte("nobody refers to this")
	other, _, err := ledger.NewKey(origin)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := c.Sign(other)
	if err != nil {
		t.Fatal(err)
	}
	_, second, _ := bytes.Cut(twice, []byte("\n\n"))
	for name, test := range map[string]struct {
		files map[string]*fstest.MapFile
		want  []ledger.Uncovered
	}{
		"a partial bundle with one event more": {fstest.MapFS{ledger.EntriesPath(2, 190): {Data: more}}, []ledger.Uncovered{{Kind: "bundle", Count: 1, First: "tile/entries/002.p/190"}}},
		"full bundles after the last": {
			fstest.MapFS{ledger.EntriesPath(3, 256): b.files[ledger.EntriesPath(0, 256)], ledger.EntriesPath(1234567, 256): file("x")},
			[]ledger.Uncovered{{Kind: "bundle", Count: 2, First: "tile/entries/003"}},
		},
		"the bundle that is not full, full":     {fstest.MapFS{ledger.EntriesPath(2, 256): file("")}, []ledger.Uncovered{{Kind: "bundle", Count: 1, First: "tile/entries/002"}}},
		"a tile of a larger tree":               {fstest.MapFS{ledger.TilePath(0, 2, 190): {Data: make([]byte, 190*32)}}, []ledger.Uncovered{{Kind: "tile", Count: 1, First: "tile/0/002.p/190"}}},
		"a level that the tree does not have":   {fstest.MapFS{ledger.TilePath(2, 0, 1): {Data: make([]byte, 32)}}, []ledger.Uncovered{{Kind: "tile", Count: 1, First: "tile/2/000.p/1"}}},
		"a level that no tree has":              {fstest.MapFS{"tile/8/000": file("")}, []ledger.Uncovered{{Kind: "file", Count: 1, First: "tile/8"}}},
		"an older partial tile of other hashes": {fstest.MapFS{ledger.TilePath(0, 1, 7): {Data: make([]byte, 7*32)}}, []ledger.Uncovered{{Kind: "tile", Count: 1, First: "tile/0/001.p/7"}}},
		"an older partial bundle that is cut":   {fstest.MapFS{ledger.EntriesPath(2, 188): {Data: partial[:5]}}, []ledger.Uncovered{{Kind: "bundle", Count: 1, First: "tile/entries/002.p/188"}}},
		"an older partial bundle with more": {
			fstest.MapFS{ledger.EntriesPath(2, 3): {Data: partial}}, []ledger.Uncovered{{Kind: "bundle", Count: 1, First: "tile/entries/002.p/3"}},
		},
		"other names": {
			fstest.MapFS{"tile/README": file(""), "tile/entries/1": file(""), "tile/entries/x000/001": file(""), "tile/0/x001.p/3": file(""), "tile/0/-01": file(""), "tile/0/000.p/007": file(""), "blob/0/x": file(""), "blob/00/x": file("")},
			[]ledger.Uncovered{{Kind: "file", Count: 8, First: "blob/0"}},
		},
		"groups without an end":          {fstest.MapFS{"tile/0/x001" + strings.Repeat("/x001", 40) + "/001": file("")}, []ledger.Uncovered{{Kind: "file", Count: 1, First: "tile/0" + strings.Repeat("/x001", 7)}}},
		"a file in place of a directory": {fstest.MapFS{"tile/1/x001": file("")}, []ledger.Uncovered{{Kind: "file", Count: 1, First: "tile/1/x001"}}},
		"directories in which nothing can be": {
			fstest.MapFS{"tile/4": empty, "tile/0/003.p": empty, "tile/entries/x001": empty, "tile/0" + strings.Repeat("/x001", 6): empty, "blob/zz": empty, "blob/AB": empty},
			[]ledger.Uncovered{{Kind: "file", Count: 6, First: "blob/AB"}},
		},
		"a blob that nobody refers to":    {fstest.MapFS{ledger.BlobPath(ledger.NewBlob(blob).SHA256): {Data: blob}}, []ledger.Uncovered{{Kind: "blob", Count: 1, First: ledger.BlobPath(ledger.NewBlob(blob).SHA256)}}},
		"a blob by its name in capitals":  {fstest.MapFS{"blob/AA/" + strings.Repeat("AA", 32): {Data: blob}}, []ledger.Uncovered{{Kind: "file", Count: 1, First: "blob/AA"}}},
		"a second signature":              {fstest.MapFS{ledger.CheckpointPath: {Data: slices.Concat(signed, second)}}, []ledger.Uncovered{{Kind: "signature", Count: 1, First: "checkpoint"}}},
		"the signature, once more":        {fstest.MapFS{ledger.CheckpointPath: {Data: slices.Concat(signed, signed[bytes.Index(signed, []byte("\n\n"))+2:])}}, []ledger.Uncovered{{Kind: "signature", Count: 1, First: "checkpoint"}}},
		"spare bits of the signature set": {fstest.MapFS{ledger.CheckpointPath: {Data: spareBits(t, signed)}}, []ledger.Uncovered{{Kind: "signature", Count: 1, First: "checkpoint"}}},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(b.files)
			maps.Copy(files, test.files)
			r, err := ledger.Verify(files, b.key)
			var uncovered *ledger.UncoveredError
			if !errors.As(err, &uncovered) || !slices.Equal(uncovered.Found, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if r.Events != 701 || r.Blobs != 1 {
				t.Errorf("the report is %+v", r)
			}
			if _, err := ledger.VerifyExcept(files, b.key, func(string, string) (bool, error) { return true, nil }); err != nil {
				t.Errorf("with all of it known: %v", err)
			}
		})
	}
	own, err := ledger.Covered(slices.Concat(signed, second), b.key)
	if err != nil || !bytes.Equal(own, signed) {
		t.Errorf("the covered part of a checkpoint with two signatures: %q, %v", own, err)
	}
}

// spareBits changes the bits at the end of a signature in base64 that stand for nothing.
func spareBits(t *testing.T, signed []byte) []byte {
	t.Helper()
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	end, ok := bytes.CutSuffix(signed, []byte("=\n"))
	if !ok {
		t.Fatal("the signature ends in another way")
	}
	changed := bytes.Clone(end)
	changed[len(changed)-1] = digits[strings.IndexByte(digits, end[len(end)-1])+1]
	return append(changed, "=\n"...)
}

// Partial tiles and bundles of a smaller tree are covered by the larger ones.
func TestVerifyOlderPartials(t *testing.T) {
	b := filled(t, 300)
	b.seal(t)
	for i := range 500 {
		b.add(t, event("later", i))
	}
	b.seal(t)
	for _, left := range []string{"tile/0/000.p", "tile/entries/000.p", "blob/ab"} { // by who removed the last file
		b.files[left] = &fstest.MapFile{Mode: fs.ModeDir | 0o700}
	}
	if _, err := ledger.Verify(b.files, b.key); err != nil {
		t.Error(err)
	}
	if b.files[ledger.EntriesPath(1, 45)] == nil || b.files[ledger.TilePath(0, 1, 45)] == nil {
		t.Error("the older ones are not there")
	}
}

// bare has nothing but Open, in which one name is another file.
type bare struct {
	files fs.FS
	name  string
	open  func(fs.File) fs.File
}

func (b bare) Open(name string) (fs.File, error) {
	f, err := b.files.Open(name)
	if err == nil && name == b.name {
		f = b.open(f)
	}
	return f, err
}

// A file that is too long by what is known of it is not read at all, and neither is one that is
// no regular file.
func TestVerifyReadsNothing(t *testing.T) {
	b := filled(t, 300)
	b.seal(t)
	for name, file := range b.files {
		for _, mode := range []fs.FileMode{0, fs.ModeNamedPipe, fs.ModeSymlink, fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice, fs.ModeSocket, fs.ModeIrregular, fs.ModeDir} {
			var read atomic.Int64
			size := int64(len(file.Data))
			if mode == 0 {
				size = 1 << 40
			}
			files := bare{b.files, name, func(f fs.File) fs.File { return claimed{&endlessFile{f, &read}, claim{mode, size}} }}
			if _, err := ledger.Verify(files, b.key); err == nil || read.Load() > 0 {
				t.Errorf("%s as %v: %v, after %d bytes", name, mode, err, read.Load())
			}
			if mode != 0 && mode != fs.ModeDir { // found out before it is opened
				asked := maps.Clone(b.files)
				asked[name] = &fstest.MapFile{Data: file.Data, Mode: mode}
				if _, err := ledger.Verify(asked, b.key); err == nil {
					t.Errorf("%s as %v is taken", name, mode)
				}
			}
		}
	}
}

// claimed is a file that says something about itself.
type claimed struct {
	fs.File
	info fs.FileInfo
}

func (c claimed) Stat() (fs.FileInfo, error) { return c.info, nil }

type claim struct {
	mode fs.FileMode
	size int64
}

func (c claim) Mode() fs.FileMode  { return c.mode }
func (c claim) Size() int64        { return c.size }
func (c claim) IsDir() bool        { return c.mode.IsDir() }
func (c claim) Name() string       { return "" }
func (c claim) ModTime() time.Time { return time.Time{} }
func (c claim) Sys() any           { return nil }

// A directory on a disk may hold links to what has no end, and names that lead out of it.
func TestVerifyLinks(t *testing.T) {
	b := filled(t, 300)
	b.seal(t)
	for name := range b.files {
		dir := t.TempDir()
		if err := os.CopyFS(dir, b.files); err != nil {
			t.Fatal(err)
		}
		whole := filepath.Join(t.TempDir(), "whole")
		if err := errors.Join(os.Rename(filepath.Join(dir, name), whole), os.Symlink(whole, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.Verify(os.DirFS(dir), b.key); err == nil {
			t.Errorf("%s is a link, and was followed", name)
		}
	}
}

// Names are taken as they come: a directory is never read as a whole.
func TestVerifyManyNames(t *testing.T) {
	b := filled(t, 3)
	b.seal(t)
	most := 0
	const names = 20_000
	files := bare{b.files, "tile", func(f fs.File) fs.File { return &listed{File: f, left: names, most: &most} }}
	_, err := ledger.Verify(files, b.key)
	var uncovered *ledger.UncoveredError
	if !errors.As(err, &uncovered) || len(uncovered.Found) != 1 || uncovered.Found[0].Count != names {
		t.Errorf("got %v", err)
	}
	if most == 0 || most > 2000 {
		t.Errorf("it asked for %d names at once", most)
	}
}

// listed is a directory with many names.
type listed struct {
	fs.File
	left int
	most *int
}

func (l *listed) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = l.left
	}
	*l.most = max(*l.most, n)
	if l.left == 0 {
		return nil, io.EOF
	}
	all := make([]fs.DirEntry, min(n, l.left))
	for i := range all {
		all[i] = entry(fmt.Sprint("name-", l.left-i))
	}
	l.left -= len(all)
	return all, nil
}

type entry string

func (e entry) Name() string               { return string(e) }
func (e entry) IsDir() bool                { return false }
func (e entry) Type() fs.FileMode          { return 0 }
func (e entry) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

// A blob is read once, however many events refer to it, and not at all if no blob can have the
// size that they say.
func TestVerifyBlobOnce(t *testing.T) {
	b := newBook(t)
	blob := []byte(strings.Repeat("once", 100_000))
	ref := fmt.Sprintf(`{"blob":"%s","size":%d}`, ledger.NewBlob(blob).SHA256, len(blob))
	for i := range 300 {
		e := event("item", i)
		e.Payload = json.RawMessage(`[` + ref + strings.Repeat(","+ref, 20) + `]`)
		b.add(t, e)
	}
	name := ledger.BlobPath(ledger.NewBlob(blob).SHA256)
	b.files[name] = &fstest.MapFile{Data: blob}
	b.seal(t)
	var opened atomic.Int64
	r, err := ledger.Verify(bare{b.files, name, func(f fs.File) fs.File { opened.Add(1); return f }}, b.key)
	if err != nil || r.Blobs != 300*21 || opened.Load() > 4 { // bundles are read side by side
		t.Errorf("%+v, %v; opened %d times", r, err, opened.Load())
	}
	huge := newBook(t)
	e := event("item", 0)
	e.Payload = json.RawMessage(fmt.Sprintf(`{"blob":"%s","size":%d}`, ledger.NewBlob(blob).SHA256, int64(1)<<40))
	huge.add(t, e)
	huge.seal(t)
	huge.files[name] = &fstest.MapFile{}
	var read atomic.Int64
	_, err = ledger.Verify(bare{huge.files, name, func(f fs.File) fs.File { return claimed{&endlessFile{f, &read}, claim{0, 1 << 40}} }}, huge.key)
	if err == nil || read.Load() > 0 {
		t.Errorf("a blob of a terabyte: %v, after %d bytes", err, read.Load())
	}
}

// What a payload refers to is found in one pass, however deep it is nested.
func TestBlobsDeep(t *testing.T) {
	const depth = ledger.MaxPayload/2 - 200
	blob := ledger.NewBlob([]byte("deep"))
	payload := strings.Repeat("[", depth) + fmt.Sprintf(`{"blob":"%s","size":%d}`, blob.SHA256, blob.Size) + strings.Repeat("]", depth)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	refs, err := ledger.Event{Payload: json.RawMessage(payload)}.Blobs()
	runtime.ReadMemStats(&after)
	if err != nil || len(refs) != 1 || refs[0] != blob {
		t.Errorf("%v, %v", refs, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("it took %d bytes of memory for a payload of %d", used, len(payload))
	}
}

// Whoever holds a key can sign any size. One that arithmetic on trees can't bear is refused before anything
// is computed.
func TestCheckpointOfAnySize(t *testing.T) {
	signer, verifier, err := ledger.NewKey(origin)
	if err != nil {
		t.Fatal(err)
	}
	for size, good := range map[int64]bool{1 << 48: true, 1<<48 + 1: false, 1<<62 + 5: false, math.MaxInt64: false} {
		signed, err := ledger.Checkpoint{Origin: origin, Size: size}.Sign(signer)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.OpenCheckpoint(signed, verifier); (err == nil) != good {
			t.Errorf("%d events: %v", size, err)
		}
	}
}

// A proof may be anything: it is checked in a time that its bytes allow.
func TestHostileProofs(t *testing.T) {
	b := filled(t, 40)
	_, signed := b.seal(t)
	proof, err := b.tree.Prove(3, b.stored[3], signed)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(p *ledger.Proof){
		"a million hashes":       func(p *ledger.Proof) { p.Hashes = make([]ledger.Hash, 1_000_000) },
		"one hash more":          func(p *ledger.Proof) { p.Hashes = append(slices.Clone(p.Hashes), ledger.Hash{}) },
		"no hash":                func(p *ledger.Proof) { p.Hashes = nil },
		"an index before all":    func(p *ledger.Proof) { p.Index = -1 },
		"an index after all":     func(p *ledger.Proof) { p.Index = 1 << 62 },
		"an event of a megabyte": func(p *ledger.Proof) { p.Event = bytes.Repeat([]byte("x"), 1<<20) },
		"an event in brackets":   func(p *ledger.Proof) { p.Event = bytes.Repeat([]byte("["), ledger.MaxEvent) },
		"a checkpoint of lines":  func(p *ledger.Proof) { p.Checkpoint = strings.Repeat("\n", 1<<20) },
		"a thousand signatures": func(p *ledger.Proof) {
			text, signature, _ := strings.Cut(p.Checkpoint, "\n\n")
			p.Checkpoint = text + "\n\n" + strings.Repeat(strings.ReplaceAll(signature, origin, "other"), 1000)
		},
	} {
		p := proof
		change(&p)
		if _, _, err := p.Verify(b.key); err == nil {
			t.Errorf("%s: the proof holds", name)
		}
	}
	if _, _, err := proof.Verify(b.key); err != nil {
		t.Error(err)
	}
}
