package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// lost records that a session was lost with its runner.
func (b *fakeBox) lost(runner string) {
	b.record("S1", delivery.SessionEnded, delivery.Ended{How: delivery.Lost, Runner: runner, Detail: "nothing was heard of it"})
}

// Of a runner that is lost with many sessions somebody is told once, and once more if it was back and is lost again, whatever kind of
// session it had got.
func TestRunnerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		teller, l := teller(b, filepath.Join(t.TempDir(), "m"), byCommand)
		stop := run(t, teller)
		for range 3 {
			b.lost("gpu1")
		}
		b.lost("gpu2")
		b.lost("gpu1")
		l.want(t, "two are lost", "command runner_lost gpu1", "command runner_lost gpu2")
		for kind, granted := range map[string]any{
			work.LeaseGranted: work.Granted{Runner: "gpu1"}, work.ReviewStarted: work.Granted{Runner: "gpu1"}, delivery.SessionGranted: delivery.Granted{Runner: "gpu1"},
		} {
			b.record("T1", kind, granted)
			b.lost("gpu2")
			b.lost("gpu1")
			b.lost("gpu1")
			l.want(t, "one is lost again after "+kind, "command runner_lost gpu1")
		}
		stop()
		if m := l.all[0]; m.Run != "" || !strings.Contains(m.Text, "gpu1 is lost: nothing was heard of it") {
			t.Errorf("told %+v", m)
		}
	})
}

// A box that is killed at any moment and started again tells of each loss once, but for what it was just telling.
func TestRunnerLostKilled(t *testing.T) {
	const losses = 4
	for kill := range losses {
		for _, batch := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				b := newBox()
				file := filepath.Join(t.TempDir(), "m")
				first, l := teller(b, file, byCommand)
				died := make(chan []byte, 1)
				tell := l.tell(ByCommand)
				first.senders[ByCommand] = func(ctx context.Context, m Message) error {
					if err := tell(ctx, m); err != nil || len(l.all) != kill+1 {
						return err
					}
					time.Sleep(time.Second) // all that can be kept meanwhile is
					left, _ := os.ReadFile(file)
					died <- left
					<-ctx.Done() // it is told, and nobody notes it
					return ctx.Err()
				}
				stop := run(t, first)
				for i := range losses {
					if i > 0 {
						b.record("T1", work.LeaseGranted, work.Granted{Runner: "gpu1"})
					}
					b.lost("gpu1")
					b.lost("gpu1")
					if !batch {
						synctest.Wait()
					}
				}
				time.Sleep(time.Minute)
				stop()
				if err := os.WriteFile(file, <-died, 0o600); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					b.lost("gpu1") // what had not ended when the box was killed
					second, l2 := teller(b, file, byCommand)
					stop = run(t, second)
					l2.take()
					stop()
					l.all = append(l.all, l2.all...)
				}
				ids := map[string]int{}
				for _, m := range l.all {
					ids[m.ID]++
				}
				if len(ids) != losses || len(l.all) > losses+1 {
					t.Errorf("killed at message %d: %d messages of %d losses; want %d", kill+1, len(l.all), len(ids), losses)
				}
			})
		}
	}
}

// What is kept of lost runners does not grow.
func TestRunnersLostBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		teller, l := teller(b, filepath.Join(t.TempDir(), "m"), config.Notify{Command: "tell", Kinds: []config.Kind{config.KindRunnerLost}})
		stop := run(t, teller)
		for i := range maxLost + 5 {
			b.lost(fmt.Sprint("gpu", i))
			synctest.Wait()
		}
		stop()
		var m memory
		data, err := os.ReadFile(teller.o.File)
		if err != nil || json.Unmarshal(data, &m) != nil || len(m.Lost) != maxLost || !slices.Contains(m.Lost, fmt.Sprint("gpu", maxLost+4)) {
			t.Errorf("%s, %v", data, err)
		}
		if len(l.all) != maxLost+5 {
			t.Errorf("%d were told", len(l.all))
		}
	})
}

// A box that is killed after it has seen that a runner is back, and before it has looked at what came with that, does not tell again
// what was told before.
func TestRunnerBackKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		first, l := teller(b, filepath.Join(t.TempDir(), "m"), byCommand)
		run(t, first)()
		b.lost("gpu1")
		b.lost("gpu1")
		b.record("T1", work.LeaseGranted, work.Granted{Runner: "gpu1"})
		b.record("S2", delivery.RunFinished, delivery.Finished{})
		var left []byte
		b.asked = func() { // as when another message is told at this moment
			if left == nil {
				first.save()
				left, _ = os.ReadFile(first.o.File)
			}
		}
		stop := run(t, first)
		l.want(t, "at first", "command runner_lost gpu1", "command failed R2")
		stop()
		b.asked = nil
		if err := os.WriteFile(first.o.File, left, 0o600); err != nil {
			t.Fatal(err)
		}
		second, l2 := teller(b, first.o.File, byCommand)
		stop = run(t, second)
		l2.take()
		stop()
		for _, m := range l2.all {
			if m.Runner != "" && m.ID != l.all[0].ID {
				t.Errorf("it is told a second time: %+v", m)
			}
		}
	})
}
