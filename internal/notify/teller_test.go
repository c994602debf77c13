package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/ledger"
)

// fakeBox has events, and what waits for a person.
type fakeBox struct {
	mu      sync.Mutex
	records []engine.Record
	waits   map[string][]box.Awaited // by what they are about
	changed chan struct{}
	asked   func() // called when it is asked what something is about; may be nil
}

func newBox() *fakeBox {
	return &fakeBox{waits: map[string][]box.Awaited{}, changed: make(chan struct{})}
}

func (b *fakeBox) UpTo() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return uint64(len(b.records))
}

func (b *fakeBox) About(subject string) (string, string) {
	if b.asked != nil {
		b.asked()
	}
	if strings.HasPrefix(subject, "S") {
		return "R" + subject[1:], "the plan\x1b[31m of " + subject
	}
	return "", ""
}

func (b *fakeBox) Awaited() (all []box.Awaited) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, waits := range b.waits {
		all = append(all, waits...)
	}
	slices.SortFunc(all, func(a, b box.Awaited) int { return int(a.Seq) - int(b.Seq) })
	return all
}

func (b *fakeBox) AwaitedOn(subject string) (string, []box.Awaited) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return subject, slices.Clone(b.waits[subject])
}

func (b *fakeBox) Watch(ctx context.Context, from uint64, f func([]engine.Record) error) error {
	for {
		b.mu.Lock()
		records, changed := slices.Clone(b.records[min(from-1, uint64(len(b.records))):]), b.changed
		b.mu.Unlock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(records) > 0 {
			if err := f(records); err != nil {
				return err
			}
			from = records[len(records)-1].Seq + 1
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// record records an event, after which these wait on its subject.
func (b *fakeBox) record(subject, kind string, payload any, waits ...api.Question) {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	seq := uint64(len(b.records) + 1)
	stored, err := ledger.Event{Format: ledger.Format, Epoch: 1, Subject: subject, ItemSeq: 1, Type: kind, Actor: "box", Time: time.Now().UTC(), Payload: data}.Encode()
	if err != nil {
		panic(err)
	}
	b.records = append(b.records, engine.Record{Seq: seq, Subject: subject, Data: stored})
	before := b.waits[subject]
	b.waits[subject] = nil
	for _, q := range waits {
		a := box.Awaited{Question: q, Seq: seq, About: subject}
		if i := slices.IndexFunc(before, func(a box.Awaited) bool { return a.ID == q.ID }); i >= 0 {
			a.Seq = before[i].Seq
		}
		b.waits[subject] = append(b.waits[subject], a)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// asks records a question, besides those that wait already.
func (b *fakeBox) asks(subject, id string) {
	b.mu.Lock()
	var waits []api.Question
	for _, a := range b.waits[subject] {
		waits = append(waits, a.Question)
	}
	b.mu.Unlock()
	b.record(subject, delivery.QuestionAsked, delivery.Question{}, append(waits, question(id))...)
}

func question(id string) api.Question {
	return api.Question{ID: id, Kind: api.KindQuestion, Run: "R1", Task: "T-1", Text: "which one?", AskedAt: time.Now()}
}

// listener is who is told.
type listener struct {
	mu    sync.Mutex
	told  []string         // way, kind and what it is about, of each try
	all   []Message        // that were told
	fails map[string]error // by way
}

func (l *listener) tell(by Way) func(context.Context, Message) error {
	return func(_ context.Context, m Message) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		of := m.Run + m.Runner
		if m.Question != nil {
			of = m.Question.ID
		}
		l.told = append(l.told, fmt.Sprintf("%s %s %s", by, m.Kind, of))
		if err := l.fails[string(by)]; err != nil {
			return err
		}
		l.all = append(l.all, m)
		return nil
	}
}

func (l *listener) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// take returns what was tried since it was last called.
func (l *listener) take() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	told := l.told
	l.told = nil
	return told
}

// teller returns one with both ways, to a listener.
func teller(b Box, file string, notify config.Notify) (*Teller, *listener) {
	t := New(b, Options{Notify: notify, File: file, Origin: "signalbox/test", Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	l := &listener{fails: map[string]error{}}
	t.senders = map[Way]func(context.Context, Message) error{ByCommand: l.tell(ByCommand), ByWebhook: l.tell(ByWebhook)}
	return t, l
}

var (
	byCommand = config.Notify{Command: "tell", Kinds: config.Kinds()}
	byBoth    = config.Notify{Command: "tell", Webhook: "http://localhost", Kinds: config.Kinds()}
)

// run runs a teller until the test ends it.
func run(t *testing.T, teller *Teller) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- teller.Run(ctx, nil) }()
	synctest.Wait() // until it has begun
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	}
}

func (l *listener) want(t *testing.T, when string, want ...string) {
	t.Helper()
	if got := l.take(); !slices.Equal(got, want) {
		t.Errorf("%s: told %q; want %q", when, got, want)
	}
}

// Of each kind somebody is told once, of what is open at the start too, and of nothing else; and of no kind that is not set.
func TestKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		b.record("S1", delivery.RunFinished, delivery.Finished{Outcome: delivery.Completed}) // before anybody was to be told
		b.asks("S1", "Q1")
		teller, l := teller(b, filepath.Join(t.TempDir(), "m"), byCommand)
		stop := run(t, teller)
		l.want(t, "at the start", "command question Q1")
		part := func(id string, p delivery.Part) api.Question {
			return api.Question{ID: id, Kind: string(p), Run: "R2", Text: "it waits"}
		}
		spent := question("Q2")
		spent.Cause = delivery.CauseBudget
		b.record("S2", delivery.QuestionAsked, delivery.Question{}, part("T1/1", delivery.PartReview), part("T2/1", delivery.PartTake), part("T3/1", delivery.PartGive), spent)
		l.want(t, "what waits", "command review T1/1", "command question T2/1", "command budget Q2")
		b.record("S2", delivery.SessionEnded, delivery.Ended{How: delivery.Crashed}, part("T1/1", delivery.PartReview))
		b.record("S2", delivery.SessionEnded, delivery.Ended{How: delivery.Stalled, Task: "T-1"}, part("T1/1", delivery.PartReview))
		l.want(t, "an agent that is silent", "command stalled R2")
		for _, o := range []delivery.Outcome{delivery.Completed, delivery.Partial, delivery.Cancelled, delivery.Halted} {
			b.record("S3", delivery.RunFinished, delivery.Finished{Outcome: o})
		}
		l.want(t, "ends", "command finished R3", "command failed R3", "command finished R3", "command failed R3")
		b.record("S4", delivery.SessionEnded, delivery.Ended{How: delivery.Lost, Task: "T-1", Runner: "gpu1", Detail: "nothing was heard of the runner gpu1 for 5m0s"})
		l.want(t, "a runner that is lost", "command runner_lost gpu1")
		b.record("S4", delivery.SessionEnded, delivery.Ended{How: delivery.Lost, Task: "T-1", Detail: "the runner gpu2 was removed"})
		l.want(t, "a runner that was removed")
		stop()
		ids := map[string]bool{}
		for _, m := range l.all {
			ids[m.ID] = true
			if strings.ContainsRune(m.Title+m.Text, 0x1b) || m.Text == "" || m.At.IsZero() && m.Question.Kind == api.KindQuestion {
				t.Errorf("told %+v", m)
			}
		}
		if len(ids) != len(l.all) {
			t.Errorf("%d messages have %d ids", len(l.all), len(ids))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		spent := question("Q1")
		spent.Cause = delivery.CauseBudget
		teller, l := teller(b, filepath.Join(t.TempDir(), "m"), config.Notify{Command: "tell", Kinds: []config.Kind{config.KindQuestion, config.KindFailed}})
		stop := run(t, teller)
		b.record("S1", delivery.QuestionAsked, delivery.Question{}, spent, api.Question{ID: "T1/1", Kind: string(delivery.PartReview)})
		b.record("S2", delivery.SessionEnded, delivery.Ended{How: delivery.Stalled})
		b.record("S2", delivery.SessionEnded, delivery.Ended{How: delivery.Lost, Runner: "gpu1"})
		b.record("S2", delivery.RunFinished, delivery.Finished{Outcome: delivery.Completed})
		l.want(t, "a question of the budget, if that is no kind", "command question Q1")
		stop()
	})
}

