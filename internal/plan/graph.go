package plan

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// checkTasks says what is wrong between tasks, and fills in what they are
// blocked by.
func checkTasks(drafts []*draft, errs *Errors) {
	byName := map[string]*Task{} // by the id in lower case
	for _, d := range drafts {
		t := &d.task
		first := byName[strings.ToLower(t.ID)]
		switch {
		case t.ID == "":
		case first == nil:
			byName[strings.ToLower(t.ID)] = t
		case first.ID == t.ID:
			errs.add(t.Line, "there is a task %s on line %d already: give this one another id", t.ID, first.Line)
		default:
			errs.add(t.Line, "the id %s differs from %s on line %d in case only: give the task another id", t.ID, first.ID, first.Line)
		}
	}
	root := false
	var tasks []Task
	for _, d := range drafts {
		t := &d.task
		root = root || len(d.blockers) == 0
		for _, b := range d.blockers {
			other := byName[strings.ToLower(b.id)]
			switch {
			case b.id == t.ID:
				errs.add(b.line, "task %s is blocked by itself: take it out of Blocked By", t.ID)
			case other == nil:
				errs.add(b.line, "%s is blocked by %s, and there is no such task", t.name(), b.id)
			case other.ID != b.id:
				errs.add(b.line, "%s is blocked by %s, and there is no such task: did you mean %s?", t.name(), b.id, other.ID)
			default:
				t.BlockedBy = append(t.BlockedBy, b.id)
			}
		}
		tasks = append(tasks, *t)
	}
	g := newGraph(tasks)
	for _, cycle := range g.cycles() {
		errs.add(tasks[cycle[0]].Line, "tasks wait for each other: %s; one of them must not be blocked by the next", g.drawCycle(cycle))
	}
	if !root {
		errs.add(tasks[0].Line, "every task is blocked by another: there is none to begin with")
	}
}

// graph has tasks by their place in the plan.
type graph struct {
	tasks      []Task
	blockers   [][]int
	dependents [][]int
}

// newGraph leaves out blockers that are not in the plan.
func newGraph(tasks []Task) graph {
	g := graph{tasks, make([][]int, len(tasks)), make([][]int, len(tasks))}
	place := make(map[string]int, len(tasks))
	for i, t := range tasks {
		if _, ok := place[t.ID]; !ok {
			place[t.ID] = i
		}
	}
	for i, t := range tasks {
		for _, id := range t.BlockedBy {
			if b, ok := place[id]; ok {
				g.blockers[i] = append(g.blockers[i], b)
				g.dependents[b] = append(g.dependents[b], i)
			}
		}
	}
	return g
}

// waves returns the tasks by the earliest step that they can be started in, in
// the plan's order, without those that wait for a cycle.
func (g graph) waves() [][]int {
	waiting := make([]int, len(g.tasks))
	wave := make([]int, len(g.tasks)) // from 1; 0 is none
	var ready []int
	for i := range g.tasks {
		if waiting[i] = len(g.blockers[i]); waiting[i] == 0 {
			wave[i] = 1
			ready = append(ready, i)
		}
	}
	last := 0
	for len(ready) > 0 {
		i := ready[0]
		ready, last = ready[1:], wave[i]
		for _, d := range g.dependents[i] {
			if waiting[d]--; waiting[d] == 0 {
				wave[d] = wave[i] + 1
				ready = append(ready, d)
			}
		}
	}
	waves := make([][]int, last)
	for i, w := range wave {
		if w > 0 {
			waves[w-1] = append(waves[w-1], i)
		}
	}
	return waves
}

// cycles returns a shortest cycle for each group of tasks that wait for each
// other, from the group's first task on.
func (g graph) cycles() [][]int {
	group := g.groups()
	size := make([]int, len(g.tasks))
	for _, n := range group {
		size[n]++
	}
	var cycles [][]int
	for i, n := range group {
		if size[n] > 1 {
			size[n] = 0 // said once
			cycles = append(cycles, g.cycle(i, group))
		}
	}
	return cycles
}

// groups numbers the strongly connected components, after Tarjan.
func (g graph) groups() []int {
	const none = -1
	var (
		group  = make([]int, len(g.tasks))
		found  = make([]int, len(g.tasks)) // the order in which tasks were found, from 1
		low    = make([]int, len(g.tasks)) // the first that can be reached and has no group yet
		stack  []int
		groups int
		count  int
		visit  func(i int)
	)
	visit = func(i int) {
		count++
		found[i], low[i], group[i] = count, count, none
		stack = append(stack, i)
		for _, b := range g.blockers[i] {
			if found[b] == 0 {
				visit(b)
				low[i] = min(low[i], low[b])
			} else if group[b] == none {
				low[i] = min(low[i], found[b])
			}
		}
		if low[i] < found[i] {
			return
		}
		for group[i] == none {
			last := len(stack) - 1
			group[stack[last]] = groups
			stack = stack[:last]
		}
		groups++
	}
	for i := range g.tasks {
		if found[i] == 0 {
			visit(i)
		}
	}
	return group
}

// cycle returns a shortest way from a task to itself along what each is blocked
// by, within its group.
func (g graph) cycle(from int, group []int) []int {
	before := map[int]int{}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range g.blockers[queue[0]] {
			if _, ok := before[next]; !ok && group[next] == group[from] {
				before[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	way := []int{from}
	for i := before[from]; i != from; i = before[i] {
		way = append(way, i)
	}
	slices.Reverse(way[1:])
	return way
}

// drawCycle writes a -> b -> a, where each waits for the next.
func (g graph) drawCycle(cycle []int) string {
	const most = 12
	var b strings.Builder
	for n, i := range cycle {
		if n == most-1 && len(cycle) > most {
			fmt.Fprintf(&b, "(%d more) -> ", len(cycle)-n)
			break
		}
		b.WriteString(g.tasks[i].ID + " -> ")
	}
	return b.String() + g.tasks[cycle[0]].ID
}

// Waves returns the tasks by the earliest step that they can be started in, each
// step in the plan's order. It is meant for a plan that [Parse] accepted; tasks of
// a cycle are in no wave.
func (p Plan) Waves() [][]Task {
	places := newGraph(p.Tasks).waves()
	waves := make([][]Task, len(places))
	for w, wave := range places {
		for _, i := range wave {
			waves[w] = append(waves[w], p.Tasks[i])
		}
	}
	return waves
}

// Dependents returns for each task how many others wait for it, directly or not.
// It is meant for a plan that [Parse] accepted.
func (p Plan) Dependents() map[string]int {
	g := newGraph(p.Tasks)
	waves := g.waves()
	counts := make(map[string]int, len(p.Tasks))
	sets := make([][]uint64, len(p.Tasks)) // a bit for each task that waits
	for w := len(waves) - 1; w >= 0; w-- {
		for _, i := range waves[w] {
			sets[i] = make([]uint64, (len(p.Tasks)+63)/64)
			for _, d := range g.dependents[i] {
				sets[i][d/64] |= 1 << (d % 64)
				for word, set := range sets[d] {
					sets[i][word] |= set
				}
			}
			n := 0
			for _, word := range sets[i] {
				n += bits.OnesCount64(word)
			}
			counts[p.Tasks[i].ID] = n
		}
	}
	return counts
}
