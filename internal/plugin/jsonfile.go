package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// jsonFile keeps the entry in an object of a JSON file, which may have comments: {"mcpServers": {"signalbox": {…}}}. All else
// stays as it is, byte for byte.
type jsonFile struct{}

const jsonParent = "mcpServers"

// member is one name with its value in an object, by where it is in the file.
type member struct {
	name       string
	start      int // of its name
	value, end int
	comma      int // after it; -1 if there is none
}

// object is an object by where it is.
type object struct {
	open, close int // its braces
	members     []member
}

func (o object) get(name string) (i int, err error) {
	at := -1
	for i, m := range o.members {
		if m.name == name {
			if at >= 0 {
				return 0, fmt.Errorf("it has %s twice", name)
			}
			at = i
		}
	}
	return at, nil
}

// jsonReader goes through a file.
type jsonReader struct {
	data  []byte
	depth int
}

// maxDepth is how deep values may be nested.
const maxDepth = 100

func (r *jsonReader) failed(at int, what string) error {
	return fmt.Errorf("it can't be read as JSON: line %d: %s", 1+bytes.Count(r.data[:min(at, len(r.data))], []byte("\n")), what)
}

// blank passes over white space and comments.
func (r *jsonReader) blank(at int) (int, error) {
	for at < len(r.data) {
		rest := r.data[at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			at++
		case bytes.HasPrefix(rest, []byte("//")):
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				return len(r.data), nil
			}
			at += n
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest[2:], []byte("*/"))
			if n < 0 {
				return 0, r.failed(at, "a comment has no end")
			}
			at += n + 4
		default:
			return at, nil
		}
	}
	return at, nil
}

// text passes over a string.
func (r *jsonReader) text(at int) (end int, s string, err error) {
	for end = at + 1; end < len(r.data) && r.data[end] != '"'; end++ {
		if r.data[end] == '\\' {
			end++
		}
	}
	if end >= len(r.data) {
		return 0, "", r.failed(at, "a string has no end")
	}
	end++
	if json.Unmarshal(r.data[at:end], &s) != nil {
		return 0, "", r.failed(at, "a string can't be read")
	}
	return end, s, nil
}

// pass passes over a value.
func (r *jsonReader) pass(at int) (end int, err error) {
	if at >= len(r.data) {
		return 0, r.failed(at, "a value is missing")
	}
	switch r.data[at] {
	case '{':
		o, err := r.object(at)
		return o.close + 1, err
	case '[':
		return r.list(at)
	case '"':
		end, _, err := r.text(at)
		return end, err
	}
	end = at
	for end < len(r.data) && strings.IndexByte(" \t\r\n,]}/", r.data[end]) < 0 {
		end++
	}
	if !json.Valid(r.data[at:end]) {
		return 0, r.failed(at, "there is no value")
	}
	return end, nil
}

// nested keeps count of how deep a value is.
func (r *jsonReader) nested(at int) (leave func(), err error) {
	if r.depth++; r.depth > maxDepth {
		return nil, r.failed(at, "values are nested too deep")
	}
	return func() { r.depth-- }, nil
}

func (r *jsonReader) list(at int) (end int, err error) {
	leave, err := r.nested(at)
	if err != nil {
		return 0, err
	}
	defer leave()
	for first := true; ; first = false {
		if at, err = r.blank(at + 1); err != nil {
			return 0, err
		}
		if first && at < len(r.data) && r.data[at] == ']' {
			return at + 1, nil
		}
		if at, err = r.pass(at); err != nil {
			return 0, err
		}
		if at, err = r.blank(at); err != nil {
			return 0, err
		}
		switch {
		case at < len(r.data) && r.data[at] == ']':
			return at + 1, nil
		case at >= len(r.data) || r.data[at] != ',':
			return 0, r.failed(at, "a list has no end")
		}
	}
}

