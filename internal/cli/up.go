package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/service"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) upCommand() *cobra.Command {
	var configFile, listen string
	var verify bool
	var secure config.TLS
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the box",
		Example: `  signalbox up --listen 127.0.0.1:7071
  signalbox up --listen 192.0.2.7:7443   # for runners on other machines, by TLS`,
		Long: `Up runs the box in the foreground until it is told to stop (Ctrl-C, or SIGTERM).

Its directory holds the archive that proves what happened, the keys and the tokens.
A start reads the state as it was last kept and the events after it; the rest of the
archive is proven in the background (signalbox status says how far), or first, with
--verify. Damaged tiles are made again, and anything else that is not as it was
recorded is refused with what to do about it. One box runs in a directory; a second
is refused.

Agents that work on a plan go on when the box stops, and the next box takes them over;
without one they end after a while (limits.orphan, 30m). Ctrl-C in a run ends them.

With an address beyond this machine it listens there too, by TLS 1.3 alone: for runners
(signalbox runner), and for who has a token. A box that knows runners and has no such address
says so. --listen is for this start alone: listen in the settings is for each, also for a run that
becomes the box. On this machine it goes on to listen as it would without. Its key for that is its own (tls.key in its directory); --tls-cert and
--tls-key have a certificate of yours shown to all but runners, who pin the key; with one, a
browser elsewhere gets to the page (signalbox page --address NAME).

Settings come from signalbox.yaml beside the box's directory, if there is one:

  exit_protocol: true      # act upon exit records; AGENT_EXIT_PROTOCOL_ENABLED wins
  archive: /other/disk     # where the archive lies; or
  archive:
    segments: /fast/disk   # where its log lies
    mirror: /other/disk    # where the log is written a second time
    keep: 2160h            # how long long outputs of work that is over are kept; their hashes stay
  listen: 127.0.0.1:7071   # if not set, the port of before or any free one; beyond this machine by TLS
  tls: {always: false, cert: FILE, key: FILE}
  hosts: [git.example.org] # that a pull request's URL may name
  redact: ['ACME-[0-9]+']  # secrets of your own that must not be stored

With --json one line says where it listens and what it found: address, events,
items, leases, verified, notes, exit_protocol, snapshot, start_ms; and if it listens by
TLS, secure_address and secure_key (the SHA-256 of its public key).`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.settings(configFile)
			if err != nil {
				return err
			}
			if listen != "" {
				c.Listen = listen
			}
			if (secure.Cert == "") != (secure.Key == "") {
				return a.UsageError("--tls-cert and --tls-key go together: name both, or none")
			}
			c.TLS.Always = c.TLS.Always || secure.Always
			if secure.Cert != "" {
				c.TLS.Cert, c.TLS.Key = secure.Cert, secure.Key
			}
			return a.up(cmd, c, verify)
		},
	}
	cmd.Flags().StringVar(&configFile, "config", "", "the `FILE` with the settings (default: signalbox.yaml beside the box, if it is there)")
	cmd.Flags().StringVar(&listen, "listen", "", "the `ADDRESS` to listen on, such as 127.0.0.1:7071; beyond this machine by TLS")
	cmd.Flags().BoolVar(&secure.Always, "tls", false, "serve the address by TLS, also if it is this machine's, and another one of this machine without")
	cmd.Flags().StringVar(&secure.Cert, "tls-cert", "", "a `FILE` with a certificate of yours, and those above it, in PEM, for all but runners")
	cmd.Flags().StringVar(&secure.Key, "tls-key", "", "the `FILE` with its key, in PEM")
	cmd.Flags().BoolVar(&verify, "verify", false, "read and prove all that is in the archive before the box starts")
	return cmd
}

func (a *app) up(cmd *cobra.Command, c config.Config, verify bool) error {
	ctx := cmd.Context()
	listener, secure, err := listen(ctx, c, box.Dir(a.dir).LastPort())
	if err != nil {
		return err
	}
	_, old := box.Dir(a.dir).Verifier()
	enabled := agentsig.ExitProtocolEnabled(os.LookupEnv, c.ExitProtocol)
	var found box.Found
	s, err := patiently(ctx, box.ErrLocked, func() (s *service.Service, err error) { // it may be open for a single request
		s, found, err = a.start(ctx, c, service.Options{Secure: secure, Box: box.Options{Verify: verify, Logger: a.logger()}})
		return s, err
	})
	if err != nil {
		return errors.Join(err, listener.Close(), closeIf(secure))
	}
	if errors.Is(old, box.ErrNoDir) && !a.JSON {
		found.Notes = append(found.Notes, "this is a new box: "+a.dir+" was made for it")
	}
	if why := s.Unreached(); why != "" {
		found.Notes = append(found.Notes, why)
	}
	at := listening{plain: listener.Addr().String()}
	if secure != nil {
		if why := misplaced(a.dir, secure.Addr()); why != "" {
			found.Notes = append(found.Notes, why)
		}
		at.secure, at.key = secure.Addr().String(), s.SecureKey()
	}
	a.sayFound(at, found, enabled)
	a.Served = true
	served := s.Serve(ctx, listener)
	agents := s.Conductor.Agents()
	if err := errors.Join(s.Close(), served); err != nil {
		return err
	}
	if a.JSON {
		return nil
	}
	fmt.Fprintln(a.Err, "stopped; everything that was acknowledged is in the archive")
	if agents > 0 {
		fmt.Fprintf(a.Err, "%s on; the next box takes them over, and without one they end after %s\n", goOn(agents), evidence.Length(c.Limits.Orphan))
	}
	return nil
}

