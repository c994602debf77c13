// Package fetch gets daily prices from Tiingo, or from what answers like it. Nothing here is
// used unless the user configured an address and a key: the program is offline by itself.
//
// The key goes in a header, to the configured host alone and never in the clear, and is in no
// error, whatever the host answers.
package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/safetext"
)

// A Provider answers for prices over HTTP. Its zero value answers nothing.
type Provider struct {
	URL    string // https://api.tiingo.com
	Key    string
	Client *http.Client // nil is http.DefaultClient; redirects are followed by the rules of this package
}

// String is the provider without its key.
func (p Provider) String() string { return "prices from " + p.host() }

// What callers can tell apart when no prices come.
var (
	ErrNotConfigured = errors.New("no price provider is configured")
	ErrKeyRefused    = errors.New("the price provider refuses the key")
	ErrUnknownSymbol = errors.New("the price provider does not know the symbol")
	ErrUnavailable   = errors.New("the price provider is out of order; try again later")
	ErrAnswer        = errors.New("the price provider answered something else than prices")
)

// A LimitError says that the provider was asked too often.
type LimitError struct {
	Host  string
	Retry time.Duration // how long to wait; 0 if it does not say
}

func (e *LimitError) Error() string {
	wait := "wait an hour or until tomorrow"
	if e.Retry > 0 {
		wait = "wait " + e.Retry.String()
	}
	return fmt.Sprintf("%s was asked more often than the key allows: %s, or ask for fewer symbols", e.Host, wait)
}

// A SkippedError lists the rows of an answer that can't be used. The prices of the other rows
// come with it.
type SkippedError struct {
	Symbol string
	Rows   []price.Skipped // at least one
	More   int             // how many more there are
}

func (e *SkippedError) Error() string {
	return fmt.Sprintf("%s: %d rows of the price provider's answer were left out; the first is line %d: %s",
		e.Symbol, len(e.Rows)+e.More, e.Rows[0].Line, e.Rows[0].Reason)
}

const (
	maxBody  = 32 << 20 // ten times a symbol's whole history
	maxShown = 200      // bytes of an unforeseen answer that are shown
	maxHops  = 5
)

// Fetch gets the prices of a symbol from one day to another, both included. There may be none.
// With a *SkippedError they are all but the rows that it lists; with any other error there are
// none.
func (p Provider) Fetch(ctx context.Context, symbol string, from, to portfolio.Date) ([]price.Quote, error) {
	symbol, err := price.ParseSymbol(symbol)
	if err != nil {
		return nil, err
	}
	if from.IsZero() || to.Before(from) {
		return nil, fmt.Errorf("there are no days from %q to %q", from, to)
	}
	request, err := p.request(ctx, symbol, from, to)
	if err != nil {
		return nil, err
	}
	response, err := p.client().Do(request)
	if err != nil {
		return nil, p.failed(symbol, err)
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, maxBody))
	closed := response.Body.Close()
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, fmt.Errorf("%s: %w: more than %d bytes", symbol, ErrAnswer, maxBody)
	case err != nil:
		return nil, p.failed(symbol, err)
	case closed != nil:
		return nil, p.failed(symbol, closed)
	}
	if err := p.status(response, symbol, body); err != nil {
		return nil, err
	}
	return p.quotes(symbol, body)
}

// request is the question for the prices.
func (p Provider) request(ctx context.Context, symbol string, from, to portfolio.Date) (*http.Request, error) {
	if p.URL == "" || p.Key == "" {
		return nil, fmt.Errorf("%w: it needs an address and a key", ErrNotConfigured)
	}
	base, err := url.Parse(p.URL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" ||
		base.User != nil || base.RawQuery != "" || base.Fragment != "":
		// The address is not shown: the key may have been put into it.
		return nil, fmt.Errorf("%w: its address is like https://api.tiingo.com, with no name, key or question in it", ErrNotConfigured)
	case base.Scheme == "http" && !loopback(base.Hostname()):
		return nil, fmt.Errorf("%w: the key would go to %q in the clear; use https", ErrNotConfigured, base.Host)
	case strings.ContainsFunc(p.Key, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, fmt.Errorf("%w: its key has blanks or characters that are not ASCII", ErrNotConfigured)
	}
	// Share classes are written with a hyphen there: BRK-B.
	ticker := strings.NewReplacer(".", "-", "/", "-").Replace(symbol)
	ask := base.JoinPath("tiingo", "daily", url.PathEscape(ticker), "prices")
	ask.RawQuery = url.Values{
		"startDate": {from.String()},
		"endDate":   {to.String()},
		"format":    {"csv"},
	}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, ask.String(), nil)
	if err != nil {
		return nil, p.failed(symbol, err)
	}
	request.Header.Set("Authorization", "Token "+p.Key)
	request.Header.Set("Accept", "text/csv")
	return request, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// client is the configured client, kept from taking the key elsewhere.
func (p Provider) client() *http.Client {
	client := http.Client{}
	if p.Client != nil {
		client = *p.Client
	}
	client.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		if first := before[0].URL; next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
			return fmt.Errorf("it sends on to %q, where the key must not go", next.URL.Host)
		}
		if len(before) >= maxHops {
			return errors.New("it sends on without end")
		}
		return nil
	}
	return &client
}

