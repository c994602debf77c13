package box

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/engine"
)

// Timing is told how long writing takes. Neither function may wait; either may be nil.
type Timing struct {
	Appended func(time.Duration) // from the request to record an event until it is durable and folded
	Synced   func(time.Duration) // a write of events that gathered, until it is durable
}

// log returns a log whose appends are timed, if anybody is told.
func (t Timing) log(l engine.Log) engine.Log {
	if t.Appended == nil {
		return l
	}
	return timedLog{l, t.Appended}
}

type timedLog struct {
	engine.Log
	appended func(time.Duration)
}

func (l timedLog) Append(ctx context.Context, subject string, last uint64, data []byte) (uint64, error) {
	begun := time.Now()
	seq, err := l.Log.Append(ctx, subject, last, data)
	if err == nil {
		l.appended(time.Since(begun))
	}
	return seq, err
}

// Figures are how many there are of what, now.
type Figures struct {
	Runs      map[api.RunState]int   // all that there ever were
	Tasks     map[agentsig.Phase]int // of runs that go on; and work that stands alone, until it is COMPLETED
	Waiting   map[delivery.Wait]int  // tasks of runs that go on and wait for something, by what for
	Questions map[string]int         // that wait for a person, by cause; and parts in a task, by their kind
	Claims    int                    // that wait for work
	Events    uint64
}

// Figures counts. It looks at what is in memory alone.
func (b *Box) Figures() Figures {
	s := b.state
	s.mu.Lock()
	defer s.mu.Unlock()
	f := Figures{
		Runs: map[api.RunState]int{}, Tasks: map[agentsig.Phase]int{}, Waiting: map[delivery.Wait]int{}, Questions: map[string]int{},
		Claims: s.queue.waiting, Events: s.folded,
	}
	moments, ended := map[string]delivery.Moment{}, s.madeUp[runName]
	ask := s.byHand()
	for _, r := range s.runs {
		if !r.Live() {
			continue
		}
		ended--
		at, ok := moments[r.Home]
		if !ok {
			at = b.moment(r.Home)
			moments[r.Home] = at
		}
		f.Runs[b.runState(r, at)]++
		for _, t := range r.Tasks {
			f.Tasks[t.Item.Phase]++
			f.Waiting[waitOf(r, t, at)]++
		}
		ask = append(ask, waiting(r)...)
	}
	f.Runs[api.RunFinished] = max(ended, 0)
	for _, none := range []delivery.Wait{"", delivery.WaitCompleted, delivery.WaitCancelled, delivery.WaitSession} {
		delete(f.Waiting, none)
	}
	for _, i := range s.items {
		if i.Run == "" && i.Phase != agentsig.PhaseCompleted {
			f.Tasks[i.Phase]++
		}
	}
	for _, q := range ask {
		cause := string(q.shown.Cause)
		if cause == "" {
			cause = q.shown.Kind
		}
		f.Questions[cause]++
	}
	return f
}