// listening is where a box answers, for people and programs.
type listening struct {
	plain       string
	secure, key string // by TLS, and the hash of the box's key there; "" if it does not
}

// listen opens where a box answers: on this machine, where it did before if it may, and beyond it (nil if it does not).
func listen(ctx context.Context, c config.Config, before uint16) (plain, secure net.Listener, err error) {
	here, beyond := httpapi.Addresses(c.Listen, config.DefaultListen, c.TLS.Always)
	if plain, err = httpapi.ListenAgain(ctx, here, before); err != nil || beyond == "" {
		return plain, nil, err
	}
	if secure, err = httpapi.ListenSecure(ctx, beyond); err != nil {
		return nil, nil, errors.Join(err, plain.Close())
	}
	return plain, secure, nil
}

func closeIf(l net.Listener) error {
	if l == nil {
		return nil
	}
	return l.Close()
}

func goOn(agents int) string {
	if agents == 1 {
		return "1 agent goes"
	}
	return english.Count(agents, "agent") + " go"
}

// logger writes to standard error.
func (a *app) logger() *slog.Logger { return slog.New(slog.NewTextHandler(a.Err, nil)) }

// collect lets garbage grow to four times what is in use while a burst of events lasts: collecting is what makes
// handoffs wait. When it is over, what it took is given back.
func collect(busy bool) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent(busy))
	}
	if !busy {
		debug.FreeOSMemory()
	}
}

// percent is by how much of what is in use garbage may grow.
func percent(busy bool) int {
	if busy {
		return 400
	}
	return 100
}

func (a *app) sayFound(at listening, found box.Found, enabled bool) {
	if a.JSON {
		said := map[string]any{
			"address": at.plain, "events": found.Events, "items": found.Items, "leases": found.Leases,
			"verified": found.Verified, "notes": append([]string{}, found.Notes...), "exit_protocol": enabled,
			"snapshot": found.Snapshot, "start_ms": found.Took.Milliseconds(),
		}
		if at.secure != "" {
			said["secure_address"], said["secure_key"] = at.secure, at.key
		}
		_ = command.WriteJSON(a.Out, said) // nobody reads it: the box runs all the same
		return
	}
	fmt.Fprintf(a.Out, "%s in %s: %s, %s, %s; ready in %v\n", a.Paint(command.Bold, "box"), safetext.Escape(a.dir),
		english.Count(int(found.Events), "event"), english.Count(found.Items, "work item"), english.Count(found.Leases, "open lease"), found.Took.Round(1e6))
	for _, note := range found.Notes {
		fmt.Fprintf(a.Out, "%s: %s\n", a.Paint(command.Yellow, "note"), safetext.Escape(note))
	}
	switch value, set := os.LookupEnv(agentsig.ExitProtocolVariable); {
	case enabled:
		fmt.Fprintln(a.Out, "exit records are acted upon")
	case set:
		fmt.Fprintf(a.Out, "exit records are not acted upon: %s is %q, and only true, 1 or yes enables them\n", agentsig.ExitProtocolVariable, value)
	}
	if at.secure != "" {
		fmt.Fprintf(a.Out, "listening beyond this machine on https://%s, with the key %s; `signalbox runner invite` lets a runner in\n", at.secure, at.key)
	}
	fmt.Fprintf(a.Out, "listening on http://%s; stop with Ctrl-C\n", at.plain)
}

// startGrace is how long a command waits for a box that was only just started.
const startGrace = time.Second

// patiently tries again for as long as startGrace while something fails in this way.
func patiently[T any](ctx context.Context, fails error, try func() (T, error)) (T, error) {
	for deadline := time.Now().Add(startGrace); ; {
		v, err := try()
		if !errors.Is(err, fails) || time.Now().After(deadline) {
			return v, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// client returns a client for the box in the directory, with one of its tokens. If
// none runs, it says so.
func (a *app) client(ctx context.Context, token func(box.Dir) (string, error)) (*api.Client, error) {
	dir := box.Dir(a.dir)
	if _, err := patiently(ctx, api.ErrNotRunning, dir.Address); err != nil {
		return nil, a.explain(err)
	}
	t, err := token(dir)
	return api.FollowingClient(dir.Address, t), err
}

// explain says what to do if no box runs.
func (a *app) explain(err error) error {
	if api.Missing(err) {
		return noBoxError{a.dir, err}
	}
	return err
}

// noBoxError says what to do if no box runs.
type noBoxError struct {
	dir string
	error
}

func (e noBoxError) Error() string {
	if why := rests(e.dir); why != "" {
		return why
	}
	return fmt.Sprintf("no box is running in %s: start one with `signalbox up`", safetext.Escape(e.dir))
}

func (e noBoxError) Unwrap() error { return e.error }

// ask calls the box with a token.
func ask[T any](ctx context.Context, a *app, token func(box.Dir) (string, error), call func(*api.Client) (T, error)) (T, error) {
	c, err := a.client(ctx, token)
	if err != nil {
		var none T
		return none, err
	}
	defer c.Close()
	v, err := call(c)
	return v, a.explain(err)
}
