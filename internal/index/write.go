package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/signalbox-dev/signalbox/internal/archive"
)

const (
	blockSize  = 4096
	writeSize  = 64 << 10 // bytes that are written at once
	blockSum   = 16       // bytes of a block's SHA-256 that are kept
	refOffset  = 8        // bytes of its offset
	refMinimum = refOffset + blockSum
)

// draft writes one file of the index. Entries come in the order of their keys.
type draft struct {
	file   archive.File
	out    []byte // not yet written
	size   int64  // of the blocks so far
	block  []byte
	start  []byte // the first key of the block
	last   []byte // the latest key
	ended  []byte // the last key of the block before
	refs   []byte
	filter filter
	keys   uint64 // in the filter
	probed uint64 // the latest of them
}

// newDraft begins a file for at most so many different names.
func newDraft(f archive.File, keys uint64) *draft {
	return &draft{file: f, filter: newFilter(keys)}
}

func (d *draft) add(e entry) error {
	if len(d.block) > 0 && len(d.block)+len(e.key)+len(e.value)+8 > blockSize {
		if err := d.endBlock(); err != nil {
			return err
		}
	}
	if len(d.block) == 0 {
		d.start = append(d.start[:0], e.key...)
	}
	d.block = appendEntry(d.block, e)
	d.last = append(d.last[:0], e.key...)
	if p := e.probe(); d.keys == 0 || p != d.probed {
		d.filter.add(p)
		d.keys++
		d.probed = p
	}
	return nil
}

func (d *draft) endBlock() error {
	sum := sha256.Sum256(d.block)
	d.refs = binary.BigEndian.AppendUint64(d.refs, uint64(d.size))
	d.refs = append(d.refs, sum[:blockSum]...)
	d.refs = appendText(d.refs, string(between(d.ended, d.start)))
	d.size += int64(len(d.block))
	d.out = append(d.out, d.block...)
	d.block = d.block[:0]
	d.ended = append(d.ended[:0], d.last...)
	if len(d.out) < writeSize {
		return nil
	}
	return d.write()
}

// between returns the shortest beginning of b that is larger than a, which is smaller than b.
func between(a, b []byte) []byte {
	n := 0
	for n < len(a) && a[n] == b[n] {
		n++
	}
	return b[:n+1]
}

func (d *draft) write() error {
	_, err := d.file.Write(d.out)
	d.out = d.out[:0]
	return err
}

// end writes the rest. The file is not synced yet.
func (d *draft) end(number uint64) (listed, error) {
	if err := d.endBlock(); err != nil {
		return listed{}, err
	}
	var tail bytes.Buffer
	tail.Write(binary.AppendUvarint(nil, d.keys))
	tail.Write(appendText(nil, string(d.filter)))
	tail.Write(d.refs)
	d.out = append(d.out, tail.Bytes()...)
	l := listed{number: number, tail: d.size, size: d.size + int64(tail.Len()), sum: sha256.Sum256(tail.Bytes())}
	return l, d.write()
}

// create writes a file of the index, durably but for its manifest. Fill adds its entries,
// of at most so many different names.
func (x *Index) create(number, keys uint64, fill func(*draft) error) (listed, error) {
	name := fileName(number)
	f, err := x.fs.Create(name)
	if err != nil {
		return listed{}, writing(name, err)
	}
	d := newDraft(f, keys)
	err = fill(d)
	var l listed
	if err == nil {
		l, err = d.end(number)
	}
	if err != nil {
		err = errors.Join(err, f.Close())
		_ = x.fs.Remove(name) // a full disk needs the room; what stays is removed at the next Open
		return listed{}, writing(name, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return listed{}, x.fail(name, err)
	}
	if err := x.fs.SyncDir("."); err != nil {
		return listed{}, x.fail(name, err)
	}
	return l, nil
}
