package tui

import (
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

func TestDraw(t *testing.T) {
	l := line{{red, "ab"}, {plain, "  "}, {green, "cd"}, {plain, " "}}
	for width, want := range map[int]string{
		0: "", 1: "…", 2: "a…", 3: "ab…", 4: "ab …", 5: "ab  …", 7: "ab  cd", 9: "ab  cd",
	} {
		if got := l.draw(width, false); got != want {
			t.Errorf("in %d columns: %q, want %q", width, got, want)
		}
	}
	if got, want := l.draw(9, true), "\x1b[31mab\x1b[0m  \x1b[32mcd\x1b[0m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestElapsed(t *testing.T) {
	from := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 59*time.Second + 999*time.Millisecond: "59s", time.Minute: "1m 00s",
		time.Hour - time.Second: "59m 59s", time.Hour: "1h 00m", 24*time.Hour - time.Second: "23h 59m", 99*24*time.Hour + 23*time.Hour: "99d 23h",
	} {
		got := elapsed(from, from.Add(d))
		if got != want || len(got) > len("59m 59s") {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	if got := elapsed(time.Time{}, from); got != "" {
		t.Errorf("from an unknown time: %q", got)
	}
}

func TestCost(t *testing.T) {
	for u, want := range map[delivery.Usage]string{
		{}: "", {InputTokens: 999}: "999 tokens", {InputTokens: 1000, OutputTokens: 500}: "1.5k tokens", {InputTokens: 412_345}: "412k tokens",
		{InputTokens: 1_250_000}: "1.2M tokens", {CostUSD: 1.825, InputTokens: 5}: "$1.82", {CostUSD: 0.001}: "< $0.01",
		{InputTokens: 99_999}: "99.9k tokens", {InputTokens: 999_999}: "999k tokens",
	} {
		if got := cost(u); got != want {
			t.Errorf("%+v is %q, want %q", u, got, want)
		}
	}
}
