//go:build unix

package box_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// TestStoppedClients pauses clients that hold an item, each a process of its own,
// until somebody else holds it. When they go on, they find that they are late:
// what they say is kept, and moves nothing.
func TestStoppedClients(t *testing.T) {
	t.Parallel()
	const n = 20
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	u := up(t, t.TempDir())
	var all sync.WaitGroup
	for k := range n {
		id := fmt.Sprint("T-", k)
		u.add(t, id, agentsig.PhaseImplementation)
		p := startClient(ctx, t, u, id)
		all.Go(func() {
			if err := u.outlive(ctx, id, p); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	all.Wait()
	u.verify(t)
}

// outlive pauses a client, takes its item over and wakes it.
func (u *bench) outlive(ctx context.Context, id string, p *process) error {
	session, err := p.line()
	if err != nil {
		return err
	}
	if err := p.pause(); err != nil {
		return err
	}
	other, err := u.client.Claim(ctx, api.Claim{Work: id, Actor: "other", Wait: true})
	if err != nil {
		return err
	}
	before, err := u.client.Work(ctx, id)
	if err != nil {
		return err
	}
	if err := p.wake(); err != nil {
		return err
	}
	answer, err := p.line()
	if err != nil {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return err
	}
	var e api.Emitted
	if err := json.Unmarshal([]byte(answer), &e); err != nil {
		return err
	}
	if e.Accepted || e.Event != work.LateResultRecorded || e.Sequence == 0 || e.Work != id {
		return fmt.Errorf("the late client was told %s", answer)
	}
	if err := u.recordedLate(ctx, id, session, e.Sequence); err != nil {
		return err
	}
	after, err := u.client.Work(ctx, id)
	if err != nil {
		return err
	}
	if after.Phase != before.Phase || after.Holder == nil || after.Holder.Session != other.Session || after.Events != before.Events+1 {
		return fmt.Errorf("the late result moved it: %+v, then %+v", before, after)
	}
	if e, err = u.client.Emit(ctx, other.Session, []byte(exit(before.Phase))); err != nil || !e.Accepted || e.NextPhase != agentsig.PhaseCIPending {
		return fmt.Errorf("the new holder was told %+v, %w", e, err)
	}
	return nil
}

// recordedLate looks for what a late client said in the ledger.
func (u *bench) recordedLate(ctx context.Context, id, session string, seq uint64) error {
	found := 0
	err := u.client.Events(ctx, id, 0, false, func(e api.Event) error {
		event, err := ledger.Decode(e.Event)
		if err != nil {
			return err
		}
		switch {
		case event.Session == session && event.Type == work.AgentSessionCompleted:
			return fmt.Errorf("event %d: the paused session completed", e.Sequence)
		case event.Type != work.LateResultRecorded:
			return nil
		}
		var p work.Result
		if err := json.Unmarshal(event.Payload, &p); err != nil {
			return err
		}
		if e.Sequence != seq || event.Session != session || p.Notes != lateNotes || p.Transcript.Text != lateOutput() {
			return fmt.Errorf("event %d: %s", e.Sequence, e.Event)
		}
		found++
		return nil
	})
	if err == nil && found != 1 {
		err = fmt.Errorf("%d late results are recorded", found)
	}
	return err
}

// process is a client in a process of its own.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startClient starts a client on an item. It ends at the latest with the test.
func startClient(ctx context.Context, t *testing.T, u *bench, id string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), clientAddress+"="+u.address(), clientToken+"="+u.token(t, "api.token"), clientItem+"="+id)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			t.Errorf("the client of %s had to be ended: %v, %v", id, cmd.Process.Kill(), cmd.Wait())
		}
	})
	return &process{cmd, in, bufio.NewReader(out)}
}

func (p *process) line() (string, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the client said %q: %w", line, err)
	}
	return strings.TrimSuffix(line, "\n"), nil
}

// pause returns when the process has stopped.
func (p *process) pause() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	var status syscall.WaitStatus
	_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	}
	if err == nil && !status.Stopped() {
		err = fmt.Errorf("the client ended: %v", status)
	}
	return err
}

// wake lets the process go on, and tells it to hand in its result.
func (p *process) wake() error {
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	_, err := p.in.Write([]byte("\n"))
	return err
}
