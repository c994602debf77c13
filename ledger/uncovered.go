package ledger

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// The kinds of what a checkpoint does not cover.
const (
	UncoveredBundle    = "bundle"    // events
	UncoveredTile      = "tile"      // hashes
	UncoveredBlob      = "blob"      // bytes that no event refers to
	UncoveredFile      = "file"      // what is no part of a ledger: another name, or no regular file
	UncoveredSignature = "signature" // lines of the checkpoint that the key did not sign
)

// Uncovered says how much of one kind lies among a ledger's files without being
// covered by its checkpoint.
type Uncovered struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
	First string `json:"first"` // the path of the first one, by name
}

func (u Uncovered) String() string {
	plural := "s"
	if u.Count == 1 {
		plural = ""
	}
	return fmt.Sprintf("%d %s%s, first %q", u.Count, u.Kind, plural, u.First)
}

// UncoveredError is returned for a ledger whose checkpoint does not cover all of its
// files. What it does cover is right.
type UncoveredError struct{ Found []Uncovered }

func (e *UncoveredError) Error() string {
	all := make([]string, len(e.Found))
	for i, u := range e.Found {
		all[i] = u.String()
	}
	return "not all of it is covered by the signed checkpoint: " + strings.Join(all, "; ")
}

// Add counts another one.
func (e *UncoveredError) Add(kind, path string) {
	for i := range e.Found {
		if e.Found[i].Kind == kind {
			e.Found[i].Count++
			e.Found[i].First = min(e.Found[i].First, path)
			return
		}
	}
	e.Found = append(e.Found, Uncovered{kind, 1, path})
}

