package ledger

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
)

// tips holds the end of every subject's chain in about 36 bytes a subject, for
// [Verify]. It keeps fingerprints that are made with keys drawn at random for
// each run, after the ledger was written. So whoever wrote the ledger can't aim at
// a fingerprint, and has one blind guess with each event:
//
//   - that an event with another sequence or another hash before it passes for the
//     next one takes the same 128 bits of SHA-256 under an unknown key by chance,
//     2⁻¹²⁸ for each event. Without a key two events with the same 128 bits could be
//     searched for, with about 2⁶⁴ tries;
//   - two subjects with the same 96 bits would make a chain that is whole look
//     broken, never a broken one whole: 2⁻⁵⁶ for two million subjects.
//
// The table grows by shards, so that growing takes little more than what is kept.
type tips struct {
	shards   [256]tipShard
	subjects int
}

// subjectPrint is the fingerprint of a subject. A fingerprint is one of an event's
// place on its subject and its hash, or of a blob.
type (
	subjectPrint [12]byte
	fingerprint  [16]byte
)

// tipShard is a table with open addressing. A cell without a tip is free.
type tipShard struct {
	cells []tipCell
	used  int
}

type tipCell struct {
	subject subjectPrint
	tip     fingerprint
}

// move takes a subject's chain from the tip before an event to the one after it. It
// reports whether the chain ended with the tip before; that of a subject without
// events is zero.
func (t *tips) move(subject subjectPrint, before, after fingerprint) bool {
	shard := &t.shards[subject[0]]
	if shard.used >= len(shard.cells)/8*7 {
		shard.grow()
	}
	cell := shard.find(subject)
	if cell.tip != before {
		return false
	}
	if before == (fingerprint{}) {
		cell.subject = subject
		shard.used++
		t.subjects++
	}
	cell.tip = after
	return true
}

// find returns the subject's cell, or the free one where it belongs.
func (s *tipShard) find(subject subjectPrint) *tipCell {
	n := uint64(len(s.cells))
	at := uint64(binary.BigEndian.Uint32(subject[1:])) * n >> 32
	for {
		cell := &s.cells[at]
		if cell.subject == subject || cell.tip == (fingerprint{}) {
			return cell
		}
		if at++; at == n {
			at = 0
		}
	}
}

// grow makes the shard larger by a quarter, at least by 8 cells.
func (s *tipShard) grow() {
	old := s.cells
	s.cells = make([]tipCell, len(old)+max(8, len(old)/32*8))
	for _, cell := range old {
		if cell.tip != (fingerprint{}) {
			*s.find(cell.subject) = cell
		}
	}
}

// printer makes fingerprints. With its keys, which are as long as lets what is
// hashed fit into one block of SHA-256, nobody can foresee them.
type printer struct {
	subjectKey, tipKey, blobKey [15]byte
}

func newPrinter() *printer {
	var p printer
	for _, key := range []*[15]byte{&p.subjectKey, &p.tipKey, &p.blobKey} {
		_, _ = rand.Read(key[:]) // it never fails
	}
	return &p
}

func (p *printer) subject(subject []byte) subjectPrint {
	var room [64]byte
	sum := sha256.Sum256(append(append(room[:0], p.subjectKey[:]...), subject...))
	return subjectPrint(sum[:])
}

// tip returns the fingerprint of an event's place on its subject and its hash.
func (p *printer) tip(itemSeq uint64, sum Hash) fingerprint {
	return keyedPrint(&p.tipKey, itemSeq, sum)
}

// blob returns the fingerprint of a reference to a blob.
func (p *printer) blob(sum Hash, size int64) fingerprint {
	return keyedPrint(&p.blobKey, uint64(size), sum)
}

// keyedPrint returns a fingerprint of a number and a hash.
func keyedPrint(key *[15]byte, n uint64, sum Hash) fingerprint {
	var block [15 + 8 + hashSize]byte
	copy(block[:], key[:])
	binary.BigEndian.PutUint64(block[15:], n)
	copy(block[15+8:], sum[:])
	all := sha256.Sum256(block[:])
	return fingerprint(all[:])
}
