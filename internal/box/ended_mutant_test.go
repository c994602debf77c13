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
		{"whoever shows a run that left memory brings its news back", "follow.go",
			"if n := s.news[subject]; n != nil {", "if n := s.newsOf(subject); n != nil {", "TestEndedRunLeavesNothing"},
		{"every start tidies up after every run", "../runner/ended.go",
			"default:\n\t\tx.Unmark(r.Subject)", "default:", "TestEndedRunLeavesNothing"},
		{"what could not be taken away is forgotten", "../runner/ended.go",
			"\tcase err != nil:\n\t\tx.logger.Warn(", "\tcase err != nil:\n\t\tx.Unmark(r.Subject)\n\t\tx.logger.Warn(", "TestEndedRunIsTidiedUp"},
		{"the mark of a run that was not recorded stays", "operate.go",
			"b.runner.Unmark(subject)", "_ = subject", "TestEndedRunIsTidiedUp"},
		{"runs of a version before get no marks", "../runner/ended.go",
			"err = errors.Join(err, x.mark(subject))", "_ = subject", "TestEndedRunIsTidiedUp"},
		{"where a version before ran checks stays the user's", "../runner/runner.go",
			"if err := repo.Disown(ctx, filepath.Dir(x.gatePath(0))); err != nil {", "if err := error(nil); err != nil {", "TestGatesAreNotTheUsers"},
		{"a run is recorded without a mark", "../runner/start.go",
			"return x.mark(subject)", "_ = x.mark(subject)\n\treturn nil", "TestNoRunWithoutMark"},
		{"the answer to what ends a run is lost", "conduct.go",
			"case err := <-in.reply: // this", "case err := <-make(chan error): // this", "TestLastInputIsAnswered"},
		{"a message that was not taken in time is sent all the same", "operate.go",
			"b.mail.TakeBack(session, c.ID)", "_ = session", "TestTellIsTakenBack"},
		{"a run that has ended is a box that stops", "operate.go",
			"errors.Is(err, ErrStopping) && !b.live(subject)", "errors.Is(err, ErrStopping) && b.live(subject)", "TestSaidAfterTheEnd"},
		{"what an ended session is told is kept", "orders.go",
			"c.forgetEnded(cmd.Session.ID)", "_ = c", "TestEndOfEndedSession"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
