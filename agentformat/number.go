package agentformat

import (
	"encoding"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Number is v as a float that JSON can hold. It reads numbers of every type, strings and
// json.Numbers with a decimal number in them, pointers to these, and what writes itself as such
// a number (an encoding.TextMarshaler: exact decimals, *big.Int). Everything else is 0: nil,
// text, truth values, NaN, infinities, and what is too large for a float. There is no negative
// zero.
func Number(v any) float64 {
	value := reflect.ValueOf(v)
	if value.Kind() == reflect.Pointer && value.IsNil() {
		return 0
	}
	if text, ok := v.(encoding.TextMarshaler); ok {
		written, err := text.MarshalText()
		if err != nil {
			return 0
		}
		return parse(string(written))
	}
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	switch {
	case value.CanInt():
		return float64(value.Int())
	case value.CanUint():
		return float64(value.Uint())
	case value.CanFloat():
		return finite(value.Float())
	case value.Kind() == reflect.String:
		return parse(value.String())
	}
	return 0
}

// parse reads a decimal number, with blanks around it.
func parse(s string) float64 {
	if strings.ContainsAny(s, "xX") {
		return 0 // Go would read hexadecimal floats, which nobody means
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return 0
	}
	return finite(f)
}

func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 {
		return 0
	}
	return f
}

// maxDecimals is more than the smallest float has in front of its first digit.
const maxDecimals = 400

// Round is v with at most so many digits after the point, none if decimals is less than 0. The
// float's exact value decides, and a tie goes to the even digit. What [Number] does not take is
// 0 here, too.
func Round(v float64, decimals int) float64 {
	return parse(strconv.FormatFloat(finite(v), 'f', min(max(decimals, 0), maxDecimals), 64))
}
