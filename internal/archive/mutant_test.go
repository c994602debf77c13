package archive_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed by the tests named with it.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew for each mutant; not with -short")
	}
	const (
		power  = "^TestPowerCuts$"
		damage = "^TestDamage|^TestAnyFlippedBit$"
		rules  = "^TestReconcile|^TestSuperseded"
		repair = "^TestRepair"
		others = "^TestFailed"
	)
	for _, m := range []struct {
		noticed string
		mutant.Mutant
	}{
		{power, mutant.Mutant{Name: "an append is acknowledged before its sync", File: "archive.go", Old: "return f.Sync()", New: "return nil"}},
		{power, mutant.Mutant{Name: "the name of a new segment is not synced", File: "archive.go", Old: "writeSync(next, data), a.files.syncDir(logDir))", New: "writeSync(next, data))"}},
		{power, mutant.Mutant{Name: "a file gets its name before its bytes are synced", File: "store.go", Old: "err := d.file.Sync()", New: "err := error(nil)"}},
		{power, mutant.Mutant{Name: "a file's name is not synced", File: "store.go", Old: "if err := w.syncDir(dir); err != nil {", New: "if err := error(nil); err != nil {"}},
		{power, mutant.Mutant{Name: "a directory's name is not synced", File: "store.go", Old: "if err := s.syncDir(parent); err != nil {", New: "if err := error(nil); err != nil {"}},
		{power, mutant.Mutant{Name: "a checkpoint is signed before its tiles are synced", File: "seal.go", Old: "if err := w.sync(); err != nil {", New: "if err := error(nil); err != nil {"}},
		{power, mutant.Mutant{Name: "the log forgets what is in a partial bundle", File: "seal.go", Old: "a.segments[1] <= a.full {", New: "a.segments[1] <= size {"}},
		{power, mutant.Mutant{Name: "a torn write is damage", File: "log.go", Old: "if len(data) < end {\n\t\treturn true", New: "if len(data) < end {\n\t\treturn false"}},
		{power, mutant.Mutant{Name: "a sector that was never written is damage", File: "log.go", Old: "== 0 {\n\t\t\treturn true", New: "== 0 {\n\t\t\treturn false"}},
		{damage, mutant.Mutant{Name: "damage is taken for a torn write", File: "log.go", Old: "\t\tat = next\n\t}\n\treturn false", New: "\t\tat = next\n\t}\n\treturn true"}},
		{damage, mutant.Mutant{Name: "a batch's head has no checksum", File: "log.go", Old: "return h, binary.BigEndian.Uint32(n[20:]) == checksum(b[:batchHead-4])", New: "return h, true"}},
		{damage, mutant.Mutant{Name: "a batch's body has no checksum", File: "log.go", Old: "len(body) != h.length || checksum(body) != h.body", New: "len(body) != h.length"}},
		{damage, mutant.Mutant{Name: "the signed root is not checked", File: "reconcile.go", Old: "case root != signed.Root:", New: "case root != signed.Root && false:"}},
		{damage, mutant.Mutant{Name: "tiles are not checked", File: "reconcile.go", Old: "if err != nil || !bytes.Equal(got, want) {", New: "if err != nil || !bytes.Equal(got, want) && false {"}},
		{damage, mutant.Mutant{Name: "blobs are not looked for", File: "blob.go", Old: "if !bytes.Contains(stored, []byte(`\"blob\"`)) {", New: "if !bytes.Contains(stored, []byte(`\"blob\"`)) || true {"}},
		{damage, mutant.Mutant{Name: "a log may end before the checkpoint", File: "archive.go", Old: "if a.size() < a.sealed.Size {", New: "if false {"}},
		{rules, mutant.Mutant{Name: "events are not compared", File: "reconcile.go", Old: "return bytes.Equal(r.Data, stored) &&", New: "return"}},
		{rules, mutant.Mutant{Name: "an archive is made beside events", File: "reconcile.go", Old: "if tip > 0 {", New: "if false {"}},
		{rules, mutant.Mutant{Name: "a segment that comes back is damage", File: "log.go", Old: "if first <= from {", New: "if false {"}},
		{repair, mutant.Mutant{Name: "a checkpoint is signed again although copies differ", File: "examine.go", Old: "x.unsigned != \"\" && (x.differed ||", New: "x.unsigned != \"\" && (false ||"}},
		{repair, mutant.Mutant{Name: "a repair does not ask the root", File: "examine.go", Old: "(x.unsigned != \"\" || root == x.signed.Root)", New: "true || root == x.signed.Root"}},
		{repair, mutant.Mutant{Name: "a repair keeps nothing", File: "repair.go", Old: "if err := r.keep(name); err != nil {\n\t\treturn err\n\t}\n\treturn r.files.write(name, data)", New: "return r.files.write(name, data)"}},
		{others, mutant.Mutant{Name: "a failed sync is forgotten", File: "store.go", Old: "if s.failed == nil {", New: "if false {"}},
	} {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			if err := m.Run(t.Context(), ".", m.noticed); err != nil {
				t.Error(err)
			}
		})
	}
}
