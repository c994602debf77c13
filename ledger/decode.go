package ledger

import (
	"bytes"
	"strconv"
	"time"
	"unicode/utf8"
)

// plainEvent is an event as [readPlain] reads it: its texts are parts of the
// stored bytes.
type plainEvent struct {
	essence
	subject, kind, actor, session, lease, key, payload []byte
}

// decodePlain reads an event as readPlain does, with texts of its own.
func decodePlain(stored []byte) (Event, bool) {
	p, ok := readPlain(stored)
	if !ok {
		return Event{}, false
	}
	return Event{
		Format: p.format, Epoch: p.epoch, Subject: string(p.subject), ItemSeq: p.itemSeq, Prev: p.prev,
		Type: string(p.kind), Actor: string(p.actor), Session: string(p.session), Lease: string(p.lease), Key: string(p.key),
		Time: p.time, Payload: bytes.Clone(p.payload),
	}, true
}

// readPlain reads an event that is written in the plainest way: its members in
// their order, strings of printable ASCII without escapes. Nearly all are, and a
// ledger has many. It gives up on anything else, and then [Decode] looks closer;
// what it accepts, Decode would accept with the same result.
func readPlain(stored []byte) (p plainEvent, ok bool) {
	r := plainReader{rest: stored, ok: true}
	p.format = int(r.number(`{"format":`))
	p.epoch = r.number(`,"epoch":`)
	p.subject = r.text(`,"subject":"`)
	p.itemSeq = r.number(`,"item_seq":`)
	if p.prev.UnmarshalText(r.text(`,"prev":"`)) != nil {
		return plainEvent{}, false
	}
	p.kind = r.text(`,"type":"`)
	p.actor = r.text(`,"actor":"`)
	p.session = r.optional(`,"session":"`)
	p.lease = r.optional(`,"lease":"`)
	p.key = r.optional(`,"key":"`)
	p.time = r.time(`,"time":"`)
	if payload, found := bytes.CutPrefix(r.rest, []byte(`,"payload":`)); found && len(payload) > 0 {
		p.payload, r.rest = payload[:len(payload)-1], payload[len(payload)-1:]
		p.payloadSize = len(p.payload)
		r.ok = r.ok && compact(p.payload)
	}
	p.named = len(p.subject) > 0 && len(p.kind) > 0 && len(p.actor) > 0
	if !r.ok || string(r.rest) != "}" || len(stored) > MaxEvent || p.check() != nil {
		return plainEvent{}, false
	}
	return p, true
}

type plainReader struct {
	rest []byte
	ok   bool
}

// name takes a member's name.
func (r *plainReader) name(name string) {
	rest, found := bytes.CutPrefix(r.rest, []byte(name))
	r.rest, r.ok = rest, r.ok && found
}

func (r *plainReader) number(name string) uint64 {
	r.name(name)
	n := digits(r.rest)
	v, err := strconv.ParseUint(string(r.rest[:n]), 10, 63)
	r.ok = r.ok && err == nil && (r.rest[0] != '0' || n == 1)
	r.rest = r.rest[n:]
	return v
}

func (r *plainReader) text(name string) []byte {
	r.name(name)
	rest, n := r.rest, 0
	for n < len(rest) && ' ' <= rest[n] && rest[n] < utf8.RuneSelf-1 && rest[n] != '"' && rest[n] != '\\' {
		n++
	}
	if r.ok = r.ok && n < len(rest) && rest[n] == '"'; !r.ok {
		return nil
	}
	r.rest = rest[n+1:]
	return rest[:n]
}

// optional is a text that is left out if it is empty.
func (r *plainReader) optional(name string) []byte {
	if !bytes.HasPrefix(r.rest, []byte(name)) {
		return nil
	}
	s := r.text(name)
	r.ok = r.ok && len(s) > 0
	return s
}

func (r *plainReader) time(name string) time.Time {
	s := r.text(name)
	var t time.Time
	var again [len(time.RFC3339Nano)]byte
	err := t.UnmarshalText(s)
	r.ok = r.ok && err == nil && t.Location() == time.UTC && bytes.Equal(t.AppendFormat(again[:0], time.RFC3339Nano), s)
	return t
}
