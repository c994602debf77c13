package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sort"

	"github.com/signalbox-dev/signalbox/internal/archive"
)

// file is one file of the index, open. It is never changed; the fields about its life are
// the index's.
type file struct {
	listed
	name   string
	data   archive.Reader
	filter filter
	keys   uint64
	refs   []byte   // of the tail
	at     []uint32 // where each block's reference begins in refs

	views    int  // that have it; guarded by the index
	obsolete bool // no manifest lists it any more; guarded by the index
}

// openFile opens a file that a manifest lists, and checks its tail.
func openFile(files archive.FS, l listed) (*file, error) {
	f := &file{listed: l, name: fileName(l.number)}
	data, err := files.OpenReader(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Damage{File: f.name, What: "it is missing"}
	case err != nil:
		return nil, err
	}
	f.data = data
	if err := f.readTail(); err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return f, nil
}

func (f *file) damage(what string, err error) error {
	return &Damage{File: f.name, What: what, Err: err}
}

func (f *file) readTail() error {
	if n, err := f.data.ReadAt(make([]byte, 1), f.size); n > 0 || !errors.Is(err, io.EOF) {
		return f.damage("it is longer than it was written", nil)
	}
	tail := make([]byte, f.size-f.tail)
	if _, err := f.data.ReadAt(tail, f.tail); err != nil {
		return f.damage("its end can't be read", err)
	}
	if sha256.Sum256(tail) != f.sum {
		return f.damage("its end is not the one that the manifest lists", nil)
	}
	p := parser{rest: tail}
	f.keys = p.uvarint()
	f.filter = p.bytes(p.uvarint())
	f.refs = p.rest
	for len(p.rest) > 0 {
		f.at = append(f.at, uint32(len(f.refs)-len(p.rest)))
		p.bytes(refMinimum)
		p.text()
	}
	if p.bad || len(f.filter) == 0 || len(f.filter)%filterLine != 0 || len(f.at) == 0 {
		return f.damage("its end can't be understood", nil)
	}
	return nil
}

// ref returns where a block begins, its checksum and its key.
func (f *file) ref(block int) (offset int64, sum, key []byte) {
	p := parser{rest: f.refs[f.at[block]:]}
	offset = int64(binary.BigEndian.Uint64(p.bytes(refOffset)))
	sum = p.bytes(blockSum)
	return offset, sum, p.bytes(p.uvarint())
}

// block reads a block and checks it.
func (f *file) block(n int) ([]byte, error) {
	offset, want, _ := f.ref(n)
	end := f.tail
	if n+1 < len(f.at) {
		end, _, _ = f.ref(n + 1)
	}
	if offset >= end {
		return nil, f.damage("its blocks are out of order", nil)
	}
	data := make([]byte, end-offset)
	if _, err := f.data.ReadAt(data, offset); err != nil {
		return nil, f.damage("it can't be read", err)
	}
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:blockSum], want) {
		return nil, f.damage("a block is not as it was written", nil)
	}
	return data, nil
}

// last returns what follows a prefix in the last key that begins with it; nil if none does.
func (f *file) last(prefix []byte) ([]byte, error) {
	above := slices.Clone(prefix)
	for above[len(above)-1] == 0xff { // never all of it: a section is a letter
		above = above[:len(above)-1]
	}
	above[len(above)-1]++
	for n := f.first(above) - 1; n >= 0; n-- {
		c := &cursor{file: f, next: n}
		var found []byte
		for {
			if err := c.advance(); err != nil {
				return nil, err
			}
			if rest, ok := bytes.CutPrefix(c.entry.key, prefix); ok {
				found = rest
			}
			if len(c.rest) == 0 {
				break
			}
		}
		if _, _, key := f.ref(n); found != nil || bytes.Compare(key, prefix) <= 0 {
			return found, nil
		}
	}
	return nil, nil
}

// first returns the first block whose key is not smaller than this one.
func (f *file) first(key []byte) int {
	return sort.Search(len(f.at), func(i int) bool {
		_, _, first := f.ref(i)
		return bytes.Compare(first, key) >= 0
	})
}

// cursor goes through the entries of a file, in order.
type cursor struct {
	file  *file
	next  int    // the block to read next
	rest  []byte // of the block that was read
	entry entry  // the current one; without a key at the end
}

// seek returns a cursor at the first entry whose key is not smaller than this one.
func (f *file) seek(key []byte) (*cursor, error) {
	n := f.first(key)
	if n == len(f.at) {
		n--
	} else if _, _, first := f.ref(n); n > 0 && !bytes.Equal(first, key) {
		n--
	}
	c := &cursor{file: f, next: n}
	for {
		if err := c.advance(); err != nil || c.entry.key == nil || bytes.Compare(c.entry.key, key) >= 0 {
			return c, err
		}
	}
}

// advance goes on to the next entry.
func (c *cursor) advance() error {
	if len(c.rest) == 0 {
		c.entry = entry{}
		if c.next == len(c.file.at) {
			return nil
		}
		block, err := c.file.block(c.next)
		if err != nil {
			return err
		}
		c.rest = block
		c.next++
	}
	e, rest, ok := nextEntry(c.rest)
	if !ok {
		return c.file.damage("a record is not as it was written", nil)
	}
	c.entry, c.rest = e, rest
	return nil
}
