package model_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// What a server refuses is told with its words, and whether to try again. It is asked once.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		fails     string
		status    int
		temporary bool
		after     time.Duration
		message   string
	}{
		{"400 no such field", 400, false, 0, " answers 400: no such field"},
		{"401 bad key secret-key-0001", 401, false, 0, " answers 401: bad key [key] (check the key)"},
		{"403 not yours", 403, false, 0, " answers 403: not yours (check what the key may be used for)"},
		{"404 no model m", 404, false, 0, " answers 404: no model m (check the model's name and the base URL, which ends in /v1 for most servers but Anthropic's)"},
		{"408 slow", 408, true, 0, " answers 408: slow (try again later)"},
		{"409 busy", 409, true, 0, " answers 409: busy (try again later)"},
		{"413 long", 413, false, 0, " answers 413: long (the conversation is too long)"},
		{"422 odd", 422, false, 0, " answers 422: odd"},
		{"429 slow down\n  Retry-After: 7", 429, true, 7 * time.Second, " answers 429: slow down (try again in 7s)"},
		{"429 slow down\n  Retry-After: 1\n  Retry-After-Ms: 2500", 429, true, 2500 * time.Millisecond, " answers 429: slow down (try again in 3s)"},
		{"429 slow down\n  Retry-After: 300", 429, true, 5 * time.Minute, " answers 429: slow down (try again in 5m0s)"},
		{"429 slow down\n  Retry-After: 5400", 429, false, 90 * time.Minute, " answers 429: slow down (it wants to be left alone for 1h30m0s, and 5m0s is all that is waited: ask again then)"},
		{"429 slow down\n  Retry-After: NaN", 429, true, 0, " answers 429: slow down (try again later)"},
		{"429 slow down\n  Retry-After: -5", 429, true, 0, " answers 429: slow down (try again later)"},
		{"429 slow down\n  Retry-After: 1e300", 429, false, 365 * 24 * time.Hour, " answers 429: slow down (it wants to be left alone for 8760h0m0s, and 5m0s is all that is waited: ask again then)"},
		{"429\n  a: b\n\n  {\"error\": {\"message\": \"pay first\", \"type\": \"insufficient_quota\"}}", 429, false, 0, " answers 429: pay first (check the plan and its billing)"},
		{"500 oh\x1b[2J", 500, true, 0, ` answers 500: oh\x1b[2J (try again later)`},
		{"502\n  content-type: text/html\n\n  <html>Bad gateway</html>", 502, true, 0, " answers 502: Bad Gateway (try again later)"},
		{"503\n  a: b\n\n  warming up", 503, true, 0, " answers 503: warming up (try again later)"},
		{"529 Overloaded", 529, true, 0, " answers 529: Overloaded (try again later)"},
		{"500 " + strings.Repeat("é", 400), 500, true, 0, " answers 500: " + strings.Repeat("é", 200) + "… (try again later)"},
	} {
		t.Run(c.fails[:3]+" "+fmt.Sprint(c.after), func(t *testing.T) {
			both(t, func(t *testing.T, p model.Provider) {
				s := script(t, "== a\nasked: .\nfails: "+c.fails+"\n")
				e := failed(t, client(t, p, s.URL()), question("go"))
				if e.Provider != p || e.Status != c.status || e.Temporary != c.temporary || e.RetryAfter != c.after {
					t.Errorf("it is %+v", e)
				}
				if e.Error() != string(p)+c.message {
					t.Errorf("it reads\n%q, want\n%q", e.Error(), string(p)+c.message)
				}
				if n := len(s.Requests()); n != 1 {
					t.Errorf("it was asked %d times", n)
				}
			})
		})
	}
}

// The pause that a server asks for can end at a time of day.
func TestPauseUntil(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		s := script(t, "== a\nasked: .\nfails: 429 slow down\n  Retry-After: "+time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)+"\n")
		e := failed(t, client(t, p, s.URL()), question("go"))
		if e.Temporary || e.RetryAfter > time.Hour || e.RetryAfter < time.Minute {
			t.Errorf("it is %+v", e)
		}
	})
}

// A reply that breaks off is an error, whatever came of it.
func TestBreaks(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		s := script(t, "== a\nasked: .\nsays: half of\nbreaks:\nsays: the whole\n")
		c := client(t, p, s.URL())
		var k transcript
		_, err := c.Reply(t.Context(), question("go"), k.sink())
		var e *model.Error
		if !errors.As(err, &e) || !e.Temporary || e.Status != 0 || !strings.Contains(e.Error(), "broke off") {
			t.Errorf("the error is %v", err)
		}
		if k.text.String() != "half of" {
			t.Errorf("the sink got %q", k.text.String())
		}
		if reply, err := c.Reply(t.Context(), question("go"), model.Sink{}); err != nil || reply.Text != "the whole" {
			t.Errorf("then it says %q, %v", reply.Text, err)
		}
	})
}

