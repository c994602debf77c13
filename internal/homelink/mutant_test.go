package homelink

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of the way between boxes, dropped, is noticed by the test named with it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestUnreached", Mutant: mutant.Mutant{Name: "a session at a box that is not reached is taken for dead", File: "far.go", Old: "return h.of.o.Open(h.box)", New: "return nil"}},
		{By: "TestUnreached", Mutant: mutant.Mutant{Name: "what is not known is said to be protected", File: "far.go", Old: `return []string{"it is not known what box " + h.box + " protects"}`, New: "return nil"}},
		{By: "TestUnreached", Mutant: mutant.Mutant{Name: "an order that has waited is carried out as things were", File: "far.go", Old: "\t\t\t\treturn errBack", New: "\t\t\t\treturn nil"}},
		{By: "TestUnreached", Mutant: mutant.Mutant{Name: "a box that is not reached is asked all the same", File: "far.go", Old: "return h.asked && !h.reached", New: "return false"}},
		{By: "TestUnreached", Mutant: mutant.Mutant{Name: "a box that went silent is still taken to be there", File: "far.go", Old: "lost := h.reached &&", New: "lost := false &&"}},
		{By: "TestToldAgain", Mutant: mutant.Mutant{Name: "what a box is to know is said once", File: "far.go", Old: "return struct{}{}, err == nil ||", New: "return struct{}{}, true ||"}},
		{By: "TestBroken", Mutant: mutant.Mutant{Name: "an answer that went silent is waited for", File: "wire.go", Old: "cancel(errSilent)", New: "_ = cancel"}},
		{By: "TestBroken", Mutant: mutant.Mutant{Name: "whoever answers is a box", File: "wire.go", Old: "resp.StatusCode != http.StatusOK", New: "false"}},
		{By: "TestErrors", Mutant: mutant.Mutant{Name: "an error is no more than its words", File: "wire.go", Old: "f.Is = append(f.Is, name)", New: "_ = name"}},
		{By: "TestCancelled", Mutant: mutant.Mutant{Name: "a box says nothing while it is at work", File: "serve.go", Old: `if err = write([]byte("\n")); err == nil && s.watches`, New: "if s.watches"}},
		{By: "TestCallerGone", Mutant: mutant.Mutant{Name: "an order goes on for a box that has gone", File: "serve.go", Old: "return time.Since(s.heard[caller]) > silence*s.beat", New: "return false"}},
		{By: "TestRefused", Mutant: mutant.Mutant{Name: "a question may be of any length", File: "serve.go", Old: "http.MaxBytesReader(w, r.Body, MaxBody)", New: "r.Body"}},
		{By: "TestOnce", Mutant: mutant.Mutant{Name: "an order is under way twice", File: "own.go", Old: "<-before.over //", New: "//"}},
		{By: "TestOnce", Mutant: mutant.Mutant{Name: "an order that is given again waits for the one before to be done", File: "own.go", Old: "before.cancel(errAgain)", New: "_ = before.cancel"}},
		{By: "TestSaidAgain", Mutant: mutant.Mutant{Name: "who leads no more has had the last word", File: "back.go", Old: "case api.CodeStopping, api.CodeUnknown", New: "case api.CodeUnknown"}},
		{By: "TestSaidAgain", Mutant: mutant.Mutant{Name: "a box that does not lead decides", File: "back.go", Old: "return answer{}, errNotLead", New: "_ = errNotLead"}},
		{By: "TestSaidAgain", Mutant: mutant.Mutant{Name: "a result of a run that has ended is said for ever", File: "back.go", Old: "&& !lead.Live(run)", New: "&& false"}},
		{By: "TestOlderLeader", Mutant: mutant.Mutant{Name: "what a box does not know yet is given up", File: "back.go", Old: "|| !cut && api.Gone(err)", New: "|| (cut || !cut) && api.Gone(err)"}},
		{By: "TestMail", Mutant: mutant.Mutant{Name: "a session that has ended has a mailbox", File: "back.go", Old: "if !lead.Open(session) {", New: "if false {"}},
		{By: "TestConnected", Mutant: mutant.Mutant{Name: "an older connection ends a newer one", File: "back.go", Old: "if c.lines[session] == lost {", New: "if true {"}},
		{By: "TestGit", Mutant: mutant.Mutant{Name: "git is served to who does not say what it may", File: "git.go", Old: "if err != nil || !ok || a.Who ==", New: "if !ok && a.Who =="}},
		{By: "TestGit", Mutant: mutant.Mutant{Name: "a home is asked for git in the name of who was passed on", File: "git.go", Old: "strings.HasPrefix(name, ownHeaders)", New: "false"}},
		{By: "TestOf", Mutant: mutant.Mutant{Name: "a run from before there were others is whoever's leads", File: "homes.go", Old: "box = cmp.Or(box, s.o.Founder); box == s.o.Self", New: `box == s.o.Self || box == ""`}},
	})
}
