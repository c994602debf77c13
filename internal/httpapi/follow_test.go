package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// followed is a client that follows the events.
type followed struct {
	t     *testing.T
	conn  net.Conn
	lines *bufio.Scanner
	close func()
}

// follow follows the events after the one that the client got last.
func (w *wired) follow(t *testing.T, last string) *followed {
	t.Helper()
	conn, resp := w.request(t, "GET /v1/events?follow=true", last) //nolint:bodyclose // the caller closes it
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.StatusCode)
	}
	return &followed{t, conn, bufio.NewScanner(resp.Body), func() { _, _ = conn.Close(), resp.Body.Close() }}
}

// ask sends a request with Last-Event-ID, and returns what it is answered.
func (w *wired) ask(t *testing.T, what, last string) (status int, body io.Reader, closed func()) {
	t.Helper()
	conn, resp := w.request(t, what, last) //nolint:bodyclose // the caller closes it
	return resp.StatusCode, resp.Body, func() { _, _ = conn.Close(), resp.Body.Close() }
}

func (w *wired) request(t *testing.T, what, last string) (net.Conn, *http.Response) {
	t.Helper()
	c, r := w.send(t, fmt.Sprintf("%s HTTP/1.1\r\nLast-Event-ID: %s\r\nX-Rest:", what, last), "")
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, resp
}

// next returns the id of the next event, or "" at the end of the stream.
func (f *followed) next() string {
	for f.lines.Scan() {
		if id, ok := strings.CutPrefix(f.lines.Text(), "id: "); ok {
			return id
		}
	}
	return ""
}

func (f *followed) want(ids ...int) {
	f.t.Helper()
	for _, id := range ids {
		if got := f.next(); got != fmt.Sprint(id) {
			f.t.Fatalf("event %q, want %d", got, id)
		}
	}
}

func (w *wired) add(t *testing.T, n int) {
	t.Helper()
	for range n {
		if _, err := w.Add(t.Context(), work.OperatorActor, api.AddWork{Title: strings.Repeat("x", 150)}, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// A client that follows and does not read holds nobody up, and is disconnected. When it comes back it gets
// what it has not got, once.
func TestFollowerFallsBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, w *wired) {
		w.add(t, 1)
		f := w.follow(t, "")
		f.want(1)
		w.add(t, 600)
		time.Sleep(2 * httpserver.StreamPatience)
		w.add(t, 1)
		got := 1
		for id := f.next(); id != ""; id = f.next() {
			got++
			if id != fmt.Sprint(got) {
				t.Fatalf("event %s after %d", id, got-1)
			}
		}
		if f.close(); got > 100 {
			t.Errorf("%d events were kept for it", got)
		}
		begun := time.Now()
		f = w.follow(t, fmt.Sprint(got))
		defer f.close()
		for n := got + 1; n <= 602; n++ {
			f.want(n)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("it was kept waiting for %v", took)
		}
		w.add(t, 1)
		f.want(603)
	})
}

// What comes at once goes to a follower in one piece; what comes after a while goes at once.
func TestFollowerGathers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *wired) {
		f := w.follow(t, "")
		defer f.close()
		for n := 1; n < 40; n += 10 {
			time.Sleep(time.Hour)
			begun := time.Now()
			w.add(t, 1)
			if f.want(n); time.Since(begun) != 0 {
				t.Errorf("event %d came after %v", n, time.Since(begun))
			}
			synctest.Wait() // it pauses now
			for range 9 {
				w.add(t, 1)
			}
			for i := range 9 {
				if f.want(n + 1 + i); time.Since(begun) != 50*time.Millisecond {
					t.Errorf("event %d came after %v", n+1+i, time.Since(begun))
				}
			}
		}
	})
}

