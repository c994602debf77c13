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
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) logsCommand() *cobra.Command {
	var follow, errs bool
	cmd := &cobra.Command{
		Use:   "logs WORK|RUN",
		Short: "Show what the agents on a task said, and the gate",
		Long: `Logs prints the transcripts of a task's agents, one after the other, with everything escaped
that a terminal would act upon; and after each what the gate's checks printed on its work. With
--follow it goes on as they speak, until Ctrl-C. With --stderr it prints what they wrote to
standard error.

T-2 is the latest run's, R1.T-2 that of another one. Of a run, such as R1, it prints what the
checks said on what the work starts from, and the agents that work for no task: remediation,
health audits, experts.

With --json each is an object on a line of its own, with session, role (gate or baseline for checks),
agent, transcript (the file) and text; a long one goes on in further objects.

Transcripts lie in the box's directory, under sessions/, and what the gate printed under
gates/log/; the ledger has the hashes of transcripts.`,
		Example: `  signalbox logs T-2
  signalbox logs -f T-2
  signalbox logs R1`,
		Args: one("a task, work item or run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			subject, err := operate(cmd.Context(), a, func(c *api.Client) (string, error) { return subjectOf(cmd.Context(), c, args[0]) })
			if err != nil {
				return err
			}
			l := logs{app: a, subject: subject, errs: errs, read: map[string]int64{}}
			if follow {
				a.Served = true
				return l.follow(cmd.Context())
			}
			found, err := l.print()
			if err == nil && !found {
				err = fmt.Errorf("no agent has worked on %s yet", safetext.Escape(args[0]))
			}
			return err
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as they speak")
	cmd.Flags().BoolVar(&errs, "stderr", false, "what they wrote to standard error")
	return cmd
}

// subjectOf returns the subject of a work item, or of a run.
func subjectOf(ctx context.Context, c *api.Client, name string) (string, error) {
	item, err := c.Work(ctx, name)
	var p *api.Problem
	if err != nil && errors.As(err, &p) && p.Code == api.CodeNotFound {
		if run, err := c.Run(ctx, name); err == nil {
			return run.Subject, nil
		}
	}
	return item.Subject, err
}

// logs prints what was said in an item's sessions.
type logs struct {
	app     *app
	subject string
	errs    bool             // of standard error
	read    map[string]int64 // how much of each file was printed
}

// speech is who said what is in a file.
type speech struct {
	Session    string `json:"session"`
	Role       string `json:"role"`
	Agent      string `json:"agent,omitempty"`
	Transcript string `json:"transcript"`
	Text       string `json:"text"`
}

// These stand for the gate among the roles.
const (
	roleGate     = "gate"
	roleBaseline = "baseline" // the gate on what the work starts from
)

func (s speech) heading() string {
	if s.Role == roleGate || s.Role == roleBaseline {
		return "== " + s.Role
	}
	return fmt.Sprintf("== %s (%s), session %s", s.Role, safetext.Escape(s.Agent), s.Session)
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
	start := speech{Role: roleBaseline, Transcript: l.gateFile(l.subject)}
	if err := l.printFile(start); err != nil {
		return true, err
	}
	_, said := l.read[start.Transcript]
	for _, name := range sessions {
		if err := l.printSession(filepath.Join(root, name), name); err != nil {
			return true, err
		}
	}
	return said || len(sessions) > 0, nil
}

// gateFile is where what checks printed is kept.
func (l *logs) gateFile(name string) string {
	return filepath.Join(l.app.dir, "gates", "log", name+".log")
}

// printSession prints a session's transcript, and what the gate said on its work.
func (l *logs) printSession(dir, name string) error {
	spec, err := session.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has not begun yet
	}
	if err != nil {
		return err
	}
	who := speech{Session: name, Role: string(spec.Role), Agent: spec.Agent.Name, Transcript: filepath.Join(dir, "transcript")}
	if l.errs {
		who.Transcript = filepath.Join(dir, "stderr")
		return l.printFile(who)
	}
	if err := l.printFile(who); err != nil {
		return err
	}
	return l.printFile(speech{Session: name, Role: roleGate, Transcript: l.gateFile(name)})
}

// printFile prints what is new in a file.
func (l *logs) printFile(who speech) error {
	name := who.Transcript
	f, err := regular.OpenItself(name) // agents may have put anything there
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has not begun yet, or there is none
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	_, seen := l.read[name]
	if info, err := f.Stat(); err != nil || seen && info.Size() <= l.read[name] {
		return err
	}
	if _, err := f.Seek(l.read[name], io.SeekStart); err != nil {
		return err
	}
	if l.app.JSON {
		return l.writeObjects(f, who, !seen)
	}
	if !seen {
		fmt.Fprintln(l.app.Out, l.app.Paint(command.Bold, who.heading()))
	}
	text := &inertText{to: l.app.Out}
	n, err := io.Copy(text, f)
	l.read[name] += n
	return errors.Join(err, text.Close())
}

// maxObject is the most text in one object, in bytes.
const maxObject = 1 << 20

// writeObjects writes what is left of a file as objects, and one for an empty file if
// it is the first time.
func (l *logs) writeObjects(f io.Reader, who speech, first bool) error {
	var held []byte // the beginning of a character
	for ; ; first = false {
		text, err := io.ReadAll(io.LimitReader(f, maxObject))
		if err != nil {
			return err
		}
		l.read[who.Transcript] += int64(len(text))
		more := len(text) == maxObject
		text = append(held, text...)
		whole := len(text)
		for back := 1; more && back < utf8.UTFMax; back++ {
			if c := text[len(text)-back:]; utf8.RuneStart(c[0]) && !utf8.FullRune(c) {
				whole -= back
			}
		}
		if whole > 0 || first {
			who.Text = string(text[:whole])
			if err := command.WriteJSON(l.app.Out, who); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		held = slices.Clone(text[whole:])
	}
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
