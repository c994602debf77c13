package enrolment_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of how a runner joins and finds its box, dropped, is noticed by the test named with it.
func TestMutants(t *testing.T) {
	const file = "enrolment.go"
	mutant.All(t, []mutant.Noticed{
		{By: "TestNotJoined", Mutant: mutant.Mutant{Name: "a runner goes over to another box", File: file, Old: "!pin.Same(had.BoxKey, i.Key)", New: "had.BoxKey == \"\""}},
		{By: "TestNotJoined", Mutant: mutant.Mutant{Name: "the secret goes to any box", File: file, Old: "NewCarrier(i.Box, pin.Joining(key, i.Key))", New: "NewCarrier(i.Box, &tls.Config{InsecureSkipVerify: key != nil})"}},
		{By: "TestJoin$", Mutant: mutant.Mutant{Name: "others look into the directory", File: file, Old: "os.MkdirAll(dir, 0o700)", New: "os.MkdirAll(dir, 0o755)"}},
		{By: "TestNotJoined", Mutant: mutant.Mutant{Name: "a key stays of what did not work", File: file, Old: "err = errors.Join(err, undo())", New: "_ = undo"}},
		{By: "TestNotJoined", Mutant: mutant.Mutant{Name: "what was there goes too", File: file, Old: "err = os.Remove(key)", New: "err = os.RemoveAll(dir)"}},
		{By: "TestAnswerLost", Mutant: mutant.Mutant{Name: "a lost answer takes the key", File: file, Old: "answered || !carrier.met.Load()", New: "undo != nil"}},
		{By: "TestAddresses", Mutant: mutant.Mutant{Name: "the first address alone is tried", File: file, Old: "\t\tall = append(all, &unproven{err})\n", New: "\t\treturn nil, err\n"}},
		{By: "TestCarrier", Mutant: mutant.Mutant{Name: "nothing is asked for again on a connection", File: file, Old: "MaxIdleConnsPerHost: maxIdle", New: "DisableKeepAlives: true, MaxIdleConnsPerHost: maxIdle"}},
		{By: "TestRemoved", Mutant: mutant.Mutant{Name: "a runner that was removed asks for ever", File: file, Old: "pin.Refused(err) && !errors.As(err, &before)", New: "before != nil"}},
		{By: "TestRemoved", Mutant: mutant.Mutant{Name: "a stranger between has a runner end", File: file, Old: "pin.Refused(err) && !errors.As(err, &before)", New: "pin.Refused(err) && before == nil"}},
		{By: "TestDamaged", Mutant: mutant.Mutant{Name: "what is damaged is used", File: file, Old: "|| len(e.Box) == 0 || !pin.IsHash(e.BoxKey)", New: ""}},
	})
}
