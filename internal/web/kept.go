package web

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// kept keeps what was made of the events of the tasks or runs that were looked at last, so that each event is read once and not each
// time that somebody looks. Everybody who may look may read everything, and who asks is asked for the events that are new in any case.
type kept[T any] struct {
	mu  sync.Mutex
	all []keptOne[T] // the latest last
}

type keptOne[T any] struct {
	name string
	of   *T
}

// tasks is what is kept of tasks.
type tasks struct {
	pasts kept[keptPast]
	cards kept[keptCard]

	looking sync.Mutex // held by who looks into a worktree
}

// maxTasks is for how many tasks something is kept.
const maxTasks = 32

// of returns what is kept for a name, for so many names at most. If nothing is, it is made.
func (k *kept[T]) of(name string, most int, anew func() *T) *T {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.all, func(o keptOne[T]) bool { return o.name == name })
	if i < 0 {
		k.all = append(k.all, keptOne[T]{name, anew()})
		k.all = slices.Delete(k.all, 0, max(0, len(k.all)-most))
		return k.all[len(k.all)-1].of
	}
	found := k.all[i]
	k.all = append(slices.Delete(k.all, i, i+1), found)
	return found.of
}

// drop forgets what is kept for a name.
func (k *kept[T]) drop(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = slices.DeleteFunc(k.all, func(o keptOne[T]) bool { return o.name == name })
}

// maxHappened is how many of a task's events are shown, the last ones.
const maxHappened = 200

// past is what happened to a task: its last events in words, and what the gate said.
type past struct {
	upTo     uint64      // the last event that was taken
	happened []happening // the last ones, the earliest first
	count    int         // all of them
	gate     string
	gated    uint64 // which event that was
}

// keptPast is a past that goes on.
type keptPast struct {
	mu sync.Mutex
	past
}

// happening is an event in words.
type happening struct {
	At   time.Time
	By   string
	Text string
}

// pastOf returns what has happened to a task up to an event.
func (p *Page) pastOf(ctx context.Context, c *api.Client, name string, upTo uint64) (past, error) {
	kept := p.tasks.pasts.of(name, maxTasks, func() *keptPast { return &keptPast{} })
	kept.mu.Lock()
	defer kept.mu.Unlock()
	_, id, _ := strings.Cut(name, ".")
	err := evidence.Events(ctx, c, name, kept.upTo, upTo, func(e evidence.Happened) error {
		kept.take(e, id)
		return nil
	})
	now := kept.past
	now.happened = slices.Clone(now.happened)
	return now, err
}

// take takes the next event of a task.
func (p *past) take(e evidence.Happened, id string) {
	p.upTo = e.Sequence
	words := strings.TrimPrefix(strings.TrimPrefix(delivery.Words(e.Event, func(string) string { return "" }), ": "), id+": ")
	if e.Type == work.GatePassed || e.Type == work.GateFailed {
		p.gate, p.gated = words, e.Sequence
	}
	if words == "" {
		return
	}
	p.count++
	p.happened = append(p.happened, happening{e.Time, e.Actor, words})
	p.happened = slices.Delete(p.happened, 0, max(0, len(p.happened)-maxHappened))
}

// gateWords say what the gate said last, if that was after the claim.
func (p *past) gateWords(claim *work.Statement) string {
	if p.gated == 0 || claim != nil && p.gated <= claim.Sequence {
		return "the gate has not run"
	}
	return p.gate
}
