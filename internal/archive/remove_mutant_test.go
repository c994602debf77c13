package archive_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults in the removal of blobs, put in on purpose, is noticed by the test beside it.
func TestBlobMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew for each mutant; not with -short")
	}
	for _, m := range []struct {
		name, file, before, after, test string
	}{
		{"a blob is unlinked before the event is sealed", "remove.go",
			"if index >= a.Sealed() {", "if false {", "TestRemoveBlobs$|TestPowerCutInRemoval$"},
		{"a blob is unlinked although it was put again", "remove.go",
			"if !a.leaving.unmark(sum) {", "if a.leaving.unmark(sum); false {", "TestPutAgain$"},
		{"putting a blob does not keep it", "remove.go",
			"\tdelete(l.marked, sum)\n\tl.mu.Unlock()\n\treturn l.files.RUnlock", "\tl.mu.Unlock()\n\treturn l.files.RUnlock", "TestPutAgain$"},
		{"a blob is put without the lock", "remove.go",
			"func (l *leaving) put(sum ledger.Hash) func() {\n\tl.files.RLock()\n\tl.mu.Lock()\n\tdelete(l.marked, sum)\n\tl.mu.Unlock()\n\treturn l.files.RUnlock\n",
			"func (l *leaving) put(sum ledger.Hash) func() {\n\treturn func() {\n\t\tl.mu.Lock()\n\t\tdelete(l.marked, sum)\n\t\tl.mu.Unlock()\n\t}\n", "TestPutTakesLock$"},
		{"young blobs are removed", "remove.go",
			"case at.Before(since):", "case !at.IsZero():", "TestRemoveBlobs$"},
		{"any event removes", "remove.go",
			"if err == nil && len(removed) == 0 {", "if false {", "TestRemoveBlobs$"},
		{"what is removed comes back", "remove.go",
			"if err := a.files.syncDir(dir); err != nil {", "if dir == \"\" {", "TestRemovedForGood$"},
		{"an event settles what comes after it", "blob.go",
			"if _, ok := c.absent[ref]; !ok {", "if _, ok := c.absent[ref]; !ok && !bytes.Contains(stored, []byte(\"again\")) {", "TestMissingBlobs$"},
		{"a removal settles nothing", "blob.go",
			"delete(c.absent, ledger.Blob(r))", "_ = r", "TestMissingBlobs$"},
		{"the scrub misses no blob", "scrub.go",
			"return missingBlob(index, ref.SHA256)", "return nil", "TestMissingBlobs$"},
		{"a start misses no blob", "check.go",
			"if lost := p.blobs.missing(); len(lost) > 0 {", "if lost := p.blobs.missing(); false {", "TestMissingBlobs$"},
		{"a repair misses no blob", "examine.go",
			"for _, lost := range x.held.missing() {", "for _, lost := range x.held.missing()[:0] {", "TestMissingBlobs$"},
		{"words in a text remove", "remove.go",
			"if err == nil && e.Type != ledger.TypeBlobRemoved {\n\t\treturn nil, nil\n\t}\n", "", "TestRemoveBlobs$"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