// A stall ends with the context, at once and with its error.
func TestCancel(t *testing.T) {
	for _, stalls := range []string{"stalls:\n", "says: I\nstalls:\n", "calls: a {}\nstalls:\n"} {
		both(t, func(t *testing.T, p model.Provider) {
			s := script(t, "== a\nasked: .\n"+stalls)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var once sync.Once
			_, err := client(t, p, s.URL()).Reply(ctx, question("go"), model.Sink{Alive: func() {
				once.Do(func() { time.AfterFunc(20*time.Millisecond, cancel) })
			}})
			if !errors.Is(err, context.Canceled) || errors.As(err, new(*model.Error)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		s := script(t, "== a\nasked: .\nstalls:\n")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := client(t, p, s.URL()).Reply(ctx, question("go"), model.Sink{})
		if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*model.Error)) {
			t.Errorf("the error is %v", err)
		}
	})
}

// A flood ends at the limit, and is not asked for again.
func TestFlood(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		s := script(t, "== a\nasked: .\nfloods: 9MiB\n")
		var k transcript
		_, err := client(t, p, s.URL()).Reply(t.Context(), question("go"), k.sink())
		var e *model.Error
		if !errors.As(err, &e) || e.Temporary || !strings.Contains(e.Error(), "larger than 8 MiB") {
			t.Errorf("the error is %v", err)
		}
		if k.text.Len() > 8<<20 {
			t.Errorf("the sink got %d bytes", k.text.Len())
		}
	})
	if testing.Short() {
		t.Skip("what just fits is as long; not with -short")
	}
	both(t, func(t *testing.T, p model.Provider) {
		s := script(t, "== a\nasked: .\nfloods: 8MiB\n")
		if reply, err := client(t, p, s.URL()).Reply(t.Context(), question("go"), model.Sink{}); err != nil || len(reply.Text) != 8<<20 {
			t.Errorf("8 MiB: %d bytes, %v", len(reply.Text), err)
		}
	})
}

func TestManyCalls(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		for _, n := range []int{128, 129} {
			s := script(t, "== a\nasked: .\n"+strings.Repeat("calls: a {}\n", n))
			reply, err := client(t, p, s.URL()).Reply(t.Context(), question("go"), model.Sink{})
			if n == 128 && (err != nil || len(reply.Calls) != n) {
				t.Errorf("%d calls, %v", len(reply.Calls), err)
			}
			if n == 129 && (err == nil || !strings.Contains(err.Error(), "more than 128 calls")) {
				t.Errorf("%d calls: %v", n, err)
			}
		}
	})
}

// A server that is not there may be there later; one that is not what it should be will not.
func TestUnreachable(t *testing.T) {
	plain := raw(t, stream(""))
	for _, c := range []struct {
		name, url string
		dial      error
		temporary bool
		message   string
	}{
		{"refused", "http://127.0.0.1", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, true, "connection refused"},
		{"a name that is not known", "http://a.test", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "a.test", IsNotFound: true}}, false, "no such host"},
		{"a name server that is down", "http://a.test", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "misbehaving", Name: "a.test", IsTemporary: true}}, true, "misbehaving"},
		{"plain HTTP where TLS is wanted", strings.Replace(plain, "http", "https", 1), nil, false, "HTTP response to HTTPS client"},
	} {
		t.Run(c.name, func(t *testing.T) {
			both(t, func(t *testing.T, p model.Provider) {
				transport := &http.Transport{}
				t.Cleanup(transport.CloseIdleConnections)
				if c.dial != nil {
					transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, c.dial }
				}
				asked, err := model.New(model.Settings{Provider: p, BaseURL: c.url, HTTP: &http.Client{Transport: transport}})
				if err != nil {
					t.Fatal(err)
				}
				e := failed(t, asked, question("go"))
				if e.Temporary != c.temporary || e.Status != 0 || !strings.Contains(e.Error(), "can't be reached: ") || !strings.Contains(e.Error(), c.message) {
					t.Errorf("%v, temporary=%v", e, e.Temporary)
				}
				if strings.Contains(e.Error(), "://") {
					t.Errorf("the address is repeated: %v", e)
				}
			})
		})
	}
}

// A server that hangs up without an answer may have one later.
func TestHangsUp(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		url := raw(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		if e := failed(t, client(t, p, url), question("go")); !e.Temporary || e.Status != 0 {
			t.Errorf("the error is %+v", e)
		}
	})
}
