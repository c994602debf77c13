package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
)

type call struct {
	order.Call
	answer chan order.Answer // nil if nobody waits for it
}

// call asks something of a runner and does not wait for what comes of it.
func (f *Fleet) call(runner string, c order.Call) { f.put(runner, &call{Call: c}) }

func (f *Fleet) put(runner string, c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.of(runner)
	if m.gone && c.answer == nil || len(m.calls) >= maxCalls {
		return // it begins anew when it is back, with what is due then
	}
	f.calls++
	c.ID = f.calls
	m.calls = append(m.calls, c)
	m.stir()
}

// maxCalls bounds what waits for a runner that does not answer.
const maxCalls = 1024

// ask asks something of a runner, and waits for the answer.
func (f *Fleet) ask(ctx context.Context, runner string, c order.Call) (order.Answer, error) {
	f.mu.Lock()
	lost := f.of(runner).lost
	f.mu.Unlock()
	asked := &call{c, make(chan order.Answer, 1)}
	f.put(runner, asked)
	defer f.settle(runner, asked.ID)
	select {
	case a := <-asked.answer:
		if a.Error != "" {
			return a, errors.New(a.Error)
		}
		return a, nil
	case <-lost:
		return order.Answer{}, fmt.Errorf("%w %s", errLost, runner)
	case <-ctx.Done():
		return order.Answer{}, ctx.Err()
	}
}

// settle takes a call that was answered, or that nobody waits for any more, off the list, and returns it.
func (f *Fleet) settle(runner string, id uint64) (found *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.machines[runner]; m != nil {
		m.calls = slices.DeleteFunc(m.calls, func(c *call) bool {
			if c.ID == id {
				found = c
			}
			return c.ID == id
		})
	}
	return found
}

// askPatience is for how long a runner may take to answer a question that does not wait for anything.
const askPatience = 30 * time.Second

// Again says to a session that has connected what it was told and has not answered.
func (f *Fleet) Again(s delivery.Session) error {
	if s.Runner == "" {
		return f.Home.Again(s)
	}
	f.call(s.Runner, order.Call{Do: order.CallAgain, Session: &s})
	return nil
}

// TurnEnded notes that a session has answered a prompt.
func (f *Fleet) TurnEnded(session, prompt string) {
	if at := f.runnerOf(session); at != "" {
		f.call(at, order.Call{Do: order.CallTurnEnded, Session: &delivery.Session{ID: session}, Prompt: prompt})
		return
	}
	f.Home.TurnEnded(session, prompt)
}

// Gone notes that a session has reported its end.
func (f *Fleet) Gone(session string) {
	at := f.runnerOf(session)
	if at == "" {
		f.Home.Gone(session)
		if f.elsewhere() {
			f.o.Mail.Forget(session) // a home of another box leaves that to who leads
		}
		return
	}
	f.call(at, order.Call{Do: order.CallGone, Session: &delivery.Session{ID: session}})
	f.forget(session)
}

// Alive returns the sessions whose processes run, of all homes, as far as that is known: not those of a runner that is lost.
func (f *Fleet) Alive() []string {
	alive := f.o.Home.Alive()
	for _, h := range f.others() {
		alive = append(alive, h.Alive()...)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.machines {
		if !m.gone {
			alive = append(alive, m.here.Alive...)
		}
	}
	return alive
}

// Evidence reads a file that a session's agent names.
func (f *Fleet) Evidence(session, ref string, most int64) ([]byte, error) {
	at := f.runnerOf(session)
	if at == "" {
		return f.Home.Evidence(session, ref, most)
	}
	ctx, cancel := context.WithTimeout(f.group.Context(), askPatience)
	defer cancel()
	a, err := f.ask(ctx, at, order.Call{Do: order.CallEvidence, Session: &delivery.Session{ID: session}, Ref: ref, Most: most})
	if err == nil && int64(len(a.Data)) > most {
		err = fmt.Errorf("the runner %s sent more than %d bytes", at, most)
		f.o.Logger.Warn("evidence was refused", "session", session, "error", err)
	}
	return a.Data, err
}

// Look looks whether the user's checkout was changed while a session ran. One on another machine can't have.
func (f *Fleet) Look(run, branch, session, task, plan string) <-chan struct{} {
	if f.runnerOf(session) == "" {
		return f.Home.Look(run, branch, session, task, plan)
	}
	done := make(chan struct{})
	close(done)
	return done
}

// Distrust says why a reviewer's word can't be trusted.
func (f *Fleet) Distrust(run, session string) (string, error) {
	at := f.runnerOf(session)
	if at == "" {
		return f.Home.Distrust(run, session)
	}
	ctx, cancel := context.WithTimeout(f.group.Context(), askPatience)
	defer cancel()
	a, err := f.ask(ctx, at, order.Call{Do: order.CallDistrust, Run: run, Session: &delivery.Session{ID: session}})
	return a.Text, err
}

// AcceptFollowed takes what reviewers' programs follow now as the operator's will, on all machines.
func (f *Fleet) AcceptFollowed() error {
	f.all(order.Call{Do: order.CallAcceptFollowed})
	return f.Home.AcceptFollowed()
}

// LeaveFollowed says that a run does not need to know any more what they follow.
func (f *Fleet) LeaveFollowed(run string) {
	f.all(order.Call{Do: order.CallLeaveFollowed, Run: run})
	f.Home.LeaveFollowed(run)
}

// all asks the same of every runner that is there.
func (f *Fleet) all(c order.Call) {
	f.mu.Lock()
	names := slices.Collect(maps.Keys(f.machines))
	f.mu.Unlock()
	for _, name := range names {
		f.call(name, c)
	}
}
