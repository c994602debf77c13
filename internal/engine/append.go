package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// How long Append waits for an engine that is not ready, from the first to
	// the longest pause, and altogether.
	firstPause   = time.Millisecond
	longestPause = 250 * time.Millisecond
	readyWait    = 5 * time.Second
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
	deadline := time.Now().Add(readyWait)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if err := j.usable(ctx); err != nil {
			return 0, err
		}
		seq, err := j.request(ctx, &nats.Msg{
			Subject: subjectPrefix + subject,
			Header:  nats.Header{jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(last, 10)}},
			Data:    data,
		})
		if !errors.Is(err, ErrNotReady) {
			return seq, err
		}
		if time.Now().After(deadline) || j.sleep(ctx, pause/2+rand.N(pause)) != nil {
			return 0, err
		}
	}
}

// request sends a record and waits for its sequence.
func (j *JetStream) request(ctx context.Context, m *nats.Msg) (uint64, error) {
	ack, err := j.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, explain(err)
	}
	return ack.Sequence, nil
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

// sleep waits, unless ctx ends or the engine is closed before.
func (j *JetStream) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-j.closing:
		return ErrClosed
	}
}
