package portfolio_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

func date(t testing.TB, s string) portfolio.Date {
	t.Helper()
	d, err := portfolio.ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A date is what package time takes it for, on every day from 1900 to 2200.
func TestDateIsTime(t *testing.T) {
	last := portfolio.NewDate(1899, time.December, 31)
	for at := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() <= 2200; at = at.AddDate(0, 0, 1) {
		d := portfolio.DateOf(at)
		text := at.Format(time.DateOnly)
		if d.String() != text || !d.Time().Equal(at) || d.Year() != at.Year() || d.Month() != at.Year()*12+int(at.Month())-1 {
			t.Fatalf("%s: %s, %s, %d, %d", text, d, d.Time(), d.Year(), d.Month())
		}
		if d != portfolio.NewDate(at.Date()) || d != date(t, text) || d != portfolio.DateOf(at.Add(24*time.Hour-1)) {
			t.Fatalf("%s: another day by another way", text)
		}
		if d != last.Add(1) || d.Add(-1) != last || d.Sub(last) != 1 || last.Sub(d) != -1 {
			t.Fatalf("%s does not follow %s", d, last)
		}
		if !last.Before(d) || d.Before(last) || d.Before(d) || !d.After(last) || last.After(d) || d.After(d) {
			t.Fatalf("%s is in no order with %s", d, last)
		}
		if longTerm := at.AddDate(0, 0, 1).AddDate(1, 0, 0); d.LongTermFrom().String() != longTerm.Format(time.DateOnly) {
			t.Fatalf("%s is long-term from %s", d, d.LongTermFrom())
		}
		last = d
	}
}

// The day is that of the place, not of Greenwich.
func TestDateOfPlace(t *testing.T) {
	at := time.Date(2025, 1, 1, 3, 0, 0, 0, time.UTC)
	if got := portfolio.DateOf(at.In(time.FixedZone("New York", -5*3600))); got.String() != "2024-12-31" {
		t.Error(got)
	}
}

func TestNewDateRunsOver(t *testing.T) {
	for _, c := range []struct {
		d    portfolio.Date
		want string
	}{
		{portfolio.NewDate(2024, 3, 0), "2024-02-29"},
		{portfolio.NewDate(2023, 13, 1), "2024-01-01"},
		{portfolio.NewDate(2023, 2, 29), "2023-03-01"},
		{portfolio.NewDate(1, 1, 1), "0001-01-01"},
		{portfolio.NewDate(9999, 12, 31), "9999-12-31"},
	} {
		if c.d.String() != c.want || c.d != date(t, c.want) {
			t.Errorf("%s, want %s", c.d, c.want)
		}
	}
}

// What is no day is zero, and so is a day that could not be written.
func TestNoDay(t *testing.T) {
	var none portfolio.Date
	if !none.IsZero() || none.String() != "" || date(t, "0001-01-01").IsZero() {
		t.Errorf("%q", none)
	}
	for _, at := range []time.Time{
		time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC),
		time.Date(-400, 3, 1, 0, 0, 0, 0, time.UTC),
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Unix(math.MaxInt64/2, 0),
		time.Unix(math.MinInt64/2, 0),
	} {
		if got := portfolio.DateOf(at); !got.IsZero() {
			t.Errorf("%d: %s", at.Year(), got)
		}
	}
}

func TestParseDateIsStrict(t *testing.T) {
	for _, s := range []string{
		"", "2024", "2024-1-01", "2024-01-1", "24-01-01", "2024/01/01", "01-02-2024", "20240101", "2024-01-01 ", " 2024-01-01", "2024-01-01T00:00:00Z",
		"2024-00-01", "2024-13-01", "2024-01-00", "2024-01-32", "2024-04-31", "2023-02-29", "1900-02-29", "2100-02-29", "0000-01-01",
		"+024-01-01", "-024-01-01", "2024-+1-01", "2024-01-+1", "2024-1 -01", "202a-01-01", "2024-01-0a", "２024-1-1",
	} {
		if d, err := portfolio.ParseDate(s); err == nil || !d.IsZero() {
			t.Errorf("%q is taken for %s", s, d)
		}
	}
	for _, s := range []string{"2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31", "2023-11-30"} {
		if got := date(t, s).String(); got != s {
			t.Errorf("%q is taken for %s", s, got)
		}
	}
}

// The holding begins on the day after the purchase, and lasts more than a year by the calendar.
func TestLongTermFrom(t *testing.T) {
	for bought, want := range map[string]string{
		"2023-02-28": "2024-03-01", // so that a sale on 2024-02-29 is short-term
		"2023-03-01": "2024-03-02",
		"2024-02-28": "2025-03-01", // from 02-29, which 2025 does not have
		"2024-02-29": "2025-03-01",
		"2024-03-01": "2025-03-02",
		"2023-01-31": "2024-02-01",
		"2023-04-30": "2024-05-01",
		"2023-12-31": "2025-01-01",
		"2022-12-31": "2024-01-01",
		"2023-06-15": "2024-06-16",
		"2099-02-28": "2100-03-01",
		"9999-12-31": "10001-01-01", // no sale can be that late
	} {
		if got := date(t, bought).LongTermFrom().String(); got != want {
			t.Errorf("bought %s: long-term from %s, want %s", bought, got, want)
		}
	}
}

func TestDateCompare(t *testing.T) {
	a, b := date(t, "2024-01-01"), date(t, "2025-06-01")
	if same := date(t, "2024-01-01"); a.Compare(b) != -1 || b.Compare(a) != 1 || a.Compare(same) != 0 {
		t.Errorf("%d, %d, %d", a.Compare(b), b.Compare(a), a.Compare(same))
	}
	dates := []portfolio.Date{b, {}, a}
	slices.SortFunc(dates, portfolio.Date.Compare)
	if !slices.Equal(dates, []portfolio.Date{{}, a, b}) {
		t.Error(dates)
	}
}

func TestDateJSON(t *testing.T) {
	type row struct{ D portfolio.Date }
	for want, r := range map[string]row{`{"D":"2024-02-29"}`: {date(t, "2024-02-29")}, `{"D":""}`: {}} {
		got, err := json.Marshal(r)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
		back := row{date(t, "1999-01-01")}
		if err := json.Unmarshal(got, &back); err != nil || back != r {
			t.Errorf("%s: %v, %v", got, back, err)
		}
	}
	for _, text := range []string{`{"D":"2024-02-30"}`, `{"D":20240229}`} {
		if err := json.Unmarshal([]byte(text), new(row)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// What is read is written the same, and what is not read is none of the calendar's days.
func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"2024-02-29", "2023-02-29", "0000-00-00", "9999-12-31", "2024-1-1", "", "２０24-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := portfolio.ParseDate(s)
		at, timeErr := time.Parse(time.DateOnly, s)
		if known := timeErr == nil && at.Year() > 0; known != (err == nil) {
			t.Fatalf("%q: %v, package time says %v", s, err, timeErr)
		}
		if err == nil && (d.String() != s || !d.Time().Equal(at)) {
			t.Errorf("%q: %s, %s", s, d, d.Time())
		}
	})
}
