package portfolio

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// A Decimal is an exact number: money, a quantity, a price. Its methods return new values and
// change none, so it is copied and shared freely. Sums and products are exact whatever their
// length; the only division is Share, which says where the rest goes. Its zero value is 0.
//
// Nearly all numbers of a portfolio fit into 64 bits, and those are computed with directly: that
// is several times as fast. The others are computed with by apd, to the same results.
type Decimal struct {
	n    int64 // the number is n × 10^exp
	exp  int32
	long *apd.Decimal // or this, if it is not nil; nobody changes it
}

// Limits of what ParseDecimal reads: more than any market writes, and little enough that no
// file can make numbers that take long to multiply.
const (
	maxDigits   = 30
	maxDecimals = 18
)

// exact is unlimited in its precision, so what it computes is never rounded.
var exact = apd.BaseContext.WithPrecision(0)

// ErrNotANumber is what cannot be read as an exact number.
var ErrNotANumber = errors.New("not a number")

// ParseDecimal reads a number in plain notation: digits, at most one point, a sign.
func ParseDecimal(s string) (Decimal, error) {
	digits, decimals, point := 0, 0, false
	n := int64(0)
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			if digits++; digits <= len(powers)-1 {
				n = n*10 + int64(c-'0')
			}
			if point {
				decimals++
			}
		case c == '.' && !point:
			point = true
		case i > 0 || c != '+' && c != '-':
			return Decimal{}, fmt.Errorf("%.40q is %w", s, ErrNotANumber)
		}
	}
	switch {
	case digits == 0:
		return Decimal{}, fmt.Errorf("%.40q is %w", s, ErrNotANumber)
	case digits > maxDigits || decimals > maxDecimals:
		return Decimal{}, fmt.Errorf("%.40q is %w of at most %d digits, %d of them after the point", s, ErrNotANumber, maxDigits, maxDecimals)
	case digits > len(powers)-1:
		var long apd.Decimal
		if _, _, err := exact.SetString(&long, s); err != nil {
			return Decimal{}, fmt.Errorf("%.40q is %w", s, ErrNotANumber)
		}
		return short(&long), nil
	}
	if s[0] == '-' {
		n = -n
	}
	return Decimal{n: n, exp: -int32(decimals)}, nil
}

// NewDecimal is coefficient × 10^exponent.
func NewDecimal(coefficient int64, exponent int32) Decimal {
	return Decimal{n: coefficient, exp: exponent}
}

// powers of ten that 64 bits hold.
var powers = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// wide is d for apd.
func (d Decimal) wide() *apd.Decimal {
	if d.long != nil {
		return d.long
	}
	return apd.New(d.n, d.exp)
}

// short is what apd computed, in 64 bits if it fits. The result keeps a, so nobody may change it.
func short(a *apd.Decimal) Decimal {
	if a.Coeff.IsInt64() {
		n := a.Coeff.Int64()
		if a.Negative {
			n = -n
		}
		return Decimal{n: n, exp: a.Exponent}
	}
	return Decimal{long: a}
}

// must keeps the promise that exact arithmetic on parsed numbers can't fail: exponents stay far
// from their limits of ±100000.
func must(_ apd.Condition, err error) {
	if err != nil {
		panic("portfolio: exact arithmetic failed: " + err.Error())
	}
}

