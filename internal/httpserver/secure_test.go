package httpserver

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}

// By TLS too a client that has gone is noticed while its request waits, an admitted connection is known, and no other protocol is spoken; and
// there is as much room as without.
func TestSecure(t *testing.T) {
	cert := certificate(t)
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		s := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Token") == "" {
				return
			}
			if err := errors.Join(Admit(w, r), Waits(r)); err != nil {
				t.Error(err)
			}
			if c := connectionOf(r); c == nil || !c.known.Load() {
				t.Error("a connection that was admitted is not known")
			}
			select {
			case <-time.After(time.Hour):
				ended <- nil
			case <-r.Context().Done():
				ended <- r.Context().Err()
			}
		}), slog.New(slog.DiscardHandler))
		s.Secure(&tls.Config{Certificates: []tls.Certificate{cert}})
		plain, secure := newWires(), newWires()
		served := make(chan error)
		go func() { served <- s.Serve(plain) }()
		go func() { served <- s.ServeSecure(secure) }()
		dial := func() *tls.Conn {
			conn := tls.Client(secure.dial(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
			if err := conn.HandshakeContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := conn.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
				t.Errorf("%s is spoken", got)
			}
			return conn
		}
		const waiting = "GET / HTTP/1.1\r\nHost: x\r\nToken: yes\r\n\r\n"
		for name, leave := range map[string]func(*tls.Conn){
			"says so":              func(c *tls.Conn) { go func() { _ = c.Close() }() },
			"says nothing":         func(c *tls.Conn) { _ = c.NetConn().Close() },
			"sends something more": func(c *tls.Conn) { go func() { _, _ = io.WriteString(c, waiting) }() },
		} {
			conn := dial()
			if _, err := io.WriteString(conn, waiting); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if leave(conn); !errors.Is(<-ended, context.Canceled) {
				t.Errorf("a client that %s goes on to wait", name)
			}
			_ = conn.NetConn().Close()
		}
		stranger := dial()
		_, _ = io.WriteString(stranger, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if answer, err := io.ReadAll(stranger); err != nil || !strings.Contains(string(answer), "Connection: close") {
			t.Errorf("a stranger is told %q, %v", answer, err)
		}
		// Strangers of a network have a quarter of the room, and disconnect none that come without TLS.
		held := []net.Conn{plain.dial()}
		for range mostStrangers + 1 {
			held = append(held, secure.dial())
		}
		synctest.Wait()
		time.Sleep(strangersTime)
		if took := gone(held[1]); took >= HeaderPatience/2 {
			t.Errorf("one that is there for longest stays for %v", took)
		}
		if took := gone(held[0]); took < HeaderPatience/2 {
			t.Errorf("one that came without TLS is disconnected after %v", took)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}
		for _, c := range held {
			_ = c.Close()
		}
	})
	half := New(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	half.Secure(&tls.Config{})
	if plain, secure := half.room(); plain+secure > mostOpen() || secure < plain/4 {
		t.Errorf("there is room for %d without TLS and %d with it, of %d", plain, secure, mostOpen())
	}
}

// What strangers cause is done a few times at once and then now and then, and what was left out is counted.
func TestPace(t *testing.T) {
	p, now := NewPace(3, time.Second), time.Unix(0, 0)
	take := func(want int) {
		t.Helper()
		for n := range want + 5 {
			if _, ok := p.Take(now); ok != (n < want) {
				t.Errorf("time %d at %v: %t", n, now, ok)
			}
		}
	}
	take(3)
	now = now.Add(time.Second - 1)
	take(0)
	now = now.Add(1)
	if missed, ok := p.Take(now); !ok || missed != 10 {
		t.Errorf("after it was left out 10 times: %d, %t", missed, ok)
	}
	now = now.Add(time.Hour)
	take(3)
	now = now.Add(-2 * time.Hour) // a clock that is set back
	take(0)
}

// A log has some of the handshakes that failed, and all else.
func TestHandshakes(t *testing.T) {
	var out bytes.Buffer
	h := handshakes{&out, NewPace(2, time.Hour)}
	for range 5 {
		if n, err := h.Write([]byte("http: TLS handshake error from x: y\n")); n == 0 || err != nil {
			t.Error(n, err)
		}
		_, _ = io.WriteString(h, "http: panic serving x\n")
	}
	if text := out.String(); strings.Count(text, "handshake") != 2 || strings.Count(text, "panic") != 5 {
		t.Errorf("logged: %s", text)
	}
}

// By TLS a stream that its server ends has an end like any other answer.
func TestSecureStreamEnds(t *testing.T) {
	cert := certificate(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			out, err := NewStream(w, r)
			if err != nil {
				t.Error(err)
				return
			}
			defer out.End()
			if err := out.Send(func(w io.Writer) error { _, err := io.WriteString(w, "more"); return err }); err != nil {
				t.Error(err)
			}
			<-r.Context().Done()
		}), slog.New(slog.DiscardHandler))
		s.BaseContext = func(net.Listener) context.Context { return ctx }
		s.Secure(&tls.Config{Certificates: []tls.Certificate{cert}})
		secure := newWires()
		served := make(chan error)
		go func() { served <- s.ServeSecure(secure) }()
		conn := tls.Client(secure.dial(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, stop)
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(answer), "more\r\n0\r\n\r\n") {
			t.Errorf("it ends with %v: %q", err, answer)
		}
		_ = conn.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
}
