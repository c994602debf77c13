package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/ledger"
)

// How long files are at most, in bytes.
const (
	longestNote    = 1 << 20                                                              // checkpoint, key, mirror
	longestTile    = ledger.TileWidth * (2 + ledger.MaxEvent)                             // a bundle; a tile of hashes has less
	longestSegment = segmentSize + int64(batchHead) + engine.MaxBatch*(2+ledger.MaxEvent) // what is larger is followed by another one
	longestMember  = segmentSize + 2*(int64(len(memberMagic)+2*memberHead)+longestText+longestBody)
	longestOther   = 1 << 30 // of the index
)

// longest returns how many bytes a file can have, by its name.
func longest(name string) int64 {
	switch {
	case name == ledger.CheckpointPath || name == keyPath || name == mirrorNote:
		return longestNote
	case strings.HasPrefix(name, "tile/"):
		return longestTile
	case strings.HasPrefix(name, blobDir+"/"):
		return ledger.MaxBlob
	case strings.HasPrefix(path.Base(name), memberPrefix):
		return longestMember
	case strings.HasSuffix(name, ".log"):
		return longestSegment
	}
	return longestOther
}

// Readable lets package ledger read files.
func Readable(files FS) fs.FS { return readable{files} }

// lister is files that open a directory, which is no link, to list its names.
type lister interface {
	openDir(name string) (*os.File, error)
}

// readable lets package ledger read the archive's files.
type readable struct{ FS }

// Open implements [fs.FS].
func (r readable) Open(name string) (fs.File, error) {
	reader, err := r.OpenReader(name)
	if err == nil {
		return &opened{reader, io.NewSectionReader(reader, 0, math.MaxInt64)}, nil
	}
	if d, ok := r.FS.(lister); ok {
		if errors.Is(err, regular.ErrIrregular) {
			if f, dirErr := d.openDir(name); dirErr == nil { // and not a file that holds a nil *os.File
				return f, nil
			}
		}
		return nil, err
	}
	if names, dirErr := r.ReadDir(name); dirErr == nil {
		return &directory{names: names}, nil
	}
	return nil, err
}

// namesAtOnce is how many names of a directory are held in memory, where nobody needs all of them.
const namesAtOnce = 1024

// eachName calls f for every name in a directory, in no order, and holds a part of them at a time if the files are a
// file system's. A link is no directory.
func eachName(files FS, dir string, f func(name string) error) error {
	d, ok := files.(lister)
	if !ok {
		names, err := files.ReadDir(dir)
		for _, name := range names {
			if err := f(name); err != nil {
				return err
			}
		}
		return err
	}
	list, err := d.openDir(dir)
	if err != nil {
		return err
	}
	defer func() { _ = list.Close() }() // read only
	for {
		names, err := list.Readdirnames(namesAtOnce)
		for _, name := range names {
			if err := f(name); err != nil {
				return err
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
}

// errEnough ends a walk over names.
var errEnough = errors.New("enough was seen")

// holdsAny says whether a directory has a name in it.
func holdsAny(files FS, dir string) (bool, error) {
	err := eachName(files, dir, func(string) error { return errEnough })
	if errors.Is(err, errEnough) {
		return true, nil
	}
	return false, err
}

// opened reads a file from its beginning.
type opened struct {
	io.Closer
	from *io.SectionReader
}

func (o *opened) Read(p []byte) (int, error) { return o.from.Read(p) }

// Stat implements [fs.File], if the file can say what it is.
func (o *opened) Stat() (fs.FileInfo, error) {
	if f, ok := o.Closer.(*os.File); ok {
		return f.Stat()
	}
	return nil, errors.ErrUnsupported
}

// directory is one whose names are known.
type directory struct{ names []string }

func (d *directory) Stat() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }
func (d *directory) Read([]byte) (int, error)   { return 0, errors.ErrUnsupported }
func (d *directory) Close() error               { return nil }

// ReadDir implements [fs.ReadDirFile].
func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if len(d.names) == 0 {
		return nil, io.EOF
	}
	var all []fs.DirEntry
	for _, name := range d.names[:min(n, len(d.names))] {
		all = append(all, dirEntry(name))
	}
	d.names = d.names[len(all):]
	return all, nil
}

// dirEntry is a name of which nothing else is known.
type dirEntry string

func (e dirEntry) Name() string               { return string(e) }
func (e dirEntry) IsDir() bool                { return false }
func (e dirEntry) Type() fs.FileMode          { return fs.ModeIrregular }
func (e dirEntry) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

// until ends with a context: whoever waits for a large ledger can stop.
type until struct {
	fs.FS
	ctx context.Context //nolint:containedctx // package ledger takes none
}

func (u until) Open(name string) (fs.File, error) {
	if err := u.ctx.Err(); err != nil {
		return nil, err
	}
	return u.FS.Open(name)
}