// times is x × y, if 64 bits hold it.
func times(x, y int64) (product int64, ok bool) {
	hi, lo := bits.Mul64(magnitude(x), magnitude(y))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if (x < 0) != (y < 0) {
		return -int64(lo), true
	}
	return int64(lo), true
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// align gives both numbers the same exponent, if 64 bits hold them then.
func align(d, e Decimal) (x, y int64, exp int32, ok bool) {
	if d.long != nil || e.long != nil {
		return 0, 0, 0, false
	}
	x, y, exp, ok = d.n, e.n, d.exp, true
	switch apart := int64(d.exp) - int64(e.exp); {
	case apart == 0:
	case apart > 0 && apart < int64(len(powers)):
		x, ok = times(x, powers[apart])
		exp = e.exp
	case apart < 0 && -apart < int64(len(powers)):
		y, ok = times(y, powers[-apart])
	default:
		ok = false
	}
	return x, y, exp, ok
}

// Add is d + e.
func (d Decimal) Add(e Decimal) Decimal {
	if x, y, exp, ok := align(d, e); ok {
		if sum := x + y; (x^sum)&(y^sum) >= 0 {
			return Decimal{n: sum, exp: exp}
		}
	}
	var sum apd.Decimal
	must(exact.Add(&sum, d.wide(), e.wide()))
	return short(&sum)
}

// Sub is d - e.
func (d Decimal) Sub(e Decimal) Decimal { return d.Add(e.Neg()) }

// Mul is d × e.
func (d Decimal) Mul(e Decimal) Decimal {
	if d.long == nil && e.long == nil {
		if n, ok := times(d.n, e.n); ok {
			return Decimal{n: n, exp: d.exp + e.exp}
		}
	}
	var product apd.Decimal
	must(exact.Mul(&product, d.wide(), e.wide()))
	return short(&product)
}

// Neg is -d.
func (d Decimal) Neg() Decimal {
	if d.long == nil && d.n != math.MinInt64 {
		return Decimal{n: -d.n, exp: d.exp}
	}
	var negative apd.Decimal
	must(exact.Neg(&negative, d.wide()))
	return short(&negative)
}

// Abs is d without its sign.
func (d Decimal) Abs() Decimal {
	if d.Sign() < 0 {
		return d.Neg()
	}
	return d
}

// Cmp is -1, 0 or 1 for d less than, equal to or greater than e.
func (d Decimal) Cmp(e Decimal) int {
	if x, y, _, ok := align(d, e); ok {
		return cmp.Compare(x, y)
	}
	return d.wide().Cmp(e.wide())
}

// Min is the lesser of the two.
func (d Decimal) Min(e Decimal) Decimal {
	if e.Cmp(d) < 0 {
		return e
	}
	return d
}

// Sign is -1, 0 or 1.
func (d Decimal) Sign() int {
	if d.long != nil {
		return d.long.Sign()
	}
	return cmp.Compare(d.n, 0)
}

// IsZero tells whether d is 0.
func (d Decimal) IsZero() bool { return d.Sign() == 0 }

// shareDecimals is how fine a share of an amount is cut. The rest stays with the whole, so
// nothing is lost; a millionth of a dollar is below what any form reports.
const shareDecimals = 6

// Share is d × part / whole, rounded down to a millionth. What is not given to this part is
// the caller's to give to the other: d.Sub(share). All of the whole is exactly d.
func (d Decimal) Share(part, whole Decimal) Decimal {
	if part.Cmp(whole) == 0 {
		return d
	}
	if share, ok := d.shareShort(part, whole); ok {
		return share
	}
	return d.Mul(part).quo(whole, shareDecimals, apd.RoundDown)
}

// shareShort is Share in 128 bits, if they hold what is divided.
func (d Decimal) shareShort(part, whole Decimal) (share Decimal, ok bool) {
	shift := int64(d.exp) + int64(part.exp) - int64(whole.exp) + shareDecimals
	if d.long != nil || part.long != nil || whole.long != nil || whole.n == 0 || max(shift, -shift) >= int64(len(powers)) {
		return share, false
	}
	divisor := magnitude(whole.n)
	hi, lo := bits.Mul64(magnitude(d.n), magnitude(part.n))
	over := uint64(0)
	if shift >= 0 {
		over, hi = bits.Mul64(hi, uint64(powers[shift]))
		carry := uint64(0)
		carry, lo = bits.Mul64(lo, uint64(powers[shift]))
		hi, carry = bits.Add64(hi, carry, 0)
		over += carry
	} else {
		over, divisor = bits.Mul64(divisor, uint64(powers[-shift]))
	}
	if over != 0 || hi >= divisor {
		return share, false
	}
	n, _ := bits.Div64(hi, lo, divisor)
	if n > math.MaxInt64 {
		return share, false
	}
	share = Decimal{n: int64(n), exp: -shareDecimals}
	if (d.n < 0) != (part.n < 0) != (whole.n < 0) {
		share.n = -share.n
	}
	return share, true
}

// Over is d / e to so many decimals, for showing and comparing; it is not exact.
func (d Decimal) Over(e Decimal, decimals int32) Decimal {
	return d.quo(e, decimals, apd.RoundHalfEven)
}

// quo divides and rounds to so many decimals. By zero it is 0.
func (d Decimal) quo(e Decimal, decimals int32, how apd.Rounder) Decimal {
	if e.IsZero() {
		return Decimal{}
	}
	x, y := d.wide(), e.wide()
	// Digits enough for the whole part of any quotient and for its decimals, so that the second
	// rounding is the only one that shows.
	digits := x.NumDigits() + int64(max(x.Exponent, 0)) + y.NumDigits() + int64(max(-y.Exponent, 0)) + int64(max(decimals, 0)) + 4
	context := apd.BaseContext.WithPrecision(uint32(digits))
	context.Traps &^= apd.Inexact | apd.Rounded
	context.Rounding = apd.RoundDown
	var quotient apd.Decimal
	must(context.Quo(&quotient, x, y))
	return short(&quotient).round(decimals, how)
}

// Round is d to so many decimals, half to even.
func (d Decimal) Round(decimals int32) Decimal { return d.round(decimals, apd.RoundHalfEven) }

// Floor is d to so many decimals, towards zero.
func (d Decimal) Floor(decimals int32) Decimal { return d.round(decimals, apd.RoundDown) }

func (d Decimal) round(decimals int32, how apd.Rounder) Decimal {
	x := d.wide()
	if x.Exponent >= -decimals {
		return d
	}
	context := apd.BaseContext.WithPrecision(uint32(x.NumDigits())) // at least one is dropped
	context.Traps &^= apd.Inexact | apd.Rounded
	context.Rounding = how
	var rounded apd.Decimal
	must(context.Quantize(&rounded, x, -decimals))
	return short(&rounded)
}

// Decimals is how many digits d has after the point, trailing zeros left out.
func (d Decimal) Decimals() int {
	var reduced apd.Decimal
	reduced.Reduce(d.wide())
	return int(max(-reduced.Exponent, 0))
}

// Float is the nearest float, for indicators and for what a snapshot shows.
func (d Decimal) Float() float64 {
	const exactly = 1 << 53 // whole numbers up to here are floats, and so are these powers of ten
	if d.long == nil && magnitude(d.n) <= exactly && d.exp <= 0 && -d.exp < int32(len(powers)) {
		return float64(d.n) / float64(powers[-d.exp])
	}
	f, err := d.wide().Float64()
	if err != nil || f == 0 {
		return 0 // and never -0, which JSON would show
	}
	return f
}

// String is the number in plain notation, as short as it goes: 12.5, 100, -0.25.
func (d Decimal) String() string {
	if d.long == nil && d.exp <= 0 && -d.exp < int32(len(powers)) && d.n != math.MinInt64 {
		return string(d.append(make([]byte, 0, 24)))
	}
	var reduced apd.Decimal
	reduced.Reduce(d.wide())
	return reduced.Text('f')
}

// append writes a number that 64 bits hold and that is no multiple of ten by its exponent.
func (d Decimal) append(text []byte) []byte {
	n, decimals := d.n, int(-d.exp)
	for decimals > 0 && n%10 == 0 {
		n, decimals = n/10, decimals-1
	}
	if n < 0 {
		text, n = append(text, '-'), -n
	}
	text = strconv.AppendInt(text, n/powers[decimals], 10)
	if decimals == 0 {
		return text
	}
	text = append(text, '.')
	fraction := n % powers[decimals]
	for place := decimals - 1; place >= 0; place-- {
		text = append(text, byte('0'+fraction/powers[place]%10))
	}
	return text
}

// Money is the number in plain notation with all of its decimals, and at least two: 12.50.
func (d Decimal) Money() string {
	s := d.String()
	whole, fraction, _ := strings.Cut(s, ".")
	return whole + "." + fraction + strings.Repeat("0", max(2-len(fraction), 0))
}

// Cents is the number with two decimals and its thousands apart, for people: 1,234.50.
func (d Decimal) Cents() string {
	s := d.Round(2).Money()
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	whole, cents, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + whole + "." + cents
}

// MarshalText makes a number a string in JSON, where floats would round it.
func (d Decimal) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Decimal) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDecimal(string(text))
	return err
}