func (r *jsonReader) object(at int) (o object, err error) {
	leave, err := r.nested(at)
	if err != nil {
		return o, err
	}
	defer leave()
	o.open = at
	for {
		if at, err = r.blank(at + 1); err != nil {
			return o, err
		}
		if len(o.members) == 0 && at < len(r.data) && r.data[at] == '}' {
			o.close = at
			return o, nil
		}
		m, next, err := r.member(at)
		if err != nil {
			return o, err
		}
		at = next
		if at < len(r.data) && r.data[at] == ',' {
			m.comma = at
		}
		o.members = append(o.members, m)
		switch {
		case m.comma >= 0:
		case at < len(r.data) && r.data[at] == '}':
			o.close = at
			return o, nil
		default:
			return o, r.failed(at, "an object has no end")
		}
	}
}

// member reads a name and its value; next is what follows them.
func (r *jsonReader) member(at int) (m member, next int, err error) {
	m = member{start: at, comma: -1}
	if at >= len(r.data) || r.data[at] != '"' {
		return m, 0, r.failed(at, "a name is missing")
	}
	if at, m.name, err = r.text(at); err != nil {
		return m, 0, err
	}
	if at, err = r.blank(at); err != nil {
		return m, 0, err
	}
	if at >= len(r.data) || r.data[at] != ':' {
		return m, 0, r.failed(at, "a colon is missing")
	}
	if m.value, err = r.blank(at + 1); err != nil {
		return m, 0, err
	}
	if m.end, err = r.pass(m.value); err != nil {
		return m, 0, err
	}
	next, err = r.blank(m.end)
	return m, next, err
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// whole reads the object that the file is.
func (r *jsonReader) whole() (object, error) {
	at := 0
	if bytes.HasPrefix(r.data, byteOrderMark) {
		at = len(byteOrderMark)
	}
	at, err := r.blank(at)
	if err != nil {
		return object{}, err
	}
	if at >= len(r.data) || r.data[at] != '{' {
		return object{}, r.failed(at, "it is no object")
	}
	o, err := r.object(at)
	if err != nil {
		return o, err
	}
	end, err := r.blank(o.close + 1)
	if err == nil && end < len(r.data) {
		err = r.failed(end, "something follows its object")
	}
	return o, err
}

// jsonPlace is where the entry is, or would be.
type jsonPlace struct {
	r       *jsonReader
	top     object
	parent  int // among the top's members; -1 if there is none
	around  object
	entry   int // among those of the object around it; -1 if there is none
	indent  string
	lineEnd string
}

func placeInJSON(data []byte) (p jsonPlace, err error) {
	p = jsonPlace{r: &jsonReader{data: data}, parent: -1, entry: -1, indent: "  ", lineEnd: lineEnd(data)}
	if p.top, err = p.r.whole(); err != nil {
		return p, err
	}
	if len(p.top.members) > 0 {
		at := p.top.members[0].start
		line := data[bytes.LastIndexByte(data[:at], '\n')+1:]
		if n := len(line) - len(bytes.TrimLeft(line, " \t")); n > 0 {
			p.indent = string(line[:n])
		}
	}
	if p.parent, err = p.top.get(jsonParent); err != nil || p.parent < 0 {
		return p, err
	}
	m := p.top.members[p.parent]
	if data[m.value] != '{' {
		return p, errors.New("its " + jsonParent + " is no object")
	}
	if p.around, err = p.r.object(m.value); err != nil {
		return p, err
	}
	p.entry, err = p.around.get(Name)
	return p, err
}

func lineEnd(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func (jsonFile) find(data []byte) (text string, there, more bool, err error) {
	if data == nil {
		return "", false, false, nil
	}
	p, err := placeInJSON(data)
	if err != nil || p.entry < 0 {
		return "", false, false, err
	}
	m := p.around.members[p.entry]
	return compact(data[m.value:m.end]), true, false, nil
}

// compact is a value without white space; with comments it stays as it is, and is no value of ours.
func compact(value []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}

func (jsonFile) text(s server) (string, error) { return compact(printed(s)), nil }

func (jsonFile) read(text string) (s server) {
	_ = json.Unmarshal([]byte(text), &s) // what is no server has another text
	return s
}

func (jsonFile) put(data []byte, s server) (after []byte, made bool, err error) {
	if data == nil {
		return printed(map[string]any{jsonParent: map[string]server{Name: s}}), true, nil
	}
	p, err := placeInJSON(data)
	if err != nil {
		return nil, false, err
	}
	value := func(depth int) string {
		lines := strings.TrimSuffix(strings.ReplaceAll(string(printed(s)), "  ", p.indent), "\n")
		return strings.ReplaceAll(lines, "\n", p.lineEnd+strings.Repeat(p.indent, depth))
	}
	switch {
	case p.entry >= 0:
		m := p.around.members[p.entry]
		return splice(data, m.value, m.end, value(2)), false, nil
	case p.parent >= 0:
		return p.insert(data, p.around, 2, fmt.Sprintf("%q: %s", Name, value(2))), false, nil
	}
	inner := p.lineEnd + strings.Repeat(p.indent, 2) + fmt.Sprintf("%q: %s", Name, value(2)) + p.lineEnd + p.indent
	return p.insert(data, p.top, 1, fmt.Sprintf("%q: {%s}", jsonParent, inner)), true, nil
}

// insert puts a member first into an object: what follows it stays as it is.
func (p jsonPlace) insert(data []byte, o object, depth int, text string) []byte {
	text = p.lineEnd + strings.Repeat(p.indent, depth) + text
	if len(o.members) > 0 {
		return splice(data, o.open+1, o.open+1, text+",")
	}
	if !bytes.Contains(data[o.open:o.close], []byte("\n")) {
		text += p.lineEnd + strings.Repeat(p.indent, depth-1)
	}
	return splice(data, o.open+1, o.open+1, text)
}

func splice(data []byte, from, to int, text string) []byte {
	return bytes.Join([][]byte{data[:from], data[to:]}, []byte(text))
}

func (k jsonFile) take(data []byte, parent bool) (after []byte, empty bool, err error) {
	p, err := placeInJSON(data)
	if err != nil || p.entry < 0 {
		return data, false, err
	}
	if parent && len(p.around.members) == 1 && k.only(data, p.around) {
		after = p.top.without(data, p.parent)
	} else {
		after = p.around.without(data, p.entry)
	}
	return after, string(bytes.TrimSpace(after)) == "{}", nil
}

// only reports whether an object with one member has nothing else, such as a comment.
func (jsonFile) only(data []byte, o object) bool {
	m := o.members[0]
	return len(bytes.TrimSpace(data[o.open+1:m.start])) == 0 && len(bytes.TrimSpace(data[m.end:o.close])) == 0
}

// without takes a member out of an object.
func (o object) without(data []byte, i int) []byte {
	m := o.members[i]
	blank := func(from, to int) bool { return len(bytes.TrimSpace(data[from:to])) == 0 }
	switch {
	case i == 0 && m.comma >= 0 && blank(o.open+1, m.start) && blank(m.end, m.comma): // as insert has put it
		return splice(data, o.open+1, m.comma+1, "")
	case m.comma >= 0:
		data = splice(data, m.comma, m.comma+1, "")
	case i > 0:
		before := o.members[i-1].comma
		data = splice(data, before, before+1, "")
		m.start, m.end = m.start-1, m.end-1
	}
	data = splice(data, m.start, m.end, "")
	from, to := m.start, m.start // the white space around it, of which a line's end stays
	for from > 0 && (data[from-1] == ' ' || data[from-1] == '\t') {
		from--
	}
	for to < len(data) && (data[to] == ' ' || data[to] == '\t') {
		to++
	}
	rest := data[to:]
	alone := bytes.HasPrefix(rest, []byte("\n")) || bytes.HasPrefix(rest, []byte("\r\n"))
	if alone && from > 0 && data[from-1] == '\n' {
		from--
		if from > 0 && data[from-1] == '\r' {
			from--
		}
		data = splice(data, from, to, "")
	}
	if len(o.members) == 1 { // nothing but white space is left
		if end := o.open + 1 + bytes.IndexByte(data[o.open+1:], '}'); len(bytes.TrimSpace(data[o.open+1:end])) == 0 {
			data = splice(data, o.open+1, end, "")
		}
	}
	return data
}
