package index

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// Get returns the record of a subject.
func (x *Index) Get(subject string) (r Record, found bool, err error) {
	v, err := x.use()
	if err != nil {
		return Record{}, false, err
	}
	defer x.release(v)
	return v.get(subject)
}

// Named returns the subject of the item or conversation with this name.
func (x *Index) Named(id string) (subject string, found bool, err error) {
	return x.latest(names, id)
}

// RunNamed returns the subject of the run with this name; of the latest, if there are more.
func (x *Index) RunNamed(id string) (subject string, found bool, err error) {
	return x.latest(runNames, id)
}

// TaskNamed returns the subject of the latest run that has a task with this id.
func (x *Index) TaskNamed(id string) (run string, found bool, err error) {
	return x.latest(tasks, id)
}

// AddedBy returns the subject of a kind that a request with this key added; the latest, if there are
// more. After [KeepKeys] it may be forgotten.
func (x *Index) AddedBy(kind Kind, key string) (subject string, found bool, err error) {
	return x.latest(addedBy, keyName(kind, key))
}

// Removed returns the sequence of the last event that says that a blob was removed, by the blob's
// hash in hexadecimal digits.
func (x *Index) Removed(sum string) (seq uint64, found bool, err error) {
	v, err := x.use()
	if err != nil {
		return 0, false, err
	}
	defer x.release(v)
	p, key := probe(removed, sum), linkPrefix(removed, sum)
	for _, f := range slices.Backward(v.files) {
		if !f.filter.has(p) {
			continue
		}
		c, err := f.seek(key)
		if err != nil {
			return 0, false, err
		}
		if !bytes.Equal(c.entry.key, key) {
			continue
		}
		value := parser{rest: c.entry.value}
		if seq = value.uvarint(); value.bad || seq == 0 {
			return 0, false, f.damage("one of its records", errRecord)
		}
		return seq, true, nil
	}
	return 0, false, nil
}

// ItemsOf returns the items of a run, by the run's subject, in the order of theirs.
func (x *Index) ItemsOf(run string) ([]Record, error) {
	v, err := x.use()
	if err != nil {
		return nil, err
	}
	defer x.release(v)
	subjects, err := v.links(runsItems, run)
	if err != nil {
		return nil, err
	}
	all := make([]Record, 0, len(subjects))
	for _, subject := range subjects {
		r, found, err := v.get(subject)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, &Damage{File: manifestName, What: "a run's item, " + subject + ", has no record"}
		}
		all = append(all, r)
	}
	return all, nil
}

// Query says which records to list.
type Query struct {
	Kind  Kind
	After string         // a subject, which need not exist; empty to begin with the first
	Phase agentsig.Phase // empty for every one
	Limit int            // at least 1
}

// List returns records in the order of their subjects. One that is short of its limit is the last.
// A phase that few records have may take reading all of the kind.
func (x *Index) List(ctx context.Context, q Query) ([]Record, error) {
	if q.Limit < 1 {
		return nil, fmt.Errorf("a list of %d records can't be made: the limit is at least 1", q.Limit)
	}
	v, err := x.use()
	if err != nil {
		return nil, err
	}
	defer x.release(v)
	prefix := recordKey(q.Kind, "")
	m, err := merge(v.files, append(recordKey(q.Kind, q.After), 0)) // the smallest that is larger
	if q.After == "" {
		m, err = merge(v.files, prefix)
	}
	if err != nil {
		return nil, err
	}
	var all []Record
	for len(all) < q.Limit {
		e, err := m.next(ctx)
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(e.key, prefix) {
			break
		}
		r, err := e.record()
		if err != nil {
			return nil, &Damage{File: m.from.name, What: "one of its records", Err: err}
		}
		if q.Phase == "" || r.Phase == q.Phase {
			all = append(all, r)
		}
	}
	return all, nil
}

// latest returns the last of the subjects that a name leads to.
func (x *Index) latest(s section, name string) (subject string, found bool, err error) {
	v, err := x.use()
	if err != nil {
		return "", false, err
	}
	defer x.release(v)
	p := probe(s, name)
	for _, f := range v.files {
		if !f.filter.has(p) {
			continue
		}
		last, err := f.last(linkPrefix(s, name))
		if err != nil {
			return "", false, err
		}
		subject = max(subject, string(last))
	}
	return subject, subject != "", nil
}

// get looks for the record of a subject, in the newest file first.
func (v *view) get(subject string) (Record, bool, error) {
	p := probe(records, subject)
	for _, f := range slices.Backward(v.files) {
		if !f.filter.has(p) {
			continue
		}
		for _, kind := range kinds {
			key := recordKey(kind, subject)
			c, err := f.seek(key)
			if err != nil {
				return Record{}, false, err
			}
			if !bytes.Equal(c.entry.key, key) {
				continue
			}
			r, err := c.entry.record()
			if err != nil {
				return Record{}, false, f.damage("one of its records", err)
			}
			return r, true, nil
		}
	}
	return Record{}, false, nil
}

// links returns the subjects that a name leads to, in order.
func (v *view) links(s section, name string) ([]string, error) {
	p := probe(s, name)
	var all []string
	for _, f := range v.files {
		if !f.filter.has(p) {
			continue
		}
		prefix := linkPrefix(s, name)
		c, err := f.seek(prefix)
		for err == nil && bytes.HasPrefix(c.entry.key, prefix) {
			all = append(all, string(c.entry.key[len(prefix):]))
			err = c.advance()
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
