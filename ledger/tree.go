package ledger

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Tree is the Merkle tree over a sequence of events, held in memory: 64 bytes an
// event. The zero value is the empty tree.
type Tree struct {
	size   int64
	hashes hashes
}

// hashes are the tree's stored hashes, in the order of tlog.
type hashes []tlog.Hash

// ReadHashes implements tlog.HashReader.
func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		if x < 0 || x >= int64(len(h)) {
			return nil, fmt.Errorf("the tree has no hash %d", x)
		}
		out[i] = h[x]
	}
	return out, nil
}

// Size returns how many events the tree holds.
func (t *Tree) Size() int64 { return t.size }

// Append takes the next event, as stored.
func (t *Tree) Append(stored []byte) error {
	more, err := tlog.StoredHashes(t.size, stored, t.hashes)
	if err != nil {
		return err
	}
	t.hashes = append(t.hashes, more...)
	t.size++
	return nil
}

// Root returns the root of the tree of the first size events.
func (t *Tree) Root(size int64) (Hash, error) {
	if size < 0 || size > t.size {
		return Hash{}, fmt.Errorf("the tree has %s, not %d", countEvents(t.size), size)
	}
	root, err := tlog.TreeHash(size, t.hashes)
	return Hash(root), err
}

// Checkpoint returns the checkpoint of the whole tree.
func (t *Tree) Checkpoint(origin string) (Checkpoint, error) {
	root, err := t.Root(t.size)
	return Checkpoint{origin, t.size, root}, err
}

// ProveConsistency proves that the tree of newer events begins with that of
// older ones; see [Checkpoint.Continues].
func (t *Tree) ProveConsistency(older, newer int64) ([]Hash, error) {
	if older < 0 || older > newer || newer > t.size {
		return nil, fmt.Errorf("can't prove a tree of %s from one of %d: the ledger has %d", countEvents(newer), older, t.size)
	}
	if older == 0 || older == newer {
		return nil, nil
	}
	p, err := tlog.ProveTree(newer, older, t.hashes)
	return ourHashes(p), err
}

// Prove proves that the event, as stored, is the one at index of the tree that
// the signed checkpoint covers.
func (t *Tree) Prove(index int64, stored, signed []byte) (Proof, error) {
	size, err := signedSize(signed)
	if err != nil {
		return Proof{}, err
	}
	if index < 0 || index >= size || size > t.size {
		return Proof{}, fmt.Errorf("the checkpoint covers %s of %d: the one with index %d is not among them", countEvents(size), t.size, index)
	}
	p, err := tlog.ProveRecord(size, index, t.hashes)
	if err != nil {
		return Proof{}, err
	}
	return Proof{Index: index, Event: stored, Hashes: ourHashes(p), Checkpoint: string(signed)}, nil
}

func ourHashes(all []tlog.Hash) []Hash {
	out := make([]Hash, len(all))
	for i, h := range all {
		out[i] = Hash(h)
	}
	return out
}

// Proof shows that an event is in the ledger. It needs nothing but the
// verifier's key to be checked.
type Proof struct {
	Index      int64  `json:"index"`      // the event's place in the ledger, from 0
	Event      []byte `json:"event"`      // as stored
	Hashes     []Hash `json:"hashes"`     // from the event to the root
	Checkpoint string `json:"checkpoint"` // the signed note
}

// ErrNotInLedger is returned for a proof that does not hold.
var ErrNotInLedger = errors.New("the proof does not lead from the event to the signed root")

// Verify checks the proof and returns the event and the checkpoint that covers it.
func (p Proof) Verify(verifierKey string) (Event, Checkpoint, error) {
	c, err := OpenCheckpoint([]byte(p.Checkpoint), verifierKey)
	if err != nil {
		return Event{}, Checkpoint{}, err
	}
	e, err := Decode(p.Event)
	if err != nil {
		return Event{}, Checkpoint{}, err
	}
	if p.Index < 0 || p.Index >= c.Size {
		return Event{}, Checkpoint{}, ErrNotInLedger
	}
	err = tlog.CheckRecord(treeHashes(p.Hashes), c.Size, tlog.Hash(c.Root), p.Index, tlog.RecordHash(p.Event))
	if err != nil {
		return Event{}, Checkpoint{}, ErrNotInLedger
	}
	return e, c, nil
}

func countEvents(n int64) string {
	if n == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", n)
}
