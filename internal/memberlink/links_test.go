package memberlink_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/internal/memberlink"
	"github.com/signalbox-dev/signalbox/internal/pin"
)

// Messages of all sizes come to the other side as they were, in their order, both ways at once.
func TestMessages(t *testing.T) {
	w := newWorld()
	got := map[uint64]chan string{1: make(chan string, 1000), 2: make(chan string, 1000)}
	a := w.box(t, 1, func(b []byte) { got[1] <- string(b) })
	b := w.box(t, 2, func(b []byte) { got[2] <- string(b) })
	var texts []string
	for i := range 300 {
		texts = append(texts, fmt.Sprint(i, strings.Repeat("x", i*i)))
	}
	for _, size := range []int{16<<10 - 20, 16<<10 - 14, 16<<10 - 13, 16 << 10, 64 << 10, 5 << 20} {
		texts = append(texts, strings.Repeat("y", size))
	}
	sent := make(chan error, 2)
	for _, s := range []struct {
		from *box
		to   uint64
	}{{a, 2}, {b, 1}} {
		go func() {
			for _, text := range texts {
				if err := s.from.links.Send(t.Context(), s.to, message(s.from.id, text)); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
	}
	for to, from := range map[uint64]uint64{1: 2, 2: 1} {
		for i, text := range texts {
			if one := next(t, got[to]); one != string(message(from, text)) {
				t.Fatalf("message %d to %d has %d bytes, and not %d", i, to, len(one), len(text))
			}
		}
	}
	for range 2 {
		if err := next(t, sent); err != nil {
			t.Error(err)
		}
	}
	if n := a.opened.Load() + b.opened.Load(); n != 2 {
		t.Errorf("they took %d connections", n)
	}
}

// next returns what comes next, which has to come soon.
func next[T any](t *testing.T, from <-chan T) (one T) {
	t.Helper()
	select {
	case one = <-from:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing has come")
	}
	return one
}

// streamEnds waits until a stream of another one's has ended, as it may.
func (b *box) streamEnds(t *testing.T) {
	t.Helper()
	t.Logf("a stream ends: %v", next(t, b.streams))
}

// nobody takes what is not to come.
func nobody(t *testing.T) func([]byte) {
	return func(b []byte) { t.Errorf("%q has come", b) }
}

// keepSending sends until it works.
func keepSending(t *testing.T, from *box, to uint64) {
	t.Helper()
	begun := time.Now()
	for {
		err := from.links.Send(t.Context(), to, message(from.id, "again"))
		if err == nil {
			return
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
}

// reach sends until something comes, which is returned, and how long that took: what is sent right after a connection broke may be lost.
func reach(t *testing.T, from *box, to uint64, got <-chan []byte) (string, time.Duration) {
	t.Helper()
	begun := time.Now()
	for time.Since(begun) < 20*time.Second {
		_ = from.links.Send(t.Context(), to, message(from.id, "again"))
		select {
		case b := <-got:
			return string(b), time.Since(begun)
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatal("it is not reached")
	return "", 0
}

// A member speaks to none with another key, and none is heard whose key is not known, or who is refused. It is tried again now and then, and that is logged
// even less often.
func TestRefused(t *testing.T) {
	w, theirs := newWorld(), newWorld()
	a := w.box(t, 1, nobody(t))
	for name, c := range map[string]struct {
		prepare func(b *box)
		is      func(error) bool
	}{
		"another key": {func(b *box) {
			theirs.put(a.peer())
			p := b.peer()
			p.Key = newKey(t).Hash()
			w.put(p)
		}, func(err error) bool { return errors.Is(err, pin.ErrOtherBox) }},
		"not known there": {func(b *box) { w.put(b.peer()) }, func(error) bool { return true }},
		"refused": {func(b *box) {
			theirs.put(a.peer())
			b.refuses.Store(true)
			w.put(b.peer())
		}, func(err error) bool { return strings.Contains(err.Error(), "403") }},
	} {
		theirs.remove(1)
		b := theirs.box(t, 2, nobody(t))
		c.prepare(b)
		before := a.logged.with("is not reached")
		begun, told := time.Now(), false
		for time.Since(begun) < 800*time.Millisecond {
			err := a.links.Send(t.Context(), 2, message(1, "x"))
			if err == nil {
				t.Fatalf("%s: a message is sent", name)
			}
			told = told || c.is(err)
			runtime.Gosched()
		}
		if !told {
			t.Errorf("%s: it is not said", name)
		}
		if n := b.opened.Load(); n > 8 {
			t.Errorf("%s: it is tried %d times in %v", name, n, time.Since(begun))
		}
		if n := a.logged.with("is not reached") - before; n == 0 || n > 2 {
			t.Errorf("%s: there are %d lines", name, n)
		}
		carrier, _ := a.links.Carrier(2)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/else", nil)
		if answer, err := carrier.RoundTrip(r); err == nil {
			if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s: a request is answered %s, %v", name, answer.Status, err)
			}
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	}
}

// A member that takes no messages, or does not even answer, holds up who sends to it for a short time, keeps no memory, and holds up no other. So does
// one that has not answered a moment ago not at all.
func TestStalled(t *testing.T) {
	w := newWorld()
	got, release := make(chan []byte, 100), make(chan struct{})
	a := w.box(t, 1, nobody(t))
	w.box(t, 2, func(b []byte) { got <- b })
	c := w.box(t, 3, func([]byte) { <-release })
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	w.put(memberlink.Peer{ID: 4, Name: "silent", Key: newKey(t).Hash(), Addresses: []string{silent.Addr().String()}})
	ended := make(chan struct{}, 2)
	go func() {
		defer func() { ended <- struct{}{} }()
		large, sent := message(1, strings.Repeat("x", 1<<20)), 0
		for begun := time.Now(); ; sent++ {
			if err := a.links.Send(t.Context(), 3, large); err != nil {
				if took := time.Since(begun); took < time.Second || took > 5*time.Second || sent > 64 {
					t.Errorf("after %d MiB, and %v: %v", sent, took, err)
				}
				return
			}
			begun = time.Now()
		}
	}()
	go func() {
		defer func() { ended <- struct{}{} }()
		begun := time.Now()
		if err := a.links.Send(t.Context(), 4, message(1, "x")); err == nil || time.Since(begun) > 3*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		begun = time.Now()
		if err := a.links.Send(t.Context(), 4, message(1, "x")); err == nil || time.Since(begun) > 500*time.Millisecond {
			t.Errorf("the next time, after %v: %v", time.Since(begun), err)
		}
	}()
	for left := 2; left > 0; {
		begun := time.Now()
		if err := a.links.Send(t.Context(), 2, message(1, "x")); err != nil {
			t.Error(err)
		}
		if next(t, got); time.Since(begun) > time.Second {
			t.Errorf("a message to another takes %v", time.Since(begun))
		}
		select {
		case <-ended:
			left--
		case <-time.After(time.Millisecond):
		}
	}
	close(release)
	keepSending(t, a, 3) // it takes messages again
	if c.streamEnds(t); a.logged.with("is not reached") == 0 {
		t.Error("nothing is logged")
	}
}

// A member that is back at its address is reached again soon, and whoever stops waiting goes on at once.
func TestRestart(t *testing.T) {
	w := newWorld()
	got := make(chan []byte, 100)
	a := w.box(t, 1, nobody(t))
	b := w.box(t, 2, func(b []byte) { got <- b })
	keepSending(t, a, 2)
	next(t, got)
	for range 3 {
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.streamEnds(t)
		for begun := time.Now(); time.Since(begun) < 700*time.Millisecond; runtime.Gosched() {
			_ = a.links.Send(t.Context(), 2, message(1, "lost"))
		}
		b.serve(t, b.address)
		if what, took := reach(t, a, 2, got); what != string(message(1, "again")) || took > 2*time.Second {
			t.Errorf("%q comes after %v", what, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.links.Send(ctx, 2, message(1, "x")); err == nil {
		next(t, got) // the system took it at once
	}
}

// A member that is replaced by one with another key is not spoken to any more, and what was under way to it ends; so it is with one that is gone.
func TestReplaced(t *testing.T) {
	w := newWorld()
	got := make(chan string, 100)
	a := w.box(t, 1, nobody(t))
	old := w.box(t, 2, func([]byte) { got <- "old" })
	asked := make(chan struct{})
	old.other = func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}
	keepSending(t, a, 2)
	if who := next(t, got); who != "old" {
		t.Error(who)
	}
	carrier, ok := a.links.Carrier(2)
	if !ok {
		t.Fatal("it is not known")
	}
	underWay := make(chan error, 1)
	ask := func() {
		answer, err := carrier.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/else", nil))
		if err == nil {
			err = answer.Body.Close()
		}
		underWay <- err
	}
	go ask()
	next(t, asked)
	renewed := newWorld().box(t, 2, func([]byte) { got <- "new" })
	renewed.other = func(http.ResponseWriter, *http.Request) {}
	renewed.world.put(a.peer())
	w.put(renewed.peer())
	keepSending(t, a, 2)
	if who := next(t, got); who != "new" {
		t.Errorf("the %s one is sent a message", who)
	}
	if old.streamEnds(t); next(t, underWay) == nil {
		t.Error("a request to the old one is answered")
	}
	if ask(); next(t, underWay) != nil {
		t.Error("a request to the new one fails")
	}
	// The same key elsewhere is another connection.
	before := renewed.opened.Load()
	p := renewed.peer()
	p.Addresses = []string{strings.Replace(p.Addresses[0], "127.0.0.1", "localhost", 1)}
	w.put(p)
	keepSending(t, a, 2)
	if next(t, got); renewed.opened.Load() == before {
		t.Error("a member that has moved is spoken to where it was")
	}
	w.remove(2)
	if _, ok := a.links.Carrier(2); ok {
		t.Error("who is gone is known")
	}
	if err := a.links.Send(t.Context(), 2, message(1, "x")); err == nil {
		t.Error("who is gone is sent a message")
	}
	if ask(); next(t, underWay) == nil {
		t.Error("who is gone is asked")
	}
	renewed.streamEnds(t)
	renewed.streamEnds(t)
}

// A request goes to its member whatever host it names, with all that is in it, and the next one goes by the same connection.
func TestCarrier(t *testing.T) {
	w := newWorld()
	a, b := w.box(t, 1, nobody(t)), w.box(t, 2, nobody(t))
	b.other = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", r.Header.Get("Accept-Encoding"))
		_, _ = fmt.Fprintf(w, "%s %s%s ", r.Method, r.Host, r.URL)
		_, _ = io.Copy(w, r.Body)
	}
	carrier, _ := a.links.Carrier(2)
	for _, host := range []string{"http://example.com", "https://10.0.0.1:99"} {
		answer, err := carrier.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodPost, host+"/some/where?x=1", strings.NewReader("what")))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			t.Error(err)
		}
		_, name, _ := strings.Cut(host, "//")
		if want := "POST " + name + "/some/where?x=1 what"; string(body) != want || answer.Header.Get("Content-Encoding") != "" {
			t.Errorf("it is asked %q, not %q, with %v", body, want, answer.Header)
		}
	}
	if n := b.opened.Load(); n != 1 {
		t.Errorf("two requests take %d connections", n)
	}
	if _, ok := a.links.Carrier(9); ok {
		t.Error("somebody is known whom nobody knows")
	}
}

// A member that has several addresses is reached at the one that answers, and there first the next time.
func TestAddresses(t *testing.T) {
	w := newWorld()
	got := make(chan []byte, 100)
	a := w.box(t, 1, nobody(t))
	b := w.box(t, 2, func(b []byte) { got <- b })
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tried atomic.Int32
	over := make(chan struct{})
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				close(over)
				return
			}
			tried.Add(1)
			defer c.Close()
		}
	}()
	p := b.peer()
	p.Addresses = []string{silent.Addr().String(), "127.0.0.1:1", b.address}
	w.put(p)
	reach(t, a, 2, got)
	const rounds = 6
	for range rounds {
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.streamEnds(t)
		b.serve(t, b.address)
		reach(t, a, 2, got)
	}
	if n := tried.Load(); n == 0 || n > 1+rounds/2 { // a machine that is busy takes long for the right one, too
		t.Errorf("the address that does not answer was tried %d times", n)
	}
	if err := silent.Close(); err != nil {
		t.Error(err)
	}
	next(t, over)
	p.Addresses = nil
	w.put(p)
	if err := a.links.Send(t.Context(), 2, message(1, "x")); err == nil {
		t.Error("a member without an address is reached")
	}
}

// A stop ends all that waits, and nothing begins after it.
func TestStop(t *testing.T) {
	w := newWorld()
	a, b := w.box(t, 1, nobody(t)), w.box(t, 2, func([]byte) {})
	asked := make(chan struct{})
	b.other = func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	w.put(memberlink.Peer{ID: 3, Key: b.key.Hash(), Addresses: []string{silent.Addr().String()}})
	keepSending(t, a, 2)
	carrier, _ := a.links.Carrier(2)
	ended := make(chan error, 2)
	ask := func() {
		answer, err := carrier.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if err == nil {
			err = answer.Body.Close()
		}
		ended <- err
	}
	go ask()
	next(t, asked)
	connected := make(chan net.Conn)
	go func() {
		c, err := silent.Accept()
		if err != nil {
			t.Error(err)
		}
		connected <- c
	}()
	go func() { ended <- a.links.Send(t.Context(), 3, message(1, "x")) }()
	c := next(t, connected)
	begun := time.Now()
	a.links.Stop()
	for range 2 {
		if err := next(t, ended); err == nil || time.Since(begun) > 900*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	}
	if b.streamEnds(t); c.Close() != nil {
		t.Error("the test's own connection was closed")
	}
	if _, ok := a.links.Carrier(2); ok {
		t.Error("there are ways after the end")
	}
	if ask(); next(t, ended) == nil || a.links.Send(t.Context(), 2, message(1, "x")) == nil {
		t.Error("something is sent after the end")
	}
	a.links.Stop()
}

// Nothing is sent that is no message, and no messages are no end of a stream.
func TestNoMessage(t *testing.T) {
	w := newWorld()
	got := make(chan []byte, 10)
	a, b := w.box(t, 1, nobody(t)), w.box(t, 2, func(b []byte) { got <- b })
	for _, size := range []int{0, member.MaxMessage + 1} {
		if a.links.Send(t.Context(), 2, make([]byte, size)) == nil {
			t.Errorf("a message of %d bytes is sent", size)
		}
	}
	for range 3 {
		if err := errors.Join(a.links.Send(t.Context(), 2), a.links.Send(t.Context(), 2, message(1, "a"), message(1, "b"))); err != nil {
			t.Error(err)
		}
		if string(next(t, got))+string(next(t, got)) != string(message(1, "a"))+string(message(1, "b")) {
			t.Error("others have come")
		}
	}
	if n := b.opened.Load(); n != 1 {
		t.Errorf("it took %d streams", n)
	}
}

// A member that speaks for another one is cut off, and does not try again at once.
func TestForged(t *testing.T) {
	w := newWorld()
	a, b := w.box(t, 1, nobody(t)), w.box(t, 2, nobody(t))
	for begun := time.Now(); time.Since(begun) < 400*time.Millisecond; runtime.Gosched() {
		_ = a.links.Send(t.Context(), 2, message(2, "x"))
	}
	if err := next(t, b.streams); !errors.Is(err, memberlink.ErrForged) {
		t.Error(err)
	}
	if n := b.opened.Load(); n > 8 {
		t.Errorf("it has tried %d times", n)
	}
}
