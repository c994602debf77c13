package picture

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Task is a task of a plan.
type Task struct {
	ID, Title string
	Href      string   // where more of it is
	Waits     []string // for these tasks
	State     string   // in a few words
	Look      string   // a class: good, warn, bad, busy or none
	Over      bool     // nothing is left to do
}

// Graph is a plan, drawn: tasks in layers from left to right, each right of what it waits for.
type Graph struct {
	Width, Height int
	Nodes         []Node
	Edges         []Edge
	Critical      []string // the longest chain of tasks that are not over, in order
	Folded        int      // tasks that are over and not drawn, since there are too many
	Undrawn       bool     // there are too many for a drawing
}

// Node is a task's box.
type Node struct {
	Task
	X, Y, W, H int
	Critical   bool
}

// Short is as much of the title as there is room for.
func (n Node) Short() string { return safetext.Cut(safetext.Escape(n.Title), 20) }

// Edge leads from a task to one that waits for it.
type Edge struct {
	From, To int // the nodes
	Path     string
	Critical bool
}

// What fits.
const (
	maxNodes  = 150
	maxColumn = 12   // nodes in one column; a layer of more has several
	maxBends  = 1500 // places where long edges pass between nodes
)

// The sizes of a drawing, in pixels.
const (
	nodeWidth, nodeHeight = 176, 46
	nodeGap, columnGap    = 14, 52
	bendHeight            = 10
	margin                = 8
)

// slot is a place in a column: a node, or where an edge passes.
type slot struct {
	node   int // -1 of a bend
	weight float64
	before []int // slots of the column before that lead here
	x, y   int
}

func (s slot) height() int {
	if s.node < 0 {
		return bendHeight
	}
	return nodeHeight
}

// Draw places a plan's tasks. Edges that follow from others are left out. If there are too many tasks, those that are over are.
func Draw(tasks []Task) Graph {
	critical := criticalOf(tasks)
	g := Graph{}
	for _, i := range critical {
		g.Critical = append(g.Critical, tasks[i].ID)
	}
	drawn := tasks
	if len(drawn) > maxNodes {
		drawn = slices.DeleteFunc(slices.Clone(tasks), func(t Task) bool { return t.Over })
		g.Folded = len(tasks) - len(drawn)
	}
	if len(drawn) > maxNodes || len(drawn) == 0 {
		g.Undrawn, g.Folded = len(tasks) > 0, 0
		return g
	}
	g.place(drawn)
	return g
}

// waitsOf returns for which tasks each waits, as indices. What is no task, and what would wait for itself by a circle, is left out.
func waitsOf(tasks []Task) (waits [][]int, order []int) {
	at := map[string]int{}
	for i, t := range tasks {
		if _, ok := at[t.ID]; !ok {
			at[t.ID] = i
		}
	}
	waits = make([][]int, len(tasks))
	state := make([]int, len(tasks)) // 1 while it is looked at, 2 after that
	// Not a recursion: a plan may be one long chain.
	type visit struct{ task, next int }
	for first := range tasks {
		if state[first] != 0 {
			continue
		}
		path := []visit{{task: first}}
		state[first] = 1
		for len(path) > 0 {
			v := &path[len(path)-1]
			if v.next == len(tasks[v.task].Waits) {
				state[v.task] = 2
				order = append(order, v.task)
				path = path[:len(path)-1]
				continue
			}
			on, ok := at[tasks[v.task].Waits[v.next]]
			v.next++
			if !ok || state[on] == 1 || slices.Contains(waits[v.task], on) {
				continue
			}
			waits[v.task] = append(waits[v.task], on)
			if state[on] == 0 {
				state[on] = 1
				path = append(path, visit{task: on})
			}
		}
	}
	return waits, order
}

// criticalOf returns the longest chain of tasks that are not over, in order; of several the first in the plan.
func criticalOf(tasks []Task) (chain []int) {
	waits, order := waitsOf(tasks)
	length, before := make([]int, len(tasks)), make([]int, len(tasks))
	last := -1
	for _, i := range order {
		before[i] = -1
		if tasks[i].Over {
			continue
		}
		for _, w := range waits[i] {
			if length[w] > 0 && (before[i] < 0 || length[w] > length[before[i]] || length[w] == length[before[i]] && w < before[i]) {
				before[i] = w
			}
		}
		length[i] = 1
		if before[i] >= 0 {
			length[i] += length[before[i]]
		}
		if last < 0 || length[i] > length[last] || length[i] == length[last] && i < last {
			last = i
		}
	}
	for ; last >= 0; last = before[last] {
		chain = append(chain, last)
	}
	slices.Reverse(chain)
	return chain
}

