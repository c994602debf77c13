// Package bench measures a machine: how many handoffs a box makes in a second and
// how long they take, against the bare engine in the same run.
package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Options say what to measure.
type Options struct {
	Program  string // the signalbox program, which runs the box in a process of its own
	Dir      string // for the stores; what is made in it stays there
	Items    int    // work items in each round: three handoffs each
	Clients  int    // at once
	Rounds   int    // of box and bare engine, in turn
	Rate     int    // signals a second, for the latency
	Progress func(string)
}

// Result is what was measured. A handoff is a grant and a completion, so the ratio
// is that of appends.
type Result struct {
	Handoffs float64 `json:"handoffs_per_s"`
	Bare     float64 `json:"bare_appends_per_s"`
	Ratio    float64 `json:"ratio"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`

	Items   int `json:"items"`
	Clients int `json:"clients"`
	Signals int `json:"signals"` // that the latency was measured on
}

// phases that an agent hands over one after the other without the gate.
var phases = []agentsig.Phase{agentsig.PhaseReadyForReview, agentsig.PhaseReview, agentsig.PhaseReadyForMerge}

// Run measures: throughput with the clients working as fast as they can, box and
// bare engine in turn, the median of the rounds; then latency in an open loop.
func Run(ctx context.Context, o Options) (Result, error) {
	b, err := startBox(ctx, o)
	if err != nil {
		return Result{}, err
	}
	r, err := o.measure(ctx, b)
	return r, errors.Join(err, b.stop())
}

func (o Options) measure(ctx context.Context, b *running) (Result, error) {
	r := Result{Items: o.Items, Clients: o.Clients}
	var handoffs, bare []float64
	for round := range o.Rounds {
		o.Progress(fmt.Sprintf("round %d of %d", round+1, o.Rounds))
		h, err := o.throughput(ctx, b, round)
		if err != nil {
			return r, err
		}
		e, err := o.bare(ctx, round)
		if err != nil {
			return r, err
		}
		handoffs, bare = append(handoffs, h), append(bare, e)
	}
	r.Handoffs, r.Bare = median(handoffs), median(bare)
	r.Ratio = 2 * r.Handoffs / r.Bare
	o.Progress(fmt.Sprintf("latency at %d signals/s", o.Rate))
	took, err := o.latency(ctx, b)
	if err != nil {
		return r, err
	}
	slices.Sort(took)
	r.Signals = len(took)
	r.P50, r.P99 = ms(took[len(took)/2]), ms(took[len(took)*99/100])
	return r, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// running is a box in a process of its own.
type running struct {
	cmd    *exec.Cmd
	client *api.Client
}

func startBox(ctx context.Context, o Options) (*running, error) {
	dir := filepath.Join(o.Dir, "box")
	cmd := exec.CommandContext(ctx, o.Program, "up", "--dir", dir, "--json")
	cmd.Env = append(os.Environ(), agentsig.ExitProtocolVariable+"=true")
	cmd.Dir = o.Dir // away from any signalbox.yaml
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var found struct {
		Address string `json:"address"`
	}
	if err == nil {
		err = json.Unmarshal(line, &found)
	}
	var token []byte
	if err == nil {
		token, err = os.ReadFile(filepath.Join(dir, "api.token"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the box did not start: %w", err), cmd.Cancel(), cmd.Wait())
	}
	return &running{cmd, api.NewClient(found.Address, string(token[:len(token)-1]))}, nil
}

func (b *running) stop() error {
	b.client.Close()
	return errors.Join(b.cmd.Process.Signal(syscall.SIGTERM), b.cmd.Wait())
}

// each runs f for the numbers below n, in as many goroutines as there are clients.
// It ends at the first error.
func (o Options) each(ctx context.Context, n int, f func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var clients sync.WaitGroup
	for range o.Clients {
		clients.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := f(ctx, int(i)); err != nil {
					cancel(err)
				}
			}
		})
	}
	clients.Wait()
	return context.Cause(ctx)
}

func (o Options) addItems(ctx context.Context, b *running, name string) error {
	return o.each(ctx, o.Items, func(ctx context.Context, i int) error {
		_, err := b.client.Add(ctx, api.AddWork{ID: fmt.Sprintf("%s-%d", name, i), Title: "measured", Phase: phases[0]})
		return err
	})
}

// throughput returns how many handoffs the box made in a second.
func (o Options) throughput(ctx context.Context, b *running, round int) (float64, error) {
	if err := o.addItems(ctx, b, fmt.Sprintf("t%d", round)); err != nil {
		return 0, err
	}
	outputs := map[agentsig.Phase][]byte{}
	for _, p := range phases {
		outputs[p] = output(p)
	}
	n := o.Items * len(phases)
	begun := time.Now()
	err := o.each(ctx, n, func(ctx context.Context, _ int) error {
		g, err := b.client.Claim(ctx, api.Claim{Actor: "bench", Wait: true})
		if err != nil {
			return err
		}
		return accepted(b.client.Emit(ctx, g.Session, outputs[g.Phase]))
	})
	return float64(n) / time.Since(begun).Seconds(), err
}

func accepted(e api.Emitted, err error) error {
	if err == nil && !e.Accepted {
		err = errors.New(e.Error)
	}
	return err
}

func output(p agentsig.Phase) []byte {
	data, err := agentsig.NewExitSignal(p, agentsig.ExitCompleted).WithNotes("measured").JSON()
	if err != nil {
		panic(err) // one of our own phases
	}
	return append(data, '\n')
}

// eventSize is the mean of a grant (367 bytes) and a completion (801) as the box
// stores them here.
const eventSize = 584

// bare returns how many records the log by itself stores in a second: synced, from as
// many goroutines, on as many subjects, each on the condition that it continues its subject.
func (o Options) bare(ctx context.Context, round int) (rate float64, err error) {
	log, end, err := bareLog(ctx, filepath.Join(o.Dir, fmt.Sprintf("bare%d", round)))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	steps := 2 * len(phases)
	begun := time.Now()
	err = o.each(ctx, o.Items, func(ctx context.Context, i int) error {
		subject := fmt.Sprintf("subject%d", i)
		data := fmt.Appendf(nil, `{"subject":%q,"filler":%q}`, subject, strings.Repeat("x", eventSize))[:eventSize]
		last := uint64(0)
		for range steps {
			seq, err := log.Append(ctx, subject, last, data)
			if err != nil {
				return err
			}
			last = seq
		}
		return nil
	})
	return float64(o.Items*steps) / time.Since(begun).Seconds(), err
}

// bareLog opens a log with nothing around it but who knows the last record of each subject.
func bareLog(ctx context.Context, dir string) (*archive.Log, func() error, error) {
	signer, verifier, err := ledger.NewKey(ledger.Origin("bench", 1))
	if err != nil {
		return nil, nil, err
	}
	a, err := archive.Open(archive.Dir(dir), archive.Keys{Signer: signer, Verifier: verifier})
	if err != nil {
		return nil, nil, err
	}
	if _, err := a.Start(ctx, 0); err != nil {
		return nil, nil, err
	}
	last := map[string]uint64{} // the log's writer alone asks
	log := archive.NewLog(a, archive.Follower{
		Last: func(subject string) (uint64, error) { return last[subject], nil },
		Fold: func(records []engine.Record) error {
			for _, r := range records {
				last[r.Subject] = r.Seq
			}
			return nil
		},
		Ended: func(error) {},
	})
	return log, func() error { return errors.Join(log.Close(), a.Close()) }, nil
}
