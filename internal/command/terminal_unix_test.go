//go:build unix

package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/command"
)

// An interrupt ends the context, unless it is another program's; other signals end it in any case.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		name string
		hold bool
		sent []syscall.Signal
	}{
		{"an interrupt", false, []syscall.Signal{syscall.SIGINT}},
		{"a held interrupt, and a signal that is not held", true, []syscall.Signal{syscall.SIGINT, syscall.SIGUSR1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, ask, stop := command.WithSignals(t.Context(), os.Interrupt, syscall.SIGUSR1)
			defer stop()
			if c.hold {
				defer ask.Hold()()
			}
			for i, s := range c.sent {
				if i > 0 && ctx.Err() != nil {
					t.Fatal("what is another program's ends the context")
				}
				if err := syscall.Kill(os.Getpid(), s); err != nil {
					t.Fatal(err)
				}
			}
			<-ctx.Done()
		})
	}
}

// After a release, interrupts count again.
func TestSignalsReleased(t *testing.T) {
	ctx, ask, stop := command.WithSignals(t.Context(), os.Interrupt)
	defer stop()
	ask.Hold()()
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}

// An interrupt that is caught does what it is caught for, once; the next one, or one after the release, ends
// the context.
func TestSignalsCaught(t *testing.T) {
	ctx, ask, stop := command.WithSignals(t.Context(), os.Interrupt)
	defer stop()
	interrupt := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	caught := make(chan error, 10)
	release := ask.Catch(func() { caught <- ctx.Err() })
	interrupt()
	if err := <-caught; err != nil {
		t.Fatalf("what is caught ends the context: %v", err)
	}
	release()
	ask.Catch(func() { caught <- nil })()
	interrupt()
	if <-ctx.Done(); len(caught) != 0 {
		t.Error("what is released is done")
	}
}

// endless is set for a test's own process, which ends by a signal.
const endless = "SIGNALBOX_TEST_ENDLESS"

// A second signal ends the program, but not before the terminal is given back.
func TestSignalsGuarded(t *testing.T) {
	if os.Getenv(endless) != "" {
		ctx, ask, _ := command.WithSignals(context.Background(), os.Interrupt)
		release := ask.Guard()
		interrupt := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGINT) }
		interrupt()
		<-ctx.Done()
		for range 10_000 { // one of them would end it
			interrupt()
			runtime.Gosched()
		}
		fmt.Println("guarded")
		release()
		for range time.Tick(10 * time.Millisecond) { // Go's runtime may crash if they come while it gives the signal up
			interrupt()
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSignalsGuarded$") //nolint:gosec // this program
	cmd.Env = append(os.Environ(), endless+"=1")
	out, err := cmd.Output()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT || !strings.Contains(string(out), "guarded\n") {
		t.Errorf("%v, having said %q", err, out)
	}
}
