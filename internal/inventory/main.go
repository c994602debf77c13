// Command inventory says what is linked into the programs, and under which licences.
//
//	go run ./internal/inventory notice > NOTICE       what is linked on any system, with the texts of its licences
//	go run ./internal/inventory sbom PROGRAM FILE     writes what one built program is made of, as CycloneDX JSON
//
// A licence that is not known or not allowed is an error. Both say the same each time, for the same modules.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "inventory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case slices.Equal(args, []string{"notice"}):
		modules, err := linked(ctx, ".")
		if err != nil {
			return err
		}
		_, err = os.Stdout.WriteString(notice(modules))
		return err
	case len(args) == 3 && args[0] == "sbom":
		return writeBill(args[1], args[2])
	}
	return fmt.Errorf("what should be done? notice, or sbom PROGRAM FILE")
}
