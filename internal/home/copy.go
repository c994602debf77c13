package home

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

const (
	// copiers is how many directories are copied at once.
	copiers = 4
	// batch is how many names of a directory are held at once.
	batch = 512
	// maxDepth is how deep directories are copied: what lies deeper is left out.
	maxDepth = 128
)

// Size is how much a copy is.
type Size struct{ Files, Bytes int64 }

// errTooLarge is returned for what is larger than a copy may be.
var errTooLarge = errors.New("it is too large to be copied")

// copyTree copies what is in a directory into another, which is there and empty: files with
// their modes and times, directories with their modes, links as links. Nothing is read through a link. What
// is none of these is left out, and so is what can't be read: a cache that lacks something
// is filled again. If it is more than most allows, where that is not zero, it ends with
// [errTooLarge].
//
// Files are copied in a way that shares their blocks, where the file system can do that
// (copy_file_range does, on Linux): both are changed apart from each other. Hard links are
// not made, as what is written through one name is seen by the other.
func copyTree(ctx context.Context, from, to string, most Size) (Size, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := copier{ctx: ctx, stop: cancel, most: most, free: make(chan struct{}, copiers-1)}
	source, err := os.OpenRoot(from)
	if err != nil {
		return Size{}, err
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		return Size{}, errors.Join(err, source.Close())
	}
	c.dir(source, target, 0)
	c.running.Wait()
	return Size{c.files.Load(), c.bytes.Load()}, context.Cause(ctx)
}

type copier struct {
	ctx          context.Context
	stop         context.CancelCauseFunc
	most         Size
	free         chan struct{} // a place is taken by sending
	running      sync.WaitGroup
	files, bytes atomic.Int64
}

// dir copies a directory, and closes both.
func (c *copier) dir(from, to *os.Root, depth int) {
	if err := errors.Join(c.entries(from, to, depth), from.Close(), to.Close()); err != nil {
		c.stop(err)
	}
}

func (c *copier) entries(from, to *os.Root, depth int) error {
	list, err := from.Open(".")
	if err != nil {
		return left(err)
	}
	defer func() { _ = list.Close() }()
	for {
		entries, err := list.ReadDir(batch)
		for _, e := range entries {
			if c.ctx.Err() != nil {
				return nil // the cause is known
			}
			if err := c.entry(from, to, e, depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return left(err)
		}
	}
}

// left is nil for an error that says that something can't be read, or is gone.
func left(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (c *copier) entry(from, to *os.Root, e fs.DirEntry, depth int) error {
	info, err := e.Info()
	if err != nil {
		return left(err)
	}
	files, bytes := c.files.Add(1), c.bytes.Add(info.Size())
	if c.most.Files > 0 && files > c.most.Files || c.most.Bytes > 0 && bytes > c.most.Bytes {
		return errTooLarge
	}
	switch name := e.Name(); {
	case info.IsDir() && depth < maxDepth:
		return c.directory(from, to, info, depth)
	case info.Mode().IsRegular():
		return copyFile(from, to, info)
	case info.Mode()&fs.ModeSymlink != 0:
		leads, err := from.Readlink(name)
		if err != nil {
			return left(err)
		}
		return to.Symlink(leads, name)
	}
	return nil
}

// directory copies a directory with what is in it, beside others if there is a free place.
func (c *copier) directory(from, to *os.Root, info fs.FileInfo, depth int) error {
	name := info.Name()
	source, err := from.OpenRoot(name)
	if err != nil {
		return left(err)
	}
	if err := to.Mkdir(name, 0o700); err != nil {
		return errors.Join(err, source.Close())
	}
	target, err := to.OpenRoot(name)
	if err != nil {
		return errors.Join(err, source.Close())
	}
	// The mode is set last, by a handle of its own: the directory is written until then, and
	// the one that it is in may be closed before.
	self, err := target.Open(".")
	if err != nil {
		return errors.Join(err, source.Close(), target.Close())
	}
	work := func() {
		c.dir(source, target, depth+1)
		if err := errors.Join(self.Chmod(info.Mode().Perm()), self.Close()); err != nil {
			c.stop(err)
		}
	}
	select {
	case c.free <- struct{}{}:
		c.running.Go(func() { defer func() { <-c.free }(); work() })
	default:
		work()
	}
	return nil
}

// copyFile copies a file. If it has become something else it is left out.
func copyFile(from, to *os.Root, info fs.FileInfo) (err error) {
	name := info.Name()
	source, err := from.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return left(err)
	}
	defer func() { _ = source.Close() }()
	if now, err := source.Stat(); err != nil || !os.SameFile(now, info) {
		return err
	}
	target, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if mode := info.Mode().Perm(); mode&0o200 == 0 {
		err = errors.Join(err, target.Chmod(mode))
	}
	return errors.Join(err, target.Close(), to.Chtimes(name, info.ModTime(), info.ModTime()))
}
