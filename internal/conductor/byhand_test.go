package conductor

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/work"
)

var errNobody = errors.New("nobody is there")

// asks has an agent by hand ask something about a new item.
func (s *stage) asks(t *testing.T, id string) {
	t.Helper()
	if err := s.ledger.AddItem(work.Add{ID: id, Title: "a task", Phase: agentsig.PhaseImplementation, Actor: "ann"}); err != nil {
		t.Fatal(err)
	}
	item, err := s.ledger.ItemNamed(id)
	if err != nil {
		t.Fatal(err)
	}
	token := work.Token{Epoch: 1, Counter: item.Granted + 1}
	for _, do := range []work.Command{
		work.Grant{Epoch: 1, Actor: "ann", Role: agentsig.RoleDeveloper, TTL: time.Hour, Key: "k" + id},
		work.End{Token: token, Actor: "ann", Signal: agentsig.Signal{Kind: agentsig.KindDivineClarification}, Said: work.Said{Signal: agentsig.KindDivineClarification}},
	} {
		if err := s.ledger.Record(item.Subject, do); err != nil {
			t.Fatal(err)
		}
	}
}

// Of each question about work by hand somebody is told once; of one that nobody could be told of, again, and not for ever; and
// of those that are open when a conductor begins.
func TestTellByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{hands: newHands(), ledger: conductortest.New(t.Context(), time.Now)}
		s.asks(t, "T-1")
		s.Conductor = New(s.ledger, Options{Config: settings(t, "notify: {command: tell, webhook: 'https://example.org/hook'}")})
		s.TellByHand(s.hands)
		told := func(want ...string) {
			t.Helper()
			synctest.Wait()
			got := s.take()
			for i, note := range got {
				got[i], _, _ = strings.Cut(strings.TrimPrefix(note, "told of "), ": ")
			}
			if !slices.Equal(got, want) {
				t.Errorf("told %q; want %q", got, want)
			}
		}
		told("T-1-Q1 by command", "T-1-Q1 by webhook")
		s.set(func() { s.fails["Notify command"], s.fails["Notify webhook"] = errNobody, errNobody })
		s.asks(t, "T-2")
		told("T-2-Q1 by command", "T-2-Q1 by webhook")
		time.Sleep(notifyAgain)
		told("T-2-Q1 by command", "T-2-Q1 by webhook")
		time.Sleep(notifyAgain)
		told()
		item, err := s.ledger.ItemNamed("T-2")
		if err == nil {
			err = s.ledger.Record(item.Subject, work.Answer{Actor: work.OperatorActor, Question: "T-2-Q1", Text: "v2"})
		}
		if err != nil {
			t.Fatal(err)
		}
		s.set(func() { clear(s.fails) })
		time.Sleep(notifySlowest)
		told()
		s.asks(t, "T-3")
		told("T-3-Q1 by command", "T-3-Q1 by webhook")
		s.ledger.Kill()
		s.Stop()
	})
}

// A conductor that starts nothing tells nobody.
func TestTellByHandDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{hands: newHands(), ledger: conductortest.New(t.Context(), time.Now)}
		s.asks(t, "T-1")
		s.Conductor = New(s.ledger, Options{Config: settings(t, "notify: {command: tell}"), Draining: true})
		s.TellByHand(s.hands)
		synctest.Wait()
		if got := s.take(); len(got) > 0 {
			t.Errorf("told %q", got)
		}
		s.ledger.Kill()
		s.Stop()
	})
}
