package conductor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A report with parts that can't be recorded, or summed, is refused for good, and so is one of no known kind.
func TestReportIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		_, session := s.developing(t)
		events := len(s.ledger.Events(0))
		long := strings.Repeat("f", 50<<10)
		for what, r := range map[string]api.SessionReport{
			"how":              {How: long},
			"how, unprintable": {How: "\x1b"},
			"a sum":            {SHA256: long},
			"a short sum":      {SHA256: "ff"},
			"a cost":           {Usage: delivery.Usage{CostUSD: 1.7e308}},
			"no cost":          {Usage: delivery.Usage{CostUSD: -1}},
			"tokens":           {Usage: delivery.Usage{InputTokens: math.MaxInt64}},
			"output":           {Usage: delivery.Usage{OutputTokens: math.MaxInt64}},
			"no tokens":        {Usage: delivery.Usage{OutputTokens: -1}},
			"no kind":          {Kind: "dream"},
			"a conversation":   {Conversation: &delivery.Conversation{ID: "--help"}},
		} {
			if r.Kind == "" {
				r.Kind = api.ReportEnded
			}
			if err := s.Report(t.Context(), session, r); err == nil || !api.Refused(err) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if now := len(s.ledger.Events(0)); now != events {
			t.Errorf("%d events were recorded", now-events)
		}
		r := api.SessionReport{Kind: api.ReportEnded, How: api.HowDone, SHA256: strings.Repeat("f", 64), Usage: delivery.Usage{InputTokens: 1e12, OutputTokens: 1, CostUSD: 1e6}}
		if err := s.Report(t.Context(), session, r); err != nil {
			t.Errorf("as it should be: %v", err)
		}
	})
}

// What is refused a dead session for good is what would be refused a living one.
func TestRefusedForGood(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{box.BadRequest{Err: errors.New("a report is a turn, a note or the end")}, true},
		{box.ErrStopping, false},
		{box.ErrCannotWrite, false},
		{errSessionGone, false},
		{errors.New("the box's own fault"), false},
	} {
		if got := api.Refused(Problem(c.err)); got != c.want {
			t.Errorf("%v is refused for good: %v", c.err, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		if err := s.Report(t.Context(), "S000009-1.1", api.SessionReport{Kind: api.ReportEnded}); !api.Gone(err) {
			t.Errorf("of no session: %v", err)
		}
		_, session := s.developing(t)
		if err := s.Report(t.Context(), session, api.SessionReport{Kind: "dream"}); !api.Refused(err) {
			t.Errorf("of no kind: %v", err)
		}
		if err := s.Report(t.Context(), session, api.SessionReport{Kind: api.ReportEnded}); err != nil {
			t.Errorf("as it should be: %v", err)
		}
	})
}

// The end of a session is recorded at once if its task goes on. Otherwise it may be the last of its run, and the look at
// the user's checkout is waited for, as nothing is recorded afterwards.
func TestEndWaitsForTheLook(t *testing.T) {
	end := api.SessionReport{Kind: api.ReportEnded, How: api.HowStopped}
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		s.look = make(chan struct{})
		run, session := s.developing(t)
		if err := s.SessionReport(t.Context(), session, end); err != nil {
			t.Errorf("of a task that goes on: %v", err)
		}
		synctest.Wait()
		session = s.due(t, delivery.DoStart, "")[len("start/"):]
		if _, err := s.OnTask(t.Context(), work.OperatorActor, "R1.T-1", "cancel", api.Message{}); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.SessionReport(short, session, end); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("of a task that does not: %v", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- s.SessionReport(t.Context(), session, end) }()
		synctest.Wait()
		if err := s.HandIn(t.Context(), run, delivery.Touched{Session: session, Task: "T-1", Text: "a file"}); err != nil {
			t.Errorf("what the look found: %v", err)
		}
		close(s.look)
		if err := <-ended; err != nil {
			t.Errorf("after the look: %v", err)
		}
		synctest.Wait()
		var types []string
		for _, e := range s.ledger.Events(0) {
			types = append(types, e.Type)
		}
		if got := strings.Join(types[len(types)-4:], " "); got != strings.Join([]string{delivery.CheckoutTouched, delivery.SessionEnded, work.LeaseReleased, delivery.RunFinished}, " ") {
			t.Errorf("recorded: %s", got)
		}
	})
}

