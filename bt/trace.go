package bt

import (
	"cmp"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/safetext"
)

// maxEntries bounds the trace of one tick; what goes beyond is left out.
const maxEntries = 10_000

// What is shown of a name and of a note, in columns.
const (
	maxTitle = 80
	maxNote  = 200
)

// An Entry is what a tick did with a node. The entries of a tick are in the order in
// which nodes were ticked; one that ticks its child several times has it there as often.
type Entry struct {
	Node    int // its index in the program
	Status  Status
	Elapsed time.Duration // since it was first ticked
	Note    string        // why, where there is something to say
}

// AppendTrace appends the trace of a tick as text: a line for the tick, and one for each
// node, indented as the tree is. Like the drawings it has no control characters.
func (p *Program) AppendTrace(dst []byte, tick int, at time.Duration, entries []Entry) []byte {
	dst = append(dst, "tick "...)
	dst = strconv.AppendInt(dst, int64(tick), 10)
	dst = append(dst, " at "...)
	dst = append(dst, cmp.Or(elapsed(at), "0s")...)
	dst = append(dst, '\n')
	for _, e := range entries {
		n := p.nodes[e.Node]
		for range n.depth + 1 {
			dst = append(dst, "  "...)
		}
		dst = append(dst, safetext.Cut(n.Title(), maxTitle)...)
		dst = append(dst, ' ')
		dst = append(dst, e.Status.String()...)
		if took := elapsed(e.Elapsed); took != "" {
			dst = append(dst, ' ')
			dst = append(dst, took...)
		}
		if e.Note != "" {
			dst = append(dst, ": "...)
			dst = append(dst, safetext.Cut(firstLine(e.Note), maxNote)...)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// Title is how a node is shown: its kind, and its name if it has one.
func (n *Node) Title() string {
	switch {
	case n.Kind == KindSubtree:
		return string(n.Kind) + " " + n.Subtree
	case n.Name != "":
		return string(n.Kind) + " " + n.Name
	}
	return string(n.Kind)
}
