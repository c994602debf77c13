package raftlog_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed by the tests named with it.
func TestMutants(t *testing.T) {
	const (
		three    = "^TestThree$"
		cutOff   = "^TestLeaderCutOff$"
		conflict = "^TestConflict$"
		blobs    = "^TestBlobs$"
		behind   = "^TestFarBehind$"
		fails    = "^TestMemberFails$"
		slow     = "^TestSlowMember$"
	)
	mutant.All(t, []mutant.Noticed{
		{By: conflict, Mutant: mutant.Mutant{Name: "a conflict is answered at once", File: "do.go", Old: "case lost && conflict.Index <= l.settled:", New: "case lost:"}},
		{By: cutOff, Mutant: mutant.Mutant{Name: "an append whose place another one took counts as stored", File: "do.go", Old: "case r.term != a.Entry.Term:", New: "case false:"}},
		{By: cutOff, Mutant: mutant.Mutant{Name: "an append that nobody waits for is said not to be stored", File: "log.go", Old: "return 0, &Open{r, ctx.Err()}", New: "return 0, ctx.Err()"}},
		{By: cutOff, Mutant: mutant.Mutant{Name: "who waits is not asked for again", File: "log.go", Old: "if l.tickCount-r.since > l.config.Elect {", New: "if false {"}},
		{By: "^TestWhoGivesUpIsForgotten$", Mutant: mutant.Mutant{Name: "who has given up is asked for again", File: "log.go", Old: "slices.DeleteFunc(again, reader.left)", New: "slices.Clone(again)"}},
		{By: three, Mutant: mutant.Mutant{Name: "a member that does not lead keeps appends", File: "log.go", Old: "if status.Leads || status.Leader != 0 && status.Leader != l.id {", New: "if status.Leads {"}},
		{By: three, Mutant: mutant.Mutant{Name: "what is sent is not stopped", File: "log.go", Old: "\tl.outgoing.Stop()\n\tl.end(why)", New: "\tl.end(why)"}},
		{By: three, Mutant: mutant.Mutant{Name: "an end is not told", File: "log.go", Old: "l.config.Follower.Ended(why)", New: "_ = why"}},
		{By: fails, Mutant: mutant.Mutant{Name: "what was in the log when it ended is said not to be stored", File: "log.go", Old: "answer{err: fmt.Errorf(\"%w: %w\", engine.ErrUnknown, why)}", New: "answer{err: why}"}},
		{By: fails, Mutant: mutant.Mutant{Name: "an unknown last is taken for 0", File: "log.go", Old: "\t\t\tif l.unknown != nil {\n\t\t\t\treturn l.unknown\n\t\t\t}\n", New: ""}},
		{By: blobs, Mutant: mutant.Mutant{Name: "blobs are not looked for", File: "log.go", Old: "return l.archive.HasBlob(sum) ||", New: "return true ||"}},
		{By: blobs, Mutant: mutant.Mutant{Name: "a blob is fetched once and never again", File: "do.go", Old: "delete(l.fetching, sum)", New: "_ = l.fetching"}},
		{By: behind, Mutant: mutant.Mutant{Name: "events that came as bundles are not folded", File: "do.go", Old: "if err := l.foldArchive(); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: "^TestSyncedInAMajority$", Mutant: mutant.Mutant{Name: "what depends on a write is sent before it is synced", File: "do.go", Old: "\t\tif err := l.write(out.Writes); err != nil {\n\t\t\treturn err\n\t\t}\n\t\tl.member.Written()\n\t}\n\tl.send(out.Send)", New: "\t\tl.send(out.Send)\n\t\tif err := l.write(out.Writes); err != nil {\n\t\t\treturn err\n\t\t}\n\t\tl.member.Written()\n\t} else {\n\t\tl.send(out.Send)\n\t}"}},
		{By: slow, Mutant: mutant.Mutant{Name: "a message waits for the one before it to arrive", File: "peer.go", Old: "\t\tp.put(data)\n", New: "\t\t_ = l.config.Transport.Send(context.Background(), m.To, data)\n"}},
		{By: "^TestBounds$", Mutant: mutant.Mutant{Name: "any number of messages is kept", File: "log.go", Old: "l.inboxBytes+len(message) > maxInbox", New: "false"}},
		{By: "^TestBounds$", Mutant: mutant.Mutant{Name: "any number of messages waits to be sent", File: "peer.go", Old: "if p.bytes+len(message) > maxOutbox {", New: "if false {"}},
	})
}
