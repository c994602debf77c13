package portfolio

import (
	"cmp"
	"fmt"
	"time"
)

// A Date is a day of the calendar, without a time or a place. Its zero value is no day.
// Dates can be compared with ==, and are ordered by Compare.
type Date struct{ days int32 } // since 0000-12-31, so that 0001-01-01 is 1

// NewDate is the day y-m-d; what is over a month's end runs into the next, as in time.Date.
func NewDate(y int, m time.Month, d int) Date {
	return DateOf(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
}

// DateOf is the day of t, where t is. A year that can't be written with four digits, or is
// before the first, is no day.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	if y < 1 || y > 9999 {
		return Date{}
	}
	return day(y, int(m), d)
}

func day(y, m, d int) Date {
	return Date{int32(daysBefore(y) + daysOfYear(y, m) + d)}
}

// ParseDate reads 2006-01-02, and nothing else.
func ParseDate(s string) (Date, error) {
	if len(s) != len("2006-01-02") || s[4] != '-' || s[7] != '-' {
		return Date{}, fmt.Errorf("%.40q is no date; write it as YYYY-MM-DD", s)
	}
	y, okY := number(s[:4])
	m, okM := number(s[5:7])
	d, okD := number(s[8:])
	if !okY || !okM || !okD || y == 0 || m < 1 || m > 12 || d < 1 || d > monthDays(y, m) {
		return Date{}, fmt.Errorf("%.40q is no day of the calendar", s)
	}
	return day(y, m, d), nil
}

func number(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

func leap(y int) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

func monthDays(y, m int) int {
	if m == 2 && leap(y) {
		return 29
	}
	return [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m-1]
}

// daysBefore is the days of all years before y.
func daysBefore(y int) int {
	y--
	return y*365 + y/4 - y/100 + y/400
}

// daysOfYear is the days of y before its month m.
func daysOfYear(y, m int) int {
	n := [...]int{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334}[m-1]
	if m > 2 && leap(y) {
		n++
	}
	return n
}

// Time is the day's beginning in UTC.
func (d Date) Time() time.Time {
	return time.Date(1, 1, int(d.days), 0, 0, 0, 0, time.UTC)
}

// IsZero tells whether d is no day.
func (d Date) IsZero() bool { return d.days == 0 }

// Add is the day n days later, or earlier.
func (d Date) Add(n int) Date { return Date{d.days + int32(n)} }

// Sub is how many days d is after e.
func (d Date) Sub(e Date) int { return int(d.days - e.days) }

// Before tells whether d is before e.
func (d Date) Before(e Date) bool { return d.days < e.days }

// After tells whether d is after e.
func (d Date) After(e Date) bool { return d.days > e.days }

// Compare is -1, 0 or 1, for slices.SortFunc.
func (d Date) Compare(e Date) int { return cmp.Compare(d.days, e.days) }

// Year is the year of the day.
func (d Date) Year() int { return d.Time().Year() }

// Month is the year and month of the day, as a number that grows by one a month.
func (d Date) Month() int {
	t := d.Time()
	return t.Year()*12 + int(t.Month()) - 1
}

// LongTermFrom is the first day on which a sale of what is held since d is long-term. The
// holding begins on the day after, and has to last more than a year by the calendar.
func (d Date) LongTermFrom() Date {
	y, m, first := d.Time().AddDate(0, 0, 1).AddDate(1, 0, 0).Date()
	return day(y, int(m), first)
}

// String is the day as 2006-01-02; no day is empty.
func (d Date) String() string {
	if d.IsZero() {
		return ""
	}
	return d.Time().Format(time.DateOnly)
}

// MarshalText makes a date a string in JSON.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Date) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Date{}
		return nil
	}
	day, err := ParseDate(string(text))
	*d = day
	return err
}
