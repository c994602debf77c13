package modeltest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"time"
)

// Script is a parsed script. See the package comment for what it says.
type Script struct {
	name          string
	conversations []*conversation
}

type conversation struct {
	name  string
	turns []*turn
}

// turn is what is asked and what is replied until it is the user's turn again.
type turn struct {
	asked   []*regexp.Regexp
	replies []*reply
}

// reply is one answer of the model. Each attempt but the last ends in trouble.
type reply struct {
	line     int
	results  []*regexp.Regexp // of the calls before it
	until    bool             // those calls are made again until they give these
	attempts []*attempt
}

type attempt struct {
	parts  []part
	usage  usage
	pieces int
	times  int
}

// part is something that a reply does. Its verb says which fields it has.
type part struct {
	verb string
	text string // what is said, run or written
	name string // of a tool, a file or a hold
	args json.RawMessage
	size int
	fail failure
	in   time.Duration
	at   time.Time
}

// failure is an answer by HTTP status. Without a body it has the vendor's.
type failure struct {
	status  int
	message string
	header  http.Header
	body    string
}

// usage counts tokens. Those that came from a cache are part of in.
type usage struct{ in, cached, out int }

func defaultUsage() usage { return usage{in: 100, out: 20} }

const (
	defaultPieces = 24
	floodPieces   = 64 << 10
)

// isText reports whether a verb sends text of its own.
func isText(verb string) bool {
	return verb == "says" || verb == "thinks" || verb == "floods"
}

func isCall(verb string) bool {
	return verb == "runs" || verb == "writes" || verb == "reads" || verb == "calls"
}

// isTrouble reports whether an attempt ends with the verb.
func isTrouble(verb string) bool {
	return verb == "breaks" || verb == "stalls" || verb == "fails" || verb == "limits"
}

func (a *attempt) calls() bool {
	for _, p := range a.parts {
		if isCall(p.verb) {
			return true
		}
	}
	return false
}

func (a *attempt) over() bool {
	return len(a.parts) > 0 && isTrouble(a.parts[len(a.parts)-1].verb)
}

// at is the attempt that is made after so many.
func (r *reply) at(before int) *attempt {
	for _, a := range r.attempts {
		if before < a.times {
			return a
		}
		before -= a.times
	}
	return r.attempts[len(r.attempts)-1]
}
