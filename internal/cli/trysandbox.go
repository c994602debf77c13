package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

// tryTime is how long the checks may take to be tried in a sandbox.
const tryTime = 5 * time.Minute

var errTryTime = fmt.Errorf("they did not end within %d minutes", int(tryTime.Minutes()))

// trySandbox proposes a sandbox if a run with it would not be refused and the checks pass in
// it, and says what speaks for that, or for none. It fails only if ctx ends.
func (a *app) trySandbox(ctx context.Context, found *config.Found) error {
	kind, err := a.passes(ctx, *found)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		found.Tried = err.Error()
		return nil
	}
	found.Sandbox, found.Tried = kind, "the checks pass in "+string(kind)
	return nil
}

// cast gives the roles to the agents: to those for which a sandbox protects the verdicts, if there are such.
func cast(found *config.Found) {
	for _, f := range found.Casts() {
		c, err := proposed(f)
		if err == nil {
			_, err = runner.Fitting(c)
		}
		if err == nil {
			*found = f
			return
		}
	}
}

// passes returns the sandbox that protects the proposed reviewers, and in which the checks
// pass on the last commit.
func (a *app) passes(ctx context.Context, found config.Found) (sandbox.Kind, error) {
	c, err := proposed(found)
	if err != nil {
		return "", err
	}
	kind, err := runner.Fitting(c)
	switch {
	case err != nil:
		return "", err
	case len(found.Checks) == 0:
		return "", fmt.Errorf("there are no checks to try %s with: add some, and set it", kind)
	}
	found.Sandbox = kind
	if c, err = proposed(found); err != nil {
		return "", err
	}
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	hidden, err := a.hiddenHere(c)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeoutCause(ctx, tryTime, errTryTime)
	defer cancel()
	p := a.progress("trying the checks in "+string(kind), found.Setup)
	err = runner.Try(limited, runner.Trial{Repo: found.Root, Program: program, Config: c, Log: p, Hidden: hidden})
	p.end()
	var failed *runner.TrialError
	switch {
	case err == nil:
		return kind, nil
	case errors.Is(err, worktree.ErrNoCommit):
		return "", fmt.Errorf("there is no commit to try %s with: commit, and run `signalbox init --force`", kind)
	case errors.As(err, &failed):
		a.sayTail(failed.Output)
		return "", fmt.Errorf("%w in %s: put that right, or list in sandbox.write what it needs; then run `signalbox init --force`, or set it", failed, kind)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return "", fmt.Errorf("%s could not be tried: %s", kind, first)
}

// proposed are the settings that would be written.
func proposed(found config.Found) (config.Config, error) {
	return config.Parse(filepath.Join(found.Root, config.File), found.Propose())
}

// tailLines is how much is shown of what a check printed that failed.
const tailLines = 12

// sayTail shows the last lines of what checks printed.
func (a *app) sayTail(output string) {
	if a.JSON {
		return
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for _, line := range lines[max(0, len(lines)-tailLines):] {
		fmt.Fprintln(a.Err, a.PaintErr(command.Faint, "  "+line))
	}
}

// progress says on a terminal, once a second, what is being run and for how long; elsewhere it
// says once that something is. It is the log of checks, whose beginnings it sees.
type progress struct {
	app   *app
	what  string
	begun time.Time
	done  chan struct{}
	shown sync.WaitGroup

	mu   sync.Mutex
	runs string // the command line
}

func (a *app) progress(what, first string) *progress {
	p := &progress{app: a, what: what, begun: time.Now(), done: make(chan struct{}), runs: first}
	if !a.JSON {
		p.shown.Go(p.show)
	}
	return p
}

func (p *progress) show() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.done:
			return
		}
		if !p.app.Live {
			p.app.remark(command.Faint, fmt.Sprintf("%s, for %d minutes at most", p.what, int(tryTime.Minutes())))
			<-p.done
			return
		}
		p.mu.Lock()
		line := fmt.Sprintf("%s: %s  %s", p.what, p.runs, time.Since(p.begun).Round(time.Second))
		p.mu.Unlock()
		width, _ := p.app.Size()
		fmt.Fprintf(p.app.Out, "\r\x1b[K%s", p.app.Paint(command.Faint, fmt.Sprintf("%.*s", max(width-1, 1), line)))
	}
}

// Write implements [io.Writer].
func (p *progress) Write(text []byte) (int, error) {
	if line, ok := bytes.CutPrefix(text, []byte("$ ")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		p.mu.Lock()
		p.runs = safetext.Escape(string(line))
		p.mu.Unlock()
	}
	return len(text), nil
}

// end says no more, and leaves no line half written.
func (p *progress) end() {
	close(p.done)
	p.shown.Wait()
	if p.app.Live && !p.app.JSON {
		fmt.Fprint(p.app.Out, "\r\x1b[K")
	}
}
