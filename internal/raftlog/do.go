package raftlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/ledger"
)

// gathered returns what waits for the member, as much as one round takes.
func (l *Log) gathered() (inbox [][]byte, asked []reader, done []func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size := 0, 0
	for n < len(l.inbox) && size < maxRound {
		size += len(l.inbox[n])
		n++
	}
	inbox, l.inbox = l.inbox[:n:n], l.inbox[n:]
	if l.inboxBytes -= size; len(l.inbox) > 0 {
		l.wake()
	} else {
		l.inbox = nil
	}
	asked, done, l.asked, l.done = l.asked, l.done, nil, nil
	return inbox, asked, done
}

// propose puts an append into the log, or answers it.
func (l *Log) propose(r *request) {
	ticket, err := l.member.Propose(r.Proposal)
	conflict, lost := errors.AsType[*member.Conflict](err)
	switch {
	case err == nil:
		r.term = ticket.Term
		l.waiting[ticket.Index] = append(l.waiting[ticket.Index], r)
	case lost && conflict.Index <= l.settled:
		r.answer <- answer{err: engine.ErrConflict}
	case lost:
		r.term, r.conflict = conflict.Term, true
		l.waiting[conflict.Index] = append(l.waiting[conflict.Index], r)
	case errors.Is(err, member.ErrNotLeader) || errors.Is(err, member.ErrFull):
		r.answer <- answer{err: fmt.Errorf("%w: %w", engine.ErrNotReady, err)}
	default:
		r.answer <- answer{err: err}
	}
}

// do does what the member says, in the order that it says. Only what is synced already is applied before the rest is: those who
// wait for it need not wait for the sync of what comes after it.
func (l *Log) do(out member.Output) error {
	l.send(out.Early)
	synced := l.synced(out)
	if err := l.apply(out.Apply[:synced]); err != nil {
		return err
	}
	if len(out.Writes) > 0 {
		if err := l.write(out.Writes); err != nil {
			return err
		}
		l.member.Written()
	}
	l.send(out.Send)
	if err := l.apply(out.Apply[synced:]); err != nil {
		return err
	}
	l.settle()
	for _, id := range out.Reads {
		if r := l.reads[id]; r != nil {
			delete(l.reads, id)
			for _, one := range r.waits {
				close(one.there)
			}
		}
	}
	for _, sum := range out.Fetch {
		l.fetchBlob(sum)
	}
	if out.Behind != nil {
		l.fetchArchive(out.Behind.Seq)
	}
	return out.Stop
}

// synced returns how many of the events that are to be applied are in the log already.
func (l *Log) synced(out member.Output) int {
	end := l.journal.End().Index
	n, _ := slices.BinarySearchFunc(out.Apply, end+1, func(a member.Applied, index uint64) int { return int(int64(a.Entry.Index) - int64(index)) })
	return n
}

// write writes to the log. A base takes the archive that was fetched into use, and its events are folded.
func (l *Log) write(writes []member.Write) error {
	if writes[0].Base == nil {
		return l.journal.Write(writes)
	}
	note := l.fetched
	if note == nil { // the archive reached as far before: what was fetched may be more than the base that it was fetched for
		note = l.archive.Checkpoint()
	}
	if err := l.archive.Rebase(note, writes[0]); err != nil {
		return err
	}
	l.fetched = nil
	l.unsure(writes[0].Base.Index)
	if err := l.foldArchive(); err != nil {
		return err
	}
	if len(writes) == 1 {
		return nil
	}
	return l.journal.Write(writes[1:])
}

// unsure answers the appends that were in the log up to an index, where it begins anew: nobody knows here what became of them.
func (l *Log) unsure(index uint64) {
	for at, waiting := range l.waiting {
		if at <= index {
			for _, r := range waiting {
				r.answer <- answer{err: engine.ErrUnknown}
			}
			delete(l.waiting, at)
		}
	}
	l.settled = max(l.settled, index)
}

