package agentformat_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/agentformat"
)

type (
	shares   int16
	currency float32
	ticker   string
	broken   struct{}
	itself   *itself
)

func (broken) MarshalText() ([]byte, error) { return []byte("7"), errors.New("broken") }

func TestNumber(t *testing.T) {
	var (
		f       = 2.5
		nan     = math.NaN()
		text    = " 12.50 "
		pointer = &f
		cycle   itself
		inside  any = 7
	)
	cycle = &cycle
	for _, c := range []struct {
		v    any
		want float64
	}{
		{nil, 0},
		{1, 1}, {int8(-8), -8}, {int16(16), 16}, {int32(32), 32}, {int64(math.MinInt64), math.MinInt64},
		{uint(1), 1}, {uint8(8), 8}, {uint16(16), 16}, {uint32(32), 32}, {uint64(math.MaxUint64), math.MaxUint64}, {uintptr(3), 3},
		{float32(0.5), 0.5}, {-1.25, -1.25}, {math.MaxFloat64, math.MaxFloat64}, {math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64},
		{shares(7), 7}, {currency(1.5), 1.5}, {ticker("3"), 3},
		{math.NaN(), 0}, {math.Inf(1), 0}, {math.Inf(-1), 0}, {float32(math.Inf(1)), 0},
		{json.Number("1e3"), 1000}, {json.Number(""), 0},
		{"-0.75", -0.75}, {text, 12.5}, {"+4", 4}, {".5", 0.5}, {"5.", 5}, {"1e400", 0}, {"-1e400", 0}, {"1e-400", 0},
		{"", 0}, {"abc", 0}, {"1,234", 0}, {"$5", 0}, {"NaN", 0}, {"inf", 0}, {"-Infinity", 0}, {"0x1p4", 0},
		{&f, 2.5}, {&nan, 0}, {&text, 12.5}, {(*float64)(nil), 0}, {(*string)(nil), 0},
		{big.NewInt(42), 42}, {big.NewFloat(0.5), 0.5}, {(*big.Int)(nil), 0}, {(*time.Time)(nil), 0}, {big.NewFloat(math.Inf(1)), 0},
		{broken{}, 0}, {time.Unix(5, 0), 0},
		{true, 0}, {1i, 0}, {struct{}{}, 0}, {[]int{1}, 0}, {map[string]int{"a": 1}, 0}, {func() {}, 0},
		{&pointer, 0}, {cycle, 0}, {&inside, 0},
	} {
		if got := agentformat.Number(c.v); got != c.want {
			t.Errorf("Number(%T %v) = %v, want %v", c.v, c.v, got, c.want)
		}
	}
	for _, zero := range []any{math.Copysign(0, -1), "-0", "-0.0", json.Number("-0")} {
		if math.Signbit(agentformat.Number(zero)) {
			t.Errorf("Number(%T %v) is negative", zero, zero)
		}
	}
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		v        float64
		decimals int
		want     float64
	}{
		{1234.5678, 2, 1234.57}, {-1234.5678, 2, -1234.57}, {54.25, 1, 54.2}, {54.35, 1, 54.4}, {2.675, 2, 2.67},
		{0.5, 0, 0}, {1.5, 0, 2}, {2.5, 0, 2}, {99.995, 0, 100}, {17, -1, 17}, {17.5, math.MinInt, 18},
		{1.0 / 3, math.MaxInt, 1.0 / 3}, {math.SmallestNonzeroFloat64, 400, math.SmallestNonzeroFloat64},
		{math.MaxFloat64, 2, math.MaxFloat64}, {math.NaN(), 2, 0}, {math.Inf(1), 2, 0}, {math.Inf(-1), 0, 0},
	} {
		if got := agentformat.Round(c.v, c.decimals); got != c.want {
			t.Errorf("Round(%v, %d) = %v, want %v", c.v, c.decimals, got, c.want)
		}
	}
	if got := agentformat.Round(-0.001, 2); math.Signbit(got) {
		t.Errorf("Round(-0.001, 2) = %v", got)
	}
}

// A rounded number is the nearest there is, and rounding it again changes nothing.
func TestRoundIsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-1e9, 1e9).Draw(t, "v")
		decimals := rapid.IntRange(0, 6).Draw(t, "decimals")
		got := agentformat.Round(v, decimals)
		if half := 0.5 / math.Pow10(decimals); math.Abs(got-v) > half*1.001+math.Abs(v)*1e-15 {
			t.Errorf("Round(%v, %d) = %v", v, decimals, got)
		}
		if again := agentformat.Round(got, decimals); again != got {
			t.Errorf("Round(%v, %d) = %v", got, decimals, again)
		}
	})
}

// Whatever is read, JSON can hold it.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"", "1", "-0", "nan", "+Inf", "1e309", "0x1p-2", "1_0", " 7 ", "99999999999999999999"} {
		f.Add(s, math.Float64bits(math.NaN()), 2)
	}
	f.Fuzz(func(t *testing.T, s string, bits uint64, decimals int) {
		v := math.Float64frombits(bits)
		for _, got := range []float64{agentformat.Number(s), agentformat.Number(json.Number(s)), agentformat.Number(&s), agentformat.Number(v),
			agentformat.Number(float32(v)), agentformat.Round(v, decimals)} {
			if math.IsNaN(got) || math.IsInf(got, 0) || got == 0 && math.Signbit(got) {
				t.Errorf("%q, %v, %d: %v", s, v, decimals, got)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Error(err)
			}
		}
	})
}
