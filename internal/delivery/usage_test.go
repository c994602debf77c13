package delivery_test

import (
	"math"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// A ledger may have amounts that no session can use. Sums of them stay numbers that can be shown and
// added to.
func TestUsageAdd(t *testing.T) {
	var all delivery.Usage
	add := func(v delivery.Usage, times int) {
		for range times {
			all.Add(v)
		}
	}
	add(delivery.Usage{InputTokens: 3, OutputTokens: 2, CostUSD: 0.5}, 2)
	for _, cost := range []float64{math.NaN(), math.Inf(-1), -1} {
		add(delivery.Usage{InputTokens: -1, OutputTokens: math.MinInt64, CostUSD: cost}, 2)
	}
	if all != (delivery.Usage{InputTokens: 6, OutputTokens: 4, CostUSD: 1}) {
		t.Errorf("less than nothing counts: %+v", all)
	}
	for _, cost := range []float64{math.MaxFloat64, math.Inf(1), math.NaN(), 1} {
		add(delivery.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64, CostUSD: cost}, 2)
		if n := all.Tokens(); n < all.InputTokens || n < 1e12 {
			t.Fatalf("%d tokens: %+v", n, all)
		}
		if !(all.CostUSD >= 1e6 && all.CostUSD <= math.MaxFloat64) {
			t.Fatalf("a cost of %v", all.CostUSD)
		}
	}
}
