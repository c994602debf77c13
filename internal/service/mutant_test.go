package service

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestConformance", Mutant: mutant.Mutant{Name: "a result of other work is handed in for ever", File: "../conductor/problem.go",
			Old: "\t{delivery.ErrOtherWork, api.CodeInvalid},\n", New: ""}},
		{By: "TestConformance", Mutant: mutant.Mutant{Name: "an order that is not wanted any more goes on elsewhere", File: "../remote/orders.go",
			Old: "\t\t\t\tf.cancel()\n", New: "\t\t\t\t_ = f.cancel\n"}},
		{By: "TestStopStart", Mutant: mutant.Mutant{Name: "a look outlives the start", File: "../conductor/conductor.go",
			Old: "c.lookAgain(ctx, patience)", New: "c.lookAgain(c.group.Load().Context(), patience)"}},
		{By: "TestStopStart", Mutant: mutant.Mutant{Name: "a start that was stopped goes on", File: "../conductor/conductor.go",
			Old: "if err := ctx.Err(); err != nil {\n\t\treturn err\n\t}\n\tmarked", New: "marked"}},
		{By: "TestGitHangs", Mutant: mutant.Mutant{Name: "a repository is opened for as long as it takes", File: "service.go",
			Old: "opening, cancel := patient(ctx, patience)\n\t\tdefer", New: "opening, cancel := patient(ctx, time.Hour)\n\t\tdefer"}},
		{By: "TestEndedRunIsTidiedUp", Mutant: mutant.Mutant{Name: "every start tidies up after every run", File: "../runner/ended.go",
			Old: "default:\n\t\tx.Unmark(r.Subject)", New: "default:"}},
		{By: "TestEndedRunIsTidiedUp", Mutant: mutant.Mutant{Name: "what could not be taken away is forgotten", File: "../runner/ended.go",
			Old: "\tcase err != nil:\n\t\tx.logger.Warn(", New: "\tcase err != nil:\n\t\tx.Unmark(r.Subject)\n\t\tx.logger.Warn("}},
		{By: "TestRunsWithoutMarks", Mutant: mutant.Mutant{Name: "runs of a version before get no marks", File: "../runner/ended.go",
			Old: "err = errors.Join(err, x.mark(subject))", New: "_ = subject"}},
		{By: "TestGatesAreNotTheUsers", Mutant: mutant.Mutant{Name: "where a version before ran checks stays the user's", File: "../runner/runner.go",
			Old: "if err := repo.Disown(ctx, x.gatesDir()); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: "TestNoRunWithoutMark", Mutant: mutant.Mutant{Name: "a run is recorded without a mark", File: "../runner/start.go",
			Old: "return x.mark(subject)", New: "_ = x.mark(subject)\n\treturn nil"}},
		{By: "TestStretchAnywhere", Mutant: mutant.Mutant{Name: "a stretch ends in a secret", File: "transcript.go",
			Old: "farthest := 1, at-secretMargin; t.cuts(at); step", New: "farthest := 1, at-secretMargin; t.cuts(at) && at < 0; step"}},
		{By: "TestStretch", Mutant: mutant.Mutant{Name: "a stretch begins in a secret", File: "transcript.go",
			Old: "if !t.cuts(starts[first]) {", New: "if first >= 0 {"}},
		{By: "TestStretch", Mutant: mutant.Mutant{Name: "a stretch has any number of lines", File: "transcript.go",
			Old: "first := max(0, len(starts)-lines)", New: "first := min(0, len(starts)-lines)"}},
		{By: "TestStretchOfOneLine", Mutant: mutant.Mutant{Name: "a long line has no bound", File: "transcript.go",
			Old: "at := end - room // a line", New: "at := 0 // a line"}},
	})
}

// Each of these faults in what others are kept from is noticed.
func TestAttackMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestRunnerAttacks$", []mutant.Mutant{
		{Name: "what a runner has not is not logged", File: "../httpapi/server.go", Old: "s.logBroken(req, p, err)\n", New: ""},
		{Name: "what a runner does hides what another one does", File: "../httpapi/secure.go", Old: "if holder, _ := s.keyHolder(r); holder.Kind == access.Runner {", New: "if holder, _ := s.keyHolder(r); holder.Kind == \"\" {"},
		{Name: "a session's token is used at home, and nobody knows", File: "../httpapi/secure.go", Old: "!secureOrigin(r) && !errors.Is(why, fleet.ErrNotYours)", New: "!secureOrigin(r) && !(errors.Is(why, fleet.ErrNotYours) && false)"},
		{Name: "a push that git refuses is not logged", File: "../gitserver/gitserver.go", Old: "err == nil && !bytes.Contains(said", New: "err != nil && !bytes.Contains(said"},
		{Name: "a runner pushes for a session that is not there yet", File: "../fleet/line.go", Old: "if at == runner {\n\t\treturn nil", New: "if at == runner || at == \"\" {\n\t\treturn nil"},
		{Name: "a session's token is good over any runner's connection", File: "../httpapi/routes.go", Old: "if err := s.fleet.Speaks(p.Session, holder.Name); err != nil {", New: "if err := s.fleet.Speaks(p.Session, holder.Name); false {"},
		{Name: "another runner's order is done", File: "../fleet/line.go", Old: "if m.flights[ordered] != nil {", New: "if m.flights[ordered] != nil && false {"},
		{Name: "who answers was not asked", File: "../fleet/line.go", Old: "its := a.ID > 0 && a.ID <= f.calls", New: "its := true"},
		{Name: "places have no end", File: "../fleet/line.go", Old: "h.Places > maxHerePlaces,", New: ""},
		{Name: "who is not understood is given orders", File: "../fleet/line.go", Old: "if _, err := order.Speaks(protocol); err != nil {", New: "if _, err := order.Speaks(protocol); err != nil && false {"},
		{Name: "what checks came to need not be signed", File: "../fleet/line.go", Old: "if err := ran.Signed.Check(ran.Statement(name, o.Run.ID, o.Task), k.Key); err != nil {", New: "ran.Signed = cmp.Or(ran.Signed, &work.Signed{})\n\tif err := error(nil); err != nil {"},
		{Name: "any key signs what checks came to", File: "../work/signed.go", Old: "len(s.Key) != ed25519.PublicKeySize || KeySHA256(s.Key) != keySHA256:", New: "len(s.Key) != ed25519.PublicKeySize:"},
		{Name: "a signature is of anything", File: "../work/signed.go", Old: "case !ed25519.Verify(s.Key, said.Text(), s.Signature):", New: "case false:"},
		{Name: "a number is anything", File: "../httpapi/runners.go", Old: "if p.Number < 1 {", New: "if false {"},
		{Name: "a runner's key is not proven", File: "../pin/pin.go", Old: "if !in(hashOf(c.PeerCertificates[0])) {", New: "if !in(hashOf(c.PeerCertificates[len(c.PeerCertificates)-1])) {"},
	}))
}
