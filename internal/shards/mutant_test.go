package main

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of the simulation, left out, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^Test(QueueAgainstFormula|EverySignalOnce|Waiting|Lose|NoRunMoves|Grow|Skew|SameSeed|Refused)$", []mutant.Mutant{
		{Name: "nothing waits for what is served", File: "shard.go", Old: "begin := max(at, s.free)", New: "begin := at"},
		{Name: "a shard that is down serves", File: "shard.go", Old: "\t\tbegin = s.till\n", New: "\t\tbegin += 0\n"},
		{Name: "what was interrupted is answered", File: "shard.go", Old: "begin+s.service > s.from", New: "begin > s.from"},
		{Name: "it goes on where it was interrupted", File: "shard.go", Old: "\t\tbegin = s.till\n", New: "\t\tbegin += s.till - s.from\n"},
		{Name: "what is answered now still waits", File: "shard.go", Old: "s.answers[done] <= at", New: "s.answers[done] < at"},
		{Name: "signals come at even times", File: "shard.go", Old: "r.ExpFloat64() * mean", New: "(1 + 0*r.Float64()) * mean"},
		{Name: "runs move when shards are added", File: "placement.go", Old: "at := run.random % sum", New: "at := (run.random + uint64(len(p))) % sum"},
		{Name: "a run belongs to the epoch before its own", File: "placement.go", Old: "\tif !exact {\n\t\tn--\n", New: "\tif exact || n > 0 {\n\t\tn = max(n-1, 0)\n"},
		{Name: "a share is for the next shard", File: "placement.go", Old: "if at < share {", New: "if at <= share {"},
		{Name: "old shards get none for ever", File: "scenarios.go", Old: "p = append(p, epoch{evenAfter(g), evenly(0, g.after)})", New: "_ = evenAfter(g)"},
		{Name: "the hot run is on all shards", File: "scenarios.go", Old: "if r.Float64() >= hot {", New: "if r.Float64() >= 0 {"},
		{Name: "what waited for another counts as drained", File: "scenarios.go", Old: "if answer == at+service && at >= first.till {", New: "if at >= first.till {"},
	}))
}
