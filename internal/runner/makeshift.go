package runner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/internal/home"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/internal/session"
)

const (
	// makeshiftPrefix begins the name of a makeshift runner's directory. It lies where a box's does, as tools look for
	// their settings in the directories above.
	makeshiftPrefix = ".signalbox-try-"
	// makeshiftLock is held for as long as the process lives that made the directory.
	makeshiftLock = "lock"
)

// makeshift is a runner without a box, in a directory of its own, that what it runs does not see, and neither what else is
// to be hidden from it. What it returns besides stops it and removes all of it. What a process that was killed has left is
// removed by the next one, and what goes on of it is ended.
func makeshift(ctx context.Context, repo, program string, c config.Config, hidden []string) (x *Runner, done func() error, err error) {
	if repo, err = filepath.Abs(repo); err != nil {
		return nil, nil, err
	}
	secrets, err := redact.New(c.Redact)
	if err != nil {
		return nil, nil, err
	}
	site, err := OpenSite(ctx, repo, c)
	if err != nil {
		return nil, nil, err
	}
	sweepMakeshifts(repo)
	dir, err := os.MkdirTemp(repo, makeshiftPrefix)
	if err != nil {
		return nil, nil, err
	}
	release := func() error { return nil }
	remove := func() error { return errors.Join(home.Remove(dir), release()) }
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	taken, err := filelock.Take(filepath.Join(dir, makeshiftLock))
	if err != nil {
		return nil, nil, err
	}
	release = taken
	// The archive is hidden from checks, and git does not see any of it.
	archive := filepath.Join(dir, "archive")
	err = errors.Join(os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600), os.Mkdir(archive, 0o700))
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
		return remove()
	}, nil
}

// sweepMakeshifts removes what makeshift runners of processes that were killed have left in a directory, with the sessions,
// agents and checks that go on.
func sweepMakeshifts(repo string) {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(repo), makeshiftPrefix+"*")) // the pattern is sound
	for _, dir := range left {
		lock := filepath.Join(dir, makeshiftLock)
		if _, err := os.Lstat(lock); err != nil || !private(dir) {
			continue // it was only just made, or somebody else made it
		}
		if held, err := filelock.Held(lock); err != nil || held {
			continue
		}
		endSessions(filepath.Join(dir, sessionsDir))
		sweepGates(dir, slog.New(slog.DiscardHandler))
		_ = home.Remove(dir) // what can't be removed is in nobody's way
	}
}

// endSessions ends the sessions that lie in a directory, with their agents. What is not ours is left alone.
func endSessions(dir string) {
	if !private(dir) {
		return
	}
	entries, _ := os.ReadDir(dir) // what can't be read has nothing in it
	for _, e := range entries {
		if in := filepath.Join(dir, e.Name()); private(in) {
			_, _ = session.Kill(in, e.Name()), session.Clean(in, e.Name()) // whatever became of the directory
		}
	}
}

// private reports whether a path is a directory that only its owner may enter, as those of a makeshift runner are. One that
// is a part of the repository is not: git makes none like that, and what a link leads to is not ours.
func private(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && info.Mode().Perm() == 0o700
}

// escapeGlob writes a path so that a pattern means it and nothing else.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
