package delivery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// What a session may use is what is left of its task's and its run's budget, and never nothing: that would be no bound.
func TestAllowance(t *testing.T) {
	s := &scenario{t: t, out: &strings.Builder{}, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), items: map[string]work.Item{}, turns: map[string]int{}}
	play := func(lines ...string) {
		for _, line := range lines {
			s.play(line)
		}
	}
	play("plan T-1 tokens=1000 task-tokens=200 turn-tokens=50", "baseline pass", "use T-1 150")
	developer := s.session("T-1")
	want := delivery.Allowance{Run: delivery.Spend{Tokens: 850}, Task: delivery.Spend{Tokens: 50}, Turn: delivery.Spend{Tokens: 50}}
	if got := s.run.Allowance(developer); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	play("over-budget T-1 turn 40", "answer R1-Q1 raise", "uses T-1 9")
	if got := s.run.Allowance(s.session("T-1")); got.Turn.Tokens != 100 || got.Task.Tokens != 1 {
		t.Errorf("raised: %+v", got)
	}
	if got := s.run.Allowance(&delivery.Session{Round: 1}); got.Task != (delivery.Spend{}) || got.Run.Tokens != 801 {
		t.Errorf("of an agent that repairs: %+v", got)
	}
}

func TestSpendShare(t *testing.T) {
	used := delivery.Usage{InputTokens: 40, OutputTokens: 10, CostUSD: 0.9}
	for want, of := range map[float64]delivery.Spend{0: {}, 0.5: {Tokens: 100}, 0.9: {Tokens: 100, CostUSD: 1}} {
		if got := of.Share(used); got != want {
			t.Errorf("%+v of %+v is %v, want %v", used, of, got, want)
		}
	}
	if got := (delivery.Usage{InputTokens: 7}).Words(); strings.Contains(got, "USD") {
		t.Error(got)
	}
}
