package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults in the retention of outputs is noticed by the test beside it.
func TestKeepMutants(t *testing.T) {
	const removed, restart = "TestOutputsAreRemoved$", "TestRemovedAfterRestart$"
	for _, m := range []struct {
		name, file, before, after, test string
	}{
		{"outputs of open work are removed", "blobs.go",
			"\t\t\t\tused[sum] = true\n", "\t\t\t\tused[sum] = false\n", removed},
		{"young outputs are removed", "blobs.go",
			"if err != nil || !e.Time.Before(since) {", "if err != nil {", removed},
		{"questions are removed", "blobs.go",
			"case conversation.TypeSignalled, conversation.TypeCallDecided, conversation.TypeEnded:", "case conversation.TypeSignalled, conversation.TypeCallDecided, conversation.TypeEnded, conversation.TypeStarted:", "TestOutputsOf$|" + removed},
		{"evidence is kept for ever", "blobs.go",
			"p.Transcript.Blob, p.Evidence.Blob}", "p.Transcript.Blob}", "TestOutputsOf$"},
		{"outputs are unlinked before the event is sealed", "blobs.go",
			"if _, err := b.seal(); errors.Is(err, errUnsigned) {", "if err := b.group.Context().Err(); errors.Is(err, errUnsigned) {", removed},
		{"outputs are unlinked without an event", "blobs.go",
			"r, err := ofHousekeeping.record(b, housekeeping, \"\", removal{said})", "r, err := recorded[work.Chain]{seq: 1}, error(nil)", removed},
		{"the index does not hear of removals", "past.go",
			"add = b.state.removedUpTo(size)", "add = b.state.removedUpTo(0)", removed},
		{"an old removal settles a new reference", "blobs.go",
			"return seq > uint64(index)+1, nil", "return seq > 0, nil", "TestRemovalIsFinished$"},
		{"a snapshot has no removals", "snapshot.go",
			"maps.Copy(s.removed, snap.Removed)\n", "", restart},
		{"a snapshot forgets the housekeeping", "snapshot.go",
			"snap.Total, snap.NewestRun, snap.Housekeeping", "snap.Total, snap.NewestRun, work.Chain{}", restart},
		{"everything is kept for ever", "scrub.go",
			"err = b.removeBlobs(ctx, at.Next, min(next, size))", "err = ctx.Err()", "TestScrubRemovesOutputs$"},
		{"nothing is kept", "blobs.go",
			"if b.keepBlobs == 0 {", "if false {", "TestScrubRemovesOutputs$"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
