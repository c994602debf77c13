package box

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/index"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Outputs that are too long for an event are blobs, and a box can be told for how long to keep them
// ([Options.Keep]). These are removed, and nothing else:
//
//   - transcripts of sessions, the evidence that agents named and what models said and answered, never plans or
//     questions: those are what people handed in;
//   - that an event older than that refers to, and that were not stored again since;
//   - of what is over and has left memory: to whatever is still to be done, or was done within a day,
//     nothing is missing.
//
// The scrub comes by each event within ten days, and what it has proven is looked at for outputs to
// remove. An event on a subject of its own names them; once that is sealed the archive unlinks the
// files. The hashes stay.

// housekeeping is the subject of events about the archive itself. It is neither an item nor a run
// nor a conversation.
const housekeeping = "housekeeping"

// maxRemoved is how many blobs one event says are removed.
const maxRemoved = 100

// removal is the command to record that blobs are removed.
type removal struct{ ledger.BlobRemoved }

// Events returns what can come of it.
func (removal) Events() []string { return []string{ledger.TypeBlobRemoved} }

var ofHousekeeping = rules[work.Chain, removal]{
	look: func(s *state, _ string) work.Chain { return s.kept() },
	decide: func(_ work.Chain, r removal) (work.Event, error) {
		return work.Event{Type: ledger.TypeBlobRemoved, Actor: work.BoxActor, Payload: r.BlobRemoved}, nil
	},
	fold: foldHousekeeping,
}

func foldHousekeeping(c work.Chain, seq uint64, e ledger.Event, stored []byte) (work.Chain, error) {
	tip, err := c.Tip.Next(e, stored)
	if err != nil {
		return c, err
	}
	return work.Chain{Subject: e.Subject, Seq: seq, Tip: tip}, nil
}

// kept returns the chain of what was done to the archive.
func (s *state) kept() work.Chain {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.housekeeping
}

// foldRemoved takes an event that says that blobs were removed. The caller holds the lock.
func (s *state) foldRemoved(seq uint64, e ledger.Event, stored []byte) error {
	p, err := ledger.ParseBlobRemoved(e.Payload)
	if err != nil {
		return err
	}
	after, err := foldHousekeeping(s.housekeeping, seq, e, stored)
	if err != nil {
		return err
	}
	s.housekeeping = after
	for _, r := range p.Removed {
		s.removed[r.SHA256] = seq
	}
	return nil
}

// removedAfter reports whether an event after an index says that a blob was removed.
func (s *state) removedAfter(sum ledger.Hash, index int64) (bool, error) {
	s.mu.Lock()
	seq, p := s.removed[sum], s.past
	s.mu.Unlock()
	if seq == 0 && p != nil {
		var err error
		if seq, _, err = p.index.Removed(sum.String()); err != nil {
			return false, p.trouble(err)
		}
	}
	return seq > uint64(index)+1, nil
}

// removedUpTo returns, for the index, the blobs that events up to a size say were removed.
func (s *state) removedUpTo(size uint64) []index.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []index.Record
	for sum, seq := range s.removed {
		if seq <= size {
			all = append(all, index.Record{Kind: index.Blob, Subject: sum.String(), Seqs: []uint64{seq}})
		}
	}
	return all
}

// forgetRemoved takes out of memory what the index has. The caller holds the lock.
func (s *state) forgetRemoved(size uint64) {
	for sum, seq := range s.removed {
		if seq <= size {
			delete(s.removed, sum)
		}
	}
}

// blobsOf returns the blobs that an event refers to.
func blobsOf(e ledger.Event) ([]ledger.Blob, error) {
	if !bytes.Contains(e.Payload, []byte(`"blob"`)) {
		return nil, nil
	}
	return e.Blobs()
}

