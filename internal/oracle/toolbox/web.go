package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	nameFetch = "fetch_web"

	fetchTime    = 10 * time.Second
	maxPage      = 1 << 20 // bytes of a page that are read
	maxURL       = 2000    // bytes
	maxRedirects = 5
)

// web gets pages. It asks no proxy: one would look up and reach what this one may not.
type web struct {
	hosts     []string
	patience  time.Duration // for a page
	transport *http.Transport
	client    *http.Client
}

func newWeb(c Web) *web {
	w := &web{hosts: c.Hosts, patience: fetchTime}
	w.transport = &http.Transport{DialContext: w.dial, ForceAttemptHTTP2: true}
	w.client = &http.Client{Transport: w.transport, CheckRedirect: w.redirect}
	return w
}

func (w *web) close() { w.transport.CloseIdleConnections() }

func (w *web) tool() entry {
	return entry{Tool{
		Name:        nameFetch,
		Description: "Get a page from the web by its http or https address, as text.",
		Schema: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string","description":"the page's address"}},` +
			`"required":["url"],"additionalProperties":false}`),
	}, w.fetch}
}

func (w *web) fetch(ctx context.Context, raw json.RawMessage) Result {
	var a struct {
		URL string `json:"url"`
	}
	if wrong := arguments(raw, &a); wrong != "" {
		return failed("%s", wrong)
	}
	u, err := url.Parse(a.URL)
	if err != nil || len(a.URL) > maxURL {
		return failed("%s is not an address", quote(a.URL))
	}
	if err := w.allows(u); err != nil {
		return refused("%s", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience, errTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return failed("%s is not an address", quote(a.URL))
	}
	req.Header.Set("User-Agent", "signalbox")
	req.Header.Set("Accept", "text/html, text/plain, application/json;q=0.9, */*;q=0.1")
	resp, err := w.client.Do(req)
	if err != nil {
		return w.unreached(ctx, u, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	if err != nil {
		return w.unreached(ctx, u, err)
	}
	return pageResult(resp, data)
}

// unreached says why there is no page.
func (w *web) unreached(ctx context.Context, u *url.URL, err error) Result {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTime):
		return failed("%s did not answer within %s", quote(u.Host), w.patience)
	case cause != nil:
		return failed("fetching the page was cancelled: %s", cause)
	}
	return failed("%s can't be fetched: %s", quote(u.Redacted()), err)
}

// pageResult puts a page into words: its status, place and kind, and its text.
func pageResult(resp *http.Response, data []byte) Result {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(data))
	}
	place := resp.Request.URL.Redacted()
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %s\n\n", resp.Status, kind, place)
	cut := len(data) > maxPage
	data = data[:min(len(data), maxPage)]
	switch {
	case kind == "text/html" || kind == "application/xhtml+xml":
		b.WriteString(textOfHTML(string(data)))
	case isText(kind):
		b.Write(data)
	default:
		b.WriteString("[this is not text]")
	}
	if cut {
		fmt.Fprintf(&b, "\n[the page has more than %d bytes: the rest was not read]", maxPage)
	}
	r := Result{Text: b.String(), Failed: resp.StatusCode >= 400}
	if !r.Failed {
		r.Sources = []string{place}
	}
	return r
}

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") ||
		slices.Contains([]string{"application/json", "application/xml", "application/javascript", "application/yaml", "application/toml"}, kind)
}

// allows says why an address may not be asked, if it may not.
func (w *web) allows(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("only http and https addresses can be fetched, not %s", quote(u.Redacted()))
	case u.Hostname() == "":
		return fmt.Errorf("%s has no host", quote(u.Redacted()))
	case u.User != nil:
		return fmt.Errorf("%s has a user in it, which is not sent", quote(u.Redacted()))
	case len(w.hosts) > 0 && !w.named(u.Hostname(), portOf(u)):
		return fmt.Errorf("the configuration does not allow the host %s, only %s", quote(u.Host), cutRunes(strings.Join(w.hosts, ", "), 300))
	}
	return nil
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// named reports whether the configuration names a host, with this port or without any.
func (w *web) named(host, port string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.Contains(w.hosts, host) || slices.Contains(w.hosts, net.JoinHostPort(host, port))
}

func (w *web) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("it leads on more than %d times", maxRedirects)
	}
	return w.allows(req.URL)
}

// dial connects to a host if the address that its name stands for may be reached. The
// check is on the address that is dialled, so that a name can't change in between.
func (w *web) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{ControlContext: guard(host, w.named(host, port))}
	return d.DialContext(ctx, network, address)
}
