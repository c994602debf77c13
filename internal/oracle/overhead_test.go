package oracle

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bt/signals"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// What the oracle may add to the time of a turn, and reading a reply of 100 KB may take.
const (
	maxOverhead = 5 * time.Millisecond
	maxReading  = time.Millisecond
)

// attempts at a measurement: other programs may be in its way.
const attempts = 3

var judge = flag.Bool("judge", false, "fail if the oracle takes longer than it may, on a machine that does nothing else")

// The time from a reply's last byte to the next request is measured by the server, beside
// that of a loop that does nothing but ask again, on the same machine at the same time.
func TestOverhead(t *testing.T) {
	const turnsEach = 20
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	if *judge {
		rounds = 12
	}
	for _, provider := range providers {
		t.Run(string(provider), func(t *testing.T) {
			server := serve(t, script("== it\n"+turns(turnsEach-1)+goesOn+"says: It checks. {enough 0.9}"))
			s := settings(t, server, provider)
			slow := s
			slow.Ledger = &ledger{before: func(ctx context.Context) error { return wait(ctx, 10*time.Millisecond) }}
			for attempt := 1; ; attempt++ {
				var bare, alone, recorded []time.Duration
				for range rounds {
					bare = append(bare, gaps(t, server, turnsEach, func() { askBare(t, s, turnsEach) })...)
					alone = append(alone, gaps(t, server, turnsEach, func() { answerTo(t, s, longQuestion) })...)
					recorded = append(recorded, gaps(t, server, turnsEach, func() { answerTo(t, slow, longQuestion) })...)
				}
				t.Logf("%d turns each; p50, p99: bare %v, %v; oracle %v, %v; with a ledger that takes 10ms %v, %v", len(bare),
					percentile(bare, 50), percentile(bare, 99), percentile(alone, 50), percentile(alone, 99), percentile(recorded, 50), percentile(recorded, 99))
				worst := max(percentile(alone, 99), percentile(recorded, 99))
				switch {
				case !*judge || worst < maxOverhead:
					return
				case attempt == attempts && worst < percentile(bare, 99)+maxOverhead:
					t.Logf("the machine is busy: the bare loop takes %v", percentile(bare, 99))
					return
				case attempt == attempts:
					t.Fatalf("p99 is %v, more than %v", worst, maxOverhead)
				}
			}
		})
	}
}

// wait takes time, as a disk does.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gaps are the times between a reply's last byte and the next request, while so many
// requests are made.
func gaps(t *testing.T, server *modeltest.Server, requests int, ask func()) []time.Duration {
	t.Helper()
	ask()
	all := server.Requests()
	all = all[len(all)-requests:]
	var between []time.Duration
	for i, r := range all[1:] {
		between = append(between, r.At.Sub(all[i].Done))
	}
	return between
}

// askBare makes the requests that the oracle makes, with nothing in between.
func askBare(t *testing.T, s Settings, n int) {
	t.Helper()
	r := model.Request{Model: s.Model, System: s.Prompts.Compose("code", ""), Messages: []model.Message{{Role: model.User, Text: longQuestion}}}
	for range n {
		reply, err := s.Client.Reply(context.Background(), r, model.Sink{})
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: reply.Text}, model.Message{Role: model.User, Text: tellGoOn})
	}
}

func percentile(all []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// large is a reply of 100 KB with a signal at its end.
func large() string {
	const paragraph = "The function `auth` checks a token: if a < b and c > d, it returns an error.\n\n" +
		"```go\nif err := check(token); err != nil {\n\treturn err\n}\n```\n\n- one\n- two, <b>bold</b>\n\n"
	return strings.Repeat(paragraph, 100_000/len(paragraph)) + need("one more look", 0.8)
}

// read does what is done with a whole reply: parse, and strip.
func read(text string) (agentsig.Reflection, string) {
	r, _ := agentsig.ParseReflection(text, time.Time{})
	return r, signals.Stripped(text)
}

func TestReadingTakesLittle(t *testing.T) {
	text := large()
	for attempt := 1; ; attempt++ {
		var reading, copying []time.Duration
		for range 100 {
			began := time.Now()
			r, clean := read(text)
			reading = append(reading, time.Since(began))
			if r.Type != agentsig.KindNeedTurn || len(clean) >= len(text) {
				t.Fatalf("%s, %d bytes", r.Type, len(clean))
			}
			began = time.Now()
			if c := strings.Clone(text); len(c) != len(text) {
				t.Fatal("a copy of another length")
			}
			copying = append(copying, time.Since(began))
		}
		t.Logf("%d KB; p50: parse and strip %v, a copy %v", len(text)/1000, percentile(reading, 50), percentile(copying, 50))
		switch {
		case !*judge || percentile(reading, 50) < maxReading:
			return
		case attempt == attempts:
			t.Fatalf("%v, more than %v", percentile(reading, 50), maxReading)
		}
	}
}

func BenchmarkParseAndStrip(b *testing.B) {
	text := large()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		read(text)
	}
}

func BenchmarkCopy(b *testing.B) {
	text := large()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		_ = strings.Clone(text)
	}
}
