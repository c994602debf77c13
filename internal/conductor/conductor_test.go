package conductor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// again starts a conductor on what another one has recorded, which is killed.
func (s *stage) again(t *testing.T, patience time.Duration) error {
	t.Helper()
	s.ledger.Kill()
	s.Stop()
	next, err := s.ledger.Again(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.ledger = next
	s.Conductor = New(next, Options{Config: settings(t, "")})
	return s.Start(t.Context(), s.hands, patience)
}

// developing delivers a plan with one task, and returns the run's subject and the session of its developer.
func (s *stage) developing(t *testing.T) (run, session string) {
	t.Helper()
	run = s.deliver(t)
	synctest.Wait()
	id := s.due(t, delivery.DoBaseline, "")
	s.end(t, id, func() error { return s.HandIn(t.Context(), run, delivery.BaselineRan{Command: id}) })
	synctest.Wait()
	return run, s.due(t, delivery.DoStart, "")[len("start/"):]
}

// A checkout that can't be looked at does not keep a conductor from going on with its runs.
func TestLookHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		s.deliver(t)
		s.hangs["Resume"] = true
		before := time.Now()
		if err := s.again(t, time.Minute); err != nil {
			t.Fatal(err)
		}
		defer func() { s.Stop() }()
		if took := time.Since(before); took != time.Minute {
			t.Errorf("the start waited for %v", took)
		}
		synctest.Wait()
		s.due(t, delivery.DoBaseline, "")
	})
}

// A start that is stopped ends, and begins nothing.
func TestStartIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		s.deliver(t)
		s.ledger.Kill()
		s.Stop()
		s.hangs["Resume"] = true
		next, err := s.ledger.Again(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := New(next, Options{Config: settings(t, "")})
		defer c.Stop()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		s.take()
		if err := c.Start(ctx, s.hands, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ends with %v", err)
		}
		synctest.Wait()
		if got := s.take(); len(got) != 1 || len(c.deciders) > 0 {
			t.Errorf("it did %q, and has the deciders %v", got, c.deciders)
		}
	})
}

// Of what killed boxes left, that of runs that have ended is taken away, and what never became a run is forgotten. Runs
// that go on are left alone, and a conductor that drains does nothing.
func TestTidy(t *testing.T) {
	for _, draining := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := started(t, Options{})
			s.fails["Finished"] = errBroken
			ended := s.deliver(t)
			if _, err := s.OnRun(t.Context(), work.OperatorActor, "R1", "cancel", api.Message{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			live := s.deliver(t)
			s.ledger.Kill()
			s.Stop()
			next, err := s.ledger.Again(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			delete(s.fails, "Finished")
			s.marks["S999999"] = true
			want := []string{live}
			if draining {
				want = []string{ended, live, "S999999"}
			}
			c := New(next, Options{Config: settings(t, ""), Draining: draining})
			if err := c.Start(t.Context(), s.hands, time.Minute); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			c.Stop()
			if marked, err := s.Marked(nil); err != nil || !slices.Equal(marked, want) {
				t.Errorf("draining %v: marks of %v, %v; want %v", draining, marked, err, want)
			}
		})
	}
}

// Stop ends all that waits: orders, messages and reports.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{Config: settings(t, "limits: {crashes: 1}")})
		s.look = make(chan struct{})
		run, session := s.developing(t)
		if err := s.SessionReport(t.Context(), session, api.SessionReport{Kind: api.ReportEnded, How: api.HowCrashed}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := s.Answer(t.Context(), work.OperatorActor, "R1-Q1", api.Answer{Text: "retry"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		session = s.due(t, delivery.DoStart, "")[len("start/"):]
		live, err := s.LiveSession(session)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := live.Connect(); err != nil {
			t.Fatal(err)
		}
		said := make(chan error)
		go func() {
			_, err := s.Tell(t.Context(), work.OperatorActor, "R1.T-1", api.Message{Text: "hello"}, "")
			said <- err
		}()
		synctest.Wait()
		s.slow = time.Second
		s.Stop()
		if got := s.take(); !slices.Contains(got, "cancelled: start/"+session) {
			t.Errorf("it was not cancelled: %q", got)
		}
		if err := <-said; code(err) != api.CodeStopping {
			t.Errorf("who told something is told %v", err)
		}
		if err := s.HandIn(t.Context(), run, delivery.Hold{Actor: work.OperatorActor}); !errors.Is(err, box.ErrStopping) {
			t.Errorf("who hands something in is told %v", err)
		}
		if err := s.SessionReport(t.Context(), session, api.SessionReport{Kind: api.ReportEnded}); !errors.Is(err, box.ErrStopping) {
			t.Errorf("a session is told %v", err)
		}
		if err := s.ledger.Failed(); err != nil {
			t.Errorf("the box has failed: %v", err)
		}
	})
}

