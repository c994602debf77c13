package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, by which something of ended runs would stay, is noticed by the test beside it.
func TestEndedMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew for each mutant; not with -short")
	}
	for _, m := range []struct {
		name, file, before, after, test string
	}{
		{"the conductor of a run that ended is kept", "conduct.go",
			"delete(b.conductors, subject)", "_ = subject", "TestEndedRunLeavesNothing"},
		{"where the branch of a run that ended was is kept", "ended.go",
			"delete(d.branches, r.Branch)\n", "", "TestEndedRunLeavesNothing"},
		{"a look after a run's end keeps where its branch is", "verify.go",
			"d.mu.Lock()\n\ti := d.branches[branch]\n\td.mu.Unlock()\n", "i := d.integration(branch)\n", "TestEndedRunLeavesNothing"},
		{"whoever shows a run that left memory brings its news back", "follow.go",
			"if n := s.news[subject]; n != nil {", "if n := s.newsOf(subject); n != nil {", "TestEndedRunLeavesNothing"},
		{"every start tidies up after every run", "ended.go",
			"default:\n\t\td.unmark(r.Subject)", "default:", "TestEndedRunLeavesNothing"},
		{"what could not be taken away is forgotten", "ended.go",
			"\tcase err != nil:\n\t\td.box.logger.Warn(", "\tcase err != nil:\n\t\td.unmark(r.Subject)\n\t\td.box.logger.Warn(", "TestEndedRunIsTidiedUp"},
		{"the mark of a run that was not recorded stays", "ended.go",
			"b.deliverer.unmark(subject)", "_ = subject", "TestEndedRunIsTidiedUp"},
		{"runs of a version before get no marks", "ended.go",
			"err = errors.Join(err, d.mark(subject))", "_ = subject", "TestEndedRunIsTidiedUp"},
		{"where a version before ran checks stays the user's", "deliver.go",
			"if err := repo.Disown(ctx, filepath.Dir(d.gatePath(0))); err != nil {", "if err := error(nil); err != nil {", "TestGatesAreNotTheUsers"},
		{"a run is recorded without a mark", "startrun.go",
			"if err := d.mark(subject); err != nil {", "if err := d.mark(subject); err != nil && false {", "TestNoRunWithoutMark"},
		{"the answer to what ends a run is lost", "conduct.go",
			"case err := <-in.reply: // this", "case err := <-make(chan error): // this", "TestLastInputIsAnswered"},
		{"asking whether an ended session is in touch remembers it", "mailbox.go",
			"m := b.all[session]\n\tif m == nil {\n\t\treturn false, nil", "m := b.of(session)\n\tif m == nil {\n\t\treturn false, nil", "TestForgottenSession"},
		{"a connection to an ended session goes on", "mailbox.go",
			"\t\tm.hangUp()\n\t}\n\tdelete(b.all, session)", "\t}\n\tdelete(b.all, session)", "TestForgottenSession"},
		{"a message that was not taken in time is sent all the same", "operate.go",
			"b.mail.takeBack(session, c.ID)", "_ = session", "TestTellIsTakenBack"},
		{"a run that has ended is a box that stops", "operate.go",
			"errors.Is(err, ErrStopping) && !live", "errors.Is(err, ErrStopping) && live", "TestSaidAfterTheEnd"},
		{"what an ended session is told is kept", "deliver.go",
			"defer d.forgetEnded(c, cmd.Session.ID)", "_ = c", "TestEndOfEndedSession"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
