package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
)

func (a *app) upCommand() *cobra.Command {
	var configFile, listen string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the box",
		Long: `Up runs the box in the foreground until it is told to stop (Ctrl-C, or SIGTERM).

Its directory holds the engine's store, the archive that proves what happened, the
keys and the tokens. At the start every archived event is held against the engine's
store: what the store lost at its end is restored, and anything else that differs is
refused with what to do about it. One box runs in a directory; a second is refused.

Settings come from signalbox.yaml in the working directory, if there is one:

  exit_protocol: true      # act upon exit records; AGENT_EXIT_PROTOCOL_ENABLED wins
  archive: /other/disk     # where the archive lies
  listen: 127.0.0.1:7071   # on loopback only; any free port if not set
  hosts: [git.example.org] # that a pull request's URL may name
  redact: ['ACME-[0-9]+']  # secrets of your own that must not be stored

With --json one line says where it listens and what it found: address, events,
items, leases, restored, archived, notes, exit_protocol.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(configFile)
			if err != nil {
				return err
			}
			if listen != "" {
				c.Listen = listen
			}
			return a.up(cmd, c)
		},
	}
	cmd.Flags().StringVar(&configFile, "config", "", "the `FILE` with the settings (default signalbox.yaml, if it is there)")
	cmd.Flags().StringVar(&listen, "listen", "", "the `ADDRESS` to listen on, such as 127.0.0.1:7071")
	return cmd
}

func (a *app) up(cmd *cobra.Command, c config.Config) error {
	ctx := cmd.Context()
	listener, err := box.Listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	enabled := agentsig.ExitProtocolEnabled(os.LookupEnv, c.ExitProtocol)
	b, found, err := box.Open(ctx, box.Options{
		Dir: box.Dir(a.dir), Archive: c.Archive, ExitEnabled: enabled, Hosts: c.Hosts, Redact: c.Redact,
		Version: buildVersion().Version, Logger: slog.New(slog.NewTextHandler(a.Err, nil)),
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	a.sayFound(listener.Addr().String(), found, enabled)
	a.served = true
	served := b.Serve(ctx, listener)
	if err := errors.Join(b.Close(), served); err != nil {
		return err
	}
	if !a.json {
		fmt.Fprintln(a.Err, "stopped; everything that was acknowledged is in the archive")
	}
	return nil
}

func (a *app) sayFound(address string, found box.Found, enabled bool) {
	if a.json {
		_ = writeJSON(a.Out, map[string]any{ // nobody reads it: the box runs all the same
			"address": address, "events": found.Events, "items": found.Items, "leases": found.Leases,
			"restored": found.Restored, "archived": found.Archived, "notes": append([]string{}, found.Notes...), "exit_protocol": enabled,
			"snapshot": found.Snapshot, "start_ms": found.Took.Milliseconds(),
		})
		return
	}
	fmt.Fprintf(a.Out, "%s in %s: %s, %s, %s; ready in %v\n", a.paint(bold, "box"), agentsig.Escape(a.dir),
		count(int(found.Events), "event"), count(found.Items, "work item"), count(found.Leases, "open lease"), found.Took.Round(1e6))
	if found.Restored > 0 {
		fmt.Fprintf(a.Out, "%s: the engine had lost its last %s; restored from the archive\n", a.paint(yellow, "note"), count(int(found.Restored), "event"))
	}
	if found.Archived > 0 {
		fmt.Fprintf(a.Out, "%s: %s in the engine and not in the archive yet; archived now\n", a.paint(yellow, "note"), count(int(found.Archived), "event"))
	}
	for _, note := range found.Notes {
		fmt.Fprintf(a.Out, "%s: %s\n", a.paint(yellow, "note"), agentsig.Escape(note))
	}
	if enabled {
		fmt.Fprintln(a.Out, "exit records are acted upon")
	} else {
		fmt.Fprintf(a.Out, "exit records are not acted upon: set %s=true, or exit_protocol: true in %s\n", agentsig.ExitProtocolVariable, config.File)
	}
	fmt.Fprintf(a.Out, "listening on http://%s; stop with Ctrl-C\n", address)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// startGrace is how long a command waits for a box that was only just started.
const startGrace = time.Second

// ask calls the box with a token, and says so if it is not there.
func ask[T any](ctx context.Context, a *app, token func(box.Dir) (string, error), call func(*api.Client) (T, error)) (T, error) {
	dir := box.Dir(a.dir)
	deadline := time.Now().Add(startGrace)
	for {
		v, err := askOnce(dir, token, call)
		missing := errors.Is(err, box.ErrNotRunning) || errors.Is(err, api.ErrNoBox) && errors.Is(err, syscall.ECONNREFUSED)
		if !missing {
			return v, err
		}
		if time.Now().After(deadline) {
			return v, fmt.Errorf("%w in %s: start one with `signalbox up`", box.ErrNotRunning, agentsig.Escape(a.dir))
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

func askOnce[T any](dir box.Dir, token func(box.Dir) (string, error), call func(*api.Client) (T, error)) (T, error) {
	var none T
	address, err := dir.Address()
	if err != nil {
		return none, err
	}
	t, err := token(dir)
	if err != nil {
		return none, err
	}
	c := api.NewClient(address, t)
	defer c.Close()
	return call(c)
}