// A drain waits until a run that has ended is tidied up after, but not for longer than it may.
func TestDrainWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{Config: settings(t, "limits: {crashes: 1}")})
		s.tidied = make(chan struct{})
		s.deliver(t)
		if _, err := s.OnRun(t.Context(), work.OperatorActor, "R1", "cancel", api.Message{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		drain := func(want time.Duration) {
			t.Helper()
			before := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if left := s.Drain(ctx); left != 0 || time.Since(before) != want {
				t.Errorf("%d are left, after %v; want none, after %v", left, time.Since(before), want)
			}
		}
		drain(time.Minute)
		time.AfterFunc(time.Second, func() { close(s.tidied) })
		drain(time.Second)
		drain(0)
		s.Stop()
	})
}

// A conductor that was not started delivers nothing, and tells sessions to wait for one that does.
func TestNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		run, session := s.developing(t)
		s.ledger.Kill()
		s.Stop()
		next, err := s.ledger.Again(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := New(next, Options{})
		defer c.Stop()
		if _, err := c.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, ""); !errors.Is(err, errNoDelivery) {
			t.Errorf("a plan: %v", err)
		}
		for _, verb := range []string{"pause", "resume", "cancel"} {
			if _, err := c.OnRun(t.Context(), work.OperatorActor, "R1", verb, api.Message{}); !errors.Is(err, errNoDelivery) {
				t.Errorf("%s: %v", verb, err)
			}
		}
		report := api.SessionReport{Kind: api.ReportEnded}
		if err := c.SessionReport(t.Context(), session, report); !errors.Is(err, box.ErrStopping) {
			t.Errorf("a session: %v", err)
		}
		if err := c.Activity(session, api.Activity{Line: "hello"}); !errors.Is(err, box.ErrStopping) {
			t.Errorf("its activity: %v", err)
		}
		if _, err := c.LiveSession(session); !errors.Is(err, box.ErrStopping) {
			t.Errorf("its connection: %v", err)
		}
		if err := c.SessionReport(t.Context(), strings.Replace(session, "-1.1", "-1.9", 1), report); !errors.Is(err, errSessionGone) {
			t.Errorf("a session that is none: %v", err)
		}
		if err := c.HandIn(t.Context(), run, delivery.Hold{Actor: work.OperatorActor}); !errors.Is(err, box.ErrStopping) {
			t.Errorf("a result: %v", err)
		}
		c.Moved(run)
		if n := c.Agents() + c.Drain(t.Context()); n != 0 {
			t.Errorf("%d agents", n)
		}
	})
}

// lossy is a ledger that has lost its plans.
type lossy struct{ *conductortest.Ledger }

func (lossy) Blob(ledger.Hash) ([]byte, error) { return nil, errBroken }

// An order has the plan, and the run as it is; a session can be prompted and ended without its plan.
func TestOrdersAreWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		run, session := s.developing(t)
		for _, o := range s.given {
			if o.Run.Subject != run || o.Run.ID != "R1" || o.Run.Sessions != nil || o.Plan.Title != "A plan" || o.Reviews {
				t.Errorf("%s: %+v, of %+v", o.ID, o.Plan, o.Run)
			}
			if want := map[bool]string{true: "token of " + session}[o.Do == delivery.DoStart]; o.Token != want {
				t.Errorf("%s has the token %q, not %q", o.ID, o.Token, want)
			}
		}
		report := api.SessionReport{Kind: api.ReportTurn, Turn: 1, Verdict: agentsig.KindUnknown}
		if err := s.SessionReport(t.Context(), session, report); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.ledger.Kill()
		s.Stop()
		next, err := s.ledger.Again(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.take()
		c := New(lossy{next}, Options{Config: settings(t, "")})
		defer c.Stop()
		if err := c.Start(t.Context(), s.hands, time.Minute); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []string{"looks at: signalbox/R1", "order: " + session + "/prompt-1"}
		if diff := cmp.Diff(want, s.take()); diff != "" {
			t.Errorf("without a plan:\n%s", diff)
		}
		if _, err := c.OnRun(t.Context(), work.OperatorActor, "R1", "cancel", api.Message{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want = []string{"cancelled: " + session + "/prompt-1", "order: end/" + session}
		if diff := cmp.Diff(want, s.take()); diff != "" {
			t.Errorf("at the end:\n%s", diff)
		}
	})
}