// foldArchive folds the archive's events that are not folded yet.
func (l *Log) foldArchive() error {
	tip, err := l.feed.Tip(context.Background())
	if err != nil {
		return err
	}
	var records []engine.Record
	fold := func() error {
		if len(records) == 0 {
			return nil
		}
		if err := l.config.Follower.Fold(records); err != nil {
			return err
		}
		l.feed.Rise(records[len(records)-1].Seq)
		records = nil
		return nil
	}
	err = l.archive.Records(context.Background(), tip+1, uint64(l.archive.Size()), func(r engine.Record) error {
		if records = append(records, r); len(records) < engine.MaxBatch {
			return nil
		}
		return fold()
	})
	return errors.Join(err, fold())
}

// apply has committed events in archive and fold, and answers those who wait for them.
func (l *Log) apply(applied []member.Applied) error {
	for batch := range slices.Chunk(applied, engine.MaxBatch) {
		events, records := make([][]byte, len(batch)), make([]engine.Record, len(batch))
		for i, a := range batch {
			events[i] = a.Entry.Data
			records[i] = engine.Record{Seq: a.Seq, Subject: a.Entry.Subject, Data: a.Entry.Data}
		}
		if err := l.archive.Commit(int64(batch[0].Seq)-1, events); err != nil {
			return err
		}
		if err := l.config.Follower.Fold(records); err != nil {
			return err
		}
		l.feed.Rise(records[len(records)-1].Seq)
		for _, a := range batch {
			l.decide(a)
		}
	}
	return nil
}

// decide answers the appends that an event's entry decides.
func (l *Log) decide(a member.Applied) {
	for _, r := range l.waiting[a.Entry.Index] {
		switch {
		case r.term != a.Entry.Term: // another leader's entry is there
			r.answer <- answer{err: engine.ErrNotReady}
		case r.conflict:
			r.answer <- answer{err: engine.ErrConflict}
		default:
			r.answer <- answer{seq: a.Seq}
		}
	}
	delete(l.waiting, a.Entry.Index)
	l.settled = max(l.settled, a.Entry.Index)
}

// settle answers the appends in whose place something else than an event was applied: nothing of them is stored.
func (l *Log) settle() {
	end := l.member.Status().Applied
	for index := l.settled + 1; index <= end.Index && len(l.waiting) > 0; index++ {
		for _, r := range l.waiting[index] {
			r.answer <- answer{err: engine.ErrNotReady}
		}
		delete(l.waiting, index)
	}
	l.settled = max(l.settled, end.Index)
}

// fetchBlob fetches a blob that entries wait for. The leader sends them again until it is here.
func (l *Log) fetchBlob(sum ledger.Hash) {
	if l.fetching[sum] || len(l.fetching) >= maxFetches {
		return
	}
	l.fetching[sum] = true
	l.outgoing.Go(func(ctx context.Context) {
		data, err := l.config.Transport.Fetch(ctx, ledger.BlobPath(sum))
		if err == nil && ledger.NewBlob(data).SHA256 == sum {
			_, _ = l.archive.PutBlob(data) // it is asked for again
		}
		_ = l.give(ctx, func() { l.done = append(l.done, func() { delete(l.fetching, sum) }) }) // or the log has ended
	})
}

// fetchArchive fetches the archive up to an event, when its checkpoint covers that.
func (l *Log) fetchArchive(seq uint64) {
	if l.catching {
		return
	}
	l.catching = true
	l.outgoing.Go(func(ctx context.Context) {
		for {
			note, covered, err := l.fetchOnce(ctx)
			if err == nil && covered >= seq {
				_ = l.give(ctx, func() { // or the log has ended
					l.done = append(l.done, func() {
						l.catching, l.fetched = false, note
						l.member.Fetched(covered)
					})
				})
				return
			}
			select {
			case <-time.After(l.config.Tick):
			case <-ctx.Done():
				return
			}
		}
	})
}

func (l *Log) fetchOnce(ctx context.Context) (note []byte, covered uint64, err error) {
	if note, err = l.config.Transport.Fetch(ctx, ledger.CheckpointPath); err != nil {
		return nil, 0, err
	}
	size, err := l.archive.Fetch(ctx, note, func(ctx context.Context, name string) ([]byte, error) {
		data, err := l.config.Transport.Fetch(ctx, name)
		if errors.Is(err, fs.ErrNotExist) && l.config.Removed == nil {
			return nil, fmt.Errorf("no member has %s", name)
		}
		return data, err
	})
	return note, uint64(size), err
}
