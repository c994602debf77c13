package fleet

import (
	"context"
	"crypto/ed25519"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// An order for nobody is home's; one for a runner goes there, whole at each connection, and is over when the runner says so.
func TestCarryOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, h, _, _ := begin(t)
		if err := f.CarryOut(t.Context(), order.Order{Command: delivery.Command{ID: "merge/1"}}); err != nil || !slices.Equal(h.asked, []string{"carry out merge/1"}) {
			t.Fatal(err, h.asked)
		}
		out := make(chan error, 1)
		go func() { out <- f.CarryOut(t.Context(), started("gpu1", "S-1.1")) }()
		synctest.Wait()
		l := follow(t, f, "gpu1")
		name := started("gpu1", "S-1.1").Name()
		if got := sent(t, l); !slices.Equal(got, []string{"settings", "order " + name, "due " + name}) {
			t.Fatalf("sent %q", got)
		}
		if got := sent(t, l); got != nil {
			t.Fatalf("sent again %q", got)
		}
		again := follow(t, f, "gpu1")
		if got := sent(t, l); got != nil {
			t.Errorf("an older connection is sent %q", got)
		}
		if _, err := l.Next(t.Context()); !errors.Is(err, errNewLine) {
			t.Errorf("an older connection goes on: %v", err)
		}
		if got := sent(t, again); !slices.Equal(got, []string{"settings", "order " + name, "due " + name}) {
			t.Fatalf("a new connection is sent %q", got)
		}
		if refs, _, err := f.Fetches("gpu1", name); err != nil || !slices.Equal(refs, []string{"refs/heads/b"}) {
			t.Error(refs, err)
		}
		if heard, err := f.Done("gpu1", order.Done{Name: name}); err != nil || heard.Unknown {
			t.Fatal(heard, err)
		}
		if err := <-out; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := sent(t, again); !slices.Equal(got, []string{"due "}) {
			t.Errorf("afterwards it is sent %q", got)
		}
		if _, _, err := f.Fetches("gpu1", name); !errors.Is(err, ErrNotYours) {
			t.Errorf("it may still be fetched: %v", err)
		}
		if len(f.sessions) != 0 {
			t.Error("a session is kept that is over")
		}
	})
}

// A session whose runner says nothing for too long is over as lost, a gate goes elsewhere; and a runner that comes back is there again.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, b, _ := begin(t)
		if _, err := f.Here("gpu1", here); err != nil {
			t.Fatal(err)
		}
		session, gate := make(chan error, 1), make(chan error, 1)
		go func() { session <- f.CarryOut(t.Context(), started("gpu1", "S-1.1")) }()
		go func() {
			o := order.Order{Command: delivery.Command{ID: "gate/T-1/9", Do: delivery.DoGate, Runner: "gpu1"}}
			o.Run.Subject = "R"
			gate <- f.CarryOut(t.Context(), o)
		}()
		time.Sleep(lostAfter - time.Second)
		synctest.Wait()
		if len(b.told()) != 0 || f.Runners()[0].State != api.RunnerPresent || f.Machines()[1].Away {
			t.Fatal("it is lost too early")
		}
		if _, err := f.Here("gpu1", here); err != nil { // it is heard of: the time begins anew
			t.Fatal(err)
		}
		time.Sleep(lostAfter - time.Second)
		synctest.Wait()
		if len(b.told()) != 0 {
			t.Fatal("a sign of life did not count")
		}
		time.Sleep(3 * time.Second)
		if err := <-session; err != nil {
			t.Error(err)
		}
		if err := <-gate; !errors.Is(err, errLost) {
			t.Errorf("the gate: %v", err)
		}
		end, ok := b.told()[0].(delivery.End)
		if !ok || len(b.told()) != 1 || end.Session != "S-1.1" || end.How != delivery.Lost || end.Runner != "gpu1" || !strings.Contains(end.Detail, "gpu1") {
			t.Errorf("handed in %+v", b.told())
		}
		if f.Runners()[0].State != api.RunnerLost || !f.Machines()[1].Away || b.stirred.Load() == 0 {
			t.Error("work can still be given to it")
		}
		if _, err := f.Here("gpu1", here); err != nil {
			t.Fatal(err)
		}
		if f.Runners()[0].State != api.RunnerPresent || f.Machines()[1].Away {
			t.Error("it is not back")
		}
		if err := f.HandIn(t.Context(), "gpu1", mustWrite(t, delivery.End{Session: "S-1.1"})); !errors.Is(err, ErrNotYours) {
			t.Errorf("a session that is over is ended again: %v", err)
		}
	})
}

