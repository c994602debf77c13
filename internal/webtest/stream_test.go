//go:build unix

package webtest_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// wire is a way to a box that can be cut.
type wire struct {
	to string

	mu   sync.Mutex
	cut  bool
	bad  bool // somebody else answers, and knows of no box
	open map[net.Conn]bool
}

// forward makes a wire to an address, which is there until the test ends, and returns its port.
func forward(t *testing.T, to string) (w *wire, port string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w = &wire{to: to, open: map[net.Conn]bool{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // it is closed
			}
			all.Go(func() { w.carry(context.WithoutCancel(t.Context()), c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		w.set(true)
		all.Wait()
	})
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return w, port
}

// carry carries what is said on a connection, until one of the two ends it or the wire is cut.
func (w *wire) carry(ctx context.Context, c net.Conn) {
	defer func() { _ = c.Close() }()
	w.mu.Lock()
	bad := w.bad
	w.mu.Unlock()
	if bad {
		_, _ = c.Read(make([]byte, 64<<10)) // its beginning is enough
		_, _ = io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return
	}
	box, err := new(net.Dialer).DialContext(ctx, "tcp", w.to)
	if err != nil {
		return
	}
	defer func() { _ = box.Close() }()
	w.mu.Lock()
	if w.cut {
		w.mu.Unlock()
		return
	}
	w.open[c], w.open[box] = true, true
	w.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(c, box) // an end, or a cut
		_ = c.Close()
	})
	_, _ = io.Copy(box, c)
	_ = box.Close()
	back.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, c)
	delete(w.open, box)
}

// set cuts the wire, or mends it.
func (w *wire) set(cut bool) { w.be(cut, false) }

// be cuts the wire, or has somebody else answer, or mends it.
func (w *wire) be(cut, bad bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut, w.bad = cut, bad
	if cut || bad {
		for c := range w.open {
			_ = c.Close()
		}
	}
}

// A stream that breaks, again and again, catches up by itself: what came meanwhile is there, once, in order; and what was typed too.
func TestStreamBreaks(t *testing.T) {
	b := openBrowser(t)
	w := newWorld(t)
	link, err := w.client.Page(t.Context(), api.NewPage{Scope: access.Answer})
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(link.URL)
	if err != nil {
		t.Fatal(err)
	}
	way, port := forward(t, "127.0.0.1:"+at.Port())
	at.Host = at.Hostname() + ":" + port
	w.asks("Number 0?")
	b.visit(at.String())
	b.until("document.activeElement.textContent === 'Open the page'")
	b.press("Enter")
	const live = "document.getElementById('live').textContent === 'Live'"
	b.until(live)
	b.must("document.querySelector('textarea[name=text]').focus()")
	b.typed("My words")
	for i := 1; i < 10; i++ {
		if i%3 == 1 {
			way.set(true)
			b.until("!(" + live + ")")
		}
		w.asks(fmt.Sprintf("Number %d?", i))
		if i%3 == 0 {
			way.set(false)
			b.until(live)
		}
	}
	b.until("document.querySelectorAll('article').length === 10")
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprintf("Number %d?", i))
	}
	if got := b.must("[...document.querySelectorAll('article .text')].map((e) => e.textContent).join()"); got != strings.Join(want, ",") {
		t.Errorf("the page has %v", got)
	}
	if got := b.must("document.activeElement.value"); got != "My words" {
		t.Errorf("what was typed is %v", got)
	}
}

// A box that does not answer is seen: the page says since when, looks it, and sends nothing; what is typed stays. It is as before by
// itself when the box answers, also if somebody else has answered meanwhile.
func TestBoxAway(t *testing.T) {
	b := openBrowser(t)
	w := newWorld(t)
	link, err := w.client.Page(t.Context(), api.NewPage{Scope: access.Answer})
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(link.URL)
	if err != nil {
		t.Fatal(err)
	}
	way, port := forward(t, "127.0.0.1:"+at.Port())
	at.Host = at.Hostname() + ":" + port
	w.asks("Which door?")
	b.visit(at.String())
	b.until("document.activeElement.textContent === 'Open the page'")
	b.press("Enter")
	const live = "document.getElementById('live').textContent === 'Live' && document.getElementById('away').hidden && !document.querySelector('[aria-disabled]') && !document.body.matches('.stale')"
	b.until(live)
	b.must("document.querySelector('textarea[name=text]').focus()")
	b.typed("The left")
	for _, bad := range []bool{false, true} {
		way.be(!bad, bad)
		b.until("/does not answer since .*\\d\\d.*is from then/.test(document.getElementById('away').innerText) && document.body.matches('.stale')")
		b.typed(" one")
		b.must("window.same = true, document.querySelector('textarea').form.requestSubmit()")
		b.until("window.same === true && document.activeElement.id === 'away'")
		b.must("document.querySelector('textarea[name=text]').focus()")
		w.asks("And then?")
		way.be(false, false)
		b.until(live)
	}
	b.until("document.querySelectorAll('article').length === 3 && document.title.startsWith('(3) Inbox')")
	if got := b.must("document.querySelector('textarea[name=text]').value"); got != "The left one one" {
		t.Errorf("what was typed is %v", got)
	}
	b.must("document.querySelector('textarea[name=text]').form.requestSubmit()")
	b.until("location.search.includes('did=answered') && document.querySelectorAll('article').length === 2")
	if _, err := w.client.RevokeToken(t.Context(), w.pages()[0]); err != nil {
		t.Fatal(err)
	}
	w.asks("Still there?")
	b.until("document.getElementById('away').innerText.includes('is logged out') && document.body.matches('.stale')")
}

// pages returns the names of the browsers that are logged in.
func (w *world) pages() (all []string) {
	w.t.Helper()
	tokens, err := w.client.Tokens(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, token := range tokens {
		all = append(all, token.Name)
	}
	return all
}
