//go:build unix

package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"time"
)

// Bounds of what is read of an output that children keep open.
const (
	maxLate   = 1 << 20 // bytes: more than a pipe holds
	latePause = 10 * time.Millisecond
)

// output copies what a program prints. It is read here and not by os/exec, which would
// throw away what a slow writer has not taken when the grace is over.
type output struct {
	end  *os.File // which the program gets
	pipe *os.File
	to   io.Writer
	done chan error // one
}

// connect gives the program its outputs, and returns those that are to be copied. A file
// is given as it is; two writers that are one get one pipe.
func (c Command) connect(cmd *exec.Cmd) (out []*output, err error) {
	attach := func(to io.Writer) (io.Writer, error) {
		if _, isFile := to.(*os.File); isFile || to == nil {
			return to, nil
		}
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		out = append(out, &output{end: w, pipe: r, to: to, done: make(chan error, 1)})
		return w, nil
	}
	if cmd.Stdout, err = attach(c.Stdout); err != nil {
		return out, err
	}
	if c.Stdout != nil && same(c.Stdout, c.Stderr) {
		cmd.Stderr = cmd.Stdout
		return out, nil
	}
	cmd.Stderr, err = attach(c.Stderr)
	return out, err
}

// copy copies until nobody has the pipe open, or until the deadline that hurry sets.
func (o *output) copy() {
	err := o.pass(-1)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = o.pass(maxLate) // what lies in the pipe was printed in time
	}
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	o.done <- errors.Join(err, o.pipe.Close())
}

// pass copies until reading or writing fails. With a limit it copies no more than that,
// and only what is there.
func (o *output) pass(limit int) error {
	for buf := make([]byte, 32<<10); limit != 0; {
		if limit > 0 {
			if err := o.pipe.SetReadDeadline(time.Now().Add(latePause)); err != nil {
				return err
			}
		}
		n, err := o.pipe.Read(buf)
		if n > 0 {
			if _, err := o.to.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		if limit > 0 {
			limit = max(0, limit-n)
		}
	}
	return nil
}

// hurry gives the children of a program that has ended the grace.
func (o *output) hurry() {
	_ = o.pipe.SetReadDeadline(time.Now().Add(outputGrace)) // it fails if all is copied
}

// same reports whether two writers are one, which then gets one pipe.
func same(a, b io.Writer) (is bool) {
	defer func() { _ = recover() }() // two of a type that can't be compared
	return a == b
}