func mustWrite(t *testing.T, in delivery.Input) order.HandedIn {
	t.Helper()
	h, err := order.WriteInput("R", in)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A runner that was never heard of since the box was started is lost too, as is one that was removed, at once.
func TestNeverHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, b, known := begin(t)
		out := make(chan error, 1)
		go func() { out <- f.CarryOut(t.Context(), started("gpu1", "S-1.1")) }()
		time.Sleep(lostAfter + 2*time.Second)
		if err := <-out; err != nil || len(b.told()) != 1 {
			t.Fatal(err, b.told())
		}
		if _, err := f.Here("gpu1", here); err != nil {
			t.Fatal(err)
		}
		go func() { out <- f.CarryOut(t.Context(), started("gpu1", "S-1.2")) }()
		synctest.Wait()
		l := follow(t, f, "gpu1")
		known.set()
		time.Sleep(2 * time.Second)
		if err := <-out; err != nil || len(b.told()) != 2 {
			t.Fatal(err, b.told())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, err := l.Next(t.Context()); !errors.Is(err, errNewLine) {
			t.Errorf("a runner that was removed follows on: %v", err)
		}
		if _, err := f.Here("gpu1", here); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		if _, err := f.Follow("gpu1", 1); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		if len(f.machines) != 0 {
			t.Error("it is still kept")
		}
	})
}

