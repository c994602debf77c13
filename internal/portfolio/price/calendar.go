package price

import (
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// Session tells whether the New York Stock Exchange trades on d. The rules are those in force
// from 1990 on, with the closures since then that no rule foresees; later days that the exchange
// has not announced yet are taken as the rules have them. Short days are sessions.
func Session(d portfolio.Date) bool {
	if d.IsZero() {
		return false
	}
	t := d.Time()
	return weekday(t) && !slices.Contains(closures(t.Year()), d)
}

// SessionsBetween is how many sessions there are after from, up to and including to. It is 0 if
// to is not after from.
func SessionsBetween(from, to portfolio.Date) int {
	if !to.After(from) {
		return 0
	}
	n := weekdays(to) - weekdays(from)
	for year := max(from.Year(), 1); year <= to.Year(); year++ {
		for _, closed := range closures(year) {
			if closed.After(from) && !closed.After(to) {
				n--
			}
		}
	}
	return n
}

// NextSession is the first session after d.
func NextSession(d portfolio.Date) portfolio.Date {
	for d = d.Add(1); !Session(d); {
		d = d.Add(1)
	}
	return d
}

// lastSession is the last session of the month that d is in.
func lastSession(d portfolio.Date) portfolio.Date {
	t := d.Time()
	d = portfolio.NewDate(t.Year(), t.Month()+1, 0)
	for !Session(d) {
		d = d.Add(-1)
	}
	return d
}

func weekday(t time.Time) bool {
	return t.Weekday() != time.Saturday && t.Weekday() != time.Sunday
}

// weekdays is how many days from Monday to Friday there are up to d. The first day of the
// calendar, 0001-01-01, is a Monday.
func weekdays(d portfolio.Date) int {
	days := max(d.Sub(portfolio.Date{}), 0)
	return days/7*5 + min(days%7, 5)
}

// closures are the days from Monday to Friday of a year on which the exchange is closed, each
// once.
func closures(year int) []portfolio.Date {
	days := make([]portfolio.Date, 0, 16)
	// A New Year's Day on a Saturday is not made up for: the day before ends the books.
	if d := portfolio.NewDate(year, time.January, 1); d.Time().Weekday() != time.Saturday {
		days = append(days, observed(d))
	}
	if year >= 1998 { // Martin Luther King Day
		days = append(days, nth(3, time.Monday, year, time.January))
	}
	days = append(days,
		nth(3, time.Monday, year, time.February), // Washington's Birthday
		easter(year).Add(-2),                     // Good Friday
		lastMonday(year, time.May),               // Memorial Day
	)
	if year >= 2022 { // Juneteenth
		days = append(days, observed(portfolio.NewDate(year, time.June, 19)))
	}
	days = append(days,
		observed(portfolio.NewDate(year, time.July, 4)),
		nth(1, time.Monday, year, time.September),  // Labor Day
		nth(4, time.Thursday, year, time.November), // Thanksgiving
		observed(portfolio.NewDate(year, time.December, 25)),
	)
	return append(days, unforeseen(year)...)
}

// unforeseen are the closures of a year that no rule has.
func unforeseen(year int) []portfolio.Date {
	day := func(month time.Month, day int) portfolio.Date { return portfolio.NewDate(year, month, day) }
	switch year {
	case 1994: // President Nixon's funeral
		return []portfolio.Date{day(time.April, 27)}
	case 2001: // the attacks of 11 September
		return []portfolio.Date{day(time.September, 11), day(time.September, 12), day(time.September, 13), day(time.September, 14)}
	case 2004: // President Reagan's funeral
		return []portfolio.Date{day(time.June, 11)}
	case 2007: // President Ford's funeral
		return []portfolio.Date{day(time.January, 2)}
	case 2012: // Hurricane Sandy
		return []portfolio.Date{day(time.October, 29), day(time.October, 30)}
	case 2018: // President George H. W. Bush's funeral
		return []portfolio.Date{day(time.December, 5)}
	case 2025: // President Carter's funeral
		return []portfolio.Date{day(time.January, 9)}
	}
	return nil
}

// observed is the day on which a holiday is kept: one on a Saturday on the Friday before, one on
// a Sunday on the Monday after.
func observed(d portfolio.Date) portfolio.Date {
	switch d.Time().Weekday() {
	case time.Saturday:
		return d.Add(-1)
	case time.Sunday:
		return d.Add(1)
	}
	return d
}

// nth is the n-th such day of the week in a month.
func nth(n int, day time.Weekday, year int, month time.Month) portfolio.Date {
	first := portfolio.NewDate(year, month, 1)
	return first.Add((int(day-first.Time().Weekday())+7)%7 + 7*(n-1))
}

func lastMonday(year int, month time.Month) portfolio.Date {
	return nth(1, time.Monday, year, month+1).Add(-7)
}

// easter is Easter Sunday by the Gregorian computus: the Sunday after the first full moon of
// spring, both by the church's tables.
func easter(year int) portfolio.Date {
	century := year / 100
	golden := year % 19
	left := century - century/4     // days that the calendar left out
	mended := (8*century + 13) / 25 // days that its moon was mended by
	age := (left - mended + 19*golden + 15) % 30
	if age == 29 || age == 28 && golden > 10 {
		age--
	}
	full := portfolio.NewDate(year, time.March, 21+age)
	return full.Add(7 - int(full.Time().Weekday()))
}
