package web

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// followed is a box that the hub follows.
type followed struct {
	upTo   uint64
	begun  int
	ended  int
	events chan []string
	stops  chan struct{}
	waits  []api.Question
}

func (f *followed) hub() *hub {
	return &hub{upTo: func() uint64 { return f.upTo }, waiting: func() []api.Question { return f.waits }, follow: func(ctx context.Context, _ uint64, tell func(uint64, []string) error) error {
		f.begun++
		defer func() { f.ended++ }()
		for {
			select {
			case names := <-f.events:
				f.upTo++
				if err := tell(f.upTo, names); err != nil {
					return err
				}
			case <-f.stops:
				return errors.New("the box stops")
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}}
}

func newFollowed() *followed {
	return &followed{upTo: 5, events: make(chan []string), stops: make(chan struct{})}
}

// The box is followed while somebody has the stream open, once for all of them, and not otherwise.
func TestHubRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed()
		h := f.hub()
		for round := 1; round < 4; round++ {
			a, err := h.join([]string{"inbox"}, f.upTo)
			b, err2 := h.join([]string{"R1"}, f.upTo)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			synctest.Wait()
			if f.begun != round || f.ended != round-1 {
				t.Errorf("round %d: followed %d times, ended %d", round, f.begun, f.ended)
			}
			h.leave(a)
			if f.ended != round-1 {
				t.Errorf("round %d: the following ended with a reader left", round)
			}
			h.leave(b)
			if f.ended != round {
				t.Errorf("round %d: nobody reads, and the box is followed", round)
			}
		}
	})
}

// A reader that does not take what it is told is told it once, however much has happened; and only of its own topics.
func TestHubGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed()
		h := f.hub()
		slow, _ := h.join([]string{"R1", "R1.T-1", "R2"}, f.upTo)
		other, _ := h.join([]string{"R3"}, f.upTo)
		defer h.leave(slow)
		defer h.leave(other)
		for range 1000 {
			f.events <- []string{"R1.T-1", "R11", "R2x"}
		}
		time.Sleep(pause)
		synctest.Wait()
		if len(slow.more) != 1 || len(other.more) != 0 {
			t.Errorf("%d and %d wait to be told", len(slow.more), len(other.more))
		}
		if topics, upTo := h.next(slow); !slices.Equal(topics, []string{"R1", "R1.T-1"}) || upTo != 1005 {
			t.Errorf("it is told %q, up to %d", topics, upTo)
		}
		if topics, _ := h.next(slow); len(topics) != 0 {
			t.Errorf("it is told again: %q", topics)
		}
	})
}

// The inbox is different when something waits, or does not any more, or something happens to what waits; the runs when something
// happens to one. Work that stands alone goes on without anybody being told.
func TestHubTellsWhatDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed()
		h := f.hub()
		inbox, _ := h.join([]string{"inbox"}, f.upTo)
		runs, _ := h.join([]string{"runs"}, f.upTo)
		defer h.leave(inbox)
		defer h.leave(runs)
		for _, c := range []struct {
			name        string
			about       string
			waits       []api.Question
			inbox, runs bool
		}{
			{"the first event after somebody came", "W-1", nil, true, false},
			{"work that stands alone", "W-1", nil, false, false},
			{"a task", "R1.T-1", nil, false, true},
			{"a run", "R12", nil, false, true},
			{"what is called almost like a run", "R12x", nil, false, false},
			{"a question", "W-2", []api.Question{{ID: "Q-1", Work: "W-2"}}, true, false},
			{"something else", "W-1", []api.Question{{ID: "Q-1", Work: "W-2"}}, false, false},
			{"what waits", "W-2", []api.Question{{ID: "Q-1", Work: "W-2"}}, true, false},
			{"another question instead", "W-3", []api.Question{{ID: "Q-2", Work: "W-2"}}, true, false},
			{"nothing waits", "W-2", nil, true, false},
		} {
			f.waits = c.waits
			f.events <- []string{c.about}
			time.Sleep(pause)
			synctest.Wait()
			told, upTo := h.next(inbox)
			if len(told) > 0 != c.inbox || upTo != f.upTo {
				t.Errorf("%s: the inbox's readers are told %q, up to %d of %d", c.name, told, upTo, f.upTo)
			}
			if told, _ := h.next(runs); len(told) > 0 != c.runs {
				t.Errorf("%s: the runs' readers are told %q", c.name, told)
			}
		}
		// A question is asked, somebody comes who sees it, and it is answered, before anybody is told.
		f.events <- []string{"W-1"}
		synctest.Wait()
		f.events <- []string{"W-2"}
		synctest.Wait()
		late, _ := h.join([]string{"inbox"}, f.upTo)
		defer h.leave(late)
		f.events <- []string{"W-2"}
		time.Sleep(pause)
		synctest.Wait()
		if told, _ := h.next(late); len(told) != 1 {
			t.Errorf("who came in between is told %q", told)
		}
	})
}

// There are never more readers than there may be; one that leaves makes room. When the box stops, all of them end.
func TestHubLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed()
		h := f.hub()
		var all []*reader
		for range maxReaders {
			r, err := h.join([]string{"inbox"}, f.upTo)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		if _, err := h.join([]string{"inbox"}, f.upTo); !errors.Is(err, errManyReaders) {
			t.Errorf("one more: %v", err)
		}
		h.leave(all[0])
		r, err := h.join([]string{"inbox"}, f.upTo)
		if err != nil {
			t.Fatal(err)
		}
		close(f.stops)
		<-r.over
		for _, r := range all[1:] {
			<-r.over
			h.leave(r)
		}
		h.leave(r)
	})
}
