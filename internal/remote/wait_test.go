package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// timed is a box that says when it was asked, in a bubble.
type timed struct {
	mu     sync.Mutex
	asked  []time.Duration
	began  time.Time
	answer func(n int, r *http.Request) (*http.Response, error)
}

func (b *timed) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	b.asked = append(b.asked, time.Since(b.began))
	n := len(b.asked)
	b.mu.Unlock()
	return b.answer(n, r)
}

// problem is an answer.
func problem(status int, code string) (*http.Response, error) {
	data, err := json.Marshal((&api.Problem{Code: code, Message: "so"}).Details(status))
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/problem+json"}}, Body: io.NopCloser(strings.NewReader(string(data)))}, err
}

// in a bubble, a runner without a directory.
func bare(b *timed) *Remote {
	b.began = time.Now()
	here, cancel := context.WithCancel(context.Background())
	cancel()
	r := &Remote{o: Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now}, box: api.ClientOver(b, ""), finished: make(chan struct{}), nudge: make(chan struct{}, 1)}
	r.contact = newContact(r.o)
	r.sessions = &gateway{of: r, here: here, lines: map[string]chan struct{}{}}
	return r
}

// What is not answered is said again, after longer and longer pauses that are nobody else's, and until it is, or is refused for good.
func TestInsist(t *testing.T) {
	var pauses [2][]time.Duration
	for i := range pauses {
		synctest.Test(t, func(t *testing.T) {
			b := &timed{answer: func(n int, _ *http.Request) (*http.Response, error) {
				if n == 30 {
					return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
				}
				return nil, errAway
			}}
			if _, err := insist[struct{}](t.Context(), bare(b), "/v1/runner/done", order.Done{}); err != nil || len(b.asked) != 30 {
				t.Fatal(err, len(b.asked))
			}
			pause := minPause
			for n, at := range b.asked[1:] {
				waited := at - b.asked[n]
				pauses[i] = append(pauses[i], waited)
				if waited < pause/2 || waited > pause {
					t.Errorf("attempt %d comes after %v, want %v to %v", n+2, waited, pause/2, pause)
				}
				pause = min(2*pause, maxPause)
			}
		})
	}
	if slices.Equal(pauses[0], pauses[1]) {
		t.Error("two runners wait for the same times")
	}
	for code, status := range map[string]int{api.CodeForbidden: 403, api.CodeUnauthorized: 401, api.CodeInvalid: 400, api.CodeGone: 404} {
		synctest.Test(t, func(t *testing.T) {
			b := &timed{answer: func(int, *http.Request) (*http.Response, error) { return problem(status, code) }}
			if _, err := insist[struct{}](t.Context(), bare(b), "/v1/runner/done", order.Done{}); err == nil || len(b.asked) != 1 {
				t.Errorf("%s is asked %d times: %v", code, len(b.asked), err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b := &timed{answer: func(int, *http.Request) (*http.Response, error) { return problem(503, api.CodeStopping) }}
		if _, err := insist[struct{}](ctx, bare(b), "/v1/runner/done", order.Done{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(b.began) != time.Minute {
			t.Errorf("it ends with %v after %v", err, time.Since(b.began))
		}
	})
}

// A runner says that it is there every few seconds, at once when something has changed, and whatever the box takes to answer.
func TestBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &timed{}
		b.answer = func(n int, r *http.Request) (*http.Response, error) {
			switch n {
			case 2:
				return nil, errAway
			case 3:
				<-r.Context().Done() // which says nothing
				return nil, r.Context().Err()
			case 6:
				return problem(403, api.CodeForbidden)
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"protocol":1,"runs":[]}`))}, nil
		}
		r := bare(b)
		time.AfterFunc(5*order.Heartbeat+time.Second, r.hurry)
		if err := r.beat(t.Context()); !final(err) {
			t.Error(err)
		}
		want := []time.Duration{0, order.Heartbeat, 2 * order.Heartbeat, 5 * order.Heartbeat, 5*order.Heartbeat + time.Second, 6*order.Heartbeat + time.Second}
		if !slices.Equal(b.asked, want) {
			t.Errorf("it says so at %v, want %v", b.asked, want)
		}
	})
}

// A connection that says nothing is given up, and the box looked for again; who is not known any more ends.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &timed{}
		b.answer = func(n int, r *http.Request) (*http.Response, error) {
			if n == 3 {
				return problem(403, api.CodeForbidden)
			}
			in, out := io.Pipe()
			go func() {
				w := bufio.NewWriter(out)
				for range 4 { // for a while it says that it is there
					time.Sleep(order.StillHere)
					if _, err := w.WriteString("data: {}\n\n"); err != nil || w.Flush() != nil {
						return
					}
				}
				<-r.Context().Done()
				_ = out.CloseWithError(r.Context().Err())
			}()
			return &http.Response{StatusCode: http.StatusOK, Body: in}, nil
		}
		r := bare(b)
		if err := r.follow(t.Context()); !final(err) {
			t.Error(err)
		}
		for n := 1; n < 3; n++ {
			if waited := b.asked[n] - b.asked[n-1]; waited < 4*order.StillHere+silence+minPause/2 || waited > 4*order.StillHere+silence+minPause {
				t.Errorf("it follows anew after %v", waited)
			}
		}
	})
}
