package bt

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/safetext"
)

// How many columns a part of a drawing takes at most.
const (
	nameColumns   = 40
	detailColumns = 72
	noteColumns   = 80
	longColumns   = 500 // what shows when one points at a node, a line of it
)

// Mark takes the trace of a further tick into marks, and returns them: what was last seen
// of each node, by its index. It begins with nil. A node that was not ticked since what it
// stands in began is FRESH; one that was given up stays RUNNING below one that has finished.
func (p *Program) Mark(marks, entries []Entry) []Entry {
	for i := len(marks); i < len(p.nodes); i++ {
		marks = append(marks, Entry{Node: i})
	}
	for _, e := range entries {
		if marks[e.Node].Status.Finished() || e.Status == Fresh {
			for i := e.Node + 1; i < int(p.nodes[e.Node].end); i++ {
				marks[i] = Entry{Node: i}
			}
		}
		if e.Status == Fresh { // it was given up
			e = Entry{Node: e.Node}
		}
		marks[e.Node] = e
	}
	return marks
}

// Draw writes the tree as text, a node a line. With marks, which [Program.Mark] makes, each
// line begins with the node's status and how long it took; one that is FRESH has neither.
// Paint, if there is one, may put colour around the word of a status. Whatever the tree's
// names hold, the text has no control characters but its newlines.
func (p *Program) Draw(w io.Writer, marks []Entry, paint func(s Status, word string) string) error {
	out := bufio.NewWriter(w)
	times, widest := make([]string, len(marks)), 0
	for i, m := range marks {
		if took := elapsed(m.Elapsed); took != "" {
			times[i] = " " + took
			widest = max(widest, len(times[i]))
		}
	}
	if paint == nil {
		paint = func(_ Status, word string) string { return word }
	}
	margin := ""
	if len(marks) > 0 {
		margin = strings.Repeat(" ", len("SUCCESS")+widest+2)
	}
	fmt.Fprintln(out, margin+p.heading())
	var last []bool // for each node on the way down, whether it is its parent's last child
	for i := range p.nodes {
		n := &p.nodes[i]
		last = append(last[:n.depth], n.parent < 0 || n.end == p.nodes[n.parent].end)
		mark := Entry{}
		if i < len(marks) {
			mark = marks[i]
			if mark.Status == Fresh {
				fmt.Fprint(out, margin)
			} else {
				fmt.Fprintf(out, "%s%*s  ", paint(mark.Status, mark.Status.String()), widest, times[i])
			}
		}
		for _, end := range last[:n.depth] {
			fmt.Fprint(out, either(end, "   ", "│  "))
		}
		fmt.Fprintln(out, either(last[n.depth], "└─", "├─"), n.text(mark.Note))
	}
	return out.Flush()
}

