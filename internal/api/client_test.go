package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// A request whose answer is lost is sent again, with the same key, also to a box
// that has come back at another address.
func TestLostAnswer(t *testing.T) {
	var mu sync.Mutex // who lost its answer may ask on before the server is done with it
	var keys []string
	answer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, r.Header.Get(api.KeyHeader))
		_, _ = w.Write([]byte(`{"id":"T-1"}`))
	}))
	defer answer.Close()
	addresses := []string{"", strings.TrimPrefix(answer.URL, "http://")}
	var broken *httptest.Server
	broken = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys = append(keys, r.Header.Get(api.KeyHeader))
		addresses = addresses[len(addresses)-1:]
		mu.Unlock()
		broken.CloseClientConnections()
	}))
	defer broken.Close()
	addresses[0] = strings.TrimPrefix(broken.URL, "http://")
	c := api.FollowingClient(func() (string, error) {
		mu.Lock()
		defer mu.Unlock()
		return addresses[0], nil
	}, "token")
	defer c.Close()
	w, err := c.Add(t.Context(), api.AddWork{Title: "x"})
	if err != nil || w.ID != "T-1" {
		t.Fatalf("%+v, %v", w, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(keys) < 2 || keys[0] == "" || len(slices.Compact(keys)) != 1 {
		t.Errorf("keys: %q", keys)
	}
}

// A plan takes no more room in its request than it must, whatever is in it.
func TestPlanIsNotEscapedAsHTML(t *testing.T) {
	var sent int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write([]byte(`{}`))
	}))
	defer s.Close()
	c := api.NewClient(strings.TrimPrefix(s.URL, "http://"), "token")
	defer c.Close()
	if _, err := c.Deliver(t.Context(), api.StartRun{Plan: strings.Repeat("<&>\n", api.MaxPlan/4)}); err != nil || sent > 2*api.MaxPlan {
		t.Errorf("%d bytes, %v", sent, err)
	}
}

// A name is one element of a path, whatever it is: no other route is asked.
func TestNamesInPaths(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.EscapedPath())
		_, _ = w.Write([]byte(`{}`))
	}))
	defer s.Close()
	c := api.NewClient(strings.TrimPrefix(s.URL, "http://"), "token")
	defer c.Close()
	for _, name := range []string{"", ".", "..", "/", "a/b"} {
		_, work := c.Work(t.Context(), name)
		_, run := c.Run(t.Context(), name)
		if work != nil || run != nil {
			t.Error(work, run)
		}
	}
	if got := strings.Join(asked, " "); got != strings.Repeat("/v1/work/- /v1/runs/- ", 4)+"/v1/work/a%2Fb /v1/runs/a%2Fb" {
		t.Error(got)
	}
}

// What was never sent is not tried for long: there is no box.
func TestNoBox(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	address := strings.TrimPrefix(s.URL, "http://")
	s.Close()
	c := api.NewClient(address, "token")
	defer c.Close()
	if _, err := c.Add(t.Context(), api.AddWork{}); !api.Missing(err) {
		t.Errorf("nobody listens: %v", err)
	}
	gone := api.FollowingClient(func() (string, error) { return "", api.ErrNotRunning }, "token")
	if _, err := gone.Status(t.Context()); !api.Missing(err) {
		t.Errorf("none runs: %v", err)
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{http.StatusNotFound, `{"code":"not_found","error":"there is no such work item: T-1"}`, "there is no such work item: T-1"},
		{http.StatusNotFound, "404 page not found", "is not a box"},
		{http.StatusOK, "hello", "can't be read"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		client := api.NewClient(strings.TrimPrefix(s.URL, "http://"), "token")
		if _, err := client.Work(t.Context(), "T-1"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %q: %v, want %q in it", c.status, c.body, err, c.want)
		}
		client.Close()
		s.Close()
	}
}

// A box that goes away and stays away is waited for, but not for ever, and not for
// a caller who has gone.
func TestPatience(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"code":"stopping","error":"the box is stopping"}`))
	}))
	defer s.Close()
	c := api.NewClient(strings.TrimPrefix(s.URL, "http://"), "token").WithPatience(20 * time.Millisecond)
	defer c.Close()
	if _, err := c.Release(t.Context(), "s-1.1"); err == nil || !strings.Contains(err.Error(), "none came back within 20ms") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Release(ctx, "s-1.1"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Whoever follows the events goes on after the last one that it got, when the stream breaks off.
func TestFollowGoesOn(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after := r.URL.Query().Get("after")
		asked = append(asked, after)
		switch len(asked) {
		case 2: // nothing happens
		case 3:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"code":"stopping","error":"the box is stopping"}`))
		default:
			n, _ := strconv.Atoi(after)
			for range 2 {
				n++
				_, _ = fmt.Fprintf(w, "id: %d\ndata: {\"sequence\":%d}\n\n", n, n)
			}
		}
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer s.Close()
	c := api.NewClient(strings.TrimPrefix(s.URL, "http://"), "token")
	defer c.Close()
	enough := errors.New("enough")
	var got []uint64
	err := c.Events(t.Context(), "", 5, true, func(e api.Event) error {
		if got = append(got, e.Sequence); len(got) == 4 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || !slices.Equal(got, []uint64{6, 7, 8, 9}) || !slices.Equal(asked, []string{"5", "7", "7", "7"}) {
		t.Errorf("%v; %d after %q", err, got, asked)
	}
}

// A box that goes away is waited for by whoever follows it, but not for ever; one that was never there is not.
func TestFollowEnds(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer s.Close()
	addresses, asked := []string{strings.TrimPrefix(s.URL, "http://")}, 0
	c := api.FollowingClient(func() (string, error) {
		if asked++; asked > len(addresses) {
			return "", api.ErrNotRunning
		}
		return addresses[asked-1], nil
	}, "token").WithPatience(0)
	defer c.Close()
	none := func(api.Event) error { return nil }
	if err := c.Events(t.Context(), "", 0, true, none); !errors.Is(err, api.ErrNoBox) || !strings.Contains(err.Error(), "none came back") {
		t.Errorf("a box that went away: %v", err)
	}
	c = api.FollowingClient(func() (string, error) { return "", api.ErrNotRunning }, "token").WithPatience(0)
	if err := c.Events(t.Context(), "", 0, true, none); !api.Missing(err) || strings.Contains(err.Error(), "none came back") {
		t.Errorf("no box: %v", err)
	}
}
