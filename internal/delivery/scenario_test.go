package delivery_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenarios lead to into their files")

// TestScenarios plays the files of testdata. A line that begins with ">" is what
// happens; the lines below it are what is recorded, and what is under way then. The
// file's own comments begin with "#".
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := ""
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all += string(data)
			got := playFile(t, string(data))
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
	checkAll(t, all)
}

// checkAll sees that every signal of the line dialect is said somewhere.
func checkAll(t *testing.T, all string) {
	for _, e := range agentsig.Vocabulary() {
		if e.Dialect == agentsig.DialectLine && !strings.Contains(all, e.Wire) {
			t.Errorf("no scenario has %s", e.Wire)
		}
	}
}

func playFile(t *testing.T, text string) string {
	s := &scenario{t: t, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), items: map[string]work.Item{}, turns: map[string]int{}}
	var out strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "#"):
			out.WriteString(line)
		case strings.HasPrefix(line, ">"):
			fmt.Fprintf(&out, "%s", line)
			s.out = &out
			s.play(strings.TrimSpace(line[1:]))
			out.WriteString("\n")
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// scenario is a run that a file plays.
type scenario struct {
	t     *testing.T
	out   *strings.Builder
	now   time.Time
	seq   uint64
	run   delivery.Run
	items map[string]work.Item
	turns map[string]int // of sessions

	commits int // that the gate has seen
}

// play does what a line says, then all that is due; sessions that are over end, and
// prompts arrive.
func (s *scenario) play(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	who, words, _ := strings.Cut(rest, " ")
	switch verb {
	case "plan":
		s.plan(strings.Fields(rest))
	case "say":
		s.say(who, strings.ReplaceAll(words, `\n`, "\n"))
	case "mute":
		session := s.session(who)
		s.turns[session.ID]++
		s.take(delivery.Turn{Session: session.ID, Turn: s.turns[session.ID], Verdict: agentsig.KindUnknown, NoAnswer: true})
	case "end":
		s.take(delivery.End{Session: s.session(who).ID, Ended: delivery.Ended{How: delivery.How(words)}})
	case "distrust":
		s.take(delivery.Distrust{Session: s.session(who).ID, Reason: words})
	case "use":
		tokens, err := strconv.ParseInt(words, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		s.take(delivery.End{Session: s.session(who).ID, Ended: delivery.Ended{How: delivery.Stopped, Usage: delivery.Usage{InputTokens: tokens}}})
	case "gate":
		s.gate(who, words)
	case "merge":
		r := delivery.MergeRan{Command: s.command(delivery.DoMerge, who), Commit: s.commitOf(who), Tree: "7ee0000", Result: "5d6e7f8"}
		switch words {
		case "conflict":
			r.Failed = "both change x.go"
		case "other":
			r.Tree = "7ee0001"
		}
		if words != "conflict" && words != "already" {
			base := "0000000"
			if words == "base" {
				base = "0000001"
			}
			s.take(delivery.MergeChecked{Command: r.Command, Commit: r.Commit, Onto: "0000002", Tree: "7ee0002", Base: base})
		}
		s.take(r)
	case "baseline":
		s.take(delivery.BaselineRan{Command: s.command(delivery.DoBaseline, ""), Baseline: delivery.Baseline{Commit: "0000000", Checks: []work.Check{{Name: "test", Passed: who == "pass"}}}})
	case "repair":
		passed := words == "pass"
		s.take(delivery.RepairRan{Command: s.command(delivery.DoBaseline, ""), Repair: delivery.Repair{
			Commit: who, Base: "0000000", Files: 2, Names: []string{"go.mod", "Dockerfile"}, Checks: []work.Check{{Name: "test", Passed: passed}},
		}})
	case "merge-repair":
		r := delivery.RepairMergeRan{Command: s.command(delivery.DoMergeRepair, ""), Commit: who, Result: "5d6e7f8", Checks: []work.Check{{Name: "test", Passed: true}}}
		if words == "conflict" {
			r.Failed = "both change x.go"
		}
		if words != "conflict" && words != "already" {
			s.take(delivery.MergeChecked{Command: r.Command, Commit: r.Commit, Onto: "0000002", Tree: "7ee0002", Base: "0000000"})
		}
		s.take(r)
	case "expire":
		item := s.run.Task(who).Item
		s.record(delivery.Write{Item: item.Subject, Do: work.Expire{Token: item.Lease.Token}})
	case "override":
		s.record(delivery.Write{Item: s.run.Task(who).Item.Subject, Do: work.Override{Phase: agentsig.Phase(words), Reason: "by hand"}})
	case "wait":
		d, err := time.ParseDuration(who)
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = s.now.Add(d)
	default:
		s.operate(verb, who, words)
	}
	s.settle()
}

// gate is the gate's result: "pass", "fail" or "trouble", on a commit of its own; after "same" on the one before, after
// "nothing" on where the work begins, after "empty" on one in which nothing is changed. "skipped" says that no check
// ran on the one before.
func (s *scenario) gate(task, words string) {
	words, same := strings.CutPrefix(words, "same ")
	words, nothing := strings.CutPrefix(words, "nothing ")
	words, empty := strings.CutPrefix(words, "empty ")
	if !same {
		s.commits++
	}
	r := delivery.GateRan{
		Command: s.command(delivery.DoGate, task), Commit: fmt.Sprintf("%07x", 0x1a2b3c3+s.commits), Files: new(2),
		Passed: words == "pass", Checks: []work.Check{{Name: "test", Passed: words == "pass"}},
	}
	if nothing {
		r.Commit = "0000000"
	}
	if nothing || empty {
		r.Files = new(0)
	}
	switch words {
	case "trouble":
		r.Trouble = "no compiler"
	case "skipped":
		r.Since, r.Checks = work.SinceReview, nil
	}
	s.take(r)
}

func (s *scenario) operate(verb, who, words string) {
	switch verb {
	case "answer":
		s.take(delivery.Answer{Question: who, Text: words})
	case "pause":
		s.take(delivery.Hold{})
	case "resume":
		s.take(delivery.Resume{})
	case "cancel":
		s.take(delivery.Cancel{Task: who})
	case "retry":
		s.take(delivery.Retry{Task: who, Text: words})
	case "tell":
		s.take(delivery.Tell{Task: who, Text: words})
	default:
		s.t.Fatalf("what is %q?", verb)
	}
}

// plan starts a run. A task is written as T-2<T-1 if it is blocked by another, a
// limit as gates=2, a role that nobody plays as no=analyst,
// what it protects as protected=yes, a pull request at the end as publish=yes.
func (s *scenario) plan(words []string) {
	started := delivery.Started{ID: "R1", Title: "a plan", Branch: "main", Settings: delivery.Settings{
		Roles: map[agentsig.Role]delivery.Role{}, Experts: []string{"dba"}, Limits: delivery.DefaultLimits(),
	}}
	for _, role := range agentsig.Roles() {
		started.Settings.Roles[role] = delivery.Role{Agent: "scripted", Provider: "one"}
	}
	var tasks []work.Add
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			s.set(&started.Settings, name, value)
			continue
		}
		id, blockers, _ := strings.Cut(w, "<")
		add := work.Add{ID: id, Title: "a task", Phase: agentsig.PhaseImplementation, Actor: "operator", Run: "RUN", Task: strings.TrimPrefix(id, "draft:")}
		if add.Task != id {
			add.ID, add.Phase = add.Task, agentsig.PhaseDraft
		}
		if blockers != "" {
			add.BlockedBy = strings.Split(blockers, ",")
		}
		tasks = append(tasks, add)
	}
	started.Tasks = len(tasks)
	s.append("RUN", delivery.RunStarted, "", "", "", "", started)
	for _, add := range tasks {
		s.record(delivery.Write{Item: "ITEM" + strings.TrimPrefix(add.Task, "T-"), Do: add})
	}
}

