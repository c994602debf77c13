package ledger_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed by the tests named with it.
func TestMutants(t *testing.T) {
	const (
		edge   = "^TestEdge|^TestReadEdge"
		verify = "^TestVerify$|^TestVerifyFinds"
		plain  = "^TestDecodePlain$|^TestCompact$"
		table  = "^TestTips$|^TestPrinter$"
		blobs  = "^TestBlob"
		beyond = "^TestVerifyUncovered$|^TestVerifyOlderPartials$"
		safe   = "^TestVerifyReadsNothing$|^TestVerifyLinks$|^TestVerifyManyNames$|^TestVerifyBlobOnce$|^TestBlobsDeep$"
	)
	mutant.All(t, []mutant.Noticed{
		{By: "^TestCheckpointOfAnySize$", Mutant: mutant.Mutant{Name: "a checkpoint may have any size", File: "checkpoint.go", Old: "if size > maxSize {", New: "if false {"}},
		{By: edge, Mutant: mutant.Mutant{Name: "an edge's root is not compared", File: "edge.go", Old: "root != c.Root {", New: "root != c.Root && false {"}},
		{By: edge, Mutant: mutant.Mutant{Name: "a tile of the edge may be short", File: "edge.go", Old: "if err == nil && len(tile) != width*hashSize {", New: "if false {"}},
		{By: edge, Mutant: mutant.Mutant{Name: "a level of the edge is left out", File: "edge.go", Old: "if width == 0 {", New: "if width == 0 || level == 1 {"}},
		{By: edge, Mutant: mutant.Mutant{Name: "clones share their tiles", File: "edge.go", Old: "clone.levels[level] = slices.Clone(tile)", New: "clone.levels[level] = tile"}},
		{By: edge, Mutant: mutant.Mutant{Name: "a full tile is overwritten by the next", File: "edge.go", Old: "append(slices.Clip(e.levels[level]), hash[:]...)", New: "append(e.levels[level], hash[:]...)"}},
		{By: edge, Mutant: mutant.Mutant{Name: "a partial tile is overwritten by the next", File: "edge.go", Old: "len(tile)/hashSize), slices.Clone(tile))", New: "len(tile)/hashSize), tile)"}},
		{By: edge, Mutant: mutant.Mutant{Name: "an event is taken although its tile was not kept", File: "edge.go", Old: "index/TileWidth, TileWidth), tile); err != nil {\n", New: "index/TileWidth, TileWidth), tile); err != nil {\n\t\t\t\te.size++\n"}},
		{By: edge, Mutant: mutant.Mutant{Name: "a partial tile of the same width is written again", File: "edge.go", Old: "if len(tile) == 0 || n == older>>(tileHeight*level) {", New: "if len(tile) == 0 {"}},
		{By: edge, Mutant: mutant.Mutant{Name: "the next tile of a level has the name of the one before", File: "edge.go", Old: "hash, index = fullRoot(tile), index/TileWidth", New: "hash, index = fullRoot(tile), index/TileWidth/TileWidth"}},
		{By: verify, Mutant: mutant.Mutant{Name: "a chain may be broken", File: "verify.go", Old: "if !v.tips.move(e.subject, e.before, e.after) {", New: "if !v.tips.move(e.subject, e.before, e.after) && false {"}},
		{By: verify, Mutant: mutant.Mutant{Name: "a place on the subject is no part of the chain", File: "tips.go", Old: "return keyedPrint(&p.tipKey, itemSeq, sum)", New: "return keyedPrint(&p.tipKey, 0*itemSeq, sum)"}},
		{By: verify, Mutant: mutant.Mutant{Name: "the first byte of a place does not count", File: "tips.go", Old: "binary.BigEndian.PutUint64(block[15:], n)", New: "binary.BigEndian.PutUint64(block[15:], n<<8)"}},
		{By: verify, Mutant: mutant.Mutant{Name: "a wrong tile is passed over", File: "verify.go", Old: "if v.wrongTile != nil {", New: "if v.wrongTile != nil && false {"}},
		{By: verify, Mutant: mutant.Mutant{Name: "tiles are not compared", File: "verify.go", Old: "if err == nil && !bytes.Equal(got, want) {", New: "if err == nil && !bytes.Equal(got, want) && false {"}},
		{By: verify, Mutant: mutant.Mutant{Name: "a tile that is missing is passed over", File: "verify.go", Old: "\tif err != nil {\n\t\tv.wrong(path, err)", New: "\tif err != nil && len(got) > 0 {\n\t\tv.wrong(path, err)"}},
		{By: verify, Mutant: mutant.Mutant{Name: "partial tiles are not looked at", File: "verify.go", Old: "v.edge.Partial(0, v.tile)", New: "v.edge.Partial(v.edge.Size(), v.tile)"}},
		{By: verify, Mutant: mutant.Mutant{Name: "the wrong tile that is found first is reported", File: "verify.go", Old: "err == nil && level < v.wrongLevel {", New: "err == nil && level < 0 {"}},
		{By: verify, Mutant: mutant.Mutant{Name: "the root is not compared", File: "verify.go", Old: "root != c.Root {", New: "root != c.Root && false {"}},
		{By: verify, Mutant: mutant.Mutant{Name: "a reader's error is passed over", File: "verify.go", Old: "\treturn b.err\n", New: "\treturn nil\n"}},
		{By: verify, Mutant: mutant.Mutant{Name: "a bundle may have more events", File: "bundle.go", Old: "if n != want {", New: "if n < want {"}},
		{By: verify, Mutant: mutant.Mutant{Name: "an event may be of another epoch", File: "bundle.go", Old: "if e.epoch != r.epoch {", New: "if false {"}},
		{By: verify, Mutant: mutant.Mutant{Name: "a reader reads the bundle of another", File: "bundle.go", Old: "index += readerCount {", New: "index++ {"}},
		{By: verify, Mutant: mutant.Mutant{Name: "a file is read to its end, however long", File: "edge.go", Old: "readAll(file, most, buf[:0])", New: "readAll(file, 1<<30, buf[:0])"}},
		{By: verify, Mutant: mutant.Mutant{Name: "a blob is read to its end, however long", File: "bundle.go", Old: "io.LimitReader(file, max(0, ref.Size)+1)", New: "file"}},
		{By: plain, Mutant: mutant.Mutant{Name: "blanks are read plainly", File: "compact.go", Old: "case c < ' ':", New: "case c < ' ' && c != '\\n':"}},
		{By: plain, Mutant: mutant.Mutant{Name: "deep payloads are read plainly", File: "compact.go", Old: "const maxPlainDepth = 32", New: "const maxPlainDepth = 20_000"}},
		{By: plain, Mutant: mutant.Mutant{Name: "numbers may begin with 0", File: "compact.go", Old: "whole == 0 || whole > 1 && data[0] == '0'", New: "whole == 0"}},
		{By: table, Mutant: mutant.Mutant{Name: "fingerprints have no key of their own", File: "tips.go", Old: "_, _ = rand.Read(key[:])", New: "_, _ = rand.Read(key[:0])"}},
		{By: table, Mutant: mutant.Mutant{Name: "a shard loses a subject when it grows", File: "tips.go", Old: "for _, cell := range old {\n\t\tif cell.tip", New: "for i, cell := range old {\n\t\tif i != 5 && cell.tip"}},
		{By: blobs, Mutant: mutant.Mutant{Name: "a removal counts for later events", File: "verify.go", Old: "\t\tdelete(v.missing, n.blob)\n", New: "\t\tv.missing[n.blob] = v.checkpoint.Size\n"}},
		{By: blobs, Mutant: mutant.Mutant{Name: "an event settles its own reference", File: "bundle.go", Old: "\tfor _, ref := range refs {\n", New: "\tfor _, ref := range refs {\n\t\tif string(e.kind) == TypeBlobRemoved {\n\t\t\tbreak\n\t\t}\n"}},
		{By: blobs, Mutant: mutant.Mutant{Name: "a missing blob is passed over", File: "verify.go", Old: "if len(v.missing) == 0 {", New: "if true {"}},
		{By: blobs, Mutant: mutant.Mutant{Name: "the last event that lacks a blob is reported", File: "verify.go", Old: "case !n.removed && !missing:", New: "case !n.removed:"}},
		{By: blobs, Mutant: mutant.Mutant{Name: "any event removes", File: "bundle.go", Old: "if string(e.kind) == TypeBlobRemoved {", New: "if string(e.kind) == TypeBlobRemoved || string(e.kind) == \"WorkRemoved\" {"}},
		{By: blobs, Mutant: mutant.Mutant{Name: "a removal may give another size", File: "tips.go", Old: "return keyedPrint(&p.blobKey, uint64(size), sum)", New: "return keyedPrint(&p.blobKey, 0*uint64(size), sum)"}},
		{By: blobs, Mutant: mutant.Mutant{Name: "a removal names nothing", File: "removed.go", Old: "if len(b.Removed) == 0 {", New: "if false {"}},
		{By: blobs, Mutant: mutant.Mutant{Name: "a blob that was removed may have other bytes", File: "bundle.go", Old: "case n != ref.Size || Hash(hash.Sum(nil)) != ref.SHA256:", New: "case n != ref.Size && Hash(hash.Sum(nil)) != ref.SHA256:"}},
		{By: blobs, Mutant: mutant.Mutant{Name: "a reference with an escape in its name is none", File: "event.go", Old: " && !bytes.Contains(payload, []byte(`\\u`)) {", New: " {"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "what lies behind the checkpoint is passed over", File: "verify.go", Old: "return r, v.uncovered(signed, verifierKey, known)", New: "return r, nil"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "bundles behind the checkpoint are passed over", File: "uncovered.go", Old: "return s.tiles(path, -1, 0, 0)", New: "return nil"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "an older partial tile may have any hashes", File: "uncovered.go", Old: "if same || err != nil {", New: "if same = true; same || err != nil {"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "a box that was ended has left nothing", File: "uncovered.go", Old: "case int64(width) < covered:", New: "case false:"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "a directory in which nothing can be is passed over", File: "uncovered.go", Old: "if err == nil && empty && (groups", New: "if empty && false && (groups"}},
		{By: "^TestVerifyOlderPartials$", Mutant: mutant.Mutant{Name: "a directory that is left empty does not belong there", File: "uncovered.go", Old: "if err == nil && empty && s.covered(level, index) == 0 {", New: "if err == nil && empty {"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "a blob that nobody refers to is passed over", File: "uncovered.go", Old: "case !s.blobs.has(", New: "case false && !s.blobs.has("}},
		{By: beyond, Mutant: mutant.Mutant{Name: "other signatures are passed over", File: "verify.go", Old: "if !bytes.Equal(own, signed) {", New: "if !bytes.Equal(own, signed) && false {"}},
		{By: beyond, Mutant: mutant.Mutant{Name: "spare bits of a signature are passed over", File: "uncovered.go", Old: "base64.StdEncoding.EncodeToString(raw)), nil", New: "n.Sigs[0].Base64[len(raw)*0:]), nil"}},
		{By: safe, Mutant: mutant.Mutant{Name: "a link is followed", File: "open.go", Old: "} else if info != nil && !info.Mode().IsRegular() {", New: "} else if info != nil && !info.Mode().IsRegular() && false {"}},
		{By: safe, Mutant: mutant.Mutant{Name: "a pipe that was opened is read", File: "open.go", Old: "case err == nil && !info.Mode().IsRegular():", New: "case false:"}},
		{By: safe, Mutant: mutant.Mutant{Name: "a file is read although it is too long", File: "edge.go", Old: "if info != nil && info.Size() > int64(most) {", New: "if info != nil && info.Size() > int64(most) && false {"}},
		{By: safe, Mutant: mutant.Mutant{Name: "a directory's names are read at once", File: "uncovered.go", Old: "const namesAtOnce = 1024", New: "const namesAtOnce = 1 << 30"}},
		{By: safe, Mutant: mutant.Mutant{Name: "a blob is read for each event", File: "bundle.go", Old: "; known {\n", New: "; known && false {\n"}},
		{By: safe, Mutant: mutant.Mutant{Name: "a blob may have any size", File: "bundle.go", Old: "if ref.Size > MaxBlob {", New: "if false {"}},
	})
}
