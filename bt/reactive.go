package bt

import "fmt"

// reactive ticks children from the first on, until one is RUNNING or has the deciding
// status. One behind it that is RUNNING from before is given up.
func (r *Run) reactive(n *node, decides Status) Status {
	for i, child := range n.children {
		if r.states[child].status.Finished() {
			r.reset(child)
		}
		status := r.tick(child)
		if r.broken != nil {
			return status
		}
		if status == Running || status == decides {
			for _, later := range n.children[i+1:] {
				r.passOver(later)
			}
			return status
		}
	}
	return invert(decides)
}

// passOver gives up a child that is RUNNING below a node that may go on without it, which
// the trace says.
func (r *Run) passOver(child int32) {
	s := &r.states[child]
	if s.status != Running {
		return
	}
	if entry := r.enter(); entry >= 0 {
		r.entries[entry] = Entry{Node: int(child), Elapsed: r.elapsed - s.since, Note: "given up"}
	}
	r.halt(child)
}

// choose ticks the child for the value that a key has now. Another one that is RUNNING from
// before is given up.
func (r *Run) choose(at int32, n *node, s *state) (Status, string) {
	value := r.get(at, n.Key)
	chosen := n.caseOf(value)
	if before := int(s.index) - 1; before >= 0 && before != chosen {
		r.passOver(n.children[before])
	}
	s.index = int32(chosen) + 1
	if chosen < 0 {
		return Failure, fmt.Sprintf("there is no case for %s", shown(value))
	}
	return r.tick(n.children[chosen]), ""
}

// caseOf returns the number of the child for a value, or -1.
func (n *Node) caseOf(value any) int {
	for i, is := range n.Cases {
		if same(is, value) {
			return i
		}
	}
	if len(n.Children) > len(n.Cases) {
		return len(n.Cases)
	}
	return -1
}

// same compares a case with a value. Numbers are the same if they are equal, with a point
// or without.
func same(is, value any) bool {
	switch is := is.(type) {
	case string:
		v, ok := value.(string)
		return ok && v == is
	case bool:
		v, ok := value.(bool)
		return ok && v == is
	}
	x, ok := number(is)
	y, isNumber := number(value)
	return ok && isNumber && x == y
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// shown is a value in a note.
func shown(value any) string {
	const columns = 40
	d := &clipped{most: columns}
	d.value(value)
	return d.text()
}
