package box

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Nothing of a run that has left memory is kept, also when somebody shows it late.
func TestNewsLeave(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	subject := finishedRun(t, b, "R1")
	b.state.drop(b.state.inIndex(subject))
	b.Ledger().Changed(subject)
	b.state.unwatch(subject, nil)
	if len(b.state.news) > 0 {
		t.Errorf("news of a run that left memory: %v", b.state.news)
	}
}

// Who hears of what is recorded hears of each event once, in the order of the ledger, by the time that who recorded it knows; and of
// nothing that was there before.
func TestWhenRecorded(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	add := func() {
		if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "x", Phase: agentsig.PhaseReadyForReview}, ""); err != nil {
			t.Error(err)
		}
	}
	add()
	before := b.UpTo()
	var heard []string
	b.WhenRecorded(func(e ledger.Event) { heard = append(heard, fmt.Sprint(e.Subject, e.ItemSeq)) })
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			add()
			_, err := b.Claim(t.Context(), api.Claim{Actor: "a"}, "")
			if err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
	var stored []string
	err := b.log.Read(t.Context(), before+1, func(r engine.Record) error {
		e, err := ledger.Decode(r.Data)
		stored = append(stored, fmt.Sprint(e.Subject, e.ItemSeq))
		return err
	})
	if err != nil || len(stored) != 16 || !slices.Equal(heard, stored) {
		t.Errorf("heard of\n%v\nand recorded was\n%v, %v", heard, stored, err)
	}
}
