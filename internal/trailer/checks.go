package trailer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Checks is what a ledger has of the checks that work has passed on a runner.
type Checks struct {
	Event  int64 // its sequence
	Runner string
	Joined int64 // the sequence of the event that has the runner's key, which has signed the result; 0 if it is not signed, as before it was
}

// checks returns what checks on a runner said of this work last before its merge was allowed, and holds that against the runner's
// signature and the key by which it has joined; nil if they ran at home, or elsewhere than on a runner.
func (p Proven) checks(f *ledger.Files) (*Checks, error) {
	at, err := p.lastGate(f)
	if err != nil || at < 0 {
		return nil, err
	}
	proof, err := f.Prove(at)
	if err != nil {
		return nil, err
	}
	e, err := ledger.Decode(proof.Event)
	if err != nil {
		return nil, err
	}
	var g work.Gate
	if err := json.Unmarshal(e.Payload, &g); err != nil {
		return nil, err
	}
	switch {
	case g.Runner == "":
		return nil, nil
	case g.Signed == nil:
		return &Checks{Event: at + 1, Runner: g.Runner}, nil
	}
	joined, key, err := joinedBy(f, g)
	if errors.Is(err, fs.ErrNotExist) { // the ledger's box has written meanwhile, or it is not whole
		return nil, err
	}
	if err == nil && joined > at {
		err = fmt.Errorf("the runner joined later, by event %d", joined+1)
	}
	if err == nil {
		err = g.Signed.Check(g.Statement(p.Allowed.Run, p.Allowed.Task, e.Subject, e.Type == work.GatePassed), key)
	}
	if err != nil {
		return nil, &Fault{Contrary, fmt.Sprintf("event %d says that checks on this have passed on the runner %s, and that does not hold: %v", at+1, safetext.Escape(g.Runner), err)}
	}
	return &Checks{Event: at + 1, Runner: g.Runner, Joined: joined + 1}, nil
}

// joinedBy returns the hash of the key by which the runner has joined that has signed, and the index of the event that says so.
func joinedBy(f *ledger.Files, g work.Gate) (index int64, key string, err error) {
	index = int64(g.Signed.Joined) - 1 //nolint:gosec // what is no sequence is not found
	proof, err := f.Prove(index)
	if err != nil {
		return index, "", err
	}
	e, err := ledger.Decode(proof.Event)
	if err != nil {
		return index, "", err
	}
	var p access.RunnerEvent
	err = json.Unmarshal(e.Payload, &p)
	if err != nil || e.Type != access.RunnerJoined || p.Name != g.Runner || p.Key == nil {
		return index, "", fmt.Errorf("event %d is not the one by which it has joined", index+1)
	}
	return index, p.Key.String(), nil
}

// lookBack is how many events are looked through at once.
const lookBack = 1024

// lastGate returns the index of the event that says that this work has passed checks, the last before its merge was allowed; -1 if there is none.
func (p Proven) lastGate(f *ledger.Files) (at int64, err error) {
	subject := []byte(p.Event.Subject)
	at = -1
	for end, began := p.Trailers.Event-1, false; at < 0 && end > 0 && !began && err == nil; end -= lookBack {
		err = f.Entries(max(0, end-lookBack), func(index int64, stored []byte) bool {
			if index >= end {
				return false
			}
			if !bytes.Contains(stored, subject) {
				return true
			}
			e, err := ledger.Decode(stored)
			if err != nil || e.Subject != p.Event.Subject {
				return true
			}
			began = began || e.ItemSeq == 1
			var g work.Gate
			if e.Type == work.GatePassed && json.Unmarshal(e.Payload, &g) == nil && g.Commit == p.Allowed.Commit {
				at = index
			}
			return true
		})
	}
	return at, err
}