func (s *scenario) set(to *delivery.Settings, name, value string) {
	n, err := strconv.Atoi(value)
	l := &to.Limits
	limits := map[string]*int{
		"agents": &l.Agents, "reviews": &l.Reviews, "gates": &l.Gates, "crashes": &l.Crashes, "rounds": &l.RemediationRounds,
		"conflicts": &l.ConflictRetries, "requests": &l.ExpertRequests, "attempts": &l.ExpertAttempts, "obstacles": &l.Obstacles,
	}
	switch {
	case name == "protected" && value == "yes":
		to.Protect(nil)
	case name == "protected":
		to.Protect([]string{"no sandbox"})
	case name == "publish" && value == "yes":
		to.Publish = true
	case name == "no":
		delete(to.Roles, agentsig.Role(value))
	case name == "tokens" && err == nil:
		to.Budget.Tokens = int64(n)
	case limits[name] != nil && err == nil:
		*limits[name] = n
	default:
		s.t.Fatalf("what is %s=%s?", name, value)
	}
}

// session returns the session that works on a task, or in a role that holds none,
// or a developer's by its name.
func (s *scenario) session(who string) *delivery.Session {
	if found := s.run.SessionOf(who); found != nil {
		return found
	}
	if s.turns[who] > 0 || strings.HasPrefix(who, "ITEM") { // one that has ended
		return &delivery.Session{ID: who, Role: agentsig.RoleDeveloper, Task: "T-" + who[len("ITEM"):len("ITEM")+1]}
	}
	for _, found := range s.run.Sessions {
		if string(found.Role) == who && !found.Holds() {
			return found
		}
	}
	s.t.Fatalf("nobody works as %s", who)
	return nil
}

// commitOf returns the commit of a task that the gate saw last.
func (s *scenario) commitOf(task string) string {
	if t := s.run.Task(task); t != nil && t.Item.Commit != "" {
		return t.Item.Commit
	}
	return "1a2b3c4"
}

// command returns the id of what is due, or says that it is not.
func (s *scenario) command(do delivery.Verb, task string) string {
	for _, c := range s.run.Commands() {
		if c.Do == do && (c.Task == nil || c.Task.ID == task) {
			return c.ID
		}
	}
	return "none"
}

