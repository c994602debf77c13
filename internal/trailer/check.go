package trailer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Proven is what the trailers of a commit prove.
type Proven struct {
	Commit     Commit
	Trailers   Trailers
	Checkpoint ledger.Checkpoint
	Event      ledger.Event // MergeAllowed
	Allowed    work.Allowed
	stored     []byte // the event
}

// Check holds a commit against its trailers, and those against a key. It needs
// nothing else. What it finds to be wrong is a [Fault].
func Check(c Commit, verifierKey string) (Proven, error) {
	origin, err := ledger.KeyOrigin(verifierKey)
	if err != nil {
		return Proven{}, err
	}
	t, err := Parse(c.Message)
	if err != nil {
		return Proven{}, err
	}
	signed, err := ledger.ParseCheckpointLine(t.Checkpoint)
	if err != nil {
		return Proven{}, edited("%s is %v", nameCheckpoint, err)
	}
	proof, err := ledger.ParseProofLine(t.Proof, t.Event-1, signed)
	if err != nil {
		return Proven{}, edited("%s is %v", nameProof, err)
	}
	if origin != t.Origin() {
		return Proven{}, &Fault{Foreign, fmt.Sprintf("they are of %s, and the key is of %s", safetext.Escape(t.Origin()), safetext.Escape(origin))}
	}
	p := Proven{Commit: c, Trailers: t, stored: proof.Event}
	if p.Event, p.Checkpoint, err = proof.Verify(verifierKey); err != nil {
		return Proven{}, edited("%v", err)
	}
	if p.Allowed, err = allowed(p.Event); err != nil {
		return Proven{}, edited("event %d: %v", t.Event, err)
	}
	for _, said := range []struct{ name, trailer, event string }{
		{nameTask, t.Task, p.Allowed.Task}, {nameRun, t.Run, p.Allowed.Run},
	} {
		if said.trailer != said.event {
			return Proven{}, edited("%s says %s, and event %d %s", said.name, safetext.Escape(short(said.trailer)), t.Event, safetext.Escape(said.event))
		}
	}
	if t.Unaudited != p.Allowed.Unaudited {
		return Proven{}, edited("they say that it was audited: %v, and event %d: %v", !t.Unaudited, t.Event, !p.Allowed.Unaudited)
	}
	return p, holds(p.Allowed, c)
}

// holds says whether a commit is the one that was allowed.
func holds(a work.Allowed, c Commit) error {
	moved := func(format string, args ...any) error { return &Fault{Moved, fmt.Sprintf(format, args...)} }
	was := fmt.Sprintf("they are of the merge of %s onto %s", abbreviated(a.Commit), abbreviated(a.Onto))
	switch {
	case len(c.Parents) != 2:
		return moved("%s, and this commit has not two parents, but %d", was, len(c.Parents))
	case c.Parents[1] != a.Commit:
		return moved("%s, and this one merges %s", was, abbreviated(c.Parents[1]))
	case c.Parents[0] != a.Onto:
		return moved("%s, and this one is onto %s", was, abbreviated(c.Parents[0]))
	case c.Tree != a.Tree:
		return moved("%s with the tree %s, and this one has the tree %s: its files are others", was, abbreviated(a.Tree), abbreviated(c.Tree))
	}
	return nil
}

func abbreviated(hash string) string { return safetext.Escape(hash[:min(len(hash), 12)]) }

// Recorded is what a ledger says of a commit besides what the commit proves itself.
type Recorded struct {
	Size    int64         // how many events it, or the proof's checkpoint, has
	Audit   *ledger.Event // the audit, or the review of a repair, that the merge was allowed for; nil if there was none
	Waived  *Waived       // that there was no audit
	Checks  *Checks       // that it has passed on a runner; nil if there are none, or they were not looked at
	Merged  int64         // the sequence of the event that names the commit as what the merge became; 0 if there is none
	Covered bool          // the event that allowed the merge is under this checkpoint too
}

// Against holds what is proven against a ledger. One that is older than the commit's
// checkpoint, has another history, or says something else, is a [Fault].
func (p Proven) Against(f *ledger.Files) (Recorded, error) {
	if err := Continues(f.Checkpoint, f.Root, p.Checkpoint); err != nil {
		return Recorded{}, err
	}
	r := Recorded{Size: f.Checkpoint.Size, Covered: true}
	audit, err := f.Prove(int64(p.Allowed.Verdict) - 1)
	if err != nil {
		return r, fmt.Errorf("event %d, which event %d names: %w", p.Allowed.Verdict, p.Trailers.Event, err)
	}
	if err := p.judged(audit, &r); err != nil {
		return r, err
	}
	if r.Waived != nil {
		if err := p.unaudited(f.Prove, r.Waived); err != nil {
			return r, err
		}
	}
	if r.Checks, err = p.checks(f); err != nil {
		return r, err
	}
	at := int64(-1) // of the first event that says what the merge became
	err = f.Entries(p.Trailers.Event, func(index int64, stored []byte) bool {
		e, err := ledger.Decode(stored)
		if err == nil && p.tellsResult(e) {
			at = index
		}
		return at < 0
	})
	if err != nil || at < 0 {
		return r, err
	}
	merged, err := f.Prove(at)
	if err != nil {
		return r, err
	}
	return r, p.merged(merged, &r)
}

