package index_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/index"
)

// contents are the files of an index.
type contents map[string][]byte

func read(t testing.TB, files *archivetest.Lossy) contents {
	t.Helper()
	all, now := contents{}, files.Files()
	must(t, fs.WalkDir(now, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[name], err = fs.ReadFile(now, name)
		}
		return err
	}))
	return all
}

// with returns the files with one of them changed; without it, if it has no bytes.
func (c contents) with(name string, data []byte) contents {
	c = maps.Clone(c)
	if c[name] = data; data == nil {
		delete(c, name)
	}
	return c
}

// look opens an index with these files and asks it for everything.
func (c contents) look(m *model) error {
	files := archivetest.NewLossy()
	for name, data := range c {
		files.Put(name, data)
	}
	x, err := index.Open(files, secret)
	if err != nil {
		return err
	}
	defer x.Close()
	return m.check(x)
}

// small makes an index of two files.
func small(t testing.TB, key []byte) (contents, *model, *archivetest.Lossy) {
	t.Helper()
	files, m := archivetest.NewLossy(), newModel()
	x, err := index.Open(files, key)
	must(t, err)
	for i, all := range [][]index.Record{{item(10, 3, noon), item(11, 2, noon), item(12, 4, noon)}, {item(12, 5, noon), item(13, 1, noon)}} {
		must(t, x.Add(all, mark(int64(i+1))))
		m.add(all, mark(int64(i+1)))
	}
	must(t, x.Close())
	return read(t, files), m, files
}

// refused fails the test unless an error is a Damage that says where it is and what to do.
func refused(t testing.TB, what string, err error) {
	t.Helper()
	var d *index.Damage
	if !errors.As(err, &d) || d.File == "" || d.What == "" || !strings.HasSuffix(err.Error(), "`signalbox up` does that by itself") {
		t.Fatalf("%s: got %v", what, err)
	}
}

// Any bit that is flipped in any file is noticed, at Open or when it is read, and never gives
// another answer.
func TestAnyFlippedBit(t *testing.T) {
	whole, m, _ := small(t, secret)
	must(t, whole.look(m))
	step := 1
	if testing.Short() {
		step = 7
	}
	for name, data := range whole {
		for bit := 0; bit < 8*len(data); bit += step {
			flipped := slices.Clone(data)
			flipped[bit/8] ^= 1 << (bit % 8)
			if err := whole.with(name, flipped).look(m); err == nil {
				t.Fatalf("bit %d of byte %d of %s was flipped, and nobody noticed", bit%8, bit/8, name)
			} else {
				refused(t, name, err)
			}
		}
	}
}

// A file that is cut, lengthened, emptied, missing or another one is noticed.
func TestDamage(t *testing.T) {
	whole, m, _ := small(t, secret)
	foreign, _, _ := small(t, []byte("another box's secret"))
	for name, data := range whole {
		for n := range len(data) {
			refused(t, name+" cut", whole.with(name, data[:n:n]).look(m))
		}
		refused(t, name+" lengthened", whole.with(name, append(slices.Clone(data), 0)).look(m))
		refused(t, name+" missing", whole.with(name, nil).look(m))
		for other, data := range whole {
			if other != name {
				refused(t, other+" in place of "+name, whole.with(name, data).look(m))
			}
		}
	}
	refused(t, "another box's manifest", whole.with("manifest", foreign["manifest"]).look(m))
	refused(t, "another box's index", foreign.look(m))
}

// What somebody without the key wrote is not believed, although its checksums are right: neither
// a whole file nor the records before the end of ours.
func TestForeignFile(t *testing.T) {
	whole, m, _ := small(t, secret)
	files := archivetest.NewLossy()
	x := open(t, files)
	other := item(12, 5, noon)
	other.Seqs[4]++
	must(t, x.Add([]index.Record{item(10, 3, noon), item(11, 2, noon), item(12, 4, noon)}, mark(1)))
	must(t, x.Add([]index.Record{other, item(13, 1, noon)}, mark(2)))
	forged := read(t, files)
	const name = "000000000002.idx"
	refused(t, "a file", whole.with(name, forged[name]).look(m))
	at := strings.Index(string(whole["manifest"]), "file 2 ")
	var tail int
	if _, err := fmt.Sscanf(string(whole["manifest"][at:]), "file 2 %d ", &tail); err != nil {
		t.Fatal(err)
	}
	mixed := append(slices.Clone(forged[name][:tail]), whole[name][tail:]...)
	if len(mixed) != len(whole[name]) || slices.Equal(mixed, whole[name]) {
		t.Fatal("the forged records have another length, or are the same")
	}
	refused(t, "records", whole.with(name, mixed).look(m))
}

// A manifest that is put back says what it covers, or misses its files.
func TestOldManifest(t *testing.T) {
	files, m := archivetest.NewLossy(), newModel()
	x := open(t, files)
	var old []contents
	var then []*model
	for n := range 6 {
		all := []index.Record{item(12, 1+n, noon), item(20+n, 3, noon)}
		must(t, x.Add(all, mark(int64(n+1))))
		m.add(all, mark(int64(n+1)))
		old, then = append(old, read(t, files)), append(then, m.clone())
	}
	must(t, x.Merge(t.Context(), noon))
	merged := read(t, files)
	must(t, merged.look(m))
	for i, c := range old {
		must(t, c.look(then[i]))
		must(t, old[len(old)-1].with("manifest", c["manifest"]).look(then[i]))
		refused(t, "an old manifest without its files", merged.with("manifest", c["manifest"]).look(m))
	}
}

// What a write that was cut off has left is removed; what is nobody's stays and is not read.
func TestLeftovers(t *testing.T) {
	whole, m, files := small(t, secret)
	files.Put("000000000077.idx", whole["000000000001.idx"][:100])
	files.Put("manifest.new", whole["manifest"][:50])
	files.Put("notes.txt", []byte("a person's"))
	x := open(t, files)
	must(t, m.check(x))
	left := read(t, files)
	if want := []string{"000000000001.idx", "000000000002.idx", "manifest", "notes.txt"}; !slices.Equal(slices.Sorted(maps.Keys(left)), want) {
		t.Errorf("there are %v", slices.Sorted(maps.Keys(left)))
	}
}

// A merge does not make a damaged file look whole.
func TestMergeNoticesDamage(t *testing.T) {
	files := archivetest.NewLossy()
	x := open(t, files)
	for n := range 5 {
		must(t, x.Add([]index.Record{item(2+n, 3, noon)}, mark(int64(n))))
	}
	must(t, x.Close())
	whole := read(t, files)
	name := "000000000003.idx"
	flipped := slices.Clone(whole[name])
	flipped[20] ^= 4
	files.Put(name, flipped)
	x = open(t, files)
	refused(t, "merge", x.Merge(t.Context(), noon))
	_, _, err := x.Get(subject(4))
	refused(t, "lookup", err)
	if _, found, err := x.Get(subject(3)); err != nil || !found {
		t.Errorf("what is in another file is found: %v, %v", found, err)
	}
	onlyListed(t, files)
}
