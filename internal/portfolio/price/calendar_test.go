package price_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// The closures as the exchange published them, year by year.
const published = `
1990: 01-01 02-19 04-13 05-28 07-04 09-03 11-22 12-25
1992: 01-01 02-17 04-17 05-25 07-03 09-07 11-26 12-25
1993: 01-01 02-15 04-09 05-31 07-05 09-06 11-25 12-24
1994: 02-21 04-01 04-27 05-30 07-04 09-05 11-24 12-26
1997: 01-01 02-17 03-28 05-26 07-04 09-01 11-27 12-25
1998: 01-01 01-19 02-16 04-10 05-25 07-03 09-07 11-26 12-25
1999: 01-01 01-18 02-15 04-02 05-31 07-05 09-06 11-25 12-24
2000: 01-17 02-21 04-21 05-29 07-04 09-04 11-23 12-25
2001: 01-01 01-15 02-19 04-13 05-28 07-04 09-03 09-11 09-12 09-13 09-14 11-22 12-25
2004: 01-01 01-19 02-16 04-09 05-31 06-11 07-05 09-06 11-25 12-24
2005: 01-17 02-21 03-25 05-30 07-04 09-05 11-24 12-26
2007: 01-01 01-02 01-15 02-19 04-06 05-28 07-04 09-03 11-22 12-25
2010: 01-01 01-18 02-15 04-02 05-31 07-05 09-06 11-25 12-24
2011: 01-17 02-21 04-22 05-30 07-04 09-05 11-24 12-26
2012: 01-02 01-16 02-20 04-06 05-28 07-04 09-03 10-29 10-30 11-22 12-25
2018: 01-01 01-15 02-19 03-30 05-28 07-04 09-03 11-22 12-05 12-25
2020: 01-01 01-20 02-17 04-10 05-25 07-03 09-07 11-26 12-25
2021: 01-01 01-18 02-15 04-02 05-31 07-05 09-06 11-25 12-24
2022: 01-17 02-21 04-15 05-30 06-20 07-04 09-05 11-24 12-26
2023: 01-02 01-16 02-20 04-07 05-29 06-19 07-04 09-04 11-23 12-25
2024: 01-01 01-15 02-19 03-29 05-27 06-19 07-04 09-02 11-28 12-25
2025: 01-01 01-09 01-20 02-17 04-18 05-26 06-19 07-04 09-01 11-27 12-25
2026: 01-01 01-19 02-16 04-03 05-25 06-19 07-03 09-07 11-26 12-25
2027: 01-01 01-18 02-15 03-26 05-31 06-18 07-05 09-06 11-25 12-24
2028: 01-17 02-21 04-14 05-29 06-19 07-04 09-04 11-23 12-25
`

func TestSessionAsPublished(t *testing.T) {
	for line := range strings.Lines(strings.TrimSpace(published)) {
		year, want, _ := strings.Cut(strings.TrimSpace(line), ": ")
		first, err := portfolio.ParseDate(year + "-01-01")
		if err != nil {
			t.Fatal(err)
		}
		var closed []string
		for d := first; d.Year() == first.Year(); d = d.Add(1) {
			weekend := d.Time().Weekday() == time.Saturday || d.Time().Weekday() == time.Sunday
			if weekend && price.Session(d) {
				t.Errorf("%s is a weekend", d)
			}
			if !weekend && !price.Session(d) {
				closed = append(closed, d.String()[len("2006-"):])
			}
		}
		if diff := cmp.Diff(want, strings.Join(closed, " ")); diff != "" {
			t.Errorf("%s: %s", year, diff)
		}
	}
}

// The computus has two exceptions, and few years are one.
func TestSessionGoodFriday(t *testing.T) {
	for _, s := range []string{"1954-04-16", "1981-04-17", "2000-04-21", "2008-03-21", "2038-04-23", "2049-04-16", "2076-04-17"} {
		friday, err := portfolio.ParseDate(s)
		if err != nil {
			t.Fatal(err)
		}
		if price.Session(friday) || !price.Session(friday.Add(-7)) || !price.Session(friday.Add(7)) {
			t.Errorf("%s is not the one Good Friday", s)
		}
	}
}

// sessions are the published numbers of trading days, from 1990.
var sessions = []int{
	253, 253, 254, 253, 252, 252, 254, 253, 252, 252, // 1990
	252, 248, 252, 252, 252, 252, 251, 251, 253, 252, // 2000
	252, 252, 250, 252, 252, 252, 252, 251, 251, 252, // 2010
	253, 252, 251, 250, 252, 250, // 2020
}

func TestSessionsOfAYear(t *testing.T) {
	for i, want := range sessions {
		end := portfolio.NewDate(1990+i, time.December, 31)
		if got := price.SessionsBetween(portfolio.NewDate(1990+i-1, time.December, 31), end); got != want {
			t.Errorf("%d: %d sessions, want %d", end.Year(), got, want)
		}
	}
}

// The count is arithmetic; here it is checked by going from day to day.
func TestSessionsBetweenCountsSessions(t *testing.T) {
	first, last := portfolio.NewDate(1989, time.December, 25), portfolio.NewDate(2036, time.January, 10)
	count, next := 0, price.NextSession(first)
	for d := first.Add(1); !d.After(last); d = d.Add(1) {
		if next.Before(d) {
			next = price.NextSession(d.Add(-1))
		}
		if price.Session(d) != (next == d) {
			t.Fatalf("the session after %s is %s", d.Add(-1), next)
		}
		if next == d {
			count++
		}
		if got := price.SessionsBetween(first, d); got != count {
			t.Fatalf("from %s to %s: %d sessions, want %d", first, d, got, count)
		}
	}
	for from := first; from.Before(last.Add(-41)); from = from.Add(97) {
		middle := from.Add(41)
		if price.SessionsBetween(from, last) != price.SessionsBetween(from, middle)+price.SessionsBetween(middle, last) {
			t.Fatalf("the sessions from %s by %s to %s do not add up", from, middle, last)
		}
	}
}

func TestSessionsBetweenEdges(t *testing.T) {
	friday, saturday, monday := portfolio.NewDate(2024, 3, 1), portfolio.NewDate(2024, 3, 2), portfolio.NewDate(2024, 3, 4)
	for _, test := range []struct {
		from, to portfolio.Date
		want     int
	}{
		{friday, friday, 0},
		{friday, saturday, 0},
		{friday, monday, 1},
		{saturday, monday, 1},
		{monday, friday, 0},
		{monday, friday.Add(7), 4},
		{portfolio.Date{}, portfolio.NewDate(1, 1, 7), 4}, // New Year's Day of the year 1 is a Monday
	} {
		if got := price.SessionsBetween(test.from, test.to); got != test.want {
			t.Errorf("from %s to %s: %d, want %d", test.from, test.to, got, test.want)
		}
	}
	if price.Session(portfolio.Date{}) {
		t.Error("no day is no session")
	}
}

func TestNextSession(t *testing.T) {
	for from, want := range map[string]string{
		"2001-09-10": "2001-09-17",
		"2012-10-26": "2012-10-31",
		"2021-12-23": "2021-12-27",
		"2021-12-31": "2022-01-03",
		"2024-02-28": "2024-02-29",
		"2025-01-08": "2025-01-10",
	} {
		d, err := portfolio.ParseDate(from)
		if err != nil {
			t.Fatal(err)
		}
		if got := price.NextSession(d).String(); got != want {
			t.Errorf("after %s: %s, want %s", from, got, want)
		}
	}
}
