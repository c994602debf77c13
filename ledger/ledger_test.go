package ledger_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/ledger"
)

const origin = "ledger.example/epoch/1"

// book is a ledger under construction, in memory.
type book struct {
	tree   ledger.Tree
	chains ledger.Chains
	stored [][]byte
	files  fstest.MapFS
	signer string
	key    string
}

func newBook(t testing.TB) *book {
	signer, key, err := ledger.NewKey(origin)
	if err != nil {
		t.Fatal(err)
	}
	return &book{files: fstest.MapFS{}, signer: signer, key: key}
}

func event(subject string, n int) ledger.Event {
	return ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: subject, Type: "WorkAdded", Actor: "alice",
		Time: time.Date(2026, 3, 1, 0, 0, n, 5000, time.UTC), Payload: json.RawMessage(fmt.Sprintf(`{"n":%d,"title":"<a> & b"}`, n)),
	}
}

func (b *book) add(t testing.TB, e ledger.Event) {
	t.Helper()
	tip := b.chains.Tip(e.Subject)
	e.ItemSeq, e.Prev = tip.ItemSeq+1, tip.Sum
	stored, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.chains.Add(stored); err != nil {
		t.Fatal(err)
	}
	if err := b.tree.Append(stored); err != nil {
		t.Fatal(err)
	}
	b.stored = append(b.stored, stored)
}

