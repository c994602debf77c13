package archive_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of a member's log, dropped, is noticed by the tests named with it.
func TestJournalMutants(t *testing.T) {
	const (
		journal = "^TestJournal$"
		power   = "^TestJournalPowerCuts$"
		missing = "^TestJournalPowerCuts"
		damage  = "^TestJournalDamage$|^TestJournalSegments$"
		refuses = "^TestJournalRefuses$"
		far     = "^TestJournalCutBackFar$"
		members = "^TestJournalIsAMembers$"
		rebase  = "^TestRebase$"
		leave   = "^TestLeave$"
	)
	mutant.All(t, []mutant.Noticed{
		{By: power, Mutant: mutant.Mutant{Name: "the end of a member's log is not made durable at a start", File: "journal.go", Old: "if err := j.files.write(last.name, last.data); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: missing, Mutant: mutant.Mutant{Name: "the name of a member's new segment is not synced", File: "journal.go", Old: "writeSync(next, data), j.files.syncDir(logDir))", New: "writeSync(next, data))"}},
		{By: power, Mutant: mutant.Mutant{Name: "a torn write at a member's log's end is kept", File: "memberlog.go", Old: "\ts.data = s.data[:f.at]\n", New: ""}},
		{By: power, Mutant: mutant.Mutant{Name: "a segment whose head was torn is damage", File: "memberlog.go", Old: "torn: torn(data, 0, len(memberMagic))}", New: "torn: false}"}},
		{By: power, Mutant: mutant.Mutant{Name: "batches that are synced together are torn apart", File: "journal.go", Old: "\t\trecords = append(records, r)\n\t\tend = r.after(end)\n\t}\n\treturn j.flush(records)", New: "\t\trecords = append(records, r)\n\t\tend = r.after(end)\n\t}\n\tvar all []byte\n\tfor _, r := range records {\n\t\tall, _ = appendRecords(all, r)\n\t\tj.end, j.state = r.after(j.end), r.State\n\t}\n\treturn writeSync(j.file, all)"}},
		{By: journal, Mutant: mutant.Mutant{Name: "a segment's head forgets the state", File: "journal.go", Old: "before: &before, Write: memberlog.Write{State: j.state}})\n\tif err != nil {\n\t\treturn err\n\t}\n\tnext", New: "before: &before, Write: memberlog.Write{State: memberlog.State{ID: j.state.ID}}})\n\tif err != nil {\n\t\treturn err\n\t}\n\tnext"}},
		{By: journal, Mutant: mutant.Mutant{Name: "a start reads the last segment only", File: "memberlog.go", Old: "before == nil || before.Seq <= uint64(full) && before.Index <= last.At.Index {", New: "true || before == nil {"}},
		{By: "^TestJournalMembers$", Mutant: mutant.Mutant{Name: "a start reads from before what is applied only by events", File: "memberlog.go", Old: "before.Seq <= uint64(full) && before.Index <= last.At.Index {", New: "before.Seq <= uint64(full) {"}},
		{By: journal, Mutant: mutant.Mutant{Name: "a start reads all that there is", File: "memberlog.go", Old: "before == nil || before.Seq <= uint64(full)", New: "before == nil || false && before.Seq <= uint64(full)"}},
		{By: damage, Mutant: mutant.Mutant{Name: "damage in a member's log is taken for a torn write", File: "memberlog.go", Old: "case !last || !f.last || !f.torn:", New: "case !last || !f.last:"}},
		{By: damage, Mutant: mutant.Mutant{Name: "a member's batch's head has no checksum", File: "record.go", Old: "ok := binary.BigEndian.Uint32(n[16:]) == checksum(b[:memberHead-4])", New: "ok := true"}},
		{By: damage, Mutant: mutant.Mutant{Name: "a member's entries have no checksum", File: "record.go", Old: "|| checksum(body) != l.bodySum", New: ""}},
		{By: damage, Mutant: mutant.Mutant{Name: "a member's log may end before the checkpoint", File: "memberarchive.go", Old: "case max(l.end.Seq, l.kept.State.Taken) < sealed:", New: "case false:"}},
		{By: refuses, Mutant: mutant.Mutant{Name: "what is committed is cut back", File: "journal.go", Old: "cut.Index < j.state.Commit ||", New: ""}},
		{By: refuses, Mutant: mutant.Mutant{Name: "an entry may have zeros", File: "record.go", Old: "case bytes.IndexByte(body, 0) >= 0:", New: "case false:"}},
		{By: refuses, Mutant: mutant.Mutant{Name: "a member writes on after an error", File: "journal.go", Old: "return j.files.fail(fmt.Errorf(\"write the member's log: %w\", err))", New: "return fmt.Errorf(\"write the member's log: %w\", err)"}},
		{By: far, Mutant: mutant.Mutant{Name: "a scrub holds void entries against the tiles", File: "memberwalk.go", Old: "return after.Index <= w.kept.State.Commit", New: "return true"}},
		{By: "^TestJournalAdvice$", Mutant: mutant.Mutant{Name: "a member is told to repair", File: "memberarchive.go", Old: "d.Advice == adviceRepair {", New: "d.Advice == \"\" {"}},
		{By: members, Mutant: mutant.Mutant{Name: "a member's log is opened as a single box's", File: "memberarchive.go", Old: "return was && !single, err", New: "return was && single, err"}},
		{By: members, Mutant: mutant.Mutant{Name: "a member's log begins in the middle of one that is not sealed", File: "memberarchive.go", Old: "case a.tail != nil || a.size() != a.sealed.Size:", New: "case false:"}},
		{By: members, Mutant: mutant.Mutant{Name: "an event is appended to a member's log", File: "archive.go", Old: "if a.journal != nil {\n\t\treturn nil, errors.New(\"the log", New: "if false {\n\t\treturn nil, errors.New(\"the log"}},
		{By: rebase, Mutant: mutant.Mutant{Name: "a base is not a segment as a whole", File: "journal.go", Old: "return len(data), files.write(memberName(number), data)", New: "f, err := files.Create(memberName(number))\n\tif err == nil {\n\t\t_, err = f.Write(data)\n\t}\n\treturn len(data), err"}},
		{By: rebase, Mutant: mutant.Mutant{Name: "the checkpoint of a base is forgotten", File: "memberarchive.go", Old: "case a.note == nil || c.Size > a.sealed.Size:", New: "case c.Size < 0:"}},
		{By: rebase, Mutant: mutant.Mutant{Name: "a base is written before its tiles are looked at", File: "memberarchive.go", Old: "if err := errors.Join(next.edgeErr, next.readRecent(&memberlog.Kept{Before: *w.Base})); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: leave, Mutant: mutant.Mutant{Name: "a member leaves with entries that are not committed", File: "memberarchive.go", Old: "if j.end != end ||", New: "if false ||"}},
		{By: leave, Mutant: mutant.Mutant{Name: "a single box has no second copy of what it was a member for", File: "memberarchive.go", Old: "return j.leave()", New: "return errors.Join(a.files.Remove(segmentName(from)), j.leave())"}},
		{By: "^TestOneBoxPaysNothing$", Mutant: mutant.Mutant{Name: "one box's bytes change", File: "log.go", Old: "segmentMagic  = \"sboxlog1\"", New: "segmentMagic  = \"sboxlog2\""}},
		{By: "^TestOneBoxPaysNothing$", Mutant: mutant.Mutant{Name: "one box syncs twice", File: "archive.go", Old: "\tif err := f.Sync(); err != nil {\n\t\treturn err\n\t}\n\treturn f.Stands()", New: "\tif err := errors.Join(f.Sync(), f.Sync()); err != nil {\n\t\treturn err\n\t}\n\treturn f.Stands()"}},
	})
}