// A runner can hand in what came of its own orders, and of nothing else.
func TestHandIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, h, b, known := begin(t)
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		known.set(Known{Name: "gpu1", Key: work.KeySHA256(public), Joined: 7}, Known{Name: "gpu2"})
		ran := delivery.GateRan{Command: "gate/T-2/9", Runner: "gpu2"}
		ran.Signed = &work.Signed{Order: "another's", Key: public, Joined: 1, Signature: ed25519.Sign(private, ran.Statement("gpu1", checked().Run.ID, checked().Task).Text())}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = f.CarryOut(ctx, started("gpu1", "S-1.1")) }()
		go func() { _ = f.CarryOut(ctx, checked()) }()
		synctest.Wait()
		own := []delivery.Input{
			delivery.End{Session: "S-1.1", Ended: delivery.Ended{How: delivery.Lost, Runner: "gpu2"}}, delivery.Prompted{Session: "S-1.1"}, delivery.Shown{Session: "S-1.1"}, delivery.Forgotten{Session: "S-1.1"},
			delivery.Distrust{Session: "S-1.1"}, delivery.Pushed{Session: "S-1.1"}, ran,
		}
		for _, in := range own {
			if err := f.HandIn(t.Context(), "gpu2", mustWrite(t, in)); !errors.Is(err, ErrNotYours) {
				t.Errorf("another runner hands in %T: %v", in, err)
			}
			h := mustWrite(t, in)
			h.Run = "S"
			if err := f.HandIn(t.Context(), "gpu1", h); !errors.Is(err, ErrNotYours) {
				t.Errorf("it is handed in to another run: %T: %v", in, err)
			}
		}
		for _, in := range []delivery.Input{delivery.End{Session: "S-1.2"}, delivery.GateRan{Command: "start/S-1.1"}, delivery.GateRan{Command: "gate/T-1/9"}} {
			if err := f.HandIn(t.Context(), "gpu1", mustWrite(t, in)); !errors.Is(err, ErrNotYours) {
				t.Errorf("%+v: %v", in, err)
			}
		}
		if len(b.told()) != 0 {
			t.Fatalf("the conductor was told %+v", b.told())
		}
		for _, in := range own {
			if err := f.HandIn(t.Context(), "gpu1", mustWrite(t, in)); err != nil {
				t.Errorf("%T: %v", in, err)
			}
		}
		if e, ok := b.told()[0].(delivery.End); !ok || e.Runner != "" {
			t.Errorf("a runner says that another one is lost: %+v", b.told()[0])
		}
		b.mu.Lock()
		b.in = nil
		b.mu.Unlock()
		if err := f.HandIn(t.Context(), "gpu1", mustWrite(t, delivery.End{Session: "S-1.1", Ended: delivery.Ended{How: delivery.Lost}})); err != nil || b.told()[0].(delivery.End).How != delivery.Crashed {
			t.Errorf("a runner says that it is lost, and it does not count: %v, %+v", err, b.told())
		}
		if err := f.HandIn(t.Context(), "gpu1", mustWrite(t, own[len(own)-1])); err != nil {
			t.Error(err)
		}
		if g, ok := b.told()[len(b.told())-1].(delivery.GateRan); !ok || g.Runner != "gpu1" || g.Signed.Joined != 7 || g.Signed.Order != g.Command {
			t.Errorf("who ran the checks is said by the runner: %+v", b.told())
		}
		nothing := ran
		nothing.Trouble = "there is no disk"
		if err := f.HandIn(t.Context(), "gpu1", mustWrite(t, nothing)); err != nil || b.told()[len(b.told())-1].(delivery.GateRan).Signed != nil {
			t.Errorf("what was not checked is signed: %v, %+v", err, b.told())
		}
		nothing = ran
		nothing.Passed = true
		if err := f.HandIn(t.Context(), "gpu1", mustWrite(t, nothing)); !errors.Is(err, work.ErrSignature) {
			t.Errorf("what was not signed is taken: %v", err)
		}
		if err := f.HandIn(t.Context(), "gpu1", order.HandedIn{Run: "R", Kind: "merge"}); !errors.Is(err, ErrForm) {
			t.Error(err)
		}
		if err := f.Mail(t.Context(), "gpu2", order.Mail{Session: "S-1.1"}); !errors.Is(err, ErrNotYours) {
			t.Error(err)
		}
		if f.Speaks("S-1.1", "gpu2") == nil || f.Speaks("S-1.1", "") == nil || f.Speaks("S-1.1", "gpu1") != nil || f.Speaks("S-9.9", "") != nil {
			t.Error("a session is spoken for from elsewhere, or not from its runner")
		}
		h.at = map[string]string{"S-0.1": "gpu2"}
		for _, c := range []struct {
			runner, of string
			name       order.SaidName
			ok         bool
		}{
			{"gpu1", "S-1.1", order.SaidTranscript, true},
			{"gpu2", "S-1.1", order.SaidTranscript, false}, // it is another's
			{"gpu2", "S-0.1", order.SaidStderr, true},      // it is over
			{"gpu1", "S-0.1", order.SaidStderr, false},
			{"gpu1", "S-7.7", order.SaidVoices, false}, // it is none's
			{"gpu1", "S-1.1", order.SaidChecks, false}, // another runner checks what it has done
			{"gpu1", order.ChecksName(checked().Task.Item), order.SaidChecks, true},
			{"gpu2", order.ChecksName(checked().Task.Item), order.SaidChecks, false},
			{"gpu1", order.ChecksName(checked().Task.Item), order.SaidTranscript, false},
		} {
			if err := f.Record(c.runner, order.Said{Of: c.of, Name: c.name}); (err == nil) != c.ok {
				t.Errorf("%s keeps %s of %s: %v", c.runner, c.name, c.of, err)
			}
		}
		if _, err := f.Done("gpu2", order.Done{Name: started("gpu1", "S-1.1").Name()}); !errors.Is(err, ErrNotYours) {
			t.Error(err)
		}
		if heard, err := f.Done("gpu1", order.Done{Name: "one that is over"}); err != nil || !heard.Unknown {
			t.Error(heard, err)
		}
		synctest.Wait()
		if len(f.machines["gpu1"].flights) != 2 {
			t.Error("another runner says that an order is done, and it counts")
		}
	})
}

