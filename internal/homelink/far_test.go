package homelink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/records"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// argument makes an argument of a method.
func argument(t *testing.T, of reflect.Type, n int) reflect.Value {
	t.Helper()
	run := delivery.Run{Tasks: []*delivery.Task{{ID: "T-1", Item: work.Item{Chain: work.Chain{Subject: "S"}}}}, Subject: "01RUN"}
	run.ID = "R1"
	v := reflect.New(of).Elem()
	switch v.Addr().Interface().(type) {
	case *context.Context:
		v.Set(reflect.ValueOf(t.Context()))
	case *func() []string:
		v.Set(reflect.ValueOf(func() []string { return []string{"known"} }))
	case *order.Order:
		o := anOrder("gate/T-1/1")
		o.Run = run
		v.Set(reflect.ValueOf(o))
	case *delivery.Run:
		v.Set(reflect.ValueOf(run))
	case *delivery.Session:
		v.Set(reflect.ValueOf(delivery.Session{ID: "S-1.1", Task: "T-1"}))
	case *order.Record:
		v.Set(reflect.ValueOf(order.Record{Name: "n", Subject: "s", Bytes: 9, Live: true}))
	case *order.Left:
		v.Set(reflect.ValueOf(order.Left{Task: "T-1", Branch: "b", Commit: "c"}))
	case *order.Said:
		v.Set(reflect.ValueOf(order.Said{Of: "S-1.1", Name: order.SaidTranscript, At: 5, Data: []byte("\xff")}))
	case *string:
		v.SetString(fmt.Sprintf("word %d", n))
	case *[]string:
		v.Set(reflect.ValueOf([]string{"one", "two"}))
	case *bool:
		v.SetBool(true)
	case *int64:
		v.SetInt(1 << 33)
	default:
		t.Fatalf("no argument of the type %v is known", of)
	}
	return v
}

// called calls a method, and returns what it returns.
func called(t *testing.T, on any, name string) (all []any) {
	t.Helper()
	m := reflect.ValueOf(on).MethodByName(name)
	var in []reflect.Value
	for i := range m.Type().NumIn() {
		in = append(in, argument(t, m.Type().In(i), i))
	}
	call := m.Call
	if m.Type().IsVariadic() {
		call = m.CallSlice
	}
	for _, v := range call(in) {
		one := v.Interface()
		switch was := one.(type) {
		case error:
			one = was.Error()
		case <-chan struct{}:
			<-was
			one = "closed"
		}
		all = append(all, one)
	}
	return all
}

// Each method of a home that is another box's asks there what was asked, and returns what was answered there, also if it failed.
func TestMethods(t *testing.T) {
	b, homes := open(t, nil)
	far, direct := reached(t, homes), &fake{}
	of := reflect.TypeFor[fleet.Home]()
	for _, err := range []error{nil, errors.New("it fails")} {
		b.err, direct.err = err, err
		for i := range of.NumMethod() {
			name := of.Method(i).Name
			b.take()
			answered, want := called(t, far, name), called(t, direct, name)
			if name == "Machine" { // which is known without a question, and is home
				m := want[0].(delivery.Machine)
				m.Name, direct.asked = "", nil
				want[0] = m
			}
			asked := direct.take()
			if name == "Root" && err != nil {
				asked = nil // it stays what it was
			}
			var heard []string
			until(t, name+" is asked", func() bool { heard = append(heard, b.take()...); return len(heard) >= len(asked) })
			if d := cmp.Diff(want, answered, cmpopts.EquateEmpty()); d != "" || !slices.Equal(heard, asked) {
				t.Errorf("%s: %s\nasked %q, want %q", name, d, heard, asked)
			}
		}
	}
}

