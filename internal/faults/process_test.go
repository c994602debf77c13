package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// build makes the real program and returns where it is.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "signalbox")
	// go run keeps what it has linked, go build does not.
	if out, err := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "../../cmd/signalbox", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// process is a box in a process of its own.
type process struct {
	cmd   *exec.Cmd
	out   *bufio.Reader
	said  bytes.Buffer // on its standard error; to be read when it has ended
	found found
}

// found is what a box says when it listens.
type found struct {
	Address  string   `json:"address"`
	Events   uint64   `json:"events"`
	Verified int64    `json:"verified"`
	Notes    []string `json:"notes"`
}

// launch starts a box, which ends with the test if not before.
func launch(t *testing.T, program, dir string) (*process, error) {
	cmd := exec.CommandContext(t.Context(), program, "up", "--json", "--dir", dir)
	cmd.Env = append(os.Environ(), agentsig.ExitProtocolVariable+"=true")
	cmd.Dir = filepath.Dir(dir) // away from any signalbox.yaml
	p := &process{cmd: cmd}
	cmd.Stderr = &p.said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			if err := p.kill(); err != nil {
				t.Error(err)
			}
			t.Logf("the box said: %s", p.said.Bytes())
		}
	})
	return p, nil
}

// listens returns when the box listens.
func (p *process) listens() error {
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p.found)
	}
	if err == nil && p.found.Address == "" {
		err = fmt.Errorf("it says %s", line)
	}
	if err != nil {
		return fmt.Errorf("the box did not start: %w: %s", errors.Join(err, p.kill()), p.said.Bytes())
	}
	return nil
}

// kill ends the process as kill -9 does, and waits for it.
func (p *process) kill() error {
	err := p.cmd.Process.Signal(syscall.SIGKILL)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	var ended *exec.ExitError
	if waited := p.cmd.Wait(); !errors.As(waited, &ended) && !errors.Is(waited, context.Canceled) {
		err = errors.Join(err, waited)
	}
	return err
}

// stop lets the box stop by itself.
func (p *process) stop() error {
	return errors.Join(p.cmd.Process.Signal(syscall.SIGTERM), p.cmd.Wait())
}
