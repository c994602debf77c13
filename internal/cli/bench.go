package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/bench"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/english"
)

func (a *app) benchCommand() *cobra.Command {
	o := bench.Options{Rounds: 5, Rate: 1000}
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure what this machine carries",
		Example: `  signalbox bench`,
		Long: `Bench measures how many handoffs a box makes in a second on this machine, and how
long it takes from an agent's signal until the next agent has the work.

The box runs in a process of its own, with its archive, and is spoken to over HTTP. A
handoff is two requests, a claim and an emit, and two events, each acknowledged when it
is synced. It is measured in turn with what this machine can do: the log alone, with as
many writers, on as many subjects, each append on a condition and synced; and HTTP
alone, the same requests and answers with nothing kept. The ratio is the handoffs
to those that the slower of the two allows: 2 x handoffs / the smaller of appends and
requests. Latency is measured at 1,000 signals a second with as many claims waiting as
there are clients.

It works in a temporary directory, and leaves nothing behind. With --json it prints
handoffs_per_s, bare_appends_per_s (the log alone), http_requests_per_s (HTTP alone),
ratio, p50_ms, p99_ms, items, clients and signals.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Items < 1 || o.Clients < 1 {
				return a.UsageError("--items and --clients are at least 1")
			}
			if o.Program, err = os.Executable(); err != nil {
				return err
			}
			if o.Dir, err = os.MkdirTemp("", "signalbox-bench"); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
			collect(true) // as the box does: the log alone runs in this process
			o.Progress = func(what string) { fmt.Fprintln(a.Err, a.PaintErr(command.Faint, what)) }
			r, err := bench.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, r)
			}
			a.rows([][2]string{
				{"handoffs", fmt.Sprintf("%.0f a second, over HTTP, with %s", r.Handoffs, english.Count(r.Clients, "client"))},
				{"log alone", fmt.Sprintf("%.0f appends a second, synced; two to a handoff", r.Log)},
				{"HTTP alone", fmt.Sprintf("%.0f requests a second, nothing kept; two to a handoff", r.HTTP)},
				{"ratio", fmt.Sprintf("%.2f of the handoffs that the slower of the two allows", r.Ratio)},
				{"latency", fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, from signal to claim, at %d signals a second", r.P50, r.P99, o.Rate)},
			})
			return nil
		},
	}
	cmd.Flags().IntVar(&o.Items, "items", 2000, "how many work items in each round (`N`)")
	cmd.Flags().IntVar(&o.Clients, "clients", 64, "how many clients at once (`N`)")
	cmd.AddCommand(a.benchHTTPCommand())
	return cmd
}

// benchHTTPCommand is what bench measures HTTP alone with.
func (a *app) benchHTTPCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "http",
		Short:  "Answer a handoff's requests and keep nothing (bench starts it)",
		Hidden: true,
		Args:   none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			collect(true) // as the box does
			a.Served = true
			return bench.ServeHTTPAlone(cmd.Context(), a.In, a.Out)
		},
	}
}
