package box

import (
	"context"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/index"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Lists are read page by page, in the order of the subjects, which is the order of adding. A page
// begins after a subject, so that what is added or moves meanwhile neither repeats nor shifts one.

// itemsAfter returns the items in a phase, or in any, whose subjects come after one: so many at most,
// and whether there are more.
func (s *state) itemsAfter(ctx context.Context, phase agentsig.Phase, after string, limit int) (items []work.Item, more bool, err error) {
	for {
		subjects, more, err := s.after(ctx, index.Query{Kind: index.Item, After: after, Phase: phase, Limit: limit - len(items)}, func(add func(string)) {
			for subject, i := range s.items {
				if phase == "" || i.Phase == phase {
					add(subject)
				}
			}
		})
		if err != nil {
			return nil, false, err
		}
		for _, subject := range subjects {
			if i := s.item(subject); i.Exists() && (phase == "" || i.Phase == phase) {
				items = append(items, i)
			}
			after = subject
		}
		if !more || len(items) == limit { // in the index an item may have the phase that it left with
			return items, more, nil
		}
	}
}

// runsAfter returns the subjects of runs that come after one, or only of those that have not ended:
// so many at most, and whether there are more.
func (s *state) runsAfter(ctx context.Context, live bool, after string, limit int) (subjects []string, more bool, err error) {
	if live {
		first := s.firstOf(after)
		for _, subject := range s.liveRuns() {
			if s.firstOf(subject) > first {
				subjects = append(subjects, subject)
			}
		}
		return subjects[:min(len(subjects), limit)], len(subjects) > limit, nil
	}
	return s.after(ctx, index.Query{Kind: index.Run, After: after, Limit: limit}, func(add func(string)) {
		for subject := range s.runs {
			add(subject)
		}
	})
}

// firstOf returns the sequence of the first event of a run that is in memory; 0 for none.
func (s *state) firstOf(run string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[run]; r != nil {
		return r.First
	}
	return 0
}

// after returns the subjects that answer a query, of what is in memory and of what has left it: as
// many as its limit, and whether there are more. Here lists those in memory; it is called under the lock.
func (s *state) after(ctx context.Context, q index.Query, here func(add func(subject string))) ([]string, bool, error) {
	first := least{limit: q.Limit}
	s.mu.Lock()
	p := s.past
	here(func(subject string) {
		if subject > q.After {
			first.add(subject)
		}
	})
	s.mu.Unlock()
	if p != nil { // what leaves memory now is in both, and what comes back too
		q.Limit++
		left, err := p.index.List(ctx, q)
		switch {
		case err != nil && ctx.Err() != nil: // whoever asked has gone: that is no trouble of the index
			return nil, false, ctx.Err()
		case err != nil:
			return nil, false, p.trouble(err)
		}
		for _, r := range left {
			first.add(r.Subject)
		}
	}
	all, more := first.page()
	return all, more, nil
}

// least keeps the smallest of many texts, each once: one more than the limit.
type least struct {
	limit int
	kept  []string
	bound string // what is not before it is not among the smallest; empty if that is not known yet
}

func (l *least) add(text string) {
	if l.bound != "" && text >= l.bound {
		return
	}
	l.kept = append(l.kept, text)
	if len(l.kept) > 2*(l.limit+1) {
		l.cut()
		l.bound = l.kept[l.limit]
	}
}

func (l *least) cut() {
	slices.Sort(l.kept)
	l.kept = slices.Compact(l.kept)
	l.kept = l.kept[:min(len(l.kept), l.limit+1)]
}

// page returns the smallest in their order, and whether there are more.
func (l *least) page() (all []string, more bool) {
	l.cut()
	if more = len(l.kept) > l.limit; more {
		l.kept = l.kept[:l.limit]
	}
	return l.kept, more
}

// List returns items in a phase, or in any, no more than the limit, which is at least 1.
func (b *Box) List(ctx context.Context, phase agentsig.Phase, from api.From) (api.Page[api.Work], error) {
	after := ""
	if from.After != "" {
		i, err := b.state.exact(from.After)
		if err != nil {
			return api.Page[api.Work]{}, badAfter("work item", from.After)
		}
		after = i.Subject
	}
	items, more, err := b.state.itemsAfter(ctx, phase, after, from.Limit)
	if err != nil {
		return api.Page[api.Work]{}, err
	}
	page := api.Page[api.Work]{Items: []api.Work{}}
	for _, i := range items {
		page.Items = append(page.Items, b.show(i))
	}
	if more {
		page.Next = items[len(items)-1].ID
	}
	return page, nil
}

// Runs returns runs; with live only those that have not ended.
func (b *Box) Runs(ctx context.Context, live bool, from api.From) (api.Page[api.Run], error) {
	after := ""
	if from.After != "" {
		var err error
		if after, err = b.state.runNamed(from.After); err != nil {
			return api.Page[api.Run]{}, badAfter("run", from.After)
		}
	}
	subjects, more, err := b.state.runsAfter(ctx, live, after, from.Limit)
	if err != nil {
		return api.Page[api.Run]{}, err
	}
	page := api.Page[api.Run]{Items: []api.Run{}}
	for _, subject := range subjects {
		v, err := b.showRun(subject)
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, v)
	}
	if more {
		page.Next = page.Items[len(page.Items)-1].ID
	}
	return page, nil
}

// latestRun returns the subject of the latest run that has not ended, or of the latest.
func (s *state) latestRun() (string, error) {
	if live := s.liveRuns(); len(live) > 0 {
		return live[len(live)-1], nil
	}
	return s.runNamed("")
}

func badAfter(kind, id string) error {
	return BadRequest{fmt.Errorf("after names the last %s that was seen, and there is no %s %s: leave it out to begin with the first", kind, kind, safetext.Escape(id))}
}
