package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/process"
)

// startPatience is for how long a session process may take until it is up.
const startPatience = 30 * time.Second

// ownEnv is the environment of a session: the box's, less the token of whoever has started that.
func ownEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "SIGNALBOX_TOKEN=") })
}

// Start starts a session as a process of its own: `program session DIRECTORY`. It returns
// when the session is alive, or has ended already as sessions do; what the process itself
// has to say goes to the file log in the directory. If ctx has ended nothing is started. If
// it ends later, Start goes on until it knows whether the session lives: only then can the
// caller end it.
func Start(ctx context.Context, program, dir, session string) (pid int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return 0, err
	}
	mark, err := marker(dir, session)
	if err != nil {
		return 0, err
	}
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }() // the process has it
	g, err := process.Start(process.Command{
		Path: program, Args: []string{"session", dir}, Dir: dir, Env: ownEnv(), Marker: ownMarker(mark), Stdout: log, Stderr: log,
	})
	if err != nil {
		return 0, fmt.Errorf("the session can't be started: %w", err)
	}
	late := time.NewTimer(startPatience)
	defer late.Stop()
	for pause := time.Millisecond; !up(dir); pause = min(2*pause, 20*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-late.C:
			g.End(0)
			return 0, fmt.Errorf("the session did not come up within %v: %s", startPatience, logged(dir))
		case <-g.Done():
			if _, err := os.Stat(filepath.Join(dir, endedFile)); errors.Is(err, os.ErrNotExist) {
				return 0, fmt.Errorf("the session did not come up: %s", logged(dir))
			}
			return g.Pid(), nil
		}
	}
	return g.Pid(), nil
}

// up reports whether a session is alive and has said which process it is, so that it can
// be killed.
func up(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, sessionFile))
	return err == nil && Alive(dir)
}

// logged returns the last of what the session process said, and where the rest is.
func logged(dir string) string {
	path := filepath.Join(dir, logFile)
	last, _ := readTail(path) // what can't be read says nothing
	return strings.TrimSpace(last.lines(5) + " (see " + path + ")")
}
