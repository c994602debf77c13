package agent

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// limit reports whether a program that failed says that its provider's usage or rate
// limit was reached, and until when, if it says so. It is asked about errors only, never
// about what an agent says.
func limit(text string, now time.Time) (limited bool, reset time.Time) {
	if !limitWords.MatchString(otherLimits.ReplaceAllString(text, "")) {
		return false, time.Time{}
	}
	for _, form := range resetForms {
		m := form.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if at := form.at(m[1], now); sound(at, now) {
			return true, at
		}
	}
	return true, time.Time{}
}

// MaxReset bounds what a program says of the time until a usage limit ends.
const MaxReset = 31 * 24 * time.Hour

// sound reports whether a limit can end at a time.
func sound(reset, now time.Time) bool { return reset.After(now) && reset.Before(now.Add(MaxReset)) }

// failing is a turn that can't go on, for a cause as its program has put it. A provider's
// usage limit and a login that it refuses are told apart; reset is when that ends if the cause does not say so.
func failing(text, cause string, reset time.Time) Event {
	e := Event{Kind: Failed, Text: []byte(text)}
	now := time.Now()
	if limited, at := limit(cause, now); limited {
		e.Limited, e.Reset = true, at
		if at.IsZero() && sound(reset, now) {
			e.Reset = reset
		}
	}
	e.Refused = !e.Limited && refusesLogin(cause)
	return e
}

// limitWords are how providers and their programs name it. The status 429 counts where it
// is called a status, and not as the number of a line.
var limitWords = regexp.MustCompile(`(?i)usage[ _]limit|rate[ _-]?limit|hit your [a-z0-9-]* ?limit|(?:hour|daily|weekly|monthly|session) limit reached|\bquota\b|RESOURCE_EXHAUSTED|too many requests|^(?:0 )?429\b|(?:status|code|error|http(?:/[\d.]+)?)\W{1,4}429\b`)

// otherLimits are none of a provider.
var otherLimits = regexp.MustCompile(`(?i)disk quota`)

// resetForms are how they say until when.
var resetForms = []struct {
	pattern *regexp.Regexp
	at      func(string, time.Time) time.Time
}{
	{regexp.MustCompile(`(?i)(?:limit reached\||"?resets_?at"?\s*[:=]\s*"?)(\d{10})\b`), epoch},
	{regexp.MustCompile(`(?i)(?:reset|retry|try again|available)[a-z ]* (?:at|after) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))`), moment},
	{regexp.MustCompile(`(?i)(?:reset|retry|try again|available)[a-z ]* (?:in|after) ((?:\d+(?:\.\d+)?\s*[a-z]+[ ,]*(?:and )?)+)`), spoken},
	{regexp.MustCompile(`(?i)"?(?:resets_in_seconds|retry[-_ ]after)"?\s*[:=]?\s*"?(\d+(?:\.\d+)?)\b`), seconds},
	{regexp.MustCompile(`(?i)"?retryDelay"?\s*[:=]\s*"?(\d+(?:\.\d+)?)s`), seconds},
	{regexp.MustCompile(`(?i)(?:resets|try again)(?: at)? ((?:[a-z]{3} \d{1,2}(?:st|nd|rd|th)?,?(?: \d{4})?,?(?: at)? )?\d{1,2}(?::\d\d)? ?[ap]m\b(?: \([a-z_/+-]+\))?)`), clock},
}

func epoch(s string, _ time.Time) time.Time {
	n, _ := strconv.ParseInt(s, 10, 64)
	return time.Unix(n, 0)
}

func seconds(s string, now time.Time) time.Time {
	n, _ := strconv.ParseFloat(s, 64)
	if n > MaxReset.Seconds() {
		return time.Time{}
	}
	return now.Add(time.Duration(n * float64(time.Second)))
}

func moment(s string, _ time.Time) time.Time {
	at, _ := time.Parse(time.RFC3339, s)
	return at
}

var spokenPart = regexp.MustCompile(`(\d+(?:\.\d+)?)\s*([a-z]+)`)

// spokenUnits are in seconds.
var spokenUnits = map[string]float64{
	"d": 86400, "day": 86400, "days": 86400, "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
	"m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "ms": 0.001,
}

// spoken reads such as "2 hours 3 minutes" or "34.5s".
func spoken(s string, now time.Time) time.Time {
	total := 0.0
	for _, part := range spokenPart.FindAllStringSubmatch(strings.ToLower(s), 8) {
		n, _ := strconv.ParseFloat(part[1], 64)
		unit, known := spokenUnits[part[2]]
		if !known {
			return time.Time{}
		}
		total += n * unit
	}
	if total > MaxReset.Seconds() {
		return time.Time{}
	}
	return now.Add(time.Duration(total * float64(time.Second)))
}

var (
	clockZone  = regexp.MustCompile(`\(([^)]+)\)`)
	clockWords = regexp.MustCompile(`(?i)(\d)(?:st|nd|rd|th)\b|,| at\b`)
	clockForms = []string{"Jan 2 2006 3:04PM", "Jan 2 2006 3PM", "Jan 2 3:04PM", "Jan 2 3PM", "3:04PM", "3PM"}
)

// clock reads such as "Nov 20th, 2026 11:47 AM" or "3pm (Europe/Berlin)": the next time
// that it is so late, in the zone of this machine if none is named. The minute counts as
// a whole: its seconds are not told.
func clock(s string, now time.Time) time.Time {
	zone := now.Location()
	if m := clockZone.FindStringSubmatch(s); m != nil {
		if named, err := time.LoadLocation(m[1]); err == nil {
			zone = named
		}
		s = clockZone.ReplaceAllString(s, "")
	}
	words := strings.Fields(strings.ToUpper(clockWords.ReplaceAllString(s, "$1")))
	if n := len(words); n > 1 && len(words[n-1]) == 2 { // AM or PM, by itself
		words = append(words[:n-2], words[n-2]+words[n-1])
	}
	now = now.In(zone)
	for _, form := range clockForms {
		at, err := time.ParseInLocation(form, strings.Join(words, " "), zone)
		switch {
		case err != nil:
			continue
		case at.Year() > 0:
			at = at.Add(time.Minute)
		case strings.HasPrefix(form, "Jan"):
			if at = at.AddDate(now.Year(), 0, 0).Add(time.Minute); !at.After(now) {
				at = at.AddDate(1, 0, 0)
			}
		default:
			at = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute()+1, 0, 0, zone)
			if !at.After(now) {
				at = at.AddDate(0, 0, 1)
			}
		}
		return at
	}
	return time.Time{}
}
