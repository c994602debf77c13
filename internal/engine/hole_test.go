package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// perforated opens a log of n records without some of them.
func perforated(t *testing.T, n uint64, without ...uint64) *JetStream {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	j := &JetStream{closing: make(chan struct{})}
	if err := j.startServer(ctx, Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var err error
	if j.conn, err = nats.Connect("", nats.InProcessServer(j.server)); err != nil {
		t.Fatal(err)
	}
	if j.js, err = jetstream.New(j.conn); err != nil {
		t.Fatal(err)
	}
	soft := streamConfig()
	soft.DenyDelete = false
	if j.stream, err = j.js.CreateStream(ctx, soft); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := j.Append(ctx, fmt.Sprint("S", i), 0, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for _, seq := range without {
		if err := j.stream.DeleteMsg(ctx, seq); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return reopen(t, dir)
}

func reopen(t *testing.T, dir string) *JetStream {
	t.Helper()
	j, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	j.stallWait = 20 * time.Millisecond
	return j
}

func TestHole(t *testing.T) {
	for _, c := range []struct {
		why     string
		n       uint64
		without []uint64
		from    uint64
		seen    int
		want    *GapError
	}{
		{"none", 5, nil, 1, 5, nil},
		{"the first", 5, []uint64{1}, 1, 0, &GapError{1, 2}},
		{"one in the middle", 5, []uint64{3}, 1, 2, &GapError{3, 4}},
		{"where reading begins", 5, []uint64{3, 4}, 3, 0, &GapError{3, 5}},
		{"before reading begins", 5, []uint64{2}, 3, 3, nil},
		{"the last", 5, []uint64{5}, 1, 4, &GapError{5, 6}},
		{"the last, and reading begins there", 5, []uint64{4, 5}, 4, 0, &GapError{4, 6}},
		{"all", 3, []uint64{1, 2, 3}, 1, 0, &GapError{1, 4}},
		{"far apart", 3 * window, []uint64{2*window + 1}, 1, 2 * window, &GapError{2*window + 1, 2*window + 2}},
	} {
		t.Run(c.why, func(t *testing.T) {
			j := perforated(t, c.n, c.without...)
			check := func(how string, seen int, err error) {
				t.Helper()
				var gap *GapError
				switch {
				case seen != c.seen:
					t.Errorf("%s gave %d records, want %d", how, seen, c.seen)
				case c.want == nil && err != nil:
					t.Errorf("%s: %v", how, err)
				case c.want != nil && (!errors.As(err, &gap) || *gap != *c.want):
					t.Errorf("%s: got %v, want %v", how, err, c.want)
				}
			}
			seen := 0
			j.stallWait = time.Hour // the store's own account is enough
			err := j.Read(t.Context(), c.from, func(Record) error {
				seen++
				return nil
			})
			check("read", seen, err)
			seen = 0
			j.stallWait = 20 * time.Millisecond
			err = j.Watch(t.Context(), c.from, func(batch []Record) error {
				if seen += len(batch); c.want == nil && seen == c.seen {
					return errAllSeen
				}
				return nil
			})
			if errors.Is(err, errAllSeen) {
				err = nil
			}
			check("watch", seen, err)
		})
	}
}

var errAllSeen = errors.New("all seen")

// A watch goes on, without a gap or a repetition, whatever happens to its
// consumer and its connection.
func TestWatchResumes(t *testing.T) {
	for _, c := range []struct {
		what   string
		happen func(*JetStream) error
	}{
		{"the consumer is deleted", func(j *JetStream) error {
			for name := range j.stream.ConsumerNames(t.Context()).Name() {
				if err := j.stream.DeleteConsumer(t.Context(), name); err != nil {
					return err
				}
			}
			return nil
		}},
		{"the connection breaks", func(j *JetStream) error { return j.conn.ForceReconnect() }},
	} {
		t.Run(c.what, func(t *testing.T) {
			j := reopen(t, t.TempDir())
			const rounds, each = 5, 50
			seen := make(chan uint64)
			ended := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				ended <- j.Watch(ctx, 1, func(batch []Record) error {
					for _, r := range batch {
						seen <- r.Seq
					}
					return nil
				})
			}()
			want := uint64(0)
			for round := range rounds {
				for i := range each {
					if i == each/2 {
						if err := c.happen(j); err != nil {
							t.Fatal(err)
						}
						if _, err := j.Tip(ctx); err != nil {
							t.Fatal(err)
						}
					}
					appendThrough(t, j, fmt.Sprint(round, "-", i))
				}
				for range each {
					want++
					select {
					case got := <-seen:
						if got != want {
							t.Fatalf("record %d came, want %d", got, want)
						}
					case err := <-ended:
						t.Fatalf("the watch ended before record %d: %v", want, err)
					}
				}
				n := uint64(0)
				if err := j.Read(ctx, 1, func(Record) error { n++; return nil }); err != nil || n != want {
					t.Errorf("read %d records of %d: %v", n, want, err)
				}
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// appendThrough appends the first record of a subject over a connection that may
// break: if nobody knows whether it is stored, trying again tells.
func appendThrough(t *testing.T, j *JetStream, subject string) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := j.Append(ctx, subject, 0, []byte("x"))
		cancel()
		switch {
		case err == nil, errors.Is(err, ErrConflict):
			return
		case !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrNotReady):
			t.Fatal(err)
		}
	}
}
