package index

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/archive"
)

// Index is an index on disk. All its methods may be called concurrently.
type Index struct {
	fs  archive.FS
	key []byte

	merging sync.Mutex // held by a Merge
	writing sync.Mutex // held while the manifest is written; after merging

	mu     sync.Mutex // guards the rest; after writing
	view   *view
	mark   Mark
	next   uint64
	failed error
	closed bool
}

// view is the files at one time, oldest first.
type view struct {
	files []*file
	uses  int // by lookups, and one while it is the latest
}

// Open opens the index in a directory, which need not exist. The key is a secret of the
// box's: only an index that was written with it is believed. Only one Index may be open in
// a directory.
func Open(files archive.FS, key []byte) (*Index, error) {
	files = archive.Patient(files)
	x := &Index{fs: files, key: slices.Clone(key), view: &view{uses: 1}}
	if err := files.Mkdir("."); err != nil {
		return nil, fmt.Errorf("make the index's directory: %w", err)
	}
	names, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("read the index's directory: %w", err)
	}
	data, err := files.ReadFile(manifestName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := x.begin(names); err != nil {
			return nil, err
		}
		return x, nil
	case err != nil:
		return nil, fmt.Errorf("read %s of the index: %w", manifestName, err)
	}
	m, err := parseManifest(data, key)
	if err != nil {
		return nil, err
	}
	x.mark, x.next = m.mark, m.next
	for _, l := range m.files {
		f, err := openFile(files, l)
		if err != nil {
			return nil, errors.Join(err, x.Close())
		}
		f.views = 1
		x.view.files = append(x.view.files, f)
	}
	if err := m.clear(files, names); err != nil {
		return nil, errors.Join(fmt.Errorf("clear the index's directory: %w", err), x.Close())
	}
	return x, nil
}

// begin makes an empty index. From then on a manifest that is missing is damage.
func (x *Index) begin(names []string) error {
	for _, name := range names {
		if _, ok := number(name); ok {
			return &Damage{File: manifestName, What: "it is missing"}
		}
	}
	x.next = 1
	_, err := x.writeManifest(manifest{next: x.next})
	return err
}

// Mark says how much of the ledger the index covers.
func (x *Index) Mark() Mark {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mark
}

// Add takes records, and notes that with them the index covers the ledger up to a mark; without
// any it only does the latter. When it has returned, both are durable. If the index covers more already,
// its mark stays. After an error the index is as before, or, if it can't be told, takes nothing
// more.
func (x *Index) Add(all []Record, upTo Mark) error {
	var entries []entry
	for _, r := range all {
		if err := r.check(); err != nil {
			return err
		}
		entries = append(entries, r.entries()...)
	}
	entries = sorted(entries)
	x.writing.Lock()
	defer x.writing.Unlock()
	old, err := x.use()
	if err != nil {
		return err
	}
	defer x.release(old)
	if err := x.usable(); err != nil {
		return err
	}
	mark := x.Mark()
	if upTo.Size > mark.Size {
		mark = upTo
	}
	if len(entries) == 0 {
		return x.publish(old.files, nil, mark)
	}
	l, err := x.create(x.number(), uint64(len(entries)), func(d *draft) error {
		for _, e := range entries {
			if err := d.add(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	f, err := openFile(x.fs, l)
	if err != nil {
		_ = x.fs.Remove(fileName(l.number)) // what stays is removed at the next Open
		return err
	}
	return x.publish(append(slices.Clone(old.files), f), f, mark)
}

// number gives out the number of a new file.
func (x *Index) number() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.next++
	return x.next - 1
}

// publish makes files the index, durably, and removes those that are no part of it any more.
// If it fails, and the new file among them is certainly not listed, that is removed.
// It is called with the lock on writing.
func (x *Index) publish(files []*file, added *file, mark Mark) error {
	x.mu.Lock()
	m := manifest{mark: mark, next: x.next}
	x.mu.Unlock()
	for _, f := range files {
		m.files = append(m.files, f.listed)
	}
	replaced, err := x.writeManifest(m)
	if err != nil {
		if added != nil {
			err = errors.Join(err, added.data.Close())
			if !replaced {
				_ = x.fs.Remove(added.name) // what stays is removed at the next Open
			}
		}
		return err
	}
	x.mu.Lock()
	old := x.view
	x.mark = mark
	x.view = &view{files: files, uses: 1}
	for _, f := range files {
		f.views++
	}
	for _, f := range old.files {
		f.obsolete = !slices.Contains(files, f)
	}
	x.mu.Unlock()
	x.release(old)
	return nil
}

// use returns the files as they are now, to be released.
func (x *Index) use() (*view, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, ErrClosed
	}
	x.view.uses++
	return x.view, nil
}

// release closes the files that nobody uses any more, and removes those that are obsolete.
func (x *Index) release(v *view) {
	var unused []*file
	x.mu.Lock()
	if v.uses--; v.uses == 0 {
		for _, f := range v.files {
			if f.views--; f.views == 0 {
				unused = append(unused, f)
			}
		}
	}
	x.mu.Unlock()
	for _, f := range unused {
		_ = f.data.Close() // it was only read
		if f.obsolete {
			_ = x.fs.Remove(f.name) // what stays is removed at the next Open
		}
	}
}

// Close closes the index. It waits for an Add or Merge that is under way, and not for lookups.
func (x *Index) Close() error {
	x.merging.Lock()
	defer x.merging.Unlock()
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	closed, v := x.closed, x.view
	x.closed = true
	x.mu.Unlock()
	if !closed {
		x.release(v)
	}
	return nil
}

// fail notes that nobody knows what is on the disk.
func (x *Index) fail(name string, err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err = writing(name, err)
	if x.failed == nil {
		x.failed = err
	}
	return err
}

func (x *Index) usable() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed != nil {
		return fmt.Errorf("%w: %w", ErrFailed, x.failed)
	}
	return nil
}
