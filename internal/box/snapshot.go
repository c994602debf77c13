package box

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"os"

	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// snapshot is the state at a checkpoint. It is a cache: one that does not belong
// to the ledger at hand, or can't be read, is as good as none.
type snapshot struct {
	Items []work.Item // in the order of their subjects
	Adds  []addedKey  // oldest first
}

// snapshotHead comes before it.
type snapshotHead struct {
	Format     int
	Checkpoint string // signed
}

const snapshotFormat = 1

// snapshot returns the state as bytes, the same for the same state.
func (s *state) snapshot(checkpoint []byte) ([]byte, error) {
	snap := snapshot{Items: s.all("")}
	s.mu.Lock()
	snap.Adds = s.adds.all()
	s.mu.Unlock()
	var b bytes.Buffer
	enc := gob.NewEncoder(&b)
	if err := enc.Encode(snapshotHead{snapshotFormat, string(checkpoint)}); err != nil {
		return nil, err
	}
	err := enc.Encode(snap)
	return b.Bytes(), err
}

// loadSnapshot reads the snapshot, and returns the state and the checkpoint that
// it belongs to; nil if there is none of a checkpoint that this key signed.
func (d Dir) loadSnapshot(verifier string) (*state, ledger.Checkpoint) {
	f, err := os.Open(d.path(snapshotFile))
	if err != nil {
		return nil, ledger.Checkpoint{}
	}
	defer func() { _ = f.Close() }() // read only
	var head snapshotHead
	var snap snapshot
	dec := gob.NewDecoder(bufio.NewReaderSize(f, 1<<20))
	if dec.Decode(&head) != nil || head.Format != snapshotFormat || dec.Decode(&snap) != nil {
		return nil, ledger.Checkpoint{}
	}
	at, err := ledger.OpenCheckpoint([]byte(head.Checkpoint), verifier)
	if err != nil {
		return nil, ledger.Checkpoint{}
	}
	s := newState()
	s.restore(&snap, uint64(at.Size))
	return s, at
}

// restore puts a snapshot in place of the empty state.
func (s *state) restore(snap *snapshot, size uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range snap.Items {
		s.put(&work.Item{}, &snap.Items[i])
	}
	for _, a := range snap.Adds {
		s.adds.add(a.Key, a.Subject)
	}
	s.folded = size
}
