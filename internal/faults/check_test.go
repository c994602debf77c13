package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// errLost is what the checks find if the box has broken its promise.
var errLost = errors.New("what was acknowledged is not in the ledger")

// listed asks a box for all its events, as stored.
func listed(ctx context.Context, address, token string) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := api.NewClient(address, token)
	defer c.Close()
	var all [][]byte
	err := c.Events(ctx, "", 0, false, func(e api.Event) error {
		all = append(all, e.Event)
		if e.Sequence != uint64(len(all)) {
			return fmt.Errorf("event %d comes where event %d should be", e.Sequence, len(all))
		}
		return nil
	})
	return all, err
}

// verified reads all events of an archive that was stopped, after [ledger.Verify]
// has found nothing wrong with it. It may have blobs that no event refers to: they are stored before
// their event, which was then lost or refused.
func verified(files fs.FS, key string) ([][]byte, error) {
	report, err := ledger.VerifyExcept(files, key, func(kind, _ string) (bool, error) { return kind == ledger.UncoveredBlob, nil })
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for at := int64(0); at < report.Events; at += ledger.TileWidth {
		width := min(ledger.TileWidth, report.Events-at)
		data, err := fs.ReadFile(files, ledger.EntriesPath(at/ledger.TileWidth, int(width)))
		if err != nil {
			return nil, err
		}
		events, err := ledger.Entries(data)
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
	}
	return all, nil
}

// continues says whether a list of events begins with another one.
func continues(later, earlier [][]byte) error {
	if len(later) < len(earlier) {
		return fmt.Errorf("%w: there were %d events, and %d are left", errLost, len(earlier), len(later))
	}
	for i, stored := range earlier {
		if !bytes.Equal(later[i], stored) {
			return fmt.Errorf("%w: event %d is another than it was", errLost, i+1)
		}
	}
	return nil
}

// history is a ledger's events, by what they can be found by.
type history struct {
	events    []ledger.Event
	marks     map[string][]uint64
	keys      map[string]uint64
	completed map[string]uint64 // by session
	holders   map[string]string // subject -> session
	taken     map[string]bool   // sessions whose lease was ended by somebody else
}

// check holds what clients were told against the ledger. At the end of a run every
// request has to be answered.
func check(stored [][]byte, told []request, ended bool) error {
	h, err := read(stored)
	if err != nil {
		return err
	}
	for _, r := range told {
		if err := h.request(r, ended); err != nil {
			return err
		}
	}
	return nil
}

func read(stored [][]byte) (history, error) {
	h := history{
		marks: map[string][]uint64{}, keys: map[string]uint64{}, completed: map[string]uint64{},
		holders: map[string]string{}, taken: map[string]bool{},
	}
	for i, data := range stored {
		seq := uint64(i) + 1
		e, err := ledger.Decode(data)
		if err == nil {
			h.events = append(h.events, e)
			err = h.add(seq, e)
		}
		if err != nil {
			return h, fmt.Errorf("event %d: %w", seq, err)
		}
	}
	return h, nil
}

// add takes the next event, and says whether it repeats another one. Only a grant
// may: if its lease was taken before the client heard of it, the client is granted
// another one when it asks again.
func (h *history) add(seq uint64, e ledger.Event) error {
	mark, err := markOf(e)
	if err != nil {
		return err
	}
	if first := h.keys[e.Key]; e.Key != "" && first != 0 {
		before := h.events[first-1]
		if !isGrant(e) || !isGrant(before) || !h.taken[before.Session] {
			return fmt.Errorf("%s was recorded for the same request as event %d, %s", e.Type, first, before.Type)
		}
		h.marks[mark] = nil
	}
	h.keys[e.Key] = seq
	if mark != "" {
		h.marks[mark] = append(h.marks[mark], seq)
	}
	switch holder := h.holders[e.Subject]; e.Type {
	case work.LeaseGranted, work.ReviewStarted:
		h.holders[e.Subject] = e.Session
	case work.AgentSessionCompleted:
		if first := h.completed[e.Session]; first != 0 {
			return fmt.Errorf("it completes the same session as event %d", first)
		}
		h.completed[e.Session] = seq
		h.holders[e.Subject] = ""
	case work.LeaseReleased, work.LeaseExpired, work.GatePassed, work.GateFailed, work.WorkOverridden:
		h.taken[holder] = mark != releaseMark(holder)
		h.holders[e.Subject] = ""
	}
	return nil
}

