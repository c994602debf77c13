package conductor

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// inFlight are the commands that are under way, by id.
type inFlight struct {
	mu      sync.Mutex
	due     map[string]*flight
	running sync.WaitGroup
}

// flight is a command under way.
type flight struct {
	cancel context.CancelFunc
	do     delivery.Verb
	runner string // who carries it out
}

// gates returns who carries out each of the gate's commands that are under way.
func (f *inFlight) gates() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]string{}
	for id, own := range f.due {
		if own.do == delivery.DoGate {
			all[id] = own.runner
		}
	}
	return all
}

// update begins what is not under way yet, and ends what is not due any more.
func (f *inFlight) update(ctx context.Context, d *decider, commands []delivery.Command) {
	f.mu.Lock()
	defer f.mu.Unlock()
	due := map[string]bool{}
	for _, cmd := range commands {
		due[cmd.ID] = true
		if now := f.due[cmd.ID]; now != nil && now.runner != cmd.Runner { // somebody else carries it out from now on
			f.drop(cmd.ID)
		}
		if f.due[cmd.ID] != nil || ctx.Err() != nil {
			continue
		}
		flying, cancel := context.WithCancel(ctx)
		own := &flight{cancel, cmd.Do, cmd.Runner}
		f.due[cmd.ID] = own
		f.running.Go(func() { f.fly(flying, d, cmd, own) })
	}
	for id := range f.due {
		if !due[id] {
			f.drop(id)
		}
	}
}

// drop ends a command that is under way. The caller holds the lock.
func (f *inFlight) drop(id string) {
	f.due[id].cancel()
	delete(f.due, id)
}

// fly carries out a command. One that failed is forgotten after a while, so that it
// begins anew if it is still due.
func (f *inFlight) fly(ctx context.Context, d *decider, cmd delivery.Command, own *flight) {
	err := d.carryOut(ctx, cmd)
	if err == nil || ctx.Err() != nil {
		return
	}
	d.logger.Warn("a command of a run was not carried out", "run", d.subject, "command", cmd.ID, "error", err)
	select {
	case <-time.After(unsurePause):
	case <-ctx.Done():
		return
	}
	f.mu.Lock()
	if f.due[cmd.ID] == own {
		delete(f.due, cmd.ID)
	}
	f.mu.Unlock()
	own.cancel()
	d.stir()
}

// end cancels everything and waits for it.
func (f *inFlight) end() {
	f.mu.Lock()
	for _, own := range f.due {
		own.cancel()
	}
	f.mu.Unlock()
	f.running.Wait()
}
