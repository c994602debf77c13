package box

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/filelock"
)

// A box for a single request is found by nobody else: it would be gone before it was asked.
func TestUnlisted(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "box"))
	for _, unlisted := range []bool{true, false} {
		b, _ := run(t, Options{Dir: dir, Unlisted: unlisted})
		l, err := Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- b.Serve(ctx, l) }()
		client := api.NewClient(l.Addr().String(), b.apiToken)
		if _, err := client.Status(t.Context()); err != nil {
			t.Error(err)
		}
		if address, err := dir.Address(); (err == nil) == unlisted || unlisted && !errors.Is(err, api.ErrNotRunning) {
			t.Errorf("unlisted %v: its address is %q, %v", unlisted, address, err)
		}
		client.Close()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if address, err := dir.Address(); !errors.Is(err, api.ErrNotRunning) {
			t.Errorf("it answers no more, and its address is %q, %v", address, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A box that is to stay waits for one that is there for a single request, and those that come meanwhile
// make way.
func TestStartBesideRequests(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "box"))
	request := Options{Dir: dir, Resting: true, Unlisted: true}
	first, _ := run(t, request)
	started := make(chan error, 1)
	go func() {
		b, _, err := Open(t.Context(), Options{Dir: dir, Patience: time.Hour})
		if err == nil {
			err = b.Close()
		}
		started <- err
	}()
	for held := false; !held; runtime.Gosched() {
		var err error
		if held, err = filelock.Held(dir.path(startingFile)); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-started:
			t.Fatalf("it did not wait for the request to end: %v", err)
		default:
		}
	}
	for range 3 { // each takes as long as a try of the box's
		if _, err := filelock.Take(dir.path(startingFile)); !errors.Is(err, filelock.ErrTaken) {
			t.Errorf("it waits no longer: %v", err)
		}
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := <-started; err != nil {
		t.Errorf("it did not start after the request: %v", err)
	}

	waits, err := filelock.Take(dir.path(startingFile)) // as a box does that is to stay
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(t.Context(), request); !errors.Is(err, ErrLocked) {
		t.Errorf("a request does not make way: %v", err)
	}
	second, _ := run(t, Options{Dir: dir}) // another that is to stay need not
	if err := errors.Join(second.Close(), waits()); err != nil {
		t.Error(err)
	}
	third, _ := run(t, request)
	if err := third.Close(); err != nil {
		t.Error(err)
	}
}

// Waiting for a directory ends with the caller's patience, and with its context.
func TestStartGivesUp(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "box"))
	first, _ := run(t, Options{Dir: dir})
	if _, _, err := Open(t.Context(), Options{Dir: dir, Patience: time.Millisecond}); !errors.Is(err, ErrLocked) {
		t.Errorf("without patience: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Open(ctx, Options{Dir: dir, Patience: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := first.held.setAddress("127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(t.Context(), Options{Dir: dir, Patience: time.Hour}); !errors.Is(err, ErrLocked) {
		t.Errorf("there is a box to ask: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
}
