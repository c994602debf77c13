package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/work"
)

func (a *app) logsCommand() *cobra.Command {
	var follow, errs bool
	cmd := &cobra.Command{
		Use:   "logs WORK",
		Short: "Show what the agents on a task said",
		Long: `Logs prints the transcripts of a task's agents, one after the other, with everything escaped
that a terminal would act upon. With --follow it goes on as they speak, until Ctrl-C. With
--stderr it prints what they wrote to standard error.

Transcripts lie in the box's directory, under sessions/; the ledger has their hashes.`,
		Example: `  signalbox logs T-2
  signalbox logs -f T-2`,
		Args: one("a task or work item"),
		RunE: func(cmd *cobra.Command, args []string) error {
			item, err := operate(cmd.Context(), a, func(c *api.Client) (api.Work, error) { return c.Work(cmd.Context(), args[0]) })
			if err != nil {
				return err
			}
			l := logs{app: a, subject: item.Subject, file: "transcript", read: map[string]int64{}}
			if errs {
				l.file = "stderr"
			}
			if follow {
				a.served = true
				return l.follow(cmd.Context())
			}
			found, err := l.print()
			if err == nil && !found {
				err = fmt.Errorf("no agent has worked on %s yet", agentsig.Escape(args[0]))
			}
			return err
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as they speak")
	cmd.Flags().BoolVar(&errs, "stderr", false, "what they wrote to standard error")
	return cmd
}

// logs prints the transcripts of an item's sessions.
type logs struct {
	app     *app
	subject string
	file    string
	read    map[string]int64 // how much of each was printed
	last    string           // the session that was printed last
}

// print prints what was not printed yet, and reports whether there was a session.
func (l *logs) print() (bool, error) {
	root := filepath.Join(l.app.dir, "sessions")
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	var sessions []string
	for _, e := range entries {
		if subject, _, err := work.ParseSession(e.Name()); err == nil && subject == l.subject {
			sessions = append(sessions, e.Name())
		}
	}
	slices.SortFunc(sessions, func(x, y string) int {
		_, a, _ := work.ParseSession(x)
		_, b, _ := work.ParseSession(y)
		return int(a.Counter) - int(b.Counter)
	})
	for _, name := range sessions {
		if err := l.printOne(filepath.Join(root, name), name); err != nil {
			return true, err
		}
	}
	return len(sessions) > 0, nil
}

func (l *logs) printOne(dir, name string) error {
	f, err := os.Open(filepath.Join(dir, l.file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has not begun yet
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	if info, err := f.Stat(); err != nil || info.Size() <= l.read[name] && l.last == name {
		return err
	}
	if _, seen := l.read[name]; !seen {
		spec, err := session.Read(dir)
		if err != nil {
			return err
		}
		heading := fmt.Sprintf("== %s (%s), session %s", spec.Role, agentsig.Escape(spec.Agent.Name), name)
		fmt.Fprintln(l.app.Out, l.app.paint(bold, heading))
	}
	if _, err := f.Seek(l.read[name], io.SeekStart); err != nil {
		return err
	}
	text := &inertText{to: l.app.Out}
	n, err := io.Copy(text, f)
	l.read[name] += n
	l.last = name
	return errors.Join(err, text.Close())
}

// follow prints what comes until ctx ends.
func (l *logs) follow(ctx context.Context) error {
	for {
		if _, err := l.print(); err != nil {
			return err
		}
		select {
		case <-time.After(followPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// followPause is how often files are looked at that somebody watches.
const followPause = 200 * time.Millisecond
