package archive_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed by the tests named with it.
func TestMutants(t *testing.T) {
	const (
		power   = "^TestPowerCutEverywhere$"
		cuts    = "^TestPowerCuts$"
		durable = "^TestWhatAStartShowsIsDurable$"
		damage  = "^TestDamage"
		repair  = "^TestRepair$"
		scrub   = "^TestScrub$"
		mirror  = "^TestMirror"
		way     = "^TestRepairInTheWay$"
		writer  = "^TestLog"
		others  = "^TestFailed"
		beyond  = "^TestVerifyUncovered$|^TestVerifyHalfSealed$"
		hostile = "^TestVerifyHostile$"
		export  = "^TestExport$"
	)
	mutant.All(t, []mutant.Noticed{
		{By: way, Mutant: mutant.Mutant{Name: "a tile is said to be made before it is", File: "repair.go", Old: "if err == nil && replaced {\n\t\tr.did(\"%s was made again", New: "if replaced {\n\t\tr.did(\"%s was made again"}},
		{By: way, Mutant: mutant.Mutant{Name: "repair does not say what to move away", File: "repair.go", Old: "defer func() { err = inTheWay(fs, err) }()", New: ""}},
		{By: way, Mutant: mutant.Mutant{Name: "what is in the way of a file in it is not the directory", File: "way.go", Old: "dir != \".\" && dir != \"/\"", New: "dir == \"\""}},
		{By: durable + "|" + power, Mutant: mutant.Mutant{Name: "an append is answered before its sync", File: "archive.go", Old: "err := f.Sync()", New: "err := error(nil)"}},
		{By: writer, Mutant: mutant.Mutant{Name: "a condition is checked against what is synced only", File: "writer.go", Old: "written[r.subject] = next", New: "_ = written"}},
		{By: writer, Mutant: mutant.Mutant{Name: "numbers are given twice after a restart", File: "writer.go", Old: "next := uint64(l.archive.Size()) + 1", New: "next := uint64(l.archive.Size()-l.archive.Sealed()) + 1"}},
		{By: durable, Mutant: mutant.Mutant{Name: "an end is answered from that was not made durable", File: "start.go", Old: "if err := a.files.write(s.name, s.data); err != nil {", New: "if err := error(nil); err != nil || s.name == \"\" {"}},
		{By: writer, Mutant: mutant.Mutant{Name: "an unknown last is taken for 0", File: "writer.go", Old: "if last, err = l.follow.Last(r.subject); err != nil {", New: "if last, err = l.follow.Last(r.subject); err != nil && false {"}},
		{By: writer, Mutant: mutant.Mutant{Name: "a conflict is answered before the fold", File: "writer.go", Old: "answers[i] = answer{err: engine.ErrConflict}", New: "answers[i] = answer{err: engine.ErrConflict}\n\t\t\tr.answer <- answers[i]\n\t\t\tr.answer = make(chan answer, 1)"}},
		{By: writer, Mutant: mutant.Mutant{Name: "the caller's bytes are kept", File: "writer.go", Old: "records[i].Data = kept[i]", New: "_ = kept[i]"}},

		{By: "^TestFullSegmentReplaced$", Mutant: mutant.Mutant{Name: "a full file of the log is not looked at", File: "archive.go", Old: "errors.Join(last.Stands(), last.Close(),", New: "errors.Join(last.Close(),"}},

		{By: "^TestConformance$", Mutant: mutant.Mutant{Name: "a follower holds as many bytes as there are", File: "feed.go", Old: "size > engine.MaxBatchBytes && len(batch) > 0", New: "false"}},
		{By: "^TestConformance$", Mutant: mutant.Mutant{Name: "a follower holds the whole of what it reads a part of", File: "feed.go", Old: "r.Data = bytes.Clone(r.Data)", New: "_ = bytes.Clone"}},

		{By: cuts, Mutant: mutant.Mutant{Name: "the name of a new segment is not synced", File: "archive.go", Old: "writeSync(next, data), a.syncLogDir())", New: "writeSync(next, data))"}},
		{By: power, Mutant: mutant.Mutant{Name: "a file gets its name before its bytes are synced", File: "store.go", Old: "err := d.file.Sync()", New: "err := error(nil)"}},
		{By: power, Mutant: mutant.Mutant{Name: "a file's name is not synced", File: "store.go", Old: "if err := w.syncDir(dir); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: power, Mutant: mutant.Mutant{Name: "a directory's name is not synced", File: "store.go", Old: "if err := s.syncDir(parent); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: power, Mutant: mutant.Mutant{Name: "a checkpoint is signed before its tiles are synced", File: "seal.go", Old: "if err := w.sync(); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: cuts, Mutant: mutant.Mutant{Name: "a torn write is damage", File: "log.go", Old: "if len(data) < end {\n\t\treturn true", New: "if len(data) < end {\n\t\treturn false"}},
		{By: cuts, Mutant: mutant.Mutant{Name: "a sector that was never written is damage", File: "log.go", Old: "== 0 {\n\t\t\treturn true", New: "== 0 {\n\t\t\treturn false"}},
		{By: damage, Mutant: mutant.Mutant{Name: "damage is taken for a torn write", File: "log.go", Old: "\t\tat = next\n\t}\n\treturn false", New: "\t\tat = next\n\t}\n\treturn true"}},
		{By: damage, Mutant: mutant.Mutant{Name: "a batch's head has no checksum", File: "log.go", Old: "return h, binary.BigEndian.Uint32(n[20:]) == checksum(b[:batchHead-4])", New: "return h, true"}},
		{By: damage, Mutant: mutant.Mutant{Name: "a batch's body has no checksum", File: "log.go", Old: "len(body) != h.length || checksum(body) != h.body", New: "len(body) != h.length"}},
		{By: damage, Mutant: mutant.Mutant{Name: "the signed root is not checked", File: "check.go", Old: "if p.edge.Root() != a.sealed.Root {", New: "if false {"}},
		{By: damage, Mutant: mutant.Mutant{Name: "a start does not hold the log against the tiles", File: "check.go", Old: "_, err = holdLog(ctx, a.files, 0, a.sealed.Size, a.tiles().same)", New: ""}},
		{By: damage, Mutant: mutant.Mutant{Name: "a log may end before the checkpoint", File: "archive.go", Old: "if end < a.sealed.Size {", New: "if false {"}},

		{By: repair, Mutant: mutant.Mutant{Name: "a checkpoint is signed again although copies differ", File: "examine.go", Old: "x.unsigned != \"\" && (x.differed ||", New: "x.unsigned != \"\" && (false ||"}},
		{By: repair, Mutant: mutant.Mutant{Name: "a repair does not ask the root", File: "examine.go", Old: "(x.unsigned != \"\" || x.edge.Root() == x.signed.Root)", New: "true"}},
		{By: repair, Mutant: mutant.Mutant{Name: "a repair keeps nothing", File: "repair.go", Old: "if err := r.keep(name); err != nil {\n\t\treturn err\n\t}\n\treturn r.files.write(name, data)", New: "return r.files.write(name, data)"}},
		{By: repair, Mutant: mutant.Mutant{Name: "a damaged end is cut without a word", File: "examine.go", Old: "end = max(end, f.first+max(f.count, 1))", New: ""}},
		{By: repair, Mutant: mutant.Mutant{Name: "a segment with other events is taken as whole", File: "repair.go", Old: "b.same = b.same && bytes.Equal(chosen, logged)", New: ""}},
		{By: repair, Mutant: mutant.Mutant{Name: "what the log lacks is not noticed before a checkpoint is signed again", File: "examine.go", Old: "if logged != nil && bytes.Equal(logged, bundled) {", New: "if logged == nil && bundled != nil {\n\t\treturn bundled, nil, nil\n\t}\n\tif logged != nil && bytes.Equal(logged, bundled) {"}},
		{By: scrub, Mutant: mutant.Mutant{Name: "a scrub takes a tile's word for itself", File: "scrub.go", Old: "root != ledger.Hash(above[at:at+size])", New: "root != ledger.Hash(above[at:at+size]) && false"}},
		{By: scrub, Mutant: mutant.Mutant{Name: "a scrub does not look at the log", File: "segments.go", Old: "\t\t\tif !same {", New: "\t\t\tif !same && false {"}},
		{By: scrub, Mutant: mutant.Mutant{Name: "a scrub does not go over all blobs", File: "scrub.go", Old: "if name < begin || end != \"\" && name >= end {", New: "if true {"}},

		{By: mirror, Mutant: mutant.Mutant{Name: "an append is answered before the mirror is synced", File: "mirror.go", Old: "return both(t.one.Sync, t.other.Sync)", New: "return t.one.Sync()"}},
		{By: mirror, Mutant: mutant.Mutant{Name: "a mirror that is lost is begun anew", File: "mirror.go", Old: "case len(theirs) == 0 && a.hadMirror:", New: "case false:"}},
		{By: mirror, Mutant: mutant.Mutant{Name: "a mirror may end before the checkpoint", File: "mirror.go", Old: "if end < a.sealed.Size && a.hadMirror {", New: "if false {"}},
		{By: mirror, Mutant: mutant.Mutant{Name: "other bytes in the mirror are overwritten", File: "mirror.go", Old: "case !beginning(ours, theirs):", New: "case !beginning(ours, theirs):\n\t\treturn nil\n\tcase false:"}},
		{By: mirror, Mutant: mutant.Mutant{Name: "a longer mirror is not taken", File: "mirror.go", Old: "\ta.ending = theirs\n", New: "\treturn nil\n"}},
		{By: mirror, Mutant: mutant.Mutant{Name: "the mirror grows without an end", File: "mirror.go", Old: "firsts[i+1] <= full; i++ {", New: "firsts[i+1] <= full-full; i++ {"}},
		{By: "^TestShortage$", Mutant: mutant.Mutant{Name: "a shortage of descriptors is not waited out", File: "store.go", Old: "FS: Patient(fs)", New: "FS: fs"}},
		{By: "^TestShortageThatLasts$", Mutant: mutant.Mutant{Name: "a shortage is waited for again and again", File: "patient.go", Old: "if p.vain.Load() {", New: "if false {"}},
		{By: others, Mutant: mutant.Mutant{Name: "a failed sync is forgotten", File: "store.go", Old: "if s.failed == nil {", New: "if false {"}},

		{By: beyond, Mutant: mutant.Mutant{Name: "a copy's log may go on behind the checkpoint", File: "verify.go", Old: "uncovered.Add(uncoveredEvent, s.name)", New: "_ = uncoveredEvent"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "other files of a copy are passed over", File: "verify.go", Old: "\t\tdefault:\n\t\t\tuncovered.Add(ledger.UncoveredFile, name)", New: "\t\tdefault:"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "a log makes every tile known", File: "verify.go", Old: "return k.tiles[name], nil", New: "return true, nil"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "a tile that is about to be sealed may have other bytes", File: "verify.go", Old: "if err == nil && bytes.Equal(got, want) {", New: "if err == nil && len(got) == len(want) {"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "what was about to be sealed is not known", File: "verify.go", Old: "return k.tiles[name], nil", New: "return false, nil"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "a directory that a box just made does not belong there", File: "verify.go", Old: "return err == nil && !some, nil", New: "return err == nil && some && false, nil"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "a blob without an event may have other bytes", File: "verify.go", Old: "if err != nil || ledger.BlobPath(ledger.NewBlob(data).SHA256) != name {", New: "if err != nil || len(data) == 0 {"}},
		{By: "^TestVerifyLinkedDirectories$", Mutant: mutant.Mutant{Name: "a link in a directory's place is followed", File: "fs.go", Old: "return regular.OpenDir(d.path(name))", New: "return os.Open(d.path(name))"}},
		{By: "^TestVerifyManyForeignNames$", Mutant: mutant.Mutant{Name: "a directory's names are gathered", File: "readable.go", Old: "const namesAtOnce = 1024", New: "const namesAtOnce = 1 << 20"}},
		{By: "^TestNamesIn$", Mutant: mutant.Mutant{Name: "a directory may have any number of names", File: "fs.go", Old: "for len(names) <= most {", New: "for {"}},
		{By: "^TestMemoryOfALongEnd$", Mutant: mutant.Mutant{Name: "a verification holds the log's end", File: "log.go", Old: "if err := j.add(readSegment(names[i], data), i == len(names)-1); err != nil {", New: "defer func() { _ = data[0] }()\n\t\tif err := j.add(readSegment(names[i], data), i == len(names)-1); err != nil {"}},
		{By: export, Mutant: mutant.Mutant{Name: "an export has other signatures", File: "export.go", Old: "if note, err = ledger.Covered(note, verifier); err != nil {", New: "if err != nil {"}},
		{By: export, Mutant: mutant.Mutant{Name: "an export has the copy's key", File: "export.go", Old: "e.write(keyPath, keyFile(Keys{Verifier: verifier}))", New: "e.write(keyPath, nil)"}},
		{By: hostile, Mutant: mutant.Mutant{Name: "a link in an archive is followed", File: "fs.go", Old: "\tf, err := regular.OpenItself(d.path(name))\n\tif err != nil {\n\t\treturn nil, err\n\t}\n", New: "\tf, err := regular.Open(d.path(name))\n\tif err != nil {\n\t\treturn nil, err\n\t}\n"}},
	})
}