// A run that is cancelled as a whole waits for the look as well.
func TestEndOfTheRunWaitsForTheLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		s.look = make(chan struct{})
		_, session := s.developing(t)
		if _, err := s.OnRun(t.Context(), work.OperatorActor, "R1", "cancel", api.Message{}); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.SessionReport(short, session, api.SessionReport{Kind: api.ReportEnded}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// The end of a session says which conversation the next one goes on with; that this is lost is recorded once.
func TestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		_, first := s.developing(t)
		end := api.SessionReport{Kind: api.ReportEnded, How: api.HowStopped, Conversation: &delivery.Conversation{ID: "c-1", Counted: delivery.Usage{InputTokens: 7}}}
		if err := s.SessionReport(t.Context(), first, end); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := s.due(t, delivery.DoStart, "")
		session, resumed := start[len("start/"):], (*delivery.Resumed)(nil)
		s.ledger.WithRun(s.ledger.RunOf(s.ledger.Events(0)[0].Subject), func(r *delivery.Run) { resumed = r.Sessions[session].Resumes })
		if resumed == nil || resumed.Session != first || resumed.Conversation != *end.Conversation {
			t.Errorf("it goes on with %+v", resumed)
		}
		for range 2 {
			if err := s.SessionReport(t.Context(), session, api.SessionReport{Kind: api.ReportNote, Forgotten: "gone, with " + conductortest.Secret}); err != nil {
				t.Error(err)
			}
		}
		var lost []string
		for _, e := range s.ledger.Events(0) {
			if e.Type == delivery.ConversationLost {
				lost = append(lost, string(e.Payload))
			}
		}
		if len(lost) != 1 || !strings.Contains(lost[0], "gone, with [secret]") {
			t.Errorf("recorded: %q", lost)
		}
	})
}

// What a session says of a turn, and what is recorded of it.
func TestTurn(t *testing.T) {
	said := func(wire ...string) (all []api.SaidSignal) {
		for _, w := range wire {
			all = append(all, api.SaidSignal{Wire: w})
		}
		return all
	}
	const exit = `{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"IMPLEMENTATION","exit_reason":"completed"}`
	for _, c := range []struct {
		what   string
		exit   bool
		report api.SessionReport
		want   string // verdict, signal, subject
	}{
		{"a signal", false, api.SessionReport{Verdict: agentsig.KindReadyForReview, Signals: said("READY_FOR_REVIEW: T-1")}, "ready_for_review ready_for_review T-1"},
		{"the first that is the verdict", false, api.SessionReport{Verdict: agentsig.KindReadyForReview, Signals: said("CHECKPOINT: T-1", "READY_FOR_REVIEW: T-1", "READY_FOR_REVIEW: T-2")}, "ready_for_review ready_for_review T-1"},
		{"another than the verdict", false, api.SessionReport{Verdict: agentsig.KindReviewPassed, Signals: said("READY_FOR_REVIEW: T-1")}, "unknown  "},
		{"a verdict without a signal", false, api.SessionReport{Verdict: agentsig.KindReviewPassed}, "unknown  "},
		{"two that differ", false, api.SessionReport{Verdict: agentsig.KindAmbiguous, Signals: said("READY_FOR_REVIEW: T-1")}, "ambiguous  "},
		{"an exit record", true, api.SessionReport{Verdict: agentsig.KindExit, Signals: said(exit)}, "exit exit "},
		{"an exit record that does not count", false, api.SessionReport{Verdict: agentsig.KindExit, Signals: said(exit)}, "unknown  "},
	} {
		conductor := New(conductortest.New(t.Context(), time.Now), Options{Exit: c.exit})
		c.report.Turn, c.report.NoAnswer, c.report.Preview = 3, true, conductortest.Secret
		c.report.NearMisses = []api.NearMiss{{Line: 7, Kind: agentsig.KindCheckpoint, Reason: agentsig.ReasonWrongID}}
		got, err := conductor.turn(nil, "S000002-1.1", c.report)
		if is := fmt.Sprintf("%s %s %s", got.Verdict, got.Signal.Kind, got.Signal.Subject); err != nil || is != c.want {
			t.Errorf("%s: %q, %v; want %q", c.what, is, err, c.want)
		}
		miss := delivery.NearMiss{Line: 7, Kind: agentsig.KindCheckpoint, Reason: agentsig.ReasonWrongID}
		if got.Turn != 3 || !got.NoAnswer || got.Preview != "[secret]" || got.Key != "turn/S000002-1.1/3" || len(got.NearMisses) != 1 || got.NearMisses[0] != miss {
			t.Errorf("%s: %+v", c.what, got)
		}
	}
}

