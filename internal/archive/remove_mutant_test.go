package archive_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults in the removal of blobs, put in on purpose, is noticed by the test beside it.
func TestBlobMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestRemoveBlobs$|TestPowerCutInRemoval$", Mutant: mutant.Mutant{Name: "a blob is unlinked before the event is sealed", File: "remove.go",
			Old: "if index >= a.Sealed() {", New: "if false {"}},
		{By: "TestPutAgain$", Mutant: mutant.Mutant{Name: "a blob is unlinked although it was put again", File: "remove.go",
			Old: "if !a.leaving.unmark(sum) {", New: "if a.leaving.unmark(sum); false {"}},
		{By: "TestPutAgain$", Mutant: mutant.Mutant{Name: "putting a blob does not keep it", File: "remove.go",
			Old: "\tdelete(l.marked, sum)\n\tl.mu.Unlock()\n\treturn l.files.RUnlock", New: "\tl.mu.Unlock()\n\treturn l.files.RUnlock"}},
		{By: "TestPutTakesLock$", Mutant: mutant.Mutant{Name: "a blob is put without the lock", File: "remove.go",
			Old: "func (l *leaving) put(sum ledger.Hash) func() {\n\tl.files.RLock()\n\tl.mu.Lock()\n\tdelete(l.marked, sum)\n\tl.mu.Unlock()\n\treturn l.files.RUnlock\n", New: "func (l *leaving) put(sum ledger.Hash) func() {\n\treturn func() {\n\t\tl.mu.Lock()\n\t\tdelete(l.marked, sum)\n\t\tl.mu.Unlock()\n\t}\n"}},
		{By: "TestRemoveBlobs$", Mutant: mutant.Mutant{Name: "young blobs are removed", File: "remove.go",
			Old: "case at.Before(since):", New: "case !at.IsZero():"}},
		{By: "TestRemoveBlobs$", Mutant: mutant.Mutant{Name: "any event removes", File: "remove.go",
			Old: "if err == nil && len(removed) == 0 {", New: "if false {"}},
		{By: "TestRemovedForGood$", Mutant: mutant.Mutant{Name: "what is removed comes back", File: "remove.go",
			Old: "if err := a.files.syncDir(dir); err != nil {", New: "if dir == \"\" {"}},
		{By: "TestMissingBlobs$", Mutant: mutant.Mutant{Name: "an event settles what comes after it", File: "blob.go",
			Old: "if _, ok := c.absent[ref]; !ok {", New: "if _, ok := c.absent[ref]; !ok && !bytes.Contains(stored, []byte(\"again\")) {"}},
		{By: "TestMissingBlobs$", Mutant: mutant.Mutant{Name: "a removal settles nothing", File: "blob.go",
			Old: "delete(c.absent, ledger.Blob(r))", New: "_ = r"}},
		{By: "TestMissingBlobs$", Mutant: mutant.Mutant{Name: "the scrub misses no blob", File: "scrub.go",
			Old: "return missingBlob(index, ref.SHA256)", New: "return nil"}},
		{By: "TestMissingBlobs$", Mutant: mutant.Mutant{Name: "a start misses no blob", File: "check.go",
			Old: "if lost := p.blobs.missing(); len(lost) > 0 {", New: "if lost := p.blobs.missing(); false {"}},
		{By: "TestMissingBlobs$", Mutant: mutant.Mutant{Name: "a repair misses no blob", File: "examine.go",
			Old: "for _, lost := range x.held.missing() {", New: "for _, lost := range x.held.missing()[:0] {"}},
		{By: "TestRemoveBlobs$", Mutant: mutant.Mutant{Name: "words in a text remove", File: "remove.go",
			Old: "if err == nil && e.Type != ledger.TypeBlobRemoved {\n\t\treturn nil, nil\n\t}\n", New: ""}},
	})
}
