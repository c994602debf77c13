// Package gate verifies work by running commands: what an agent says about its
// tests is a claim, and what the gate has seen is a fact.
package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	defaultTimeout = 10 * time.Minute
	// endGrace is how long a command may take to end once it is told to.
	endGrace = 5 * time.Second
	// tendGrace is how long what tends a command may take for the same: it tells the command,
	// kills it after its grace, and then all that is left.
	tendGrace = 4 * endGrace
	// tendCommand is the command of this program that calls [process.Tend].
	tendCommand = "tend"
)

// Check is a command and how it has to end.
type Check struct {
	Name        string
	Environment string        // "NAME=value NAME2=value", or a name that is only shown
	Command     string        // for sh
	Exit        int           // the exit code that passes
	Timeout     time.Duration // ten minutes if zero
}

// Result is what came of a check.
type Result struct {
	Name     string
	Passed   bool
	Flaky    bool          // it failed first, and passed when it was run again
	Exit     int           // 128 and the signal's number if a signal ended it
	TimedOut bool          // and was ended for it
	Output   string        // the last 8 KiB as they were printed; if flaky, of the run that failed
	Took     time.Duration // all runs together
}

// Report has the result of every check, in order.
type Report struct{ Checks []Result }

// Passed reports whether no check failed, as is so if there were none.
func (r Report) Passed() bool { return len(r.Failed()) == 0 }

// Failed names the checks that failed.
func (r Report) Failed() []string { return r.names(func(c Result) bool { return !c.Passed }) }

// Flaky names the checks that passed only when they were run again.
func (r Report) Flaky() []string { return r.names(func(c Result) bool { return c.Flaky }) }

func (r Report) names(which func(Result) bool) (names []string) {
	for _, c := range r.Checks {
		if which(c) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Options say where and how checks run.
type Options struct {
	Dir     string
	Inherit []string  // the environment that is inherited; this process's if nil
	Env     []string  // besides that
	Input   []byte    // what a command can read; nothing if empty. A command that is tended can't
	Log     io.Writer // gets what every run prints, the first 64 MiB of it; may be nil
	Session string    // marks all processes, so that none that hides is left
	Shell   []string  // what runs a command line, given as the argument of -c; sh if empty
	Tend    string    // this program, by which each command is started and ended with all that it left; may be empty
}

// Run runs checks one after the other, each with all that it starts in a
// process group that is gone when Run returns; if they are tended, so is what has left
// the group. The environment is inherited, without what an outer agent or git left in it.
//
// A check that fails is no error; that a command can't be started, the log can't
// be written or the context ends is one, and the report then has the checks that
// were done before.
func Run(ctx context.Context, checks []Check, o Options) (Report, error) {
	var report Report
	for _, c := range checks {
		result, err := run(ctx, c, o)
		if err != nil {
			return report, fmt.Errorf("the check %s could not be run: %w", safetext.Escape(c.Name), err)
		}
		report.Checks = append(report.Checks, result)
	}
	return report, nil
}

// Again says what a check that failed comes to when it was run once more.
func (r Result) Again(second Result) Result {
	second.Took += r.Took
	if second.Passed {
		second.Flaky, second.Output = true, r.Output
	}
	return second
}

// run runs a check's command.
func run(ctx context.Context, c Check, o Options) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, context.Cause(ctx)
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	out := &output{log: o.Log}
	out.record([]byte("$ " + safetext.EscapeLines(c.Command) + "\n"))
	began := time.Now()
	shell := o.Shell
	if len(shell) == 0 {
		shell = []string{"sh"}
	}
	inherit := o.Inherit
	if inherit == nil {
		inherit = os.Environ()
	}
	grace := endGrace
	if o.Tend != "" {
		shell, grace = slices.Concat([]string{o.Tend, tendCommand, endGrace.String(), "--"}, shell), tendGrace
	}
	var input io.Reader
	if len(o.Input) > 0 {
		input = bytes.NewReader(o.Input)
	}
	group, err := process.Start(process.Command{
		Path: shell[0], Args: slices.Concat(shell[1:], []string{"-c", c.Command}), Dir: o.Dir,
		Env:   slices.Concat(process.CleanEnv(inherit), o.Env, variables(c.Environment)),
		Stdin: input, Stdout: out, Stderr: out, Marker: o.Session,
	})
	if err != nil {
		return Result{}, err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	result := Result{Name: c.Name}
	select {
	case <-group.Done():
	case <-timer.C:
		result.TimedOut = true
	case <-ctx.Done():
	}
	group.End(grace)
	result.Exit, err = group.Wait()
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	result.Took = time.Since(began)
	result.Passed = result.Exit == c.Exit && !result.TimedOut
	switch {
	case result.TimedOut:
		out.note(fmt.Sprintf("[ended after %v]", timeout))
	case !result.Passed && result.Exit == 126:
		out.note("[exit code 126: the command can't be executed]")
	case !result.Passed && result.Exit == 127:
		out.note("[exit code 127: the command was not found]")
	case !result.Passed:
		out.note(fmt.Sprintf("[exit code %d, not %d]", result.Exit, c.Exit))
	}
	result.Output = out.last()
	return result, errors.Join(err, out.err)
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// variables reads the environment of a check. Unless every word of it sets a
// variable it is a name for people.
func variables(environment string) []string {
	words := strings.Fields(environment)
	if slices.ContainsFunc(words, func(w string) bool { return !variable.MatchString(w) }) {
		return nil
	}
	return words
}