// A box that was started a moment ago has not given its orders anew: what comes of them meanwhile is not refused, but to be said again.
func TestNotGivenYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, b, known := begin(t)
		known.set(Known{Name: "gpu1"}, Known{Name: "gpu2"})
		b.on = map[string]string{"S-1.1": "gpu1"}
		all := []delivery.Input{
			delivery.End{Session: "S-1.1"}, delivery.Prompted{Session: "S-1.1"}, delivery.Shown{Session: "S-1.1"}, delivery.Forgotten{Session: "S-1.1"},
			delivery.Distrust{Session: "S-1.1"}, delivery.Pushed{Session: "S-1.1"},
		}
		for _, in := range all {
			if err := f.HandIn(t.Context(), "gpu1", mustWrite(t, in)); !errors.Is(err, ErrNotYet) {
				t.Errorf("%T: %v", in, err)
			}
			if err := f.HandIn(t.Context(), "gpu2", mustWrite(t, in)); !errors.Is(err, ErrNotYours) {
				t.Errorf("another runner hands in %T: %v", in, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = f.CarryOut(ctx, started("gpu1", "S-1.1")) }()
		synctest.Wait()
		for _, in := range all {
			if err := f.HandIn(t.Context(), "gpu1", mustWrite(t, in)); err != nil {
				t.Errorf("%T, when the order was given: %v", in, err)
			}
		}
	})
}

// An order for a session is not carried out while the ledger does not say that the session has ended, whatever its runner says: it is given again.
func TestDoneTooSoon(t *testing.T) {
	for _, do := range []delivery.Verb{delivery.DoStart, delivery.DoEnd} {
		for _, ended := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				f, _, b, _ := begin(t)
				if !ended {
					b.on = map[string]string{"S-1.1": "gpu1"}
				}
				o := started("gpu1", "S-1.1")
				o.Do = do
				out := make(chan error, 1)
				go func() { out <- f.CarryOut(t.Context(), o) }()
				synctest.Wait()
				if heard, err := f.Done("gpu1", order.Done{Name: o.Name()}); err != nil || heard.Unknown {
					t.Fatal(heard, err)
				}
				if err := <-out; errors.Is(err, errNoEnd) == ended {
					t.Errorf("%s, ended %t: %v", do, ended, err)
				}
			})
		}
	}
}

// What is asked about a session goes to its runner, and about all others to home.
func TestAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, h, _, _ := begin(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = f.CarryOut(ctx, started("gpu1", "S-1.1")) }()
		synctest.Wait()
		l := follow(t, f, "gpu1")
		sent(t, l)
		got := make(chan string, 1)
		go func() {
			data, err := f.Evidence("S-1.1", "file", 4)
			got <- string(data)
			if err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		notices := l.take()
		if len(notices) != 1 || notices[0].Call == nil || notices[0].Call.Do != order.CallEvidence || notices[0].Call.Ref != "file" {
			t.Fatalf("asked %+v", notices)
		}
		asked := notices[0].Call.ID
		for _, id := range []uint64{0, asked, asked + 1} {
			if err := f.Answered("gpu2", order.Answer{ID: id, Data: []byte("no")}); !errors.Is(err, ErrNotYours) {
				t.Errorf("it answers the call %d, which was not its own: %v", id, err)
			}
		}
		for range 2 { // the second one comes too late
			if err := f.Answered("gpu1", order.Answer{ID: asked, Data: []byte("yes")}); err != nil {
				t.Error(err)
			}
		}
		if text := <-got; text != "yes" {
			t.Errorf("answered %q", text)
		}
		go func() { _, err := f.Evidence("S-1.1", "file", 4); got <- err.Error() }()
		synctest.Wait()
		if err := f.Answered("gpu1", order.Answer{ID: l.take()[0].Call.ID, Data: []byte("too much")}); err != nil {
			t.Error(err)
		}
		if text := <-got; !strings.Contains(text, "more than 4 bytes") {
			t.Error(text)
		}
		go func() { _, err := f.Distrust("R1", "S-1.1"); got <- err.Error() }() // which is never answered
		time.Sleep(askPatience + time.Second)
		if text := <-got; !strings.Contains(text, context.DeadlineExceeded.Error()) {
			t.Error(text)
		}
		<-f.Look("R", "b", "S-1.1", "T-1", "")
		f.Look("R", "b", "home-1.1", "T-1", "")
		_, _ = f.Distrust("R1", "home-1.1")
		f.Gone("S-1.1")
		f.Gone("home-1.1")
		if !slices.Equal(h.asked, []string{"look home-1.1", "distrust home-1.1", "gone home-1.1"}) {
			t.Errorf("home was asked %q", h.asked)
		}
		if err := f.Ready(); err != nil {
			t.Errorf("a program that is missing at home keeps a run from starting: %v", err)
		}
	})
}