func either(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// heading is the tree's name, and what it says of itself.
func (p *Program) heading() string {
	name, description := safetext.Cut(p.name, nameColumns), safetext.Cut(firstLine(p.description), noteColumns)
	if description == "" {
		return name
	}
	return name + ": " + description
}

// text is a node's line.
func (n *Node) text(note string) string {
	text := string(n.Kind)
	if name := safetext.Cut(n.ownName(), nameColumns); name != "" {
		text += " " + name
	}
	if detail := n.detail(detailColumns); detail != "" {
		text += "  " + detail
	}
	if note != "" {
		text += ": " + safetext.Cut(firstLine(note), noteColumns)
	}
	return text
}

// ownName is what a node is called, besides its kind.
func (n *Node) ownName() string {
	if n.Kind == KindSubtree {
		return n.Subtree
	}
	return n.Name
}

// detail says in so many columns what a node is set to. A $ stands before the key of a
// blackboard.
func (n *Node) detail(columns int) string {
	d := &clipped{most: columns}
	switch n.Kind {
	case KindAction, KindCondition:
		fn := n.Fn[strings.LastIndexByte(n.Fn, '.')+1:]
		if len(n.Args) > 0 || fn != strings.ReplaceAll(n.Name, "-", "_") {
			d.call(fn, n.Args, nil)
		}
	case KindParallel:
		d.add(either(n.Need == 0, "all", fmt.Sprint(n.Need)) + fmt.Sprintf(" of %d", len(n.Children)))
	case KindForEach:
		d.add("$" + n.Item + " in $" + n.List)
		if n.Min > 0 {
			d.add(fmt.Sprintf(", at least %d", n.Min))
		}
		d.add(either(n.ContinueOnFailure, ", continues on failure", ""))
	case KindSwitch:
		d.add("$" + n.Key + ":")
		for i, is := range n.Cases {
			d.add(either(i > 0, " | ", " "))
			d.value(is)
		}
		d.add(either(len(n.Children) > len(n.Cases), " | other", ""))
	case KindBudget:
		d.add(n.Budget.text())
	case KindSubtree:
		if len(n.Ports) > 0 {
			d.call("", nil, n.Ports)
		}
	case KindTimeout, KindCooldown:
		d.add(exactly(n.Duration))
	case KindRetry:
		d.add(plural(n.Retries, "retry", "retries"))
		if n.Backoff > 0 {
			d.add(", first after " + exactly(n.Backoff))
		}
	case KindRepeat:
		d.add(n.rounds())
	case KindLLMCall:
		d.llm(*n.LLM)
	case KindTool:
		d.call(n.Tool.Tool, n.Tool.Args, n.Tool.From)
		if n.Tool.Result != "" {
			d.add(" → $" + n.Tool.Result)
		}
	case KindScript:
		d.add(plural(1+strings.Count(strings.TrimSpace(n.Script.Source), "\n"), "line", "lines"))
		if n.Script.Timeout > 0 {
			d.add(", at most " + exactly(n.Script.Timeout))
		}
	}
	return d.text()
}

// rounds says how often a repeat goes round.
func (n *Node) rounds() string {
	switch {
	case n.Times == 0 && n.StopOn == Fresh:
		return "until it fails"
	case n.Times == 0:
		return "until " + n.StopOn.String()
	case n.StopOn == Fresh:
		return plural(n.Times, "time", "times")
	}
	return plural(n.Times, "time", "times") + " at most, until " + n.StopOn.String()
}

// llm adds what a model is asked, as far as the tree says it.
func (d *clipped) llm(call LLMCall) {
	var parts []string
	if call.Model != "" {
		parts = append(parts, call.Model)
	}
	if len(call.Prompt) > 0 {
		parts = append(parts, "from $"+strings.Join(call.Prompt, " $"))
	}
	if call.Budget > 0 {
		parts = append(parts, plural(call.Budget, "token", "tokens"))
	}
	if call.Timeout > 0 {
		parts = append(parts, "at most "+exactly(call.Timeout))
	}
	if call.Retries != 0 {
		parts = append(parts, either(call.Retries < 0, "no retries", plural(call.Retries, "retry", "retries")))
	}
	if call.Backoff > 0 {
		parts = append(parts, "first after "+exactly(call.Backoff))
	}
	d.add(strings.Join(parts, ", "))
	if call.Stream != "" {
		d.add(either(len(parts) > 0, " ", "") + "→ $" + call.Stream)
	}
}

// call adds a call with its arguments: values, and those that come from keys.
func (d *clipped) call(name string, args Args, from map[string]string) {
	d.add(name + "(")
	names := make([]string, 0, len(args)+len(from))
	for arg := range args {
		names = append(names, arg)
	}
	for arg := range from {
		if _, both := args[arg]; !both {
			names = append(names, arg)
		}
	}
	slices.Sort(names)
	for i, arg := range names {
		d.add(either(i > 0, ", ", "") + arg + "=")
		if key, ok := from[arg]; ok {
			d.add("$" + key)
		} else {
			d.value(args[arg])
		}
	}
	d.add(")")
}

func plural(n int, one, many string) string {
	return fmt.Sprintf("%d %s", n, either(n == 1, one, many))
}

// exactly writes a time that was set, without parts that are 0: 2m, and not 2m0s.
func exactly(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-len("0s")]
		}
	}
	return s
}

// elapsed writes a time that was measured, as exactly as one wants to read it; no time is "".
func elapsed(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Millisecond:
		d = d.Round(time.Microsecond)
	case d < time.Second:
		d = d.Round(time.Millisecond)
	case d < time.Minute:
		d = d.Round(10 * time.Millisecond)
	default:
		d = d.Round(time.Second)
	}
	return exactly(d)
}

func firstLine(s string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(s, "\r\n"), "\n")
	return strings.TrimRight(first, " \t\r")
}
