//go:build linux

package e2e_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults lets an agent, or a check, decide what the gate runs; the test beside
// it notices.
func TestCacheMutants(t *testing.T) {
	for _, m := range []struct {
		name, file, before, after, test string
	}{
		{"checks see the user's caches", "../runner/confine.go",
			"err = x.hideCaches(p)", "err = nil", "TestCachesAreHidden"},
		{"checks have the user's home", "../runner/verify.go",
			"Inherit: environment(h), ", "", "TestGateBelievesNoCache"},
		{"the setup has the user's home", "../runner/runner.go",
			"Inherit: environment(h), ", "", "TestChecksLeaveNoCache"},
		{"every check is kept", "../runner/homes.go",
			"if t.first && ended {", "if ended {", "TestChecksLeaveNoCache"},
		{"checks after a repair fill the base", "../runner/verify.go",
			"first: r.Verified == 0,", "first: true,", "TestFirstChecksFillCaches"},
		{"a check runs again where it ran", "../runner/verify.go",
			"if err := transient(ctx, func() error { return x.exchange.AddDetached(ctx, path, commit) }); err != nil {\n\t\t\treturn checked{}, err\n\t\t}\n\t\tagain", "again", "TestSecondTimeIsClean"},
		{"what a check leaves goes on", "../runner/verify.go",
			", Tend: x.program}", "}", "TestNothingOutlivesACheck"},
		{"what the setup leaves goes on", "../runner/runner.go",
			", Tend: x.program}", "}", "TestNothingOutlivesACheck"},
		{"what the setup made of the files is reviewed", "../runner/review.go",
			"err = x.exchange.Restore(ctx, path, commit)", "_ = commit", "TestSetupDisguisesNothing"},
		{"what the setup made of the files is checked", "../runner/review.go",
			"err = x.exchange.Restore(ctx, path, commit)", "_ = commit", "TestSetupChangesNoTrackedFile"},
		{"the setup of a review has the user's home", "../runner/review.go",
			"return x.makeReady(ctx, path, commit, h)", "return x.makeReady(ctx, path, commit, nil)", "TestSetupDisguisesNothing"},
	} {
		t.Run(m.name, func(t *testing.T) {
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
