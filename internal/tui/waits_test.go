package tui

import (
	"fmt"
	"strings"
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

// What waits for a person's review says so once.
func TestWaitsForReview(t *testing.T) {
	for words, want := range map[string]string{delivery.ForReview: "waits for your review", "for a free agent": "review waits for a free agent"} {
		if got := waits(api.Task{Phase: agentsig.PhaseReadyForReview, Waits: words}, ""); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

// Questions, reviews and tasks that wait for a person are counted apart.
func TestWaitCounts(t *testing.T) {
	all := []api.Question{{Kind: api.KindQuestion}, {}, {Kind: string(delivery.PartReview)}, {Kind: string(delivery.PartTake)}, {Kind: string(delivery.PartGive)}}
	if got, want := strings.Join(waitCounts(all), " · "), "2 questions · 1 review · 2 tasks for you"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := waitCounts(nil); len(got) > 0 {
		t.Errorf("nothing waits, and there is %q", got)
	}
}

// Where tasks are left out between two that are shown, there is a mark, in no line of its own.
func TestLeftOutIsMarked(t *testing.T) {
	var table []drawnRow
	for i := range 30 {
		mark := "  "
		if i == 12 {
			mark = "› "
		}
		table = append(table, drawnRow{done, []line{{{plain, mark}, {plain, fmt.Sprintf("M-%d", i)}}}})
	}
	var all []string
	for _, l := range choose(table, 7, 12) {
		text := ""
		for _, s := range l {
			text += s.text
		}
		all = append(all, text)
	}
	got := strings.Join(all, "\n")
	if !strings.Contains(got, "⋮ M-10\n  M-11\n› M-12\n  M-13\n") || len(all) > 7 {
		t.Errorf("what is shown is\n%s", got)
	}
}
