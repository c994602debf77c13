package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenarios lead to into their files")

// TestScenarios plays the files of testdata, on a clock that only goes on with "wait". A line that begins with ">" is
// what happens; the lines below it are what is recorded, and, indented, what the runner is asked for, what sessions are
// sent, what is warned of, and what is answered. The file's own comments begin with "#".
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			synctest.Test(t, func(t *testing.T) { got = playFile(t, string(data)) })
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(data), got); diff != "" && !*rewrite {
				t.Errorf("-rewrite writes it anew, if this is as it should be:\n%s", diff)
			}
		})
	}
}

func playFile(t *testing.T, text string) string {
	ctx, cancel := context.WithCancel(t.Context())
	s := &story{
		t: t, ctx: ctx, hands: newHands(), ledger: conductortest.New(ctx, time.Now), turns: map[string]int{}, live: map[string]*line{}, trouble: map[string]*trouble{},
	}
	s.ledger.Append = s.append
	var out strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "#"):
			out.WriteString(line)
		case strings.HasPrefix(line, ">"):
			out.WriteString(line)
			s.play(strings.TrimSpace(line[1:]))
			s.show(&out)
			out.WriteString("\n")
		}
	}
	cancel()
	if s.conductor != nil {
		s.conductor.Stop()
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// story is what a file plays.
type story struct {
	t         *testing.T
	ctx       context.Context
	hands     *hands
	ledger    *conductortest.Ledger
	conductor *Conductor
	options   Options
	more      string // settings
	seen      int    // events that were shown
	failed    bool   // it was shown that the box has failed
	turns     map[string]int
	live      map[string]*line // sessions that are connected

	mu       sync.Mutex
	told     []string // what was answered and warned of since it was last shown
	trouble  map[string]*trouble
	machines []delivery.Machine
}

// line is the connection of a session.
type line struct {
	*LiveSession
	hangUp func()
}

// trouble is how the next events of a type are not recorded.
type trouble struct {
	how   string
	times int
}

// append makes the trouble that the file wants.
func (s *story) append(e ledger.Event, record func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.trouble[e.Type]
	if t == nil || t.times == 0 {
		return record()
	}
	t.times--
	switch t.how {
	case "unknown":
		return conductortest.ErrUnknown
	case "recorded":
		return errors.Join(record(), conductortest.ErrUnknown)
	case "refuses":
		return fmt.Errorf("somebody was first: %w", work.ErrBlocked)
	}
	return errBroken
}

func (s *story) tell(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

// Enabled, Handle, WithAttrs and WithGroup make it a log: what is warned of is shown.
func (s *story) Enabled(context.Context, slog.Level) bool { return true }

func (s *story) Handle(_ context.Context, r slog.Record) error {
	s.tell("warned: %s", r.Message)
	return nil
}

func (s *story) WithAttrs([]slog.Attr) slog.Handler { return s }
func (s *story) WithGroup(string) slog.Handler      { return s }

// show writes what has happened.
func (s *story) show(out *strings.Builder) {
	synctest.Wait()
	for _, name := range slices.Sorted(maps.Keys(s.live)) {
		for {
			commands, _, _ := s.live[name].Next()
			if len(commands) == 0 {
				break
			}
			for _, c := range commands {
				s.tell("sent to %s: %s", name, strings.TrimSpace(strings.Join([]string{c.Kind, c.Text, c.Reason}, " ")))
				s.live[name].Wrote(c.ID)
			}
		}
	}
	synctest.Wait()
	for _, e := range s.ledger.Events(s.seen) {
		s.seen++
		run := s.ledger.RunOf(e.Subject)
		words := ""
		s.ledger.WithRun(run, func(r *delivery.Run) { words = delivery.Words(e, r.NameOf) })
		fmt.Fprintln(out, words)
	}
	if err := s.ledger.Failed(); err != nil && !s.failed {
		s.failed = true
		s.tell("the box has failed: %v", err)
	}
	s.mu.Lock()
	slices.Sort(s.told)
	all := append(s.hands.take(), s.told...)
	s.told = nil
	s.mu.Unlock()
	for _, line := range all {
		fmt.Fprintf(out, "  %s\n", line)
	}
}

// ask does what somebody asks for, and tells what is answered, whenever that is.
func (s *story) ask(f func() (string, error)) {
	go func() {
		switch answer, err := f(); {
		case err != nil:
			s.tell("answered: %s: %v", code(err), err)
		case answer != "":
			s.tell("answered: %s", answer)
		}
	}()
	synctest.Wait()
}

// play does what a line says.
func (s *story) play(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	who, words, _ := strings.Cut(rest, " ")
	words = strings.ReplaceAll(words, `\n`, "\n")
	switch verb {
	case "settings":
		s.more += rest + "\n"
	case "exit", "draining":
		s.options.Exit, s.options.Draining = s.options.Exit || verb == "exit", s.options.Draining || verb == "draining"
	case "machines": // that are present, each with the agent and checks; nothing is home alone
		var all []delivery.Machine
		for _, name := range strings.Fields(rest) {
			all = append(all, delivery.Machine{Name: strings.TrimPrefix(name, delivery.Home), Agents: []string{"scripted"}, Checks: true, Places: 1})
		}
		s.mu.Lock()
		s.machines = all
		s.mu.Unlock()
		if s.conductor != nil {
			s.conductor.MachinesChanged()
		}
	case "lost":
		name := s.session(who)
		s.ask(func() (string, error) {
			return "", s.conductor.HandIn(s.ctx, "S000001", delivery.End{Session: name, Ended: delivery.Ended{How: delivery.Lost}})
		})
	case "start":
		s.start()
	case "kill":
		s.ledger.Kill()
		s.conductor.Stop()
		clear(s.live)
	case "stop":
		s.conductor.Stop()
	case "drain":
		d := s.duration(who)
		s.ask(func() (string, error) {
			ctx, cancel := context.WithTimeout(s.ctx, d)
			defer cancel()
			return fmt.Sprintf("%d left", s.conductor.Drain(ctx)), nil
		})
	case "wait":
		time.Sleep(s.duration(who))
	case "ledger":
		kind, times, _ := strings.Cut(words, " ")
		n, err := strconv.Atoi(times)
		if err != nil {
			n = 1
		}
		s.mu.Lock()
		s.trouble[kind] = &trouble{who, n}
		s.mu.Unlock()
	case "fails": // a method of the runner
		method, _, _ := strings.Cut(rest, ":")
		s.hands.set(func() { s.hands.fails[method] = errBroken })
	case "works":
		s.hands.set(func() { delete(s.hands.fails, rest) })
	case "unprotected":
		s.hands.set(func() { s.hands.lacks = []string{rest} })
	case "distrust":
		s.hands.set(func() { s.hands.words[who] = words })
	case "connect":
		s.connect(s.session(who))
	case "hangup":
		s.live[s.session(who)].hangUp()
		delete(s.live, s.session(who))
	case "fail":
		s.hands.end(s.t, who, func() error { return errBroken })
	case "end":
		s.hands.end(s.t, who, func() error { return nil })
	default:
		if !s.report(verb, who, words) && !s.result(verb, who, words) {
			s.operate(verb, who, words)
		}
	}
}

func (s *story) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// start starts a conductor on what was recorded.
func (s *story) start() {
	if s.conductor != nil {
		next, err := s.ledger.Again(s.ctx)
		if err != nil {
			s.t.Fatal(err)
		}
		s.ledger, s.failed = next, false
	}
	s.options.Config, s.options.Logger = settings(s.t, s.more), slog.New(s)
	s.options.Machines = func(string) []delivery.Machine {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.machines
	}
	s.conductor = New(s.ledger, s.options)
	if err := s.conductor.Start(s.ctx, s.hands, time.Minute); err != nil {
		s.t.Fatal(err)
	}
}

// session returns the session that works on a task, or the one with this name.
func (s *story) session(who string) string {
	for _, run := range s.ledger.LiveRuns() {
		name := ""
		s.ledger.WithRun(run, func(r *delivery.Run) {
			if found := r.SessionOf(who); found != nil {
				name = found.ID
			}
		})
		if name != "" {
			return name
		}
	}
	return who
}

func (s *story) connect(name string) {
	live, err := s.conductor.LiveSession(name)
	if err != nil {
		s.tell("answered: %s: %v", code(err), err)
		return
	}
	_, hangUp, err := live.Connect()
	if err != nil {
		s.tell("answered: %s: %v", code(err), err)
		return
	}
	s.live[name] = &line{live, hangUp}
}

// report reports what a session has to say.
func (s *story) report(verb, who, words string) bool {
	name := s.session(who)
	var r api.SessionReport
	switch verb {
	case "say", "says": // what is said again has the same turn
		if verb == "say" {
			s.turns[name]++
		}
		r = api.SessionReport{Kind: api.ReportTurn, Turn: s.turns[name], Preview: words}
		role, task := agentsig.Role(""), ""
		for _, run := range s.ledger.RunSubjects() {
			s.ledger.WithRun(run, func(run *delivery.Run) {
				if found := run.Sessions[name]; found != nil {
					role, task = found.Role, found.Task
				}
			})
		}
		read, err := agentsig.Scan(strings.NewReader(words), agentsig.Options{Role: role, Task: task})
		if err != nil {
			s.t.Fatal(err)
		}
		r.Verdict = read.Verdict.Kind
		for _, f := range read.Findings {
			if f.Outcome == agentsig.Accepted {
				r.Signals = []api.SaidSignal{{Wire: words}}
			} else {
				r.NearMisses = append(r.NearMisses, api.NearMiss{Line: f.Span.Line, Kind: f.Signal.Kind, Reason: f.Reason})
			}
		}
	case "note":
		s.turns[name+"/notes"]++
		r = api.SessionReport{Kind: api.ReportNote, Seq: s.turns[name+"/notes"], Signals: []api.SaidSignal{{Wire: words}}}
	case "denied":
		s.turns[name+"/notes"]++
		r = api.SessionReport{Kind: api.ReportNote, Seq: s.turns[name+"/notes"], Denied: words}
	case "step":
		s.turns[name+"/notes"]++
		r = api.SessionReport{Kind: api.ReportNote, Seq: s.turns[name+"/notes"], Step: &delivery.Step{}}
		if err := json.Unmarshal([]byte(words), r.Step); err != nil {
			s.t.Fatal(err)
		}
	case "took", "refused": // a message
		r = api.SessionReport{Kind: api.ReportNote, Prompt: words, NoAnswer: verb == "refused"}
	case "ended":
		r = api.SessionReport{Kind: api.ReportEnded, How: words}
	default:
		return false
	}
	s.ask(func() (string, error) { return "", s.conductor.SessionReport(s.ctx, name, r) })
	return true
}

// result hands in what comes of an order, and ends it.
func (s *story) result(verb, who, words string) bool {
	run := "S000001"
	end := ""
	var in delivery.Input
	switch verb {
	case "baseline":
		end = s.hands.due(s.t, delivery.DoBaseline, "")
		in = delivery.BaselineRan{Command: end, Baseline: delivery.Baseline{Commit: "0000000", Checks: []work.Check{{Name: "test", Passed: who == "pass"}}}}
	case "gate":
		end = s.hands.due(s.t, delivery.DoGate, who)
		verdict, nothing := strings.CutPrefix(words, "nothing ")
		ran := delivery.GateRan{Command: end, Runner: s.hands.runnerOf(end), Commit: "1a2b3c4", Passed: verdict == "pass", Checks: []work.Check{{Name: "test", Passed: verdict == "pass"}}}
		if ran.Runner != "" {
			ran.Commit = homeCommit
		}
		if nothing {
			ran.Files = new(0)
		}
		in = ran
	case "shown":
		in = delivery.Shown{Session: s.session(who), Commit: "1a2b3c4", Tree: "7ee0000", Base: "0000000"}
	case "prompted":
		end = s.hands.due(s.t, delivery.DoPrompt, "")
		in = delivery.Prompted{Session: s.session(who), Prompt: end}
	case "merge":
		end = s.hands.due(s.t, delivery.DoMerge, who)
		s.ask(func() (string, error) {
			allowed, proof, err := s.conductor.Permit(s.ctx, run, delivery.MergeChecked{Command: end, Commit: "1a2b3c4", Onto: "0000002", Tree: "7ee0002", Base: "0000000"})
			return fmt.Sprintf("%s is allowed by event %d, which is proved at %d", allowed.Commit, allowed.Seq, proof.Index), err
		})
		in = delivery.MergeRan{Command: end, Commit: "1a2b3c4", Tree: "7ee0000", Result: "5d6e7f8"}
	case "touched":
		in = delivery.Touched{Session: s.session(who), Text: words}
	default:
		return false
	}
	handIn := func() error { return s.conductor.HandIn(s.ctx, run, in) }
	if end != "" {
		s.hands.end(s.t, end, handIn)
	} else {
		s.ask(func() (string, error) { return "", handIn() })
	}
	return true
}

// operate says something as an operator.
func (s *story) operate(verb, who, words string) {
	c := s.conductor
	shown := func(r api.Run, err error) (string, error) { return strings.TrimSpace(r.ID + " " + r.Title), err }
	switch verb {
	case "deliver", "dry":
		s.ask(func() (string, error) {
			return shown(c.Deliver(s.ctx, work.OperatorActor, api.StartRun{Plan: onePlan, DryRun: verb == "dry"}, who))
		})
	case "pause", "resume", "cancel":
		s.ask(func() (string, error) {
			return shown(c.OnRun(s.ctx, work.OperatorActor, who, verb, api.Message{Text: words}))
		})
	case "retry-task", "cancel-task":
		s.ask(func() (string, error) {
			return shown(c.OnTask(s.ctx, work.OperatorActor, who, strings.TrimSuffix(verb, "-task"), api.Message{Text: words}))
		})
	case "answer":
		s.ask(func() (string, error) {
			q, err := c.Answer(s.ctx, work.OperatorActor, who, api.Answer{Text: words})
			return "to " + q.ID, err
		})
	case "tell": // with a key
		task, text, _ := strings.Cut(words, " ")
		s.ask(func() (string, error) {
			told, err := c.Tell(s.ctx, work.OperatorActor, task, api.Message{Text: text}, who)
			return fmt.Sprintf("told now: %v", told.Now), err
		})
	case "activity":
		s.ask(func() (string, error) {
			err := c.Activity(s.session(who), api.Activity{Line: words})
			says, _, away := c.Seen(s.session(who))
			return fmt.Sprintf("says %q, away: %v", says, away), err
		})
	default:
		s.t.Fatalf("what is %q?", verb)
	}
}