// reduced leaves out what follows from the rest: who waits for B, which waits for A, waits for A.
func reduced(waits [][]int, order []int) [][]int {
	reach := make([]map[int]bool, len(waits)) // what each waits for, directly or not
	less := make([][]int, len(waits))
	for _, i := range order {
		reach[i] = map[int]bool{}
		for _, w := range waits[i] {
			implied := slices.ContainsFunc(waits[i], func(other int) bool { return reach[other][w] })
			if !implied {
				less[i] = append(less[i], w)
			}
		}
		for _, w := range waits[i] {
			reach[i][w] = true
			for far := range reach[w] {
				reach[i][far] = true
			}
		}
	}
	return less
}

// place gives each task its box, and each edge its path.
func (g *Graph) place(tasks []Task) {
	waits, order := waitsOf(tasks)
	waits = reduced(waits, order)
	layer, last := make([]int, len(tasks)), 0
	for _, i := range order {
		for _, w := range waits[i] {
			layer[i] = max(layer[i], layer[w]+1)
		}
		last = max(last, layer[i])
	}
	columns := make([][]slot, last+1)
	where := make([]int, len(tasks)) // the slot of each in its layer
	for i := range tasks {
		where[i] = len(columns[layer[i]])
		columns[layer[i]] = append(columns[layer[i]], slot{node: i})
	}
	type edge struct {
		from, to int
		through  []int // the slots of its bends, from layer[from]+1 on
	}
	var edges []edge
	bends := 0
	for i := range tasks {
		for _, w := range waits[i] {
			e, at := edge{from: w, to: i}, where[w]
			if long := layer[i] - layer[w] - 1; bends+long <= maxBends {
				bends += long
				for l := layer[w] + 1; l < layer[i]; l++ {
					columns[l] = append(columns[l], slot{node: -1, before: []int{at}})
					at = len(columns[l]) - 1
					e.through = append(e.through, at)
				}
			}
			if len(e.through) == layer[i]-layer[w]-1 {
				s := &columns[layer[i]][where[i]]
				s.before = append(s.before, at)
			}
			edges = append(edges, e)
		}
	}
	xs := g.arrange(columns)
	onChain := map[string]int{}
	for i, id := range g.Critical {
		onChain[id] = i + 1
	}
	for i, t := range tasks {
		s := columns[layer[i]][where[i]]
		g.Nodes = append(g.Nodes, Node{Task: t, X: s.x, Y: s.y, W: nodeWidth, H: nodeHeight, Critical: onChain[t.ID] > 0})
	}
	for _, e := range edges {
		from, to := g.Nodes[e.from], g.Nodes[e.to]
		x, y := from.X+nodeWidth, from.Y+nodeHeight/2
		path := fmt.Sprintf("M%d %d", x, y)
		lead := func(tx, ty int) {
			path += fmt.Sprintf("C%d %d %d %d %d %d", x+columnGap/2, y, tx-columnGap/2, ty, tx, ty)
			x, y = tx, ty
		}
		for l, s := range e.through {
			bend := columns[layer[e.from]+1+l][s]
			left, right := xs[layer[e.from]+1+l][0], xs[layer[e.from]+1+l][1]
			lead(left, bend.y+bendHeight/2)
			path += fmt.Sprintf("H%d", right)
			x = right
		}
		lead(to.X, to.Y+nodeHeight/2)
		critical := onChain[from.ID] > 0 && onChain[to.ID] == onChain[from.ID]+1
		g.Edges = append(g.Edges, Edge{From: e.from, To: e.to, Path: path, Critical: critical})
	}
}

// arrange orders the slots of each layer by those that lead to them, and places them. It returns from where to where each layer is.
func (g *Graph) arrange(columns [][]slot) (xs [][2]int) {
	orders := make([][]int, len(columns)) // slots, from above
	rank := make([]map[int]int, len(columns))
	for l, slots := range columns {
		rank[l] = map[int]int{}
		for i := range slots {
			orders[l] = append(orders[l], i)
			slots[i].weight = float64(i)
			if n := len(slots[i].before); n > 0 {
				sum := 0
				for _, b := range slots[i].before {
					sum += rank[l-1][b]
				}
				slots[i].weight = float64(sum) / float64(n)
			}
		}
		slices.SortStableFunc(orders[l], func(a, b int) int { return cmp.Compare(slots[a].weight, slots[b].weight) })
		for at, i := range orders[l] {
			rank[l][i] = at
		}
	}
	x, heights := margin, make([]int, len(columns))
	for l, slots := range columns {
		top, nodes, left := margin, 0, x
		for _, i := range orders[l] {
			if slots[i].node >= 0 {
				if nodes == maxColumn {
					top, nodes, x = margin, 0, x+nodeWidth+nodeGap
				}
				nodes++
			}
			slots[i].x, slots[i].y = x, top
			top += slots[i].height() + nodeGap
			heights[l] = max(heights[l], top-nodeGap+margin)
		}
		xs = append(xs, [2]int{left, x + nodeWidth})
		g.Height = max(g.Height, heights[l])
		x += nodeWidth + columnGap
	}
	g.Width = x - columnGap + margin
	for l, slots := range columns { // each layer in the middle
		for i := range slots {
			slots[i].y += (g.Height - heights[l]) / 2
		}
	}
	return xs
}
