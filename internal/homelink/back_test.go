package homelink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// boss is a conductor that notes what it is told.
type boss struct {
	mu    sync.Mutex
	told  []string
	fails func() error // nil for never
}

func (b *boss) note(words ...any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = append(b.told, fmt.Sprintf("%+v", words))
	if b.fails == nil {
		return nil
	}
	return b.fails()
}

func (b *boss) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	told := b.told
	b.told = nil
	return told
}

func (b *boss) HandIn(_ context.Context, run string, in delivery.Input) error {
	return b.note("hand in", run, in)
}

func (b *boss) Permit(_ context.Context, run string, merge delivery.MergeChecked) (work.Permit, ledger.Proof, error) {
	p := ledger.Proof{Index: 4, Event: []byte{0, 255}, Hashes: []ledger.Hash{{1}}, Checkpoint: "signed\n"}
	return work.Permit{Seq: 9, Allowed: work.Allowed{Commit: "c", Onto: "o"}}, p, b.note("permit", run, merge)
}

func (b *boss) Report(_ context.Context, session string, r api.SessionReport) error {
	return b.note("report", session, r.Seq)
}
func (b *boss) Renew(session string) { _ = b.note("renew", session) }
func (b *boss) MachinesChanged()     { _ = b.note("machines changed") }

var (
	errStop   = errors.New("it stops")
	errOther  = errors.New("it is other work")
	errBroken = errors.New("it is broken")
)

// problem is what clients are told of those errors.
func problem(err error) *api.Problem {
	code := api.CodeInternal
	switch {
	case errors.Is(err, errStop), errors.Is(err, context.Canceled):
		code = api.CodeStopping
	case errors.Is(err, errOther):
		code = api.CodeInvalid
	}
	return &api.Problem{Code: code, Message: err.Error()}
}

// member is a box of a cluster.
type member struct {
	boss
	mail   *mailbox.Set
	leads  atomic.Bool
	open   atomic.Bool // its sessions, and its run
	server *httptest.Server
	way    box
}

func (m *member) lead() (Lead, bool) {
	return Lead{Conductor: &m.boss, Mail: m.mail, Live: func(string) bool { return m.open.Load() }, Open: func(string) bool { return m.open.Load() }}, m.leads.Load()
}

// cluster has members, of which the first one has a home, which speaks to whichever leads.
func cluster(t *testing.T, n int) (all []*member, c *Conductor) {
	t.Helper()
	for range n {
		m := &member{mail: mailbox.New()}
		m.open.Store(true)
		h := ServeConductor(m.lead, problem, slog.New(slog.DiscardHandler))
		h.(*server).beat = beat
		m.server = httptest.NewServer(h)
		t.Cleanup(m.server.Close)
		m.way.server = m.server
		all = append(all, m)
	}
	c = NewConductor(BackOptions{
		Lead: all[0].lead, Problem: problem, Logger: slog.New(slog.DiscardHandler), beat: beat,
		Leader: func() (http.RoundTripper, bool) {
			at := slices.IndexFunc(all, func(m *member) bool { return m.leads.Load() })
			if at <= 0 {
				return nil, false
			}
			return &all[at].way, true
		},
	})
	t.Cleanup(func() {
		c.Stop()
		for _, m := range all {
			m.server.CloseClientConnections()
		}
	})
	return all, c
}

// Each method of the conductor's is said to the box that leads, this one or another, and returns what that returned.
func TestConductorMethods(t *testing.T) {
	all, c := cluster(t, 2)
	var want []string
	for i, m := range all {
		m.leads.Store(true)
		of := reflect.TypeFor[order.Conductor]()
		for n := range of.NumMethod() {
			switch name := of.Method(n).Name; name {
			case "HandIn":
				if err := c.HandIn(t.Context(), "R", delivery.Touched{Session: "S", Text: "so"}); err != nil {
					t.Error(err)
				}
			case "Permit":
				permit, proof, err := c.Permit(t.Context(), "R", delivery.MergeChecked{Command: "merge/T-1/1", Commit: "c"})
				wantPermit, wantProof, _ := (&boss{}).Permit(t.Context(), "R", delivery.MergeChecked{})
				if d := cmp.Diff([]any{wantPermit, wantProof}, []any{permit, proof}); err != nil || d != "" {
					t.Errorf("%v %s", err, d)
				}
			case "Report":
				if err := c.Report(t.Context(), "S-1.1", api.SessionReport{Seq: 3}); err != nil {
					t.Error(err)
				}
			case "Renew":
				c.Renew("S-1.1")
			case "MachinesChanged":
				c.MachinesChanged()
			default:
				t.Errorf("%s is not tried", name)
			}
		}
		var told []string
		until(t, "all is said", func() bool { told = append(told, m.take()...); return len(told) == 5 })
		slices.Sort(told)
		if i == 0 {
			want = told
		}
		if !slices.Equal(told, want) {
			t.Errorf("told was %q, want %q", told, want)
		}
		m.leads.Store(false)
	}
}