var errNobody = errors.New("nobody\x1b[2J is there")

// Who can't be told is told again, with pauses that grow; what is new is tried at once; and when it works, the rest follows. The
// other way goes on meanwhile. An answered question is told no more, and what only happened not for ever.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		teller, l := teller(b, filepath.Join(t.TempDir(), "m"), byBoth)
		l.fails["webhook"] = errNobody
		stop := run(t, teller)
		b.asks("S1", "Q1")
		got := l.take()
		slices.Sort(got)
		if !slices.Equal(got, []string{"command question Q1", "webhook question Q1"}) {
			t.Errorf("told %q", got)
		}
		for _, pause := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 320 * time.Second, 10 * time.Minute, 10 * time.Minute} {
			time.Sleep(pause - time.Millisecond)
			l.want(t, "before "+pause.String())
			time.Sleep(time.Millisecond)
			l.want(t, "after "+pause.String(), "webhook question Q1")
		}
		s := teller.Status()
		if s.Undelivered != 1 || s.Error != `webhook: nobody\x1b[2J is there` || s.Since.IsZero() || s.Dropped != 0 {
			t.Errorf("the status is %+v", s)
		}
		b.record("S9", delivery.RunFinished, delivery.Finished{Outcome: delivery.Halted})
		if got := l.take(); len(got) != 2 || !slices.Contains(got, "webhook failed R9") {
			t.Errorf("what is new: told %q", got)
		}
		l.set(func() { clear(l.fails) })
		b.record("S8", delivery.RunFinished, delivery.Finished{Outcome: delivery.Completed})
		got = l.take()
		if i := slices.Index(got, "webhook finished R8"); i < 0 || len(got) != 4 || slices.Index(got, "webhook failed R9") < i || slices.Index(got, "webhook question Q1") < i {
			t.Errorf("when it works again: told %q", got)
		}
		if s := teller.Status(); s != (api.Messages{}) {
			t.Errorf("the status is %+v", s)
		}
		l.set(func() { l.fails["command"], l.fails["webhook"] = errNobody, errNobody })
		b.asks("S1", "Q2")
		b.record("S7", delivery.RunFinished, delivery.Finished{Outcome: delivery.Completed})
		l.take()
		b.record("S1", delivery.QuestionAnswered, delivery.Answered{})
		time.Sleep(time.Hour)
		if got := l.take(); slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, "Q2") }) || len(got) == 0 {
			t.Errorf("after the answer: told %q", got)
		}
		time.Sleep(24 * time.Hour)
		l.take()
		if s := teller.Status(); s.Undelivered != 0 || s.Dropped != 1 {
			t.Errorf("after a day: the status is %+v", s)
		}
		time.Sleep(24 * time.Hour)
		l.want(t, "after two days")
		stop()
	})
}

