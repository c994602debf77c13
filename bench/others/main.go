// Command others measures the same handoff on Signalbox and on other systems, in turn on this
// machine, and prints one table.
//
//	cd bench && go run ./others [--items N] [--rounds N] [--only signalbox,postgres,…] [--json]
//
// docs/benchmarks.md says what is compared, and what is not.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/bench/handoff"
	"github.com/signalbox-dev/signalbox/bench/process"
	"github.com/signalbox-dev/signalbox/bench/systems"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "others:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("others", flag.ContinueOnError)
	load := handoff.Load{}
	flags.IntVar(&load.Items, "items", 500, "items in a batch, each handed over three times")
	flags.IntVar(&load.Workers, "workers", 64, "workers that wait at once")
	flags.DurationVar(&load.Time, "time", 5*time.Second, "how long batches are handed over in a round, at least")
	flags.IntVar(&load.Rate, "rate", 20, "handoffs a second for the latency; 0 measures none")
	flags.IntVar(&load.Seconds, "seconds", 30, "how long the latency is measured in a round")
	rounds := flags.Int("rounds", 3, "rounds, each with all systems in turn")
	only := flags.String("only", strings.Join(systems.Names, ","), "systems to measure; the others are compared with the first")
	asJSON := flags.Bool("json", false, "print JSON")
	var o systems.Options
	flags.StringVar(&o.Signalbox, "signalbox", "", "the signalbox program; built from this checkout if empty")
	flags.StringVar(&o.Temporal, "temporal", systems.TemporalDir(), "directory that bench/temporal/install made; the programs are looked for in PATH if empty")
	flags.IntVar(&o.Connections, "connections", 16, "connections to PostgreSQL, of the plain queue and of River")
	flags.IntVar(&o.Pollers, "pollers", 16, "pollers of each kind, of Temporal's workers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || load.Items < 1 || load.Workers < 1 || *rounds < 1 || o.Connections < 2 || o.Pollers < 2 || load.Rate < 0 || load.Seconds < 1 {
		return errors.New("it takes no arguments, no numbers below 1 (--rate may be 0), and no fewer than 2 connections and pollers")
	}
	o.Lost = time.Minute + time.Duration(load.Seconds)*time.Second
	all, err := choose(*only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "handoff-programs-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build(ctx, dir, &o, all)
	report := handoff.Report{Rate: load.Rate, Rows: measure(ctx, pick(systems.All(o), all), load, *rounds)}
	handoff.Compare(report.Rows)
	if err := print(report, load, *rounds, *asJSON); err != nil {
		return err
	}
	return errors.Join(context.Cause(ctx), failed(report.Rows))
}

// choose returns the places of the systems that are named.
func choose(only string) ([]int, error) {
	var all []int
	for _, name := range strings.Split(only, ",") {
		i := slices.Index(systems.Names, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no system %q: choose from %s", name, strings.Join(systems.Names, ", "))
		}
		all = append(all, i)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func pick(all []handoff.System, which []int) []handoff.System {
	picked := make([]handoff.System, len(which))
	for i, n := range which {
		picked[i] = all[n]
	}
	return picked
}

// build builds the programs that come from Go modules. One that can't be built is missing, and its
// row says so.
func build(ctx context.Context, dir string, o *systems.Options, which []int) {
	one := func(name, program, pkg, from string) string {
		if !slices.Contains(which, slices.Index(systems.Names, name)) {
			return ""
		}
		path := filepath.Join(dir, program)
		say("build %s", program)
		if err := systems.Build(ctx, path, pkg, from); err != nil {
			say("%v", err)
		}
		return path
	}
	if o.Signalbox == "" {
		commit, err := process.Run(exec.CommandContext(ctx, "git", "-C", "..", "describe", "--always", "--dirty", "--abbrev=12"))
		if err == nil { // sources may come without git
			o.Commit = commit
		}
		o.Signalbox = one("signalbox", "signalbox", "./cmd/signalbox", "..")
	}
	o.NATS = one("jetstream", "nats-server", "github.com/nats-io/nats-server/v2", ".")
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// measure measures all systems in turn, another one first in each round. A system that is missing
// or fails is left out from there on, and its row says so.
func measure(ctx context.Context, all []handoff.System, load handoff.Load, rounds int) []handoff.Row {
	rows := make([]handoff.Row, len(all))
	samples := make([][]handoff.Sample, len(all))
	for i, s := range all {
		rows[i].System = s.Name()
	}
	for round := range rounds {
		for n := range all {
			i := (round + n) % len(all)
			if rows[i].Note != "" || ctx.Err() != nil {
				continue
			}
			s, err := one(ctx, all[i], load, &rows[i])
			if err != nil {
				rows[i].Note = note(err)
				say("round %d of %d: %s: %v", round+1, rounds, rows[i].System, err)
				continue
			}
			say("round %d of %d: %s: %.0f handoffs/s, p50 %.1f ms, p99 %.1f ms, each once: %s", round+1, rounds, rows[i].System, s.HandoffsPerS, s.P50, s.P99, s.Verdict)
			samples[i] = append(samples[i], s)
		}
	}
	for i := range rows {
		if ctx.Err() != nil && rows[i].Note == "" {
			rows[i].Note = "interrupted"
		}
		rows[i] = rows[i].Summarise(samples[i])
	}
	return rows
}

// turnTime is how long a turn may take. One that takes longer has lost an item, or is hopelessly slow.
const turnTime = 10 * time.Minute

// one measures a system once, from its start to its end.
func one(ctx context.Context, s handoff.System, load handoff.Load, row *handoff.Row) (sample handoff.Sample, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, turnTime, fmt.Errorf("it did not end within %s", turnTime))
	defer cancel()
	i, err := s.Start(ctx)
	if err != nil {
		return sample, err
	}
	defer func() { err = errors.Join(err, i.Stop()) }()
	row.Version, row.Settings = i.Version(), i.Settings()
	return handoff.Measure(ctx, i, load, process.CPU)
}

// note is an error as a cell of the table.
func note(err error) string {
	var m handoff.Missing
	if errors.As(err, &m) {
		return m.Error()
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.ReplaceAll(line[:min(len(line), 160)], "|", "/") // a cell ends there
	return "failed: " + strings.ToValidUTF8(line, "")
}

// failed is an error if a system failed or did something twice. What is missing is no failure.
func failed(rows []handoff.Row) error {
	var all []error
	for _, r := range rows {
		switch {
		case strings.HasPrefix(r.Note, "failed"):
			all = append(all, fmt.Errorf("%s: %s", r.System, r.Note))
		case r.Rounds > 0 && !r.Verdict.Once():
			all = append(all, fmt.Errorf("%s: each once: %s", r.System, r.Verdict))
		}
	}
	return errors.Join(all...)
}

func print(r handoff.Report, load handoff.Load, rounds int, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	fmt.Printf("Rounds: %d, in turn. Batches of %d items, handed over %d times each, for %s at least; %d workers wait; latency at %d handoffs/s for %d s. %s/%s, %d cores.\n\n",
		rounds, load.Items, handoff.Phases, load.Time, load.Workers, load.Rate, load.Seconds, runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Print(r.Markdown())
	fmt.Print(`
handoffs/s: median of the rounds (smallest–largest); ratio: to the first row. p50, p99: from when a worker's
word was due to when the next worker had the item, at the fixed rate. CPU: for each handoff, servers and
clients together. Not tuned: PostgreSQL's memory, WAL and vacuum; Temporal's shards, caches and limits; the number of connections and
pollers; the kernel and the disk. Clients of all systems are in one process, written in Go.
`)
	return nil
}