// say is an agent's output, read as every output is.
func (s *scenario) say(who, output string) {
	session := s.session(who)
	task := session.Task
	if session.Request != "" {
		task = session.Request
	}
	read, err := agentsig.Scan(strings.NewReader(output), agentsig.Options{Role: session.Role, Task: task})
	if err != nil {
		s.t.Fatal(err)
	}
	s.turns[session.ID]++
	turn := delivery.Turn{
		Session: session.ID, Turn: s.turns[session.ID], Verdict: read.Verdict.Kind, Signal: read.Verdict.Signal, Preview: output,
		Key: fmt.Sprint(session.ID, s.turns[session.ID]),
	}
	turn.Said = work.Said{Signal: turn.Signal.Kind, Subject: turn.Signal.Subject}
	for _, f := range turn.Signal.Fields() {
		turn.Said.Fields = append(turn.Said.Fields, work.Field{Name: f.Name, Value: f.Value})
	}
	for i, f := range read.Findings {
		switch {
		case f.Outcome != agentsig.Accepted:
			turn.NearMisses = append(turn.NearMisses, delivery.NearMiss{Line: f.Span.Line, Kind: f.Signal.Kind, Reason: f.Reason})
		case !f.Signal.Terminal() && f.Signal.Kind != turn.Verdict:
			s.take(delivery.Note{Session: session.ID, Report: i + 1, Said: work.Said{Signal: f.Signal.Kind, Subject: f.Signal.Subject}, Key: fmt.Sprint(turn.Key, i)})
		}
	}
	s.take(turn)
}

func (s *scenario) take(in delivery.Input) {
	writes, err := s.run.Decide(in, s.now)
	if err != nil {
		fmt.Fprintf(s.out, "refused: %v\n", err)
	}
	for _, w := range writes {
		s.record(w)
	}
}

func (s *scenario) record(w delivery.Write) {
	if w.Item == "" {
		s.append("RUN", w.Event.Type, w.Event.Actor, w.Event.Session, "", "", w.Event.Payload)
		return
	}
	e, err := work.Decide(s.items[w.Item], w.Do)
	if err != nil {
		s.t.Fatalf("%#v: %v", w.Do, err)
	}
	lease := ""
	if e.Token != (work.Token{}) {
		lease = e.Token.String()
	}
	s.append(w.Item, e.Type, e.Actor, e.Session, lease, e.Key, e.Payload)
}

func (s *scenario) append(subject, kind, actor, session, lease, key string, payload any) {
	data, err := json.Marshal(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	s.seq++
	e := ledger.Event{Epoch: 1, Subject: subject, Type: kind, Actor: actor, Session: session, Lease: lease, Key: key, Time: s.now, Payload: data}
	if subject == "RUN" {
		err = s.run.Evolve(s.seq, e)
	} else {
		s.items[subject], err = work.Evolve(s.items[subject], s.seq, e)
		if err == nil {
			err = s.run.EvolveItem(s.items[subject], e)
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if kind != delivery.PromptDelivered {
		fmt.Fprintln(s.out, delivery.Words(e, s.run.NameOf))
	}
}

// settle records what is due, ends sessions that are over, and says what is under
// way then.
func (s *scenario) settle() {
	for {
		if w, due := s.run.Next(s.now); due {
			s.record(w)
			continue
		}
		moved := false
		for _, c := range s.run.Commands() {
			switch c.Do {
			case delivery.DoStart:
				before := s.seq
				if role := c.Session.Role; role == agentsig.RoleCritic || role == agentsig.RoleAuditor {
					s.take(delivery.Shown{Session: c.Session.ID, Commit: s.commitOf(c.Session.Task), Tree: "7ee0000", Base: "0000000"})
				}
				moved = s.seq > before
			case delivery.DoEnd:
				s.take(delivery.End{Session: c.Session.ID, Ended: delivery.Ended{How: delivery.Done}})
				moved = true
			case delivery.DoPrompt:
				fmt.Fprintf(s.out, "  prompt: %s %s\n", c.Session.Prompt.Ask, c.Session.Prompt.Text)
				s.take(delivery.Prompted{Session: c.Session.ID, Prompt: c.ID})
				moved = true
			}
			if moved {
				break
			}
		}
		if !moved {
			break
		}
	}
	fmt.Fprintf(s.out, "  = %s\n", s.state())
}

// state says what is under way.
func (s *scenario) state() string {
	var all []string
	for _, c := range s.run.Commands() {
		switch {
		case c.Session != nil && c.Session.Waiting != "":
			all = append(all, fmt.Sprintf("%s %s waits for %s", c.Session.Task, c.Session.Role, c.Session.Waiting))
		case c.Session != nil:
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s", c.Session.Task, c.Session.Role)))
		case c.Task != nil:
			all = append(all, fmt.Sprintf("%s %s", c.Task.ID, c.Do))
		default:
			all = append(all, string(c.Do))
		}
	}
	slices.Sort(all)
	switch {
	case s.run.Finished != nil:
		return "the end"
	case s.run.WaitsForPerson(s.now):
		all = append(all, "waits for a person")
	case !s.run.Wake(s.now).IsZero():
		all = append(all, "until "+s.run.Wake(s.now).Format("15:04"))
	}
	return strings.Join(all, "; ")
}