// So many clients follow and no more; one that leaves makes room. Pages are for everybody.
func TestFollowersAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T, w *wired) {
		w.add(t, 1)
		var all []*followed
		for range 128 {
			all = append(all, w.follow(t, ""))
		}
		status, body, closed := w.ask(t, "GET /v1/events?follow=true", "")
		var p api.Problem
		if err := json.NewDecoder(body).Decode(&p); err != nil || status != http.StatusServiceUnavailable || p.Code != api.CodeBusy {
			t.Errorf("%d, %+v, %v", status, p, err)
		}
		closed()
		_, body, closed = w.ask(t, "GET /v1/events", "")
		if data, err := io.ReadAll(body); err != nil || !strings.HasPrefix(string(data), "id: 1\n") {
			t.Errorf("%s, %v", data, err)
		}
		closed()
		all[0].close()
		synctest.Wait()
		all[0] = w.follow(t, "")
		for _, f := range all {
			f.close()
		}
	})
}

// What is no sequence of an event is refused.
func TestBadLastEventID(t *testing.T) {
	inBubble(t, func(t *testing.T, w *wired) {
		w.add(t, 1)
		for _, last := range []string{"2", "-1", "1.5", "one", "99999999999999999999"} {
			status, body, closed := w.ask(t, "GET /v1/events?after=0&follow=true", last)
			var p api.Problem
			if status != http.StatusBadRequest {
				t.Errorf("%s: %d", last, status)
			} else if err := json.NewDecoder(body).Decode(&p); err != nil || p.Code != api.CodeInvalid || !strings.Contains(p.Message, "Last-Event-ID") {
				t.Errorf("%s: %+v, %v", last, p, err)
			}
			closed()
		}
	})
}

// A client that sends something behind a request that waits, and goes, leaves nothing: no claim in line and no
// place of a follower.
func TestGoneBehindARequest(t *testing.T) {
	inBubble(t, func(t *testing.T, w *wired) {
		claim := `{"actor":"ann","wait":true}`
		for _, behind := range []string{"G", "GET /v1/status HTTP/1.1\r\n"} {
			c, _ := w.send(t, fmt.Sprintf("POST /v1/claims HTTP/1.1\r\nContent-Length: %d\r\nX-Rest:", len(claim)), claim)
			f := w.follow(t, "")
			synctest.Wait()
			if n := w.Status().Waiting; n != 1 {
				t.Fatalf("%d claims wait", n)
			}
			for _, conn := range []net.Conn{c, f.conn} {
				_, _ = io.WriteString(conn, behind) // it is closed as soon as it has begun
				_ = conn.Close()
			}
			synctest.Wait()
			if n := w.Status().Waiting; n != 0 {
				t.Errorf("%d claims of clients that have gone wait", n)
			}
		}
		for range 128 {
			defer w.follow(t, "").close()
		}
	})
}

// So many clients read events and do not take them, and no more.
func TestReadersAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T, w *wired) {
		w.add(t, 1)
		var held []net.Conn
		for range 128 {
			c, _ := w.send(t, "GET /v1/events", "")
			held = append(held, c)
		}
		synctest.Wait()
		status, body, closed := w.ask(t, "GET /v1/events", "")
		var p api.Problem
		if err := json.NewDecoder(body).Decode(&p); err != nil || status != http.StatusServiceUnavailable || p.Code != api.CodeBusy {
			t.Errorf("%d, %+v, %v", status, p, err)
		}
		closed()
		w.follow(t, "").close()
		time.Sleep(httpserver.StreamPatience)
		synctest.Wait()
		status, _, closed = w.ask(t, "GET /v1/events", "")
		if closed(); status != http.StatusOK {
			t.Errorf("%d when they have had their time", status)
		}
		for _, c := range held {
			_ = c.Close()
		}
	})
}

// Who has not sent its whole request takes no place from those who follow.
func TestFollowersWithoutBody(t *testing.T) {
	inBubble(t, func(t *testing.T, w *wired) {
		for range 128 {
			c, _ := w.send(t, "GET /v1/events?follow=true HTTP/1.1\r\nContent-Length: 5\r\nX-Rest:", "")
			defer func() { _ = c.Close() }()
		}
		synctest.Wait()
		begun := time.Now()
		if w.follow(t, "").close(); time.Since(begun) > 0 {
			t.Errorf("it took %v", time.Since(begun))
		}
	})
}
