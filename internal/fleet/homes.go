package fleet

import (
	"context"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/order"
)

// What is asked of all homes is asked of this box's, whose word counts, and of those others that are reached: what lies at one that is not stays
// there, and is found when it is asked for again.

// gather adds what the homes of other boxes say to what this one's has said.
func gather[T any](f *Fleet, own []T, err error, ask func(Home) ([]T, error)) ([]T, error) {
	if err != nil {
		return own, err
	}
	for _, h := range f.others() {
		its, err := ask(h)
		if err != nil {
			f.o.Logger.Warn("what runs have left at another box is not known", "error", err)
			continue
		}
		own = append(own, its...)
	}
	return own, nil
}

// Marked returns the runs that may have left something, at any home. Of those that are known each home is told its own.
func (f *Fleet) Marked(known func() []string) ([]string, error) {
	its := func(h Home) func() []string {
		return func() []string {
			return slices.DeleteFunc(slices.Clone(known()), func(run string) bool { return f.homeOf(run).Home != h })
		}
	}
	own, err := f.o.Home.Marked(its(f.o.Home))
	return gather(f, own, err, func(h Home) ([]string, error) { return h.Marked(its(h)) })
}

// Unmark forgets a run that was never recorded, so nobody knows at whose home.
func (f *Fleet) Unmark(subject string) {
	f.o.Home.Unmark(subject)
	for _, h := range f.others() {
		h.Unmark(subject)
	}
}

// Records returns what sessions said and checks printed at all homes.
func (f *Fleet) Records(ctx context.Context) ([]order.Record, error) {
	own, err := f.o.Home.Records(ctx)
	return gather(f, own, err, func(h Home) ([]order.Record, error) { return h.Records(ctx) })
}

// RunsLeft returns the ids of the runs that branches or worktrees are named after, at any home.
func (f *Fleet) RunsLeft(ctx context.Context) ([]string, error) {
	own, err := f.o.Home.RunsLeft(ctx)
	all, err := gather(f, own, err, func(h Home) ([]string, error) { return h.RunsLeft(ctx) })
	var once []string
	for _, id := range all {
		if !slices.Contains(once, id) {
			once = append(once, id)
		}
	}
	return once, err
}

// Homes is how large what checks left for the next run's is at all homes, in bytes.
func (f *Fleet) Homes(ctx context.Context) int64 {
	all := f.o.Home.Homes(ctx)
	for _, h := range f.others() {
		all += h.Homes(ctx)
	}
	return all
}