// What a runner says of itself: bounded, and the leases of its own sessions that are in touch are renewed.
func TestHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, b, known := begin(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = f.CarryOut(ctx, started("gpu1", "S-1.1")) }()
		synctest.Wait()
		said := here
		said.Alive, said.InTouch = []string{"S-1.1", "S-2.1"}, []string{"S-1.1", "S-2.1"}
		there, err := f.Here("gpu1", said)
		if err != nil || !slices.Equal(b.renewed, []string{"S-1.1"}) || !slices.Equal(there.Runs, []string{"R1"}) || there.Draining {
			t.Error(there, err, b.renewed)
		}
		m := f.Machines()[1]
		if m.Name != "gpu1" || !slices.Equal(m.Agents, []string{"codex"}) || m.Sessions != 2 || m.Places != 4 || !m.Checks || m.Draining {
			t.Errorf("%+v", m)
		}
		if !slices.Contains(f.Alive(), "S-2.1") || !slices.Contains(f.Alive(), "home-1.1") {
			t.Error(f.Alive())
		}
		stirred := b.stirred.Load()
		if _, err := f.Here("gpu1", said); err != nil || b.stirred.Load() != stirred {
			t.Error("runs are looked at again although nothing has changed")
		}
		known.set(Known{Name: "gpu1", Draining: true})
		if there, err := f.Here("gpu1", said); err != nil || !there.Draining || !f.Machines()[1].Draining || f.Runners()[0].State != api.RunnerDraining {
			t.Error(there, err)
		}
		known.set(Known{Name: "gpu1"})
		for what, bad := range map[string]order.Here{
			"a long version":    {Protocol: 1, Version: strings.Repeat("x", 300)},
			"many sessions":     {Protocol: 1, Alive: make([]string, 5000)},
			"many agents":       {Protocol: 1, Agents: make([]order.Agent, 300)},
			"a long session":    {Protocol: 1, InTouch: []string{strings.Repeat("x", 300)}},
			"places below none": {Protocol: 1, Places: -1},
			"endless places":    {Protocol: 1, Places: math.MaxInt},
			"no protocol":       {},
		} {
			if _, err := f.Here("gpu1", bad); err == nil {
				t.Errorf("%s is taken", what)
			}
		}
		if len(f.Runners()) != 1 || f.Runners()[0].Protocol != 1 {
			t.Errorf("%+v", f.Runners())
		}
	})
}

// A runner that is newer than the box is neither heard nor told anything: people see why, and what it had is lost in time, however often it says
// that it is there.
func TestNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, b, _ := begin(t)
		ended := make(chan error, 1)
		go func() { ended <- f.CarryOut(t.Context(), started("gpu1", "S-1.1")) }()
		if _, err := f.Here("gpu1", here); err != nil {
			t.Fatal(err)
		}
		newer := order.Here{Protocol: here.Protocol + 1, Version: "v9", Agents: here.Agents}
		for range 100 {
			if _, err := f.Follow("gpu1", newer.Protocol); !errors.Is(err, order.ErrProtocol) {
				t.Fatal(err)
			}
			if _, err := f.Here("gpu1", newer); !errors.Is(err, order.ErrProtocol) {
				t.Fatal(err)
			}
			if r := f.Runners()[0]; r.State == api.RunnerPresent || r.Protocol != newer.Protocol || r.Version != "v9" || !strings.Contains(r.Problem, "update the box first") {
				t.Fatalf("%+v", r)
			}
			if slices.ContainsFunc(f.Machines(), func(m delivery.Machine) bool { return m.Name == "gpu1" && !m.Draining }) {
				t.Fatalf("%+v", f.Machines())
			}
			time.Sleep(f.o.Lost / 50)
			synctest.Wait()
		}
		if err := <-ended; err != nil || f.Runners()[0].State != api.RunnerLost {
			t.Errorf("%v, %+v, %+v", err, f.Runners(), b.told())
		}
		if _, err := f.Follow("gpu1", 0); !errors.Is(err, ErrForm) {
			t.Errorf("a runner without a protocol: %v", err)
		}
	})
}

