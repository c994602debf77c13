package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	streamName    = "LEDGER"
	subjectPrefix = "ledger."
	allSubjects   = subjectPrefix + "*"

	// How long the server has for an answer if the caller sets no deadline.
	answerWait = 10 * time.Second

	// Above anything a machine has, so that the server derives no limit from
	// what is free when it starts.
	noLimit = 1 << 60

	// The headers of a record: two names, two numbers.
	headerRoom = 1 << 10

	// The server cuts off a client that has more than this to read. What a client
	// has to read here is bounded by the window of each reader.
	maxPending = 1 << 30
)

// Options say how to open the engine.
type Options struct {
	Dir        string       // where the store lies; it is made if need be, and only one process may use it
	SyncAlways bool         // sync the files at every append, rather than now and then
	Logger     *slog.Logger // for the server's warnings; nil for none
}

// JetStream is a [Log] in a NATS server inside this process.
type JetStream struct {
	server  *server.Server
	conn    *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	closing chan struct{}
	close   sync.Once

	readyWait time.Duration // how long attempts go on while the engine is not ready
	stallWait time.Duration // how long a reader that gets nothing waits before it asks why
}

var _ Log = (*JetStream)(nil)

// Open starts the engine on a directory and brings back what lies there. It
// returns [ErrDamaged] if that is impossible.
func Open(ctx context.Context, o Options) (*JetStream, error) {
	if o.Dir == "" {
		return nil, errors.New("the engine needs a directory")
	}
	j := &JetStream{closing: make(chan struct{}), readyWait: 5 * time.Second, stallWait: 5 * time.Second}
	err := j.open(ctx, o)
	switch {
	case err == nil:
		return j, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		err = fmt.Errorf("%w in %s: %w; run `signalbox ledger repair` to rebuild it from the archive", ErrDamaged, o.Dir, err)
	}
	return nil, errors.Join(err, j.Close())
}

func (j *JetStream) open(ctx context.Context, o Options) error {
	if err := forgetIndex(o.Dir); err != nil {
		return err
	}
	if err := j.startServer(ctx, o); err != nil {
		return err
	}
	var err error
	j.conn, err = nats.Connect("", nats.InProcessServer(j.server),
		nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond),
		nats.ReconnectBufSize(-1)) // what can't be sent now must not be sent later
	if err != nil {
		return fmt.Errorf("connect to the server: %w", err)
	}
	j.js, err = jetstream.New(j.conn, jetstream.WithDefaultTimeout(answerWait))
	if err != nil {
		return err
	}
	j.stream, err = j.js.CreateOrUpdateStream(ctx, streamConfig())
	if err != nil {
		return fmt.Errorf("open the stream: %w", err)
	}
	return nil
}

// forgetIndex removes the server's index of its blocks, so that it reads them and
// holds every record against its checksum. With an index it believes the blocks:
// a flipped bit in the sequence of one record makes it fill its memory with the
// records that seem to be missing, without end.
func forgetIndex(dir string) error {
	err := os.Remove(filepath.Join(dir, server.JetStreamStoreDir, server.DEFAULT_GLOBAL_ACCOUNT, "streams", streamName, "msgs", "index.db"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// startServer returns when the server has recovered what is on disk.
func (j *JetStream) startServer(ctx context.Context, o Options) error {
	s, err := server.NewServer(&server.Options{
		ServerName:         "signalbox",
		DontListen:         true,
		NoSigs:             true,
		JetStream:          true,
		StoreDir:           o.Dir,
		SyncAlways:         o.SyncAlways,
		JetStreamMaxStore:  noLimit,
		JetStreamMaxMemory: noLimit,
		MaxPayload:         MaxRecord + headerRoom,
		MaxPending:         maxPending,
	})
	if err != nil {
		return fmt.Errorf("configure the server: %w", err)
	}
	j.server = s
	fatal := make(chan error, 1)
	s.SetLogger(newServerLog(o.Logger, fatal), false, false)
	started := make(chan struct{})
	go func() {
		defer close(started)
		s.Start()
	}()
	select {
	case <-started:
	case <-ctx.Done():
		<-started // a server that is still starting can't be stopped
		return ctx.Err()
	}
	select {
	case err := <-fatal:
		return err
	default:
		return nil
	}
}

// streamConfig allows nothing but to append: no record is ever deleted, expired,
// replaced or recognised as a duplicate.
func streamConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:       streamName,
		Subjects:   []string{allSubjects},
		Storage:    jetstream.FileStorage,
		Replicas:   1,
		DenyDelete: true,
		DenyPurge:  true,
		MaxMsgSize: MaxRecord + headerRoom,
		// At start the server reads again all that is younger than this.
		Duplicates: 100 * time.Millisecond,
	}
}

// Tip returns the last sequence, 0 for none.
func (j *JetStream) Tip(ctx context.Context) (tip uint64, err error) {
	err = j.insist(ctx, "its last record", func(ctx context.Context) error {
		info, err := j.stream.Info(ctx)
		if err == nil {
			tip = info.State.LastSeq
		}
		return err
	})
	return tip, err
}

// Close ends every call that still waits, and stops the server.
func (j *JetStream) Close() error {
	j.close.Do(func() {
		close(j.closing)
		if j.conn != nil {
			j.conn.Close()
		}
		if j.server != nil {
			j.server.Shutdown()
			j.server.WaitForShutdown()
		}
	})
	return nil
}
