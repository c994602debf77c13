package conductor

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Nothing of a run that has ended is kept besides its fold.
func TestEndedRunLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		_, session := s.developing(t)
		live, err := s.LiveSession(session)
		if err != nil {
			t.Fatal(err)
		}
		lost, hangUp, err := live.Connect()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.OnRun(t.Context(), work.OperatorActor, "R1", "cancel", api.Message{}); err != nil {
			t.Fatal(err)
		}
		if err := s.SessionReport(t.Context(), session, api.SessionReport{Kind: api.ReportEnded, How: api.HowDone}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		<-lost
		if n := len(s.deciders) + s.Mail().Len() + s.starting.Held(); n > 0 {
			t.Errorf("deciders %v, %d mailboxes, %d locks", s.deciders, s.Mail().Len(), s.starting.Held())
		}
		hangUp()
		if n := s.Mail().Len(); n > 0 {
			t.Errorf("%d mailboxes after the connection", n)
		}
	})
}

// A session that connects although it has ended leaves no mailbox when it hangs up.
func TestEndedSessionHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		_, session := s.developing(t)
		live, err := s.LiveSession(session)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SessionReport(t.Context(), session, api.SessionReport{Kind: api.ReportEnded, How: api.HowCrashed}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, hangUp, err := live.Connect()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, away := s.Seen(session); away {
			t.Error("it is not in touch")
		}
		hangUp()
		if _, _, away := s.Seen(session); !away || s.Mail().Len() > 0 {
			t.Errorf("away: %v, %d mailboxes", away, s.Mail().Len())
		}
	})
}

// What ends a run is answered as what it is, although the decider ends with it.
func TestLastInputIsAnswered(t *testing.T) {
	for range 64 {
		d := &decider{inputs: make(chan input), over: make(chan struct{})}
		go func() {
			in := <-d.inputs
			in.reply <- nil
			close(d.over)
		}()
		if err := d.handIn(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A session that ends before it is told to end is not remembered for what it is told.
func TestEndOfEndedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		_, session := s.developing(t)
		if _, err := s.OnRun(t.Context(), work.OperatorActor, "R1", "cancel", api.Message{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.due(t, delivery.DoEnd, "") // it is there for a moment
		s.Mail().Send(session, api.SessionCommand{ID: "end", Kind: api.CommandEnd}, nil)
		if err := s.SessionReport(t.Context(), session, api.SessionReport{Kind: api.ReportEnded, How: api.HowCrashed}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s.Mail().Len() > 0 {
			t.Error("it is remembered")
		}
	})
}

// A message that an agent did not take in time is taken back: if it had not gone out, only the next agent is told.
func TestTellIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Conductor{mail: mailbox.New()}
		c.mail.Connect("s", time.Time{})
		if c.ask(t.Context(), "s", api.SessionCommand{ID: "tell/1", Kind: api.CommandTell}) {
			t.Error("an agent was told that says nothing")
		}
		c.mail.Connect("s", time.Time{})
		if commands, _, _ := c.mail.Next("s"); len(commands) > 0 {
			t.Errorf("still to be sent: %+v", commands)
		}
		told := make(chan bool)
		go func() { told <- c.ask(t.Context(), "s", api.SessionCommand{ID: "tell/2", Kind: api.CommandTell}) }()
		synctest.Wait()
		c.mail.Answered("s", "tell/2", true)
		if !<-told {
			t.Error("an agent that has answered was not told")
		}
	})
}

// Who has something to say to a run that has just ended is told so, and not that the box stops.
func TestSaidAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		s.deliver(t)
		synctest.Wait()
		s.asked = make(chan struct{})
		if err := s.again(t, time.Minute); err != nil {
			t.Fatal(err)
		}
		defer func() { s.Stop() }()
		said := make(chan error, 100)
		for range cap(said) {
			go func() {
				_, err := s.OnRun(t.Context(), work.OperatorActor, "R1", "cancel", api.Message{})
				said <- err
			}()
		}
		synctest.Wait() // they wait for a decider that has not begun; the first of them ends it
		close(s.asked)
		ended := 0
		for range cap(said) {
			switch err := <-said; {
			case errors.Is(err, delivery.ErrFinished):
				ended++
			case err != nil:
				t.Errorf("told: %v", err)
			}
		}
		if ended == 0 {
			t.Error("nobody came too late")
		}
	})
}