// What a runner that is drained has when its time is over is given up; the runner is there all the same.
func TestDrainBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, b, known := begin(t)
		known.set(Known{Name: "gpu1", Draining: true, DrainBy: time.Now().Add(time.Minute)})
		out := make(chan error, 1)
		go func() { out <- f.CarryOut(t.Context(), started("gpu1", "S-1.1")) }()
		if _, err := f.Here("gpu1", here); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if len(b.told()) != 0 {
			t.Fatal("its session is over too early")
		}
		time.Sleep(3 * time.Second)
		if err := <-out; err != nil {
			t.Fatal(err)
		}
		end, ok := b.told()[0].(delivery.End)
		if !ok || end.How != delivery.Lost || end.Runner != "" || !strings.Contains(end.Detail, "drained") || f.Runners()[0].State != api.RunnerDraining {
			t.Errorf("%+v, %+v", b.told(), f.Runners())
		}
	})
}

// Runs are looked at again when a runner takes work again that was drained, also without a word from it.
func TestDrainedAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, b, known := begin(t)
		if _, err := f.Here("gpu1", here); err != nil {
			t.Fatal(err)
		}
		for _, draining := range []bool{true, false} {
			time.Sleep(2 * time.Second)
			before := b.stirred.Load()
			known.set(Known{Name: "gpu1", Draining: draining})
			time.Sleep(2 * time.Second)
			if b.stirred.Load() != before+1 || f.Machines()[1].Draining != draining {
				t.Errorf("draining %v: looked at again %d times, %+v", draining, b.stirred.Load()-before, f.Machines())
			}
		}
	})
}

// A runner that was told to leave has left when it has gone with nothing under way, and one that joined just now has not started.
func TestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, _, known := begin(t)
		known.set(Known{Name: "gpu1", At: time.Now()}, Known{Name: "gpu2", At: time.Now().Add(-time.Second)})
		if all := f.Runners(); !all[0].NotStarted || all[1].NotStarted || all[0].LeftAt != nil {
			t.Errorf("before they are heard of: %+v", all)
		}
		say := func(leaving bool, alive ...string) api.Runner {
			said := here
			said.Leaving, said.Alive = leaving, alive
			if _, err := f.Here("gpu1", said); err != nil {
				t.Fatal(err)
			}
			return f.Runners()[0]
		}
		line := follow(t, f, "gpu1")
		if r := say(true); r.NotStarted || r.LeftAt != nil {
			t.Errorf("it is still connected: %+v", r)
		}
		line.End()
		if r := say(true, "S-1.1"); r.LeftAt != nil {
			t.Errorf("it has sessions: %+v", r)
		}
		if r := say(false); r.LeftAt != nil {
			t.Errorf("it stays: %+v", r)
		}
		left := time.Now()
		say(true)
		time.Sleep(2 * lostAfter)
		synctest.Wait()
		if r := f.Runners()[0]; r.LeftAt == nil || !r.LeftAt.Equal(left) || r.State != api.RunnerLost {
			t.Errorf("it has left: %+v", r)
		}
	})
}

// What a runner said of itself is not told of one that is lost: only that it has to be updated.
func TestProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, _, _ := begin(t)
		said := here
		said.Problem = "no git"
		if _, err := f.Here("gpu1", said); err != nil || f.Runners()[0].Problem != "no git" {
			t.Error(err, f.Runners())
		}
		time.Sleep(2 * lostAfter)
		synctest.Wait()
		if r := f.Runners()[0]; r.State != api.RunnerLost || r.Problem != "" {
			t.Errorf("%+v", r)
		}
	})
}

// Who asks what the box is, is told, and is not present by that; a runner that has been removed is not told.
func TestBox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, _, known := begin(t)
		b, err := f.Box("gpu1")
		if err != nil || b.Protocol != order.Protocol() || !b.Time.Equal(time.Now()) || f.Runners()[0].LastContactS != nil || !f.Machines()[1].Away {
			t.Errorf("%+v, %v; %+v", b, err, f.Runners())
		}
		known.set()
		if _, err := f.Box("gpu1"); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
	})
}
