package process

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStop(t *testing.T) {
	p, err := Start(exec.CommandContext(t.Context(), "sleep", "600"), syscall.SIGTERM)
	if err != nil {
		t.Skip(err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(p.ID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestEndedEarly(t *testing.T) {
	p, err := Start(exec.CommandContext(t.Context(), "sh", "-c", "echo first; echo why >&2; exit 3"), syscall.SIGTERM)
	if err != nil {
		t.Skip(err)
	}
	err = p.Ready(t.Context(), func(context.Context) error { return errors.New("no answer") })
	if err == nil || err.Error() != "sh ended: exit status 3: why" {
		t.Errorf("ready: %v", err)
	}
	if err := p.Stop(); err == nil || !strings.Contains(err.Error(), "had ended") {
		t.Errorf("stop: %v", err)
	}
	if _, err := Run(exec.CommandContext(t.Context(), "sh", "-c", "echo first; echo why; exit 3")); err == nil || err.Error() != "sh: exit status 3: why" {
		t.Errorf("run: %v", err)
	}
}

func TestReadCPU(t *testing.T) {
	stat := "7 (a (b) c) S 1 7 7 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 5 6 7"
	if got, want := cpuTime([]byte(stat)), 1270*time.Millisecond; got != want {
		t.Errorf("cpu %s, want %s", got, want)
	}
	if got := cpuTime([]byte("7 (a")); got != 0 {
		t.Errorf("cpu of nothing: %s", got)
	}
}
