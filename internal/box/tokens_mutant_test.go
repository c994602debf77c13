package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults in how tokens are kept is noticed by the test beside it.
func TestTokenMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestTokensAfterRestart$", Mutant: mutant.Mutant{Name: "a snapshot forgets the tokens", File: "snapshot.go",
			Old: "Tokens: s.tokens, ", New: ""}},
		{By: "TestTokensAfterRestart$", Mutant: mutant.Mutant{Name: "the last use of a token is not known", File: "tokens.go",
			Old: "b.state.used[t.ID] = now", New: "_ = now"}},
		{By: "TestTokenOnce$", Mutant: mutant.Mutant{Name: "who asks again is given what is no token", File: "tokens.go",
			Old: "return api.CreatedToken{}, errShownOnce", New: "_ = errShownOnce"}},
		{By: "TestForgottenTokens$", Mutant: mutant.Mutant{Name: "uses of revoked tokens are kept", File: "tokens.go",
			Old: "s.used = used\n", New: ""}},
		{By: "TestTokensAreRedacted$", Mutant: mutant.Mutant{Name: "tokens are stored in texts", File: "dir.go",
			Old: ", access.SecretPattern, ", New: ", "}},
		{By: "TestSessionTokens$", Mutant: mutant.Mutant{Name: "a session's event has not the hash of its token", File: "record.go",
			Old: "json.Marshal(b.withToken(e))", New: "json.Marshal(e.Payload)"}},
		{By: "TestSessionTokens$", Mutant: mutant.Mutant{Name: "a person has a session's token", File: "tokens.go",
			Old: " && p.Agent != work.PersonAgent {", New: " {"}},
		{By: "TestClaimAsOperator$", Mutant: mutant.Mutant{Name: "an agent claims as the operator", File: "requests.go",
			Old: "work.ByOperator(actor) || ", New: ""}},
		{By: "TestClaimAsOperator$", Mutant: mutant.Mutant{Name: "an agent claims as a runner", File: "requests.go",
			Old: " || strings.HasPrefix(actor, work.RunnerPrefix) {", New: " {"}},
		{By: "TestClaimAsOperator$", Mutant: mutant.Mutant{Name: "an agent claims as the Operator", File: "requests.go",
			Old: "actor := strings.ToLower(q.Actor)", New: "actor := strings.Clone(q.Actor)"}},
	})
}
