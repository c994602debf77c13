package web

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/evidence"
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

// past is what happened to a task: its last events in words.
type past struct {
	upTo     uint64      // up to which events were taken
	happened []happening // the last ones, the earliest first
	count    int         // all of them
}

// keptPast is a past that goes on.
type keptPast struct {
	mu sync.Mutex
	past
	about evidence.About // which events of the task's run are about the task
}

// happening is an event in words.
type happening struct {
	Sequence uint64
	At       time.Time
	By       string
	Text     string
}

// pastOf returns what has happened to a task up to an event: by its own events, and by those of its run that are about it.
func (p *Page) pastOf(ctx context.Context, c *api.Client, item api.Work, upTo uint64) (past, error) {
	run, task, _ := strings.Cut(item.ID, ".")
	kept := p.tasks.pasts.of(item.ID, maxTasks, func() *keptPast { return &keptPast{about: evidence.NewAbout(item.Subject, task)} })
	kept.mu.Lock()
	defer kept.mu.Unlock()
	var events []evidence.Happened
	var err error
	for _, name := range []string{item.ID, run} {
		if upTo > kept.upTo && err == nil {
			err = evidence.Events(ctx, c, name, kept.upTo, upTo, func(e evidence.Happened) error {
				if name == item.ID || kept.concerns(e) {
					events = append(events, e)
				}
				return nil
			})
		}
	}
	if err == nil {
		slices.SortFunc(events, func(a, b evidence.Happened) int { return cmp.Compare(a.Sequence, b.Sequence) })
		for _, e := range events {
			kept.take(e)
		}
		kept.upTo = max(kept.upTo, upTo)
	}
	now := kept.past
	now.happened = slices.Clone(now.happened)
	return now, err
}

// dull are events of runs that say nothing which is not told otherwise.
var dull = []string{delivery.UsageReported, delivery.PromptDelivered, delivery.SignalNoted, delivery.ToolCalled, delivery.ToolReturned, delivery.ModelSignalled, delivery.WorkPushed}

// concerns reports whether an event of the run is told of the task.
func (k *keptPast) concerns(e evidence.Happened) bool {
	if !k.about.Has(e.Event, evidence.ConcernsOf(e.Event)) || slices.Contains(dull, e.Type) {
		return false
	}
	var p delivery.Ended
	return e.Type != delivery.SessionEnded || json.Unmarshal(e.Payload, &p) != nil || p.How != delivery.Done // what it did is told
}

// take takes the next event.
func (p *past) take(e evidence.Happened) {
	p.count++
	p.happened = append(p.happened, happening{e.Sequence, e.Time, e.Actor, delivery.Sentence(e.Event)})
	p.happened = slices.Delete(p.happened, 0, max(0, len(p.happened)-maxHappened))
}
