//go:build linux

package e2e_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/work"
)

var (
	runnerCount   = flag.Int("runners", 2, "how many runners TestRunnersMany has; 20 for the full measure")
	runnerWorks   = flag.Int("sessions", 6, "how many sessions each of them has at once; 50 for the full measure")
	runnerWatched = flag.Duration("watched", 0, "how long TestRunnersMany looks at the processor of a box whose runners and sessions wait; 30s for the full measure")
)

// Many sessions at once on many runners. What runners and sessions that wait take of the box is printed, and how soon after a
// signal on one machine the next agent is started on another.
func TestRunnersMany(t *testing.T) {
	t.Parallel()
	count := *runnerCount * *runnerWorks
	m := newMeasured(t, fmt.Sprintf("checks: [{name: there, command: test -f README.md}]\nroles: {developer: {labels: [far]}, critic: {labels: [even]}, auditor: {labels: [odd]}}\nlimits: {agents: %d}\n", count))
	roles := []string{"developer", "critic", "auditor"}
	var ids []string
	for n := range count {
		ids = append(ids, fmt.Sprintf("T-%04d", n+1))
	}
	m.gated(roles, ids)
	f := newFleet(m.world, *runnerCount)
	bare := m.waiting(f, "no runner is there")
	for _, r := range f.far {
		r.start("--places", strconv.Itoa(2**runnerWorks)) // in the end, all auditors are on every other one
	}
	f.present()
	idle := m.waiting(f, fmt.Sprintf("%d runners wait", *runnerCount))
	t.Logf("a runner that waits takes %d KB of the box's heap, %d KB resident", (idle.heap-bare.heap) / *runnerCount >> 10, (idle.own-bare.own) / *runnerCount >> 10)

	began := time.Now()
	f.node.begin(m.world)
	var starts []time.Duration
	for i, role := range roles {
		m.within(time.Duration(count)*5*time.Second, "all are at work as "+role, func() bool { return len(m.stamps(role)) == count })
		if i == 0 {
			t.Logf("%d agents were started in %v", count, time.Since(began).Round(time.Millisecond))
			full := m.waiting(f, fmt.Sprintf("%d sessions wait for their agents", count))
			t.Logf("a task and its session take %d KB of the box's heap, %d KB resident", (full.heap-idle.heap)/count>>10, (full.own-idle.own)/count>>10)
			for _, r := range f.far[:1] {
				t.Logf("a runner with %d sessions: %.1f MB resident, %.1f of its own", len(r.sessions()),
					float64(kilobytes(r.cmd.Process.Pid, "status", "VmRSS:"))/1000*1.024, float64(kilobytes(r.cmd.Process.Pid, "status", "RssAnon:"))/1000*1.024)
			}
		}
		starts = append(starts, m.letAllGo(role, ids)...)
	}
	m.completed(f.node.finish(m.world))
	m.across(starts)
	f.over()
}

// waiting prints what a box holds in which nothing happens, and what it takes of the processor.
func (m *measured) waiting(f *fleet, what string) figure {
	m.t.Helper()
	before, _ := look(f.node.cmd.Process.Pid)
	select {
	case <-time.After(*runnerWatched):
	case <-m.t.Context().Done():
	}
	after, _ := look(f.node.cmd.Process.Pid)
	now := m.look(f.node)
	m.t.Logf("%s: %s; %v of the processor in %v", what, now, after.cpu-before.cpu, *runnerWatched)
	return now
}

// across prints how long the next agent of each task took to start, which works on another runner than the one before it.
func (m *measured) across(bare []time.Duration) {
	m.t.Helper()
	critics, auditors := m.stamps("critic"), m.stamps("auditor")
	at := map[string]string{} // the runner of a task's latest session
	var audits, gates []time.Duration
	for _, e := range m.events() {
		switch e.Type {
		case work.LeaseGranted, work.ReviewStarted:
			var p work.Granted
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				m.t.Fatal(err)
			}
			if p.Role == "auditor" && p.Runner == at[e.Work] {
				m.t.Errorf("the auditor of %s works where its critic did", e.Work)
			}
			at[e.Work] = p.Runner
		case work.GatePassed:
			gates = append(gates, critics[e.Work].Sub(e.Time))
		case "AgentSessionCompleted":
			if of(e) == "review_passed" {
				audits = append(audits, auditors[e.Work].Sub(e.Time))
			}
		}
	}
	base := percentile(bare, 50)
	m.t.Logf("a bare session's start: p50 %v, p99 %v of %d", base, percentile(bare, 99), len(bare))
	for _, l := range []struct {
		what  string
		times []time.Duration
	}{
		{"from GatePassed to the critic's start", gates},
		{"from REVIEW_PASSED to the auditor's start on another runner", audits},
	} {
		m.t.Logf("%s: p50 %v, p99 %v of %d; beyond the bare start's p50: p50 %v, p99 %v", l.what, percentile(l.times, 50), percentile(l.times, 99), len(l.times),
			percentile(l.times, 50)-base, percentile(l.times, 99)-base)
	}
	if len(audits) != len(auditors) {
		m.t.Errorf("%d auditors were started, and %d followed a critic", len(auditors), len(audits))
	}
}
