package handoff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Load is how much is measured in each turn of a system.
type Load struct {
	Items   int           // at once; [Phases] handoffs each
	Workers int           // that wait
	Time    time.Duration // for which items are handed over at least, in batches of Items
	Rate    int           // handoffs a second, for the latency; none is measured if it is 0
	Seconds int           // of that rate
}

// Sample is what one turn measured.
type Sample struct {
	HandoffsPerS float64 `json:"handoffs_per_s"`
	P50          float64 `json:"p50_ms"`
	P99          float64 `json:"p99_ms"`
	Carried      float64 `json:"carried_per_s"` // of the rate at which the latency was measured
	CPU          float64 `json:"cpu_ms_per_handoff"`
	Verdict      Verdict `json:"verdict"`
}

// turn measures an instance that was just started.
type turn struct {
	inst Instance
	load Load
	cpu  func(pids []int) time.Duration

	mu    sync.Mutex
	added []string
	begun map[Task]int
}

// Measure measures an instance that was just started: a batch that is not counted, then batches as
// fast as they go, then handoffs at a fixed rate. Cpu reads what processes have used of the processor.
func Measure(ctx context.Context, inst Instance, load Load, cpu func(pids []int) time.Duration) (Sample, error) {
	t := &turn{inst: inst, load: load, cpu: cpu, begun: map[Task]int{}}
	var s Sample
	if err := t.throughput(ctx, &s); err != nil {
		return s, err
	}
	if load.Rate > 0 {
		l, err := t.latency(ctx)
		if err != nil {
			return s, err
		}
		s.P50, s.P99, s.Carried = Milliseconds(Quantile(l.took, 50)), Milliseconds(Quantile(l.took, 99)), l.carried
	}
	ended, err := inst.Ended(ctx)
	if err != nil {
		return s, fmt.Errorf("what ended is not known: %w", err)
	}
	s.Verdict = Judge(t.added, t.begun, ended)
	return s, nil
}

// work runs f while workers wait. It ends at the first error of either.
func (t *turn) work(ctx context.Context, w Workers, agent Agent, ended func(Task), f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	noted := func(ctx context.Context, task Task) error {
		t.mu.Lock()
		t.begun[task]++
		t.mu.Unlock()
		return agent(ctx, task)
	}
	ready, working := make(chan struct{}), make(chan error, 1)
	go func() {
		err := t.inst.Work(ctx, w, noted, ended, func() { close(ready) })
		if err == nil && ctx.Err() == nil {
			err = errors.New("the workers ended before they were told to")
		}
		if err != nil {
			cancel(err)
		}
		working <- err
	}()
	var err error
	select {
	case <-ready:
		err = f(ctx)
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx) // f failed because the workers did, or because all is cancelled
	}
	cancel(ErrEnough)
	return errors.Join(err, notBoth(err, <-working))
}

// notBoth returns the second error if it says something that the first does not.
func notBoth(first, second error) error {
	if first != nil && errors.Is(first, second) {
		return nil
	}
	return second
}

// add adds items, as many at once as there are workers.
func (t *turn) add(ctx context.Context, name string, n int) ([]string, error) {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf("%s-%d", name, i)
	}
	t.added = append(t.added, items...)
	return items, Each(ctx, t.load.Workers, items, t.inst.Add)
}

