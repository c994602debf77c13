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
