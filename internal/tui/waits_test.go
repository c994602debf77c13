package tui

import (
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// What waits for a person's approval is audited: it does not wait for its audit.
func TestWaitsForApproval(t *testing.T) {
	for words, want := range map[string]string{
		delivery.ForApproval: "waits for your review of its merge", "for your review": "audit waits for your review", "": "ready for audit",
	} {
		if got := waits(api.Task{Phase: agentsig.PhaseReadyForMerge, Waits: words}, ""); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}
