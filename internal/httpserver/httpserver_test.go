package httpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wires is a listener whose connections are pipes: what is not read blocks its writer at once, and time
// is the test's.
type wires struct {
	next   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newWires() *wires { return &wires{next: make(chan net.Conn), closed: make(chan struct{})} }

func (w *wires) Accept() (net.Conn, error) {
	select {
	case c := <-w.next:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wires) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func (w *wires) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects; it waits until the connection is taken.
func (w *wires) dial() net.Conn {
	client, server := net.Pipe()
	w.next <- server
	return client
}

// serving runs a server on wires, with so many strangers and so many known connections, in a bubble.
func serving(t *testing.T, strangers, known int, h http.HandlerFunc, f func(*wires, *limited)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		l := limit(w, strangers, known)
		s := New(h, slog.New(slog.DiscardHandler))
		ended := make(chan error)
		go func() { ended <- s.Server.Serve(l) }()
		f(w, l)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// counts returns how many strangers and known connections there are, when nothing moves any more.
func (l *limited) counts() (strangers, known int) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.strangers.Len(), l.known
}

// say sends the beginning of a request, and returns the status line of the answer; "" if the
// connection is closed without one.
func say(c net.Conn, request string) string {
	if _, err := io.WriteString(c, request); err != nil {
		return ""
	}
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line)
}

// gone waits until a connection is closed by the other side, and returns how long that took.
func gone(c net.Conn) time.Duration {
	begun := time.Now()
	_, _ = io.Copy(io.Discard, c)
	return time.Since(begun)
}

// token answers requests that have one, and reads them.
func token(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") == "" {
		Refuse(w)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	admit := Admit
	if r.Header.Get("Needed") != "" {
		admit = AdmitNeeded
	}
	if err := admit(w, r); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if _, err := io.ReadAll(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintln(w, "ok")
}

const (
	known    = "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: y\r\n\r\n"
	stranger = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
	unsent   = "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: y\r\nContent-Length: 1000\r\n\r\n"
)

// A connection without an admitted request ends soon, whatever its client holds back.
func TestStranger(t *testing.T) {
	serving(t, 10, 10, token, func(w *wires, l *limited) {
		for _, c := range []struct {
			name, says, answer string
			within             time.Duration
		}{
			{"says nothing", "", "", HeaderPatience},
			{"half a head", "GET / HT", "", HeaderPatience},
			{"a body that never comes", stranger, "HTTP/1.1 401 Unauthorized", strangersBody},
			{"nothing but a question", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 401 Unauthorized", 0},
		} {
			conn := w.dial()
			begun := time.Now()
			if got := say(conn, c.says); c.answer != "" && got != c.answer {
				t.Errorf("%s: %q", c.name, got)
			}
			gone(conn)
			if took := time.Since(begun); took > c.within {
				t.Errorf("%s: it took %v", c.name, took)
			}
		}
		if strangers, known := l.counts(); strangers != 0 || known != 0 {
			t.Errorf("%d strangers, %d known are left", strangers, known)
		}
	})
}

// Whoever is admitted stays, and is refused when it says something else.
func TestKnown(t *testing.T) {
	serving(t, 10, 10, token, func(w *wires, l *limited) {
		c := w.dial()
		defer func() { _ = c.Close() }()
		for range 3 {
			if got := say(c, known); got != "HTTP/1.1 200 OK" {
				t.Fatal(got)
			}
			time.Sleep(idlePatience / 2)
		}
		if strangers, known := l.counts(); strangers != 0 || known != 1 {
			t.Errorf("%d strangers, %d known", strangers, known)
		}
		if got := say(c, stranger); got != "HTTP/1.1 401 Unauthorized" {
			t.Error(got)
		}
		if took := gone(c); took > strangersBody {
			t.Errorf("it stays for %v", took)
		}
	})
}

// A body that never comes is waited for as long as it may take, also of one who may ask.
func TestBody(t *testing.T) {
	serving(t, 10, 10, token, func(w *wires, l *limited) {
		first, later := w.dial(), w.dial()
		if got := say(later, known); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
		for _, c := range []net.Conn{first, later} {
			begun := time.Now()
			if got := say(c, unsent); got != "HTTP/1.1 400 Bad Request" {
				t.Error(got)
			}
			gone(c)
			if took := time.Since(begun); took > BodyPatience+strangersBody {
				t.Errorf("it took %v", took)
			}
		}
	})
}

// A request that was read may wait for longer than its body may take, and is answered.
func TestLongWait(t *testing.T) {
	const wait = 10 * (BodyPatience + AnswerPatience)
	long := func(w http.ResponseWriter, r *http.Request) {
		if err := Admit(w, r); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			t.Error("it was given up")
		}
		Answering(w)
		fmt.Fprintln(w, "ok")
	}
	serving(t, 10, 10, long, func(w *wires, l *limited) {
		for _, request := range []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", known} {
			c := w.dial()
			if got := say(c, request); got != "HTTP/1.1 200 OK" {
				t.Error(got)
			}
			_ = c.Close()
		}
	})
}

// An answer that is not taken is given up.
func TestUnreadAnswer(t *testing.T) {
	var wrote chan error
	serving(t, 10, 10, func(w http.ResponseWriter, r *http.Request) {
		if err := Admit(w, r); err != nil {
			t.Error(err)
		}
		Answering(w)
		_, err := w.Write(make([]byte, 1<<20))
		wrote <- err
	}, func(w *wires, l *limited) {
		wrote = make(chan error, 1) // of this bubble
		c := w.dial()
		begun := time.Now()
		if _, err := io.WriteString(c, known); err != nil {
			t.Fatal(err)
		}
		if err := <-wrote; err == nil || time.Since(begun) > AnswerPatience {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// Of more strangers than there may be, the one that is there for longest goes; one that may ask gets in
// among any number of them.
func TestTooManyStrangers(t *testing.T) {
	const most = 8
	serving(t, most, 4, token, func(w *wires, l *limited) {
		var held []net.Conn
		for range 10 * most {
			held = append(held, w.dial())
			if strangers, _ := l.counts(); strangers > most {
				t.Fatalf("%d strangers", strangers)
			}
		}
		honest := w.dial()
		if got := say(honest, known); got != "HTTP/1.1 200 OK" {
			t.Errorf("one who may ask is answered %q", got)
		}
		for _, c := range held[:9*most] {
			if took := gone(c); took > 0 {
				t.Errorf("one that was there for longest stays for %v", took)
			}
		}
		_ = honest.Close()
		for _, c := range held {
			_ = c.Close()
		}
		if strangers, known := l.counts(); strangers != 0 || known != 0 {
			t.Errorf("%d strangers, %d known are left", strangers, known)
		}
	})
}

// Strangers that come all at once have a moment for their requests: none that may ask goes.
func TestManyAtOnce(t *testing.T) {
	const most, all = 4, 64
	serving(t, most, all, token, func(w *wires, l *limited) {
		var asked sync.WaitGroup
		for range all {
			asked.Go(func() {
				c := w.dial()
				time.Sleep(strangersTime / 2) // it is a slow machine
				if got := say(c, known); got != "HTTP/1.1 200 OK" {
					t.Errorf("one is answered %q", got)
				}
				defer func() { _ = c.Close() }()
				time.Sleep(time.Minute)
			})
		}
		asked.Wait()
	})
}

// One more who may ask than there may be is told so, and gets in when another has left.
func TestTooManyKnown(t *testing.T) {
	serving(t, 4, 2, token, func(w *wires, l *limited) {
		a, b, c := w.dial(), w.dial(), w.dial()
		for _, conn := range []net.Conn{a, b} {
			if got := say(conn, known); got != "HTTP/1.1 200 OK" {
				t.Error(got)
			}
		}
		if got := say(c, known); got != "HTTP/1.1 503 Service Unavailable" {
			t.Error(got)
		}
		gone(c)
		needed := w.dial()
		if got := say(needed, strings.TrimSuffix(known, "\r\n")+"Needed: yes\r\n\r\n"); got != "HTTP/1.1 200 OK" {
			t.Errorf("one that is needed: %s", got)
		}
		_ = errors.Join(needed.Close(), a.Close())
		l.counts()
		d := w.dial()
		if got := say(d, known); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
		_, _ = b.Close(), d.Close()
	})
}

// A server whose strangers came just now can be closed.
func TestCloseWhileFull(t *testing.T) {
	serving(t, 1, 1, token, func(w *wires, l *limited) {
		a, b := w.dial(), w.dial()
		synctest.Wait()
		_, _ = a.Close(), b
	})
}

// A stream goes on for as long as its client takes what is sent, and no longer; and it ends with the
// server's context.
func TestStream(t *testing.T) {
	type end struct {
		err  error
		took time.Duration
	}
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan end, 1)
		ctx, stop := context.WithCancel(t.Context())
		s := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := Admit(w, r); err != nil {
				t.Error(err)
			}
			out, err := NewStream(w, r)
			if err != nil {
				ended <- end{err: err}
				return
			}
			defer out.End()
			for err == nil {
				time.Sleep(time.Second)
				begun := time.Now()
				err = out.Send(func(w io.Writer) error {
					_, err := fmt.Fprintln(w, "more")
					return err
				})
				if err != nil {
					ended <- end{err, time.Since(begun)}
				}
			}
		}), slog.New(slog.DiscardHandler))
		s.BaseContext = func(net.Listener) context.Context { return ctx }
		w := newWires()
		served := make(chan error)
		go func() { served <- s.Server.Serve(limit(w, 4, 4)) }()

		reading := w.dial()
		if got := say(reading, known); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
		lines := bufio.NewReader(reading)
		for range 1000 {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatalf("one that reads is disconnected: %v", err)
			}
		}
		if e := <-ended; e.took != StreamPatience { // from now on it does not read
			t.Errorf("one that does not read: %v after %v", e.err, e.took)
		}
		if e := func() end { say(w.dial(), unsent); return <-ended }(); e.err == nil || e.took > 0 {
			t.Error("a request that does not come to an end has a stream")
		}
		talking := w.dial()
		if got := say(talking, known); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
		if err := talking.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(talking, "G") // the server may close it meanwhile
		if took := gone(talking); took > time.Second {
			t.Errorf("one that says something stays for %v", took)
		}
		<-ended
		stuck := w.dial()
		if _, err := io.WriteString(stuck, known); err != nil {
			t.Fatal(err)
		}
		time.Sleep(StreamPatience / 2)
		stop()
		if e := <-ended; e.took >= StreamPatience {
			t.Errorf("the server's end took %v", e.took)
		}
		if err := errors.Join(s.Close()); err != nil {
			t.Error(err)
		}
		<-served
		_, _ = reading.Close(), stuck.Close()
	})
}

