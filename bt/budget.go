package bt

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Spend says that the leaf has used something up, beyond what it said before. It counts
// against each budget that the leaf stands below; what is less than 0 does not count, nor
// does what is said in Halt.
func (c *Context) Spend(s Spent) {
	if c.halted || c.restoring {
		return
	}
	c.spent = c.spent.plus(s)
	if c.run == nil {
		return
	}
	for b := c.run.program.nodes[c.node].budget; b >= 0; b = c.run.program.nodes[b].budget {
		x := &c.run.extras[b]
		x.spent = x.spent.plus(s)
	}
}

// plus adds what was spent, as far as it can be counted.
func (s Spent) plus(more Spent) Spent {
	tokens, money := max(more.Tokens, 0), max(more.Money, 0)
	s.Tokens += min(tokens, math.MaxInt-s.Tokens)
	s.Money += min(money, math.MaxInt64-s.Money)
	return s
}

// exceeded says by what a budget is exceeded, or nothing.
func (b Budget) exceeded(s Spent) string {
	switch {
	case b.Tokens > 0 && s.Tokens > b.Tokens:
		return fmt.Sprintf("%d of %d tokens were used", s.Tokens, b.Tokens)
	case b.Money > 0 && s.Money > b.Money:
		return fmt.Sprintf("%s of %s were spent", amount(s.Money), amount(b.Money))
	}
	return ""
}

// overspent gives up a leaf that stands below a budget that is exceeded, and says so.
func (r *Run) overspent(at int32) string {
	for b := r.program.nodes[at].budget; b >= 0; b = r.program.nodes[b].budget {
		if r.program.nodes[b].Budget.exceeded(r.extras[b].spent) != "" {
			r.haltLeaf(at)
			return "nothing is left of its budget"
		}
	}
	return ""
}

// budget fails as soon as more was spent below it than may be, whatever its child says, and
// when a child is still RUNNING at the end of the time.
func (r *Run) budget(at int32, n *node, s *state, fresh bool) (Status, string) {
	x, child := &r.extras[at], n.children[0]
	if fresh {
		x.spent = Spent{}
	}
	status := r.tick(child)
	if r.broken != nil {
		return Failure, ""
	}
	note := n.Budget.exceeded(x.spent)
	if end := s.since + n.Budget.Time; note == "" && status == Running && n.Budget.Time > 0 {
		if r.elapsed < end {
			r.due(end)
		} else {
			note = fmt.Sprintf("it took longer than %v", n.Budget.Time)
		}
	}
	if note == "" {
		return status, ""
	}
	if status == Running {
		r.halt(child)
	}
	return Failure, note
}

// text is what a budget allows.
func (b Budget) text() string {
	var parts []string
	if b.Tokens > 0 {
		parts = append(parts, plural(b.Tokens, "token", "tokens"))
	}
	if b.Money > 0 {
		parts = append(parts, "money "+amount(b.Money))
	}
	if b.Time > 0 {
		parts = append(parts, exactly(b.Time))
	}
	return strings.Join(parts, ", ")
}

// amount writes millionths as a decimal number.
func amount(millionths int64) string {
	const unit = 1_000_000
	whole, rest := strconv.FormatInt(millionths/unit, 10), millionths%unit
	if rest == 0 {
		return whole
	}
	return whole + "." + strings.TrimRight(fmt.Sprintf("%06d", rest), "0")
}

// check says what is wrong with a budget.
func (b Budget) check() string {
	switch {
	case b.Tokens < 0 || b.Money < 0 || b.Time < 0 || b.Time > maxTime:
		return "tokens, money and time are 0 or more, the time at most a year"
	case b == Budget{}:
		return "it needs tokens, money or a time"
	}
	return ""
}
