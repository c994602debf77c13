package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
)

// waitingTools have one tool, which waits until its context ends.
type waitingTools struct{ running chan struct{} }

func (w waitingTools) Tools() []toolbox.Tool {
	return []toolbox.Tool{{Name: "wait", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true}}
}

func (w waitingTools) Call(ctx context.Context, _ string, _ json.RawMessage) toolbox.Result {
	w.running <- struct{}{}
	<-ctx.Done()
	return toolbox.Result{Text: ctx.Err().Error(), Failed: true}
}

// An interrupt ends a question at once, wherever it is.
func TestInterrupt(t *testing.T) {
	for _, c := range []struct {
		name, script string
		tree         []string
		text         string
		tools        int // calls that are running then
		requests     int
	}{
		{name: "before the model says anything", script: asksWhat + "waits: here\nsays: It checks.", requests: 1},
		{name: "while the model speaks", script: asksWhat + "says: It che\nwaits: here\nsays: cks.", requests: 1},
		{name: "in a later turn", script: asksWhat + "says: A {need 0.9: one look}\n" + goesOn + "waits: here\nsays: B", text: "A", requests: 2},
		{name: "while tools run", script: asksWhat + "says: I look.\ncalls: wait {\"n\": 1}\ncalls: wait {\"n\": 2}", text: "I look.", tools: 2, requests: 1},
		{name: "while some of many tools run", script: asksWhat + strings.Repeat("calls: wait {}\n", 20), tools: toolsAtOnce, requests: 1},
		{name: "in a pause", script: asksWhat + "fails: 500 oops", tree: []string{"backoff = 0.01", "backoff = 100"}, requests: 1},
	} {
		for _, provider := range providers {
			t.Run(c.name+"/"+string(provider), func(t *testing.T) {
				server, over := overSoon(t, script("== it\n"+c.script))
				s := settings(t, server, provider)
				if c.tree != nil {
					s.Tree = hasty(t, c.tree...)
				}
				waiting := waitingTools{make(chan struct{}, 100)}
				s.Tools = waiting
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				paused := make(chan struct{})
				s.Trace = func(text []byte) {
					if strings.Contains(string(text), "again in") {
						close(paused)
					}
				}
				go func() {
					switch {
					case c.tools > 0:
						for range c.tools {
							<-waiting.running
						}
					case c.tree != nil:
						<-paused
					default:
						<-server.Reached("here")
					}
					cancel()
				}()
				_, a, told := answered(ctx, t, s, longQuestion)
				over()
				if a.Outcome != Cancelled || a.Missing != "it was interrupted" || a.Text != c.text {
					t.Errorf("%+v", a)
				}
				if n := len(server.Requests()); n != c.requests {
					t.Errorf("%d requests, want %d", n, c.requests)
				}
				if n := len(waiting.running); n != 0 {
					t.Errorf("%d calls after the interrupt", n)
				}
				if got := told.of(Error); c.tree == nil && got != "" {
					t.Errorf("errors: %q", got)
				}
			})
		}
	}
}

// late is a context whose time is over when the test says so.
type late struct {
	context.Context
	over chan struct{}
}

func (l late) Done() <-chan struct{} { return l.over }

func (l late) Err() error {
	select {
	case <-l.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// A question whose time is over has no whole answer, and what went wrong before and was
// overcome is not the reason.
func TestTimeIsOver(t *testing.T) {
	for _, provider := range providers {
		t.Run(string(provider), func(t *testing.T) {
			server, over := overSoon(t, script("== it\n"+asksWhat+"says: Half\nbreaks:\nsays: A {need 0.9: one look}\n"+goesOn+"waits: here\nsays: B"))
			ctx := late{t.Context(), make(chan struct{})}
			go func() { <-server.Reached("here"); close(ctx.over) }()
			_, a, _ := answered(ctx, t, settings(t, server, provider), longQuestion)
			over()
			if a.Outcome != Partial || a.Text != "A" || a.Missing != context.DeadlineExceeded.Error() {
				t.Errorf("%+v", a)
			}
		})
	}
}

// lingeringTools have a tool that takes its time when it is interrupted.
type lingeringTools struct {
	waitingTools
	done  chan struct{} // closed when the question has ended
	early chan bool     // whether it ended while the tool ran
}

func (l *lingeringTools) Call(ctx context.Context, name string, arguments json.RawMessage) toolbox.Result {
	result := l.waitingTools.Call(ctx, name, arguments)
	select {
	case <-l.done:
		l.early <- true
	case <-time.After(50 * time.Millisecond):
		l.early <- false
	}
	return result
}

// A question has not ended while something of it still runs.
func TestEndWaitsForTools(t *testing.T) {
	server, over := overSoon(t, "== it\n"+asksWhat+"calls: wait {}")
	lingering := &lingeringTools{waitingTools: waitingTools{make(chan struct{}, 1)}, done: make(chan struct{}), early: make(chan bool, 1)}
	s := settings(t, server, model.OpenAI)
	s.Tools = lingering
	o, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { <-lingering.running; cancel() }()
	if _, err := o.Ask(ctx, longQuestion, func(c Chunk) {
		if c.Type == Done {
			close(lingering.done)
		}
	}); err != nil {
		t.Fatal(err)
	}
	over()
	if <-lingering.early {
		t.Error("the question has ended before its tool")
	}
}

// The ledger has everything, also of a question that was interrupted; one that fails costs
// no answer.
func TestLedgerOfTroubled(t *testing.T) {
	for _, provider := range providers {
		t.Run("interrupted/"+string(provider), func(t *testing.T) {
			server, over := overSoon(t, script("== it\n"+asksWhat+"says: A {need 0.9: one look}\n"+goesOn+"waits: here\nsays: B"))
			s := settings(t, server, provider)
			book := &ledger{before: func(ctx context.Context) error { return ctx.Err() }}
			s.Ledger = book
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { <-server.Reached("here"); cancel() }()
			_, a, _ := answered(ctx, t, s, longQuestion)
			over()
			want := "asked: " + longQuestion + "; signalled: 1 need_turn; answered: cancelled"
			if got := strings.Join(book.entries(), "; "); a.Outcome != Cancelled || got != want {
				t.Errorf("%s: %s", a.Outcome, got)
			}
		})
		t.Run("the ledger fails/"+string(provider), func(t *testing.T) {
			server, over := overSoon(t, script("== it\n"+asksWhat+"says: It checks. {enough 0.9}"))
			s := settings(t, server, provider)
			s.Ledger = &ledger{before: func(context.Context) error { return errors.New("the disk is full") }}
			a, told := answerTo(t, s, longQuestion)
			over()
			if a.Outcome != Answered || !strings.Contains(told.of(Error), "not all of this is recorded: the disk is full") {
				t.Errorf("%+v, errors %q", a, told.of(Error))
			}
		})
	}
}
