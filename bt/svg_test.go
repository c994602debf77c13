package bt_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/bt"
)

func drawSVG(t interface{ Fatal(...any) }, p *bt.Program, marks []bt.Entry) []byte {
	var out bytes.Buffer
	if err := p.DrawSVG(&out, marks); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDrawSVG(t *testing.T) {
	for _, d := range drawings {
		t.Run(d.name, func(t *testing.T) {
			p, marks := drawable(t, d.tree(), d.results, d.times...)
			svg := drawSVG(t, p, marks)
			golden(t, d.name+".svg", svg)
			checkSVG(t, p, svg)
		})
	}
}

// TestDrawRandom draws random trees, before and after a tick: the drawings are in order, and
// the same each time.
func TestDrawRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := randomTree(t)
		p, marks := drawable(t, tree, results{"a": failing, "b": running}, 0)
		for _, m := range [][]bt.Entry{nil, marks} {
			text, svg := drawText(t, p, m), drawSVG(t, p, m)
			checkText(t, p, text)
			checkSVG(t, p, svg)
			if again, _ := drawable(t, tree, nil); drawText(t, again, m) != text || !bytes.Equal(drawSVG(t, again, m), svg) {
				t.Fatal("the same tree is drawn otherwise a second time")
			}
		}
	})
}

func FuzzDraw(f *testing.F) {
	for _, n := range hostileTree().Root.Children {
		f.Add(n.Name, n.Description)
	}
	f.Add("not text", strings.Repeat("\xff", 400))
	f.Fuzz(func(t *testing.T, name, text string) {
		name = strings.ToValidUTF8(name[:min(len(name), 1000)], "?") // a tree with other names is refused
		root := bt.Timeout(time.Second, bt.Action(name, "f."+name, bt.Args{text: name, "text": text}))
		root.Description = text
		p, marks := drawable(t, bt.Tree{Name: name, Description: text, Root: root}, results{name: failing}, 0)
		marks[0].Note = text
		checkText(t, p, drawText(t, p, marks))
		checkSVG(t, p, drawSVG(t, p, marks))
	})
}

// TestDrawLarge draws trees as large as there can be.
func TestDrawLarge(t *testing.T) {
	leaf := func() *bt.Node { return bt.Action("leaf", "leaf", bt.Args{"text": "some"}) }
	many := func(n int, child func() *bt.Node) (all []*bt.Node) {
		for range n {
			all = append(all, child())
		}
		return all
	}
	deep := leaf()
	for range 499 {
		deep = bt.Inverter(deep)
	}
	side := 98
	if testing.Short() {
		side = 20
	}
	for name, root := range map[string]*bt.Node{
		"wide":   bt.Sequence(many(500, leaf)...),
		"deep":   deep,
		"square": bt.Sequence(many(side, func() *bt.Node { return bt.Selector(many(side+2, leaf)...) })...),
	} {
		t.Run(name, func(t *testing.T) {
			p, marks := drawable(t, bt.Tree{Name: name, Root: root}, nil, 0)
			began := time.Now()
			text, svg := drawText(t, p, marks), drawSVG(t, p, marks)
			t.Logf("%d nodes in %v: %d KB of text, %d KB of SVG", len(p.Nodes()), time.Since(began), len(text)>>10, len(svg)>>10)
			checkText(t, p, text)
			checkSVG(t, p, svg)
		})
	}
}

// area is a rectangle of a drawing.
type area struct{ left, top, right, bottom int }

func (a area) holds(b area) bool {
	return a.left <= b.left && a.top <= b.top && a.right >= b.right && a.bottom >= b.bottom
}

func (a area) meets(b area) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

// picture is what was read of an SVG document.
type picture struct {
	page   area
	frames []area
	nodes  []drawnNode
	edges  int
}

type drawnNode struct {
	box   area
	texts []area
	said  string // all that is to be read in the box
	title string
}

// checkSVG checks what holds for every drawing: it is well-formed, has nothing but shapes and
// text, boxes do not overlap, text stays in its box, and a frame has what is in its subtree.
func checkSVG(t interface{ Fatalf(string, ...any) }, p *bt.Program, svg []byte) {
	pic, err := readSVG(svg)
	if err != nil {
		t.Fatalf("%v in:\n%.5000s", err, svg)
	}
	nodes := p.Nodes()
	if len(pic.nodes) != len(nodes) || pic.edges != len(nodes)-1 {
		t.Fatalf("%d nodes have %d boxes and %d edges", len(nodes), len(pic.nodes), pic.edges)
	}
	frames := 0
	for i, n := range nodes {
		drawn := pic.nodes[i]
		if want := shown(n.Node); !strings.Contains(drawn.said, string(n.Node.Kind)) || !strings.Contains(drawn.said, want) || !strings.Contains(drawn.title, strings.TrimSuffix(want, "…")) {
			t.Fatalf("%s %q is not in %+v", n.Node.Kind, want, drawn)
		}
		if !pic.page.holds(drawn.box) {
			t.Fatalf("node %d leaves the page: %+v in %+v", i, drawn.box, pic.page)
		}
		for j, text := range drawn.texts {
			if !drawn.box.holds(text) {
				t.Fatalf("text leaves the box of node %d: %+v in %+v", i, text, drawn.box)
			}
			if slices.ContainsFunc(drawn.texts[:j], text.meets) {
				t.Fatalf("texts of node %d overlap: %+v", i, drawn.texts)
			}
		}
		if n.Parent >= 0 {
			if parent := pic.nodes[n.Parent].box; drawn.box.left <= parent.left || drawn.box.top < parent.top {
				t.Fatalf("node %d stands before its parent: %+v and %+v", i, drawn.box, parent)
			}
		}
		if n.Node.Kind == bt.KindSubtree {
			checkFrame(t, pic, nodes, i, pic.frames[frames])
			frames++
		}
	}
	checkApart(t, pic)
}