// The order of a session has its task and no other, as many sessions keep theirs for long; others have all.
func TestOrderOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		_, task, _ := strings.Cut(onePlan, "\n")
		r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan + strings.ReplaceAll(task, "T-1", "T-2")}, "")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		id := s.due(t, delivery.DoBaseline, "")
		s.end(t, id, func() error { return s.HandIn(t.Context(), r.Subject, delivery.BaselineRan{Command: id}) })
		synctest.Wait()
		sessions := 0
		for _, o := range s.given {
			want := 2
			if o.Session != nil {
				sessions, want = sessions+1, 1
			}
			if len(o.Run.Tasks) != want || o.Session != nil && o.Run.Task(o.Session.Task) == nil {
				t.Errorf("%s has %d tasks, want %d", o.ID, len(o.Run.Tasks), want)
			}
		}
		if sessions != 2 {
			t.Errorf("%d sessions were ordered", sessions)
		}
	})
}

// A task is added once, whoever has done it before; a name that somebody else has is an error, and what the plan does not
// have is nothing to add.
func TestAddTaskAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		s.developing(t)
		d, o := s.decider("S000001"), s.given[0]
		before := len(s.ledger.Events(0))
		for n := range 2 {
			if err := d.addTask(o.Run, o.Plan, n); err != nil {
				t.Errorf("task %d: %v", n, err)
			}
		}
		o.Run.Subject = "another"
		if err := d.addTask(o.Run, o.Plan, 0); !errors.Is(err, work.ErrExists) {
			t.Errorf("another run's: %v", err)
		}
		if after := len(s.ledger.Events(0)); after != before {
			t.Errorf("%d events were recorded", after-before)
		}
	})
}

// bringToMerge starts a conductor again whose orders go well, up to a merge, which waits.
func (s *stage) bringToMerge(t *testing.T) {
	t.Helper()
	s.carryOut = func(ctx context.Context, o order.Order) error {
		if o.Do != delivery.DoMerge {
			return diligent(ctx, s.Conductor, o)
		}
		<-ctx.Done()
		return ctx.Err()
	}
	if err := s.again(t, time.Minute); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// A merge that is not due, or not allowed, has no number; one that was recorded is proved.
func TestPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		permit := func(run, command, base string) (uint64, error) {
			allowed, proof, err := s.Permit(t.Context(), run, delivery.MergeChecked{Command: command, Commit: "1a2b3c4", Onto: "0000002", Tree: "7ee0002", Base: base})
			if allowed.Seq != 0 && proof.Index != int64(allowed.Seq)-1 {
				t.Errorf("event %d is proved at %d", allowed.Seq, proof.Index)
			}
			return allowed.Seq, err
		}
		if seq, err := permit("none", "merge/T-1/1", ""); seq != 0 || !errors.Is(err, box.ErrStopping) {
			t.Errorf("of no run: %d, %v", seq, err)
		}
		run := s.deliver(t)
		if seq, err := permit(run, "merge/T-1/1", ""); seq != 0 || err != nil {
			t.Errorf("not due: %d, %v", seq, err)
		}
		synctest.Wait()
		s.bringToMerge(t)
		command := s.given[len(s.given)-1].ID
		if seq, err := permit(run, command, "0000009"); seq != 0 || err != nil {
			t.Errorf("from where nobody saw it begin: %d, %v", seq, err)
		}
		seq, err := permit(run, command, "0000000")
		if last := s.ledger.Events(0); err != nil || int(seq) != len(last) || last[seq-1].Type != work.MergeAllowed {
			t.Errorf("%d, %v", seq, err)
		}
		if again, err := permit(run, command, "0000000"); again != seq || err != nil {
			t.Errorf("again: %d, %v; want %d", again, err, seq)
		}
		s.Stop()
	})
}

