package delivery_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed.
func TestProtectionMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestProtection$|TestSettingsProtect", []mutant.Mutant{
		{Name: "a run that does not say is held", File: "protect.go",
			Old: "if r.Settings.Protection != Held ||", New: "if r.Settings.Protection == Unheld ||"},
		{Name: "a run that goes on without a sandbox stays held", File: "protect.go",
			Old: "t.Lost = t.Lost || t.Item.Phase", New: "t.Lost = t.Lost || false && t.Item.Phase"},
		{Name: "what was completed before is held no longer", File: "protect.go",
			Old: "t.Lost = t.Lost || t.Item.Phase != agentsig.PhaseCompleted", New: "t.Lost = true"},
		{Name: "an override leaves a task held", File: "protect.go", Old: "t.Skipped = true", New: "t.Skipped = false"},
		{Name: "one who claims is trusted", File: "protect.go", Old: `before.Lease.Agent == ""`, New: "false"},
		{Name: "a report from outside is trusted", File: "evolve_item.go", Old: `t.ByHand || e.Key != ""`, New: "t.ByHand"},
		{Name: "a start with gaps is called held", File: "protect.go", Old: "if len(unprotected) > 0 {\n\t\ts.Protection", New: "if false {\n\t\ts.Protection"},
	}))
}

// Each of these faults in what is handed in with nothing changed is noticed; internal/sim has more.
func TestUnchangedMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestScenarios", []mutant.Mutant{
		{Name: "a claim outlives its hand-in", File: "evolve_item.go", Old: "t.NoChange = claimOf(p.Said)", New: "t.NoChange = orSome(claimOf(p.Said), t.NoChange)"},
		{Name: "an exit record takes over a claim", File: "evolve_item.go", Old: "t.built()\n\t\t\tt.NoChange = \"\"", New: "t.built()"},
		{Name: "a form that was filled in is a claim", File: "evolve_item.go", Old: "case \"\", \"no\", \"none\", \"n/a\", \"false\":", New: "case \"\":"},
		{Name: "an override leaves the claim", File: "evolve_item.go", Old: "t.Trouble, t.NoChange = false, \"\"", New: "t.Trouble = false"},
		{Name: "nothing is never forgiven", File: "evolve_item.go", Old: "if p.Since != work.SinceStart {\n\t\tt.Count.Unchanged = 0", New: "if false {\n\t\tt.Count.Unchanged = 0"},
		{Name: "who hands in nothing fails at the gate", File: "evolve_item.go", Old: "\"gate\", &c.Unchanged, maxUnchanged", New: "\"gate\", &c.Gates, maxUnchanged"},
		{Name: "what a person looked at is not judged again", File: "evolve_person.go", Old: "t.Failed = nil\n", New: ""},
		{Name: "a repair lets nothing be judged again", File: "evolve.go", Old: "t.Failed = nil // the checks", New: "_ = f // the checks"},
		{Name: "what was not checked is a failure", File: "decide.go", Old: "cmp.Or(t.Unchanged(in.Commit, in.Files), in.Since)", New: "cmp.Or(t.Unchanged(in.Commit, in.Files))"},
	}))
}

// Each of these faults in sums of what was used is noticed.
func TestUsageMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestUsageAdd", Mutant: mutant.Mutant{Name: "a sum has no end", File: "settings.go",
			Old: "a = min(a+min(b, maxUsed), maxUsed)", New: "a += b"}},
		{By: "TestUsageAdd", Mutant: mutant.Mutant{Name: "an amount has no end", File: "settings.go", Old: "a+min(b, maxUsed)", New: "a+b"}},
		{By: "TestUsageAdd", Mutant: mutant.Mutant{Name: "less than nothing counts", File: "settings.go", Old: "if b > 0 {", New: "if b != 0 {"}},
		{By: "TestUsageAdd", Mutant: mutant.Mutant{Name: "what is no number counts", File: "settings.go", Old: "if b > 0 {", New: "if !(b <= 0) {"}},
	})
}

// A fault in how times are told is noticed.
func TestUntilMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestUntil", Mutant: mutant.Mutant{Name: "a time of another day has no day", File: "words.go",
			Old: "if then.Format(time.DateOnly) == now.Format(time.DateOnly) {", New: "if then.After(now) {"}},
	})
}

// A reason to wait that has no words is noticed.
func TestWaitMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestWaitWords", Mutant: mutant.Mutant{Name: "a role that nobody plays is not spoken of", File: "wait.go",
			Old: "return \"for somebody in the role \" + r.unplayed(t)", New: "return \"\""}},
	})
}