// checkFrame checks that a subtree's frame has it and its descendants, and no others.
func checkFrame(t interface{ Fatalf(string, ...any) }, pic picture, nodes []bt.NodeInfo, at int, frame area) {
	if !pic.page.holds(frame) {
		t.Fatalf("the frame of node %d leaves the page", at)
	}
	for i, n := range nodes {
		inside := i == at || i > at && n.Depth > nodes[at].Depth && !slices.ContainsFunc(nodes[at+1:i], func(m bt.NodeInfo) bool { return m.Depth <= nodes[at].Depth })
		if box := pic.nodes[i].box; inside && !frame.holds(box) || !inside && frame.meets(box) {
			t.Fatalf("node %d at %+v, and the frame of node %d at %+v: inside is %v", i, box, at, frame, inside)
		}
	}
}

// checkApart checks that no two boxes overlap.
func checkApart(t interface{ Fatalf(string, ...any) }, pic picture) {
	boxes := make([]area, len(pic.nodes))
	for i, n := range pic.nodes {
		boxes[i] = n.box
	}
	slices.SortFunc(boxes, func(a, b area) int { return a.top - b.top })
	for i, a := range boxes {
		for _, b := range boxes[i+1:] {
			if b.top >= a.bottom {
				break
			}
			if a.meets(b) {
				t.Fatalf("boxes overlap: %+v and %+v", a, b)
			}
		}
	}
}

// allowed has the elements and attributes of drawings: none of them runs or loads anything.
var allowed = map[string][]string{
	"svg":   {"xmlns", "class", "role", "width", "height", "viewBox"},
	"title": nil, "desc": nil, "style": nil,
	"g":    {"class"},
	"path": {"class", "d"},
	"rect": {"class", "x", "y", "width", "height", "rx"},
	"text": {"class", "x", "y", "textLength", "lengthAdjust"},
}

// readSVG reads a drawing, and refuses what should not be in one.
func readSVG(svg []byte) (picture, error) {
	var pic picture
	var inside []string
	var node *drawnNode
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return pic, nil
		}
		if err != nil {
			return pic, err
		}
		switch e := token.(type) {
		case xml.EndElement:
			inside = inside[:len(inside)-1]
			if e.Name.Local == "g" {
				node = nil
			}
		case xml.CharData:
			switch last := inside[max(len(inside)-1, 0):]; {
			case len(last) == 0:
			case last[0] == "style" && (bytes.Contains(e, []byte("url(")) || bytes.Contains(e, []byte("@import"))):
				return pic, errors.New("the style loads something")
			case last[0] == "title" && node != nil:
				node.title += string(e)
			case last[0] == "text" && node != nil:
				node.said += string(e) + " "
			}
		case xml.StartElement:
			inside = append(inside, e.Name.Local)
			if e.Name.Local == "g" {
				pic.nodes = append(pic.nodes, drawnNode{})
				node = &pic.nodes[len(pic.nodes)-1]
			}
			if err := pic.element(e, node); err != nil {
				return pic, err
			}
		default:
			return pic, fmt.Errorf("there is a %T", e)
		}
	}
}

// element takes in an element of a drawing.
func (pic *picture) element(e xml.StartElement, node *drawnNode) error {
	attributes := map[string]string{}
	known, ok := allowed[e.Name.Local]
	for _, a := range e.Attr {
		attributes[a.Name.Local] = a.Value
		ok = ok && slices.Contains(known, a.Name.Local)
	}
	if !ok {
		return fmt.Errorf("%+v is not allowed", e)
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(attributes[name])
		return n
	}
	a := area{left: number("x"), top: number("y"), right: number("x") + number("width"), bottom: number("y") + number("height")}
	switch class := attributes["class"]; {
	case e.Name.Local == "svg":
		pic.page = a
	case class == "box":
		node.box = a
	case class == "frame":
		pic.frames = append(pic.frames, a)
	case class == "edge":
		pic.edges += strings.Count(attributes["d"], "M")
	case e.Name.Local == "text":
		const ascent, descent = 11, 4
		a = area{left: a.left, top: a.top - ascent, right: a.left + number("textLength"), bottom: a.top + descent}
		if node != nil {
			node.texts = append(node.texts, a)
		} else if !pic.page.holds(a) {
			return fmt.Errorf("the heading leaves the page: %+v", a)
		}
	}
	return nil
}