// The runner lets leases go on, and counts agents.
func TestLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		_, session := s.developing(t)
		s.Renew(session)
		if got := s.ledger.Extended(); !slices.Equal(got, []string{session}) || s.Agents() != 1 {
			t.Errorf("%d agents, extended: %q", s.Agents(), got)
		}
		s.Stop()
	})
}

// What happened to a session is cut, and has no secrets.
func TestEndIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		run, session := s.developing(t)
		detail := conductortest.Secret + strings.Repeat("x", 2000)
		if err := s.HandIn(t.Context(), run, delivery.End{Session: session, Ended: delivery.Ended{How: delivery.Crashed, Detail: detail}}); err != nil {
			t.Fatal(err)
		}
		s.Stop()
		for _, e := range s.ledger.Events(0) {
			if e.Type == delivery.SessionEnded && (len(e.Payload) > 1500 || strings.Contains(string(e.Payload), conductortest.Secret)) {
				t.Errorf("recorded: %s", e.Payload)
			}
		}
	})
}

// Every problem of the conductor's has a code, and what is the box's has the box's.
func TestProblem(t *testing.T) {
	for err, want := range map[error]string{
		errNoDelivery: api.CodeConflict, errNoAgent: api.CodeConflict, order.ErrNoProgram: api.CodeConflict, order.ErrNoModel: api.CodeConflict, order.ErrNoSandbox: api.CodeConflict,
		order.ErrUnprotected: api.CodeConflict, order.ErrUnreached: api.CodeBusy, errBranchTaken: api.CodeConflict, order.ErrNoCommit: api.CodeConflict,
		errAnotherVersion: api.CodeConflict, errNothingToAmend: api.CodeConflict, errOtherAudit: api.CodeConflict, errOtherSettings: api.CodeConflict, errNotGiven: api.CodeConflict, errNothingGiven: api.CodeConflict, delivery.ErrNotPlanned: api.CodeConflict, delivery.ErrMerging: api.CodeConflict, delivery.ErrAmendedMuch: api.CodeConflict, delivery.ErrOtherWork: api.CodeInvalid,
		errSessionGone: api.CodeGone, errNoMessage: api.CodeInvalid, errNoComment: api.CodeInvalid, errAcceptComments: api.CodeInvalid, errBackNoChange: api.CodeInvalid, box.ErrStopping: api.CodeStopping, work.ErrNoSession: api.CodeNotFound,
		delivery.ErrFinished: api.CodeConflict, box.ErrOutcomeUnknown: api.CodeUnknown, errBroken: api.CodeInternal,
	} {
		wrapped := errors.Join(err)
		if p := Problem(wrapped); p.Code != want || p.Message != err.Error() {
			t.Errorf("%v is %+v; want %s", err, p, want)
		}
	}
	if n := len(problems); n != 24 {
		t.Errorf("the conductor has %d problems of its own; this test knows 24", n)
	}
}

// A plan is refused before anything is begun, for each reason that there is.
func TestPreview(t *testing.T) {
	var many strings.Builder
	for n := range delivery.MaxTasks + 1 {
		fmt.Fprintf(&many, "#### Task T-%d: t\n\n**Work**: w\n\n", n)
	}
	nobody := settings(t, "")
	nobody.Agents = map[string]config.Agent{}
	for _, c := range []struct {
		what, plan, fails string
		config            config.Config
		err               error
		want              string
	}{
		{"no plan", "hello", "", settings(t, ""), nil, api.CodeInvalid},
		{"too many tasks", many.String(), "", settings(t, ""), nil, api.CodeInvalid},
		{"a site that is not ready", onePlan, "Ready", settings(t, ""), order.ErrNoProgram, api.CodeConflict},
		{"no commit", onePlan, "Head", settings(t, ""), order.ErrNoCommit, api.CodeConflict},
		{"no agent", onePlan, "", nobody, nil, api.CodeConflict},
	} {
		h := newHands()
		h.fails[c.fails] = c.err
		if r, err := Preview(t.Context(), h, c.config, api.StartRun{Plan: c.plan}); code(err) != c.want || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v", c.what, r, err)
		}
	}
}

