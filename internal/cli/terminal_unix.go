//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// notifyTerminal has signals sent after which all has to be drawn anew: the terminal's size changed, or the program was suspended
// and goes on.
func notifyTerminal(to chan<- os.Signal) (stop func()) {
	signal.Notify(to, syscall.SIGWINCH, syscall.SIGCONT)
	return func() { signal.Stop(to) }
}

// stopUntilContinued suspends all programs of this one's group, as the terminal does. A group that no shell cares for can't be
// suspended, and nobody would continue it: then it goes on after a moment.
func stopUntilContinued() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGTSTP) // it is this process's own group
	select {
	case <-continued:
	case <-time.After(time.Second):
	}
}
