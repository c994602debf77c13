package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/bench/handoff"
	"github.com/signalbox-dev/signalbox/bench/systems"
)

func TestChoose(t *testing.T) {
	got, err := choose("river,signalbox,river")
	if want := []int{0, 2}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v: want %v", got, err, want)
	}
	if _, err := choose("river,kafka"); err == nil || !strings.Contains(err.Error(), `"kafka"`) || !strings.Contains(err.Error(), "temporal-dev") {
		t.Errorf("a system that is not there: %v", err)
	}
	if a, b := len(systems.Names), len(systems.All(systems.Options{})); a != b {
		t.Errorf("%d names for %d systems", a, b)
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"--items", "0"}, {"--rounds", "0"}, {"--rate", "-1"}, {"more"}, {"--only", ""}} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

func TestNote(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("start: %w", handoff.Missing{What: "no PostgreSQL"}), "not run: no PostgreSQL"},
		{errors.New("a | b\nand more"), "failed: a / b"},
		{errors.New(strings.Repeat("é", 200)), "failed: " + strings.Repeat("é", 80)},
	} {
		if got := note(c.err); got != c.want {
			t.Errorf("%q: %q, want %q", c.err, got, c.want)
		}
	}
}

// broken is a system that does not start, and counts how often it was asked to.
type broken struct {
	err  error
	asks *int
}

func (broken) Name() string { return "broken" }

func (b broken) Start(context.Context) (handoff.Instance, error) {
	*b.asks++
	return nil, b.err
}

// TestRows checks that a system which can't be measured has a row, and what of it is a failure.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		err    error
		failed bool
	}{{handoff.Missing{What: "no such thing"}, false}, {errors.New("it ended"), true}} {
		asks := 0
		rows := measure(t.Context(), []handoff.System{broken{c.err, &asks}}, handoff.Load{Items: 1, Workers: 1, Time: time.Second}, 3)
		if len(rows) != 1 || rows[0].System != "broken" || rows[0].Note == "" || rows[0].Rounds != 0 || asks != 1 {
			t.Errorf("%v: rows %+v, asked %d times", c.err, rows, asks)
		}
		if err := failed(rows); (err != nil) != c.failed {
			t.Errorf("%v: %v", c.err, err)
		}
	}
	twice := []handoff.Row{{System: "A", Rounds: 1, Verdict: handoff.Verdict{Items: 2, Doubled: 1}}}
	if err := failed(twice); err == nil || !strings.Contains(err.Error(), "ended twice") {
		t.Errorf("an item that ended twice: %v", err)
	}
}