// A box that is killed at any moment and started again tells what it had not told, with the ids that it would have had, and nothing
// twice but what it was just telling.
func TestKilled(t *testing.T) {
	for kill := range 9 { // at least as many are told: which reviews wait when it looks is up to chance
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
				left, _ := os.ReadFile(file) // none at the first
				died <- left
				<-ctx.Done() // it is told, and nobody notes it
				return ctx.Err()
			}
			stop := run(t, first)
			synctest.Wait()
			happen := func(from, to int) {
				for i := from; i < to; i++ {
					b.record("S1", delivery.SessionEnded, delivery.Ended{How: delivery.Stalled})
					b.asks("S2", fmt.Sprint("Q", i))
					b.record("S3", delivery.SessionEnded, delivery.Ended{How: delivery.Done},
						api.Question{ID: fmt.Sprint("T/", i), Kind: string(delivery.PartReview), Run: "R3"})
				}
			}
			happen(0, 4)
			synctest.Wait()
			stop()
			select {
			case left := <-died:
				if err := os.WriteFile(file, left, 0o600); err != nil || left == nil {
					_ = os.Remove(file)
				}
			default:
				t.Fatalf("it was told %d times only", len(l.all))
			}
			happen(4, 6) // while no box tells, as by a command that opens it for one request
			second, l2 := teller(b, file, byCommand)
			stop = run(t, second)
			l2.take()
			happen(6, 7)
			l2.take()
			stop()
			times, ids := map[string]int{}, map[string]string{}
			for _, m := range slices.Concat(l.all, l2.all) {
				times[m.ID]++
				ids[m.ID] = m.Text
			}
			doubles := 0
			for _, n := range times {
				doubles += n - 1
			}
			// Of the reviews only the last one waits when the second begins; the first box told of those before, as far as it came.
			if told := 2*7 + countReviews(l.all, l2.all); len(times) != told || doubles > 1 {
				t.Errorf("killed at message %d: %d messages with %d ids, %d twice; want %d\n%v", kill+1, len(l.all)+len(l2.all), len(times), doubles, told, ids)
			}
			if !slices.ContainsFunc(l2.all, func(m Message) bool { return m.Question != nil && m.Question.ID == "T/5" }) {
				t.Errorf("killed at message %d: nobody was told of what waited at the start", kill+1)
			}
			third, l3 := teller(b, file, byCommand)
			stop = run(t, third)
			l3.want(t, "started once more")
			stop()
		})
	}
}

