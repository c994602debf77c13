package index_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed by the tests named with it.
func TestMutants(t *testing.T) {
	const (
		power  = "^TestPowerCuts$"
		damage = "^TestAnyFlippedBit$|^TestDamage$|^TestForeignFile$|^TestMergeNoticesDamage$"
		rules  = "^TestOddRecords$|^TestOldManifest$|^TestClose$|^TestLeftovers$|^TestEntryChecksum$"
		keys   = "^TestKeysAreFoundForADay$"
		failed = "^TestFailedSync$|^TestFullDisk$"
		reader = "^TestReaders$"
	)
	mutant.All(t, []mutant.Noticed{
		{By: rules, Mutant: mutant.Mutant{Name: "an evicted name is forgotten", File: "entry.go", Old: ", link(nameSection, r.ID, r.Subject, nil)}", New: "}\n\t_ = nameSection"}},
		{By: rules, Mutant: mutant.Mutant{Name: "a run's items are forgotten", File: "entry.go", Old: "r.Kind == Item && r.Run != \"\"", New: "false"}},
		{By: rules, Mutant: mutant.Mutant{Name: "a merge prefers the older record", File: "merge.go", Old: "bytes.Compare(c.entry.key, e.key) <= 0", New: "bytes.Compare(c.entry.key, e.key) < 0"}},
		{By: rules, Mutant: mutant.Mutant{Name: "a lookup prefers the older record", File: "lookup.go", Old: "p := probe(records, subject)\n\tfor _, f := range slices.Backward(v.files)", New: "p := probe(records, subject)\n\tfor _, f := range slices.All(v.files)"}},
		{By: rules, Mutant: mutant.Mutant{Name: "the mark goes back", File: "index.go", Old: "if upTo.Size > mark.Size {", New: "if true {"}},
		{By: rules, Mutant: mutant.Mutant{Name: "what was cut off stays", File: "manifest.go", Old: "if ok && !listed[n] || name == manifestTemp {", New: "if ok && !listed[n] && false {"}},
		{By: rules, Mutant: mutant.Mutant{Name: "a record's checksum is not asked", File: "entry.go", Old: "return e, p.rest, binary.BigEndian.Uint32(sum) == crc32.Checksum(block[4:length], castagnoli)", New: "_, _ = sum, length\n\treturn e, p.rest, true"}},
		{By: keys, Mutant: mutant.Mutant{Name: "a key younger than a day is dropped", File: "merge.go", Old: "now.Add(-KeepKeys)", New: "now.Add(-KeepKeys / 2)"}},
		{By: keys, Mutant: mutant.Mutant{Name: "keys are kept for ever", File: "merge.go", Old: "return e, at >= since, nil", New: "return e, at >= 0, nil"}},
		{By: damage, Mutant: mutant.Mutant{Name: "a damaged record is taken for none", File: "file.go", Old: "block, err := c.file.block(c.next)\n\t\tif err != nil {\n\t\t\treturn err", New: "block, err := c.file.block(c.next)\n\t\tif err != nil {\n\t\t\treturn nil"}},
		{By: damage, Mutant: mutant.Mutant{Name: "blocks are not checked", File: "file.go", Old: "!bytes.Equal(sum[:blockSum], want)", New: "!bytes.Equal(sum[:blockSum], want) && false"}},
		{By: damage, Mutant: mutant.Mutant{Name: "tails are not checked", File: "file.go", Old: "sha256.Sum256(tail) != f.sum", New: "sha256.Sum256(tail) != f.sum && false"}},
		{By: damage, Mutant: mutant.Mutant{Name: "everybody's manifest is believed", File: "manifest.go", Old: "append([]byte(\"signalbox index\\n\"), secret...)", New: "append([]byte(\"signalbox index\\n\"), secret[:0]...)"}},
		{By: damage, Mutant: mutant.Mutant{Name: "a missing manifest is an empty index", File: "index.go", Old: "if _, ok := number(name); ok {", New: "if _, ok := number(name); ok && false {"}},
		{By: power, Mutant: mutant.Mutant{Name: "the manifest is written before the data is synced", File: "write.go", Old: "errors.Join(f.Sync(), f.Close())", New: "f.Close()"}},
		{By: power, Mutant: mutant.Mutant{Name: "a file's name is not synced", File: "write.go", Old: "x.fs.SyncDir(\".\")", New: "error(nil)"}},
		{By: power, Mutant: mutant.Mutant{Name: "the manifest is renamed before it is synced", File: "manifest.go", Old: "errors.Join(f.Sync(), f.Close())", New: "f.Close()"}},
		{By: power, Mutant: mutant.Mutant{Name: "an addition is acknowledged before the manifest's name is synced", File: "manifest.go", Old: "x.fs.SyncDir(\".\")", New: "error(nil)"}},
		{By: failed, Mutant: mutant.Mutant{Name: "a failed sync is forgotten", File: "index.go", Old: "\t\tx.failed = err\n", New: "\t\t_ = err\n"}},
		{By: failed, Mutant: mutant.Mutant{Name: "what could not be written stays", File: "write.go", Old: "_ = x.fs.Remove(name) // a full disk", New: "// a full disk"}},
		{By: reader, Mutant: mutant.Mutant{Name: "files are closed under their readers", File: "index.go", Old: "\tx.view.uses++\n", New: ""}},
	})
}
