package telemetry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/stats"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Follower counts what a box records.
type Follower struct {
	metrics *Metrics
	box     *box.Box
	fold    stats.Fold
	from    uint64 // the first event that is counted
}

// Follow takes over how the runs of a box are, so it is called before anything is recorded, and once. [Follower.Run] counts.
func (m *Metrics) Follow(b *box.Box) *Follower {
	f := &Follower{metrics: m, box: b, from: b.UpTo() + 1}
	l := b.Ledger()
	for _, run := range l.LiveRuns() {
		l.WithRun(run, func(r *delivery.Run) { f.fold.Resume(r) })
	}
	m.registry.MustRegister(gauges{b})
	return f
}

// Run counts until ctx ends or the box stops, and returns why.
func (f *Follower) Run(ctx context.Context) error {
	return f.box.Watch(ctx, f.from, func(records []engine.Record) error {
		for _, r := range records {
			e, err := ledger.Decode(r.Data)
			if err == nil {
				err = f.fold.Next(e, f.metrics.see)
			}
			if err != nil {
				return fmt.Errorf("event %d: %w", r.Seq, err)
			}
		}
		return nil
	})
}

// gauges are counted when somebody asks.
type gauges struct{ box *box.Box }

var (
	runsDesc      = prometheus.NewDesc("signalbox_runs", "Runs of plans, by what they do.", []string{"state"}, nil)
	tasksDesc     = prometheus.NewDesc("signalbox_tasks", "Tasks of runs that go on, and work that stands alone until it is COMPLETED, by phase.", []string{"phase"}, nil)
	questionsDesc = prometheus.NewDesc("signalbox_questions_open", "What waits for a person, by cause.", []string{"cause"}, nil)
	claimsDesc    = prometheus.NewDesc("signalbox_claims_waiting", "Claims that wait for work.", nil, nil)
	eventsDesc    = prometheus.NewDesc("signalbox_ledger_events_total", "Events in the ledger, of all its life.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (g gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{runsDesc, tasksDesc, questionsDesc, claimsDesc, eventsDesc} {
		to <- d
	}
}

// Collect implements [prometheus.Collector]. Every state and phase is told, also if there is none.
func (g gauges) Collect(to chan<- prometheus.Metric) {
	figures := g.box.Figures()
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	for _, s := range []api.RunState{api.RunRunning, api.RunWaiting, api.RunPaused, api.RunEnding, api.RunStopped, api.RunFinished} {
		gauge(runsDesc, figures.Runs[s], string(s))
	}
	for _, p := range agentsig.Phases() {
		gauge(tasksDesc, figures.Tasks[p], string(p))
	}
	for cause, n := range bounded(figures.Questions) {
		gauge(questionsDesc, n, cause)
	}
	gauge(claimsDesc, figures.Claims)
	to <- prometheus.MustNewConstMetric(eventsDesc, prometheus.CounterValue, float64(figures.Events))
}

// bounded adds up what can't be a label's value, or is one too many.
func bounded(counts map[string]int) map[string]int {
	out := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		n := counts[name]
		if name = value(name); out[name] == 0 && len(out) >= maxValues {
			name = other
		}
		out[name] += n
	}
	return out
}
