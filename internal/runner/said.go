package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/records"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// atFile says which other machine a session is on, for as long as there is a record of it.
const atFile = "runner"

// maxRunner is how long the name of a runner can be in it, in bytes.
const maxRunner = 256

// sendOff makes the place for what comes of a session on another machine.
func (x *Runner) sendOff(session, to string) error {
	dir := x.sessionDir(session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, atFile), []byte(to))
}

// Elsewhere returns the other machine that a session is, or was, on; "" if it is none's, or there is no record of it any more.
func (x *Runner) Elsewhere(session string) string {
	name, err := regular.Read(filepath.Join(x.sessionDir(session), atFile), maxRunner)
	if err != nil {
		return ""
	}
	return string(name)
}

// Record changes the box's copy of what a session said on another machine, or checks printed there. Whose checks they are is known to who asks.
func (x *Runner) Record(from string, s order.Said) error {
	c := records.Change{Name: s.Name, At: s.At, Data: s.Data}
	if c.Name == order.SaidChecks {
		if err := os.MkdirAll(x.gateLogs(), 0o700); err != nil {
			return err
		}
		return records.Keep(ChecksLog(x.dir, s.Of, false), c)
	}
	if s.Of != filepath.Base(s.Of) || x.Elsewhere(s.Of) != from {
		return fmt.Errorf("%w: %s", records.ErrNone, s.Of)
	}
	err := records.Keep(filepath.Join(x.sessionDir(s.Of), string(c.Name)), c)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", records.ErrNone, s.Of)
	}
	return err
}
