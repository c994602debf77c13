package box

import (
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// keyOfKind is a request's key. Clients choose keys, so those of two kinds of requests have nothing
// to do with each other.
type keyOfKind struct {
	kind requestKind
	key  string
}

// requestKind is what a request asks for, of those that append to a subject of the box's own choice.
type requestKind string

const (
	addItem      requestKind = "item"
	claimItem    requestKind = "claim"
	askQuestion  requestKind = "conversation"
	startPlanRun requestKind = "run"
)

// keepRequests is for how long the key of a request that changed a subject is remembered, by the
// ledger's times. No client goes on for nearly as long with a request whose answer was lost: ours give up
// after [api.Patience]. The latest few are remembered for longer, in [work.Chain].
const keepRequests = 20 * api.Patience

// requests are the keyed requests of the last [keepRequests] on one subject. They take no more memory
// than a few times what the trail has of the same events, and leave it with their subject: who asks for
// that again folds them again.
type requests struct {
	All   []keyedRequest // in the ledger's order
	prune int            // when there are so many, those that are too old go
}

// keyedRequest is where a keyed request was recorded, and when.
type keyedRequest struct {
	work.KeyedSeq
	At int64 // in milliseconds since 1970
}

const firstPrune = 16

// note takes an event of the subject.
func (r *requests) note(seq uint64, e ledger.Event) {
	if e.Key == "" {
		return
	}
	r.All = append(r.All, keyedRequest{work.Keyed(e.Key, seq), e.Time.UnixMilli()})
	if len(r.All) < max(r.prune, firstPrune) {
		return
	}
	now := e.Time
	r.All = slices.DeleteFunc(r.All, func(q keyedRequest) bool {
		return now.Sub(time.UnixMilli(q.At)).Abs() > keepRequests // also if the clock was set back since
	})
	r.prune = 2 * len(r.All)
}

func (r *requests) clone() requests { return requests{All: slices.Clone(r.All)} }

// recorded returns the sequences at which a request with this key may have been recorded on a subject,
// latest first.
func (s *state) recorded(chain work.Chain, key string) []uint64 {
	all := chain.Recorded(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.trails[chain.Subject]; t != nil {
		for _, q := range t.Requests.All {
			if q.Of(key) {
				all = append(all, q.Seq)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	slices.Reverse(all)
	return all
}
