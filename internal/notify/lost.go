package notify

import (
	"encoding/json"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// That a runner is there is no event. That a session was lost with it is one, and a runner may have had many: the first one makes the
// message, and the others do not until the runner has got a session again, for which it has to be back.

// maxLost is how many runners are remembered as lost: as many as a box has.
const maxLost = 64

// knownLost reports whether a message was made of a runner that is lost; of none if there is no runner.
func (t *Teller) knownLost(runner string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.lost, runner)
}

// lose notes that a message was made of a runner. The caller holds the mutex.
func (t *Teller) lose(runner string) {
	if runner == "" {
		return
	}
	t.lost = append(t.lost, runner)
	if len(t.lost) > maxLost { // it was removed long ago
		t.lost = slices.Clone(t.lost[1:])
	}
}

// found notes that a runner that was lost has got a session: it is back. It reports whether it was lost before.
func (t *Teller) found(seq uint64, e ledger.Event) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lost) == 0 || e.Type != work.LeaseGranted && e.Type != work.ReviewStarted && e.Type != delivery.SessionGranted {
		return false
	}
	var granted struct {
		Runner string `json:"runner"`
	}
	if json.Unmarshal(e.Payload, &granted) != nil {
		return false
	}
	i := slices.Index(t.lost, granted.Runner)
	if i < 0 {
		return false
	}
	t.lost = slices.Delete(slices.Clone(t.lost), i, i+1)
	t.upTo = seq // what was lost before is not looked at again: it would be told a second time
	return true
}