// deaf is a ledger that can't read signals.
type deaf struct{ *conductortest.Ledger }

func (deaf) Hear(api.SaidSignal) (agentsig.Signal, work.Said, error) {
	return agentsig.Signal{}, work.Said{}, errBroken
}

// A signal that can't be read, or a refusal that can't be recorded, fails the report: the session sends it again.
func TestReportFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		_, session := s.developing(t)
		s.Stop()
		l := deaf{s.ledger}
		c := New(l, Options{Config: settings(t, "")})
		if err := c.Start(t.Context(), s.hands, time.Minute); err != nil {
			t.Fatal(err)
		}
		defer c.Stop()
		s.take()
		signals := []api.SaidSignal{{Wire: "CHECKPOINT: T-1"}}
		for _, r := range []api.SessionReport{
			{Kind: api.ReportTurn, Turn: 1, Verdict: agentsig.KindCheckpoint, Signals: signals},
			{Kind: api.ReportNote, Seq: 1, Signals: signals},
		} {
			if err := c.SessionReport(t.Context(), session, r); !errors.Is(err, errBroken) {
				t.Errorf("%s: %v", r.Kind, err)
			}
		}
		synctest.Wait()
		for _, note := range s.take() {
			if strings.HasPrefix(note, "turn ended") {
				t.Error("a turn ended that was not recorded")
			}
		}
	})
}

// A person's verdict is on what they were shown: another commit, tree or base is refused, and nothing is recorded. The
// same request again is the same verdict.
func TestReviewOfSomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer func() { s.Stop() }()
		s.config.Roles.Critic.Agent = config.Person
		run, session := s.developing(t)
		signal := agentsig.Signal{Kind: agentsig.KindReadyForReview, Subject: "T-1"}
		if err := s.HandIn(t.Context(), run, delivery.Turn{Session: session, Turn: 1, Verdict: signal.Kind, Signal: signal, Said: work.Said{Signal: signal.Kind}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := s.HandIn(t.Context(), run, delivery.End{Session: session, Ended: delivery.Ended{How: delivery.Done}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		gate := s.due(t, delivery.DoGate, "T-1")
		s.end(t, gate, func() error {
			return s.HandIn(t.Context(), run, delivery.GateRan{Command: gate, Commit: "1a2b3c4", Passed: true})
		})
		synctest.Wait()
		shown, err := s.Conductor.Sight(t.Context(), "R1.T-1")
		if err != nil || shown.Role != agentsig.RoleCritic || shown.Commit != "1a2b3c4" {
			t.Fatalf("shown is %+v: %v", shown, err)
		}
		right := api.Verdict{Accept: true, Role: shown.Role, Commit: shown.Commit, Tree: shown.Tree, Base: shown.Base}
		before := len(s.ledger.Events(0))
		for _, change := range []func(*api.Verdict){
			func(v *api.Verdict) { v.Commit = "fffffff" }, func(v *api.Verdict) { v.Tree = "fffffff" }, func(v *api.Verdict) { v.Base = "fffffff" },
			func(v *api.Verdict) { v.Role = agentsig.RoleAuditor },
		} {
			v := right
			change(&v)
			if _, err := s.Review(t.Context(), work.OperatorActor, "R1.T-1", v, ""); !errors.Is(err, delivery.ErrOtherNow) {
				t.Errorf("%+v is taken: %v", v, err)
			}
		}
		if n := len(s.ledger.Events(0)); n != before {
			t.Errorf("%d events are recorded of what was refused", n-before)
		}
		for range 2 {
			if _, err := s.Review(t.Context(), work.OperatorActor, "R1.T-1", right, "once"); err != nil {
				t.Error(err)
			}
		}
	})
}
