package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
)

// patience is for how long something is waited for that comes soon.
const patience = 60 * time.Second

// told is a message of the stream.
type told struct{ id, event, data string }

// follow opens the stream.
func (b *browser) follow(path string, headers ...string) (next func() told, status int) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	b.t.Cleanup(cancel)
	r := b.request("GET", path, nil).WithContext(ctx)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() (m told) {
		b.t.Helper()
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				m.id = value
			case "event":
				m.event = value
			case "data":
				m.data = value
			case "":
				if m.event != "" {
					return m
				}
			}
		}
		return told{event: fmt.Sprintf("the end: %v", lines.Err())}
	}, resp.StatusCode
}

// The stream says which topics have changed, and nothing of what. Who comes back with what it was told last is told at once if
// there was something since.
func TestStream(t *testing.T) {
	w := newWorld(t)
	b := w.in(access.Read)
	now := func() string { return fmt.Sprint(w.service.Box.UpTo()) }
	next, status := b.follow("stream?on=inbox&since=" + now())
	if status != http.StatusOK {
		t.Fatal(status)
	}
	w.asks("<b>Which door?</b>")
	got := next()
	if got.event != "changed" || got.data != `["inbox"]` || got.id == "" {
		t.Fatalf("%+v", got)
	}
	again, _ := b.follow("stream?on=inbox&on=R1&since="+now(), "Last-Event-ID", "1")
	if got := again(); got.event != "changed" || got.data != `["R1","inbox"]` || got.id != now() {
		t.Errorf("who has missed something is told %+v", got)
	}
	tokens, err := w.owner.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.owner.RevokeToken(t.Context(), tokens[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := again(); got.event != "over" {
		t.Errorf("whose session has ended is told %+v", got)
	}
}

func TestStreamRefused(t *testing.T) {
	w := newWorld(t)
	b := w.in(access.Read)
	for _, path := range []string{"stream", "stream?on=inbox", "stream?on=inbox&since=x", "stream?since=0", "stream?since=0&on=a&on=b&on=c&on=d&on=e&on=f&on=g&on=h&on=i"} {
		if _, status := b.follow(path); status != http.StatusBadRequest {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// What agents print is no event, and is told too.
func TestStreamLooks(t *testing.T) {
	p, page := play("words", textDiff)
	p.looks = make(chan struct{}, 1)
	server := httptest.NewServer(page)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/stream?on=R1&since=7", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: "signalbox", Value: "read"})
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	told := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if lines.Text() != `data: ["R1"]` {
			continue
		}
		if told++; told == 2 {
			return
		}
		p.looks <- struct{}{} // the first time it is told what may have been missed
	}
	t.Errorf("it is told %d times", told)
}
