package archive

import (
	"context"
	"fmt"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/engine"
)

// Log is the archive as a [engine.Log]: one goroutine writes. It takes the appends that have
// gathered, checks each against the last record of its subject, numbers them, writes and syncs
// them together, has them folded, and answers. Event i of the archive is the record with the
// sequence i+1.
//
// An append ends in a sequence, in [engine.ErrConflict], or because the log ends: after
// a write that failed, with [ErrFailed], nothing is taken any more.
type Log struct {
	feed    *Feed
	archive *Archive
	follow  Follower
	closing chan struct{}
	close   sync.Once
	ended   chan struct{} // closed when the writer has ended

	mu     sync.Mutex
	queue  []*request
	more   chan struct{} // gets something when the queue is not empty
	failed error         // why nothing is taken any more
}

// Follower is the fold over a log's records, which the log's writer keeps up to date.
type Follower struct {
	// Last returns the last sequence on a subject among the records that were folded, 0 if there
	// is none. An error ends the log: what is not known must not pass for 0.
	Last func(subject string) (uint64, error)

	// Fold takes records once they are durable, each once and in order, at most
	// [engine.MaxBatch] at once. Their appends are answered after it. An error ends the log.
	Fold func([]engine.Record) error

	// Ended is called when nothing is taken any more, with the reason: [engine.ErrClosed] after a
	// Close.
	Ended func(why error)
}

var _ engine.Log = (*Log)(nil)

// request is an append that waits for its answer.
type request struct {
	subject string
	last    uint64
	data    []byte
	taken   bool // by the writer, which answers it then; guarded by the log's mutex
	answer  chan answer
}

type answer struct {
	seq uint64
	err error
}

// NewLog lets records be appended to an archive that was started, and whose events the follower
// has.
func NewLog(a *Archive, f Follower) *Log {
	l := &Log{
		feed: NewFeed(a), archive: a, follow: f,
		closing: make(chan struct{}), ended: make(chan struct{}), more: make(chan struct{}, 1),
	}
	go l.run()
	return l
}

// Append stores data, which names the subject as an event does, if the last record there has
// the sequence last; see [engine.Log]. It ends with ctx only before it is written.
func (l *Log) Append(ctx context.Context, subject string, last uint64, data []byte) (uint64, error) {
	if err := checkRecord(subject, data); err != nil {
		return 0, err
	}
	r := &request{subject: subject, last: last, data: data, answer: make(chan answer, 1)}
	if err := l.enqueue(ctx, r); err != nil {
		return 0, err
	}
	select {
	case a := <-r.answer:
		return a.seq, a.err
	case <-ctx.Done():
	}
	if l.withdraw(r) {
		return 0, ctx.Err()
	}
	a := <-r.answer
	return a.seq, a.err
}

func (l *Log) enqueue(ctx context.Context, r *request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(ctx); err != nil {
		return err
	}
	l.queue = append(l.queue, r)
	select {
	case l.more <- struct{}{}:
	default:
	}
	return nil
}

// withdraw takes a request back that the writer does not have yet.
func (l *Log) withdraw(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.taken {
		return false
	}
	for i, other := range l.queue {
		if other == r {
			l.queue = append(l.queue[:i:i], l.queue[i+1:]...)
			return true
		}
	}
	return false
}

// usable says why nothing can be asked. The caller holds the mutex.
func (l *Log) usable(ctx context.Context) error {
	if l.failed != nil {
		return l.failed
	}
	return ctx.Err()
}

// run is the writer.
func (l *Log) run() {
	defer close(l.ended)
	why := l.serve()
	l.end(why)
	l.follow.Ended(why)
}

// serve writes until the log is closed, or can't be written.
func (l *Log) serve() error {
	for {
		select {
		case <-l.more:
		case <-l.closing:
			return engine.ErrClosed
		}
		for batch := l.take(); len(batch) > 0; batch = l.take() {
			if err := l.write(batch); err != nil {
				return err
			}
		}
	}
}

// take returns the requests that have gathered.
func (l *Log) take() []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.queue), engine.MaxBatch)
	batch := l.queue[:n:n]
	l.queue = l.queue[n:]
	if len(l.queue) == 0 {
		l.queue = nil
	}
	for _, r := range batch {
		r.taken = true
	}
	return batch
}

// write stores what can be stored of a batch, and answers all of it. Conflicts are answered
// last: what they lost against is folded then.
func (l *Log) write(batch []*request) error {
	records, answers, err := l.number(batch)
	if err == nil && len(records) > 0 {
		err = l.store(records)
	}
	for i, r := range batch {
		if err != nil {
			answers[i] = answer{err: err}
		}
		r.answer <- answers[i]
	}
	return err
}

// number checks each request against the last record of its subject, those before it in the
// batch included, and gives sequences to those that may be stored.
func (l *Log) number(batch []*request) ([]engine.Record, []answer, error) {
	answers := make([]answer, len(batch))
	records := make([]engine.Record, 0, len(batch))
	written := map[string]uint64{} // in this batch
	next := uint64(l.archive.Size()) + 1
	for i, r := range batch {
		last, ok := written[r.subject]
		if !ok {
			var err error
			if last, err = l.follow.Last(r.subject); err != nil {
				return nil, answers, fmt.Errorf("the last event on %s is not known: %w", r.subject, err)
			}
		}
		if last != r.last {
			answers[i] = answer{err: engine.ErrConflict}
			continue
		}
		records = append(records, engine.Record{Seq: next, Subject: r.subject, Data: r.data})
		answers[i] = answer{seq: next}
		written[r.subject] = next
		next++
	}
	return records, answers, nil
}

// store makes records durable and has them folded.
func (l *Log) store(records []engine.Record) error {
	events := make([][]byte, len(records))
	for i, r := range records {
		events[i] = r.Data
	}
	kept, err := l.archive.Append(events)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	for i := range records {
		records[i].Data = kept[i] // the archive's: the caller's may change
	}
	if err := l.follow.Fold(records); err != nil {
		return err
	}
	l.feed.Rise(records[len(records)-1].Seq)
	return nil
}

// end answers what waits, and whatever comes after it.
func (l *Log) end(why error) {
	defer l.feed.End(why)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = why
	for _, r := range l.queue {
		r.taken = true
		r.answer <- answer{err: why}
	}
	l.queue = nil
}

// Tip returns the last sequence, 0 for none.
func (l *Log) Tip(ctx context.Context) (uint64, error) { return l.feed.Tip(ctx) }

// Read calls do for every record from a sequence to the tip; see [engine.Log].
func (l *Log) Read(ctx context.Context, from uint64, do func(engine.Record) error) error {
	return l.feed.Read(ctx, from, do)
}

// Watch calls do with every record from a sequence on; see [engine.Log].
func (l *Log) Watch(ctx context.Context, from uint64, do func([]engine.Record) error) error {
	return l.feed.Watch(ctx, from, do)
}

// Close ends every call that still waits, and the writer. What it is writing is still stored
// and answered. The archive stays open.
func (l *Log) Close() error {
	l.close.Do(func() { close(l.closing) })
	<-l.ended
	return nil
}
