package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remote is an address that speaks MCP over streamable HTTP.
type remote struct {
	url     string
	headers map[string]string
	base    *http.Transport
	life    context.Context // of every request
	end     context.CancelFunc
	last    atomic.Pointer[string] // answer's status and kind
}

func openHTTP(c Server) *remote {
	r := &remote{url: c.URL, headers: c.Headers, base: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// transport does without the stream on which a server talks unasked, and without resuming
// streams that broke: a call that broke is made again by who knows whether it may be.
func (r *remote) transport() mcp.Transport {
	client := &http.Client{Transport: r, CheckRedirect: r.redirect}
	return &mcp.StreamableClientTransport{Endpoint: r.url, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxMessage}
}

// redirect refuses to be led to another place: the headers are for this one.
func (r *remote) redirect(req *http.Request, via []*http.Request) error {
	if first := via[0].URL; req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
		return fmt.Errorf("it leads to another place, %s: give that one in the configuration", quote((&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host}).String()))
	}
	if len(via) > maxRedirects {
		return errors.New("it leads on and on")
	}
	return nil
}

// RoundTrip sends a request with the configuration's headers, for as long as the link
// lives, and bounds the answer.
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(r.life, cancel)
	req = req.Clone(ctx)
	for name, value := range r.headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := r.base.RoundTrip(req)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	last := resp.Status + ", " + cmp.Or(resp.Header.Get("Content-Type"), "of no kind")
	r.last.Store(&last)
	b := &body{ReadCloser: resp.Body, left: maxMessage, end: func() { stop(); cancel() }}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && kind == "text/event-stream" {
		b.left = -1 // its messages are bounded one by one
	}
	resp.Body = b
	return resp, nil
}

func (r *remote) ended(context.Context) string { return "" }

// printed is the status and the kind of the last answer.
func (r *remote) printed() string {
	if last := r.last.Load(); last != nil {
		return *last
	}
	return "none"
}

// close gives the session a moment to take its leave.
func (r *remote) close(session *mcp.ClientSession) {
	if session != nil {
		late := time.AfterFunc(exitTime, r.end)
		_ = session.Close() // the server may be gone
		late.Stop()
	}
	r.end()
	r.base.CloseIdleConnections()
}

// body is an answer of bounded length.
type body struct {
	io.ReadCloser
	left int // bytes; below 0 for no bound
	end  func()
}

func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return b.ReadCloser.Read(p)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if n > b.left {
		b.left = 0
		return 0, fmt.Errorf("the answer has more than %d MiB", maxMessage>>20)
	}
	b.left -= n
	return n, err
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
