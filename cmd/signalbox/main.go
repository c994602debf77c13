// Command signalbox reads what AI agents say.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/signalbox-dev/signalbox/internal/cli"
	"github.com/signalbox-dev/signalbox/internal/command"
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second signal ends the program as it is
	code := cli.Run(ctx, os.Args[1:], command.Terminal())
	stop()
	os.Exit(code)
}
