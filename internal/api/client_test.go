package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// A request whose answer is lost is sent again, with the same key, also to a box
// that has come back at another address.
func TestLostAnswer(t *testing.T) {
	var keys []string
	answer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get(api.KeyHeader))
		_, _ = w.Write([]byte(`{"id":"T-1"}`))
	}))
	defer answer.Close()
	addresses := []string{"", strings.TrimPrefix(answer.URL, "http://")}
	var broken *httptest.Server
	broken = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get(api.KeyHeader))
		addresses = addresses[1:]
		broken.CloseClientConnections()
	}))
	defer broken.Close()
	addresses[0] = strings.TrimPrefix(broken.URL, "http://")
	c := api.FollowingClient(func() (string, error) { return addresses[0], nil }, "token")
	defer c.Close()
	w, err := c.Add(t.Context(), api.AddWork{Title: "x"})
	if err != nil || w.ID != "T-1" {
		t.Fatalf("%+v, %v", w, err)
	}
	if len(keys) < 2 || keys[0] == "" || len(slices.Compact(keys)) != 1 {
		t.Errorf("keys: %q", keys)
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
