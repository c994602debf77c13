//go:build unix

package remote

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of how a runner ends, and of what it says, dropped, is noticed by the test named with it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestRemoved", Mutant: mutant.Mutant{Name: "a runner that was removed leaves its sessions", File: "remote.go", Old: "runner.EndAll(ctx, r.o.Dir)", New: "[]string(nil), error(nil)"}},
		{By: "TestRemoved", Mutant: mutant.Mutant{Name: "its sessions are not told", File: "gateway.go", Old: "if g.of.removed.Load() {", New: "if g.of == nil {"}},
		{By: "TestRefused", Mutant: mutant.Mutant{Name: "what comes late is said again for ever", File: "push.go", Old: "!removed(err) {\n\t\t\treturn err", New: "err != nil {\n\t\t\treturn err"}},
		{By: "TestGivenMeanwhile", Mutant: mutant.Mutant{Name: "what is given meanwhile is dropped", File: "orders.go", Old: "f.reached = known || !f.again", New: "f.reached = known || true"}},
		{By: "TestGivenMeanwhile", Mutant: mutant.Mutant{Name: "what the box does not know is done for ever", File: "orders.go", Old: "f.reached = known || !f.again", New: "f.reached = known"}},
		{By: "TestDrained", Mutant: mutant.Mutant{Name: "nobody hears that it takes work again", File: "remote.go", Old: "case drained && !there.Draining:", New: "case drained && there.Draining:"}},
		{By: "TestContact", Mutant: mutant.Mutant{Name: "each try is a line", File: "contact.go", Old: "now.Sub(c.told) < gap", New: "gap < 0"}},
		{By: "TestContact", Mutant: mutant.Mutant{Name: "an answer is contact", File: "contact.go", Old: "!c.follows || ", New: ""}},
		{By: "TestContact", Mutant: mutant.Mutant{Name: "what goes on is missed", File: "contact.go", Old: "if !afterWhile {", New: "if why != nil {"}},
		{By: "TestCableOut", Mutant: mutant.Mutant{Name: "a heartbeat is waited for", File: "remote.go", Old: "time.AfterFunc(order.Heartbeat, func()", New: "time.AfterFunc(silence, func()"}},
	})
}
