package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// Ask returns what the box says of itself. The runner is not present by that, and one that is goes on.
func Ask(ctx context.Context, box *api.Client) (order.Box, error) {
	return api.Get[order.Box](ctx, box, "/v1/runner/box")
}

// Settings are what a runner in a directory goes by, of what its box says.
func Settings(dir string, s order.Settings) (config.Config, error) {
	return config.Parse(filepath.Join(dir, config.File), []byte(s.Text))
}

// Checks says why checks can't run here as the settings want them.
func Checks(c config.Config) error {
	if !runner.ChecksConfined(c) {
		return nil
	}
	return sandbox.Available(c.Sandbox.Kind)
}

// Files is where the files lie in a runner's directory that worktrees are given ([config.Worktree.Copy]).
func Files(dir string) string { return filepath.Join(dir, mirrorDir) }

// InUse reports whether a runner works in a directory.
func InUse(dir string) (bool, error) { return filelock.Held(filepath.Join(dir, lockFile)) }

// CheckDir says why no runner can work in a directory that is there: its name is too long, or nothing can be written there.
func CheckDir(dir string) error {
	if err := checkSocket(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// maxSocket is how long the path of a Unix socket may be, on Linux and macOS.
const maxSocket = 103

// checkSocket refuses a directory whose name leaves no room for the socket of its sessions.
func checkSocket(dir string) error {
	if len(filepath.Join(dir, socketFile)) > maxSocket {
		return fmt.Errorf("the runner's directory %s has too long a name for the socket of its sessions: at most %d characters fit", dir, maxSocket-len(socketFile)-1)
	}
	return nil
}
