package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// What waits for a person's approval is audited: it does not wait for its audit.
func TestWaitsForApproval(t *testing.T) {
	for words, want := range map[string]string{
		delivery.ForApproval: "waits for your review of its merge", "for your review": "audit waits for your review", "": "ready for audit",
	} {
		if got := waits(api.Task{Phase: agentsig.PhaseReadyForMerge, Waits: api.Waiting{Text: words}}, ""); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

// What waits for a person's review says so once.
func TestWaitsForReview(t *testing.T) {
	for words, want := range map[string]string{delivery.ForReview: "waits for your review", "for a free agent": "review waits for a free agent"} {
		if got := waits(api.Task{Phase: agentsig.PhaseReadyForReview, Waits: api.Waiting{Text: words}}, ""); got != want {
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

// What a task waits for is read to its end on a terminal, and elsewhere all of it.
func TestWaitsForARunnerIsWhole(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	const why = "no runner with the labels gpu, tpu, linux-6-with-large-pages has claude"
	title := "A title that is too long for a line of a terminal, and says what it is about at its very end"
	r := api.Run{ID: "R1", Title: title, State: api.RunRunning, Tasks: []api.Task{
		{ID: "T-1", Title: title, Phase: agentsig.PhaseImplementation, Why: delivery.WaitRunner, Waits: api.Waiting{Reason: delivery.WaitRunner, Since: now.Add(-5 * time.Minute), Text: why}},
	}, Notices: []api.Notice{{At: now, Text: title + " " + title}}}
	on := strings.Join(Frame(r, Options{Width: 80, Now: now}), "\n")
	if !strings.Contains(on, "  waits 5 min\n     └ "+why+"\n") {
		t.Errorf("on a terminal:\n%s", on)
	}
	if off := strings.Join(Frame(r, Options{Width: 80, Now: now, Whole: true}), "\n"); strings.Contains(off, "…") || strings.Count(off, title) != 4 || !strings.Contains(off, "└ "+why+"\n") {
		t.Errorf("elsewhere:\n%s", off)
	}
}

// Who reads lines is told once that a task waits for a runner that is not there, and not that all are busy.
func TestPlainSaysWhatWaitsForARunner(t *testing.T) {
	var b strings.Builder
	p := NewPlain(&b, 0)
	now := time.Unix(1_700_000_000, 0)
	show := func(w api.Waiting) string {
		b.Reset()
		w.Reason = delivery.WaitRunner
		if err := p.Show(api.Run{Tasks: []api.Task{{ID: "G-1", Why: delivery.WaitRunner, Waits: w}}}, now); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for i, c := range []struct {
		waits api.Waiting
		want  string
	}{
		{api.Waiting{Text: "gpu1 is full"}, ""},
		{api.Waiting{Text: "no runner with the label tpu", Nowhere: true}, "2023-11-14T22:13:20Z ! G-1 waits: no runner with the label tpu\n"},
		{api.Waiting{Text: "no runner with the label tpu", Nowhere: true}, ""},
		{api.Waiting{Text: "gpu1 is full"}, ""},
		{api.Waiting{Text: "gpu1 is draining", Nowhere: true}, "2023-11-14T22:13:20Z ! G-1 waits: gpu1 is draining\n"},
	} {
		if got := show(c.waits); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}
