package box

import (
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Who recorded an event is answered with the item as it is after that event, also if the item has
// moved on by then.
func TestAnswerIsOfOwnEvent(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "W-1", Title: "t", Phase: agentsig.PhaseReview}, ""); err != nil {
		t.Fatal(err)
	}
	before, err := b.state.named("W-1", toLook)
	if err != nil {
		t.Fatal(err)
	}
	grant := work.Grant{Epoch: b.epoch, Actor: "a", TTL: DefaultTTL, Key: "k"}
	granted, err := b.record(before.Subject, "k", grant)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.record(before.Subject, "", work.Release{Token: granted.after.Lease.Token}); err != nil {
		t.Fatal(err)
	}
	stored, err := granted.event.Encode()
	if err != nil {
		t.Fatal(err)
	}
	after, err := ofItems.after(b, before, granted.seq, granted.event, stored)
	if err != nil || after.Seq != granted.seq || after.Lease == nil || *after.Lease != *granted.after.Lease {
		t.Errorf("the item after event %d: %+v, %v", granted.seq, after, err)
	}
}
