package engine

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestExplain(t *testing.T) {
	all := []error{ErrConflict, ErrNotReady, ErrUnknown}
	refused := errors.New("none of them")
	for _, c := range []struct{ err, want error }{
		{&jetstream.APIError{Code: 400, ErrorCode: 10071}, ErrConflict},
		{&jetstream.APIError{Code: 400, ErrorCode: 10164}, ErrConflict},
		{&jetstream.APIError{Code: 503, ErrorCode: 10163}, ErrNotReady},
		{&jetstream.APIError{Code: 429, ErrorCode: 10167}, ErrNotReady},
		{&jetstream.APIError{Code: 503, ErrorCode: 10077}, ErrUnknown},
		{&jetstream.APIError{Code: 400, ErrorCode: 10054}, refused},
		{jetstream.ErrNoStreamResponse, ErrNotReady},
		{nats.ErrReconnectBufExceeded, ErrNotReady},
		{nats.ErrConnectionClosed, ErrUnknown},
		{nats.ErrTimeout, ErrUnknown},
		{context.DeadlineExceeded, ErrUnknown},
		{context.Canceled, ErrUnknown},
		{io.EOF, ErrUnknown},
	} {
		got := explain(c.err)
		for _, known := range all {
			if errors.Is(got, known) != errors.Is(c.want, known) {
				t.Errorf("%v is explained as %v, want %v", c.err, got, c.want)
			}
		}
	}
}

// Append waits for a stream that is not there yet, but not for ever.
func TestNotReady(t *testing.T) {
	j := reopen(t, t.TempDir())
	if err := j.js.DeleteStream(t.Context(), streamName); err != nil {
		t.Fatal(err)
	}
	patient := j.readyWait
	j.readyWait = 20 * time.Millisecond
	if _, err := j.Append(t.Context(), "A", 0, []byte("x")); !errors.Is(err, ErrNotReady) {
		t.Errorf("without a stream: %v", err)
	}
	j.readyWait = patient
	stored := make(chan error)
	go func() {
		_, err := j.Append(t.Context(), "A", 0, []byte("x"))
		stored <- err
	}()
	if _, err := j.js.CreateStream(t.Context(), streamConfig()); err != nil {
		t.Fatal(err)
	}
	if err := <-stored; err != nil {
		t.Errorf("with a stream: %v", err)
	}
}

// Nothing outside the process reaches the server, and no record is ever taken
// away.
func TestLocked(t *testing.T) {
	j := reopen(t, t.TempDir())
	if addr := j.server.Addr(); addr != nil {
		t.Errorf("the server listens on %s", addr)
	}
	if _, err := j.Append(t.Context(), "A", 0, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := j.stream.DeleteMsg(t.Context(), 1); err == nil {
		t.Error("a record was deleted")
	}
	if err := j.stream.Purge(t.Context()); err == nil {
		t.Error("the log was purged")
	}
	soft := streamConfig()
	soft.DenyDelete = false
	if _, err := j.js.UpdateStream(t.Context(), soft); err == nil {
		t.Error("the lock was taken off")
	}
	info, err := j.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := info.Config
	if c.MaxAge != 0 || c.MaxMsgs > 0 || c.MaxBytes > 0 || c.MaxMsgsPerSubject > 0 || c.AllowRollup || c.AllowDirect ||
		c.AllowMsgTTL || c.Compression != jetstream.NoCompression || c.PersistMode != jetstream.DefaultPersistMode {
		t.Errorf("the stream's configuration: %+v", c)
	}
}
