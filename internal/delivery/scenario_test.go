package delivery_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

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
			if diff := gocmp.Diff(string(data), got); diff != "" && !*rewrite {
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
	noted int
	talks int64 // how full, in percent, the conversations are that agents leave; 0 if they leave none
	t     *testing.T
	out   *strings.Builder
	now   time.Time
	seq   uint64
	run   delivery.Run
	items map[string]work.Item
	turns map[string]int // of sessions

	commits int // that the gate has seen
	log     []ledger.Event
	forged  bool                // items say that nobody audits them, and the run's start says otherwise
	planned map[string][]string // what the tasks of the plan are blocked by

	machines []delivery.Machine // that are present; nil for home alone
	gates    map[string]string  // the gate's commands, and who has them
	pushes   int                // commits that sessions have handed in
	cut      bool               // they hand none in
}

// play does what a line says, then all that is due; sessions that are over end, and
// prompts arrive.
func (s *scenario) play(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	who, words, _ := strings.Cut(rest, " ")
	switch verb {
	case "machines":
		s.present(strings.Fields(rest))
	case "cut": // sessions hand nothing in from now on, or again
		s.cut = who != "no"
	case "lost": // with its runner, after it has handed something in, or not
		s.take(delivery.End{Session: s.session(who).ID, Ended: delivery.Ended{How: delivery.Lost, Commit: s.push(s.session(who), words == "pushed")}})
	case "plan":
		s.plan(strings.Fields(rest))
	case "say":
		s.say(who, strings.ReplaceAll(words, `\n`, "\n"))
	case "mute":
		session := s.session(who)
		s.turns[session.ID]++
		s.take(delivery.Turn{Session: session.ID, Turn: s.turns[session.ID], Verdict: agentsig.KindUnknown, NoAnswer: true})
	case "end":
		s.take(delivery.End{Session: s.session(who).ID, Ended: delivery.Ended{How: delivery.How(words), Conversation: s.talk(s.session(who).ID)}})
	case "never": // the agent was not even started
		s.take(delivery.End{Session: s.session(who).ID, Ended: delivery.Ended{How: delivery.How(words)}})
	case "forgotten":
		s.take(delivery.Forgotten{Session: s.session(who).ID, Reason: words})
	case "talks": // from now on
		var err error
		if s.talks, err = strconv.ParseInt(who, 10, 64); err != nil {
			s.t.Fatal(err)
		}
	case "distrust":
		s.take(delivery.Distrust{Session: s.session(who).ID, Reason: words})
	case "use":
		tokens, err := strconv.ParseInt(words, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		s.take(delivery.End{Session: s.session(who).ID, Ended: delivery.Ended{How: delivery.Stopped, Usage: delivery.Usage{InputTokens: tokens}}})
	case "uses": // in the middle of its work
		tokens, err := strconv.ParseInt(words, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		s.noted++
		s.take(delivery.Spent{Session: s.session(who).ID, Report: s.noted, Usage: delivery.Usage{InputTokens: tokens}})
	case "over-budget":
		scope, number, _ := strings.Cut(words, " ")
		tokens, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		s.take(delivery.End{Session: s.session(who).ID, Ended: delivery.Ended{How: delivery.OverBudget, Budget: delivery.Scope(scope), Usage: delivery.Usage{InputTokens: tokens}}})
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
			s.take(delivery.MergeChecked{Command: r.Command, Commit: r.Commit, Onto: "0000002", Tree: "7ee0002", Base: base, Checked: "c0ec4ed"})
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
	case "allow": // and no more is heard of the merge; the branch is where the words say
		s.take(delivery.MergeChecked{Command: s.command(delivery.DoMerge, who), Commit: s.commitOf(who), Onto: cmp.Or(words, "0000002"), Tree: "7ee0002", Base: "0000000", Checked: "c0ec4ed"})
	case "amend":
		s.amend(strings.Fields(rest))
	case "waive": // though the run does not say that
		s.record(delivery.Write{Item: s.run.Task(who).Item.Subject, Do: work.Waive{Start: s.run.First}})
	case "restart":
		s.restart()
	case "expire":
		item := s.run.Task(who).Item
		s.record(delivery.Write{Item: item.Subject, Do: work.Expire{Token: item.Lease.Token}})
	case "override":
		s.record(delivery.Write{Item: s.run.Task(who).Item.Subject, Do: work.Override{Actor: work.OperatorActor, Phase: agentsig.Phase(words), Reason: "by hand"}})
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
	on := ""
	for _, c := range s.run.Commands(s.moment()) {
		if c.Do == delivery.DoGate && c.Task.ID == task {
			on = c.Runner
		}
	}
	r := delivery.GateRan{
		Command: s.command(delivery.DoGate, task), Commit: fmt.Sprintf("%07x", 0x1a2b3c3+s.commits), Files: new(2),
		Passed: words == "pass", Checks: []work.Check{{Name: "test", Passed: words == "pass"}},
	}
	if t := s.run.Task(task); t.Pushed != "" {
		r.Commit = t.Pushed
	}
	if r.Runner = on; words == "forged" {
		r.Commit, r.Passed = "fffffff", true
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
		s.take(delivery.Answer{Actor: work.OperatorActor, Question: who, Text: words})
	case "pause":
		s.take(delivery.Hold{Actor: work.OperatorActor})
	case "resume":
		s.take(delivery.Resume{Actor: work.OperatorActor})
	case "cancel":
		s.take(delivery.Cancel{Actor: work.OperatorActor, Task: who})
	case "retry":
		s.take(delivery.Retry{Actor: work.OperatorActor, Task: who, Text: words})
	case "tell":
		s.take(delivery.Tell{Actor: work.OperatorActor, Task: who, Text: words})
	case "review": // a signal, on the commit that was judged last, or after "other" on another one
		shown := work.Seen{Commit: s.commitOf(who), Tree: "7ee0000", Base: "0000000"}
		if rest, other := strings.CutPrefix(words, "other "); other {
			shown.Commit, words = "fffffff", rest
		}
		signal, said := s.person(words)
		s.take(delivery.Review{Actor: work.OperatorActor, Task: who, Role: roleOf(signal), Shown: shown, Signal: signal, Said: said, Key: fmt.Sprint("review", s.seq)})
	case "approve": // the merge onto where the branch was at first, or where the words say
		s.take(delivery.Approval{Actor: work.OperatorActor, Task: who, Commit: s.commitOf(who), Onto: cmp.Or(words, "0000002"), Tree: "7ee0002", Accept: true, Key: fmt.Sprint("approve", s.seq)})
	case "refuse":
		s.take(delivery.Approval{Actor: work.OperatorActor, Task: who, Commit: s.commitOf(who), Onto: "0000002", Tree: "7ee0002", Reason: words, Key: fmt.Sprint("refuse", s.seq)})
	case "begin-review": // a box is killed in the middle of it
		signal, said := s.person(words)
		writes, err := s.run.Decide(delivery.Review{Actor: work.OperatorActor, Task: who, Role: roleOf(signal), Shown: work.Seen{Commit: s.commitOf(who), Tree: "7ee0000", Base: "0000000"}, Signal: signal, Said: said}, s.now)
		if err != nil || len(writes) != 3 {
			s.t.Fatal(len(writes), err)
		}
		s.record(writes[0])
	case "take":
		s.take(delivery.Take{Actor: work.OperatorActor, Task: who})
	case "give":
		in := delivery.Give{Actor: work.OperatorActor, Task: who, Key: fmt.Sprint("give", s.seq)}
		if in.Text, in.Back = strings.CutPrefix(words, "back "); !in.Back {
			in.Signal, in.Said = s.person("READY_FOR_REVIEW: " + who + `\nSummary: ` + words)
		}
		s.take(in)
	default:
		s.t.Fatalf("what is %q?", verb)
	}
}

// roleOf returns the role that a reviewer's signal is of.
func roleOf(s agentsig.Signal) agentsig.Role {
	if s.Kind == agentsig.KindAuditPassed || s.Kind == agentsig.KindAuditFailed {
		return agentsig.RoleAuditor
	}
	return agentsig.RoleCritic
}

// person is a signal of a person's, as it is recorded.
func (s *scenario) person(output string) (agentsig.Signal, work.Said) {
	read, err := agentsig.Scan(strings.NewReader(strings.ReplaceAll(output, `\n`, "\n")), agentsig.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	said := work.Said{Signal: read.Verdict.Kind, Subject: read.Verdict.Signal.Subject}
	for _, f := range read.Verdict.Signal.Fields() {
		said.Fields = append(said.Fields, work.Field{Name: f.Name, Value: f.Value})
	}
	return read.Verdict.Signal, said
}

// tooLate is what comes of commands on a task that were due before.
func (s *scenario) tooLate(before []delivery.Command, task string) {
	for _, c := range before {
		if c.Task == nil || c.Task.ID != task {
			continue
		}
		if c.Do == delivery.DoGate {
			s.take(delivery.GateRan{Command: c.ID, Commit: "1a2b3ff", Passed: true, Files: new(2)})
			continue
		}
		s.take(delivery.MergeChecked{Command: c.ID, Commit: s.commitOf(task), Onto: "0000002", Tree: "7ee0002", Base: "0000000"})
		if s.run.Permitted(c.ID) != nil {
			s.take(delivery.MergeRan{Command: c.ID, Commit: s.commitOf(task), Tree: "7ee0000", Result: "5d6e7f8"})
		}
	}
}

// addTask adds the item of a task that came with an amendment.
func (s *scenario) addTask(n int) {
	name := func(id string) string { return cmp.Or(s.run.Renamed[id], id) }
	add := work.Add{Title: "a task", Phase: agentsig.PhaseImplementation, Actor: "operator", Run: "RUN", Unaudited: !s.run.Audits()}
	add.ID = s.run.Added[n-(s.run.Started.Tasks-len(s.run.Added))]
	add.Task = add.ID
	for id, blockers := range s.planned {
		for _, b := range blockers {
			if name(id) == add.ID {
				add.BlockedBy = append(add.BlockedBy, name(b))
			}
		}
	}
	s.record(delivery.Write{Item: "ITEM" + strings.TrimPrefix(add.Task, "T-"), Do: add})
}

// restart goes on with what a fold of all that was recorded gives, which is what is there.
func (s *scenario) restart() {
	was, items := s.run, s.items
	s.run, s.items = delivery.Run{}, map[string]work.Item{}
	for i, e := range s.log {
		s.fold(uint64(i+1), e)
	}
	if !reflect.DeepEqual(s.run, was) || !reflect.DeepEqual(s.items, items) {
		s.t.Errorf("after a restart, it is not as it was:\n%+v\n%+v", s.run, was)
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
	for _, c := range s.run.Commands(s.moment()) {
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
	s.log = append(s.log, e)
	s.fold(s.seq, e)
	if kind != delivery.PromptDelivered {
		fmt.Fprintln(s.out, delivery.Words(e, s.run.NameOf))
	}
}

func (s *scenario) fold(seq uint64, e ledger.Event) {
	var err error
	if e.Subject == "RUN" {
		err = s.run.Evolve(seq, e)
	} else if s.items[e.Subject], err = work.Evolve(s.items[e.Subject], seq, e); err == nil {
		err = s.run.EvolveItem(s.items[e.Subject], e)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// present says which machines there are. One is written as gpu1, or as gpu1/label=gpu/places=2/has=other/draining/blind/away, which has two
// places and no checks; unheard is one that nothing was ever heard of.
func (s *scenario) present(words []string) {
	s.machines = []delivery.Machine{}
	for _, w := range words {
		parts := strings.Split(w, "/")
		m := delivery.Machine{Name: parts[0], Agents: []string{"scripted"}, Checks: true}
		if m.Name == delivery.Home {
			m.Name = ""
		}
		for _, p := range parts[1:] {
			switch name, value, _ := strings.Cut(p, "="); name {
			case "label":
				m.Labels = append(m.Labels, value)
			case "places":
				m.Places = int(value[0] - '0')
			case "has":
				m.Agents = []string{value}
			case "draining":
				m.Draining = true
			case "blind":
				m.Checks = false
			case "away":
				m.Away = true
			case "unheard":
				m.Away, m.Agents = true, nil
			default:
				s.t.Fatalf("what is %q?", p)
			}
		}
		s.machines = append(s.machines, m)
	}
}

// push is the commit that a session hands in at its end, if it does.
func (s *scenario) push(session *delivery.Session, does bool) string {
	if !does || s.machines == nil || delivery.Reviewer(session.Role) {
		return ""
	}
	s.pushes++
	return fmt.Sprintf("c%06x%033d", s.pushes, 0)
}

// talk is the conversation that a session leaves: the one that it went on with, or its own.
func (s *scenario) talk(session string) *delivery.Conversation {
	if s.talks == 0 {
		return nil
	}
	c := delivery.Conversation{ID: strings.ReplaceAll(session, ".", "_"), Context: s.talks, Window: 100}
	if live := s.run.Sessions[session]; live != nil && live.Resumes != nil {
		c.ID = live.Resumes.Conversation.ID
	}
	return &c
}

// settle records what is due, ends sessions that are over, and says what is under
// way then.
func (s *scenario) settle() {
	for {
		if w, due := s.run.Next(s.moment()); due {
			s.record(w)
			continue
		}
		moved := false
		for _, c := range s.run.Commands(s.moment()) {
			switch c.Do {
			case delivery.DoStart:
				before := s.seq
				if role := c.Session.Role; role == agentsig.RoleCritic || role == agentsig.RoleAuditor {
					s.take(delivery.Shown{Session: c.Session.ID, Commit: s.commitOf(c.Session.Task), Tree: "7ee0000", Base: "0000000"})
				}
				moved = s.seq > before
			case delivery.DoAddTask:
				s.addTask(c.N)
				moved = true
			case delivery.DoEnd:
				s.take(delivery.End{Session: c.Session.ID, Ended: delivery.Ended{How: delivery.Done, Conversation: s.talk(c.Session.ID), Commit: s.push(c.Session, !s.cut)}})
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
	gates := map[string]string{}
	for _, c := range s.run.Commands(s.moment()) {
		if c.Do == delivery.DoGate {
			gates[c.ID] = c.Runner
		}
		switch {
		case c.Session != nil && c.Session.Waiting != "":
			all = append(all, fmt.Sprintf("%s %s waits for %s", c.Session.Task, c.Session.Role, c.Session.Waiting))
		case c.Session != nil && c.Session.Resumes != nil:
			var news []string
			for _, b := range s.run.Task(c.Session.Task).News(c.Session) {
				news = append(news, b.From)
			}
			all = append(all, fmt.Sprintf("%s %s goes on with %s, is told: %s", c.Session.Task, c.Session.Role, c.Session.Resumes.Conversation.ID, strings.Join(news, ", ")))
		case c.Session != nil:
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s", c.Session.Task, c.Session.Role)))
		case c.Task != nil:
			all = append(all, fmt.Sprintf("%s %s", c.Task.ID, c.Do))
		default:
			all = append(all, string(c.Do))
		}
		if c.Runner != "" {
			all[len(all)-1] += " on " + c.Runner
		}
	}
	s.gates = gates
	for _, t := range s.run.Tasks {
		if w := s.run.Why(t, s.moment()); w == delivery.WaitRunner {
			all = append(all, t.ID+" waits: "+w.Words(&s.run, t, s.moment()))
		}
	}
	slices.Sort(all)
	switch {
	case s.run.Finished != nil:
		return "the end"
	case s.run.WaitsForPerson(s.moment()):
		all = append(all, "waits for a person")
	case !s.run.Wake(s.now).IsZero():
		all = append(all, "until "+s.run.Wake(s.now).Format("15:04"))
	}
	return strings.Join(all, "; ")
}

// moment is what there is to decide by.
func (s *scenario) moment() delivery.Moment {
	n := map[string]int{}
	s.run.CountOn(n, s.run.Home)
	m := delivery.Moment{Now: s.now, Gates: s.gates}
	if s.machines != nil {
		m.Machines = delivery.Loaded(s.machines, n)
	}
	return m
}