// Every input that a home hands in arrives as it was, and an operator's word is none.
func TestInputs(t *testing.T) {
	all, c := cluster(t, 2)
	all[1].leads.Store(true)
	none := 0
	for _, in := range []delivery.Input{
		delivery.End{Session: "S", Ended: delivery.Ended{How: delivery.Lost, Runner: "gpu1"}}, delivery.Prompted{Session: "S"}, delivery.GateRan{Command: "g", Files: &none}, delivery.Shown{Session: "S"},
		delivery.Pushed{Session: "S"}, delivery.Forgotten{Session: "S"}, delivery.Distrust{Session: "S"}, delivery.BaselineRan{Command: "b"}, delivery.RepairRan{Command: "r"},
		delivery.RepairMergeRan{Command: "r"}, delivery.MergeRan{Command: "m"}, delivery.Published{}, delivery.Touched{Session: "S"},
	} {
		if _, ok := in.(delivery.GateRan); ok {
			in = delivery.GateRan{Command: "g"}
		}
		if err := c.HandIn(t.Context(), "R", in); err != nil {
			t.Errorf("%T: %v", in, err)
		}
		if told := all[1].take(); !slices.Equal(told, []string{fmt.Sprintf("%+v", []any{"hand in", "R", in})}) {
			t.Errorf("told was %q", told)
		}
	}
	if err := c.HandIn(t.Context(), "R", delivery.Cancel{}); !errors.Is(err, order.ErrInput) {
		t.Error(err)
	}
}

// What can't be recorded now is said again until it is, also when another box leads by then, or this one; what is refused is not.
func TestSaidAgain(t *testing.T) {
	all, c := cluster(t, 3)
	for name, script := range map[string]func(say func() error) error{
		"nobody leads yet": func(say func() error) error {
			time.AfterFunc(4*beat, func() { all[2].leads.Store(true) })
			return say()
		},
		"who leads stops, and another one does": func(say func() error) error {
			all[1].leads.Store(true)
			all[1].fails = func() error {
				all[1].leads.Store(false)
				all[2].leads.Store(true)
				return errStop
			}
			return say()
		},
		"who leads can't write, and this one leads": func(say func() error) error {
			all[1].leads.Store(true)
			all[1].fails = func() error {
				all[1].leads.Store(false)
				all[0].leads.Store(true)
				return errBroken
			}
			return say()
		},
		"this one leads no more": func(say func() error) error {
			all[0].leads.Store(true)
			all[0].fails = func() error {
				all[0].leads.Store(false)
				all[2].leads.Store(true)
				return errStop
			}
			return say()
		},
		"who leads is not reached for a while": func(say func() error) error {
			all[1].leads.Store(true)
			all[1].way.cut.Store(true)
			time.AfterFunc(4*beat, func() { all[1].way.cut.Store(false) })
			return say()
		},
		"who is asked does not know yet that it leads": func(say func() error) error {
			all[1].leads.Store(true)
			old := c.o.Leader
			defer func() { c.o.Leader = old }()
			asked := 0
			c.o.Leader = func() (http.RoundTripper, bool) {
				if asked++; asked == 1 {
					return &all[2].way, true
				}
				return old()
			}
			if err := say(); err != nil || len(all[2].take()) == 0 {
				return err
			}
			return errors.New("a box that does not lead was told")
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				for _, m := range all {
					m.leads.Store(false)
					m.way.cut.Store(false)
					m.fails = nil
					m.take()
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := script(func() error { return c.HandIn(ctx, "R", delivery.Touched{}) }); err != nil {
				t.Errorf("it ended with %v", err)
			}
			taken := 0
			for _, m := range all {
				taken += len(m.take())
			}
			if taken < 1 || taken > 2 {
				t.Errorf("it was heard %d times", taken)
			}
		})
	}
	bound, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	for i, m := range all[:2] {
		m.leads.Store(true)
		m.fails = func() error { return errOther }
		if err := c.HandIn(bound, "R", delivery.Touched{}); err == nil || i == 1 && !api.Refused(err) || len(m.take()) != 1 {
			t.Errorf("what is refused for good by %d: %v", i, err)
		}
		m.fails = func() error { return errStop }
		m.open.Store(false)
		if err := c.HandIn(bound, "R", delivery.Touched{}); !api.Gone(err) || len(m.take()) != 1 {
			t.Errorf("a result of a run that has ended, by %d: %v", i, err)
		}
		m.fails = func() error { return &api.Problem{Code: api.CodeGone, Message: "the session is over"} }
		if err := c.Report(bound, "S-1.1", api.SessionReport{}); !api.Gone(err) || err.Error() != "the session is over" {
			t.Errorf("a late report, by %d: %v", i, err)
		}
		m.open.Store(true)
		m.fails = func() error { return errStop }
		ctx, cancel := context.WithTimeout(t.Context(), 4*beat)
		if err := c.HandIn(ctx, "R", delivery.Touched{}); err == nil || ctx.Err() == nil {
			t.Errorf("what is not wanted any more: %v", err)
		}
		cancel()
		m.fails, m.told = nil, nil
		m.leads.Store(false)
	}
}

