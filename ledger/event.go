package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"
)

// Limits of an event, in bytes.
const (
	MaxEvent   = 32 << 10 // as stored
	MaxPayload = 16 << 10 // what is larger is a blob; see [Blob]
	MaxBlob    = 64 << 20
)

// ErrTooLarge is returned for an event that is longer than one can be.
var ErrTooLarge = errors.New("the event is too large")

// Format is the version of the event's form that this package writes and reads.
const Format = 1

// Hash is a SHA-256 hash. As text it is lower-case hexadecimal.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads the hash from hexadecimal, in lower case.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != 2*len(h) || slices.ContainsFunc(text, func(c byte) bool { return 'A' <= c && c <= 'F' }) {
		return fmt.Errorf("a hash has %d hexadecimal digits in lower case", 2*len(h))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Event is something that happened.
type Event struct {
	Format  int             `json:"format"`            // [Format]
	Epoch   uint64          `json:"epoch"`             // of the tree it is in, from 1
	Subject string          `json:"subject"`           // what it is about: a work item, a plan run
	ItemSeq uint64          `json:"item_seq"`          // its place on the subject, from 1
	Prev    Hash            `json:"prev"`              // [Sum] of the event before it on the subject; zero for the first
	Type    string          `json:"type"`              // in the past tense
	Actor   string          `json:"actor"`             // who caused it
	Session string          `json:"session,omitempty"` // in which session
	Lease   string          `json:"lease,omitempty"`   // under which lease
	Key     string          `json:"key,omitempty"`     // makes a repeated request recognisable
	Time    time.Time       `json:"time"`              // the server's, in UTC; it is data, not order
	Payload json.RawMessage `json:"payload,omitempty"` // what the type says
}

// Sum is the hash of an event: SHA-256 over its stored bytes, with a prefix that
// keeps it apart from every other use of SHA-256.
func Sum(stored []byte) Hash {
	h := sha256.New()
	h.Write([]byte("signalbox ledger event\n"))
	h.Write(stored)
	var sum Hash
	h.Sum(sum[:0])
	return sum
}

// Encode returns the bytes to store.
func (e Event) Encode() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	e.Time = e.Time.UTC()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode the event: %w", err)
	}
	stored := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(stored) > MaxEvent {
		return nil, fmt.Errorf("%w: it has %d bytes, and at most %d are allowed: store what is large as a blob", ErrTooLarge, len(stored), MaxEvent)
	}
	return stored, nil
}

func (e Event) check() error {
	named := e.Subject != "" && e.Type != "" && e.Actor != ""
	if err := (essence{e.Format, e.Epoch, e.ItemSeq, e.Prev, named, e.Time, len(e.Payload)}).check(); err != nil {
		return err
	}
	for _, s := range []string{e.Subject, e.Type, e.Actor, e.Session, e.Lease, e.Key} {
		if !utf8.ValidString(s) {
			return errors.New("the event contains invalid UTF-8")
		}
	}
	return nil
}

// essence is what decides whether an event can be one, its texts aside.
type essence struct {
	format      int
	epoch       uint64
	itemSeq     uint64
	prev        Hash
	named       bool // it has a subject, a type and an actor
	time        time.Time
	payloadSize int
}

func (e essence) check() error {
	switch {
	case e.format != Format:
		return fmt.Errorf("the event has format %d, and this program knows %d", e.format, Format)
	case e.epoch == 0:
		return errors.New("the event has no epoch")
	case e.itemSeq == 0:
		return errors.New("the event has no place on its subject")
	case (e.itemSeq == 1) != (e.prev == Hash{}):
		return errors.New("the first event on a subject, and no other, has nothing before it")
	case !e.named:
		return errors.New("the event lacks its subject, type or actor")
	case e.time.IsZero():
		return errors.New("the event has no time")
	case e.payloadSize > MaxPayload:
		return fmt.Errorf("%w: its payload has %d bytes, and at most %d are allowed: store what is large as a blob", ErrTooLarge, e.payloadSize, MaxPayload)
	}
	return nil
}

// Decode reads stored bytes. They have to be exactly what Encode makes of the
// event: there is one way to write an event, and one hash.
func Decode(stored []byte) (Event, error) {
	if e, ok := decodePlain(stored); ok {
		return e, nil
	}
	return decode(stored)
}

func decode(stored []byte) (Event, error) {
	var e Event
	if len(stored) > MaxEvent {
		return e, fmt.Errorf("the event has %d bytes, and at most %d are allowed", len(stored), MaxEvent)
	}
	dec := json.NewDecoder(bytes.NewReader(stored))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return Event{}, fmt.Errorf("not an event: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Event{}, errors.New("not an event: something follows it")
	}
	again, err := e.Encode()
	if err != nil {
		return Event{}, err
	}
	if !bytes.Equal(again, stored) {
		return Event{}, errors.New("the event is not written in the one way that is allowed")
	}
	return e, nil
}

// Blob refers from a payload to bytes that are kept beside the ledger, by their
// hash. It is written as {"blob":"<sha256>","size":n}.
type Blob struct {
	SHA256 Hash  `json:"blob"`
	Size   int64 `json:"size"`
}

// NewBlob returns the reference to data.
func NewBlob(data []byte) Blob { return Blob{sha256.Sum256(data), int64(len(data))} }

// Blobs returns every blob that the payload refers to, at any depth.
func (e Event) Blobs() ([]Blob, error) { return blobRefs(e.Payload) }

// blobRefs returns every blob that a payload refers to. The name of a member can
// be written with escapes too; without any, it is looked for as it is.
func blobRefs(payload []byte) ([]Blob, error) {
	if !bytes.Contains(payload, []byte(`"blob"`)) && !bytes.Contains(payload, []byte(`\u`)) {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	var whole any // it is decoded once: a payload may be nested deeply on purpose
	if err := dec.Decode(&whole); err != nil {
		return nil, err
	}
	var blobs []Blob
	var walk func(value any) error
	walk = func(value any) error {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				if err := walk(item); err != nil {
					return err
				}
			}
		case map[string]any:
			if _, isBlob := value["blob"]; isBlob {
				b, err := blobOf(value)
				blobs = append(blobs, b)
				return err
			}
			for _, member := range value {
				if err := walk(member); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(whole); err != nil {
		return nil, err
	}
	return blobs, nil
}

// blobOf reads a reference to a blob.
func blobOf(members map[string]any) (b Blob, err error) {
	raw, err := json.Marshal(members)
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	if err != nil {
		return Blob{}, fmt.Errorf("a blob reference that is none: %w", err)
	}
	return b, nil
}
