package english_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/english"
)

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{-1: "-1 tasks", 0: "0 tasks", 1: "1 task", 2: "2 tasks", 1_000_000: "1000000 tasks"} {
		if got := english.Count(n, "task"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
		if got := english.Count(int(n), "task"); got != want {
			t.Errorf("Count(%d) of an int = %q, want %q", n, got, want)
		}
	}
}
