package records

import (
	"errors"
	"fmt"
	"os"

	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// Most is how long a copy may be, in bytes: a mark can be longer than the secret that it stands for.
const Most = 2 * session.MaxTranscript

// Errors of [Keep].
var (
	ErrGap  = errors.New("the copy is shorter: begin it anew")
	ErrLong = errors.New("the copy would be too long")
	ErrNone = errors.New("the box keeps no record of that from this runner") // it is another's, or was removed
	ErrName = errors.New("there is no such record")
)

// Check refuses a change that can't be made to any copy.
func (c Change) Check() error {
	switch c.Name {
	case order.SaidTranscript, order.SaidVoices, order.SaidStderr, order.SaidChecks:
	default:
		return fmt.Errorf("%w: %.20q", ErrName, c.Name)
	}
	if c.At < 0 || c.At > Most || int64(len(c.Data)) > Most-c.At {
		return fmt.Errorf("%w: at most %d bytes are kept", ErrLong, Most)
	}
	return nil
}

// Keep makes a change to the copy at a path. One from the beginning on makes the file.
func Keep(path string, c Change) (err error) {
	if err := c.Check(); err != nil {
		return err
	}
	if c.At == 0 {
		f, err := regular.Create(path)
		if err != nil {
			return err
		}
		return write(f, c)
	}
	before, err := regular.OpenItself(path) // what else lies there is no copy
	if errors.Is(err, os.ErrNotExist) {
		return ErrGap
	}
	if err != nil {
		return err
	}
	info, err := before.Stat()
	if err := errors.Join(err, before.Close()); err != nil {
		return err
	}
	if info.Size() < c.At {
		return ErrGap
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return errors.Join(err, f.Close(), fmt.Errorf("%s was changed meanwhile", path))
	}
	return write(f, c)
}

func write(f *os.File, c Change) error {
	err := f.Truncate(c.At)
	if err == nil {
		_, err = f.WriteAt(c.Data, c.At)
	}
	return errors.Join(err, f.Close())
}
