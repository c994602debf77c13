package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/ledger"
)

// ended is the directory of an archive that was stopped, or killed with events that no checkpoint covers.
func ended(t *testing.T, unsealed int) (dir string, keys archive.Keys) {
	t.Helper()
	dir, keys = t.TempDir(), newKeys(t)
	b := mustOpen(t, archive.Dir(dir), keys)
	blob, err := b.PutBlob(bytes.Repeat([]byte("an output\n"), 1000))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.record(append(b.pen.many(300), b.pen.write("item-1", "with a blob", &blob))...); err != nil {
		t.Fatal(err)
	}
	if unsealed == 0 {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		return dir, keys
	}
	if _, err := b.Seal(); err != nil {
		t.Fatal(err)
	}
	if err := b.record(b.pen.many(unsealed)...); err != nil {
		t.Fatal(err)
	}
	return dir, keys
}

func put(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Of a box's own archive the log's end, and what it was about to be sealed as, is known. Of a copy
// everything has to be covered.
func TestVerifyUncovered(t *testing.T) {
	segment := "log/00000000000000000000.log"
	type found = []ledger.Uncovered
	orphan := []byte("stored before its event")
	orphanPath := ledger.BlobPath(ledger.NewBlob(orphan).SHA256)
	for name, test := range map[string]struct {
		unsealed  int
		add       func(dir string)
		own, copy found
	}{
		"stopped": {},
		"killed":  {unsealed: 3, copy: found{{Kind: "log event", Count: 3, First: segment}}},
		"an event in a larger bundle": {
			add: func(dir string) {
				bundle := get(t, dir, "tile/entries/001.p/45")
				events, _ := ledger.Entries(bundle)
				put(t, dir, "tile/entries/001.p/46", ledger.AppendEntry(bundle, events[44]))
			},
			own: found{{Kind: "bundle", Count: 1, First: "tile/entries/001.p/46"}}, copy: found{{Kind: "bundle", Count: 1, First: "tile/entries/001.p/46"}},
		},
		"a bundle that the log does not have": {
			unsealed: 300,
			add:      func(dir string) { put(t, dir, "tile/entries/007", get(t, dir, "tile/entries/000")) },
			own:      found{{Kind: "bundle", Count: 1, First: "tile/entries/007"}},
			copy:     found{{Kind: "bundle", Count: 1, First: "tile/entries/007"}, {Kind: "log event", Count: 300, First: segment}},
		},
		"a tile that the log's events don't make": {
			unsealed: 3,
			add:      func(dir string) { put(t, dir, "tile/0/001.p/46", make([]byte, 46*32)) },
			own:      found{{Kind: "tile", Count: 1, First: "tile/0/001.p/46"}},
			copy:     found{{Kind: "tile", Count: 1, First: "tile/0/001.p/46"}, {Kind: "log event", Count: 3, First: segment}},
		},
		"a blob that no event refers to": {
			add:  func(dir string) { put(t, dir, orphanPath, orphan) },
			copy: found{{Kind: "blob", Count: 1, First: orphanPath}},
		},
		"a blob with other bytes that no event refers to": {
			add: func(dir string) { put(t, dir, orphanPath, orphan[1:]) },
			own: found{{Kind: "blob", Count: 1, First: orphanPath}}, copy: found{{Kind: "blob", Count: 1, First: orphanPath}},
		},
		"other files": {
			add: func(dir string) {
				for _, name := range []string{"README", "tmp/7", "log/1.tmp", "damaged-1/checkpoint", "mirror"} {
					put(t, dir, name, []byte("x"))
				}
			},
			copy: found{{Kind: "file", Count: 5, First: "README"}},
		},
		"directories that nothing is in yet": {
			unsealed: 300,
			add: func(dir string) {
				for _, name := range []string{"tile/0/002.p", "tile/1/x001"} {
					if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o700); err != nil {
						t.Fatal(err)
					}
				}
			},
			copy: found{{Kind: "file", Count: 2, First: "tile/0/002.p"}, {Kind: "log event", Count: 300, First: segment}},
		},
		"a note of a mirror": {add: func(dir string) { put(t, dir, "mirror", []byte("the log is written to a mirror too\n")) }},
		"a file of the log without a batch": {
			add:  func(dir string) { put(t, dir, "log/00000000000000000301.log", []byte("x")) },
			copy: found{{Kind: "file", Count: 1, First: "log/00000000000000000301.log"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, keys := ended(t, test.unsealed)
			if test.add != nil {
				test.add(dir)
			}
			check := func(verify func(context.Context, archive.FS, string) (archive.Verified, error), want found) {
				t.Helper()
				v, err := verify(bg, archive.Dir(dir), keys.Verifier)
				var uncovered *ledger.UncoveredError
				switch {
				case len(want) == 0 && err != nil:
					t.Error(err)
				case len(want) > 0 && (!errors.As(err, &uncovered) || !sameKinds(uncovered.Found, want)):
					t.Errorf("got %v, want %v", err, want)
				case v.Events != 301 || v.Blobs != 1:
					t.Errorf("got %+v", v)
				}
			}
			if !strings.Contains(name, "without a batch") { // which for a box is a write that was torn
				check(archive.Verify, test.own)
			}
			check(archive.VerifyCopy, test.copy)
		})
	}
}

func sameKinds(a, b []ledger.Uncovered) bool {
	order := func(a, b ledger.Uncovered) int { return strings.Compare(a.Kind, b.Kind) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order))
}

// What a box was about to seal when it was killed is what its log has.
func TestVerifyHalfSealed(t *testing.T) {
	dir, keys := ended(t, 700)
	later := t.TempDir()
	if err := os.CopyFS(later, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	b := mustOpen(t, archive.Dir(later), keys)
	if err := b.Close(); err != nil { // which seals
		t.Fatal(err)
	}
	err := fs.WalkDir(os.DirFS(later), "tile", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			put(t, dir, name, get(t, later, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := archive.Verify(bg, archive.Dir(dir), keys.Verifier); err != nil || v.Events != 301 || v.Unsealed != 700 {
		t.Errorf("%+v, %v", v, err)
	}
	var uncovered *ledger.UncoveredError
	if _, err := archive.VerifyCopy(bg, archive.Dir(dir), keys.Verifier); !errors.As(err, &uncovered) || !sameKinds(uncovered.Found, []ledger.Uncovered{{Kind: "bundle", Count: 3, First: "tile/entries/001"}, {Kind: "log event", Count: 700, First: "log/00000000000000000000.log"}, {Kind: "tile", Count: 4, First: "tile/0/001"}}) {
		t.Errorf("a copy: %v", err)
	}
}
