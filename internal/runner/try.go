package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/plan"
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

// Try runs the checks of the settings on the last commit, as the gate of a run would before
// any agent is started: with the setup, the sandbox and the home directory that it has. It
// needs no box, and leaves nothing behind. The error is a [TrialError] if they fail; it is another one if they could
// not be run, or a run with these settings would be refused.
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
