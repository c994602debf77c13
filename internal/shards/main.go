// Command shards simulates many boxes side by side, each with a ledger of its own: a run is on one of them, by its
// ULID, and stays there. Nothing of this is built: a box knows nothing of others. The simulation says what such
// boxes would carry by the service time that was measured on one; docs/scale.md has its tables.
//
//	go run ./internal/shards queue   how long a signal takes, by how much of a shard's time is used
//	go run ./internal/shards loss    a shard goes away and comes back
//	go run ./internal/shards grow    shards are added, and no run moves
//	go run ./internal/shards skew    one run that says more than the others
//	go run ./internal/shards size    cores, boxes, bytes and money: arithmetic, nothing is simulated
//
// -h says what each of them takes. The same flags give the same output, on every machine: chance comes from -seed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "shards:", err)
		}
		os.Exit(2)
	}
}

// What a box's processor takes for a signal, the claim that it leads to and a third of an item that is added, as
// docs/scale.md has measured it: with 64 clients at once, and with one. The first is what a shard can carry; the second
// is what a signal takes at a shard with little to do, where nothing is shared with others.
const (
	service      = 400 * time.Microsecond
	serviceAlone = 690 * time.Microsecond
)

const usage = "which one: queue, loss, grow, skew or size"

// run prints one table.
func run(args []string, out, errs io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet("shards "+args[0], flag.ContinueOnError)
	flags.SetOutput(errs)
	var table func() ([][]string, error)
	switch args[0] {
	case "queue":
		table = queueTable(flags)
	case "loss":
		table = lossTable(flags)
	case "grow":
		table = growTable(flags)
	case "skew":
		table = skewTable(flags)
	case "size":
		table = sizeTable(flags)
	default:
		return fmt.Errorf("%q is not known: %s", args[0], usage)
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is too much", flags.Arg(0))
	}
	rows, err := table()
	if err != nil {
		return err
	}
	aligned := new(strings.Builder)
	w := tabwriter.NewWriter(aligned, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
	for line := range strings.Lines(aligned.String()) {
		fmt.Fprintln(out, strings.TrimRight(line, " \n"))
	}
	return nil
}

func serviceFlag(flags *flag.FlagSet, usual time.Duration) *time.Duration {
	return flags.Duration("service", usual, "a shard's time for one signal")
}

func seedFlag(flags *flag.FlagSet) *uint64 { return flags.Uint64("seed", 1, "of the chance") }

// positive refuses what would never end, or divides by nothing.
func positive(what string, ok bool) error {
	if !ok {
		return errors.New(what)
	}
	return nil
}
