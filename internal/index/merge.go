package index

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"
)

const (
	maxFiles  = 10 // after a Merge
	mergeFrom = 4  // files that are merged before there are too many
)

// Merge makes one file of several until there are few, and drops keys of requests that nobody
// has to find any more at this time. It may take long, and is meant for the background. If
// it is cancelled, the index is as it was after its last step.
func (x *Index) Merge(ctx context.Context, now time.Time) error {
	x.merging.Lock()
	defer x.merging.Unlock()
	for {
		if more, err := x.mergeOnce(ctx, now); err != nil || !more {
			return err
		}
	}
}

// mergeOnce merges the newest files, and reports whether there were any to merge.
func (x *Index) mergeOnce(ctx context.Context, now time.Time) (merged bool, err error) {
	v, err := x.use()
	if err != nil {
		return false, err
	}
	defer x.release(v)
	if err := x.usable(); err != nil {
		return false, err
	}
	var sizes []int64
	keys := uint64(0)
	for _, f := range v.files {
		sizes = append(sizes, f.size)
	}
	first := due(sizes)
	if first == len(sizes) {
		return false, nil
	}
	old := v.files[first:]
	for _, f := range old {
		keys += f.keys
	}
	l, err := x.create(x.number(), keys, func(d *draft) error { return fill(ctx, d, old, now) })
	if err != nil {
		return false, err
	}
	f, err := openFile(x.fs, l)
	if err != nil {
		_ = x.fs.Remove(fileName(l.number)) // what stays is removed at the next Open
		return false, err
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.usable(); err != nil { // an Add may have come in between, and failed
		return false, errors.Join(err, f.data.Close())
	}
	x.mu.Lock()
	files, mark := slices.Clone(x.view.files), x.mark // with what it has added
	x.mu.Unlock()
	return true, x.publish(slices.Replace(files, first, first+len(old), f), f, mark)
}

// due says from which file on those of these sizes, oldest first, are to be merged; if
// nothing is to be, it is their number. Those that are merged are together as large as the one
// before them, so that a record is not written again for every few that are added.
func due(sizes []int64) int {
	first := len(sizes)
	total := int64(0)
	for first > 0 && (total == 0 || sizes[first-1] <= total) {
		first--
		total += sizes[first]
	}
	if len(sizes) > maxFiles {
		first = min(first, maxFiles-1)
	}
	if len(sizes) <= maxFiles && len(sizes)-first < mergeFrom {
		return len(sizes)
	}
	return first
}

// fill writes what is in files, oldest first, to a new one.
func fill(ctx context.Context, d *draft, files []*file, now time.Time) error {
	m, err := merge(files, nil)
	if err != nil {
		return err
	}
	since := now.Add(-KeepKeys).UnixMilli()
	for {
		e, err := m.next(ctx)
		if err != nil || e.key == nil {
			return err
		}
		e, keep, err := aged(e, since)
		if err != nil {
			return m.from.damage("one of its records", err)
		}
		if !keep {
			continue
		}
		if err := d.add(e); err != nil {
			return err
		}
	}
}

// aged returns what is left of an entry when keys are kept since a time; nothing, if it is the key
// of a request alone.
func aged(e entry, since int64) (left entry, keep bool, err error) {
	switch section(e.key[0]) {
	case addedBy:
		p := parser{rest: e.value}
		at := p.varint()
		if p.bad {
			return entry{}, false, errRecord
		}
		return e, at >= since, nil
	case records:
		r, err := e.record()
		if err != nil {
			return entry{}, false, err
		}
		if bare := r.withoutKeys(); r.Latest < since && (r.AddKey != "" || r.Keys != bare.Keys) {
			return entry{e.key, bare.value()}, true, nil
		}
	}
	return e, true, nil
}

// merged goes through the entries of several files at once, in order. Of those with the same
// key it gives the newest file's.
type merged struct {
	cursors []*cursor // oldest first; those at their end are left out
	from    *file     // that the latest entry is from
}

// merge begins with the first entry whose key is not smaller than this one.
func merge(files []*file, key []byte) (*merged, error) {
	m := &merged{}
	for _, f := range files {
		c, err := f.seek(key)
		if err != nil {
			return nil, err
		}
		if c.entry.key != nil {
			m.cursors = append(m.cursors, c)
		}
	}
	return m, nil
}

// next returns the next entry; one without a key at the end.
func (m *merged) next(ctx context.Context) (entry, error) {
	if err := ctx.Err(); err != nil {
		return entry{}, err
	}
	var e entry
	for _, c := range m.cursors {
		if e.key == nil || bytes.Compare(c.entry.key, e.key) <= 0 {
			e, m.from = c.entry, c.file
		}
	}
	for i := 0; i < len(m.cursors); {
		c := m.cursors[i]
		if bytes.Equal(c.entry.key, e.key) {
			if err := c.advance(); err != nil {
				return entry{}, err
			}
		}
		if c.entry.key == nil {
			m.cursors = slices.Delete(m.cursors, i, i+1)
			continue
		}
		i++
	}
	return e, nil
}
