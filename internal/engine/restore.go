package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// How many records Restore has under way at most. The server takes no more than
// 10,000.
const restoreWindow = 1024

// Restore appends records whose sequences follow the tip; see [Log].
func (j *JetStream) Restore(ctx context.Context, records iter.Seq2[Record, error]) error {
	tip, err := j.Tip(ctx)
	if err != nil {
		return err
	}
	r := &restoration{j: j, answers: make(chan *nats.Msg, restoreWindow)}
	r.inbox, err = j.conn.ChanSubscribe(j.conn.NewInbox(), r.answers)
	if err != nil {
		return j.because(ctx, fmt.Errorf("restore: %w", err))
	}
	for record, err := range records {
		if err == nil {
			err = r.send(ctx, tip, record)
		}
		if err != nil {
			return errors.Join(err, r.end(ctx))
		}
		tip++
	}
	return r.end(ctx)
}

// restoration is what a Restore has under way. Each record carries the sequence
// of the record before it, and none is stored elsewhere. Each is answered: an
// answer to one says nothing of those before it, since a rival's record may have
// taken the place of one of them.
type restoration struct {
	j       *JetStream
	inbox   *nats.Subscription
	answers chan *nats.Msg
	waiting int
}

// send sends a record that should follow the sequence tip.
func (r *restoration) send(ctx context.Context, tip uint64, record Record) error {
	if record.Seq != tip+1 {
		return &GapError{Want: tip + 1, Got: record.Seq}
	}
	if err := CheckRecord(record.Subject, record.Data); err != nil {
		return fmt.Errorf("restore record %d: %w", record.Seq, err)
	}
	if r.waiting == restoreWindow {
		if err := r.wait(ctx, restoreWindow/2); err != nil {
			return err
		}
	}
	err := r.j.conn.PublishMsg(&nats.Msg{
		Subject: subjectPrefix + record.Subject,
		Reply:   r.inbox.Subject,
		Header:  nats.Header{jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(tip, 10)}},
		Data:    record.Data,
	})
	if err != nil {
		return r.j.because(ctx, fmt.Errorf("restore record %d: %w", record.Seq, err))
	}
	r.waiting++
	return nil
}

// wait waits until no more than left answers are missing. After the first that is
// not good it waits for none.
func (r *restoration) wait(ctx context.Context, left int) (err error) {
	defer func() {
		if err != nil {
			r.waiting = 0
		}
	}()
	patience := time.NewTimer(answerWait)
	defer patience.Stop()
	for r.waiting > left {
		select {
		case m := <-r.answers:
			r.waiting--
			if err := answer(m); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
		case <-patience.C:
			return fmt.Errorf("restore: %w", ErrUnknown)
		case <-ctx.Done():
			return ctx.Err()
		case <-r.j.closing:
			return ErrClosed
		}
	}
	return nil
}

func answer(m *nats.Msg) error {
	if len(m.Data) == 0 {
		return explain(jetstream.ErrNoStreamResponse)
	}
	var a struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return explain(err)
	}
	if a.Error != nil {
		return explain(a.Error)
	}
	return nil
}

// end waits for the answers that are missing.
func (r *restoration) end(ctx context.Context) error {
	err := r.wait(ctx, 0)
	_ = r.inbox.Unsubscribe() // fails on a closed connection only
	return err
}
