package homelink

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// Options are what the box that leads knows of homes.
type Options struct {
	Self    string     // this box's name
	Own     fleet.Home // its runner
	Founder string     // the box whose runs have no home recorded: the ledger was its alone when they were started

	Others  func() []string                            // the names of the other boxes, by the ledger
	Carrier func(box string) (http.RoundTripper, bool) // of requests to a box, whatever host they name; false if there is no way to it
	Open    func(box string) (sessions []string)       // of runs whose home the box is, that have not ended and are on no other machine, by the ledger
	Changed func()                                     // called when a box is reached, or not any more; it does not wait
	Logger  *slog.Logger

	beat time.Duration // order.Heartbeat if 0
}

// Homes are the homes of runs, by the boxes in whose directories they were started. They are made when a box begins to lead, and stopped when it
// does so no more.
type Homes struct {
	o     Options
	word  string // by which the others know that this one is still there
	group *background.Group

	mu  sync.Mutex
	far map[string]*Far
}

// NewHomes makes the homes as one box that leads knows them. What is asked without a context ends with ctx, as the box leads no more then.
func NewHomes(ctx context.Context, o Options) *Homes {
	o.beat = cmp.Or(o.beat, order.Heartbeat)
	return &Homes{o: o, word: rand.Text(), group: background.New(ctx), far: map[string]*Far{}}
}

// Stop ends what is asked by itself, and returns when it has. What is held ends with its own contexts, before.
func (s *Homes) Stop() { s.group.Stop() }

// Of returns the home of the runs that were started in a box's directory: always the same. A box that is none of the cluster's is one that is not
// reached.
func (s *Homes) Of(box string) fleet.Home {
	if box = cmp.Or(box, s.o.Founder); box == s.o.Self {
		return s.o.Own
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.far[box]
	if h == nil {
		h = &Far{box: box, of: s, back: make(chan struct{}), told: make(chan struct{}, 1)}
		s.far[box] = h
		s.group.Go(h.look)
		s.group.Go(h.tell)
	}
	return h
}

// Others returns the homes of the other boxes.
func (s *Homes) Others() []fleet.Home {
	var all []fleet.Home
	for _, box := range s.o.Others() {
		if box != s.o.Self {
			all = append(all, s.Of(box))
		}
	}
	return all
}
