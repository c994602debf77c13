package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// The world carries out the orders.
var _ order.Runner = (*world)(nil)

// errand is an order under way. It waits in a goroutine of the box's for what the world has it do.
type errand struct {
	order.Order
	ctx     context.Context
	steps   chan step
	begun   bool  // what it is for is done, but for what is to be handed in
	todo    []job // what is to be handed in
	allowed bool  // by the last permit
	again   bool  // the order was given before
	known   bool  // the world has counted it
}

// step is what an errand does next, and whether it is over then.
type step func(context.Context) (over bool, err error)

// job is something that an errand has to hand in, or to get a permit for.
type job struct {
	in   delivery.Input
	then func() // of a permit
}

var errOrder = errors.New("it could not be carried out")

// CarryOut registers an order and does what the world says, until that is all or ctx ends.
func (w *world) CarryOut(ctx context.Context, o order.Order) error {
	e := &errand{Order: o, ctx: ctx, steps: make(chan step)}
	if s := o.Session; o.Do == delivery.DoStart && s.Task != "" && !slices.ContainsFunc(o.Plan.Tasks, func(t plan.Task) bool { return t.ID == s.Task }) {
		return fmt.Errorf("the plan has no %s", s.Task)
	}
	w.mu.Lock()
	if before := w.errands[o.ID]; before != nil && before.ctx.Err() == nil {
		w.doubled = o.ID
	}
	e.again = w.again[o.ID]
	w.errands[o.ID] = e
	w.mu.Unlock()
	cancelled, err := e.follow(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.errands[o.ID] == e {
		delete(w.errands, o.ID)
	}
	w.again[o.ID] = true
	switch {
	case cancelled:
	case err != nil:
		w.failed[o.ID] = now()
	default:
		w.done[o.ID] = true
	}
	return err
}

func (e *errand) follow(ctx context.Context) (cancelled bool, err error) {
	for {
		select {
		case do := <-e.steps:
			if over, err := do(ctx); over {
				return ctx.Err() != nil, err
			}
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
}

// send has an errand do something, and waits until all that follows is done.
func (w *world) send(e *errand, do step) error {
	e.steps <- do
	return w.wait()
}

// goesOn reports whether an errand is still under way.
func (w *world) goesOn(e *errand) bool { return w.errands[e.ID] == e }

// underWay returns the errands that something is true of, in the order of their names.
func (w *world) underWay(is func(*errand) bool) (all []*errand) {
	for _, id := range slices.Sorted(maps.Keys(w.errands)) {
		if e := w.errands[id]; is(e) {
			all = append(all, e)
		}
	}
	return all
}

// waits reports whether there is something to do for an errand.
func (w *world) waits(e *errand) bool {
	if e.begun || w.fleet.away[e.Runner] {
		return false
	}
	switch e.Do {
	case delivery.DoStart:
		p := w.processes[e.Session.ID]
		return p == nil || p.killed
	case delivery.DoPrompt:
		p := w.processes[e.Session.ID]
		return p != nil && !p.over && !p.killed
	}
	return true
}

// carryOut does one of the orders, or fails to.
func (w *world) carryOut() error {
	all := w.underWay(w.waits)
	if len(all) == 0 {
		return nil
	}
	e := pick(w, all)
	if w.chance(10) {
		return w.failOrder(e)
	}
	return w.do(e)
}

// failOrder says that an order could not be carried out.
func (w *world) failOrder(e *errand) error {
	w.reached.add("world", "order failed")
	w.tell("     %s fails", e.ID)
	return w.send(e, func(context.Context) (bool, error) { return true, errOrder })
}

// do carries out an order, up to what is to be handed in.
func (w *world) do(e *errand) error {
	w.tell("     %s is carried out", e.ID)
	switch e.Do {
	case delivery.DoStart:
		return w.doStart(e)
	case delivery.DoPrompt:
		p := w.processes[e.Session.ID]
		p.asks = append(p.asks, e.Session.Prompt.Ask)
		e.todo = []job{{in: delivery.Prompted{Session: p.id, Prompt: e.Session.Prompt.ID}}}
	case delivery.DoEnd:
		w.doEnd(e)
	case delivery.DoGate:
		b := w.checked(e)
		r := delivery.GateRan{Command: e.ID, Runner: e.Runner, Commit: b.commit, Passed: b.good, Checks: []work.Check{{Name: "test", Passed: b.good}}}
		if r.Files = new(1); b.same {
			r.Files = new(0)
		}
		if w.broken {
			r.Trouble = "the checks fail without the change too"
		}
		e.todo = []job{{in: r}}
	case delivery.DoMerge:
		w.merge(e)
	case delivery.DoPublish:
		e.todo = []job{{in: delivery.Published{PullRequest: delivery.PullRequest{URL: "https://example.org/pull/1"}}}}
	case delivery.DoBaseline:
		e.todo = []job{{in: w.baseline(e)}}
	case delivery.DoMergeRepair:
		w.mergeRepair(e)
	}
	e.begun = true
	return nil
}

// doStart starts a session, after it is recorded what a reviewer is given to look at, and stays with it. One that was
// killed is found to be gone.
func (w *world) doStart(e *errand) error {
	s := e.Session
	if w.processes[s.ID] == nil && s.Holds() && (s.Role == agentsig.RoleCritic || s.Role == agentsig.RoleAuditor) {
		commit := e.Run.Task(s.Task).Item.Commit
		if commit == "" { // the operator led it past the gate
			commit = w.branches[s.Task].commit
		}
		e.todo = []job{{in: delivery.Shown{Session: s.ID, Commit: commit, Tree: treeOf(commit), Base: baseOf(commit)}}}
		if err := w.advance(e, true); err != nil || !w.goesOn(e) {
			return err
		}
	}
	w.start(s)
	return nil
}

// doEnd ends a session, and stays until that is recorded.
func (w *world) doEnd(e *errand) {
	if w.processes[e.Session.ID] == nil && w.chance(50) { // it was never started
		e.todo = []job{{in: delivery.End{Session: e.Session.ID, Ended: delivery.Ended{How: delivery.Stopped}}}}
		return
	}
	p := w.start(e.Session)
	if len(p.asks) > 0 && !p.over && !p.killed && w.chance(40) {
		w.turnOf(p) // it was about to speak
	}
	p.end(pick(w, []delivery.How{delivery.Done, delivery.Stopped, delivery.Crashed}), w.usage())
}

// baseline runs the checks; in remediation, on what was committed for the repair.
func (w *world) baseline(e *errand) delivery.Input {
	if m := e.Run.Remediation; m.Stage == delivery.StageVerify && !m.Dropped && w.repair.commit != "" && !w.merged[w.repair.commit] {
		passed := w.repair.good && !w.broken
		w.judge.repairs[w.repair.commit] = true
		return delivery.RepairRan{Command: e.ID, Repair: delivery.Repair{
			Commit: w.repair.commit, Base: repairBase, Files: 1, Names: []string{"Dockerfile"}, Checks: []work.Check{{Name: "test", Passed: passed}},
		}}
	}
	b := delivery.Baseline{Commit: "abcdef0", Checks: []work.Check{{Name: "test", Passed: !w.broken}}}
	if w.broken && w.chance(30) {
		b.Checks, b.Trouble = nil, "no compiler"
	}
	return delivery.BaselineRan{Command: e.ID, Baseline: b}
}

// repairBase is where every repair begins.
const repairBase = "abcdef0"

// mergeRepair merges the repair that an order names, unless the target has it already.
// Somebody may have gone on in the worktree meanwhile.
func (w *world) mergeRepair(e *errand) {
	r := delivery.RepairMergeRan{Command: e.ID, Commit: e.Repair.Commit, Result: "fedcba8", Checks: []work.Check{{Name: "test", Passed: !w.broken}}}
	if !w.calm && w.chance(5) {
		w.repair.commit = w.commit()
		other := r
		other.Commit = w.repair.commit // which is not what was reviewed
		e.todo = append(e.todo, job{in: other})
	}
	fails := w.broken && !e.Run.Remediation.Declared
	if fresh := !w.merged[r.Commit]; fresh && fails || fresh && !w.calm && (w.theme.conflicts && w.chance(80) || w.chance(10)) {
		r.Result, r.Failed = "", "both change Dockerfile"
		e.todo = append(e.todo, job{in: r})
		return
	}
	w.permit(e, delivery.MergeChecked{Commit: r.Commit, Onto: "fedcba6", Tree: "fedcba5", Base: e.Repair.Base}, "abcdef1", func(allowed bool) delivery.Input {
		if !allowed {
			r.Result, r.Failed = "", "the merge is not due any more"
		}
		return r
	})
}

// merge merges what was audited, unless the target has it already.
func (w *world) merge(e *errand) {
	commit := e.Task.Item.Commit
	if commit == "" { // the operator led it past the gate
		commit = w.branches[e.Task.ID].commit
	}
	r := delivery.MergeRan{Command: e.ID, Commit: commit, Tree: treeOf(commit), Result: "fedcba9"}
	switch fresh := !w.merged[commit] && !w.calm; {
	case fresh && (w.theme.conflicts && w.chance(80) || w.chance(5)):
		r.Result, r.Failed = "", "both change main.go"
	case fresh && w.chance(4):
		r.Result, r.Trouble = "", "the branch is checked out elsewhere"
	case fresh && w.chance(2): // it does not ask
	default:
		if fresh && w.chance(10) { // somebody else moves it
			w.tip = w.commit()
		}
		w.permit(e, delivery.MergeChecked{Commit: commit, Onto: w.tip, Tree: "fedcba7", Base: e.Task.Item.Base(), Checked: "fedcba3"}, "ba5e000", func(allowed bool) delivery.Input {
			if !allowed {
				r.Result, r.Trouble = "", "the merge is not due any more"
			}
			return r
		})
		return
	}
	e.todo = []job{{in: r}}
}

// permit has an errand ask for a merge, which it makes if that is allowed. Sometimes it asks as well for one whose
// history leads elsewhere.
func (w *world) permit(e *errand, m delivery.MergeChecked, elsewhere string, result func(allowed bool) delivery.Input) {
	m.Command = e.ID
	if !w.calm && w.chance(5) {
		other := m
		other.Tree, other.Base = "fedcba4", elsewhere
		e.todo = append(e.todo, job{in: other, then: func() {
			if e.allowed && w.violated == nil {
				w.violated = breaks("the merge of %s is allowed from %s", other.Commit, other.Base)
			}
		}})
	}
	e.todo = append(e.todo, job{in: m, then: func() {
		if e.allowed && e.Run.Digest != w.run.Digest && w.violated == nil {
			w.violated = breaks("the merge of %s is allowed by the checks of another plan", m.Commit)
		}
		if e.allowed {
			w.merged[m.Commit] = true
		}
		e.todo = append(e.todo, job{in: result(e.allowed)})
	}})
}

// treeOf is the tree of a commit.
func treeOf(commit string) string { return "7ee" + commit }

// baseOf is where the work of a commit begins.
func baseOf(commit string) string { return "ba5e" + commit }

// advance has an errand hand in the next of what it has to. It stays under way after the last, or ends.
func (w *world) advance(e *errand, stays bool) error {
	next := e.todo[0]
	e.todo = e.todo[1:]
	if checked, ok := next.in.(delivery.MergeChecked); ok {
		err := w.send(e, func(ctx context.Context) (bool, error) {
			p, _, err := w.conductor.Permit(ctx, e.Run.Subject, checked)
			e.allowed = err == nil && p.Seq != 0 && p.Commit == checked.Commit && p.Onto == checked.Onto && p.Tree == checked.Tree && p.Base == checked.Base
			return err != nil, err
		})
		if err == nil && w.goesOn(e) {
			next.then()
		}
		return err
	}
	m, err := w.prepare(next.in)
	if err != nil {
		return err
	}
	last := len(e.todo) == 0 && !stays
	var fails error
	if last && !w.calm && w.chance(5) {
		fails = errOrder
		w.reached.add("world", "order failed")
	}
	w.excused = false
	var refused error
	err = w.send(e, func(ctx context.Context) (bool, error) {
		if refused = w.conductor.HandIn(ctx, e.Run.Subject, next.in); refused != nil {
			return true, refused
		}
		return last, fails
	})
	switch {
	case err != nil:
		return err
	case refused != nil && !w.excused:
		return breaks("%T is refused: %T", next.in, refused)
	case refused == nil && !w.calm && w.chance(10):
		w.strays = append(w.strays, m)
	}
	return nil
}

// finishOutside has an errand hand in a result, or hands in something that was seen.
func (w *world) finishOutside() (bool, error) {
	all := w.underWay(func(e *errand) bool { return len(e.todo) > 0 && !w.fleet.away[e.Runner] })
	n := len(all) + len(w.loose)
	if n == 0 {
		return false, nil
	}
	if i := w.rand.IntN(n); i < len(all) {
		if !w.calm && w.chance(4) {
			return true, w.failOrder(all[i]) // after all was done
		}
		return true, w.advance(all[i], false)
	}
	in := w.loose[0]
	w.loose = w.loose[1:]
	w.record.said[delivery.CheckoutTouched]++
	_, err := w.hand(&message{in: in})
	return true, err
}

// Head returns where the user's checkout is.
func (w *world) Head(context.Context) (branch, commit string, err error) {
	return "main", "abcdef0", nil
}

// Ready reports that runs can be carried out.
func (w *world) Ready() error { return nil }

// Unprotected says what is not protected.
func (w *world) Unprotected() []string { return w.unprotected }

// Root is the user's checkout.
func (w *world) Root() string { return "/repo" }

// Free reports that there are no branches of tasks.
func (w *world) Free(context.Context, string) (bool, error) { return true, nil }

// MakeBranch makes the branch that work is merged to.
func (w *world) MakeBranch(_ context.Context, branch, _ string) (bool, error) {
	made := !w.taken[branch]
	w.taken[branch] = true
	return made, nil
}

// Begin notes that a run may leave something.
func (w *world) Begin(_ context.Context, subject, _ string, _ bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marked[subject] = true
	return nil
}

// Resume looks at nothing.
func (w *world) Resume(context.Context, bool, ...string) error { return nil }

// Finished notes that nothing is left of a run.
func (w *world) Finished(ctx context.Context, r delivery.Run) {
	if ctx.Err() == nil {
		w.Unmark(r.Subject)
	}
}

// Marked returns the runs that may have left something.
func (w *world) Marked(func() []string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.marked)), nil
}

// Unmark notes that a run has left nothing.
func (w *world) Unmark(subject string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.marked, subject)
}

