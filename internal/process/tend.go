package process

import (
	"context"
	"errors"
	"os"
	"time"
)

// Tend runs a command with this process's directory, environment and outputs, and returns how it
// ended once nothing that it has started is left: neither in its group, nor with its marker; on
// Linux, where this process adopts what loses its parent, nothing at all. When the context ends, so
// does the command, with the grace that its group has. It is for a process that does nothing else.
func Tend(ctx context.Context, command []string, grace time.Duration) (exit int, err error) {
	if err := AdoptOrphans(); err != nil {
		return -1, err
	}
	group, err := Start(Command{
		Path: command[0], Args: command[1:], Env: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Marker: os.Getenv(MarkerName),
	})
	if err != nil {
		return -1, err
	}
	select {
	case <-group.Done():
	case <-ctx.Done():
	}
	group.End(grace)
	exit, err = group.Wait()
	return exit, errors.Join(err, EndOrphans())
}
