package box

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
)

// fetch asks a box for a path.
func fetch(t *testing.T, address, path, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// A box whose disk fails says so, to whoever asks on a new connection, before it stops.
func TestCannotWrite(t *testing.T) {
	dir := Dir(t.TempDir())
	disk := &noSync{FS: archive.Dir(dir.Archive(""))}
	b, _, err := Open(t.Context(), Options{Dir: dir, Files: disk})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- b.Serve(ctx, listener) }()
	address := listener.Addr().String()
	if code, body := fetch(t, address, "/readyz", ""); code != http.StatusOK || body != "ok\n" {
		t.Fatalf("%d %s", code, body)
	}
	if s := b.Status(); !s.Box.Writable || s.Box.Reason != "" {
		t.Errorf("%+v", s.Box)
	}
	disk.broken.Store(true)
	if _, err := b.Add(t.Context(), api.AddWork{Title: "a title"}, ""); err == nil {
		t.Fatal("acknowledged")
	}
	<-b.Done()
	code, body := fetch(t, address, "/readyz", "")
	var p api.ProblemDetails
	if err := json.Unmarshal([]byte(body), &p); err != nil || code != http.StatusServiceUnavailable || p.Status != code ||
		p.Type != "urn:signalbox:problem:cannot-write" || p.Code != api.CodeCannotWrite || !strings.Contains(p.Detail, errDisk.Error()) {
		t.Errorf("%d %s, %v", code, body, err)
	}
	code, body = fetch(t, address, "/v1/status", b.apiToken)
	var s api.Status
	if err := json.Unmarshal([]byte(body), &s); err != nil || code != http.StatusOK || s.Box.Writable || !strings.Contains(s.Box.Reason, errDisk.Error()) {
		t.Errorf("%d %s, %v", code, body, err)
	}
	cancel() // the operator does not want to wait
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := b.Close(); !errors.Is(err, errDisk) {
		t.Error(err)
	}
}

// A box that failed stops by itself, soon; one that was told to stop does so at once.
func TestTellFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, end := context.WithCancel(t.Context())
		end()
		for _, s := range []struct {
			failed error
			ctx    context.Context
			want   time.Duration
		}{{errDisk, t.Context(), failedListen}, {errDisk, ended, 0}, {nil, t.Context(), 0}} {
			b := &Box{ctx: ended}
			b.failure.err = s.failed
			begun := time.Now()
			b.tellFailure(s.ctx)
			if took := time.Since(begun); took != s.want {
				t.Errorf("%v: %v, not %v", s.failed, took, s.want)
			}
		}
	})
}

// Status says how much of the ledger was verified: all of it, if the start was told to.
func TestScrubbed(t *testing.T) {
	dir := t.TempDir()
	for events := range 3 {
		b, _, err := Open(t.Context(), Options{Dir: Dir(dir), Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Add(t.Context(), api.AddWork{Title: "a title"}, ""); err != nil {
			t.Error(err)
		}
		if l := b.Status().Ledger; l.Events != uint64(events)+1 || l.Scrubbed != uint64(events) || l.ScrubbedSince.IsZero() {
			t.Errorf("%+v", l)
		}
		closeBox(t, b)
	}
}
