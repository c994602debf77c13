// Package process starts the programs that are measured, reads what they use, and ends them.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a program that was started. It gets a signal if this process ends without ending it.
type Process struct {
	name string
	cmd  *exec.Cmd
	how  syscall.Signal
	log  *tail
	done chan struct{}
	err  error // once done is closed
}

// Start starts a program, which is ended by Stop and not by a context: it may have something to keep.
// How is the signal that ends it in good order.
func Start(cmd *exec.Cmd, how syscall.Signal) (*Process, error) {
	p := &Process{name: filepath.Base(cmd.Path), cmd: cmd, how: how, log: &tail{}, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = p.log
	}
	cmd.Stderr = p.log
	endWithParent(cmd, how)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// ID returns its process id.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Stop ends it in good order, or kills it if it does not within two minutes. An exit code is no error then.
func (p *Process) Stop() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s had ended: %w: %s", p.name, p.err, p.log)
	default:
	}
	if err := p.cmd.Process.Signal(p.how); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(2 * time.Minute):
		err := fmt.Errorf("%s did not end within two minutes and was killed: %s", p.name, p.log)
		err = errors.Join(err, p.cmd.Process.Kill())
		<-p.done
		return err
	}
}

// Ready asks again and again until ready returns nil, for three minutes at most. It fails at once if the
// process ends.
func (p *Process) Ready(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended: %w: %s", p.name, p.err, p.log)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w: %s", p.name, err, p.log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	all []byte
}

const (
	tailBytes = 8000
	lineBytes = 300
)

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, b...)
	if n := len(t.all) - tailBytes; n > 0 {
		t.all = bytes.Clone(t.all[n:])
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return lastLine(string(t.all))
}

// lastLine returns the last line that is not empty, which mostly says why a program ended.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	text = text[strings.LastIndexByte(text, '\n')+1:]
	return text[:min(len(text), lineBytes)]
}

// Run runs a program to its end and returns what it printed. The error has the last line of it.
func Run(cmd *exec.Cmd) (string, error) {
	endWithParent(cmd, syscall.SIGTERM)
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, lastLine(text))
	}
	return text, nil
}
