package worktree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	maxOutput = 1 << 20
	maxStderr = 4 << 10
	// How long git may take to end once it is told to, and how long what it
	// started may hold its output open.
	endGrace = 2 * time.Second
	// patience is for how long a command may run. One that meets a named pipe in
	// the place of a file would wait for ever.
	patience = 5 * time.Minute
	// fetchPatience is for all of a repository's history, once.
	fetchPatience = time.Hour
)

// always is what every command gets: nothing of the user's runs by itself, and
// nothing stays behind in the background.
var always = []string{
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.fsmonitor=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "commit.gpgSign=false",
	"-c", "rerere.enabled=false",
	"-c", "submodule.recurse=false",
	"-c", "core.splitIndex=false", // an index is one file
	"-c", "core.untrackedCache=false",
	"-c", "advice.detachedHead=false",
}

// bending variables make git read its arguments differently or print more.
var bending = []string{
	"GIT_ATTR_SOURCE", "GIT_DIFF_OPTS", "GIT_EXTERNAL_DIFF", "GIT_GLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
	"GIT_LITERAL_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_REDIRECT_STDERR", "GIT_REDIRECT_STDIN", "GIT_REDIRECT_STDOUT",
}

// environment is what every command runs in: the user's, without what would
// lead git astray.
func environment() []string {
	env := slices.DeleteFunc(process.CleanEnv(os.Environ()), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(bending, name) || strings.HasPrefix(name, "GIT_TRACE")
	})
	return append(env,
		"LC_ALL=C",                 // errors are told apart by their words
		"GIT_TERMINAL_PROMPT=0",    // nobody is there to answer
		"GIT_NO_REPLACE_OBJECTS=1", // a commit is what its name says
		"GIT_EDITOR=true",
		"GIT_OPTIONAL_LOCKS=0") // looking at a checkout does not write its index
}

// place is where a command runs. Git is told both directories and never
// searches: from a broken worktree it would find the user's checkout, which
// lies above it.
type place struct {
	dir    string // the top of the files
	gitDir string // what git keeps for them; empty before the repository is found, the same if it has no files
}

// call is one git command.
type call struct {
	args  []string
	env   []string // besides the usual
	stdin string
	out   io.Writer // may be nil
	in    string    // below the top of the files, if it does not run there
	input io.Reader // in the place of stdin, if it is not a text
	most  *Most     // what each process of it may use; nil for all there is

	patience time.Duration // with it, if it may take longer than most
}

// run runs git once. Its whole process group is ended with the context, or when it
// takes too long.
func (r *Repo) run(ctx context.Context, at place, c call) error {
	ctx, cancel := r.limit(ctx, c.patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.program, slices.Concat(always, c.args)...)
	if c.most != nil {
		cmd = exec.CommandContext(ctx, "sh", slices.Concat([]string{"-c", c.most.script(), "sh", r.program}, always, c.args)...)
	}
	cmd.Dir = cmp.Or(c.in, at.dir)
	cmd.Env = slices.Concat(r.env, c.env)
	if at.gitDir != "" {
		cmd.Env = append(cmd.Env, "GIT_DIR="+at.gitDir)
	}
	if at.gitDir != "" && at.gitDir != at.dir {
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+at.dir)
	}
	if r.common != "" { // an agent could have its worktree name another one, with settings that run something
		cmd.Env = append(cmd.Env, "GIT_COMMON_DIR="+r.common)
	}
	var stderr tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.stdin), c.out, &stderr
	if c.input != nil {
		cmd.Stdin = c.input
	}
	ownGroup(cmd)
	cmd.WaitDelay = endGrace
	err := cmd.Run()
	if err == nil {
		return nil
	}
	endGroup(cmd)
	words := strings.Join(c.args, " ")
	if ctx.Err() != nil {
		return fmt.Errorf("git %s was stopped: %w", safetext.Escape(words), context.Cause(ctx))
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return &GitError{words, exit.ExitCode(), string(stderr)}
	}
	return fmt.Errorf("git %s: %w", safetext.Escape(words), err)
}

// limit gives a command its time. What ends for having none left is [ErrTooSlow].
func (r *Repo) limit(ctx context.Context, longer time.Duration) (context.Context, context.CancelFunc) {
	long := max(r.patience, longer)
	return context.WithTimeoutCause(ctx, long, fmt.Errorf("after %v: %w", long, ErrTooSlow))
}

// write runs a command, and tries again if something of somebody else's was in
// its way for the moment.
func (r *Repo) write(ctx context.Context, at place, c call) error {
	for _, pause := range r.pauses {
		err := r.run(ctx, at, c)
		if failed := (*GitError)(nil); !errors.As(err, &failed) || !failed.busy() {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
	return r.run(ctx, at, c)
}

// change is write for a command that is nothing but its words.
func (r *Repo) change(ctx context.Context, at place, args ...string) error {
	return r.write(ctx, at, call{args: args})
}

// read returns what a command prints, without the newline at its end.
func (r *Repo) read(ctx context.Context, at place, args ...string) (string, error) {
	var out limited
	if err := r.run(ctx, at, call{args: args, out: &out}); err != nil {
		return "", err
	}
	if out.over {
		return "", fmt.Errorf("git %s: %w", safetext.Escape(args[0]), ErrTooMuch)
	}
	return strings.TrimSuffix(string(out.text), "\n"), nil
}

// ask runs a command that answers with its exit status: 0 is yes, 1 is no.
func (r *Repo) ask(ctx context.Context, at place, args ...string) (bool, error) {
	err := r.run(ctx, at, call{args: args})
	if failed := (*GitError)(nil); errors.As(err, &failed) && failed.Exit == 1 {
		return false, nil
	}
	return err == nil, err
}

// each calls f with every record that a command prints with -z. However much
// it prints, one record is held.
func (r *Repo) each(ctx context.Context, at place, f func(record string), c call) error {
	out := &records{f: f}
	c.out = out
	if err := r.run(ctx, at, c); err != nil {
		return err
	}
	if out.over {
		return fmt.Errorf("git %s: %w", safetext.Escape(c.args[0]), ErrTooMuch)
	}
	return nil
}

// limited keeps the first of what is written to it.
type limited struct {
	text []byte
	over bool
	most int // bytes; maxOutput if 0
}

func (l *limited) Write(p []byte) (int, error) {
	room := cmp.Or(l.most, maxOutput) - len(l.text)
	l.over = l.over || len(p) > room
	l.text = append(l.text, p[:min(len(p), room)]...)
	return len(p), nil
}

// tail keeps the last of what is written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	all := append(*t, p[max(0, len(p)-maxStderr):]...)
	*t = append((*t)[:0], all[max(0, len(all)-maxStderr):]...)
	return len(p), nil
}

// records cuts what is written to it at every NUL.
type records struct {
	f    func(string)
	part []byte
	over bool
}

func (r *records) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, 0)
		rest := p[:max(i, 0)]
		if i < 0 {
			rest = p
		}
		if r.over = r.over || len(r.part)+len(rest) > maxOutput; r.over {
			return n, nil
		}
		r.part = append(r.part, rest...)
		if i < 0 {
			return n, nil
		}
		r.f(string(r.part))
		r.part, p = r.part[:0], p[i+1:]
	}
}
