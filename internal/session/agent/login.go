package agent

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"sync"

	"github.com/signalbox-dev/signalbox/safetext"
)

// refusesLogin reports whether a program that failed says that its provider refuses the login, or that it has none. It is
// asked about errors of the program only, never about what an agent or its tools say: those words are not the program's.
func refusesLogin(cause string) bool { return loginWords.MatchString(cause) }

// loginWords are how providers and their programs say that a login or a key is missing or not good. A status counts where
// it is called one, and not as the number of a line.
var loginWords = regexp.MustCompile(`(?i)authentication_error|permission_error|ProviderAuthError|LoadAPIKeyError` +
	`|(?:invalid|incorrect) (?:x-)?api[ -]?key|api[ _-]key[ _](?:is |was )?(?:not valid|invalid|missing|not found|expired|required)|x-api-key header is required` +
	`|didn't provide an api key|missing environment variable: .?[A-Z0-9_]*(?:KEY|TOKEN)\b|invalid bearer token|no (?:cookie )?auth(?:entication)? credentials` +
	`|please run /login|not logged in|log ?in again|failed to authenticate|\bunauthori[sz]ed\b|\bunauthenticated\b|authentication (?:is )?required|token (?:has )?expired` +
	`|^(?:0 )?40[13]\b|(?:status|code|error|http(?:/[\d.]+)?)\W{1,4}40[13]\b`)

// loginTries is how often in a row a program may tell that its login was refused before its turn has failed. At first it
// may have an old token, for which it gets a new one. Claude Code tries a key that is refused for minutes.
const loginTries = 3

// refusals counts how often in a row a program has told so.
type refusals int

// meets takes a try of a request that the provider has answered with a status, and reports whether that is enough. The
// first try of a request is 1.
func (r *refusals) meets(try, status int) bool {
	switch {
	case !refusedStatus(status):
		*r = 0
	case try <= 1:
		*r = 1
	default:
		*r++
	}
	return *r >= loginTries
}

// refusedStatus reports whether a provider's status is about a login.
func refusedStatus(status int) bool {
	return status == 401 || status == 403
}

// refusedStill is why a turn has failed whose program goes on trying.
func refusedStill(status int) string {
	return fmt.Sprintf("the model's server refuses the login (status %d), and the program goes on trying", status)
}

// retry is what Claude Code tells when a request to the model has failed and it tries again.
type retry struct {
	Attempt     int `json:"attempt"`
	MaxRetries  int `json:"max_retries"`
	ErrorStatus int `json:"error_status"` // the provider's
}

func (r retry) words() string {
	return fmt.Sprintf("no answer from the model's server: try %d of %d", r.Attempt, r.MaxRetries)
}

// earlyWords are how programs say, in a line of its own, that they have no login, before they can be talked to. That line
// is about the program itself. What it passes on of tool servers is not: their logins are others.
var earlyWords = regexp.MustCompile(`(?i)^(?:error: )?(?:(?:you are )?not logged in\b|failed to authenticate with (?:user|authorization) code\b|authentication (?:is )?required\b|please (?:run /login|log ?in)\b)`)

// maxEarly bounds what is kept of what a program complains of before it can be talked to.
const maxEarly = 4 << 10

// early passes on what a program complains of, and keeps the last of it until the program can be talked to. Until then no
// model is at work; but tool servers may be, whose words it passes on.
type early struct {
	to io.Writer

	mu   sync.Mutex
	over bool
	text []byte
}

func (e *early) Write(p []byte) (int, error) {
	e.mu.Lock()
	if !e.over {
		e.text = append(e.text, p[max(0, len(p)-maxEarly):]...)
		e.text = e.text[max(0, len(e.text)-maxEarly):]
	}
	e.mu.Unlock()
	return e.to.Write(p)
}

// begin forgets what was kept; a program is about to be started.
func (e *early) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over, e.text = false, nil
}

// end says that the program can be talked to.
func (e *early) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over, e.text = true, nil
}

// refusal returns the last line that says that there is no login, if the program could not be talked to yet.
func (e *early) refusal() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := ""
	for line := range bytes.Lines(e.text) {
		if earlyWords.Match(line) {
			last = safetext.Escape(LastRunes(string(bytes.TrimSpace(line)), maxCause))
		}
	}
	return last
}
