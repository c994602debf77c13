package box

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// recorded is an event in the archive, and the item after it; or the item as it is
// now, if the event was found.
type recorded struct {
	seq   uint64
	event ledger.Event
	item  work.Item
}

// errStop ends a read that found what it looked for.
var errStop = errors.New("enough")

// record decides a command on an item and records the event. It returns when the
// event is in the archive and in the state, and does not end with its caller: who
// asks again has to find what was recorded. The key makes the request one: if it
// was recorded before, that is the answer. A command without a key may be repeated
// without harm.
func (b *Box) record(subject, key string, c work.Command) (recorded, error) {
	for pause := pauseFirst; ; pause = min(2*pause, pauseLongest) {
		item := b.state.item(subject)
		if r, ok, err := b.find(b.ctx, item, key, c.Events()); ok || err != nil {
			return r, err
		}
		decided, err := work.Decide(item, c)
		if err != nil {
			return recorded{}, err
		}
		event, stored, err := b.stamp(item.Tip, subject, decided)
		if err != nil {
			return recorded{}, err
		}
		seq, err := b.log.Append(b.ctx, subject, item.Seq, stored)
		if err == nil {
			after, err := b.await(b.ctx, seq)
			if err == nil && !after.Exists() { // it was folded before anybody waited for it
				after, err = work.Fold(item, seq, event, stored)
			}
			return recorded{seq, event, after}, err
		}
		if !errors.Is(err, engine.ErrConflict) && !errors.Is(err, engine.ErrUnknown) {
			return recorded{}, err
		}
		// Someone was first, or nobody knows: what is in the log by now will tell.
		if err := b.catchUp(b.ctx); err != nil {
			return recorded{}, err
		}
		if b.state.item(subject).Seq != item.Seq {
			pause = pauseFirst
			continue
		}
		// Nothing came of it. That can't last: if it does, engine and state disagree.
		if pause == pauseLongest {
			return recorded{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		}
		select {
		case <-time.After(pause):
		case <-b.ctx.Done():
			return recorded{}, ErrStopping
		}
	}
}

// How long record waits before it tries again what had no outcome: 2 s altogether.
const (
	pauseFirst   = time.Millisecond
	pauseLongest = 1024 * time.Millisecond
)

// stamp makes the ledger's event out of what was decided on a subject whose chain ends
// with tip.
func (b *Box) stamp(tip ledger.Tip, subject string, e work.Event) (ledger.Event, []byte, error) {
	payload, err := json.Marshal(e.Payload)
	if err != nil {
		return ledger.Event{}, nil, err
	}
	event := ledger.Event{
		Format: ledger.Format, Epoch: b.epoch, Subject: subject,
		ItemSeq: tip.ItemSeq + 1, Prev: tip.Sum,
		Type: e.Type, Actor: e.Actor, Session: e.Session, Key: e.Key,
		Time: b.now().UTC().Truncate(time.Millisecond), Payload: payload,
	}
	if e.Token != (work.Token{}) {
		event.Lease = e.Token.String()
	}
	stored, err := event.Encode()
	return event, stored, err
}

// await returns when the event at a sequence is in the archive and in the state. It
// returns the item after it, or none if that was long ago.
func (b *Box) await(ctx context.Context, seq uint64) (work.Item, error) {
	select {
	case after := <-b.state.reached(seq):
		return after, nil
	case <-ctx.Done():
		return work.Item{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
	case <-b.stopped:
		return work.Item{}, ErrStopping
	}
}

// catchUp returns when the state has all that is in the log now.
func (b *Box) catchUp(ctx context.Context) error {
	tip, err := b.log.Tip(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	_, err = b.await(ctx, tip)
	return err
}

// find looks for an event on the item that was recorded for a request with this
// key, and still stands. It refuses a key that was used for another kind of
// request.
func (b *Box) find(ctx context.Context, item work.Item, key string, types []string) (recorded, bool, error) {
	if key == "" {
		return recorded{}, false, nil
	}
	for _, seq := range item.Recorded(key) {
		e, err := b.event(ctx, seq)
		switch {
		case err != nil:
			return recorded{}, false, err
		case e.Key != key || e.Subject != item.Subject || leaseOver(item, e):
		case !slices.Contains(types, e.Type):
			return recorded{}, false, errKeyReused
		default:
			return recorded{seq, e, item}, true, nil
		}
	}
	return recorded{}, false, nil
}

var errKeyReused = fmt.Errorf("the %s was used for another request: make a new one for each", api.KeyHeader)

// leaseOver reports whether an event granted a lease that the item has no more.
// Who asks for it again gets another one.
func leaseOver(item work.Item, e ledger.Event) bool {
	granted := e.Type == work.LeaseGranted || e.Type == work.ReviewStarted
	return granted && (item.Lease == nil || item.Session() != e.Session)
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
