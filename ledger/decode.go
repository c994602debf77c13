package ledger

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// decodePlain reads an event that is written in the plainest way: its members in
// their order, strings of printable ASCII without escapes. Nearly all are, and a
// ledger has many. It gives up on anything else, and then [Decode] looks closer;
// what it accepts, Decode would accept with the same result.
func decodePlain(stored []byte) (e Event, ok bool) {
	r := plainReader{rest: stored, ok: true}
	e.Format = int(r.number(`{"format":`))
	e.Epoch = r.number(`,"epoch":`)
	e.Subject = r.text(`,"subject":"`)
	e.ItemSeq = r.number(`,"item_seq":`)
	if prev := r.text(`,"prev":"`); e.Prev.UnmarshalText([]byte(prev)) != nil {
		return Event{}, false
	}
	e.Type = r.text(`,"type":"`)
	e.Actor = r.text(`,"actor":"`)
	e.Session = r.optional(`,"session":"`)
	e.Lease = r.optional(`,"lease":"`)
	e.Key = r.optional(`,"key":"`)
	e.Time = r.time(`,"time":"`)
	if payload, found := bytes.CutPrefix(r.rest, []byte(`,"payload":`)); found && len(payload) > 0 {
		e.Payload = bytes.Clone(payload[:len(payload)-1])
		r.rest = payload[len(payload)-1:]
		r.ok = r.ok && compact(e.Payload)
	}
	if !r.ok || string(r.rest) != "}" || len(stored) > MaxEvent || e.check() != nil {
		return Event{}, false
	}
	return e, true
}

type plainReader struct {
	rest []byte
	ok   bool
}

// value takes a name, and what follows it up to the first byte that is not part
// of the value.
func (r *plainReader) value(name string, part func(byte) bool) string {
	rest, found := bytes.CutPrefix(r.rest, []byte(name))
	if !r.ok || !found {
		r.ok = false
		return ""
	}
	n := 0
	for n < len(rest) && part(rest[n]) {
		n++
	}
	r.rest = rest[n:]
	return string(rest[:n])
}

func (r *plainReader) number(name string) uint64 {
	digits := r.value(name, func(c byte) bool { return '0' <= c && c <= '9' })
	n, err := strconv.ParseUint(digits, 10, 63)
	r.ok = r.ok && err == nil && (digits[0] != '0' || len(digits) == 1)
	return n
}

func (r *plainReader) text(name string) string {
	s := r.value(name, func(c byte) bool { return ' ' <= c && c < utf8.RuneSelf-1 && c != '"' && c != '\\' })
	r.ok = r.ok && len(r.rest) > 0 && r.rest[0] == '"'
	if r.ok {
		r.rest = r.rest[1:]
	}
	return s
}

// optional is a text that is left out if it is empty.
func (r *plainReader) optional(name string) string {
	if !bytes.HasPrefix(r.rest, []byte(name)) {
		return ""
	}
	s := r.text(name)
	r.ok = r.ok && s != ""
	return s
}

func (r *plainReader) time(name string) time.Time {
	s := r.text(name)
	t, err := time.Parse(time.RFC3339Nano, s)
	r.ok = r.ok && err == nil && t.Location() == time.UTC && t.Format(time.RFC3339Nano) == s
	return t
}

// compact reports whether data is JSON without blanks between its parts.
func compact(data []byte) bool {
	inString := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && c <= ' ':
			return false
		}
	}
	return json.Valid(data)
}
