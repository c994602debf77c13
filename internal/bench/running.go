package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// running answers requests in a process of its own: the box, or HTTP alone.
type running struct {
	cmd    *exec.Cmd
	client *api.Client
}

// answering is the first line that such a process prints. The box's token is in its directory.
type answering struct {
	Address string `json:"address"`
	Token   string `json:"token"`
}

func (o Options) startBox(ctx context.Context) (*running, error) {
	dir := filepath.Join(o.Dir, "box")
	cmd := exec.CommandContext(ctx, o.Program, "up", "--dir", dir, "--json")
	cmd.Env = append(os.Environ(), agentsig.ExitProtocolVariable+"=true")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return o.start(cmd, func(a *answering) error {
		token, err := os.ReadFile(filepath.Join(dir, "api.token"))
		a.Token = strings.TrimSuffix(string(token), "\n")
		return err
	})
}

// startHTTP starts HTTP alone. It ends when its input does, also when this process is killed.
func (o Options) startHTTP(ctx context.Context) (*running, error) {
	cmd := exec.CommandContext(ctx, o.Program, "bench", "http")
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Cancel = input.Close
	return o.start(cmd, func(*answering) error { return nil })
}

// start starts a process and waits until it answers requests.
func (o Options) start(cmd *exec.Cmd, complete func(*answering) error) (*running, error) {
	cmd.Dir = o.Dir // away from any signalbox.yaml
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	a, err := readAnswering(out)
	if err == nil {
		err = complete(&a)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not start: %w", strings.Join(cmd.Args[1:], " "), err), cmd.Cancel(), cmd.Wait())
	}
	return &running{cmd, api.NewClient(a.Address, a.Token)}, nil
}

func readAnswering(out io.Reader) (a answering, err error) {
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(line, &a)
}

func (r *running) stop() error {
	r.client.Close()
	return errors.Join(r.cmd.Cancel(), r.cmd.Wait())
}
