package bt

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// DrawSVG writes the tree as one SVG document, which needs nothing besides itself, in light
// or dark as its reader prefers. With marks, which [Program.Mark] makes, nodes that were
// ticked have their status, and others are pale. Of what is shortened, more shows when
// one points at it.
func (p *Program) DrawSVG(w io.Writer, marks []Entry) error {
	out := bufio.NewWriter(w)
	head := p.svgHead()
	boxes := p.boxes(marks)
	p.arrange(boxes, head.h)
	right, bottom := p.frames(boxes)
	right = max(right, head.w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" class="bt" role="img" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">`+"\n",
		right+svgMargin, bottom+svgMargin)
	fmt.Fprintf(out, "<title>%s</title>\n<desc>%s</desc>\n", html.EscapeString(safetext.Cut(p.name, longColumns)), html.EscapeString(p.svgDescription(marks)))
	fmt.Fprintf(out, "<style>\n%s</style>\n", svgStyle)
	fmt.Fprintln(out, `<rect class="back" width="100%" height="100%"/>`)
	head.write(out)
	for i := range boxes {
		if f := boxes[i].frame; f.w > 0 {
			fmt.Fprintf(out, `<rect class="frame" x="%d" y="%d" width="%d" height="%d" rx="8"/>`+"\n", f.x, f.y, f.w, f.h)
		}
	}
	for i := range boxes {
		p.writeEdges(out, boxes, i)
	}
	for i := range boxes {
		b := &boxes[i]
		fmt.Fprintf(out, `<g class="%s"><title>%s</title><rect class="box" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`,
			b.class, html.EscapeString(b.whole), b.x, b.y, b.w, b.h, b.round)
		b.write(out)
		fmt.Fprintln(out, "</g>")
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// Lengths of a drawing, in pixels.
const (
	svgMargin  = 20
	boxHeight  = 26  // with one line of text
	lineHeight = 16  // of each further line
	boxGap     = 8   // below a box
	boxPadding = 10  // beside its text
	boxIndent  = 28  // of a child below its parent
	edgeStart  = 14  // from the parent's left to the line down to its children
	inlineGap  = 18  // between a node and an only child beside it
	inlineMost = 700 // of a row of them
	framePad   = 10
)

type rect struct{ x, y, w, h int }

// A box is a node with its text.
type box struct {
	rect
	spans  []span
	class  string
	round  int    // of its corners
	whole  string // what shows when one points at it
	beside bool   // it stands beside its parent, not below it
	frame  rect   // of a subtree
}

// A span is a piece of text. Its place is relative to the box.
type span struct {
	class, text  string
	x, y, length int
	badge        string // the class of what lies behind it, if anything does
}

// charWidth is the width of a character of a class of text, in tenths of a pixel: that of a
// monospaced font. Each text is drawn exactly as long as that makes it, so that it stays in
// its box whatever the font.
func charWidth(class string) int {
	switch class {
	case "tree":
		return 96
	case "name":
		return 78
	}
	return 66
}

// add puts text at a place in the box, and returns where it ends.
func (b *box) add(class, text string, x, y int) int {
	length := (max(safetext.Width(text), 1)*charWidth(class) + 9) / 10
	b.spans = append(b.spans, span{class: class, text: text, x: x, y: y, length: length})
	b.w = max(b.w, x+length+boxPadding)
	return x + length
}

// boxes makes a box for each node, without a place yet.
func (p *Program) boxes(marks []Entry) []box {
	boxes := make([]box, len(p.nodes))
	for i := range boxes {
		var mark Entry
		if i < len(marks) {
			mark = marks[i]
		}
		boxes[i] = newBox(p.nodes[i].Node, mark)
		if len(marks) > 0 && mark.Status == Fresh {
			boxes[i].class += " pale"
		}
	}
	return boxes
}

func newBox(n *Node, mark Entry) box {
	const first = 18 // the first line's place
	b := box{rect: rect{h: boxHeight}, class: family(n.Kind)}
	if b.round = 3; b.class == "decorator" || b.class == "condition" {
		b.round = boxHeight / 2
	}
	x := b.add("kind", string(n.Kind), boxPadding, first)
	if name := safetext.Cut(n.ownName(), nameColumns); name != "" {
		x = b.add("name", name, x+8, first)
	}
	if detail := n.detail(detailColumns); detail != "" {
		x = b.add("small", detail, x+10, first)
	}
	if mark.Status != Fresh {
		b.add("word", mark.word(), x+16, first)
		b.spans[len(b.spans)-1].badge = strings.ToLower(mark.Status.String())
	}
	if note := safetext.Cut(firstLine(mark.Note), noteColumns); note != "" {
		b.add("note", note, boxPadding, first+lineHeight)
		b.h += lineHeight
	}
	b.whole = n.whole(mark)
	return b
}

// family is the class of nodes that look alike.
func family(k Kind) string {
	switch k {
	case KindSequence, KindSelector, KindReactiveSequence, KindReactiveSelector, KindSwitch, KindParallel:
		return "composite"
	case KindAction, KindCondition, KindSubtree:
		return string(k)
	case KindLLMCall, KindTool, KindScript:
		return "outside"
	}
	return "decorator"
}

// whole is a node's text for those who point at it.
func (n *Node) whole(mark Entry) string {
	lines := []string{safetext.Cut(n.Title(), longColumns)}
	for _, line := range []string{safetext.Cut(firstLine(n.Description), longColumns), n.detail(longColumns)} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	if mark.Status != Fresh {
		line := mark.word()
		if note := safetext.Cut(firstLine(mark.Note), longColumns); note != "" {
			line += ": " + note
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// word is a status, and how long it took.
func (e Entry) word() string {
	return strings.TrimSpace(e.Status.String() + " " + elapsed(e.Elapsed))
}

// arrange gives boxes their places, from the top: children below their parent and to the
// right of its left side. A node on the way to a single leaf has its child beside it.
func (p *Program) arrange(boxes []box, top int) {
	p.inline(boxes)
	var framed []int // the subtrees around the present node
	y := top
	leave := func(i int) {
		for len(framed) > 0 && int(p.nodes[framed[len(framed)-1]].end) <= i {
			y += framePad
			s := &boxes[framed[len(framed)-1]]
			s.frame.h = y - boxGap - s.frame.y
			framed = framed[:len(framed)-1]
		}
	}
	for i := range boxes {
		n, b := &p.nodes[i], &boxes[i]
		if b.beside {
			parent := &boxes[n.parent]
			b.x, b.y = parent.x+parent.w+inlineGap, parent.y
			y = max(y, b.y+b.h+boxGap)
			continue
		}
		leave(i)
		b.x = svgMargin
		if n.parent >= 0 {
			b.x = boxes[n.parent].x + boxIndent
		}
		if n.Kind == KindSubtree {
			b.frame.x, b.frame.y = b.x, y
			b.x += framePad
			y += framePad
			framed = append(framed, i)
		}
		b.y = y
		y += b.h + boxGap
	}
	leave(len(boxes))
}

// inline finds the nodes that stand beside their parents: only children with nothing but
// only children below them, while there is room.
func (p *Program) inline(boxes []box) {
	length := make([]int, len(boxes)) // of the row that a node begins; 0 if others follow below
	for i := len(boxes) - 1; i >= 0; i-- {
		n := &p.nodes[i]
		switch {
		case n.Kind == KindSubtree || len(n.children) > 1:
		case len(n.children) == 0:
			length[i] = boxes[i].w
		default:
			child := n.children[0]
			if row := boxes[i].w + inlineGap + length[child]; length[child] > 0 && row <= inlineMost {
				boxes[child].beside = true
				length[i] = row
			}
		}
	}
}

// frames makes the frames of subtrees as wide as what is in them, and returns where the
// drawing ends.
func (p *Program) frames(boxes []box) (right, bottom int) {
	ends := make([]int, len(boxes))
	for i := len(boxes) - 1; i >= 0; i-- {
		b := &boxes[i]
		ends[i] = max(ends[i], b.x+b.w)
		bottom = max(bottom, b.y+b.h)
		if p.nodes[i].Kind == KindSubtree {
			ends[i] += framePad
			b.frame.w = ends[i] - b.frame.x
			bottom = max(bottom, b.frame.y+b.frame.h)
		}
		if parent := p.nodes[i].parent; parent >= 0 {
			ends[parent] = max(ends[parent], ends[i])
		}
		right = max(right, ends[i])
	}
	return right, bottom
}

// writeEdges writes the lines from a node to its children.
func (p *Program) writeEdges(out io.Writer, boxes []box, i int) {
	const bend = 6
	children := p.nodes[i].children
	if len(children) == 0 {
		return
	}
	b := &boxes[i]
	middle := func(c int32) int { return boxes[c].y + boxHeight/2 }
	last := children[len(children)-1]
	fmt.Fprint(out, `<path class="edge" d="`)
	if boxes[last].beside {
		fmt.Fprintf(out, "M%d %dH%d", b.x+b.w, middle(last), boxes[last].x)
	} else {
		x := b.x + edgeStart
		for _, c := range children[:len(children)-1] {
			fmt.Fprintf(out, "M%d %dH%d", x, middle(c), boxes[c].x)
		}
		fmt.Fprintf(out, "M%d %dV%dq0 %d %[4]d %[4]dH%d", x, b.y+b.h, middle(last)-bend, bend, boxes[last].x)
	}
	fmt.Fprintln(out, `"/>`)
}

// write writes the box's text.
func (b *box) write(out io.Writer) {
	const side, above, high = 6, 13, 18 // of a badge, around its text
	for _, s := range b.spans {
		x, y := b.x+s.x, b.y+s.y
		if s.badge != "" {
			fmt.Fprintf(out, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`,
				s.badge, x-side, y-above-1, s.length+2*side, high, min(b.round, high/2))
		}
		fmt.Fprintf(out, `<text class="%s" x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs">%s</text>`,
			s.class, x, y, s.length, html.EscapeString(s.text))
	}
}

// svgHead is what stands above the tree: its name, and what it says of itself.
func (p *Program) svgHead() box {
	head := box{rect: rect{x: svgMargin - boxPadding, h: 48}}
	head.add("tree", safetext.Cut(p.name, nameColumns), boxPadding, 32)
	if description := safetext.Cut(firstLine(p.description), 2*noteColumns); description != "" {
		head.add("small", description, boxPadding, 52)
		head.h += 20
	}
	head.w += head.x
	return head
}

// svgDescription says of the whole what can't be seen by everybody.
func (p *Program) svgDescription(marks []Entry) string {
	text := "A behaviour tree of " + plural(len(p.nodes), "node", "nodes")
	if len(marks) > 0 {
		text += ", after a run: " + marks[0].Status.String()
	}
	if about := safetext.Cut(firstLine(p.description), longColumns); about != "" {
		text += ". " + about
	}
	return text
}

// svgStyle has the colours: one for each family of nodes and each status.
const svgStyle = `.bt{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace}
.bt text{font-size:13px;white-space:pre;fill:#0f172a}
.bt .tree{font-size:16px;font-weight:700}
.bt .name{font-weight:600}
.bt .kind,.bt .small,.bt .note,.bt .word{font-size:11px}
.bt .small,.bt .note{fill:#475569}
.bt .note{font-style:italic}
.bt .back{fill:#fff}
.bt .frame{fill:#64748b;fill-opacity:.06;stroke:#94a3b8;stroke-dasharray:4 3}
.bt .edge{fill:none;stroke:#94a3b8;stroke-width:1.5}
.bt .pale{opacity:.5}
.bt .composite .box{fill:#e8f0fe;stroke:#3b6fd4}.bt .composite .kind{fill:#2456b8}
.bt .decorator .box{fill:#f3ecfd;stroke:#8b5cd6}.bt .decorator .kind{fill:#6b3fb5}
.bt .condition .box{fill:#e0f5f4;stroke:#22918b}.bt .condition .kind{fill:#11706b}
.bt .action .box{fill:#f1f4f8;stroke:#64748b}.bt .action .kind{fill:#475569}
.bt .outside .box{fill:#fdebf5;stroke:#c2478f}.bt .outside .kind{fill:#a12a70}
.bt .subtree .box{fill:#fff;stroke:#64748b}.bt .subtree .kind{fill:#475569}
.bt .success{fill:#15803d}.bt .failure{fill:#c81e1e}.bt .running{fill:#a15c07}
.bt .word{fill:#fff;font-weight:600}
@media (prefers-color-scheme:dark){
.bt text{fill:#e6ebf2}
.bt .small,.bt .note{fill:#a9b6c8}
.bt .back{fill:#11161f}
.bt .frame{fill:#94a3b8;stroke:#56637a}
.bt .edge{stroke:#56637a}
.bt .composite .box{fill:#17264a;stroke:#5b8def}.bt .composite .kind{fill:#93b7fb}
.bt .decorator .box{fill:#2a1d44;stroke:#a07be6}.bt .decorator .kind{fill:#c9b0f7}
.bt .condition .box{fill:#0d3232;stroke:#35a8a1}.bt .condition .kind{fill:#76d6cf}
.bt .action .box{fill:#212a38;stroke:#7889a3}.bt .action .kind{fill:#b4c0d1}
.bt .outside .box{fill:#3d1830;stroke:#d962a8}.bt .outside .kind{fill:#f3a3cf}
.bt .subtree .box{fill:#11161f;stroke:#7889a3}.bt .subtree .kind{fill:#b4c0d1}
.bt .success{fill:#1b7a41}.bt .failure{fill:#cf3030}.bt .running{fill:#9c5f0a}
.bt .word{fill:#fff}
}
`
