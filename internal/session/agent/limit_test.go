package agent_test

import (
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// How programs and providers say that a limit was reached, and until when.
func TestLimit(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("there is no table of time zones here")
	}
	now := time.Date(2026, 11, 15, 10, 30, 20, 0, berlin)
	at := now.Add
	for text, want := range map[string]time.Time{
		"Claude AI usage limit reached|1794738620":                                            time.Unix(1794738620, 0),
		"429 You've hit your 5-hour limit · resets 11:42am (UTC)":                             time.Date(2026, 11, 15, 11, 43, 0, 0, time.UTC),
		"You've hit your limit · resets 3pm (Europe/Berlin)":                                  time.Date(2026, 11, 15, 15, 1, 0, 0, berlin),
		"You've hit your weekly limit · resets Nov 20, 9am (Europe/Berlin)":                   time.Date(2026, 11, 20, 9, 1, 0, 0, berlin),
		"You've hit your weekly limit · resets Nov 20 at 9:15am":                              time.Date(2026, 11, 20, 9, 16, 0, 0, berlin),
		"You've hit your limit · resets Nov 20, 2026, 3:04pm (UTC)":                           time.Date(2026, 11, 20, 15, 5, 0, 0, time.UTC),
		"You've hit your limit · resets 9am":                                                  time.Date(2026, 11, 16, 9, 1, 0, 0, berlin),
		"You’ve hit your usage limit. Upgrade to Pro (…) or try again at 11:47 AM.":           time.Date(2026, 11, 15, 11, 48, 0, 0, berlin),
		"You’ve hit your usage limit. Try again at 10:30 AM.":                                 time.Date(2026, 11, 15, 10, 31, 0, 0, berlin),
		"You’ve hit your usage limit. Try again at Nov 21st, 2026 8:02 PM.":                   time.Date(2026, 11, 21, 20, 3, 0, 0, berlin),
		"You’ve hit your usage limit. Try again in 4 days 3 hours 9 minutes.":                 at(99*time.Hour + 9*time.Minute),
		`{"type":"usage_limit_reached","resets_in_seconds":7200}`:                             at(2 * time.Hour),
		`{"type":"usage_limit_reached","resets_at":1794738620}`:                               time.Unix(1794738620, 0),
		"Rate limit reached for gpt: Limit 30000, Used 29000. Please try again in 34.5s.":     at(34500 * time.Millisecond),
		"Rate limit reached for gpt: Please try again in 856ms. Visit":                        at(856 * time.Millisecond),
		"Rate limit. Please retry after 5 minutes.":                                           at(5 * time.Minute),
		"Rate limit. Retry after 30 or later.":                                                at(30 * time.Second),
		"rate limit, retry after 2026-11-15T12:00:00Z":                                        time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC),
		"rate_limit_error: retry-after: 120":                                                  at(2 * time.Minute),
		`{"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"40s"}]}`:                    at(40 * time.Second),
		"You have exhausted your capacity on this model. Your quota will reset after 1h2m3s.": at(time.Hour + 2*time.Minute + 3*time.Second),
		"quota exceeded, try again at 2026-11-15T12:00:00Z":                                   time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC),
		"exceeded retry limit, last status: 429 Too Many Requests":                            {},
		"rate limit: try again in 400 days":                                                   {}, // which nobody waits for
		"rate limit: retry-after: 99999999999999999999":                                       {},
		"429 status code (no body)":                                                           {},
		"0 429 status code (no body)":                                                         {},
		`Internal error {"httpStatus":429}`:                                                   {},
		"API Error: 429":                                                                      {},
		"HTTP/1.1 429":                                                                        {},
		"5-hour limit reached":                                                                {},
		"usage limit reached|1000000000":                                                      {}, // long ago
		"usage limit reached|9999999999":                                                      {},
		"usage limit; resets at 25:99 pm":                                                     {},
		"hit your limit · resets 3pm (Nowhere/Land)":                                          time.Date(2026, 11, 15, 15, 1, 0, 0, berlin),
	} {
		if limited, reset := agent.Limit(text, now); !limited || !reset.Equal(want) {
			t.Errorf("%s: %t, %v\nwant %v", text, limited, reset, want)
		}
	}
	for _, text := range []string{
		"", "Internal error", "Credit balance is too low", "401 invalid x-api-key", "unlimited patience", "exit status 1: line 4291", "529 Overloaded",
		"No conversation found with session ID: x", "context limit exceeded", "Reached max turns (5)",
		"Context limit reached · /compact or /clear to continue", "EDQUOT: disk quota exceeded, write", "TypeError: x is not a function at f (/lib/cli.js:429:13)",
		"0 prompt is too long: 429 tokens over", "JIT stack limit reached",
	} {
		if limited, _ := agent.Limit(text, now); limited {
			t.Errorf("%q is no usage limit", text)
		}
	}
}
