package box

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// recorded is an event in the archive, and the item after it.
type recorded struct {
	seq   uint64
	event ledger.Event
	item  work.Item
}

// errStop ends a read that found what it looked for.
var errStop = errors.New("enough")

// record decides a command on an item and records the event. It returns when the
// event is in the archive and in the state. The key makes the request one: if it
// was recorded before, that is the answer. A command without a key may be
// repeated without harm.
func (b *Box) record(ctx context.Context, subject, key string, c work.Command) (recorded, error) {
	for {
		item := b.state.item(subject)
		if r, ok, err := b.find(ctx, item, key); ok || err != nil {
			return r, err
		}
		decided, err := work.Decide(item, c)
		if err != nil {
			return recorded{}, err
		}
		event, stored, err := b.stamp(item, subject, decided)
		if err != nil {
			return recorded{}, err
		}
		seq, err := b.log.Append(ctx, subject, item.Seq, stored)
		if err == nil {
			err = b.await(ctx, seq)
			return recorded{seq, event, b.state.item(subject)}, err
		}
		if !errors.Is(err, engine.ErrConflict) && !errors.Is(err, engine.ErrUnknown) {
			return recorded{}, err
		}
		// Someone was first, or nobody knows: what is in the log by now will tell.
		if err := b.catchUp(ctx); err != nil {
			return recorded{}, err
		}
	}
}

// stamp makes the ledger's event out of what was decided on an item.
func (b *Box) stamp(item work.Item, subject string, e work.Event) (ledger.Event, []byte, error) {
	payload, err := json.Marshal(e.Payload)
	if err != nil {
		return ledger.Event{}, nil, err
	}
	event := ledger.Event{
		Format: ledger.Format, Epoch: b.epoch, Subject: subject,
		ItemSeq: item.Tip.ItemSeq + 1, Prev: item.Tip.Sum,
		Type: e.Type, Actor: e.Actor, Session: e.Session, Key: e.Key,
		Time: b.now().UTC().Truncate(time.Millisecond), Payload: payload,
	}
	if e.Token != (work.Token{}) {
		event.Lease = e.Token.String()
	}
	stored, err := event.Encode()
	return event, stored, err
}

// await returns when the event at a sequence is in the archive and in the state.
func (b *Box) await(ctx context.Context, seq uint64) error {
	select {
	case <-b.state.reached(seq):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
	case <-b.stopped:
		return ErrStopping
	}
}

// catchUp returns when the state has all that is in the log now.
func (b *Box) catchUp(ctx context.Context) error {
	tip, err := b.log.Tip(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return b.await(ctx, tip)
}

// find looks for an event on the item that was recorded for a request with this
// key.
func (b *Box) find(ctx context.Context, item work.Item, key string) (recorded, bool, error) {
	if key == "" {
		return recorded{}, false, nil
	}
	for _, seq := range item.Recorded(key) {
		e, err := b.event(ctx, seq)
		if err != nil {
			return recorded{}, false, err
		}
		if e.Key == key && e.Subject == item.Subject {
			return recorded{seq, e, item}, true, nil
		}
	}
	return recorded{}, false, nil
}

// event reads one event of the log.
func (b *Box) event(ctx context.Context, seq uint64) (ledger.Event, error) {
	var e ledger.Event
	err := b.log.Read(ctx, seq, func(r engine.Record) (err error) {
		if e, err = ledger.Decode(r.Data); err == nil {
			err = errStop
		}
		return err
	})
	if !errors.Is(err, errStop) {
		return e, fmt.Errorf("read event %d: %w", seq, errors.Join(err, ErrOutcomeUnknown))
	}
	return e, nil
}

// follow archives and folds what comes to the log, until ctx ends.
func (b *Box) follow(ctx context.Context, from uint64) error {
	return b.log.Watch(ctx, from, func(records []engine.Record) error {
		batch := make([][]byte, len(records))
		for i, r := range records {
			batch[i] = r.Data
		}
		if err := b.archive.Append(batch); err != nil {
			return err
		}
		for _, r := range records {
			if err := b.state.fold(r.Seq, r.Data); err != nil {
				return err
			}
		}
		b.state.dispatch()
		b.sealing.wake()
		return nil
	})
}
