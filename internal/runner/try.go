package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/home"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/redact"
)

// Trial is what [Try] tries.
type Trial struct {
	Repo    string // a directory of the user's checkout
	Program string // this program
	Config  config.Config
	Log     io.Writer // gets what the checks print; may be nil
	Hidden  []string  // what the checks must not see, if they are confined
}

// TrialError says that checks fail.
type TrialError struct {
	Checks []string // by name
	Output string   // of what failed: how, and the last of what it printed; escaped
}

func (e *TrialError) Error() string { return strings.Join(e.Checks, ", ") + " failed" }

// tryPrefix begins the name of the directory that a trial is made in. It lies where a box's
// does, as tools look for their settings in the directories above.
const tryPrefix = ".signalbox-try-"

// Try runs the checks of the settings on the last commit, as the gate of a run would before
// any agent is started: with the setup, the sandbox and the home directory that it has. It
// needs no box, and leaves nothing behind. The error is a [TrialError] if they fail; it is another one if they could
// not be run, or a
// run with these settings would be refused.
func Try(ctx context.Context, o Trial) (err error) {
	x, done, err := makeshift(ctx, o.Repo, o.Program, o.Config, o.Hidden)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := errors.Join(x.canConfine(), x.canReview()); err != nil {
		return err
	}
	_, commit, err := x.repo.Head(ctx)
	if err != nil {
		return err
	}
	if err := x.exchange.TakeBase(ctx, commit); err != nil {
		return err
	}
	result, err := x.check(ctx, commit, trial{run: "try", checks: x.checks(plan.Plan{}), log: o.Log})
	if err != nil {
		return fmt.Errorf("the checks could not be run: %w", err)
	}
	if result.passed() {
		return nil
	}
	failed := &TrialError{Output: result.output}
	for _, c := range result.failed {
		failed.Checks = append(failed.Checks, c.Name)
	}
	return failed
}

// makeshift is a runner without a box, in a directory of its own, that what it runs does not see, and neither what else is
// to be hidden from it. What it returns besides stops it and removes all of it.
func makeshift(ctx context.Context, repo, program string, c config.Config, hidden []string) (x *Runner, done func() error, err error) {
	if repo, err = filepath.Abs(repo); err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp(repo, tryPrefix)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, home.Remove(dir))
		}
	}()
	secrets, err := redact.New(c.Redact)
	if err != nil {
		return nil, nil, err
	}
	// The archive is hidden from checks, and git does not see any of it.
	archive := filepath.Join(dir, "archive")
	err = errors.Join(os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600), os.Mkdir(archive, 0o700))
	if err != nil {
		return nil, nil, err
	}
	site, err := OpenSite(ctx, repo, c)
	if err != nil {
		return nil, nil, err
	}
	x, err = New(ctx, Options{
		Dir: dir, Site: site, Program: program, Redact: secrets.Text, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Mail: mailbox.New(),
		Hidden: func() ([]string, error) { return append([]string{dir, archive}, hidden...), nil },
	})
	if err != nil {
		return nil, nil, err
	}
	return x, func() error {
		x.Stop()
		return home.Remove(dir)
	}, nil
}
