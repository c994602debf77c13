package session

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
	if !limitWords.MatchString(text) {
		return false, time.Time{}
	}
	for _, form := range resetForms {
		m := form.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if at := form.at(m[1], now); at.After(now) && at.Before(now.Add(maxReset)) {
			return true, at
		}
	}
	return true, time.Time{}
}

// limitWords are how providers and their programs name it.
var limitWords = regexp.MustCompile(`(?i)usage[ _]limit|rate[ _-]?limit|hit your limit|limit reached|\bquota\b|RESOURCE_EXHAUSTED|too many requests|\b429\b`)

// resetForms are how they say until when.
var resetForms = []struct {
	pattern *regexp.Regexp
	at      func(string, time.Time) time.Time
}{
	{regexp.MustCompile(`(?i)(?:limit reached\||"?resets_?at"?\s*[:=]\s*"?)(\d{10})\b`), epoch},
	{regexp.MustCompile(`(?i)"?(?:resets_in_seconds|retry[-_ ]after)"?\s*[:=]?\s*"?(\d+(?:\.\d+)?)\b`), seconds},
	{regexp.MustCompile(`(?i)"?retryDelay"?\s*[:=]\s*"?(\d+(?:\.\d+)?)s`), seconds},
	{regexp.MustCompile(`(?i)(?:reset|retry|try again|available)[a-z ]* at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))`), moment},
	{regexp.MustCompile(`(?i)(?:reset|retry|try again|available)[a-z ]* (?:in|after) ((?:\d+(?:\.\d+)?\s*(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[dhms])[ ,]*(?:and )?)+)`), spoken},
}

func epoch(s string, _ time.Time) time.Time {
	n, _ := strconv.ParseInt(s, 10, 64)
	return time.Unix(n, 0)
}

func seconds(s string, now time.Time) time.Time {
	n, _ := strconv.ParseFloat(s, 64)
	if n > maxReset.Seconds() {
		return time.Time{}
	}
	return now.Add(time.Duration(n * float64(time.Second)))
}

func moment(s string, _ time.Time) time.Time {
	at, _ := time.Parse(time.RFC3339, s)
	return at
}

var spokenPart = regexp.MustCompile(`(\d+(?:\.\d+)?)\s*([a-zA-Z])`)

// spoken reads such as "2 hours 3 minutes" or "34.5s".
func spoken(s string, now time.Time) time.Time {
	units := map[string]float64{"d": 86400, "h": 3600, "m": 60, "s": 1}
	total := 0.0
	for _, part := range spokenPart.FindAllStringSubmatch(s, 8) {
		n, _ := strconv.ParseFloat(part[1], 64)
		total += n * units[strings.ToLower(part[2])]
	}
	if total > maxReset.Seconds() {
		return time.Time{}
	}
	return now.Add(time.Duration(total * float64(time.Second)))
}