// A box that has no such route yet, as it is older, or does not know this one yet, is asked again.
func TestOlderLeader(t *testing.T) {
	all, c := cluster(t, 2)
	all[1].leads.Store(true)
	for _, code := range []string{api.CodeNotFound, api.CodeForbidden, api.CodeUnauthorized} {
		asked := 0
		c.o.Leader = func() (http.RoundTripper, bool) {
			if asked++; asked > 1 {
				return &all[1].way, true
			}
			return refusing(code), true
		}
		if err := c.HandIn(t.Context(), "R", delivery.Touched{}); err != nil || asked != 2 {
			t.Errorf("%s: %v, asked %d times", code, err, asked)
		}
	}
}

type refusing string

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	refuse(w, http.StatusForbidden, string(r), "no")
	return w.Result(), nil
}

// Mail goes into the mailbox of the box that leads, and is delivered when it was written there. For a session that has ended no mailbox is made.
func TestMail(t *testing.T) {
	all, c := cluster(t, 2)
	for i, m := range all {
		m.leads.Store(true)
		delivered := make(chan struct{})
		c.Send("S-1.1", api.SessionCommand{ID: "p1", Kind: api.CommandPrompt, Text: "go on"}, func() { close(delivered) })
		lost := m.mail.Connect("S-1.1", time.Now())
		until(t, "it is in the mailbox", func() bool {
			commands, _, _ := m.mail.Next("S-1.1")
			return len(commands) == 1 && commands[0].Text == "go on"
		})
		select {
		case <-delivered:
			t.Error("it was delivered before it was written")
		case <-time.After(beat):
		}
		m.mail.Wrote("S-1.1", "p1")
		got(t, "it is delivered", delivered)
		m.mail.Disconnect("S-1.1", lost)
		c.Forget("S-1.1")
		if left := m.mail.Len(); left != i { // another box's are its own
			t.Errorf("%d mailboxes are left at %d", left, i)
		}
		m.leads.Store(false)
	}
	all[1].leads.Store(true)
	all[1].open.Store(false)
	all[1].mail.Forget("S-1.1")
	bound, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	_, err := c.say(bound, "mail", question{Mail: &order.Mail{Session: "S-1.1", Command: api.SessionCommand{ID: "p2"}}})
	if !api.Gone(err) || all[1].mail.Len() != 0 {
		t.Errorf("to a session that has ended: %v, %d mailboxes", err, all[1].mail.Len())
	}
}

// A session is in touch while its stream goes through this box to the one that leads, or ends here if this one does.
func TestConnected(t *testing.T) {
	all, c := cluster(t, 2)
	all[1].leads.Store(true)
	if in, lost := c.Connected("S"); in || lost != nil {
		t.Error("it is in touch before it is connected")
	}
	first := c.Through("S")
	in, lost := c.Connected("S")
	second := c.Through("S")
	first()
	if got(t, "the older connection ends", lost); !in {
		t.Error("it was not in touch")
	}
	if in, _ := c.Connected("S"); !in {
		t.Error("the newer connection does not count")
	}
	second()
	second()
	if in, _ := c.Connected("S"); in {
		t.Error("it is in touch for ever")
	}
	all[0].leads.Store(true)
	all[0].mail.Connect("S", time.Now())
	if in, _ := c.Connected("S"); !in {
		t.Error("the mailbox of this box does not count")
	}
}

// What can't be read is refused for good, and reaches no conductor.
func TestConductorRefuses(t *testing.T) {
	all, c := cluster(t, 2)
	all[1].leads.Store(true)
	for _, q := range []question{{}, {HandedIn: &order.HandedIn{Kind: "cancel", Input: []byte("{}")}}, {HandedIn: &order.HandedIn{Kind: "end", Input: []byte("3")}}} {
		for _, name := range []string{"hand-in", "permit", "report", "mail"} {
			if name != "hand-in" && q.HandedIn != nil {
				continue
			}
			if _, err := c.say(t.Context(), name, q); !api.Refused(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if told := all[1].take(); len(told) != 0 {
		t.Errorf("told was %q", told)
	}
	w := httptest.NewRecorder()
	ServeConductor(all[1].lead, problem, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, ConductorPath+"hand-in", strings.NewReader("{")))
	if w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
