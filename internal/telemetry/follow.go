package telemetry

import (
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/stats"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Follow counts what a box records from now on, and takes over how its runs are. It is called once, and before the box is asked for
// anything.
func (m *Metrics) Follow(b *box.Box) {
	var mu sync.Mutex
	var fold stats.Fold
	mu.Lock() // what is recorded meanwhile comes after how the runs are
	defer mu.Unlock()
	b.WhenRecorded(func(e ledger.Event) {
		mu.Lock()
		defer mu.Unlock()
		_ = fold.Next(e, m.see) // the box has read the payload too, and takes none that can't be read
	})
	l := b.Ledger()
	for _, run := range l.LiveRuns() {
		l.WithRun(run, func(r *delivery.Run) { fold.Resume(r) })
	}
	m.registry.MustRegister(gauges{b})
}

// gauges are counted when somebody asks.
type gauges struct{ box *box.Box }

var (
	runsDesc      = prometheus.NewDesc("signalbox_runs", "Runs of plans, by what they do.", []string{"state"}, nil)
	waitingDesc   = prometheus.NewDesc("signalbox_tasks_waiting", "Tasks of runs that go on and wait for something, by what they wait for.", []string{"reason"}, nil)
	tasksDesc     = prometheus.NewDesc("signalbox_tasks", "Tasks of runs that go on, and work that stands alone until it is COMPLETED, by phase.", []string{"phase"}, nil)
	questionsDesc = prometheus.NewDesc("signalbox_questions_open", "What waits for a person, by cause.", []string{"cause"}, nil)
	claimsDesc    = prometheus.NewDesc("signalbox_claims_waiting", "Claims that wait for work.", nil, nil)
	eventsDesc    = prometheus.NewDesc("signalbox_ledger_events_total", "Events in the ledger, of all its life.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (g gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{runsDesc, tasksDesc, waitingDesc, questionsDesc, claimsDesc, eventsDesc} {
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
	for _, w := range delivery.Waits() {
		switch w {
		case delivery.WaitCompleted, delivery.WaitCancelled, delivery.WaitSession: // it waits for nothing
		default:
			gauge(waitingDesc, figures.Waiting[w], string(w))
		}
	}
	for cause, n := range bounded(figures.Questions) {
		gauge(questionsDesc, n, cause)
	}
	gauge(claimsDesc, figures.Claims)
	to <- prometheus.MustNewConstMetric(eventsDesc, prometheus.CounterValue, float64(figures.Events))
}

// Runners has the runners of a box counted when somebody asks. It is called once at most.
func (m *Metrics) Runners(all func() []api.Runner) { m.registry.MustRegister(runners(all)) }

// runners are counted by state. Their names are no label: a series would go on for each that there ever was, and `signalbox runner list`
// has them.
type runners func() []api.Runner

var runnersDesc = prometheus.NewDesc("signalbox_runners", "Runners on other machines that have joined, by state.", []string{"state"}, nil)

// Describe implements [prometheus.Collector].
func (r runners) Describe(to chan<- *prometheus.Desc) { to <- runnersDesc }

// Collect implements [prometheus.Collector].
func (r runners) Collect(to chan<- prometheus.Metric) {
	n := map[string]int{}
	for _, one := range r() {
		n[one.State]++
	}
	for _, state := range []string{api.RunnerPresent, api.RunnerDraining, api.RunnerLost} {
		to <- prometheus.MustNewConstMetric(runnersDesc, prometheus.GaugeValue, float64(n[state]), state)
	}
}

// Cluster has the cluster that a box is in told of when somebody asks. It is called once at most.
func (m *Metrics) Cluster(how func() api.ClusterStatus) { m.registry.MustRegister(cluster(how)) }

// cluster is how the cluster is, by the box that is asked. Each box tells of itself: which one it is, Prometheus knows by its address.
type cluster func() api.ClusterStatus

var (
	membersDesc = prometheus.NewDesc("signalbox_cluster_members", "Boxes of the cluster that this one is in.", nil, nil)
	leadsDesc   = prometheus.NewDesc("signalbox_cluster_leads", "1 if this box leads its cluster, or else 0.", nil, nil)
	lagDesc     = prometheus.NewDesc("signalbox_cluster_lag_events", "Events that another box of the cluster has, and this one does not yet.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (c cluster) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{membersDesc, leadsDesc, lagDesc} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c cluster) Collect(to chan<- prometheus.Metric) {
	how := c()
	leads, lag := 0., 0.
	for _, m := range how.Members {
		if m.Name == how.Self && m.Role != api.RoleInvited { // whoever is invited in its place may have its name
			lag = float64(m.Lag)
		}
	}
	if how.Leader == how.Self {
		leads = 1
	}
	for d, n := range map[*prometheus.Desc]float64{membersDesc: float64(how.Short().Boxes), leadsDesc: leads, lagDesc: lag} {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n)
	}
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
