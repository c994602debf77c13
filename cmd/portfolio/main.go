// Command portfolio looks at a private portfolio: lots, wash sales, exit signals.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program as it is
	code := cli.Run(ctx, os.Args[1:], command.Terminal())
	stop()
	os.Exit(code)
}
