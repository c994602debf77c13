package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults in how runners are kept is noticed by the test beside it.
func TestRunnerMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestRunnersAfterRestart$", Mutant: mutant.Mutant{Name: "a snapshot forgets the runners", File: "snapshot.go",
			Old: "Runners: s.runners, ", New: ""}},
		{By: "TestRunnersAfterRestart$", Mutant: mutant.Mutant{Name: "the ledger has the secret", File: "runners.go",
			Old: "Actor: actor, Key: orNewKey(key),\n\t}\n\tr, err := ofRunners.record(b, runners, c.Key, c)\n\tif err != nil {\n\t\treturn invited", New: "Actor: actor, Key: secret,\n\t}\n\tr, err := ofRunners.record(b, runners, c.Key, c)\n\tif err != nil {\n\t\treturn invited"}},
		{By: "TestInvitationOnce$", Mutant: mutant.Mutant{Name: "who asks again is given what is no secret", File: "runners.go",
			Old: "return invited, \"\", errInvitedOnce", New: "_ = errInvitedOnce"}},
		{By: "TestInvitationOnce$", Mutant: mutant.Mutant{Name: "who joins again is refused", File: "runners.go",
			Old: "err != nil && !errors.Is(err, access.ErrJoined)", New: "err != nil && !errors.Is(err, access.ErrNoRunner)"}},
		{By: "TestWhenRunnersChange$", Mutant: mutant.Mutant{Name: "every event is one on runners", File: "runners.go",
			Old: "f != nil && e.Subject == runners", New: "f != nil && e.Subject != \"\""}},
		{By: "TestInvitationsAreRedacted$", Mutant: mutant.Mutant{Name: "invitations are stored in texts", File: "dir.go",
			Old: ", access.InvitationPattern}", New: "}"}},
	})
}
