package portfolio_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

func decimal(t rapid.TB, s string) portfolio.Decimal {
	t.Helper()
	d, err := portfolio.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// rat reads the same notation into the arithmetic that Decimal is checked against.
func rat(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic("no number: " + s)
	}
	return r
}

func value(d portfolio.Decimal) *big.Rat { return rat(d.String()) }

// texts are numbers as files have them: short and long, with and without a point and a sign.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[+-]?[0-9]{1,6}(\.[0-9]{1,4})?`),
		rapid.StringMatching(`-?[0-9]{1,12}\.[0-9]{0,18}`),
		rapid.StringMatching(`-?[0-9]{0,12}\.[0-9]{1,18}`),
		rapid.StringMatching(`-?[0-9]{19,30}`),
		rapid.SampledFrom([]string{"0", "-0", "0.00", "1", "-1", "0.000000000000000001", "999999999999999999", "1000000000000000000",
			"9223372036854775807", "9223372036854775808", "999999999999999999999999999999", "-0.5", "0.005", "0.015"}),
	)
}

func drawn(t *rapid.T, label string) (portfolio.Decimal, *big.Rat) {
	s := texts().Draw(t, label)
	d, err := portfolio.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return d, rat(s)
}

// Sums, differences, products and comparisons are exact.
func TestDecimalIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, x := drawn(t, "a")
		b, y := drawn(t, "b")
		before := a.String() + " " + b.String()
		for name, c := range map[string]struct {
			got  portfolio.Decimal
			want *big.Rat
		}{
			"parsed":  {a, x},
			"sum":     {a.Add(b), new(big.Rat).Add(x, y)},
			"less":    {a.Sub(b), new(big.Rat).Sub(x, y)},
			"product": {a.Mul(b), new(big.Rat).Mul(x, y)},
			"cube":    {a.Mul(b).Mul(a), new(big.Rat).Mul(new(big.Rat).Mul(x, y), x)},
			"neg":     {a.Neg(), new(big.Rat).Neg(x)},
			"abs":     {a.Abs(), new(big.Rat).Abs(x)},
			"nothing": {a.Sub(a), new(big.Rat)},
		} {
			if value(c.got).Cmp(c.want) != 0 || c.got.Sign() != c.want.Sign() || c.got.IsZero() != (c.want.Sign() == 0) {
				t.Errorf("%s: %s, want %s", name, c.got, c.want)
			}
			if c.want.Sign() == 0 && c.got.String() != "0" {
				t.Errorf("%s: zero is %s", name, c.got)
			}
			if want, _ := c.want.Float64(); c.got.Float() != want || want == 0 && math.Signbit(c.got.Float()) {
				t.Errorf("%s: the float of %s is %v, want %v", name, c.got, c.got.Float(), want)
			}
		}
		if a.Cmp(b) != x.Cmp(y) || value(a.Min(b)).Cmp(smaller(x, y)) != 0 {
			t.Errorf("%s and %s: Cmp %d, Min %s", a, b, a.Cmp(b), a.Min(b))
		}
		if after := a.String() + " " + b.String(); after != before {
			t.Errorf("the operands changed: %s, were %s", after, before)
		}
	})
}

func smaller(x, y *big.Rat) *big.Rat {
	if y.Cmp(x) < 0 {
		return y
	}
	return x
}

// scaled is r times 10^n.
func scaled(r *big.Rat, n int) *big.Rat {
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil))
	if n < 0 {
		power.Inv(power)
	}
	return new(big.Rat).Mul(r, power)
}

// towardsZero and halfEven are the two ways to round, as a textbook has them.
func towardsZero(r *big.Rat, decimals int) *big.Rat {
	s := scaled(r, decimals)
	return scaled(new(big.Rat).SetInt(new(big.Int).Quo(s.Num(), s.Denom())), -decimals)
}

