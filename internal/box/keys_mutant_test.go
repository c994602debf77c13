package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults of keys, put in on purpose, is noticed by the test beside it.
func TestKeyMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestKeyOfAWaitingClaim", Mutant: mutant.Mutant{Name: "requests of all kinds take turns by one key", File: "requests.go",
			Old: "keyOfKind{claimItem, key}", New: "keyOfKind{addItem, key}"}},
		{By: "TestKeyOfAWaitingClaim", Mutant: mutant.Mutant{Name: "the key of an add is that of a claim", File: "record.go",
			Old: "!slices.Contains(types, e.Type) || ", New: "false && slices.Contains(types, e.Type) || "}},
		{By: "TestKeysOfKinds", Mutant: mutant.Mutant{Name: "what was added is found by the key alone", File: "past.go",
			Old: "\tcase s.conversations[subject] != nil:\n\t\treturn askQuestion\n", New: ""}},
		{By: "TestKeysOfKinds", Mutant: mutant.Mutant{Name: "what has left is found by the key alone", File: "../index/entry.go",
			Old: "return string(rune(kind)) + key", New: "return key"}},
		{By: "TestKeyIsForOnePlan", Mutant: mutant.Mutant{Name: "a key starts runs of two plans", File: "ledger.go",
			Old: "case keyed && r.Digest != digest:", New: "case false:"}},
		{By: "TestKeyIsForOnePlan", Mutant: mutant.Mutant{Name: "a key does not find the run it started", File: "ledger.go",
			Old: "case keyed || ", New: "case "}},
		{By: "TestKeyIsKeptByTime", Mutant: mutant.Mutant{Name: "the latest eight requests are remembered alone", File: "state.go",
			Old: "\tt.Requests.note(seq, e)\n", New: ""}},
		{By: "TestKeyIsKeptByTime", Mutant: mutant.Mutant{Name: "a snapshot has the latest eight requests alone", File: "keys.go",
			Old: "return requests{All: slices.Clone(r.All)}", New: "return requests{}"}},
		{By: "TestKeysAreForgotten", Mutant: mutant.Mutant{Name: "keys are remembered for ever", File: "keys.go",
			Old: ".Abs() > keepRequests", New: ".Abs() > 1<<62"}},
		{By: "TestKeysAreForgotten", Mutant: mutant.Mutant{Name: "keys from before the clock was set back are remembered for ever", File: "keys.go",
			Old: ".Abs() > keepRequests", New: " > keepRequests"}},
	})
}
