package conductor

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// What a client does is recorded in its name, and agents are told whose word it is.
func TestClientsWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const client = work.ClientPrefix + "ci"
		s := started(t, Options{})
		defer s.Stop()
		if _, err := s.Deliver(t.Context(), client, api.StartRun{Plan: onePlan}, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, verb := range []string{"pause", "resume"} {
			if _, err := s.OnRun(t.Context(), client, "R1", verb, api.Message{Text: "so"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.OnTask(t.Context(), client, "R1.T-1", "retry", api.Message{Text: "once more"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Tell(t.Context(), client, "R1.T-1", api.Message{Text: "mind the gap"}, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Take(t.Context(), client, "R1.T-1"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Give(t.Context(), client, "R1.T-1", api.Give{Back: true, Text: "look here"}, ""); err != nil {
			t.Fatal(err)
		}
		var briefs []string
		s.ledger.WithRun(s.ledger.LiveRuns()[0], func(r *delivery.Run) {
			for _, b := range r.Task("T-1").Briefs {
				briefs = append(briefs, b.Text)
			}
		})
		if got := strings.Join(briefs, "|"); got != "The client ci says:\nonce more|The client ci says:\nmind the gap|The client ci says:\nlook here" {
			t.Errorf("the next agent is told %q", got)
		}
		if _, err := s.OnTask(t.Context(), client, "R1.T-1", "cancel", api.Message{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		byClient := map[string]bool{}
		for _, e := range s.ledger.Events(0) {
			if e.Actor == work.OperatorActor {
				t.Errorf("%s is the operator's", e.Type)
			}
			byClient[e.Type] = byClient[e.Type] || e.Actor == client
		}
		for _, kind := range []string{
			delivery.RunStarted, work.WorkAdded, delivery.RunPaused, delivery.RunResumed, delivery.TaskRetried, delivery.MessageTold, work.WorkTaken, work.LeaseReleased, delivery.TaskCancelled,
		} {
			if !byClient[kind] {
				t.Errorf("%s is not the client's", kind)
			}
		}
	})
}
