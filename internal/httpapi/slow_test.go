package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// wired is a box whose connections are pipes, in a bubble: a client that does not read stops the box's
// writes at once, and time passes when nothing else happens.
type wired struct {
	*box.Box
	token string
	next  chan net.Conn
	end   chan struct{}
	once  sync.Once
}

// inBubble runs f with a box that serves.
func inBubble(t *testing.T, f func(t *testing.T, w *wired)) {
	dir := box.Dir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		b, _, err := box.Open(t.Context(), box.Options{Dir: dir, ExitEnabled: true})
		if err != nil {
			t.Fatal(err)
		}
		w := &wired{Box: b, next: make(chan net.Conn), end: make(chan struct{})}
		if w.token, err = dir.APIToken(); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Serve(ctx, w) }()
		defer func() { // also if f gives up: a bubble waits for all that runs in it
			stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(t, w)
	})
}

func (w *wired) Accept() (net.Conn, error) {
	select {
	case c := <-w.next:
		return c, nil
	case <-w.end:
		return nil, net.ErrClosed
	}
}

// Close ends the listener; the box is closed by whoever opened it.
func (w *wired) Close() error {
	w.once.Do(func() { close(w.end) })
	return nil
}

func (w *wired) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (w *wired) dial() net.Conn {
	client, server := net.Pipe()
	w.next <- server
	return client
}

// send sends a request with the token.
func (w *wired) send(t *testing.T, head, body string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c := w.dial()
	if _, err := fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n%s", head, w.token, body); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// A request that does not come to its end is answered with what to do, and not as one that is wrong: a
// session that was stopped meanwhile must not take its report for refused.
func TestSlowRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, w *wired) {
		emit := "POST /v1/sessions/" + w.session(t) + "/emit"
		for _, path := range []string{"POST /v1/work", "POST /v1/runs", "POST /v1/sessions/x/report", emit, "GET /v1/events"} {
			begun := time.Now()
			c, r := w.send(t, path+" HTTP/1.1\r\nContent-Length: 100\r\nX-Rest:", `{"title":`)
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(path, err)
			}
			var p api.Problem
			if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != http.StatusServiceUnavailable || p.Code != api.CodeBusy {
				t.Errorf("%s: %d, %+v, %v", path, resp.StatusCode, p, err)
			}
			if took := time.Since(begun); took > httpserver.BodyPatience {
				t.Errorf("%s: it took %v", path, took)
			}
			_, _ = resp.Body.Close(), c.Close()
		}
	})
}

// session returns the name of a session that holds an item.
func (w *wired) session(t *testing.T) string {
	t.Helper()
	w.add(t, 1)
	g, err := w.Claim(t.Context(), api.Claim{Actor: "ann"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return g.Session
}

// Outputs that are announced and not sent take nobody's turn, and one of a session that is not there is
// refused before it is sent.
func TestUnsentOutputs(t *testing.T) {
	inBubble(t, func(t *testing.T, w *wired) {
		emit := func(session string, length, sent int) (net.Conn, *bufio.Reader) {
			return w.send(t, fmt.Sprintf("POST /v1/sessions/%s/emit HTTP/1.1\r\nContent-Length: %d\r\nX-Rest:", session, length), strings.Repeat("x", sent))
		}
		session := w.session(t)
		for range 8 {
			c, _ := emit(session, 100_000, 1000)
			defer func() { _ = c.Close() }()
		}
		synctest.Wait()
		begun := time.Now()
		for _, x := range []struct {
			session              string
			length, sent, status int
		}{{session, 100_000, 100_000, http.StatusOK}, {"nobody", 1_000_000, 0, http.StatusNotFound}} {
			c, r := emit(x.session, x.length, x.sent)
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); resp.StatusCode != x.status || took > 0 {
				t.Errorf("%s is answered %d after %v", x.session, resp.StatusCode, took)
			}
			_, _ = resp.Body.Close(), c.Close()
		}
	})
}

// Of large requests only so much is in memory at once, whatever they ask for; small ones do not wait for
// them, and those that have ended make room.
func TestLargeRequests(t *testing.T) {
	inBubble(t, func(t *testing.T, w *wired) {
		const sent, room = 900_000, largeRoom / api.MaxConversation
		var taken atomic.Int64
		for range room + 5 {
			c, r := w.send(t, fmt.Sprintf("POST /v1/conversations HTTP/1.1\r\nContent-Length: %d\r\nX-Rest:", sent+1), "")
			defer func() { _ = c.Close() }()
			go func() {
				if _, err := io.Copy(c, strings.NewReader(strings.Repeat(" ", sent))); err == nil {
					taken.Add(1)
				}
				if resp, err := http.ReadResponse(r, nil); err == nil {
					_ = resp.Body.Close()
				}
			}()
		}
		synctest.Wait()
		if n := taken.Load(); n != room {
			t.Errorf("%d requests are in memory, want %d", n, room)
		}
		w.add(t, 1)
		begun := time.Now()
		c, r := w.send(t, fmt.Sprintf("POST /v1/conversations HTTP/1.1\r\nContent-Length: %d\r\nX-Rest:", sent), "")
		go func() { _, _ = io.Copy(c, strings.NewReader(strings.Repeat(" ", sent))) }()
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); resp.StatusCode != http.StatusBadRequest || took != httpserver.BodyPatience {
			t.Errorf("the last is answered %d after %v", resp.StatusCode, took)
		}
		_, _ = resp.Body.Close(), c.Close()
	})
}

// A claim that waits for hours is answered.
func TestLongClaim(t *testing.T) {
	inBubble(t, func(t *testing.T, w *wired) {
		body := `{"actor":"ann","wait":true}`
		c, r := w.send(t, fmt.Sprintf("POST /v1/claims HTTP/1.1\r\nContent-Length: %d\r\nX-Rest:", len(body)), body)
		defer func() { _ = c.Close() }()
		time.Sleep(5 * time.Hour)
		if _, err := w.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-1", Title: "late"}, ""); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(data), `"T-1"`) {
			t.Errorf("%s, %v", data, err)
		}
		_ = resp.Body.Close()
	})
}