// With holds what is proven against a proof of another event: the audit, or the one
// that says what became of the merge.
func (p Proven) With(proof ledger.Proof, verifierKey string) (Recorded, error) {
	e, c, err := proof.Verify(verifierKey)
	if err != nil {
		return Recorded{}, &Fault{Contrary, "the proof does not hold: " + err.Error()}
	}
	if c.Size == p.Checkpoint.Size && c.Root != p.Checkpoint.Root {
		return Recorded{}, &Fault{Rewritten, fmt.Sprintf("the key has signed two ledgers of %d events", c.Size)}
	}
	r := Recorded{Size: c.Size}
	switch {
	case string(proof.Event) == string(p.stored) && proof.Index+1 == p.Trailers.Event:
		r.Covered = true
		return r, nil
	case proof.Index+1 == int64(p.Allowed.Verdict):
		return r, p.judged(proof, &r)
	case p.tellsResult(e):
		return r, p.merged(proof, &r)
	}
	return r, &Fault{Contrary, fmt.Sprintf("the proof is of event %d, %s, which says nothing of this commit", proof.Index+1, safetext.Escape(e.Type))}
}

// tellsResult reports whether an event says what became of a merge of this work.
func (p Proven) tellsResult(e ledger.Event) bool {
	return e.Subject == p.Event.Subject && (e.Type == work.WorkMerged || e.Type == delivery.RepairMerged)
}

// judged takes the event, which is proven, that the merge was allowed for: the audit of
// a task, that it has none, or the review of a repair. What it says of the audit is what the merge says.
func (p Proven) judged(proof ledger.Proof, r *Recorded) error {
	e, err := ledger.Decode(proof.Event)
	passed := false
	switch e.Type {
	case work.AgentSessionCompleted:
		var said work.Result
		err = errors.Join(err, json.Unmarshal(e.Payload, &said))
		passed = said.Audited && !p.Allowed.Unaudited
	case delivery.RepairReviewed:
		var said delivery.RepairReview
		err = errors.Join(err, json.Unmarshal(e.Payload, &said))
		passed = said.Passed && said.Commit == p.Allowed.Commit
	case work.AuditWaived:
		r.Waived = &Waived{}
		err = errors.Join(err, json.Unmarshal(e.Payload, &r.Waived.Waived))
		passed = p.Allowed.Unaudited && e.Actor == work.BoxActor && r.Waived.Commit == p.Allowed.Commit
	}
	if err != nil || e.Subject != p.Event.Subject || !passed {
		return &Fault{Contrary, fmt.Sprintf("event %d, which event %d names as the verdict, is none that passed this", proof.Index+1, p.Trailers.Event)}
	}
	if r.Waived == nil {
		r.Audit = &e
	}
	return nil
}

// merged takes the event, which is proven, that says what became of the merge.
func (p Proven) merged(proof ledger.Proof, r *Recorded) error {
	e, err := ledger.Decode(proof.Event)
	if err != nil {
		return err
	}
	var m struct{ Commit, Result, Merge string } // of a task's merge, or a repair's
	if err := json.Unmarshal(e.Payload, &m); err != nil {
		return err
	}
	result := cmp.Or(m.Result, m.Merge)
	if m.Commit != p.Allowed.Commit || result != p.Commit.Name {
		return &Fault{Contrary, fmt.Sprintf("event %d says that the merge of %s became %s, and not this commit", proof.Index+1, abbreviated(m.Commit), abbreviated(result))}
	}
	r.Merged = proof.Index + 1
	return nil
}

// Continues says whether a ledger, by its latest checkpoint and the roots of its
// beginnings, still begins with a checkpoint that was signed earlier.
func Continues(latest ledger.Checkpoint, root func(size int64) (ledger.Hash, error), earlier ledger.Checkpoint) error {
	switch {
	case latest.Origin != earlier.Origin:
		return &Fault{Foreign, fmt.Sprintf("they are of %s, and the ledger is %s", safetext.Escape(earlier.Origin), safetext.Escape(latest.Origin))}
	case latest.Size < earlier.Size:
		return &Fault{RolledBack, fmt.Sprintf("a checkpoint over %d events was signed, and it has %d", earlier.Size, latest.Size)}
	}
	was, err := root(earlier.Size)
	if err != nil {
		return err
	}
	if was != earlier.Root {
		return &Fault{Rewritten, fmt.Sprintf("it does not begin with the %d events that were signed", earlier.Size)}
	}
	return nil
}
