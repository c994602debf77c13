package portfolio

import (
	"cmp"
	"fmt"
)

// A Clock is a time of day to the second, without a place. Its zero value is no time.
type Clock struct{ seconds int32 } // since midnight, and one

// NewClock is the time h:m:s.
func NewClock(h, m, s int) Clock { return Clock{int32((h*60+m)*60 + s + 1)} }

// ParseClock reads 15:04:05 and 15:04, and nothing else.
func ParseClock(text string) (Clock, error) {
	full := text
	if len(full) == len("15:04") {
		full += ":00"
	}
	if len(full) == len("15:04:05") && full[2] == ':' && full[5] == ':' {
		h, okH := number(full[:2])
		m, okM := number(full[3:5])
		s, okS := number(full[6:])
		if okH && okM && okS && h < 24 && m < 60 && s < 60 {
			return NewClock(h, m, s), nil
		}
	}
	return Clock{}, fmt.Errorf("%.40q is no time of day; write it as HH:MM:SS", text)
}

// IsZero tells whether there is no time.
func (c Clock) IsZero() bool { return c == Clock{} }

// Compare is -1, 0 or 1 as c is before, at or after o. No time is before all.
func (c Clock) Compare(o Clock) int { return cmp.Compare(c.seconds, o.seconds) }

// String is the time as ParseClock reads it, or nothing.
func (c Clock) String() string {
	if c.IsZero() {
		return ""
	}
	s := int(c.seconds) - 1
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}
