package member

import (
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// log is what the library reads of the synced log: its end, as the rest is in files. It is a raft.Storage.
type log struct {
	state  *pb.HardState // at the start
	begins *pb.ConfState // at the start

	before  Mark // the place before the first entry
	entries []*pb.Entry
	seqs    []uint64 // the last event up to each entry
	size    int      // bytes of the entries' data

	snapshot func() *pb.Snapshot // for members that need what is before
}

func newLog(k Kept) *log {
	l := &log{before: k.Before}
	for _, e := range k.Entries {
		l.add(libraryEntry(e))
	}
	return l
}

// add adds the entry that comes next.
func (l *log) add(e *pb.Entry) {
	at := after(l.end(), e)
	l.entries, l.seqs, l.size = append(l.entries, e), append(l.seqs, at.Seq), l.size+len(e.GetData())
}

// after returns the mark of a library's entry that follows m.
func after(m Mark, e *pb.Entry) Mark {
	next := Mark{Index: e.GetIndex(), Term: e.GetTerm(), Seq: m.Seq}
	if e.GetType() == pb.EntryNormal && len(e.GetData()) > 0 {
		next.Seq++
	}
	return next
}

func (l *log) end() Mark {
	m, _ := l.mark(l.before.Index + uint64(len(l.entries)))
	return m
}

// mark returns the place of an entry, if it is in memory or the one before.
func (l *log) mark(index uint64) (Mark, bool) {
	switch {
	case index == l.before.Index:
		return l.before, true
	case index < l.before.Index || index > l.before.Index+uint64(len(l.entries)):
		return Mark{}, false
	}
	i := index - l.before.Index - 1
	return Mark{Index: index, Term: l.entries[i].GetTerm(), Seq: l.seqs[i]}, true
}

// cut gives up the entries after an index.
func (l *log) cut(index uint64) {
	n := index - l.before.Index
	l.size -= sizeOf(l.entries[n:])
	l.entries, l.seqs = l.entries[:n:n], l.seqs[:n:n]
}

// begin makes the log begin anew.
func (l *log) begin(at Mark) { l.before, l.entries, l.seqs, l.size = at, nil, nil, 0 }

func sizeOf(entries []*pb.Entry) (n int) {
	for _, e := range entries {
		n += len(e.GetData())
	}
	return n
}

// bound lets go of applied entries when there are twice as many as are kept, or twice as many bytes.
func (l *log) bound(applied uint64, keep, keepSize int) {
	n := int(applied - l.before.Index) // those that may go
	if n <= 2*keep && l.size <= 2*keepSize {
		return
	}
	gone := 0
	for size := l.size; gone < n && (n-gone > keep || size > keepSize); gone++ {
		size -= len(l.entries[gone].GetData())
	}
	before, _ := l.mark(l.before.Index + uint64(gone))
	l.size -= sizeOf(l.entries[:gone])
	l.before, l.entries, l.seqs = before, append([]*pb.Entry(nil), l.entries[gone:]...), append([]uint64(nil), l.seqs[gone:]...)
}

func (l *log) InitialState() (*pb.HardState, *pb.ConfState, error) { return l.state, l.begins, nil }

func (l *log) Entries(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	if lo <= l.before.Index {
		return nil, raft.ErrCompacted
	}
	if hi > l.before.Index+uint64(len(l.entries))+1 {
		return nil, raft.ErrUnavailable
	}
	found := l.entries[lo-l.before.Index-1 : hi-l.before.Index-1]
	size := uint64(0)
	for i, e := range found {
		if size += uint64(len(e.GetData())) + 32; size > maxSize && i > 0 {
			found = found[:i]
			break
		}
	}
	return found[:len(found):len(found)], nil
}

func (l *log) Term(index uint64) (uint64, error) {
	m, ok := l.mark(index)
	switch {
	case ok:
		return m.Term, nil
	case index < l.before.Index:
		return 0, raft.ErrCompacted
	}
	return 0, raft.ErrUnavailable
}

func (l *log) LastIndex() (uint64, error)  { return l.before.Index + uint64(len(l.entries)), nil }
func (l *log) FirstIndex() (uint64, error) { return l.before.Index + 1, nil }

func (l *log) Snapshot() (*pb.Snapshot, error) { return l.snapshot(), nil }