// outputsOf returns the outputs that an event refers to, and the evidence that an agent named. It looks nowhere but where
// the box puts them: a model's words elsewhere may look like a reference.
func outputsOf(e ledger.Event) (all []ledger.Blob, err error) {
	var p struct {
		Transcript work.Transcript `json:"transcript"` // of a session
		Evidence   work.Kept       `json:"evidence"`
		Stored     *ledger.Blob    `json:"stored"` // of a conversation
	}
	var refs []*ledger.Blob
	switch e.Type {
	case work.AgentSessionCompleted, work.LateResultRecorded, work.SignalRecorded:
		err = json.Unmarshal(e.Payload, &p)
		refs = []*ledger.Blob{p.Transcript.Blob, p.Evidence.Blob}
	case conversation.TypeSignalled, conversation.TypeCallDecided, conversation.TypeEnded:
		err = json.Unmarshal(e.Payload, &p)
		refs = []*ledger.Blob{p.Stored}
	}
	for _, ref := range refs {
		if ref != nil {
			all = append(all, *ref)
		}
	}
	return all, err
}

// unused returns those of some blobs that nothing in memory refers to, each once.
func (s *state) unused(refs []ledger.Blob) []ledger.Blob {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := map[ledger.Hash]bool{}
	for _, ref := range refs {
		used[ref.SHA256] = false
	}
	for _, t := range s.trails {
		for _, sum := range t.Blobs {
			if _, asked := used[sum]; asked {
				used[sum] = true
			}
		}
	}
	return slices.DeleteFunc(refs, func(ref ledger.Blob) bool {
		is := used[ref.SHA256]
		used[ref.SHA256] = true
		return is
	})
}

// removeBlobs removes the outputs that events in a stretch of the sealed ledger refer to, as far as
// they are not kept any longer.
func (b *Box) removeBlobs(ctx context.Context, from, to int64) error {
	if b.keepBlobs == 0 {
		return nil
	}
	since := b.now().Add(-b.keepBlobs)
	refs, err := b.oldOutputs(ctx, from, to, since)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(b.state.unused(refs), maxRemoved) {
		if err := b.removeSome(some, since); err != nil {
			return err
		}
	}
	return nil
}

// oldOutputs returns the outputs that events in a stretch refer to, if they are from before a time.
func (b *Box) oldOutputs(ctx context.Context, from, to int64, since time.Time) ([]ledger.Blob, error) {
	var all []ledger.Blob
	err := b.archive.Entries(from, func(index int64, stored []byte) error {
		if index >= to {
			return errStop
		}
		if !bytes.Contains(stored, []byte(`"blob"`)) {
			return ctx.Err()
		}
		e, err := ledger.Decode(stored)
		if err != nil || !e.Time.Before(since) {
			return err
		}
		outputs, err := outputsOf(e)
		all = append(all, outputs...)
		return err
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return all, err
}

// removeSome removes blobs that were not stored since a time.
func (b *Box) removeSome(refs []ledger.Blob, since time.Time) error {
	old, err := b.archive.MarkBlobs(refs, since)
	if err != nil || len(old) == 0 {
		return err
	}
	said := ledger.BlobRemoved{Removed: old, Reason: "older than " + age(b.keepBlobs) + " (the setting archive.keep)"}
	r, err := ofHousekeeping.record(b, housekeeping, "", removal{said})
	if err != nil {
		return err
	}
	if _, err := b.seal(); errors.Is(err, errUnsigned) {
		b.removeLater(r.seq, old) // once it is sealed
		return nil
	} else if err != nil {
		return fmt.Errorf("seal the archive: %w", err)
	}
	n, err := b.archive.RemoveBlobs(int64(r.seq) - 1)
	if err != nil { // what can't be unlinked now is removed in a later round
		b.logger.Warn("outputs that are said to be removed can't be", "event", r.seq, "error", err)
		return nil
	}
	b.logger.Info("outputs were removed from the archive, and their hashes stay", "files", n, "event", r.seq, "reason", said.Reason)
	return nil
}

// age writes a time in days, if it is a number of them.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == day:
		return "a day"
	case d%day == 0:
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}