// A first box that is killed before it has told anything leaves the next one to tell of all that waited, and of what happened since.
func TestKilledAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		b.record("S9", delivery.RunFinished, delivery.Finished{}) // before anybody was to be told
		b.asks("S1", "Q1")
		b.asks("S2", "Q2")
		first, _ := teller(b, filepath.Join(t.TempDir(), "m"), byCommand)
		var left []byte
		b.asked = func() {
			if left == nil {
				left, _ = os.ReadFile(first.o.File)
			}
		}
		run(t, first)()
		b.asked = nil
		if err := os.WriteFile(first.o.File, left, 0o600); err != nil || left == nil {
			t.Fatalf("it has left %q, %v", left, err)
		}
		b.record("S3", delivery.RunFinished, delivery.Finished{})
		second, l := teller(b, first.o.File, byCommand)
		stop := run(t, second)
		l.want(t, "killed at first", "command question Q1", "command question Q2", "command failed R3")
		stop()
	})
}

// countReviews counts the reviews that were told of.
func countReviews(some ...[]Message) int {
	ids := map[string]bool{}
	for _, m := range slices.Concat(some...) {
		if m.Kind == config.KindReview {
			ids[m.ID] = true
		}
	}
	return len(ids)
}

// A part in a task that waits since before what was told last is told of too, as it did not wait then.
func TestLatePart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		file := filepath.Join(t.TempDir(), "m")
		for range 3 {
			b.record("S1", delivery.SessionEnded, delivery.Ended{How: delivery.Done})
		}
		first, l := teller(b, file, byCommand)
		run(t, first)()
		b.mu.Lock()
		b.waits["S1"] = []box.Awaited{{Question: api.Question{ID: "T/1", Kind: string(delivery.PartReview)}, Seq: 1, About: "S1"}}
		b.mu.Unlock()
		l.want(t, "before")
		for _, want := range [][]string{{"command review T/1"}, nil} {
			next, l := teller(b, file, byCommand)
			stop := run(t, next)
			l.want(t, "after", want...)
			stop()
		}
	})
}

