package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/process"
)

// grace is what a program has to end from the time that it is told to.
const grace = 30 * time.Second

// maxOutput is how much of what a program prints is kept, in bytes: the last of it.
const maxOutput = 4 << 20

// tail keeps the last of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - maxOutput; over > 0 {
		t.kept = slices.Delete(t.kept, 0, over)
	}
	return len(p), nil
}

// ended is how a program ended.
type ended struct {
	out, errs string
	exit      int
}

// text is all that it printed.
func (e ended) text() string { return strings.TrimSpace(e.out + e.errs) }

// execute runs a program to its end, and ends what it has left running. When the context ends it is ended too, and the context's error
// returned. One program is run at a time.
func execute(ctx context.Context, dir string, env []string, args ...string) (ended, error) {
	var out, errs tail
	group, err := process.Start(process.Command{Path: args[0], Args: args[1:], Dir: dir, Env: env, Stdout: &out, Stderr: &errs})
	if err != nil {
		return ended{}, err
	}
	select {
	case <-group.Done():
	case <-ctx.Done():
	}
	group.End(grace)
	exit, err := group.Wait()
	err = errors.Join(err, process.EndOrphans())
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return ended{string(out.kept), string(errs.kept), exit}, err
}

// checkVariables are what a hidden check gets of the environment. It runs what an agent wrote, so it gets no key.
var checkVariables = []string{"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN"}

// checkEnvironment is the environment of a hidden check. Go uses what is there, and no network.
func checkEnvironment() []string {
	env := []string{"GOPROXY=off", "GOFLAGS=", "GOWORK=off", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	for _, name := range checkVariables {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
