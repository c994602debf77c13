package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// minutes is what is logged, each line with when that was.
type minutes struct {
	began time.Time
	lines []string
}

func (m *minutes) Write(p []byte) (int, error) {
	_, line, _ := bytes.Cut(bytes.TrimSuffix(p, []byte("\n")), []byte("level="))
	m.lines = append(m.lines, fmt.Sprintf("%v %s", time.Since(m.began).Round(time.Second), line))
	return len(p), nil
}

const (
	inContact = `INFO msg="the runner is in contact with its box" box=192.0.2.7:7443`
	outOf     = `WARN msg="the runner is out of contact with its box" box=192.0.2.7:7443 since=`
	backIn    = `INFO msg="the runner is in contact with its box again" box=192.0.2.7:7443 after=`
)

// A runner says that it has no contact at once, and now and then while that lasts; what comes and goes is said now and then too.
func TestContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &minutes{began: time.Now()}
		c := newContact(Options{Box: "192.0.2.7:7443", Now: time.Now, Logger: slog.New(slog.NewTextHandler(m, nil))})
		refused := &url.Error{Op: "Get", URL: "http://box/v1/runner/orders", Err: errors.New("connection refused")}
		for range 24 { // two minutes without a box
			c.missed(refused)
			time.Sleep(order.Heartbeat)
		}
		c.answered() // which is not enough
		time.Sleep(order.Heartbeat)
		c.followed()
		c.answered()
		time.Sleep(3 * time.Minute)
		c.answered()
		for range 10 { // it comes and goes
			c.brokeOff(false, refused)
			time.Sleep(time.Second)
			c.followed()
		}
		c.brokeOff(true, refused) // and is followed anew
		c.followed()
		if slices.ContainsFunc(m.lines, func(l string) bool { return strings.Contains(l, "http://") }) {
			t.Errorf("it names what nobody knows: %q", m.lines)
		}
		at := func(d time.Duration) string { return m.began.Add(d).Format("2006-01-02T15:04:05.000Z07:00") }
		want := []string{
			"0s " + outOf + at(0) + ` error="connection refused"`, "1m0s " + outOf + at(0) + ` error="connection refused"`, "2m5s " + inContact,
			"5m5s " + outOf + at(5*time.Minute+order.Heartbeat) + ` error="connection refused"`, "5m6s " + backIn + "1s",
		}
		if !slices.Equal(m.lines, want) {
			t.Errorf("it says\n%s\nwant\n%s", strings.Join(m.lines, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A cable that is out is noticed by the next heartbeat, long before the connection for orders is given up.
func TestCableOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &minutes{began: time.Now()}
		var out atomic.Bool
		b := &timed{answer: func(_ int, r *http.Request) (*http.Response, error) {
			if out.Load() {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			if r.URL.Path == "/v1/runner/here" {
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"protocol":1,"runs":[]}`))}, nil
			}
			in, end := io.Pipe()
			go func() {
				<-r.Context().Done()
				_ = end.CloseWithError(r.Context().Err())
			}()
			return &http.Response{StatusCode: http.StatusOK, Body: in}, nil
		}}
		r := bare(b)
		r.o.Box, r.o.Logger = "192.0.2.7:7443", slog.New(slog.NewTextHandler(m, nil))
		r.contact = newContact(r.o)
		g := background.New(t.Context())
		g.Go(func(ctx context.Context) { _ = r.beat(ctx) })
		g.Go(func(ctx context.Context) { _ = r.follow(ctx) })
		time.Sleep(order.Heartbeat + time.Second) // it was heard of a second ago
		out.Store(true)
		time.Sleep(30 * time.Second)
		out.Store(false)
		time.Sleep(time.Minute)
		g.Stop()
		if len(m.lines) != 3 || m.lines[0] != "0s "+inContact || !strings.HasPrefix(m.lines[1], "15s "+outOf) || !strings.HasSuffix(m.lines[1], `error="nothing is heard of it"`) || !strings.Contains(m.lines[2], backIn) {
			t.Errorf("it says\n%s", strings.Join(m.lines, "\n"))
		}
	})
}
