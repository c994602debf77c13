// Command signalbox reads what AI agents say.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/signalbox-dev/signalbox/internal/cli"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// exitNotExecuted is a shell's exit code for a command that can't be executed.
const exitNotExecuted = 126

func main() {
	if nest, nested := sandbox.Invoked(os.Args, os.Getenv); nested != nil { // for a confined agent, by another name
		fmt.Fprintf(os.Stderr, "signalbox: %v\n", sandbox.EnterNest(nest, nested))
		os.Exit(exitNotExecuted)
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signals = append(signals, syscall.SIGHUP)
	}
	env := command.Terminal()
	ctx, ask, stop := command.WithSignals(context.Background(), signals...)
	env.Signals = ask
	code := cli.Run(ctx, os.Args[1:], env)
	stop()
	os.Exit(code)
}