// Errors that callers ask for are the same after they went over the way.
func TestErrors(t *testing.T) {
	for _, err := range []error{
		order.ErrNoSandbox, order.ErrUnprotected, order.ErrNoProgram, order.ErrNoModel, order.ErrNoCommit,
		records.ErrGap, records.ErrLong, records.ErrNone, records.ErrName, fs.ErrNotExist, regular.ErrIrregular, regular.ErrNoDirectory,
	} {
		wrapped := fmt.Errorf("so it is: %w", err)
		if is := fail(wrapped).err(); !errors.Is(is, err) || is.Error() != wrapped.Error() || errors.Is(is, order.ErrUnreached) {
			t.Errorf("%v is %v", err, is)
		}
	}
	is := fail(&regular.TooLargeError{Path: "p", Most: 5}).err()
	if large := (&regular.TooLargeError{}); !errors.As(is, &large) || large.Most != 5 {
		t.Errorf("it is %v", is)
	}
	if fail(nil).err() != nil {
		t.Error("no error is one")
	}
	b, homes := open(t, nil)
	far := reached(t, homes)
	b.err = fmt.Errorf("%w (bwrap)", order.ErrNoSandbox)
	if err := far.Ready(); !errors.Is(err, order.ErrNoSandbox) || err.Error() != b.err.Error() {
		t.Errorf("%v", err)
	}
}

// Of a box that is not reached, what can fail says so, orders wait, and the rest is what does no harm. When it is there it hears what it missed.
func TestUnreached(t *testing.T) {
	b, homes := open(t, nil)
	b.cut.Store(true)
	var changed atomic.Int32
	homes.o.Changed = func() { changed.Add(1) }
	far := homes.Of("c").(*Far)
	until(t, "it is known that it is away", far.away)
	begun := time.Now()
	of := reflect.TypeFor[fleet.Home]()
	for i := range of.NumMethod() {
		m := of.Method(i)
		if m.Name == "CarryOut" || m.Name == "Share" {
			continue
		}
		out := called(t, far, m.Name)
		if n := m.Type.NumOut(); n > 0 && m.Type.Out(n-1) == reflect.TypeFor[error]() {
			if text, _ := out[n-1].(string); !strings.Contains(text, order.ErrUnreached.Error()) {
				t.Errorf("%s: %v", m.Name, out)
			}
		}
	}
	if !errors.Is(far.Ready(), order.ErrUnreached) || time.Since(begun) > 5*time.Second {
		t.Errorf("%v, after %v", far.Ready(), time.Since(begun))
	}
	if d := cmp.Diff([]any{far.Machine(), far.Alive(), far.Root(), far.Unprotected(), far.Elsewhere("s"), far.Homes(t.Context())},
		[]any{delivery.Machine{Away: true}, []string{"open at c"}, "", []string{"it is not known what box c protects"}, "", int64(0)}); d != "" {
		t.Error(d)
	}
	out := make(chan error, 2)
	go func() { out <- far.CarryOut(t.Context(), anOrder("gate/T-1/1")) }()
	go func() {
		_, err := far.Share(t.Context(), anOrder("gate/T-1/1"))
		out <- err
	}()
	select {
	case err := <-out:
		t.Fatalf("an order has ended with %v", err)
	case <-time.After(4 * beat):
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := far.CarryOut(ctx, anOrder("gate/T-1/2")); !errors.Is(err, context.Canceled) {
		t.Errorf("an order that is not wanted any more: %v", err)
	}
	if len(b.take()) != 0 {
		t.Error("the box was asked")
	}
	b.cut.Store(false)
	for range 2 {
		if err := got(t, "a waiting order ends", out); !errors.Is(err, errBack) {
			t.Errorf("an order that has waited ended with %v", err)
		}
	}
	var heard []string
	until(t, "it hears the rest", func() bool { heard = append(heard, b.take()...); return len(heard) >= 4 })
	if slices.Sort(heard); !slices.Equal(heard, []string{"[gone word 0]", "[leave followed word 0]", "[turn ended word 0 word 1]", "[unmark word 0]"}) || changed.Load() != 2 {
		t.Errorf("it heard %q; changed %d times", heard, changed.Load())
	}
	b.cut.Store(true)
	until(t, "it is away again", far.away)
	if changed.Load() != 3 {
		t.Errorf("changed %d times", changed.Load())
	}
}

// What a box is to know is told again if the connection breaks, in order.
func TestToldAgain(t *testing.T) {
	var broken atomic.Bool
	b, homes := open(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/gone") && broken.CompareAndSwap(false, true) {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	far := reached(t, homes)
	far.Gone("S-1.1")
	far.Unmark("R")
	var heard []string
	until(t, "it hears both", func() bool { heard = append(heard, b.take()...); return len(heard) >= 2 })
	if !slices.Equal(heard, []string{"[gone S-1.1]", "[unmark R]"}) {
		t.Errorf("it heard %q", heard)
	}
}

// An order that is not wanted any more ends there too.
func TestCancelled(t *testing.T) {
	b, homes := open(t, nil)
	far, begun, ended := reached(t, homes), make(chan struct{}), make(chan struct{})
	b.carry = func(ctx context.Context, _ order.Order) error {
		close(begun)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan error, 1)
	go func() { out <- far.CarryOut(ctx, anOrder("gate/T-1/1")) }()
	got(t, "it begins", begun)
	select {
	case err := <-out:
		t.Fatalf("a long order has ended with %v", err)
	case <-time.After(2 * silence * beat): // and it is held for as long as both are there
	}
	cancel()
	if err := got(t, "it is over here", out); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	got(t, "it ends there", ended)
}

// stalled takes requests, and says nothing more than its first bytes.
func stalled(first string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/carry-out") {
				next.ServeHTTP(w, r)
				return
			}
			_, _ = io.ReadAll(r.Body)
			_, _ = io.WriteString(w, first)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
	}
}

