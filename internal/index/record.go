package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Kind is what a subject is.
type Kind byte

// The kinds of subjects.
const (
	Item         Kind = 'i'
	Run          Kind = 'r'
	Conversation Kind = 'c'

	// Blob is no subject of events: it is a blob that was removed, with its hash in hexadecimal
	// digits for a subject, and the sequences of the events that say so. Only [Index.Removed] finds
	// it.
	Blob Kind = 'b'
)

// kinds are all kinds, the most frequent first.
var kinds = []Kind{Item, Conversation, Run}

// KeepKeys is how long the keys of requests are kept at least, from [Record.Latest] on.
const KeepKeys = 24 * time.Hour

// Record is what the index has on one subject. Kind, ID, Run, Task and AddKey of a subject
// never change, but for AddKey, which is empty when it was dropped.
type Record struct {
	Subject string
	Kind    Kind
	ID      string // its name for people
	Run     string // the subject of the run that an item is a task of; empty if it stands alone
	Task    string // its id in that run
	Phase   agentsig.Phase
	Seqs    []uint64 // the ledger's sequences of all its events, at least one, in order
	Latest  int64    // the latest time of its events, in milliseconds since 1970
	AddKey  string   // of the request that added it, or started the run; empty if it had none
	Keys    [8]work.KeyedSeq
}

// First returns the sequence of its first event.
func (r Record) First() uint64 { return r.Seqs[0] }

// Last returns the sequence of its last event.
func (r Record) Last() uint64 { return r.Seqs[len(r.Seqs)-1] }

// check refuses a record that could not be found again as it was given.
func (r Record) check() error {
	switch {
	case r.Kind == Blob && r.Subject != "":
	case r.Subject == "" || r.ID == "":
		return fmt.Errorf("a record for the index has no subject or no name: %q, %q", r.Subject, r.ID)
	case !slices.Contains(kinds, r.Kind):
		return fmt.Errorf("%s, for the index, is of no known kind: %q", r.Subject, r.Kind)
	case len(r.Seqs) == 0:
		return fmt.Errorf("%s, for the index, has no events", r.Subject)
	}
	for i, seq := range r.Seqs {
		if seq == 0 || i > 0 && seq <= r.Seqs[i-1] {
			return fmt.Errorf("%s, for the index, has event %d out of order", r.Subject, seq)
		}
	}
	return nil
}

// value returns what is stored of the record under its key.
func (r Record) value() []byte {
	b := make([]byte, 0, 64+len(r.ID)+len(r.Run)+len(r.Task)+2*len(r.Seqs)+len(r.AddKey))
	for _, s := range []string{r.ID, r.Run, r.Task, string(r.Phase)} {
		b = appendText(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(r.Seqs)))
	before := uint64(0)
	for _, seq := range r.Seqs {
		b = binary.AppendUvarint(b, seq-before)
		before = seq
	}
	b = binary.AppendVarint(b, r.Latest)
	b = appendText(b, r.AddKey)
	used := len(r.Keys)
	for used > 0 && r.Keys[used-1] == (work.KeyedSeq{}) {
		used--
	}
	b = append(b, byte(used))
	for _, k := range r.Keys[:used] {
		b = binary.BigEndian.AppendUint64(b, k.Sum)
		b = binary.AppendUvarint(b, k.Seq)
	}
	return b
}

// withoutKeys returns the record as it is after its keys were dropped.
func (r Record) withoutKeys() Record {
	r.AddKey, r.Keys = "", [8]work.KeyedSeq{}
	return r
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errRecord = errors.New("a record that can't be read")

// parseRecord reads what value wrote.
func parseRecord(kind Kind, subject string, value []byte) (Record, error) {
	p := parser{rest: value}
	r := Record{Subject: subject, Kind: kind, ID: p.text(), Run: p.text(), Task: p.text(), Phase: agentsig.Phase(p.text())}
	n := p.uvarint()
	if n > uint64(len(p.rest)) { // each takes a byte at least
		return Record{}, errRecord
	}
	r.Seqs = make([]uint64, n)
	seq := uint64(0)
	for i := range r.Seqs {
		seq += p.uvarint()
		r.Seqs[i] = seq
	}
	r.Latest = p.varint()
	r.AddKey = p.text()
	used := p.bytes(1)
	if p.bad || int(used[0]) > len(r.Keys) {
		return Record{}, errRecord
	}
	for i := range r.Keys[:used[0]] {
		if sum := p.bytes(8); len(sum) == 8 {
			r.Keys[i] = work.KeyedSeq{Sum: binary.BigEndian.Uint64(sum), Seq: p.uvarint()}
		}
	}
	if p.bad || len(p.rest) > 0 || r.check() != nil {
		return Record{}, errRecord
	}
	return r, nil
}

// parser takes bytes apart. After something was not there it is bad, and gives zeros.
type parser struct {
	rest []byte
	bad  bool
}

func (p *parser) uvarint() uint64 {
	v, n := binary.Uvarint(p.rest)
	if n <= 0 {
		p.fail()
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func (p *parser) varint() int64 {
	v, n := binary.Varint(p.rest)
	if n <= 0 {
		p.fail()
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

// bytes returns the next n bytes, or nil.
func (p *parser) bytes(n uint64) []byte {
	if p.bad || n > uint64(len(p.rest)) {
		p.fail()
		return nil
	}
	b := p.rest[:n:n]
	p.rest = p.rest[n:]
	return b
}

func (p *parser) text() string { return string(p.bytes(p.uvarint())) }

func (p *parser) fail() { p.bad, p.rest = true, nil }
