// Modelserver answers agents' programs in place of a model, with what a script says, so
// that the examples run without a key. Package internal/modeltest has the scripts' form.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "modelserver:", err)
		os.Exit(1)
	}
}

// run prints the server's address and serves until it is told to end.
func run() error {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		return errors.New("which script? modelserver FILE (`go doc ./internal/modeltest` has the form of scripts)")
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	script, err := modeltest.Parse(os.Args[1], string(text))
	if err != nil {
		return err
	}
	server, err := modeltest.Start(script)
	if err != nil {
		return err
	}
	fmt.Println(server.URL())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	for _, r := range server.Unexpected() {
		fmt.Fprintf(os.Stderr, "modelserver: asked for what the script does not have: %s\n", r.Problem)
	}
	return server.Close()
}