func isGrant(e ledger.Event) bool { return e.Type == work.LeaseGranted || e.Type == work.ReviewStarted }

// markOf returns the mark of the request that an event was recorded for; "" if it
// was recorded for none.
func markOf(e ledger.Event) (string, error) {
	switch e.Type {
	case work.WorkAdded:
		p, err := payload[work.Added](e)
		return p.Title, err
	case work.LeaseGranted, work.ReviewStarted:
		return e.Actor, nil
	case work.AgentSessionCompleted, work.LateResultRecorded:
		p, err := payload[work.Result](e)
		return p.Notes, err
	case work.GatePassed, work.GateFailed:
		p, err := payload[work.Gate](e)
		return p.Commit, err
	case work.WorkOverridden:
		p, err := payload[work.Overridden](e)
		return p.Reason, err
	case work.LeaseReleased:
		if e.Key == "" {
			return "", nil // the box gave it back by itself
		}
		return releaseMark(e.Session), nil
	}
	return "", nil
}

func payload[P any](e ledger.Event) (P, error) {
	var p P
	return p, json.Unmarshal(e.Payload, &p)
}

// request holds one request against the ledger.
func (h history) request(r request, ended bool) error {
	at := h.marks[r.mark]
	switch {
	case len(at) > 1:
		return fmt.Errorf("request %s is recorded %d times: %v", r.mark, len(at), at)
	case r.outcome == unresolved:
		return fmt.Errorf("nobody knows what became of request %s: %w", r.mark, r.err)
	case r.outcome == underway && ended:
		return fmt.Errorf("request %s was never answered", r.mark)
	case r.outcome == refused && len(at) > 0:
		return fmt.Errorf("request %s is recorded as event %d, and was refused: %w", r.mark, at[0], r.err)
	case r.outcome != acked:
		return nil
	case len(at) == 0:
		return fmt.Errorf("%w: %s for request %s (event %d)", errLost, r.event, r.mark, r.seq)
	case r.seq != 0 && r.seq != at[0]:
		return fmt.Errorf("%w: %s for request %s was event %d, and is event %d", errLost, r.event, r.mark, r.seq, at[0])
	}
	e := h.events[at[0]-1]
	got := request{event: e.Type, subject: e.Subject, session: e.Session, phase: phaseOf(e)}
	if e.Type == work.ReviewStarted {
		got.event = work.LeaseGranted // the answer does not tell them apart
	}
	wrong := r.event != got.event ||
		r.subject != "" && r.subject != got.subject ||
		r.session != "" && r.session != got.session ||
		r.token != work.Token{} && r.token.String() != e.Lease ||
		r.phase != "" && got.phase != "" && r.phase != got.phase
	if wrong {
		return fmt.Errorf("%w: request %s was answered with %+v, and event %d is %+v", errLost, r.mark, r, at[0], got)
	}
	return nil
}

// phaseOf returns the phase that an event leads to; "" if it moves nothing.
func phaseOf(e ledger.Event) agentsig.Phase {
	var p struct {
		Phase     agentsig.Phase `json:"phase"`
		NextPhase agentsig.Phase `json:"next_phase"`
	}
	if json.Unmarshal(e.Payload, &p) != nil {
		return ""
	}
	if p.NextPhase != "" {
		return p.NextPhase
	}
	return p.Phase
}
