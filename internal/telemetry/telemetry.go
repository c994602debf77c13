// Package telemetry is what a box tells Prometheus: counters that follow the ledger, gauges that are counted when somebody asks,
// and how long writing takes. It owns Prometheus's client library.
//
// Counters begin at 0 when a box starts, as Prometheus expects of them: what the ledger had before is not read again, so a start
// takes no longer. Of runs that go on their present state is taken over, so that agents which outlive a box are known by their
// names. The ledger's size alone, signalbox_ledger_events_total, is that of all its life.
//
// No label is an id, and none has more values than [maxValues]: whatever more there is, is "other".
package telemetry

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/gate"
	"github.com/signalbox-dev/signalbox/internal/stats"
)

// Metrics are what a box tells.
type Metrics struct {
	registry *prometheus.Registry
	agents   names // of agents
	checks   names // of checks

	questionWait prometheus.Histogram
	turns        *prometheus.HistogramVec
	signals      *prometheus.CounterVec
	nearMisses   *prometheus.CounterVec
	checkTimes   *prometheus.HistogramVec
	merges       *prometheus.CounterVec
	tokens       *prometheus.CounterVec
	cost         *prometheus.CounterVec
	paused       prometheus.Counter
	appends      prometheus.Histogram
	syncs        prometheus.Histogram
}

// Buckets of histograms, in seconds: what a disk takes, what a check takes, what an agent takes, what a person takes.
var (
	diskTimes   = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	checkTimes  = []float64{.1, .5, 1, 5, 15, 60, 180, 600, 1800, 3600}
	turnTimes   = []float64{5, 15, 60, 180, 600, 1800, 3600, 7200, 14400}
	personTimes = []float64{15, 60, 300, 900, 3600, 14400, 43200, 86400, 259200}
)

// New returns metrics of a program of this version. [Metrics.Follow] has them count.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), agents: newNames(), checks: newNames()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(h)
		return h
	}
	one := func(h *prometheus.HistogramVec) prometheus.Histogram {
		return h.WithLabelValues().(prometheus.Histogram)
	}
	m.questionWait = one(histogram("signalbox_question_wait_seconds", "How long questions of runs have waited for their answers.", personTimes))
	m.turns = histogram("signalbox_agent_turn_duration_seconds", "How long turns of agents took, by how they ended.", turnTimes, "role", "agent", "outcome")
	m.signals = counter("signalbox_signals_total", "Signals that were said, by what came of them.", "kind", "outcome")
	m.nearMisses = counter("signalbox_near_misses_total", "What was nearly a signal of an agent, by why it is none.", "reason", "agent")
	m.checkTimes = histogram("signalbox_gate_check_duration_seconds", "How long checks took, all tries of one together.", checkTimes, "check", "result")
	m.merges = counter("signalbox_merges_total", "Merges of work and of repairs, by what became of them.", "result")
	for _, r := range []stats.MergeResult{stats.Merged, stats.MergeFailed, stats.Declined} {
		m.merges.WithLabelValues(string(r))
	}
	m.tokens = counter("signalbox_tokens_total", "Tokens that agents have used, as their programs say.", "agent", "type")
	m.cost = counter("signalbox_cost_usd_total", "What agents have cost, as their programs say.", "agent")
	m.paused = counter("signalbox_provider_paused_seconds_total", "For how long agents' providers were paused, counted when a pause begins.").WithLabelValues()
	m.appends = one(histogram("signalbox_ledger_append_duration_seconds", "How long it took from the request to record an event until it was durable.", diskTimes))
	m.syncs = one(histogram("signalbox_archive_sync_duration_seconds", "How long writes of events to the archive took until they were durable.", diskTimes))
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "signalbox_build_info", Help: "1, with the version of the program.",
		ConstLabels: prometheus.Labels{"version": value(version), "goversion": runtime.Version()},
	}, func() float64 { return 1 }))
	return m
}

// Timing is for a box that is about to be opened.
func (m *Metrics) Timing() box.Timing {
	observe := func(h prometheus.Histogram) func(time.Duration) {
		return func(took time.Duration) { h.Observe(took.Seconds()) }
	}
	return box.Timing{Appended: observe(m.appends), Synced: observe(m.syncs)}
}

// Checked counts a check that ran.
func (m *Metrics) Checked(r gate.Result) {
	result := "passed"
	switch {
	case r.Flaky:
		result = "flaky"
	case r.TimedOut:
		result = "timed_out"
	case !r.Passed:
		result = "failed"
	}
	m.checkTimes.WithLabelValues(m.checks.bound(r.Name), result).Observe(r.Took.Seconds())
}

// see counts a fact.
func (m *Metrics) see(fact stats.Fact) {
	switch f := fact.(type) {
	case stats.Turn:
		if f.Took >= 0 {
			m.turns.WithLabelValues(role(f.Role), m.agents.bound(f.Agent), string(f.Outcome)).Observe(f.Took.Seconds())
		}
	case stats.NearMiss:
		m.nearMisses.WithLabelValues(reason(f.Reason), m.agents.bound(f.Agent)).Inc()
	case stats.Spent:
		agent := m.agents.bound(f.Agent)
		m.tokens.WithLabelValues(agent, "input").Add(float64(f.Usage.InputTokens))
		m.tokens.WithLabelValues(agent, "output").Add(float64(f.Usage.OutputTokens))
		if f.Usage.CostUSD > 0 { // a program that does not say what it costs has no series, rather than one of 0
			m.cost.WithLabelValues(agent).Add(f.Usage.CostUSD)
		}
	case stats.Signal:
		m.signals.WithLabelValues(kind(f.Kind), string(f.Outcome)).Inc()
	case stats.Merge:
		m.merges.WithLabelValues(string(f.Result)).Inc()
	case stats.Pause:
		m.paused.Add(f.For.Seconds())
	case stats.Answer:
		m.questionWait.Observe(f.Waited.Seconds())
	}
}

// Write writes all of them in Prometheus's text format.
func (m *Metrics) Write(w io.Writer) error {
	families, err := m.registry.Gather()
	if err != nil {
		return fmt.Errorf("the metrics can't be gathered: %w", err)
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return err
		}
	}
	return nil
}
