package sim_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// counts counts what was reached, by kind and name.
type counts map[string]map[string]int

func (c counts) add(kind, name string) {
	if c[kind] == nil {
		c[kind] = map[string]int{}
	}
	c[kind][name]++
}

func (c counts) merge(other counts) {
	for kind, names := range other {
		for name, n := range names {
			if c[kind] == nil {
				c[kind] = map[string]int{}
			}
			c[kind][name] += n
		}
	}
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// coverage is a table of what was reached, and what was not often enough.
func coverage(reached counts) (table string, missing []string) {
	want := map[string][]string{
		"event":   append(delivery.Types(), work.Types()...),
		"signal":  {string(agentsig.KindExit), string(agentsig.KindUnknown), string(agentsig.KindAmbiguous)},
		"world":   {"restart", "order failed", "order given again", "drained", "agent told", "a client's word", "message lost", "message doubled", "message overtaken", "acknowledgement lost", "turn without effect", "result without effect", "waits for a person", "repair passed", "repair refused", "repair left out", "plan amended", "resumed", "person refused", "person late", "cleaned", "machine lost", "machine back", "started elsewhere", "lead moved", "lead came back", "refused: leads no more"},
		"fresh":   freshCauses(),
		"forged":  {string(agentsig.ReasonWrongID), string(agentsig.ReasonWrongRole), string(agentsig.ReasonWrongNonce)},
		"since":   {string(work.SinceStart), string(work.SinceGate), string(work.SinceReview), string(work.SinceAudit), string(work.SinceMerge)},
		"outcome": {string(delivery.Completed), string(delivery.Partial), string(delivery.Cancelled), string(delivery.Halted)},
	}
	for _, e := range agentsig.Vocabulary() {
		if e.Dialect == agentsig.DialectLine {
			want["signal"] = append(want["signal"], string(e.Kind))
		}
	}
	for _, kind := range faultKinds {
		want["world"] = append(want["world"], string(kind))
	}
	for _, err := range rejections {
		want["refused"] = append(want["refused"], err.Error())
	}
	for _, c := range causes {
		want["cause"] = append(want["cause"], string(c))
	}
	for _, h := range []delivery.How{delivery.Done, delivery.Crashed, delivery.TimedOut, delivery.Stalled, delivery.Limited, delivery.Stopped, delivery.Orphaned, delivery.Broken, delivery.Lost} {
		want["ended"] = append(want["ended"], string(h))
	}
	var b strings.Builder
	for _, kind := range []string{"event", "signal", "cause", "refused", "forged", "since", "ended", "outcome", "fresh", "world"} {
		names := reached[kind]
		if names == nil {
			names = map[string]int{}
		}
		for _, name := range want[kind] {
			if names[name] < 100 {
				missing = append(missing, fmt.Sprintf("%s %q was reached %d times", kind, name, names[name]))
			}
			names[name] += 0
		}
		for _, name := range sortedKeys(names) {
			fmt.Fprintf(&b, "%-8s %9d  %s\n", kind, names[name], name)
		}
	}
	return b.String(), missing
}

// causes are all that a person is asked for; the environment's own trouble is not.
var causes = []delivery.Cause{
	delivery.CauseClarification, delivery.CauseIncomplete, delivery.CauseLowConfidence, delivery.CauseExit, delivery.CauseReviews,
	delivery.CauseFinding, delivery.CauseAudits, delivery.CauseGates, delivery.CauseUnchanged, delivery.CauseMerges, delivery.CauseCrashes, delivery.CauseTimeouts,
	delivery.CauseObstacles, delivery.CauseExpert, delivery.CauseExpertAttempts, delivery.CauseExpertRequests, delivery.CauseConflict,
	delivery.CauseRemediation, delivery.CauseBudget, delivery.CauseOperator, delivery.CauseRole,
}
