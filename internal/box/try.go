package box

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

	"github.com/signalbox-dev/signalbox/internal/home"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/redact"
)

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
// needs no box, and leaves nothing behind. What the checks print goes to log, which may be nil.
// The error is a [TrialError] if they fail; it is another one if they could not be run, or a
// run with these settings would be refused.
func Try(ctx context.Context, o Delivery, log io.Writer) (err error) {
	dir, err := os.MkdirTemp(o.Repo, tryPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.Remove(dir)) }()
	b := &Box{dir: Dir(dir), logger: slog.New(slog.DiscardHandler), now: time.Now}
	if b.redact, err = redact.New(o.Config.Redact); err != nil {
		return err
	}
	// The archive is hidden from checks, and git does not see any of it.
	err = errors.Join(os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600), os.Mkdir(b.dir.path(archiveDir), 0o700))
	if err != nil {
		return err
	}
	d, err := newDeliverer(ctx, b, o)
	if err != nil {
		return err
	}
	if err := errors.Join(d.canConfine(), d.canReview()); err != nil {
		return err
	}
	_, commit, err := d.repo.Head(ctx)
	if err != nil {
		return err
	}
	if err := d.exchange.TakeBase(ctx, commit); err != nil {
		return err
	}
	result, err := d.check(ctx, commit, trial{run: "try", checks: d.checks(plan.Plan{}), log: log})
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