// A box that dies in the middle of an order, stalls, or says what can't be read, is noticed: the order fails as one of a box that is not reached, and is given
// again.
func TestBroken(t *testing.T) {
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"it stalls at once": stalled(""),
		"it stalls":         stalled("\n\n{\"text\":"),
		"it is no answer":   answers(http.StatusOK, "<html>"),
		"it is cut off":     answers(http.StatusOK, "\n{\"text\":\"x"),
		"it is too long":    answers(http.StatusOK, strings.Repeat("\n", MaxBody+2)),
		"it is no box":      answers(http.StatusBadGateway, "<html>"),
		"it is starting":    answers(http.StatusServiceUnavailable, `{"code":"stopping","detail":"not yet"}`),
	} {
		t.Run(name, func(t *testing.T) {
			_, homes := open(t, wrap)
			far := reached(t, homes)
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			if err := far.CarryOut(ctx, anOrder("gate/T-1/1")); !errors.Is(err, order.ErrUnreached) || ctx.Err() != nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
	t.Run("it dies", func(t *testing.T) {
		b, homes := open(t, nil)
		far, begun := reached(t, homes), make(chan struct{})
		b.carry = func(ctx context.Context, _ order.Order) error {
			close(begun)
			<-ctx.Done()
			return nil
		}
		out := make(chan error, 1)
		go func() { out <- far.CarryOut(t.Context(), anOrder("gate/T-1/1")) }()
		got(t, "it begins", begun)
		b.server.CloseClientConnections()
		if err := got(t, "that is noticed", out); !errors.Is(err, order.ErrUnreached) {
			t.Error(err)
		}
	})
}

// answers answers the order so.
func answers(status int, text string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/carry-out") {
				next.ServeHTTP(w, r)
				return
			}
			_, _ = io.ReadAll(r.Body)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		})
	}
}

