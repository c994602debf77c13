package box

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/filelock"
)

// A box that is to stay waits for one that is there for a single request, and those that come meanwhile
// make way.
func TestStartBesideRequests(t *testing.T) {
	t.Parallel()
	dir := Dir(filepath.Join(t.TempDir(), "box"))
	request := Options{Dir: dir, Unlisted: true}
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
	t.Parallel()
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