// seal signs what there is and writes all files.
func (b *book) seal(t testing.TB) (ledger.Checkpoint, []byte) {
	t.Helper()
	c, err := b.tree.Checkpoint(origin)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := c.Sign(b.signer)
	if err != nil {
		t.Fatal(err)
	}
	b.files[ledger.CheckpointPath] = &fstest.MapFile{Data: signed}
	for chunk := range slices.Chunk(b.stored, ledger.TileWidth) {
		var bundle []byte
		for _, stored := range chunk {
			bundle = ledger.AppendEntry(bundle, stored)
		}
		index := int64(0)
		for ; &b.stored[index*ledger.TileWidth] != &chunk[0]; index++ {
		}
		b.files[ledger.EntriesPath(index, len(chunk))] = &fstest.MapFile{Data: bundle}
	}
	err = b.tree.Tiles(0, c.Size, func(path string, data []byte) error {
		b.files[path] = &fstest.MapFile{Data: data}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, signed
}

func filled(t testing.TB, n int) *book {
	b := newBook(t)
	for i := range n {
		b.add(t, event(fmt.Sprint("item-", i%7), i))
	}
	blob := []byte(strings.Repeat("a transcript\n", 2000))
	e := event("item-0", n)
	e.Payload = json.RawMessage(fmt.Sprintf(`{"list":[{"transcript":{"blob":"%s","size":%d}}]}`, ledger.NewBlob(blob).SHA256, len(blob)))
	b.add(t, e)
	b.files[ledger.BlobPath(ledger.NewBlob(blob).SHA256)] = &fstest.MapFile{Data: blob}
	return b
}

func TestVerify(t *testing.T) {
	for _, n := range []int{0, 1, 254, 255, 256, 700, 3000} {
		b := filled(t, n)
		c, _ := b.seal(t)
		got, err := ledger.Verify(b.files, b.key)
		if err != nil {
			t.Fatalf("%d events: %v", n+1, err)
		}
		want := ledger.Report{Checkpoint: c, Events: int64(n + 1), Subjects: max(1, min(n, 7)), Blobs: 1}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// Every one-byte edit of any file is found, and so is a file that is missing.
func TestVerifyFindsEdits(t *testing.T) {
	b := filled(t, 300)
	b.seal(t)
	var paths []string
	for path := range b.files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	r := rand.New(rand.NewPCG(1, 1))
	edits := 1000
	if testing.Short() {
		edits = 100
	}
	for range edits {
		path := paths[r.IntN(len(paths))]
		data := b.files[path].Data
		at, bit := r.IntN(len(data)), byte(1<<r.IntN(8))
		data[at] ^= bit
		_, err := ledger.Verify(b.files, b.key)
		data[at] ^= bit
		if err == nil {
			t.Fatalf("%s: byte %d of %d was changed, and not noticed", path, at, len(data))
		}
	}
	for _, path := range paths {
		file := b.files[path]
		for _, damaged := range [][]byte{file.Data[:len(file.Data)-1], append(slices.Clone(file.Data), 0), {}} {
			b.files[path] = &fstest.MapFile{Data: damaged}
			if _, err := ledger.Verify(b.files, b.key); err == nil {
				t.Errorf("%s has %d bytes instead of %d, and that was not noticed", path, len(damaged), len(file.Data))
			}
		}
		delete(b.files, path)
		var wrong *ledger.VerifyError
		if _, err := ledger.Verify(b.files, b.key); !errors.As(err, &wrong) {
			t.Errorf("%s is missing: got %v", path, err)
		}
		b.files[path] = file
	}
	if _, err := ledger.Verify(b.files, b.key); err != nil {
		t.Fatalf("undamaged again: %v", err)
	}
	_, other, err := ledger.NewKey(origin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Verify(b.files, other); err == nil {
		t.Error("another key verified it")
	}
}

func TestProofs(t *testing.T) {
	b := filled(t, 40)
	old, oldSigned := b.seal(t)
	for i := range 30 {
		b.add(t, event("late", i))
	}
	c, signed := b.seal(t)
	for i, stored := range b.stored {
		p, err := b.tree.Prove(int64(i), stored, signed)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back ledger.Proof
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		e, got, err := back.Verify(b.key)
		if err != nil || got != c {
			t.Fatalf("event %d: %v", i, err)
		}
		if want, err := ledger.Decode(stored); err != nil || cmp.Diff(want, e) != "" {
			t.Fatalf("event %d: got %+v, %v", i, e, err)
		}
		for name, wrong := range map[string]func(*ledger.Proof){
			"index":      func(p *ledger.Proof) { p.Index++ },
			"no index":   func(p *ledger.Proof) { p.Index = -1 },
			"hash":       func(p *ledger.Proof) { p.Hashes[len(p.Hashes)-1][3] ^= 1 },
			"short":      func(p *ledger.Proof) { p.Hashes = p.Hashes[1:] },
			"event":      func(p *ledger.Proof) { p.Event = b.stored[(i+1)%len(b.stored)] },
			"checkpoint": func(p *ledger.Proof) { p.Checkpoint = string(oldSigned) },
			"signature":  func(p *ledger.Proof) { p.Checkpoint = strings.Replace(p.Checkpoint, "\n71\n", "\n72\n", 1) },
		} {
			bad := p
			bad.Hashes = slices.Clone(p.Hashes)
			wrong(&bad)
			if _, _, err := bad.Verify(b.key); err == nil {
				t.Errorf("event %d: a proof with a wrong %s holds", i, name)
			}
		}
	}
	if _, err := b.tree.Prove(60, b.stored[60], oldSigned); err == nil {
		t.Error("proved an event that the checkpoint does not cover")
	}

	proof, err := b.tree.ProveConsistency(old.Size, c.Size)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Continues(old, proof); err != nil {
		t.Error(err)
	}
	if err := old.Continues(c, proof); err == nil {
		t.Error("the older one continues the newer one")
	}
	rewritten := old
	rewritten.Root[0] ^= 1
	if err := c.Continues(rewritten, proof); err == nil {
		t.Error("a rewritten history is continued")
	}
}

func TestChains(t *testing.T) {
	first, err := func() ([]byte, error) { e := event("a", 1); e.ItemSeq = 1; return e.Encode() }()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*ledger.Event){
		"a gap":            func(e *ledger.Event) { e.ItemSeq = 3 },
		"twice the same":   func(e *ledger.Event) { e.ItemSeq, e.Prev = 1, ledger.Hash{} },
		"another previous": func(e *ledger.Event) { e.Prev[0] ^= 1 },
		"another subject":  func(e *ledger.Event) { e.Subject = "b" },
	} {
		var c ledger.Chains
		if _, err := c.Add(first); err != nil {
			t.Fatal(err)
		}
		e := event("a", 2)
		e.ItemSeq, e.Prev = 2, ledger.Sum(first)
		change(&e)
		stored, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var broken *ledger.ChainError
		if _, err := c.Add(stored); !errors.As(err, &broken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestEvents(t *testing.T) {
	good := event("a", 1)
	good.ItemSeq = 1
	stored, err := good.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*ledger.Event){
		"no format":        func(e *ledger.Event) { e.Format = 0 },
		"no epoch":         func(e *ledger.Event) { e.Epoch = 0 },
		"no place":         func(e *ledger.Event) { e.ItemSeq = 0 },
		"first with prev":  func(e *ledger.Event) { e.Prev[0] = 1 },
		"second without":   func(e *ledger.Event) { e.ItemSeq = 2 },
		"no type":          func(e *ledger.Event) { e.Type = "" },
		"no time":          func(e *ledger.Event) { e.Time = time.Time{} },
		"a long payload":   func(e *ledger.Event) { e.Payload = json.RawMessage(`"` + strings.Repeat("x", ledger.MaxPayload) + `"`) },
		"a bad payload":    func(e *ledger.Event) { e.Payload = json.RawMessage(`{`) },
		"invalid UTF-8":    func(e *ledger.Event) { e.Actor = "\xff" },
		"a very long name": func(e *ledger.Event) { e.Actor = strings.Repeat("x", ledger.MaxEvent) },
	} {
		e := good
		change(&e)
		if _, err := e.Encode(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s := string(stored)
	for name, bad := range map[string]string{
		"nothing":         "",
		"not JSON":        "{",
		"white space":     " " + s,
		"something after": s + "{}",
		"a newline":       s + "\n",
		"an unknown key":  strings.Replace(s, `"format"`, `"extra":1,"format"`, 1),
		"another case":    strings.Replace(s, `"actor"`, `"Actor"`, 1),
		"a key twice":     strings.Replace(s, `"format":1`, `"format":1,"format":1`, 1),
		"another order":   strings.Replace(s, `"format":1,"epoch":1`, `"epoch":1,"format":1`, 1),
		"an escape":       strings.Replace(s, `alice`, `\u0061lice`, 1),
		"a hash in caps":  strings.Replace(s, `"prev":"0`, `"prev":"A`, 1),
		"too long":        s[:len(s)-1] + strings.Repeat(" ", ledger.MaxEvent) + "}",
	} {
		if _, err := ledger.Decode([]byte(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	e := event("a", 1)
	e.ItemSeq = 1
	stored, err := e.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(stored)
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ledger.Decode(data)
		if err != nil {
			return
		}
		again, err := e.Encode()
		if err != nil || string(again) != string(data) {
			t.Fatalf("%q reads, and writes as %q, %v", data, again, err)
		}
		if _, err := e.Blobs(); err != nil {
			t.Log(err)
		}
	})
}

// The root, held against the definition in RFC 6962.
func TestRoot(t *testing.T) {
	var define func(leaves [][]byte) ledger.Hash
	define = func(leaves [][]byte) ledger.Hash {
		switch n := len(leaves); n {
		case 0:
			return sha256.Sum256(nil)
		case 1:
			return sha256.Sum256(append([]byte{0}, leaves[0]...))
		default:
			k := 1
			for k*2 < n {
				k *= 2
			}
			left, right := define(leaves[:k]), define(leaves[k:])
			return sha256.Sum256(slices.Concat([]byte{1}, left[:], right[:]))
		}
	}
	b := filled(t, 130)
	for size := range b.stored {
		got, err := b.tree.Root(int64(size))
		if want := define(b.stored[:size]); err != nil || got != want {
			t.Fatalf("%d events: got %s, %v, want %s", size, got, err, want)
		}
	}
	if _, err := b.tree.Root(1000); err == nil {
		t.Error("there is a root of more events than there are")
	}
}

func TestVerifierKey(t *testing.T) {
	signer, want, err := ledger.NewKey(origin)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ledger.VerifierKey(signer); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, bad := range []string{"", want, signer[1:], signer[:len(signer)-4], strings.Replace(signer, "epoch/1", "epoch/2", 1)} {
		if got, err := ledger.VerifierKey(bad); err == nil {
			t.Errorf("%q has the verifier's key %q", bad, got)
		}
	}
}