// A server has no more strangers than descriptors allow.
func TestServeIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := New(http.HandlerFunc(token), slog.New(slog.DiscardHandler)), newWires()
		served := make(chan error)
		go func() { served <- s.Serve(w) }()
		var held []net.Conn
		for range mostStrangers + 1 {
			held = append(held, w.dial())
		}
		if took := gone(held[0]); took >= HeaderPatience/2 {
			t.Errorf("one that is there for longest stays for %v", took)
		}
		begun := time.Now()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took >= HeaderPatience/2 {
			t.Errorf("strangers hold up a stop for %v", took)
		}
		<-served
		for _, c := range held {
			_ = c.Close()
		}
	})
}

// A client that has gone is noticed while its request waits, whatever it sent behind it.
func TestGoneWhileWaiting(t *testing.T) {
	const long = time.Hour
	var ended chan error // why a wait ended
	var go1 chan struct{}
	serving(t, 4, 4, func(w http.ResponseWriter, r *http.Request) {
		if err := Admit(w, r); err != nil {
			t.Error(err)
		}
		if r.Header.Get("Later") != "" {
			<-go1
		}
		if err := Waits(r); err != nil {
			ended <- err
			return
		}
		select {
		case <-time.After(long):
			ended <- nil
		case <-r.Context().Done():
			ended <- r.Context().Err()
		}
	}, func(w *wires, l *limited) {
		ended, go1 = make(chan error, 4), make(chan struct{})
		for _, c := range []struct {
			name, first, behind string
			want                error
		}{
			{"nothing", known, "", context.Canceled},
			{"a byte", known, "G", context.Canceled},
			{"a request", known, known, context.Canceled},
			{"a request at once", known + known, "", context.Canceled},
			{"a byte before it waits", later, "G", ErrAhead},
		} {
			conn := w.dial()
			if _, err := io.WriteString(conn, c.first); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if c.behind != "" { // a pipe would hand on that nothing was written
				_, _ = io.WriteString(conn, c.behind) // the server may close it meanwhile
			}
			synctest.Wait()
			if c.first == later {
				go1 <- struct{}{}
				synctest.Wait()
			}
			_ = conn.Close()
			if got := <-ended; !errors.Is(got, c.want) {
				t.Errorf("%s: %v", c.name, got)
			}
			if strangers, known := l.counts(); strangers != 0 || known != 0 {
				t.Errorf("%s: %d strangers, %d known are left", c.name, strangers, known)
			}
		}
	})
}

const (
	later = "GET / HTTP/1.1\r\nHost: x\r\nLater: yes\r\n\r\n"
	quick = "GET / HTTP/1.1\r\nHost: x\r\nQuick: yes\r\n\r\n"
)

// What is sent behind a request that does not wait is answered in its turn, also if that one waits.
func TestBehind(t *testing.T) {
	serving(t, 4, 4, func(w http.ResponseWriter, r *http.Request) {
		if err := Admit(w, r); err != nil {
			t.Error(err)
		}
		if r.Header.Get("Quick") == "" {
			if err := Waits(r); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second)
		fmt.Fprintln(w, "ok")
	}, func(w *wires, l *limited) {
		conn := w.dial()
		defer func() { _ = conn.Close() }()
		answers := bufio.NewReader(conn)
		for range 3 {
			for _, s := range []string{quick, known} { // the second comes while the first is carried out
				if _, err := io.WriteString(conn, s[:1]); err != nil {
					t.Fatal(err)
				}
				go func() { _, _ = io.WriteString(conn, s[1:]) }()
				synctest.Wait()
			}
			for range 2 {
				resp, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("%d, %v", resp.StatusCode, err)
				}
				_ = resp.Body.Close()
			}
		}
	})
}