// Covered returns a checkpoint's text with the one signature that the key made, and
// nothing else. A signed note may have other signatures besides, which say nothing to
// whoever does not have their keys.
func Covered(signed []byte, verifierKey string) ([]byte, error) {
	if _, err := OpenCheckpoint(signed, verifierKey); err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(verifierKey)
	if err != nil {
		return nil, err
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(n.Sigs[0].Base64)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%s\n%s%s %s\n", n.Text, signatureMark, n.Sigs[0].Name, base64.StdEncoding.EncodeToString(raw)), nil
}

// stray looks for what a checkpoint does not cover. It holds one directory's worth of
// names at a time, and descends only where a ledger has directories.
type stray struct {
	files fs.FS
	size  int64
	known func(kind, path string) (bool, error) // nil for none
	found UncoveredError

	blobs *blobSet
	print *printer

	whole     []byte // the tile or bundle that was compared with last
	wholePath string
}

// look looks at all directories of a ledger.
func (s *stray) look() error {
	err := s.each("tile", func(name, path string) error {
		if name == "entries" {
			return s.tiles(path, -1, 0, 0)
		}
		level, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(level) != name || level < 0 || level >= maxLevels {
			return s.add(UncoveredFile, path)
		}
		return s.tiles(path, level, 0, 0)
	})
	if err != nil {
		return err
	}
	return s.each("blob", func(prefix, path string) error {
		if first, err := hex.DecodeString(prefix); err != nil || hex.EncodeToString(first) != prefix || len(first) != 1 {
			return s.add(UncoveredFile, path)
		}
		return s.each(path, func(name, path string) error {
			sum, err := hex.DecodeString(name)
			switch {
			case err != nil || len(sum) != len(Hash{}) || BlobPath(Hash(sum)) != path:
				return s.add(UncoveredFile, path)
			case !s.blobs.has(s.print.blob(Hash(sum), 0)):
				return s.add(UncoveredBlob, path)
			}
			return nil
		})
	})
}

const (
	maxLevels = 8 // of tiles over 2^63 events
	maxGroups = 6 // of three digits in the name of a tile
)

// tiles looks at the tiles below a directory, of a level, or of the bundles if that is
// -1. The groups of digits so far make the index. A directory without a name in it is left by who removed the last
// one; where the checkpoint covers nothing there was none.
func (s *stray) tiles(dir string, level int, index int64, groups int) error {
	empty, err := s.count(dir, func(name, path string) error {
		digits, further := strings.CutPrefix(name, "x")
		digits, partial := strings.CutSuffix(digits, ".p")
		n, err := strconv.Atoi(digits)
		if err != nil || fmt.Sprintf("%03d", n) != digits || n < 0 || n > 999 || groups == maxGroups || further && (partial || n == 0 && groups == 0) {
			return s.add(UncoveredFile, path)
		}
		at := index*1000 + int64(n)
		switch {
		case further:
			return s.tiles(path, level, at, groups+1)
		case partial:
			return s.partials(path, level, at)
		}
		return s.tile(path, level, at, TileWidth)
	})
	if err == nil && empty && (groups == maxGroups || s.covered(level, index*1000) == 0) {
		return s.add(UncoveredFile, dir)
	}
	return err
}

// partials looks at the tiles of an index that are not full.
func (s *stray) partials(dir string, level int, index int64) error {
	empty, err := s.count(dir, func(name, path string) error {
		width, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(width) != name || width < 1 || width >= TileWidth {
			return s.add(UncoveredFile, path)
		}
		return s.tile(path, level, index, width)
	})
	if err == nil && empty && s.covered(level, index) == 0 {
		return s.add(UncoveredFile, dir)
	}
	return err
}

// covered returns how wide a tile is, or a bundle, as the checkpoint covers it.
func (s *stray) covered(level int, index int64) int64 {
	hashes := s.size >> (tileHeight * max(level, 0))
	if index > hashes/TileWidth {
		return 0
	}
	return min(TileWidth, hashes-index*TileWidth)
}

// tile looks at one tile, or bundle. One of a smaller tree is the beginning of what the
// checkpoint covers: a box that was ended may have left it there.
func (s *stray) tile(path string, level int, index int64, width int) error {
	kind, name := UncoveredTile, TilePath
	if level < 0 {
		kind, name = UncoveredBundle, func(_ int, index int64, width int) string { return EntriesPath(index, width) }
	}
	covered := s.covered(level, index)
	switch {
	case int64(width) == covered:
		return nil // it was held against the events
	case int64(width) < covered:
		same, err := s.begins(path, width, name(level, index, int(covered)), level < 0)
		if same || err != nil {
			return err
		}
	}
	return s.add(kind, path)
}

// begins says whether a tile is the beginning of another one.
func (s *stray) begins(path string, width int, of string, entries bool) (bool, error) {
	if s.wholePath != of {
		data, err := readFile(s.files, of, TileWidth*(2+MaxEvent), nil)
		if err != nil {
			return false, &VerifyError{of, -1, err}
		}
		s.whole, s.wholePath = data, of
	}
	most := width * hashSize
	if entries {
		most = 0
		for range width {
			stored, _, err := cutEntry(s.whole[most:])
			if err != nil {
				return false, &VerifyError{of, -1, err}
			}
			most += 2 + len(stored)
		}
	}
	data, err := readFile(s.files, path, most, nil)
	return err == nil && most <= len(s.whole) && bytes.Equal(data, s.whole[:most]), nil
}

// add counts what is not covered, unless the caller knows it.
func (s *stray) add(kind, path string) error {
	if s.known != nil {
		if known, err := s.known(kind, path); known || err != nil {
			return err
		}
	}
	s.found.Add(kind, path)
	return nil
}

// each calls f for every name in a directory. What is no directory is not covered.
func (s *stray) each(dir string, f func(name, path string) error) error {
	_, err := s.count(dir, f)
	return err
}

// count is each for who has to know whether a directory is there and has no names.
func (s *stray) count(dir string, f func(name, path string) error) (empty bool, err error) {
	empty = true
	err = eachName(s.files, dir, func(name string) error {
		empty = false
		return f(name, dir+"/"+name)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil // nothing was written yet, or it is just removed
	case errors.Is(err, errNoDirectory):
		return false, s.add(UncoveredFile, dir)
	}
	return empty, err
}

var errNoDirectory = errors.New("not a directory")

// eachName calls f for every name in a directory, without holding all of them if the files
// are a file system's.
func eachName(files fs.FS, dir string, f func(name string) error) error {
	if info, err := statFirst(files, dir); err != nil || info != nil && !info.IsDir() {
		if err == nil {
			err = errNoDirectory
		}
		return err
	}
	file, err := files.Open(dir)
	if err != nil {
		return &VerifyError{dir, -1, err}
	}
	defer func() { _ = file.Close() }() // read only
	if info, err := file.Stat(); err == nil && !info.IsDir() {
		return errNoDirectory
	}
	d, ok := file.(fs.ReadDirFile)
	if !ok {
		return &VerifyError{dir, -1, errors.New("its names can't be listed, so it can't be told what else is there")}
	}
	for {
		entries, err := d.ReadDir(namesAtOnce)
		for _, e := range entries {
			if err := f(e.Name()); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || err == nil && len(entries) == 0 {
			return nil
		}
		if err != nil {
			return &VerifyError{dir, -1, err}
		}
	}
}

const namesAtOnce = 1024
