package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// How many records a reader has asked for and not taken, at most.
	window = 2 * MaxBatch

	// The last sequence for a reader that never ends.
	forever = math.MaxUint64

	// How long the server keeps a reader that asks for nothing, and what an
	// ending reader spends on telling the server.
	idleWait = 5 * time.Minute
	byeWait  = time.Second
)

// errAgain says that a delivery broke off and can be started again.
var errAgain = errors.New("the delivery broke off")

// Read calls f for every record from a sequence to the tip; see [Log].
func (j *JetStream) Read(ctx context.Context, from uint64, f func(Record) error) error {
	if err := CheckFrom(from); err != nil {
		return err
	}
	tip, err := j.Tip(ctx)
	if err != nil || tip < from {
		return err
	}
	return j.deliver(ctx, from, tip, func(batch []Record) error {
		for _, r := range batch {
			if err := f(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Watch calls f with every record from a sequence on; see [Log].
func (j *JetStream) Watch(ctx context.Context, from uint64, f func([]Record) error) error {
	if err := CheckFrom(from); err != nil {
		return err
	}
	return j.deliver(ctx, from, forever, f)
}

// deliver calls f with the records from the sequence next to the sequence last.
func (j *JetStream) deliver(ctx context.Context, next, last uint64, f func([]Record) error) error {
	var p patience
	for {
		d, err := j.startDelivery(ctx, next, last)
		if err != nil {
			return err
		}
		err = d.run(ctx, f)
		d.stop()
		if !errors.Is(err, errAgain) {
			return err
		}
		if d.next != next || d.calm {
			p = patience{}
		}
		if next = d.next; !p.again(ctx, j) {
			return j.because(ctx, fmt.Errorf("record %d does not come: %w", next, ErrNotReady))
		}
	}
}

// delivery is a consumer at the server and what it has still to send. It is asked
// for no more records than there is room for, so that none is ever dropped.
type delivery struct {
	j          *JetStream
	next, last uint64 // the sequences still to hand over
	owed       uint64 // how many records were asked for and have not come
	held       uint64 // how many the store holds from next on, by its own account
	calm       bool   // whether nothing came because there was nothing
	consumer   string
	inbox      *nats.Subscription
	messages   chan *nats.Msg
	batch      []Record
}

func (j *JetStream) startDelivery(ctx context.Context, next, last uint64) (*delivery, error) {
	d := &delivery{
		j: j, next: next, last: last,
		messages: make(chan *nats.Msg, 2*window), // the second half is for what the server says besides
		batch:    make([]Record, 0, MaxBatch),
	}
	err := j.insist(ctx, fmt.Sprintf("the records from %d on", next), func(ctx context.Context) error {
		c, err := j.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
			OptStartSeq:       next,
			AckPolicy:         jetstream.AckNonePolicy,
			MemoryStorage:     true,
			InactiveThreshold: idleWait,
		})
		if err == nil {
			d.consumer, d.held = c.CachedInfo().Name, c.CachedInfo().NumPending
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.inbox, err = j.conn.ChanSubscribe(j.conn.NewInbox(), d.messages)
	if err != nil { // only a closed connection refuses
		return nil, j.because(ctx, err)
	}
	return d, nil
}

// run calls f until the last record was handed over or something is wrong.
func (d *delivery) run(ctx context.Context, f func([]Record) error) error {
	stall := time.NewTicker(d.j.stallWait)
	defer stall.Stop()
	before := d.next
	for d.next <= d.last {
		if err := d.j.usable(ctx); err != nil {
			return err
		}
		if d.held == 0 && d.last != forever {
			return cmp.Or(d.missing(ctx), errAgain)
		}
		if d.ask() != nil {
			return errAgain
		}
		select {
		case m := <-d.messages:
			wrong := d.gather(ctx, m)
			if len(d.batch) > 0 {
				if err := f(d.batch); err != nil {
					return err
				}
			}
			if wrong != nil {
				return wrong
			}
		case <-stall.C:
			if d.next == before {
				if err := d.missing(ctx); err != nil {
					return err
				}
				d.calm = true
			}
			before = d.next
		case <-ctx.Done():
			return ctx.Err()
		case <-d.j.closing:
			return ErrClosed
		}
	}
	return nil
}

// ask asks for records when half of the window is free, or for the last ones.
func (d *delivery) ask() error {
	room := min(window, d.last-d.next+1) - d.owed
	if room < window/2 && (room == 0 || d.last-d.next >= window) {
		return nil
	}
	d.owed += room
	return d.j.conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+streamName+"."+d.consumer,
		d.inbox.Subject, fmt.Appendf(nil, `{"batch":%d}`, room))
}

// gather makes a batch of a message and of what else is there.
func (d *delivery) gather(ctx context.Context, m *nats.Msg) error {
	clear(d.batch)
	d.batch = d.batch[:0]
	for {
		seq, held, ok := position(m)
		if !ok {
			return errAgain // the server ends the delivery and says why
		}
		d.owed--
		d.held = held
		switch {
		case seq == d.next:
			d.batch = append(d.batch, Record{seq, strings.TrimPrefix(m.Subject, subjectPrefix), m.Data})
			d.next++
		case seq > d.next:
			return d.missing(ctx)
		} // What comes before is what was appended since a watch for later records began.
		if len(d.batch) == MaxBatch {
			return nil
		}
		select {
		case m = <-d.messages:
		default:
			return nil
		}
	}
}

// position returns a record's sequence and how many records the store holds after
// it: the server puts both into the subject for acknowledgements. What has no such
// subject is not a record.
func position(m *nats.Msg) (seq, held uint64, ok bool) {
	if !strings.HasPrefix(m.Reply, "$JS.ACK.") {
		return 0, 0, false
	}
	meta, err := m.Metadata()
	if err != nil {
		return 0, 0, false
	}
	return meta.Sequence.Stream, meta.NumPending, true
}

// missing says why the next record does not come: it is a *[GapError] if the store
// has lost it, errAgain if it is there, and nil if it is still to be appended.
func (d *delivery) missing(ctx context.Context) error {
	tip, err := d.j.Tip(ctx)
	if err != nil || tip < d.next {
		return err
	}
	found := tip + 1
	err = d.j.insist(ctx, fmt.Sprint("record ", d.next), func(ctx context.Context) error {
		m, err := d.j.stream.GetMsg(ctx, d.next, jetstream.WithGetMsgSubject(allSubjects))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil {
			found = m.Sequence
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case found > d.next:
		return hole(d.next, found)
	}
	return errAgain
}

func hole(want, got uint64) error {
	return fmt.Errorf("the engine's store has a hole: %w; run `signalbox ledger repair` to rebuild it from the archive", &GapError{want, got})
}

// stop ends the delivery. It tells the server if it can: otherwise the server
// forgets the consumer after idleWait.
func (d *delivery) stop() {
	if d.inbox.Unsubscribe() != nil {
		return // the connection is closed
	}
	ctx, cancel := context.WithTimeout(context.Background(), byeWait)
	defer cancel()
	_ = d.j.stream.DeleteConsumer(ctx, d.consumer)
}