// What can't be read, is too long, or is no method, is refused, and nothing is done.
func TestRefused(t *testing.T) {
	b, _ := open(t, nil)
	for _, c := range []struct {
		method, body string
		status       int
	}{
		{"carry-out", "{", http.StatusBadRequest},
		{"carry-out", `{"order":3}`, http.StatusBadRequest},
		{"carry-out", `{"text":"` + strings.Repeat("x", MaxBody) + `"}`, http.StatusRequestEntityTooLarge},
		{"shut-down", "{}", http.StatusNotFound},
		{"", "{}", http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		ServeHome(b.own, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, HomePath+c.method, strings.NewReader(c.body)))
		if w.Code != c.status {
			t.Errorf("%s %.20s: %d %s", c.method, c.body, w.Code, w.Body)
		}
	}
	for name, do := range homeMethods(b.own) { // without what it is about
		if needs := []string{"carry-out", "share", "finished", "left", "discard", "put-away", "sight", "room", "commit", "remove-record", "again", "record"}; slices.Contains(needs, name) {
			if _, err := do(t.Context(), question{}); !errors.Is(err, errNoQuestion) {
				t.Errorf("%s of nothing: %v", name, err)
			}
		}
	}
	if asked := b.take(); len(asked) != 0 {
		t.Errorf("asked was %q", asked)
	}
}

// An order ends when the box that gave it is not heard of any more, though its connection is there.
func TestCallerGone(t *testing.T) {
	b, homes := open(t, nil)
	far, ended := reached(t, homes), make(chan error, 1)
	b.carry = func(ctx context.Context, _ order.Order) error {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	}
	go func() {
		_, _ = call(t.Context(), b, HomePath+"carry-out", "who has died", time.Hour, question{Order: new(anOrder("gate/T-1/1"))})
	}()
	if err := got(t, "it ends", ended); !errors.Is(err, errSilent) {
		t.Errorf("it ended with %v", err)
	}
	_ = far
}

// An order that is given again while it is under way is under way once: the one before ends first, and the later one counts. Other orders are left alone.
func TestOnce(t *testing.T) {
	b, _ := open(t, nil)
	var under, most atomic.Int32
	begun, let := make(chan string, 9), make(chan struct{})
	b.carry = func(ctx context.Context, o order.Order) error {
		most.Store(max(most.Load(), under.Add(1)))
		defer under.Add(-1)
		begun <- o.ID
		select {
		case <-let:
			return nil
		case <-ctx.Done():
			time.Sleep(beat) // it takes a moment to end
			return ctx.Err()
		}
	}
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- b.own.CarryOut(t.Context(), anOrder("gate/T-1/1")) }()
	got(t, "the first begins", begun)
	go func() { second <- b.own.CarryOut(t.Context(), anOrder("gate/T-1/1")) }()
	if err := got(t, "the first ends", first); !errors.Is(err, errAgain) {
		t.Errorf("the first one ended with %v", err)
	}
	got(t, "the second begins", begun)
	if most.Load() != 1 {
		t.Error("it was under way twice")
	}
	other := make(chan error, 1)
	go func() { other <- b.own.CarryOut(t.Context(), anOrder("gate/T-2/1")) }()
	got(t, "the other begins", begun)
	close(let)
	if err := errors.Join(got(t, "the second ends", second), got(t, "the other ends", other)); err != nil || len(b.own.under) != 0 {
		t.Errorf("%v; %d are kept", err, len(b.own.under))
	}
}

// Each box has one home, this one its own; a run that was started before there were others is at home with who founded the cluster.
func TestOf(t *testing.T) {
	_, homes := open(t, nil)
	if own := homes.Of("a"); own != homes.o.Own || homes.Of("") != own || homes.Of("c") == own || homes.Of("c") != homes.Of("c") {
		t.Error("homes are mixed up")
	}
	if all := homes.Others(); len(all) != 1 || all[0] != homes.Of("c") {
		t.Errorf("the others are %v", all)
	}
	homes.o.Founder = "c"
	if homes.Of("") != homes.Of("c") {
		t.Error("the runs of the founder are another's")
	}
	if m := homes.Of("d").Machine(); !m.Away {
		t.Error("a box is reached to which there is no way")
	}
}
