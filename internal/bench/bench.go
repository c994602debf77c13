// Package bench measures a machine: how many handoffs a box makes in a second and how long they
// take, against what the machine can do, in the same run: the log alone, and HTTP alone.
package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// Options say what to measure.
type Options struct {
	Program  string // the signalbox program, which runs the box and HTTP alone in processes of their own
	Dir      string // for the stores; what is made in it stays there
	Items    int    // work items in each round: three handoffs each
	Clients  int    // at once
	Rounds   int    // of box, log alone and HTTP alone, in turn
	Rate     int    // signals a second, for the latency
	Progress func(string)
}

// Result is what was measured, as the medians of the rounds.
type Result struct {
	Handoffs float64 `json:"handoffs_per_s"`
	Log      float64 `json:"bare_appends_per_s"`  // the log alone
	HTTP     float64 `json:"http_requests_per_s"` // HTTP alone
	Ratio    float64 `json:"ratio"`               // of handoffs to what the slower of the two allows; see ratio
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`

	Items   int `json:"items"`
	Clients int `json:"clients"`
	Signals int `json:"signals"` // that the latency was measured on
}

// A handoff is two requests, a claim and an emit, and each of them records one event: a grant and
// a completion. Both are answered when they are synced.
const (
	handoffRequests = 2
	handoffEvents   = 2
)

// ratio compares handoffs with handoffs: those that the box made with those that the machine could
// make if a handoff cost nothing but its requests, or nothing but its appends, whichever is fewer.
func ratio(handoffs, appends, requests float64) float64 {
	return handoffs / min(appends/handoffEvents, requests/handoffRequests)
}

// phases that an agent hands over one after the other without the gate.
var phases = []agentsig.Phase{agentsig.PhaseReadyForReview, agentsig.PhaseReview, agentsig.PhaseReadyForMerge}

// Run measures: throughput with the clients working as fast as they can, box, log alone and HTTP
// alone in turn, the median of the rounds; then latency in an open loop.
func Run(ctx context.Context, o Options) (r Result, err error) {
	b, err := o.startBox(ctx)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	h, err := o.startHTTP(ctx)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, h.stop()) }()
	return o.measure(ctx, b, h)
}

func (o Options) measure(ctx context.Context, b, h *running) (Result, error) {
	r := Result{Items: o.Items, Clients: o.Clients}
	var handoffs, appends, requests []float64
	for round := range o.Rounds {
		o.Progress(fmt.Sprintf("round %d of %d", round+1, o.Rounds))
		if err := o.addItems(ctx, b, fmt.Sprintf("t%d", round)); err != nil {
			return r, err
		}
		made, err := o.handOver(ctx, b)
		if err != nil {
			return r, err
		}
		stored, err := o.logAlone(ctx, round)
		if err != nil {
			return r, err
		}
		answered, err := o.handOver(ctx, h)
		if err != nil {
			return r, err
		}
		handoffs, appends, requests = append(handoffs, made), append(appends, stored), append(requests, handoffRequests*answered)
	}
	r.Handoffs, r.Log, r.HTTP = median(handoffs), median(appends), median(requests)
	r.Ratio = ratio(r.Handoffs, r.Log, r.HTTP)
	o.Progress(fmt.Sprintf("latency at %d signals/s", o.Rate))
	took, err := o.latency(ctx, b)
	if err != nil {
		return r, err
	}
	slices.Sort(took)
	r.Signals = len(took)
	r.P50, r.P99 = ms(took[len(took)/2]), ms(took[len(took)*99/100])
	return r, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// each runs f for the numbers below n, in as many goroutines as there are clients.
// It ends at the first error.
func (o Options) each(ctx context.Context, n int, f func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var clients sync.WaitGroup
	for range o.Clients {
		clients.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := f(ctx, int(i)); err != nil {
					cancel(err)
				}
			}
		})
	}
	clients.Wait()
	return context.Cause(ctx)
}

func (o Options) addItems(ctx context.Context, b *running, name string) error {
	return o.each(ctx, o.Items, func(ctx context.Context, i int) error {
		_, err := b.client.Add(ctx, api.AddWork{ID: fmt.Sprintf("%s-%d", name, i), Title: madeUpTitle, Phase: phases[0]})
		return err
	})
}

// handOver hands each item over from phase to phase, and returns how many handoffs were made in a
// second.
func (o Options) handOver(ctx context.Context, b *running) (float64, error) {
	outputs := outputs()
	n := o.Items * len(phases)
	begun := time.Now()
	err := o.each(ctx, n, func(ctx context.Context, _ int) error {
		g, err := b.client.Claim(ctx, api.Claim{Actor: "bench", Wait: true})
		if err != nil {
			return err
		}
		return accepted(b.client.Emit(ctx, g.Session, outputs[g.Phase]))
	})
	return float64(n) / time.Since(begun).Seconds(), err
}

func accepted(e api.Emitted, err error) error {
	if err == nil && !e.Accepted {
		err = errors.New(e.Error)
	}
	return err
}

// outputs returns what an agent says at the end of each phase.
func outputs() map[agentsig.Phase][]byte {
	all := map[agentsig.Phase][]byte{}
	for _, p := range phases {
		data, err := agentsig.NewExitSignal(p, agentsig.ExitCompleted).WithNotes("measured").JSON()
		if err != nil {
			panic(err) // one of our own phases
		}
		all[p] = append(data, '\n')
	}
	return all
}
