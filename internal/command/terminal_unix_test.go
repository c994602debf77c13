//go:build unix

package command_test

import (
	"os"
	"syscall"
	"testing"

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
			ctx, hold, stop := command.WithSignals(t.Context(), os.Interrupt, syscall.SIGUSR1)
			defer stop()
			if c.hold {
				defer hold()()
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
	ctx, hold, stop := command.WithSignals(t.Context(), os.Interrupt)
	defer stop()
	hold()()
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}
