package systems

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/signalbox-dev/signalbox/bench/handoff"
	"github.com/signalbox-dev/signalbox/bench/process"
)

// jetstreamSystem is a NATS server with a stream as a work queue. A worker publishes the next
// phase, with an id by which a repetition is recognised, and then acknowledges its own: these are
// two steps, and what is between them is done again after a crash, without effect. The last phase
// is published to a stream that keeps it.
type jetstreamSystem struct{ program string }

func (jetstreamSystem) Name() string { return "NATS JetStream" }

type jetstreamInstance struct {
	process *process.Process
	dir     string
	conn    *nats.Conn
	js      jetstream.JetStream
}

const (
	workStream   = "WORK"
	endedStream  = "ENDED"
	workSubject  = "work.%d" // of a phase
	endedSubject = "ended"
	leaseTime    = 10 * time.Minute // as a lease of Signalbox lasts: what is not acknowledged by then is given out again
)

func (s jetstreamSystem) Start(ctx context.Context) (_ handoff.Instance, err error) {
	program, err := find("", s.program, "go build github.com/nats-io/nats-server/v2 in bench/")
	if err != nil {
		return nil, err
	}
	dir, err := tempDir("jetstream")
	if err != nil {
		return nil, err
	}
	i := &jetstreamInstance{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.Stop())
		}
	}()
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf("listen: %q\njetstream {\n  store_dir: %q\n  sync_interval: always\n}\n", loopback(port), filepath.Join(dir, "store"))
	path := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	if i.process, err = process.Start(exec.CommandContext(context.WithoutCancel(ctx), program, "--config", path), syscall.SIGTERM); err != nil {
		return nil, err
	}
	if err := i.process.Ready(ctx, func(context.Context) (err error) {
		i.conn, err = nats.Connect("nats://" + loopback(port))
		return err
	}); err != nil {
		return nil, err
	}
	return i, i.prepare(ctx)
}

func (i *jetstreamInstance) prepare(ctx context.Context) (err error) {
	if i.js, err = jetstream.New(i.conn); err != nil {
		return err
	}
	for _, c := range []jetstream.StreamConfig{
		{Name: workStream, Subjects: []string{"work.*"}, Retention: jetstream.WorkQueuePolicy, Duplicates: leaseTime},
		{Name: endedStream, Subjects: []string{endedSubject}, Retention: jetstream.LimitsPolicy, Duplicates: leaseTime},
	} {
		c.Storage = jetstream.FileStorage
		if _, err := i.js.CreateStream(ctx, c); err != nil {
			return err
		}
	}
	_, err = i.js.CreateConsumer(ctx, workStream, jetstream.ConsumerConfig{
		Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, AckWait: leaseTime, MaxAckPending: -1,
	})
	return err
}

func (i *jetstreamInstance) Version() string { return i.conn.ConnectedServerVersion() }

func (*jetstreamInstance) Settings() string {
	return "one server, sync_interval: always, file storage, a work queue stream; a handoff is a publish with a message id, answered when it is synced, and a double ack; " +
		"not one transaction; nats.go " + moduleVersion("github.com/nats-io/nats.go")
}

func (i *jetstreamInstance) Add(ctx context.Context, item string) error {
	return i.publish(ctx, fmt.Sprintf(workSubject, 1), item, 1)
}

func (i *jetstreamInstance) publish(ctx context.Context, subject, item string, phase int) error {
	_, err := i.js.Publish(ctx, subject, []byte(item), jetstream.WithMsgID(item+"/"+strconv.Itoa(phase)))
	return err
}

func (i *jetstreamInstance) Work(ctx context.Context, w handoff.Workers, agent handoff.Agent, ended func(handoff.Task), ready func()) error {
	consumer, err := i.js.Consumer(ctx, workStream, "workers")
	if err != nil {
		return err
	}
	messages := make(chan jetstream.Msg)
	consuming, err := consumer.Consume(func(m jetstream.Msg) {
		select {
		case messages <- m:
		case <-ctx.Done():
		}
	}, jetstream.PullMaxMessages(w.Waiting))
	if err != nil {
		return err
	}
	ready()
	err = handoff.Pull(ctx, w, agent, ended, func(ctx context.Context) (handoff.Task, func(context.Context) error, error) {
		select {
		case m := <-messages:
			t, err := taskOf(m)
			return t, func(ctx context.Context) error { return i.end(ctx, t, m) }, err
		case <-ctx.Done():
			return handoff.Task{}, nil, context.Cause(ctx)
		}
	})
	consuming.Stop()
	<-consuming.Closed()
	return errors.Join(err, i.conn.Flush()) // the server knows then that nobody asks any more
}

func taskOf(m jetstream.Msg) (handoff.Task, error) {
	_, phase, _ := strings.Cut(m.Subject(), ".")
	n, err := strconv.Atoi(phase)
	return handoff.Task{Item: string(m.Data()), Phase: n}, err
}

func (i *jetstreamInstance) end(ctx context.Context, t handoff.Task, m jetstream.Msg) error {
	subject := endedSubject
	if t.Phase < handoff.Phases {
		subject = fmt.Sprintf(workSubject, t.Phase+1)
	}
	if err := i.publish(ctx, subject, t.Item, t.Phase+1); err != nil {
		return err
	}
	return m.DoubleAck(ctx)
}

// Ended reads the stream of what ended.
func (i *jetstreamInstance) Ended(ctx context.Context) (map[string]int, error) {
	stream, err := i.js.Stream(ctx, endedStream)
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]int{}
	if info.State.Msgs == 0 {
		return all, nil
	}
	reader, err := i.js.OrderedConsumer(ctx, endedStream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	messages, err := reader.Messages()
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	for range info.State.Msgs {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, err
		}
		all[string(m.Data())]++
	}
	return all, nil
}

func (i *jetstreamInstance) Processes() []int { return []int{i.process.ID()} }

func (i *jetstreamInstance) Stop() error {
	var err error
	if i.conn != nil {
		i.conn.Close()
	}
	if i.process != nil {
		err = i.process.Stop()
	}
	return errors.Join(err, os.RemoveAll(i.dir))
}