// status is the error in an answer's status, if there is one.
func (p Provider) status(response *http.Response, symbol string, body []byte) error {
	switch code := response.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("%s: %w (status %d from %s): check the key and what it may be used for", symbol, ErrKeyRefused, code, p.host())
	case code == http.StatusNotFound:
		return fmt.Errorf("%s: %w (status 404 from %s)", symbol, ErrUnknownSymbol, p.host())
	case code == http.StatusTooManyRequests:
		return &LimitError{Host: p.host(), Retry: retryAfter(response.Header)}
	case code >= 500:
		return fmt.Errorf("%s: %w (status %d from %s)", symbol, ErrUnavailable, code, p.host())
	default:
		return fmt.Errorf("%s: %w (status %d from %s): %s", symbol, ErrAnswer, code, p.host(), p.show(body))
	}
}

// quotes reads the body of a good answer.
func (p Provider) quotes(symbol string, body []byte) ([]price.Quote, error) {
	if text := bytes.TrimSpace(body); len(text) == 0 || string(text) == "[]" {
		return nil, nil
	}
	file, err := price.Read(bytes.NewReader(body), symbol)
	switch {
	case errors.Is(err, price.ErrWebPage):
		return nil, fmt.Errorf("%s: %w: a web page; either %s is not its address, or something on the way asks to log in", symbol, ErrAnswer, p.host())
	case err != nil || file.Format != "yahoo":
		return nil, fmt.Errorf("%s: %w: %s", symbol, ErrAnswer, p.show(body))
	case len(file.Skipped) == 0:
		return file.Quotes, nil
	}
	for i, row := range file.Skipped {
		file.Skipped[i].Text, file.Skipped[i].Reason = p.withoutKey(row.Text), p.withoutKey(row.Reason)
	}
	return file.Quotes, &SkippedError{Symbol: symbol, Rows: file.Skipped, More: file.More}
}

// retryAfter is how long an answer says to wait. A time of day is compared with the answer's
// own, not with the clock here.
func retryAfter(header http.Header) time.Duration {
	after := header.Get("Retry-After")
	if wait, err := time.ParseDuration(after + "s"); err == nil {
		return max(wait, 0)
	}
	until, err := http.ParseTime(after)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0
	}
	return max(until.Sub(now), 0)
}

// failed is the error of a connection. Its text has neither the question, which may be a
// redirect's, nor the key, which a host can put into what it answers.
func (p Provider) failed(symbol string, err error) error {
	var question *url.Error
	if errors.As(err, &question) {
		err = question.Err
	}
	return &connectionError{
		text: fmt.Sprintf("%s: no prices from %s: %s", symbol, p.host(), p.show([]byte(err.Error()))),
		err:  err,
	}
}

type connectionError struct {
	text string
	err  error
}

func (e *connectionError) Error() string { return e.text }
func (e *connectionError) Unwrap() error { return e.err }

// show is the beginning of a text from outside, safe to print and without the key.
func (p Provider) show(text []byte) string {
	s := strings.Join(strings.Fields(p.withoutKey(string(text))), " ")
	return safetext.Escape(s[:min(len(s), maxShown)])
}

func (p Provider) withoutKey(s string) string { return strings.ReplaceAll(s, p.Key, "[key]") }

// host is the provider's host, to show.
func (p Provider) host() string {
	base, err := url.Parse(p.URL)
	if err != nil || base.Host == "" {
		return "nowhere"
	}
	return safetext.Escape(base.Host)
}
