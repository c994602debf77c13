package systems

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bench/handoff"
	"github.com/signalbox-dev/signalbox/bench/process"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// signalboxSystem is one box, over HTTP: a worker claims and waits, and emits what an agent says at
// the end of a phase.
type signalboxSystem struct{ program, commit string }

func (signalboxSystem) Name() string { return "Signalbox" }

type signalboxInstance struct {
	process *process.Process
	out     *os.File // what it prints: a program can't go on whose output nobody takes
	client  *api.Client
	dir     string
	version string
}

// The phases that an agent hands over one after the other without the gate.
var signalboxPhases = []agentsig.Phase{agentsig.PhaseReadyForReview, agentsig.PhaseReview, agentsig.PhaseReadyForMerge}

func (s signalboxSystem) Start(ctx context.Context) (handoff.Instance, error) {
	program, err := find("", s.program, "build it: go build ./cmd/signalbox")
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	dir, err := tempDir("signalbox")
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	box := filepath.Join(dir, "box")
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, "up", "--dir", box, "--json")
	cmd.Dir = dir // away from any signalbox.yaml
	cmd.Env = append(os.Environ(), agentsig.ExitProtocolVariable+"=true")
	cmd.Stdout = in
	p, err := process.Start(cmd, syscall.SIGTERM)
	if err != nil {
		return nil, errors.Join(err, out.Close(), os.RemoveAll(dir))
	}
	i := &signalboxInstance{process: p, out: out, dir: dir, version: s.commit}
	_ = in.Close() // the box has its own: what it prints ends when it does
	if err := i.connect(ctx, box); err != nil {
		return nil, errors.Join(fmt.Errorf("the box did not start: %w", err), i.Stop())
	}
	return i, nil
}

// connect reads where the box answers from the first line that it prints.
func (i *signalboxInstance) connect(ctx context.Context, box string) error {
	line, err := bufio.NewReader(i.out).ReadBytes('\n')
	if err != nil {
		return err
	}
	var at struct{ Address string }
	if err := json.Unmarshal(line, &at); err != nil {
		return err
	}
	token, err := os.ReadFile(filepath.Join(box, "api.token"))
	if err != nil {
		return err
	}
	i.client = api.NewClient(at.Address, strings.TrimSpace(string(token)))
	status, err := i.client.Status(ctx)
	i.version = cmp.Or(i.version, status.Version)
	return err
}

func (i *signalboxInstance) Version() string { return i.version }

func (*signalboxInstance) Settings() string {
	return "one box, over HTTP on loopback; a handoff is a claim that waits and an emit, an event each, synced before it is answered; " +
		"defaults: one log without a mirror, every event hashed into a signed Merkle tree"
}

func (i *signalboxInstance) Add(ctx context.Context, item string) error {
	_, err := i.client.Add(ctx, api.AddWork{ID: item, Title: "measured", Phase: signalboxPhases[0]})
	return err
}

func (i *signalboxInstance) Work(ctx context.Context, w handoff.Workers, agent handoff.Agent, ended func(handoff.Task), ready func()) error {
	ready()
	err := handoff.Pull(ctx, w, agent, ended, func(ctx context.Context) (handoff.Task, func(context.Context) error, error) {
		g, err := i.client.Claim(ctx, api.Claim{Actor: "bench", Wait: true})
		if err != nil {
			return handoff.Task{}, nil, err
		}
		end := func(ctx context.Context) error {
			said, err := agentsig.NewExitSignal(g.Phase, agentsig.ExitCompleted).WithNotes("measured").JSON()
			if err != nil {
				return err
			}
			e, err := i.client.Emit(ctx, g.Session, append(said, '\n'))
			if err == nil && !e.Accepted {
				err = errors.New(e.Error)
			}
			return err
		}
		return handoff.Task{Item: g.Work, Phase: 1 + slices.Index(signalboxPhases, g.Phase)}, end, nil
	})
	return errors.Join(err, i.process.Ready(context.WithoutCancel(ctx), i.nobodyWaits))
}

// nobodyWaits is nil once the box has noticed that the workers have gone.
func (i *signalboxInstance) nobodyWaits(ctx context.Context) error {
	s, err := i.client.Status(ctx)
	if err == nil && s.Waiting > 0 {
		err = fmt.Errorf("%d claims still wait", s.Waiting)
	}
	return err
}

// Ended reads the ledger.
func (i *signalboxInstance) Ended(ctx context.Context) (map[string]int, error) {
	all := map[string]int{}
	err := i.client.Events(ctx, "", 0, false, func(e api.Event) error {
		var stored ledger.Event
		if err := json.Unmarshal(e.Event, &stored); err != nil {
			return err
		}
		if stored.Type != work.AgentSessionCompleted {
			return nil
		}
		var said agentsig.AgentSessionCompleted
		if err := json.Unmarshal(stored.Payload, &said); err != nil {
			return err
		}
		if said.NextPhase == agentsig.PhaseCompleted {
			all[e.Work]++
		}
		return nil
	})
	return all, err
}

func (i *signalboxInstance) Processes() []int { return []int{i.process.ID()} }

func (i *signalboxInstance) Stop() error {
	if i.client != nil {
		i.client.Close()
	}
	return errors.Join(i.process.Stop(), i.out.Close(), os.RemoveAll(i.dir))
}