// Each calls f for all of the values, at once in so many goroutines. It ends at the first error.
func Each[T any](ctx context.Context, at int, all []T, f func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	for range at {
		running.Go(func() {
			for i := int(next.Add(1) - 1); i < len(all) && ctx.Err() == nil; i = int(next.Add(1) - 1) {
				if err := f(ctx, all[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// throughput has the same workers wait for a batch that is not counted, and then for one batch after
// the other. They are not replaced in between: a system may give a task to a worker that has just gone.
func (t *turn) throughput(ctx context.Context, s *Sample) error {
	var current atomic.Pointer[batch]
	agent := func(ctx context.Context, task Task) error { return current.Load().begin(ctx, task) }
	ended := func(task Task) { current.Load().end(task) }
	return t.work(ctx, Workers{t.load.Workers, t.load.Workers}, agent, ended, func(ctx context.Context) error {
		next := func(name string, n int) (took, used time.Duration, err error) {
			b := &batch{gate: make(chan struct{}), last: make(chan string, n), ended: make(chan string, n)}
			current.Store(b)
			return t.handOver(ctx, b, name, n)
		}
		if _, _, err := next("warm", min(t.load.Items, t.load.Workers)); err != nil {
			return err
		}
		var took, used time.Duration
		n := 0
		for ; took < t.load.Time || n == 0; n++ {
			d, u, err := next(fmt.Sprintf("t%d", n), t.load.Items)
			if err != nil {
				return err
			}
			took, used = took+d, used+u
		}
		handoffs := float64(n * t.load.Items * Phases)
		s.HandoffsPerS = handoffs / took.Seconds()
		s.CPU = 1000 * used.Seconds() / handoffs
		return nil
	})
}

// batch is items that are handed over as fast as it goes.
type batch struct {
	gate  chan struct{} // closed when the clock starts
	last  chan string   // items in the order in which their last phase began
	ended chan string   // and ended
}

func (b *batch) begin(ctx context.Context, task Task) error {
	select {
	case <-b.gate:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if task.Phase == Phases {
		send(b.last, task.Item)
	}
	return nil
}

func (b *batch) end(task Task) {
	if task.Phase == Phases {
		send(b.ended, task.Item)
	}
}

// handOver adds items, starts the clock when they are there, so that each worker holds its first
// task, and stops it when the last phase of the last item has ended.
func (t *turn) handOver(ctx context.Context, b *batch, name string, n int) (took, used time.Duration, err error) {
	if _, err := t.add(ctx, name, n); err != nil {
		return 0, 0, err
	}
	before := t.cpu(t.inst.Processes())
	begun := time.Now()
	close(b.gate)
	items, err := receive(ctx, b.last, n)
	if err != nil {
		return 0, 0, err
	}
	if a, ok := t.inst.(Awaiter); ok {
		err = a.Await(ctx, items[max(0, n-t.load.Workers):])
	} else {
		_, err = receive(ctx, b.ended, n)
	}
	took = time.Since(begun)
	return took, t.cpu(t.inst.Processes()) - before, err
}

// send does not wait: what is beyond the items that are waited for was done twice, and is counted
// elsewhere.
func send(c chan<- string, item string) {
	select {
	case c <- item:
	default:
	}
}

func receive(ctx context.Context, c <-chan string, n int) ([]string, error) {
	all := make([]string, 0, n)
	for range n {
		select {
		case item := <-c:
			all = append(all, item)
		case <-ctx.Done():
			return all, context.Cause(ctx)
		}
	}
	return all, nil
}

// latencies are what handoffs took at a fixed rate.
type latencies struct {
	took    []time.Duration // sorted
	carried float64         // handoffs a second
}

// latency has workers hold all items, and lets them end their tasks at a fixed rate, whatever
// becomes of it. A handoff took from when its task was due to be ended to when the next worker had
// the item: a system that is late with one is late with those behind it. A quarter of them, or the
// first second, is not counted.
func (t *turn) latency(ctx context.Context) (latencies, error) {
	signals := t.load.Rate * t.load.Seconds
	items := (signals + Phases - 2) / (Phases - 1)
	signals = items * (Phases - 1)
	warm := min(t.load.Rate, signals/4)
	o := &openLoop{held: make(chan *holding, signals+items), due: map[string]time.Time{}, all: make(chan struct{}), want: signals}
	release := make(chan struct{})
	agent := func(ctx context.Context, task Task) error {
		h := &holding{item: task.Item, end: make(chan struct{})}
		o.begin(task.Item)
		if task.Phase < Phases {
			o.held <- h
		} else {
			h.end = release
		}
		select {
		case <-h.end:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ended := make(chan string, items)
	note := func(task Task) {
		if task.Phase == Phases {
			send(ended, task.Item)
		}
	}
	var l latencies
	err := t.work(ctx, Workers{t.load.Workers, items + t.load.Workers}, agent, note, func(ctx context.Context) error {
		names, err := t.add(ctx, "l", items)
		if err != nil {
			return err
		}
		if l, err = o.run(ctx, items, warm, t.load.Rate); err != nil {
			return err
		}
		close(release)
		if a, ok := t.inst.(Awaiter); ok {
			return a.Await(ctx, names)
		}
		_, err = receive(ctx, ended, items)
		return err
	})
	return l, err
}

// holding is a worker that holds an item, until end is closed.
type holding struct {
	item string
	end  chan struct{}
}

// openLoop lets tasks be ended at a fixed rate and notes when the items are held again.
type openLoop struct {
	held chan *holding // that can be handed over
	want int
	all  chan struct{} // closed when so many were handed over

	mu   sync.Mutex
	due  map[string]time.Time // item -> when its task was due to be ended
	took []time.Duration      // in the order of the handoffs' ends
	last time.Time
}

// begin notes that a worker has an item.
func (o *openLoop) begin(item string) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	due, ok := o.due[item]
	if !ok {
		return
	}
	delete(o.due, item)
	o.took, o.last = append(o.took, now.Sub(due)), now
	if len(o.took) == o.want {
		close(o.all)
	}
}

func (o *openLoop) run(ctx context.Context, items, warm, rate int) (latencies, error) {
	all := make([]*holding, 0, items)
	for range items {
		select {
		case h := <-o.held:
			all = append(all, h)
		case <-ctx.Done():
			return latencies{}, context.Cause(ctx)
		}
	}
	for _, h := range all {
		o.held <- h
	}
	start, gap := time.Now(), time.Second/time.Duration(rate)
	for i := range o.want {
		due := start.Add(time.Duration(i) * gap)
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
		}
		select {
		case h := <-o.held:
			o.mu.Lock()
			o.due[h.item] = due
			o.mu.Unlock()
			close(h.end)
		case <-ctx.Done():
			return latencies{}, context.Cause(ctx)
		}
	}
	select {
	case <-o.all:
	case <-ctx.Done():
		return latencies{}, context.Cause(ctx)
	}
	l := latencies{took: slices.Clone(o.took[warm:]), carried: float64(o.want) / o.last.Sub(start).Seconds()}
	slices.Sort(l.took)
	return l, nil
}
