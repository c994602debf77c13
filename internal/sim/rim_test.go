package sim_test

import (
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// process is a session's process. It outlives a restart of the box.
type process struct {
	id      string
	role    agentsig.Role
	task    string
	request string
	asks    []delivery.Ask // what it has been told and not dealt with; "" is its first prompt
	turn    int
	reports int
	outbox  []message
	over    bool // it says nothing more but what is in its outbox
	killed  bool // it left no word of its end
	manner  manner
}

// message is kept until it is acknowledged.
type message struct {
	in    delivery.Input
	taken bool // the box has dealt with it: something came of it
}

func (p *process) send(in delivery.Input) { p.outbox = append(p.outbox, message{in: in}) }

func (p *process) end(how delivery.How, usage delivery.Usage) {
	if !p.over {
		p.over = true
		p.send(delivery.End{Session: p.id, Ended: delivery.Ended{How: how, Detail: "exit status 1", Usage: usage}})
	}
}

// carryOut does one of the commands, or two at once, or none.
func (w *world) carryOut() error {
	all := w.run.Commands()
	if w.chance(90) {
		all = slices.DeleteFunc(all, func(c delivery.Command) bool { return w.doing[c.ID] || w.settled(c) })
	}
	if len(all) == 0 {
		return nil
	}
	switch c := pick(w, all); {
	case w.chance(10):
		w.reached.add("world", "command lost")
	default:
		if err := w.do(c); err != nil {
			return err
		}
		if w.chance(8) {
			w.reached.add("world", "command doubled")
			return w.do(c)
		}
	}
	return nil
}

// do carries out a command.
func (w *world) do(c delivery.Command) error {
	if c.Do != delivery.DoStart {
		w.doing[c.ID] = true
	}
	switch c.Do {
	case delivery.DoAddTask:
		w.results = append(w.results, addTask{c.N})
	case delivery.DoStart:
		if w.processes[c.Session.ID] == nil {
			if shown, err := w.show(c.Session); err != nil || !shown {
				return err // the box was killed before it was started
			}
		}
		w.start(c.Session)
	case delivery.DoPrompt:
		if p := w.processes[c.Session.ID]; p != nil && !p.over && !p.killed {
			p.asks = append(p.asks, c.Session.Prompt.Ask)
			w.results = append(w.results, delivery.Prompted{Session: p.id, Prompt: c.Session.Prompt.ID})
		} else {
			delete(w.doing, c.ID)
		}
	case delivery.DoEnd:
		p := w.start(c.Session)
		if len(p.asks) > 0 && !p.over && !p.killed && w.chance(40) {
			w.turnOf(p) // it was about to speak
		}
		p.end(pick(w, []delivery.How{delivery.Done, delivery.Stopped, delivery.Crashed}), w.usage())
	case delivery.DoGate:
		b := w.branches[c.Task.ID]
		r := delivery.GateRan{Command: c.ID, Commit: b.commit, Passed: b.good, Checks: []work.Check{{Name: "test", Passed: b.good}}}
		if w.broken {
			r.Trouble = "the checks fail without the change too"
		}
		w.results = append(w.results, r)
	case delivery.DoMerge:
		w.merge(c)
	case delivery.DoPublish:
		w.results = append(w.results, delivery.Published{PullRequest: delivery.PullRequest{URL: "https://example.org/pull/1"}})
	case delivery.DoBaseline:
		w.baseline(c)
	case delivery.DoMergeRepair:
		w.mergeRepair(c)
	}
	return nil
}

// baseline runs the checks; in remediation, on what was committed for the repair.
func (w *world) baseline(c delivery.Command) {
	if m := w.run.Remediation; m.Stage == delivery.StageVerify && !m.Dropped && w.repair.commit != "" && !w.merged[w.repair.commit] {
		passed := w.repair.good && !w.broken
		w.judge.repairs[w.repair.commit] = true
		w.results = append(w.results, delivery.RepairRan{Command: c.ID, Repair: delivery.Repair{
			Commit: w.repair.commit, Base: repairBase, Files: 1, Names: []string{"Dockerfile"}, Checks: []work.Check{{Name: "test", Passed: passed}},
		}})
		return
	}
	b := delivery.Baseline{Commit: "abcdef0", Checks: []work.Check{{Name: "test", Passed: !w.broken}}}
	if w.broken && w.chance(30) {
		b.Checks, b.Trouble = nil, "no compiler"
	}
	w.results = append(w.results, delivery.BaselineRan{Command: c.ID, Baseline: b})
}

// repairBase is where every repair begins.
const repairBase = "abcdef0"

// mergeRepair merges the repair that a command names, unless the target has it already.
// Somebody may have gone on in the worktree meanwhile.
func (w *world) mergeRepair(c delivery.Command) {
	r := delivery.RepairMergeRan{Command: c.ID, Commit: c.Repair.Commit, Result: "fedcba8", Checks: []work.Check{{Name: "test", Passed: !w.broken}}}
	fails := w.broken && !w.run.Remediation.Declared
	switch fresh := !w.merged[c.Repair.Commit]; {
	case fresh && fails, fresh && !w.calm && (w.theme.conflicts && w.chance(80) || w.chance(10)):
		r.Result, r.Failed = "", "both change Dockerfile"
	default:
		w.merged[r.Commit] = true
		w.results = append(w.results, delivery.MergeChecked{Command: c.ID, Commit: r.Commit, Onto: "fedcba6", Tree: "fedcba5", Base: c.Repair.Base})
		if !w.calm && w.chance(5) { // a history that leads elsewhere
			w.results = append(w.results, delivery.MergeChecked{Command: c.ID, Commit: r.Commit, Onto: "fedcba6", Tree: "fedcba4", Base: "abcdef1"})
		}
	}
	if !w.calm && w.chance(5) {
		w.repair.commit = w.commit()
		other := r
		other.Commit = w.repair.commit // which is not what was reviewed
		w.results = append(w.results, other)
	}
	w.results = append(w.results, r)
}

// show records what a reviewer is given to look at.
func (w *world) show(s *delivery.Session) (bool, error) {
	if !s.Holds() || s.Role != agentsig.RoleCritic && s.Role != agentsig.RoleAuditor {
		return true, nil
	}
	commit := w.items[itemOf(s.Task)].Commit
	if commit == "" { // the operator led it past the gate
		commit = w.branches[s.Task].commit
	}
	return w.take(delivery.Shown{Session: s.ID, Commit: commit, Tree: treeOf(commit), Base: baseOf(commit)})
}

// treeOf is the tree of a commit.
func treeOf(commit string) string { return "7ee" + commit }

// baseOf is where the work of a commit begins.
func baseOf(commit string) string { return "ba5e" + commit }

// start makes the session's process, unless its file is there. One that was killed
// is found to be gone.
func (w *world) start(s *delivery.Session) *process {
	p := w.processes[s.ID]
	if p == nil {
		p = &process{id: s.ID, role: s.Role, task: s.Task, request: s.Request, asks: []delivery.Ask{""}, manner: w.mannerOf(s.Role)}
		w.processes[s.ID] = p
		w.order = append(w.order, s.ID)
		if !w.calm && w.chance(1) {
			p.end(delivery.Broken, delivery.Usage{})
		}
	}
	if p.killed {
		p.killed = false
		p.end(pick(w, []delivery.How{delivery.Crashed, delivery.Orphaned}), delivery.Usage{})
	}
	return p
}

func (w *world) usage() delivery.Usage {
	return delivery.Usage{InputTokens: int64(w.rand.IntN(60)), OutputTokens: int64(w.rand.IntN(30)), CostUSD: w.rand.Float64() / 2}
}

// merge merges what was audited, unless the target has it already.
func (w *world) merge(c delivery.Command) {
	commit := c.Task.Item.Commit
	if commit == "" { // the operator led it past the gate
		commit = w.branches[c.Task.ID].commit
	}
	r := delivery.MergeRan{Command: c.ID, Commit: commit, Tree: treeOf(commit), Result: "fedcba9"}
	switch fresh := !w.merged[commit] && !w.calm; {
	case fresh && (w.theme.conflicts && w.chance(80) || w.chance(5)):
		r.Result, r.Failed = "", "both change main.go"
	case fresh && w.chance(4):
		r.Result, r.Trouble = "", "the branch is checked out elsewhere"
	default:
		w.merged[commit] = true
		w.results = append(w.results, delivery.MergeChecked{Command: c.ID, Commit: commit, Onto: "fedcba8", Tree: "fedcba7", Base: c.Task.Item.Base()})
		if !w.calm && w.chance(5) { // a history that leads elsewhere
			w.results = append(w.results, delivery.MergeChecked{Command: c.ID, Commit: commit, Onto: "fedcba8", Tree: "fedcba6", Base: "ba5e000"})
		}
	}
	w.results = append(w.results, r)
}

// addTask stands for the result of the command that adds a task.
type addTask struct{ n int }

// finishOutside hands in a result of a command.
func (w *world) finishOutside() error {
	if len(w.results) == 0 {
		return nil
	}
	i := w.rand.IntN(len(w.results))
	in := w.results[i]
	w.results = append(w.results[:i:i], w.results[i+1:]...)
	if add, ok := in.(addTask); ok {
		if add.n != len(w.run.Tasks) || w.run.Finished != nil {
			return nil
		}
		e, err := work.Decide(work.Item{}, w.plan[add.n])
		if err != nil {
			return err
		}
		return w.append(itemOf(w.plan[add.n].Task), e)
	}
	result, ok := in.(delivery.Input)
	if !ok {
		return nil
	}
	m := message{in: result}
	done, err := w.hand(&m)
	if _, seen := in.(delivery.Touched); done && !seen && err == nil && !w.calm && w.chance(10) {
		w.strays = append(w.strays, m)
	}
	return err
}

// act lets a process take its turn.
func (w *world) act() bool {
	if len(w.order) == 0 {
		return false
	}
	from := w.rand.IntN(len(w.order))
	for i := range w.order {
		p := w.processes[w.order[(from+i)%len(w.order)]]
		if !p.over && !p.killed && len(p.asks) > 0 {
			w.turnOf(p)
			return true
		}
	}
	return false
}

// deliver brings one message to the box. What was dealt with before may change
// nothing.
func (w *world) deliver() (bool, error) {
	if len(w.strays) > 0 && !w.calm && w.chance(20) {
		i := w.rand.IntN(len(w.strays))
		_, err := w.hand(&w.strays[i])
		return true, err
	}
	if len(w.order) == 0 {
		return false, nil
	}
	from := w.rand.IntN(len(w.order))
	for i := range w.order {
		p := w.processes[w.order[(from+i)%len(w.order)]]
		if len(p.outbox) == 0 {
			continue
		}
		return true, w.deliverFrom(p)
	}
	return false, nil
}

func (w *world) deliverFrom(p *process) error {
	m := &p.outbox[0]
	if !w.calm && w.chance(8) {
		w.reached.add("world", "message lost")
		return nil
	}
	if done, err := w.hand(m); err != nil || !done {
		return err
	}
	if !w.calm && w.chance(10) {
		w.reached.add("world", "acknowledgement lost")
		return nil
	}
	if !w.calm && w.chance(10) {
		w.strays = append(w.strays, *m)
	}
	p.outbox = p.outbox[1:]
	return nil
}

// hand gives a message to the box. Something comes of it once.
func (w *world) hand(m *message) (done bool, err error) {
	if m.taken {
		return true, w.takeAgain(m.in)
	}
	before := len(w.record)
	done, err = w.take(m.in)
	m.taken = done && len(w.record) > before
	return done, err
}

// takeAgain hands in what the box has dealt with. A late result is all that can
// come of it: the record remembers only so many requests.
func (w *world) takeAgain(in delivery.Input) error {
	w.reached.add("world", "message doubled")
	writes, err := w.run.Decide(in, w.now)
	if err != nil {
		return err
	}
	for _, d := range writes {
		if end, ok := d.Do.(work.End); ok && !w.items[d.Item].Holds(end.Token) {
			if err := w.write(d); err != nil {
				return err
			}
			continue
		}
		return breaks("%T is handed in again, and leads to %s%T: %+v", in, d.Event.Type, d.Do, in)
	}
	return nil
}

// expire takes the lease of a session that was out of touch.
func (w *world) expire() error {
	for _, t := range w.run.Tasks {
		if t.Item.Lease != nil && w.chance(50) {
			e, err := work.Decide(t.Item, work.Expire{Token: t.Item.Lease.Token})
			if err != nil {
				return err
			}
			w.now = w.now.Add(10 * time.Minute)
			return w.append(t.Item.Subject, e)
		}
	}
	return nil
}

// noteHandled counts what an input was and whether anything came of it.
func (w *world) noteHandled(in delivery.Input, writes int) {
	switch in := in.(type) {
	case delivery.Turn:
		if writes > 0 {
			w.reached.add("signal", string(in.Verdict))
		} else {
			w.reached.add("world", "turn without effect")
		}
	case delivery.Note:
		if writes > 0 {
			w.reached.add("signal", string(in.Said.Signal))
		}
	case delivery.GateRan, delivery.MergeRan, delivery.BaselineRan, delivery.RepairRan, delivery.RepairMergeRan:
		if writes == 0 {
			w.reached.add("world", "result without effect")
		}
	}
}
