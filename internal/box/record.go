package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// recorded is an event in the archive, and its subject after it; or the subject as it
// is now, if the event was found.
type recorded[S any] struct {
	seq   uint64
	event ledger.Event
	after S
}

// rules say how requests on one kind of subject are recorded: S is what is folded from
// its events, C what can be asked for.
type rules[S interface{ InLedger() work.Chain }, C interface{ Events() []string }] struct {
	look   func(s *state, subject string) S // the zero value if there is none
	decide func(S, C) (work.Event, error)
	fold   func(S, uint64, ledger.Event, []byte) (S, error)
	over   func(S, ledger.Event) bool // what the event gave is gone; nil if that can't be
}

var (
	ofItems         = rules[work.Item, work.Command]{(*state).item, work.Decide, work.Fold, leaseOver}
	ofConversations = rules[conversation.Conversation, conversation.Command]{(*state).conversation, conversation.Decide, conversation.Fold, nil}
)

// errStop ends a read that found what it looked for.
var errStop = errors.New("enough")

// record records a command on an item.
func (b *Box) record(subject, key string, c work.Command) (recorded[work.Item], error) {
	return ofItems.record(b, subject, key, c)
}

// record decides a command on a subject and records the event. It returns when the
// event is in the archive and in the state, and does not end with its caller: who
// asks again has to find what was recorded. The key makes the request one: if it
// was recorded before, that is the answer. A command without a key may be repeated
// without harm.
func (o rules[S, C]) record(b *Box, subject, key string, c C) (recorded[S], error) {
	ctx, done := b.patient()
	defer done()
	unknown := false // whether it may be stored yet
	for pause := pauseFirst; ; pause = min(2*pause, pauseLongest) {
		now := o.look(b.state, subject)
		if r, ok, err := o.find(b, now, key, c.Events()); ok || err != nil {
			return r, b.cutOff(err)
		}
		decided, err := o.decide(now, c)
		if err != nil {
			return recorded[S]{}, err
		}
		chain := now.InLedger()
		event, stored, err := b.stamp(chain.Tip, subject, decided)
		if err != nil {
			return recorded[S]{}, err
		}
		seq, err := b.append(ctx, subject, chain.Seq, stored, key)
		if err == nil {
			after, err := o.after(b, now, seq, event, stored)
			return recorded[S]{seq, event, after}, err
		}
		if unknown = unknown || errors.Is(err, engine.ErrUnknown); unknown && errors.Is(err, engine.ErrNotReady) {
			return recorded[S]{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		}
		if !errors.Is(err, engine.ErrConflict) && !errors.Is(err, engine.ErrUnknown) {
			return recorded[S]{}, b.cutOff(err)
		}
		// Someone was first, or nobody knows: the state has what is in the log by now.
		if o.look(b.state, subject).InLedger().Seq != chain.Seq {
			pause = pauseFirst
			continue
		}
		// Nothing came of it. That can't last: if it does, log and state disagree.
		if pause == pauseLongest || ctx.Err() != nil && b.group.Context().Err() == nil {
			return recorded[S]{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if b.group.Context().Err() == nil {
				return recorded[S]{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
			}
			return recorded[S]{}, b.cutOff(b.group.Context().Err())
		}
	}
}

// after returns a subject as it is after an event that was stored: the state has it so, unless it has
// moved on since.
func (o rules[S, C]) after(b *Box, before S, seq uint64, event ledger.Event, stored []byte) (S, error) {
	if folded := o.look(b.state, event.Subject); folded.InLedger().Seq == seq {
		return folded, nil
	}
	return o.fold(before, seq, event, stored)
}

// How long record waits before it tries again what had no outcome: 2 s altogether.
const (
	pauseFirst   = time.Millisecond
	pauseLongest = 1024 * time.Millisecond
)

// stamp makes the ledger's event out of what was decided on a subject whose chain ends
// with tip.
func (b *Box) stamp(tip ledger.Tip, subject string, e work.Event) (ledger.Event, []byte, error) {
	payload, err := json.Marshal(b.withToken(e))
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
	if errors.Is(err, ledger.ErrTooLarge) {
		err = fmt.Errorf("%w (%w)", errTooMuch, err)
	}
	return event, stored, err
}

// errTooMuch is the fault of whoever asked for an event: all that the box itself puts in one is bounded.
// What texts take in one is known when it is written, since some characters take six bytes.
var errTooMuch = errors.New("that is more than an event of the ledger can have: shorten its texts")

// find looks for an event on a subject that was recorded for a request of this kind, by the types of
// events that come of it, with this key, and still stands.
func (o rules[S, C]) find(b *Box, now S, key string, types []string) (recorded[S], bool, error) {
	if key == "" {
		return recorded[S]{}, false, nil
	}
	chain := now.InLedger()
	for _, seq := range b.state.recorded(chain, key) {
		e, err := b.event(seq)
		switch {
		case err != nil:
			return recorded[S]{}, false, err
		case e.Key != key || e.Subject != chain.Subject || !slices.Contains(types, e.Type) || o.over != nil && o.over(now, e):
		default:
			return recorded[S]{seq, e, now}, true, nil
		}
	}
	return recorded[S]{}, false, nil
}

var errKeyReused = fmt.Errorf("the %s was used for another request: make a new one for each", api.KeyHeader)

// leaseOver reports whether an event granted a lease that the item has no more.
// Who asks for it again gets another one.
func leaseOver(item work.Item, e ledger.Event) bool {
	granted := e.Type == work.LeaseGranted || e.Type == work.ReviewStarted
	return granted && (item.Lease == nil || item.Session() != e.Session)
}

// event reads one event that the state has. The log's tip may be before it: those who wait for an event are
// woken by the fold, and the tip rises after that.
func (b *Box) event(seq uint64) (ledger.Event, error) {
	stored, err := b.archive.Event(int64(seq) - 1)
	if err != nil {
		return ledger.Event{}, fmt.Errorf("read event %d: %w", seq, errors.Join(err, ErrOutcomeUnknown))
	}
	return ledger.Decode(stored)
}

// follower is the state, kept up to date by the log's writer.
func (b *Box) follower() archive.Follower {
	return archive.Follower{
		Last: b.state.last,
		Fold: func(records []engine.Record) error {
			for _, r := range records {
				e, err := b.state.fold(r.Seq, r.Data)
				if err != nil {
					return err
				}
				if f := b.recorded.Load(); f != nil {
					(*f)(e)
				}
				b.tellRunnersChanged(e)
				b.noteRemoval(r.Seq, e)
				if e.Subject == members && b.wanting != nil {
					b.wanting(b.state.cluster())
					if err := b.checkLevel(); err != nil {
						return err
					}
				}
			}
			b.state.dispatch()
			b.sealing.wake()
			return nil
		},
		Ended: func(why error) {
			if !errors.Is(why, engine.ErrClosed) { // its caller may have begun to close the box by now
				b.broken(why)
			}
			b.group.End()
			close(b.stopped)
		},
	}
}