func halfEven(r *big.Rat, decimals int) *big.Rat {
	s := scaled(r, decimals)
	whole := new(big.Int).Quo(s.Num(), s.Denom())
	rest := new(big.Rat).Abs(new(big.Rat).Sub(s, new(big.Rat).SetInt(whole)))
	if c := rest.Cmp(big.NewRat(1, 2)); c > 0 || c == 0 && whole.Bit(0) == 1 {
		whole.Add(whole, big.NewInt(int64(s.Sign())))
	}
	return scaled(new(big.Rat).SetInt(whole), -decimals)
}

// Rounding and division round once, in the way they say.
func TestDecimalRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, x := drawn(t, "a")
		b, y := drawn(t, "b")
		decimals := rapid.IntRange(-3, 20).Draw(t, "decimals")
		quotient := new(big.Rat)
		if y.Sign() != 0 {
			quotient.Quo(x, y)
		}
		for name, c := range map[string]struct {
			got  portfolio.Decimal
			want *big.Rat
		}{
			"round": {a.Round(int32(decimals)), halfEven(x, decimals)},
			"floor": {a.Floor(int32(decimals)), towardsZero(x, decimals)},
			"over":  {a.Over(b, int32(decimals)), halfEven(quotient, decimals)},
		} {
			if value(c.got).Cmp(c.want) != 0 {
				t.Errorf("%s of %s (and %s) to %d: %s, want %s", name, a, b, decimals, c.got, c.want.FloatString(25))
			}
			if c.got.IsZero() && c.got.String() != "0" {
				t.Errorf("%s: zero is %s", name, c.got)
			}
		}
	})
}

