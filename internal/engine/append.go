package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Error codes of the server. Those that it gives no name in Go are written out.
const (
	codeWrongLast      = jetstream.JSErrCodeStreamWrongLastSequence
	codeWrongLastPlain = jetstream.ErrorCode(10164) // the same without the number, from a cluster
	codeNotReady       = jetstream.ErrorCode(10163) // the subject's last sequence is being decided
	codeTooMany        = jetstream.ErrorCode(10167) // the server's queue is full
)

// Append stores data on subject if the last record there has the sequence last;
// see [Log].
func (j *JetStream) Append(ctx context.Context, subject string, last uint64, data []byte) (uint64, error) {
	if err := CheckRecord(subject, data); err != nil {
		return 0, err
	}
	var p patience
	for {
		if err := j.usable(ctx); err != nil {
			return 0, err
		}
		ack, err := j.js.PublishMsg(ctx, &nats.Msg{
			Subject: subjectPrefix + subject,
			Header:  nats.Header{jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(last, 10)}},
			Data:    data,
		}, jetstream.WithRetryAttempts(0))
		if err == nil {
			return ack.Sequence, nil
		}
		if err = explain(err); !errors.Is(err, ErrNotReady) || !p.again(ctx, j) {
			return 0, err
		}
	}
}

// explain says what an error of the client or the server means for the record.
func explain(err error) error {
	var refused *jetstream.APIError
	switch {
	case errors.As(err, &refused):
		switch {
		case refused.ErrorCode == codeWrongLast, refused.ErrorCode == codeWrongLastPlain:
			return ErrConflict
		case refused.ErrorCode == codeNotReady, refused.ErrorCode == codeTooMany:
			return fmt.Errorf("%w: %w", ErrNotReady, err)
		case refused.Code < 500:
			return fmt.Errorf("the engine refused the record: %w", err)
		}
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrReconnectBufExceeded):
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	// A store that failed may have stored: whatever is not known to be nothing is
	// unknown.
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}
