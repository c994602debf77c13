package box

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"sync"
	"time"
)

// scrub proves the whole archive again and again, a stretch at a time, while the box runs. How far
// it is outlives the box.
type scrub struct {
	mu sync.Mutex
	at scrubbed
}

// scrubbed says how far a round over the archive is.
type scrubbed struct {
	Next   int64     `json:"next"`   // the index of the first event that this round has not looked at; 0 between two rounds
	Begun  time.Time `json:"begun"`  // when the latest round began
	Whole  time.Time `json:"whole"`  // when the last whole round ended; zero if none did
	Events int64     `json:"events"` // how many that had
}

const (
	// A stretch is looked at this often, and has at least so many events.
	scrubEvery   = time.Minute
	scrubStretch = 4096

	// A whole round takes no longer than this, however large the archive is: a third of the month in
	// which each event has to be looked at, as a box does not always run.
	scrubRound = 10 * 24 * time.Hour

	// A round begins this long after the one before it began, at the earliest.
	scrubPause = 24 * time.Hour

	// How far it is is written after so many stretches.
	scrubKeep = 30
)

// due returns how many events of a ledger are to be looked at now, and how long to wait before
// that is asked again.
func (s scrubbed) due(now time.Time, size int64) (n int64, wait time.Duration) {
	if left := s.Begun.Add(scrubPause).Sub(now); s.Next == 0 && !s.Whole.IsZero() && left > 0 && left <= scrubPause {
		return 0, left
	}
	n = max(scrubStretch, size/int64(scrubRound/scrubEvery)+1)
	return min(n, size-s.Next), scrubEvery
}

// within returns where a round of a ledger goes on: at its begin, if the place was of another one.
func (s scrubbed) within(size int64) scrubbed {
	if s.Next < 0 || s.Next > size {
		s.Next = 0
	}
	return s
}

// looked returns how far the round is after it looked at the events before next.
func (s scrubbed) looked(now time.Time, next, size int64) scrubbed {
	if s.Next == 0 {
		s.Begun = now.UTC().Truncate(time.Millisecond)
	}
	if s.Next = next; next >= size {
		s.Next, s.Whole, s.Events = 0, now, next
	}
	return s
}

// load reads how far the last box was. What can't be read is forgotten: the round begins anew.
func (s *scrub) load(d Dir) error {
	data, err := d.readFile(scrubFile, maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && json.Unmarshal(data, &s.at) != nil {
		s.at = scrubbed{}
	}
	return err
}

func (s *scrub) keep(h *holding) error {
	data, err := json.Marshal(s.now())
	if err != nil {
		return err
	}
	return h.write(scrubFile, append(data, '\n'))
}

// now returns how far it is.
func (s *scrub) now() scrubbed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// run looks at stretch after stretch until ctx ends, or something is damaged.
func (s *scrub) run(ctx context.Context, b *Box) error {
	for looks := 0; ; {
		size := b.archive.Sealed()
		at := s.now().within(size)
		n, wait := at.due(b.now(), size)
		if n > 0 {
			next, err := b.archive.Scrub(ctx, at.Next, n, b.state.removedAfter)
			if err == nil && b.Leads() {
				if err = b.removeBlobs(ctx, at.Next, min(next, size)); shaken(err) && b.shared != nil {
					err = nil // the next round finds them
				}
			}
			if err != nil && ctx.Err() != nil {
				return s.keep(b.held)
			}
			if err != nil {
				return err
			}
			s.mu.Lock()
			s.at = at.looked(b.now(), next, size)
			s.mu.Unlock()
			if looks++; looks%scrubKeep == 0 || s.now().Next == 0 {
				if err := s.keep(b.held); err != nil {
					return err
				}
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return s.keep(b.held)
		}
	}
}
