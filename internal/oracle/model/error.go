package model

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Error is why there is no reply.
type Error struct {
	Provider Provider
	// Status is that of HTTP, or 0 if there was none or it was not at fault.
	Status int
	// Message says what happened: in the provider's words, if there are any. It can be
	// printed: it is short, escaped, and has no key in it.
	Message string
	// Temporary is set if the same request may succeed soon: the provider is busy or
	// broken, or the connection is. If the provider wants to be left alone for longer than
	// anybody would wait for, it is not.
	Temporary bool
	// RetryAfter is how long the provider wants to be left alone, 0 if it does not say.
	RetryAfter time.Duration
	Err        error // what lies beneath, or nil
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(string(e.Provider))
	} else {
		b.WriteString("model")
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, " answers %d", e.Status)
	}
	b.WriteString(": " + e.Message)
	if advice := e.advice(); advice != "" {
		b.WriteString(" (" + advice + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// advice is what the user can do.
func (e *Error) advice() string {
	switch {
	case e.RetryAfter > patience:
		return fmt.Sprintf("it wants to be left alone for %v, and %v is all that is waited: ask again then", e.RetryAfter.Round(time.Second), patience)
	case e.RetryAfter > 0:
		return "try again in " + e.RetryAfter.Round(time.Second).String()
	case e.Temporary:
		return "try again later"
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return "check the key"
	case http.StatusForbidden:
		return "check what the key may be used for"
	case http.StatusNotFound:
		return "check the model's name and the base URL, which ends in /v1 for most servers but Anthropic's"
	case http.StatusRequestEntityTooLarge:
		return "the conversation is too long"
	case http.StatusTooManyRequests:
		return "check the plan and its billing"
	}
	return ""
}

// isTemporary reports whether a status is one that passes.
func isTemporary(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusConflict ||
		status == http.StatusTooManyRequests || status >= 500
}

// complaint is what a server says is wrong, in the forms that are in use.
type complaint struct {
	message string
	kind    string // words of the vendor's that name the error
	status  int    // where the complaint itself has one
}

// readComplaint reads {"error": {"message", "type", "code"}}, {"error": "…"},
// {"message": "…"} and {"detail": "…"}. What is none of them has no message.
func readComplaint(raw []byte) complaint {
	var body struct {
		Error           json.RawMessage
		Message, Detail any
	}
	_ = json.Unmarshal(raw, &body) // what can't be read stays empty
	var inner struct{ Message, Type, Code any }
	if json.Unmarshal(body.Error, &inner) != nil {
		_ = json.Unmarshal(body.Error, &inner.Message) // a text, or nothing
	}
	c := complaint{kind: strings.ToLower(text(inner.Type) + " " + text(inner.Code))}
	if code, ok := inner.Code.(float64); ok && code >= 400 && code <= 599 {
		c.status = int(code)
	}
	for _, m := range []any{inner.Message, body.Message, body.Detail} {
		if c.message == "" {
			c.message = text(m)
		}
	}
	return c
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// isTemporary is for complaints without a status.
func (c complaint) isTemporary() bool {
	for _, word := range []string{"overload", "rate_limit", "ratelimit", "server_error", "servererror", "api_error", "timeout", "unavailable"} {
		if strings.Contains(c.kind, word) {
			return true
		}
	}
	return false
}

// isSpent reports whether there is nothing left to pay with. It comes as "too many
// requests", but waiting does not help.
func (c complaint) isSpent() bool {
	return strings.Contains(c.kind, "insufficient_quota")
}

// refusal is the error of an answer with a status of 400 and above.
func (x *exchange) refusal(resp *http.Response, body []byte, now time.Time) *Error {
	c := readComplaint(body)
	if c.message == "" && !bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		c.message = string(body)
	}
	if strings.TrimSpace(c.message) == "" {
		c.message = http.StatusText(resp.StatusCode)
	}
	e := &Error{
		Status: resp.StatusCode, Message: x.clean(c.message),
		Temporary: isTemporary(resp.StatusCode) && !c.isSpent(),
	}
	if e.Temporary {
		e.RetryAfter = retryAfter(resp.Header, now)
		e.Temporary = e.RetryAfter <= patience
	}
	return e
}

// event is the error of one that came within a reply.
func (x *exchange) event(raw []byte) *Error {
	c := readComplaint(raw)
	if c.message == "" {
		c.message = string(raw)
	}
	return &Error{
		Status: c.status, Message: x.clean("the reply ends with an error: " + c.message),
		Temporary: (isTemporary(c.status) || c.isTemporary()) && !c.isSpent(),
	}
}

// unreachable is the error of a request that got no answer. The address in the error of
// net/http is left out: it can be long, and is the user's own.
func (x *exchange) unreachable(err error) *Error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &Error{
		Message:   x.clean("can't be reached: " + err.Error() + "; is the base URL right, and its server running?"),
		Temporary: passes(err), Err: err,
	}
}

// passes reports whether a failure to connect may be gone the next time: all but those
// where the address is wrong or the server is not the one that it should be.
func passes(err error) bool {
	var (
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		record      tls.RecordHeaderError
		alert       tls.AlertError
	)
	switch {
	case errors.As(err, &name):
		return !name.IsNotFound
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &record), errors.As(err, &alert),
		errors.Is(err, http.ErrSchemeMismatch):
		return false
	}
	return true
}

// retryAfter reads how long to wait; what is longer than a year is a year.
func retryAfter(h http.Header, now time.Time) time.Duration {
	for _, field := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		value := strings.TrimSpace(h.Get(field.name))
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			at, err := http.ParseTime(value)
			if err != nil {
				continue
			}
			n = float64(at.Sub(now)) / float64(field.unit)
		}
		if math.IsNaN(n) {
			continue
		}
		return time.Duration(min(max(n*float64(field.unit), 0), float64(365*24*time.Hour)))
	}
	return 0
}

// maxMessage bounds a message, in bytes.
const maxMessage = 400

// clean makes a message that can be printed.
func (x *exchange) clean(message string) string {
	return safetext.Escape(bound(strings.TrimSpace(x.hideKey(message)), maxMessage))
}

// hideKey takes the key out of a text, which has to be done before it is cut.
func (x *exchange) hideKey(text string) string {
	if len(x.key) < 8 { // a shorter one is no secret, and may be a word
		return text
	}
	return strings.ReplaceAll(text, x.key, "[key]")
}