// However much happens, only so much is kept: who can be told, slowly, is waited for, and what can't be told is dropped. What is
// dropped is counted, also over a restart.
func TestFull(t *testing.T) {
	const many = maxUntold + 40
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		teller, l := teller(b, filepath.Join(t.TempDir(), "m"), byCommand)
		tell := l.tell(ByCommand)
		teller.senders[ByCommand] = func(ctx context.Context, m Message) error {
			time.Sleep(time.Second)
			return tell(ctx, m)
		}
		for range many {
			b.record("S1", delivery.RunFinished, delivery.Finished{})
		}
		if err := os.WriteFile(teller.o.File, []byte(`{"version":1,"origin":"signalbox/test"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		stop := run(t, teller)
		synctest.Wait()
		if n := teller.Status().Undelivered; n != maxUntold {
			t.Errorf("%d are kept", n)
		}
		teller.Settle(t.Context())
		if len(l.all) != many || teller.Status().Dropped != 0 {
			t.Errorf("%d were told, %+v", len(l.all), teller.Status())
		}
		stop()
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		file := filepath.Join(t.TempDir(), "m")
		first, l := teller(b, file, byCommand)
		l.fails["command"] = errNobody
		stop := run(t, first)
		synctest.Wait()
		for range many {
			b.record("S1", delivery.RunFinished, delivery.Finished{})
		}
		synctest.Wait()
		stop()
		if info, err := os.Stat(file); err != nil || info.Size() > 1<<20 {
			t.Errorf("the file has %d bytes, %v", info.Size(), err)
		}
		second, l := teller(b, file, byCommand)
		stop = run(t, second)
		if got := l.take(); len(got) != maxUntold || second.Status() != (api.Messages{Dropped: many - maxUntold}) {
			t.Errorf("%d were told, %+v", len(got), second.Status())
		}
		stop()
	})
}

// What happens while nobody is told of anything is not told later; nor is what another ledger had, or a file that is none.
func TestMemory(t *testing.T) {
	for name, of := range map[string]struct{ change, want string }{
		"as it was":         {"", "[command question Q1 command failed R1]"},
		"forgotten":         {"forget", "[command question Q1]"},
		"another ledger":    {`{"version":1,"origin":"other","up_to":0}`, "[command question Q1]"},
		"a later state":     {`{"version":1,"origin":"signalbox/test","up_to":999}`, "[command question Q1]"},
		"another version":   {`{"version":2,"origin":"signalbox/test","up_to":0}`, "[command question Q1]"},
		"no file of ours":   {"\x00", "[command question Q1]"},
		"hostile":           {`{"version":1,"origin":"signalbox/test","up_to":2,"untold":[null,{"kind":"failed","about":"S1","ways":["command"]},{"ways":["pigeon"]}]}`, "[command question Q1]"},
		"of other settings": {`{"version":1,"origin":"signalbox/test","up_to":2,"untold":[{"id":"x","kind":"failed","run":"R5","ways":["webhook"]}]}`, "[command question Q1]"},
		"kept":              {`{"version":1,"origin":"signalbox/test","up_to":2,"untold":[{"id":"x","kind":"failed","run":"R5","ways":["command","webhook"]}]}`, "[command failed R5 command question Q1]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBox()
			file := filepath.Join(t.TempDir(), "m")
			first, _ := teller(b, file, byCommand)
			stop := run(t, first)
			synctest.Wait()
			stop()
			b.record("S1", delivery.RunFinished, delivery.Finished{})
			b.record("S1", delivery.SessionEnded, delivery.Ended{})
			b.asks("S2", "Q1")
			switch of.change {
			case "":
			case "forget":
				if err := errors.Join(Forget(file), Forget(file)); err != nil {
					t.Fatal(err)
				}
			default:
				if err := os.WriteFile(file, []byte(of.change), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			second, l := teller(b, file, byCommand)
			stop = run(t, second)
			if got := fmt.Sprint(l.take()); got != of.want {
				t.Errorf("%s: told %s; want %s", name, got, of.want)
			}
			stop()
		})
	}
}

// How far the ledger was read is kept now and then, so that a start reads little of it; a file that can't be written is no reason
// not to tell.
func TestSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		teller, l := teller(b, filepath.Join(t.TempDir(), "m"), byCommand)
		stop := run(t, teller)
		synctest.Wait()
		for range oftenRead {
			b.record("S1", delivery.SessionEnded, delivery.Ended{})
		}
		synctest.Wait()
		var m memory
		if data, err := os.ReadFile(teller.o.File); err != nil || json.Unmarshal(data, &m) != nil || m.UpTo != oftenRead {
			t.Errorf("%+v, %v", m, err)
		}
		stop()
		l.want(t, "nothing")
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		teller, l := teller(b, filepath.Join(t.TempDir(), "there", "is", "none"), byCommand)
		stop := run(t, teller)
		b.asks("S1", "Q1")
		l.want(t, "without a file", "command question Q1")
		stop()
	})
}

// Who waits until all is told waits for one try, not for the next, and not for a teller that has ended.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		teller, l := teller(b, filepath.Join(t.TempDir(), "m"), byCommand)
		l.fails["command"] = errNobody
		stop := run(t, teller)
		b.asks("S1", "Q1")
		before := time.Now()
		teller.Settle(t.Context())
		l.want(t, "settled", "command question Q1")
		b.asks("S1", "Q2")
		stop()
		teller.Settle(t.Context())
		if time.Since(before) != 0 {
			t.Errorf("it took %v", time.Since(before))
		}
	})
}
