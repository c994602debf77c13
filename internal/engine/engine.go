package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/ledger"
)

// MaxRecord is the size of the largest record, in bytes: that of an event.
const MaxRecord = ledger.MaxEvent

// What Watch hands over at once at most: so many records, and so many bytes if it is more than one.
const (
	MaxBatch      = 512
	MaxBatchBytes = 256 << 10
)

const maxSubject = 64

// Record is an event as the log holds it. Sequences start at 1 and have no gaps.
type Record struct {
	Seq     uint64
	Subject string
	Data    []byte
}

// Log is a sequence of records that many may append to and read at once.
type Log interface {
	// Append stores data, an event that names its subject, if the last record on that subject has
	// the sequence last (0 if there is none), and returns the sequence of the new record. By
	// then it is durable, and whoever follows the log has it. Data stays the caller's.
	Append(ctx context.Context, subject string, last uint64, data []byte) (uint64, error)

	// Read calls f for every record from the sequence from, which is at least 1,
	// to the last one at the time of the call, in order. The record is f's to
	// keep, not to change.
	Read(ctx context.Context, from uint64, f func(Record) error) error

	// Watch calls f with every record from the sequence from on, in order, each
	// once, until ctx ends or f fails, and returns that error. It hands over what
	// is there, at most [MaxBatch] and [MaxBatchBytes] at once; the slice is f's for the
	// call only. While f waits, nothing is held for it but what it was handed.
	Watch(ctx context.Context, from uint64, f func([]Record) error) error

	// Tip returns the last sequence, 0 for none.
	Tip(ctx context.Context) (uint64, error)

	// Close ends every call that still waits and releases the log. Calls after
	// it return [ErrClosed].
	Close() error
}

// What an append can end in besides success; see the package comment.
var (
	ErrConflict = errors.New("someone was first: the subject has another last record")
	ErrNotReady = errors.New("the log is not ready, and nothing was stored: try again")
	ErrUnknown  = errors.New("the log did not answer: the record may be stored or not")
)

// ErrClosed is returned by the calls of a log that has been closed.
var ErrClosed = errors.New("the log is closed")

// CheckRecord says what is wrong with a record that no log takes: a subject has 1
// to 64 of the characters A-Z, a-z, 0-9, _ and -, and data at most [MaxRecord]
// bytes.
func CheckRecord(subject string, data []byte) error {
	if len(subject) == 0 || len(subject) > maxSubject {
		return fmt.Errorf("a subject has 1 to %d characters, not %d", maxSubject, len(subject))
	}
	for _, c := range []byte(subject) {
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return fmt.Errorf("subject %q: only letters, digits, _ and - are allowed", subject)
		}
	}
	if len(data) > MaxRecord {
		return fmt.Errorf("the record on subject %q has %d bytes, and at most %d are allowed", subject, len(data), MaxRecord)
	}
	return nil
}

// CheckFrom says that no log has a record 0.
func CheckFrom(from uint64) error {
	if from == 0 {
		return errors.New("records are read from sequence 1 on, not 0")
	}
	return nil
}