func TestOver(t *testing.T) {
	for _, c := range []struct {
		a, b     portfolio.Decimal
		decimals int32
		want     string
	}{
		{portfolio.NewDecimal(1, 40), decimal(t, "3"), 1, strings.Repeat("3", 40) + ".3"},
		{decimal(t, "1"), portfolio.NewDecimal(3, 5), 8, "0.00000333"},
		{decimal(t, "1"), decimal(t, "0.000000000000000003"), 1, strings.Repeat("3", 18) + ".3"},
		{decimal(t, "2"), decimal(t, "-3"), 2, "-0.67"},
		{decimal(t, "1"), decimal(t, "8"), 2, "0.12"}, // half to even
		{decimal(t, "3"), decimal(t, "8"), 2, "0.38"},
		{decimal(t, "1"), decimal(t, "0"), 2, "0"},
		{decimal(t, "0"), decimal(t, "-5"), 2, "0"},
	} {
		if got := c.a.Over(c.b, c.decimals); got.String() != c.want {
			t.Errorf("%s / %s = %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

// A quotient that is as near to a half as its divisor lets it be is still rounded to the right
// side.
func TestOverNearHalf(t *testing.T) {
	for _, odd := range []string{"3", "99999", "1.01", "7777777777777777777", "99999999999999999999999999999", "0.000000000000000003"} {
		divisor := decimal(t, odd)
		unit := portfolio.NewDecimal(1, -int32(divisor.Decimals()))
		for _, c := range []struct {
			twice portfolio.Decimal
			want  string
		}{{divisor.Add(unit), "1"}, {divisor.Sub(unit), "0"}, {divisor, "0"}} {
			half := c.twice.Mul(decimal(t, "0.5"))
			if got := half.Over(divisor, 0); got.String() != c.want {
				t.Errorf("%s / %s = %s, want %s", half, divisor, got, c.want)
			}
		}
	}
}

// Parts of a whole get what is theirs, cut to a millionth, and together all of it.
func TestShare(t *testing.T) {
	millionth := big.NewRat(1, 1_000_000)
	rapid.Check(t, func(t *rapid.T) {
		amount, x := drawn(t, "amount")
		quantities := rapid.SliceOfN(rapid.StringMatching(`[0-9]{0,5}[1-9](\.[0-9]{1,4})?`), 1, 8).Draw(t, "quantities")
		left := decimal(t, "0")
		for _, q := range quantities {
			left = left.Add(decimal(t, q))
		}
		whole, rest, sum := left, amount, decimal(t, "0")
		for _, q := range quantities {
			part := decimal(t, q)
			exact := new(big.Rat).Mul(x, new(big.Rat).Quo(value(part), value(whole)))
			if part.Cmp(whole) < 0 {
				if got := value(amount.Share(part, whole)); got.Cmp(towardsZero(exact, 6)) != 0 {
					t.Fatalf("%s × %s / %s = %s", amount, part, whole, got.FloatString(8))
				}
			}
			given := rest.Share(part, left)
			rest, left, sum = rest.Sub(given), left.Sub(part), sum.Add(given)
			// Each cut before this one moved at most a millionth on to the parts that were left.
			off := new(big.Rat).Abs(new(big.Rat).Sub(value(given), exact))
			if off.Cmp(new(big.Rat).Mul(millionth, big.NewRat(int64(len(quantities)), 1))) > 0 {
				t.Fatalf("%s of %s gets %s of %s, %s off", part, whole, given, amount, off.FloatString(8))
			}
		}
		if sum.Cmp(amount) != 0 || !rest.IsZero() || !left.IsZero() {
			t.Fatalf("%s of %s was given, %s is left", sum, amount, rest)
		}
	})
}

func TestShareCases(t *testing.T) {
	for _, c := range [][4]string{
		{"100", "1", "3", "33.333333"},
		{"100", "2", "3", "66.666666"},
		{"-100", "1", "3", "-33.333333"},
		{"0.0000001", "7", "7", "0.0000001"}, // all of it, to the last digit
		{"0.0000001", "1", "2", "0"},
		{"5", "0", "3", "0"},
		{"5", "1", "0", "0"}, // of nothing there are no parts
	} {
		got := decimal(t, c[0]).Share(decimal(t, c[1]), decimal(t, c[2]))
		if got.String() != c[3] {
			t.Errorf("%s × %s / %s = %s, want %s", c[0], c[1], c[2], got, c[3])
		}
	}
}

func TestParseDecimal(t *testing.T) {
	for s, want := range map[string]string{
		"12.50": "12.5", "100": "100", "-0.25": "-0.25", "+7": "7", ".5": "0.5", "5.": "5", "-.5": "-0.5", "007": "7",
		"-0": "0", "-0.00": "0", "0": "0", "1000000": "1000000",
		"-000000000000000000000": "0", "0.000000000000000001": "0.000000000000000001",
		"9223372036854775808": "9223372036854775808", "-999999999999.999999999999999999": "-999999999999.999999999999999999",
		"999999999999999999999999999999": "999999999999999999999999999999",
	} {
		if got := decimal(t, s); got.String() != want {
			t.Errorf("%q is %s, want %s", s, got, want)
		}
	}
	for _, s := range []string{
		"", "-", "+", ".", "-.", "--1", "+-1", "1-", "1.2.3", "1..2", "1e5", "1E5", "0x10", "1,000", "1_000", " 1", "1 ", "$1", "(1)", "1.-5", ".+5",
		"NaN", "sNaN", "Inf", "-Infinity", "１", "1\x00", "\xff",
		"1234567890123456789012345678901",             // 31 digits
		"0.1234567890123456789",                       // 19 decimals
		"1234567890123.123456789012345678",            // 31 digits with a point
		strings.Repeat("9", 1_000_000), "1e999999999", // what takes long to compute with
	} {
		d, err := portfolio.ParseDecimal(s)
		if !errors.Is(err, portfolio.ErrNotANumber) || !d.IsZero() {
			t.Errorf("%.40q is %s, %v", s, d, err)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("%.40q: an error of %d bytes", s, len(err.Error()))
		}
	}
}

func TestNewDecimal(t *testing.T) {
	for _, c := range []struct {
		d    portfolio.Decimal
		want string
	}{
		{portfolio.Decimal{}, "0"},
		{portfolio.NewDecimal(0, -2), "0"},
		{portfolio.NewDecimal(0, 2), "0"},
		{portfolio.NewDecimal(1250, -2), "12.5"},
		{portfolio.NewDecimal(-5, 3), "-5000"},
		{portfolio.NewDecimal(math.MinInt64, 0), "-9223372036854775808"},
	} {
		if c.d.String() != c.want {
			t.Errorf("%s, want %s", c.d, c.want)
		}
	}
}

func TestDecimals(t *testing.T) {
	for s, want := range map[string]int{"0": 0, "0.00": 0, "100": 0, "1.5": 1, "1.50": 1, "0.001": 3, "-2.25": 2, "5.": 0} {
		if got := decimal(t, s).Decimals(); got != want {
			t.Errorf("%s has %d decimals, want %d", s, got, want)
		}
	}
	if got := portfolio.NewDecimal(5, 3).Decimals(); got != 0 {
		t.Errorf("5000 has %d decimals", got)
	}
}

func TestMoneyAndCents(t *testing.T) {
	for _, c := range []struct{ s, money, cents string }{
		{"0", "0.00", "0.00"},
		{"12.5", "12.50", "12.50"},
		{"100", "100.00", "100.00"},
		{"-0.25", "-0.25", "-0.25"},
		{"1234.5", "1234.50", "1,234.50"},
		{"-1234567.891", "-1234567.891", "-1,234,567.89"},
		{"999", "999.00", "999.00"},
		{"1000", "1000.00", "1,000.00"},
		{"-100000", "-100000.00", "-100,000.00"},
		{"999.995", "999.995", "1,000.00"},
		{"0.005", "0.005", "0.00"}, // half to even
		{"0.015", "0.015", "0.02"},
		{"-0.001", "-0.001", "0.00"},
		{"123456789012345678901234567890", "123456789012345678901234567890.00", "123,456,789,012,345,678,901,234,567,890.00"},
	} {
		d := decimal(t, c.s)
		if d.Money() != c.money || d.Cents() != c.cents {
			t.Errorf("%s: %s and %s, want %s and %s", c.s, d.Money(), d.Cents(), c.money, c.cents)
		}
	}
}

// In JSON a number is a string, as short as it goes.
func TestDecimalJSON(t *testing.T) {
	type row struct{ A, B portfolio.Decimal }
	got, err := json.Marshal(row{A: decimal(t, "-1234.50")})
	if want := `{"A":"-1234.5","B":"0"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	var back row
	if err := json.Unmarshal(got, &back); err != nil || back.A.String() != "-1234.5" || !back.B.IsZero() {
		t.Errorf("%v, %v", back, err)
	}
	for _, text := range []string{`{"A":""}`, `{"A":"1e5"}`, `{"A":1.5}`} {
		if err := json.Unmarshal([]byte(text), new(row)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// A number too large for its inner array is shared by its copies, which nobody may change.
func TestDecimalIsShared(t *testing.T) {
	long := decimal(t, "999999999999999999999999999999").Mul(decimal(t, "999999999999999999999999999999"))
	want := long.String()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			own := long
			for range 100 {
				_ = own.Add(own).Mul(own).Neg().Round(2).Over(own, 4).Share(own, long).Cents()
			}
		})
	}
	all.Wait()
	if long.String() != want {
		t.Errorf("%s, was %s", long, want)
	}
}

// What is read is written and read the same, and its value is what the text says.
func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"0", "-0.00", "12.50", ".5", "5.", "+1", "1e5", "NaN", "9223372036854775808", "-999999999999.999999999999999999", "--1", "1,000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := portfolio.ParseDecimal(s)
		if err != nil {
			if !errors.Is(err, portfolio.ErrNotANumber) || !d.IsZero() {
				t.Errorf("%q: %s, %v", s, d, err)
			}
			return
		}
		if value(d).Cmp(rat(s)) != 0 {
			t.Errorf("%q is %s", s, d)
		}
		text := d.String()
		if again := decimal(t, text); again.String() != text || again.Cmp(d) != 0 || text == "-0" {
			t.Errorf("%q: %s, then %s", s, text, again)
		}
		if value(d.Neg()).Cmp(new(big.Rat).Neg(value(d))) != 0 || math.IsNaN(d.Float()) || math.IsInf(d.Float(), 0) {
			t.Errorf("%q: %s, %v", s, d.Neg(), d.Float())
		}
		_, _ = d.Money(), d.Cents()
	})
}
