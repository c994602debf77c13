package faults_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// victim is a file or directory that is to be damaged.
type victim struct {
	path  string
	old   string // where its old copy is
	other string // where another box has the same
}

// damages are what can happen to it, by their names in testdata/damage.txt. Those of one kind
// of file are below, in fields.
var damages = map[string]func(victim) error{
	"one bit early":       flip(func(data []byte) int { return len(data) / 10 }),
	"one bit":             flip(func(data []byte) int { return len(data) / 2 }),
	"one bit at the end":  flip(func(data []byte) int { return len(data) - 1 }),
	"cut in the middle":   rewrite(func(data []byte) []byte { return data[:len(data)/2] }),
	"cut by a byte":       rewrite(func(data []byte) []byte { return data[:len(data)-1] }),
	"cut to a byte":       rewrite(func(data []byte) []byte { return data[:1] }),
	"emptied":             rewrite(func([]byte) []byte { return nil }),
	"zeroed":              rewrite(func(data []byte) []byte { return make([]byte, len(data)) }),
	"first sector zeroed": rewrite(func(data []byte) []byte { clear(data[:min(len(data), 512)]); return data }),
	"garbage appended":    rewrite(func(data []byte) []byte { return append(data, "garbage"...) }),
	"zeroes appended":     rewrite(func(data []byte) []byte { return append(data, make([]byte, 600)...) }),
	"twice":               rewrite(func(data []byte) []byte { return append(data, data...) }),
	"deleted":             func(v victim) error { return os.RemoveAll(v.path) },
	"old copy":            func(v victim) error { return putBack(v.path, v.old) },
	"another box's":       func(v victim) error { return putBack(v.path, v.other) },
	"its neighbour's":     neighbours,
}

// fields are places in files of a kind: a bit is flipped there, or the file is cut there.
var fields = map[string]func(data []byte) int{
	"the origin":    func([]byte) int { return 12 },
	"the size":      line1,
	"the root":      func(data []byte) int { return line1(data) + bytes.IndexByte(data[line1(data):], '\n') + 5 },
	"the signer":    func(data []byte) int { return bytes.LastIndex(data, []byte("\n— ")) + 8 },
	"the signature": func(data []byte) int { return len(data) - 20 },

	"the name":       func([]byte) int { return 10 },
	"the key's hash": func(data []byte) int { return bytes.IndexByte(data, '+') + 2 },
	"the key":        func(data []byte) int { return len(data) - 8 },

	"the segment's magic":    func([]byte) int { return 3 },
	"the segment's index":    func([]byte) int { return 15 },
	"the segment's checksum": func([]byte) int { return 17 },

	"the first event's length": func([]byte) int { return 1 },
	"the first event":          func([]byte) int { return 40 },
	"the last event":           func(data []byte) int { return len(data) - 40 },
	"the first hash":           func([]byte) int { return 7 },
	"the last hash":            func(data []byte) int { return len(data) - 3 },
}

// line1 returns where the second line begins.
func line1(data []byte) int { return bytes.IndexByte(data, '\n') + 1 }

// batchFields are places in a batch of the log.
var batchFields = map[string]int{
	"magic": 2, "count": 7, "length": 11, "index": 19, "body's checksum": 21, "checksum": 25, "event's length": 29, "event": 60,
}

// batches return where a batch of a segment begins.
var batches = map[string]func(data []byte) int{
	"the first batch": func([]byte) int { return segmentHead },
	"a middle batch":  func(data []byte) int { all := batchesOf(data); return all[len(all)/2] },
	"the last batch":  func(data []byte) int { all := batchesOf(data); return all[len(all)-1] },
}

// As internal/archive writes them.
const (
	segmentHead = 20
	batchHead   = 28
)

func batchesOf(segment []byte) (all []int) {
	for at := segmentHead; at < len(segment); {
		all = append(all, at)
		at += batchHead + int(binary.BigEndian.Uint32(segment[at+8:]))
	}
	return all
}

// damage returns what a name means.
func damage(name string) (func(victim) error, error) {
	if do := damages[name]; do != nil {
		return do, nil
	}
	if what, ok := strings.CutPrefix(name, "cut before "); ok && batches[what] != nil {
		return rewrite(func(data []byte) []byte { return data[:batches[what](data)] }), nil
	}
	if what, ok := strings.CutSuffix(name, ": a sector zeroed"); ok && batches[what] != nil {
		return rewrite(func(data []byte) []byte {
			at := (batches[what](data) + 511) / 512 * 512
			clear(data[at : at+512])
			return data
		}), nil
	}
	verb, what, ok := strings.Cut(name, " in ")
	at := place(what)
	switch {
	case !ok || at == nil:
	case verb == "one bit":
		return flip(at), nil
	case verb == "cut":
		return rewrite(func(data []byte) []byte { return data[:at(data)] }), nil
	}
	return nil, fmt.Errorf("there is no damage %q", name)
}

// place returns a place in a file by its name: a field, or one of a batch.
func place(name string) func(data []byte) int {
	if at := fields[name]; at != nil {
		return at
	}
	batch, field, ok := strings.Cut(name, "'s ")
	begin, offset := batches[batch], batchFields[field]
	if !ok || begin == nil || offset == 0 {
		return nil
	}
	return func(data []byte) int { return begin(data) + offset }
}

func flip(at func(data []byte) int) func(victim) error {
	return rewrite(func(data []byte) []byte {
		data[at(data)] ^= 4
		return data
	})
}

// rewrite changes a file, and fails if that changes nothing.
func rewrite(change func([]byte) []byte) func(victim) error {
	return func(v victim) error {
		var before, after []byte
		err := edit(v.path, func(data []byte) []byte {
			before = slices.Clone(data)
			after = change(data)
			return after
		})
		if err == nil && bytes.Equal(before, after) {
			err = errors.New("it is as it was")
		}
		return err
	}
}

func putBack(name, from string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(name), copyTree(name, from))
}

// neighbours puts another file of the same directory in the place of a file: the one before it in
// order, or the one after the first.
func neighbours(v victim) error {
	entries, err := os.ReadDir(filepath.Dir(v.path))
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, fs.DirEntry.IsDir)
	at := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == filepath.Base(v.path) })
	if at < 0 || len(entries) < 2 {
		return fmt.Errorf("%s has no neighbour", v.path)
	}
	if at == 0 {
		at = 2
	}
	return putBack(v.path, filepath.Join(filepath.Dir(v.path), entries[at-1].Name()))
}
