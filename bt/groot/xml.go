package groot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/bt"
)

// What a file may be at most.
const (
	MaxSize     = 4 << 20 // bytes
	maxDepth    = 510
	maxElements = 20_000
	maxProblems = 100 // that are told
)

// element is an element with what has not been used of its attributes.
type element struct {
	name       string
	attributes []attribute
	children   []*element
	at         string // file:line
}

type attribute struct{ name, value string }

// take returns an attribute's value, and takes it out.
func (e *element) take(name string) (string, bool) {
	i := slices.IndexFunc(e.attributes, func(a attribute) bool { return a.name == name })
	if i < 0 {
		return "", false
	}
	value := e.attributes[i].value
	e.attributes = slices.Delete(e.attributes, i, i+1)
	return value, true
}

// value returns an attribute's value, or nothing.
func (e *element) value(name string) string {
	for _, a := range e.attributes {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

// set adds an attribute.
func (e *element) set(name, value string) {
	e.attributes = append(e.attributes, attribute{name, value})
}

// parse reads a file's elements.
func parse(file string, source []byte) (*element, error) {
	if len(source) > MaxSize {
		return nil, fmt.Errorf("%s has more than the %d MiB that a tree may have", file, MaxSize>>20)
	}
	d := xml.NewDecoder(bytes.NewReader(source))
	var root *element
	var open []*element
	elements := 0
	for {
		token, err := d.Token()
		line, _ := d.InputPos()
		at := fmt.Sprintf("%s:%d", file, line)
		problem := func(format string, args ...any) (*element, error) {
			return nil, bt.Problem{At: at, Text: fmt.Sprintf(format, args...)}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return problem("%v", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			elements++
			e, err := started(t, at)
			switch {
			case err != nil:
				return problem("%v", err)
			case elements > maxElements || len(open) == maxDepth:
				return problem("the file is too large: at most %d elements, %d deep", maxElements, maxDepth)
			case len(open) > 0:
				above := open[len(open)-1]
				above.children = append(above.children, e)
			case root != nil:
				return problem("there is something after the root: <%.80s>", e.name)
			default:
				root = e
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 && !described(open) {
				return problem("there is a text where a node is due: %.80q", bytes.TrimSpace(t))
			}
		case xml.Directive:
			return problem("a tree has no document type, and no entities")
		case xml.ProcInst:
			if t.Target != "xml" {
				return problem("a tree has no instructions for <?%.80s", t.Target)
			}
		}
	}
	if root == nil {
		return nil, bt.Problem{At: file, Text: "there is no tree in it"}
	}
	return root, nil
}

// described reports whether a text is a description: of a port, or of a model.
func described(open []*element) bool {
	return slices.ContainsFunc(open, func(e *element) bool { return e.name == "TreeNodesModel" })
}

func started(t xml.StartElement, at string) (*element, error) {
	e := &element{name: t.Name.Local, at: at}
	if t.Name.Space != "" {
		return nil, fmt.Errorf("a tree has no namespaces: %.80s:%.80s", t.Name.Space, t.Name.Local)
	}
	for _, a := range t.Attr {
		if a.Name.Space != "" || a.Name.Local == "xmlns" {
			return nil, fmt.Errorf("a tree has no namespaces: %.80s", a.Name.Local)
		}
		if slices.ContainsFunc(e.attributes, func(b attribute) bool { return b.name == a.Name.Local }) {
			return nil, fmt.Errorf("<%.80s> has two attributes %.80q", e.name, a.Name.Local)
		}
		e.set(a.Name.Local, a.Value)
	}
	return e, nil
}

// print writes an element.
func (e *element) print(to *bytes.Buffer, depth int) error {
	indent := strings.Repeat("  ", depth)
	to.WriteString(indent + "<" + e.name)
	for _, a := range e.attributes {
		if !storable(a.value) {
			return fmt.Errorf("%s: XML can't hold the text %.80q", e.at, a.value)
		}
		to.WriteString(" " + a.name + `="`)
		_ = xml.EscapeText(to, []byte(a.value)) // into memory
		to.WriteByte('"')
	}
	if len(e.children) == 0 {
		to.WriteString("/>\n")
		return nil
	}
	to.WriteString(">\n")
	for _, child := range e.children {
		if err := child.print(to, depth+1); err != nil {
			return err
		}
	}
	to.WriteString(indent + "</" + e.name + ">\n")
	return nil
}

// storable reports whether XML can hold a text.
func storable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
	})
}