// A preview says who would begin, and what the others would wait for.
func TestPreviewOfTasks(t *testing.T) {
	plan := "# Three\n"
	for _, id := range []string{"T-1", "T-2", "T-3"} {
		plan += "\n#### Task " + id + ": The task\n\n**Work**: Do it.\n\n**Blocked By**: " + map[string]string{"T-2": "T-1"}[id] + "none\n"
	}
	plan = strings.Replace(plan, "T-1none", "T-1", 1)
	h := newHands()
	h.lacks = []string{"no sandbox"}
	c := settings(t, "limits: {agents: 1}\nchecks: [{name: test, command: 'true'}]\nanalyst: true")
	r, err := Preview(t.Context(), h, c, api.StartRun{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	task := func(id string) api.Task {
		return api.Task{ID: id, Title: "The task", Phase: agentsig.PhaseDraft, Protection: delivery.Unheld}
	}
	one, two, three := task("T-1"), task("T-2"), task("T-3")
	one.Agent = &api.Agent{Role: agentsig.RoleAnalyst, Name: "scripted", Task: "T-1"}
	two.Why, two.BlockedBy, three.Why = "blocker", []string{"T-1"}, "agents"
	want := api.Run{
		Title: "Three", State: api.RunDry, AtOnce: 1, Agents: 1, Checks: 1, Branch: "signalbox/{run}", Unprotected: []string{"no sandbox"},
		Tasks: []api.Task{one, two, three}, Others: []api.Agent{}, Questions: []api.Question{}, Notices: []api.Notice{},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

// No run is started or amended that is meant to go by other settings than the box does. One that is under way goes on, and who says
// nothing of settings is served by the box's own.
func TestOtherSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{Settings: &api.Settings{File: "/the/checkout/signalbox.yaml", Digest: "old"}})
		defer s.Stop()
		path := "/the/checkout/plan.md"
		q := api.StartRun{Plan: onePlan, Path: path, Settings: "new"}
		for _, q.DryRun = range []bool{true, false} {
			if _, err := s.Deliver(t.Context(), work.OperatorActor, q, ""); !errors.Is(err, errOtherSettings) || !strings.Contains(err.Error(), "/the/checkout/signalbox.yaml") {
				t.Errorf("start, dry %v: %v", q.DryRun, err)
			}
		}
		r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan, Path: path, Settings: "old"}, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, settings := range []string{"new", "old", ""} {
			if again, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan, Path: path, Settings: settings}, ""); err != nil || again.ID != r.ID {
				t.Errorf("with %q settings, %s goes on as %q: %v", settings, r.ID, again.ID, err)
			}
		}
		synctest.Wait()
		other := strings.Replace(onePlan, "Do it.", "Do it well.", 1)
		if _, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: other, Path: path, Amend: true, Settings: "new"}, ""); !errors.Is(err, errOtherSettings) {
			t.Errorf("amend: %v", err)
		}
		if again, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: other, Path: path, Amend: true}, ""); err != nil || again.ID != r.ID {
			t.Errorf("amended without a word of settings: %v", err)
		}
	})
}

// What a person hands in is committed first, and the commit is recorded. Nothing, and what can't be committed, is not handed in.
func TestGiveCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{Config: settings(t, "roles: {developer: {agent: person}}")})
		defer s.Stop()
		run := s.deliver(t)
		synctest.Wait()
		id := s.due(t, delivery.DoBaseline, "")
		s.end(t, id, func() error { return s.HandIn(t.Context(), run, delivery.BaselineRan{Command: id}) })
		synctest.Wait()
		if _, err := s.Take(t.Context(), work.OperatorActor, "R1.T-1"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Give(t.Context(), work.OperatorActor, "R1.T-1", api.Give{Text: "done"}, ""); !errors.Is(err, errNothingGiven) {
			t.Errorf("nothing is changed: %v", err)
		}
		s.files, s.fails["Commit"] = 1, errBroken
		if _, err := s.Give(t.Context(), work.OperatorActor, "R1.T-1", api.Give{Text: "done"}, ""); !errors.Is(err, errNotGiven) || !errors.Is(err, errBroken) {
			t.Errorf("it can't be committed: %v", err)
		}
		delete(s.fails, "Commit")
		if _, err := s.Give(t.Context(), work.OperatorActor, "R1.T-1", api.Give{Text: "done"}, ""); err != nil {
			t.Fatal(err)
		}
		s.ledger.WithRun(run, func(r *delivery.Run) {
			if given := r.Task("T-1").Given; given != homeCommit {
				t.Errorf("%q was given", given)
			}
		})
	})
}