// Again says to a session what it has not answered.
func (w *world) Again(s delivery.Session) error {
	if p := w.processes[s.ID]; p != nil && !p.over && !p.killed {
		p.asks = append(p.asks, s.Prompt.Ask)
	}
	return nil
}

// TurnEnded is of no interest.
func (w *world) TurnEnded(string, string) {}

// Gone is of no interest.
func (w *world) Gone(string) {}

// Alive returns the sessions whose processes run. Those that were told to stop do so, unless they are stubborn.
func (w *world) Alive() (alive []string) {
	for _, id := range w.order {
		p := w.processes[id]
		if p.over || p.killed {
			continue
		}
		told, _, _ := w.conductor.Mail().Next(id)
		if !p.stubborn && slices.ContainsFunc(told, func(c api.SessionCommand) bool { return c.Kind == api.CommandStop }) {
			p.end(delivery.Stopped, w.usage())
			continue
		}
		alive = append(alive, id)
	}
	return alive
}

// Look finds that nothing was changed.
func (w *world) Look(string, string, string, string, string) <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// Evidence is never named.
func (w *world) Evidence(string, string, int64) ([]byte, error) { return nil, fs.ErrNotExist }

// Distrust finds nothing wrong.
func (w *world) Distrust(string, string) (string, error) { return "", nil }

// AcceptFollowed is of no interest.
func (w *world) AcceptFollowed() error { return nil }

// LeaveFollowed is of no interest.
func (w *world) LeaveFollowed(string) {}
