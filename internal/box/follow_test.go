package box

import "testing"

// Nothing of a run that has left memory is kept, also when somebody shows it late.
func TestNewsLeave(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	subject := finishedRun(t, b, "R1")
	b.state.drop(b.state.inIndex(subject))
	b.Ledger().Changed(subject)
	b.state.unwatch(subject, nil)
	if len(b.state.news) > 0 {
		t.Errorf("news of a run that left memory: %v", b.state.news)
	}
}
