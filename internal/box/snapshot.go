package box

import (
	"encoding/json"
	"os"

	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// snapshot is the state at a checkpoint. It is a cache: one that does not belong
// to the ledger at hand, or can't be read, is as good as none.
type snapshot struct {
	Format     int         `json:"format"`
	Checkpoint string      `json:"checkpoint"` // signed
	Items      []work.Item `json:"items"`      // in the order of their subjects
	Adds       []addedKey  `json:"adds"`       // oldest first
}

const snapshotFormat = 1

// snapshot returns the state as bytes, the same for the same state.
func (s *state) snapshot(checkpoint []byte) ([]byte, error) {
	snap := snapshot{Format: snapshotFormat, Checkpoint: string(checkpoint), Items: s.all("")}
	s.mu.Lock()
	snap.Adds = s.adds.all()
	s.mu.Unlock()
	return json.Marshal(snap)
}

// loadSnapshot reads the snapshot, and the checkpoint that it belongs to.
func (d Dir) loadSnapshot(verifier string) (*snapshot, ledger.Checkpoint, bool) {
	data, err := os.ReadFile(d.path(snapshotFile))
	if err != nil {
		return nil, ledger.Checkpoint{}, false
	}
	var s snapshot
	if json.Unmarshal(data, &s) != nil || s.Format != snapshotFormat {
		return nil, ledger.Checkpoint{}, false
	}
	c, err := ledger.OpenCheckpoint([]byte(s.Checkpoint), verifier)
	return &s, c, err == nil
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
