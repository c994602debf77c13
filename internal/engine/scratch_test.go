package engine

import (
	"context"
	"fmt"
	"testing"
	"time"
	"os"
	"log/slog"
	"runtime/pprof"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestScratch(t *testing.T) {
	ctx := context.Background()
	dir := os.Getenv("SCRATCH_DIR")
	if dir == "" { dir = t.TempDir() }
	t0 := time.Now()
	j, err := Open(ctx, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil { t.Fatal(err) }
	defer j.Close()
	fmt.Println("open", time.Since(t0))
	const n = 300000
	tip, _ := j.Tip(ctx)
	t0 = time.Now()
	if tip == 0 {
	err = j.Restore(ctx, func(yield func(Record, error) bool) {
		for i := uint64(1); i <= n; i++ {
			if !yield(Record{i, fmt.Sprintf("S%d", i*7919%(n/5)), make([]byte, 500)}, nil) { return }
		}
	})
	if err != nil { t.Fatal(err) }
	fmt.Println("restore/s", n/time.Since(t0).Seconds())
	}
	for range 3 {
		t0 = time.Now()
		c := 0
		f, _ := os.Create("/tmp/cpu.prof")
		pprof.StartCPUProfile(f)
		if err := j.Read(ctx, 1, func(Record) error { c++; return nil }); err != nil { t.Fatal(err) }
		pprof.StopCPUProfile()
		fmt.Println("read/s", c, float64(c)/time.Since(t0).Seconds())
	}
	for range 2 { // ordered consumer
		t0 = time.Now()
		oc, err := j.js.OrderedConsumer(ctx, streamName, jetstream.OrderedConsumerConfig{})
		if err != nil { t.Fatal(err) }
		done := make(chan struct{})
		c := 0
		cc, err := oc.Consume(func(m jetstream.Msg) { c++; md, _ := m.Metadata(); if md.Sequence.Stream == n { close(done) } }, jetstream.PullMaxMessages(5000))
		if err != nil { t.Fatal(err) }
		<-done
		cc.Stop()
		fmt.Println("ordered/s", c, float64(c)/time.Since(t0).Seconds())
	}
	for range 2 { // push, no flow control
		t0 = time.Now()
		ch := make(chan *nats.Msg, n+10)
		inbox := j.conn.NewInbox()
		sub, _ := j.conn.ChanSubscribe(inbox, ch)
		_, err := j.js.CreateOrUpdatePushConsumer(ctx, streamName, jetstream.ConsumerConfig{DeliverSubject: inbox, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true})
		if err != nil { t.Fatal(err) }
		c := 0
		for range n { m := <-ch; m.Metadata(); c++ }
		sub.Unsubscribe()
		fmt.Println("push/s", c, float64(c)/time.Since(t0).Seconds())
	}
	// watch latency
	wctx, cancel := context.WithCancel(ctx)
	got := make(chan time.Time, 10)
	go j.Watch(wctx, tip+1, func(r []Record) error { got <- time.Now(); return nil })
	tip, _ = j.Tip(ctx)
	cancel()
	wctx, cancel = context.WithCancel(ctx)
	got = make(chan time.Time, 10)
	go j.Watch(wctx, tip+1, func(r []Record) error { got <- time.Now(); return nil })
	var sum, ap, max time.Duration
	for i := range 2000 {
		t0 := time.Now()
		_, err := j.Append(ctx, fmt.Sprintf("x%d-%d", i, time.Now().UnixNano()), 0, make([]byte, 500))
		if err != nil { t.Fatal(err) }
		ap += time.Since(t0)
		l := (<-got).Sub(t0)
		sum += l
		if l > max { max = l }
	}
	fmt.Println("append", ap/2000, "append to watch", sum/2000, "max", max)
	cancel()
}
