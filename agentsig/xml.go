package agentsig

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of the XML dialect, in bytes.
const (
	maxBlock     = 64 << 10
	maxAttribute = 4 << 10

	maxAttributes = 64 // in number
	maxEntity     = 12 // with its semicolon
)

const (
	openTag  = "<signal"
	closeTag = "</signal"
	cdata    = "<![CDATA["
)

// tagAt tells whether b, which starts with '<', starts with the tag: its name
// and something that ends a name. It is partial if b ends before that is clear.
func tagAt(b []byte, tag string) (is, partial bool) {
	n := min(len(b), len(tag))
	if string(b[:n]) != tag[:n] {
		return false, false
	}
	if len(b) <= len(tag) {
		return false, true
	}
	switch b[len(tag)] {
	case ' ', '\t', '\r', '\n', '>', '/', '<':
		return true, false
	}
	return false, false
}

// block follows a <signal> block to its end, in bounded memory.
type block struct {
	size  int // bytes taken so far
	state blockState
	quote byte
	slash bool // the last byte of the opening tag was a slash
}

type blockState uint8

const (
	atOpenTag blockState = iota
	inOpenTag
	inBody
	inCDATA
	inCloseTag
	blockDone
)

// feed takes bytes until the block is done or b ends, and returns how many it
// took. It may leave the last few for the next call.
func (k *block) feed(b []byte) int {
	i := 0
	for i < len(b) && k.state != blockDone {
		n := k.step(b[i:])
		if n == 0 {
			break
		}
		i += n
	}
	k.size += i
	return i
}

// step takes at least one byte, or none if it needs more to decide.
func (k *block) step(b []byte) int {
	switch k.state {
	case atOpenTag:
		k.state = inOpenTag
		return len(openTag)
	case inOpenTag:
		return k.inOpenTag(b)
	case inBody:
		i := bytes.IndexByte(b, '<')
		if i != 0 {
			return advance(i, len(b))
		}
		if is, partial := tagAt(b, closeTag); is {
			k.state = inCloseTag
			return len(closeTag)
		} else if partial {
			return 0
		}
		if n := min(len(b), len(cdata)); string(b[:n]) == cdata[:n] {
			if n < len(cdata) {
				return 0
			}
			k.state = inCDATA
			return n
		}
		return 1
	case inCDATA:
		i := bytes.IndexByte(b, ']')
		if i != 0 {
			return advance(i, len(b))
		}
		if n := min(len(b), 3); string(b[:n]) == "]]>"[:n] {
			if n < 3 {
				return 0
			}
			k.state = inBody
			return n
		}
		return 1
	case inCloseTag:
		i := bytes.IndexByte(b, '>')
		if i < 0 {
			return len(b)
		}
		k.state = blockDone
		return i + 1
	}
	return 0
}

func advance(i, all int) int {
	if i < 0 {
		return all
	}
	return i
}

func (k *block) inOpenTag(b []byte) int {
	switch c := b[0]; {
	case c == '<':
		is, partial := tagAt(b, closeTag)
		switch {
		case partial:
			return 0
		case is || k.quote == 0:
			k.state = inBody // an opening tag that never ended
			return k.step(b)
		}
	case k.quote != 0:
		if c == k.quote {
			k.quote = 0
		}
	case c == '"' || c == '\'':
		k.quote = c
	case c == '>':
		k.state = inBody
		if k.slash {
			k.state = blockDone
		}
	}
	k.slash = b[0] == '/' && k.quote == 0
	return 1
}

// xmlBlock is a block taken apart.
type xmlBlock struct {
	raw      string
	ok       bool // the opening tag is well formed
	nested   bool // another signal opens in it
	attrs    []xmlText
	elements []xmlText
}

// xmlText is an element or attribute: its text as written.
type xmlText struct{ name, text string }

// values returns the texts of all elements of that name, or else of the
// attribute, as they are written.
func (x *xmlBlock) values(name string) []string {
	for _, from := range [][]xmlText{x.elements, x.attrs} {
		var texts []string
		for _, t := range from {
			if t.name == name {
				texts = append(texts, t.text)
			}
		}
		if texts != nil {
			return texts
		}
	}
	return nil
}

// parseBlock takes apart a whole block, tolerant of what models do inside it.
func parseBlock(raw []byte) *xmlBlock {
	x := &xmlBlock{raw: string(bytes.ToValidUTF8(raw, []byte("\ufffd")))}
	rest := x.raw[len(openTag):]
	attrs, rest, ok := attributes(rest)
	if !ok {
		return x
	}
	x.attrs, x.ok = attrs, true
	body := rest
	if i := strings.LastIndex(body, closeTag); i >= 0 {
		body = body[:i]
	}
	x.takeElements(body)
	return x
}

func (x *xmlBlock) attribute(name string) string {
	for _, a := range x.attrs {
		if a.name == name {
			return plainText(a.text)
		}
	}
	return ""
}

// takeElements collects the child elements at any depth, but not those inside
// a field's own text.
func (x *xmlBlock) takeElements(body string) {
	unclosed := map[string]bool{} // so that no text is searched twice in vain
	for {
		i := strings.IndexByte(body, '<')
		if i < 0 {
			return
		}
		body = body[i:]
		if after, ok := strings.CutPrefix(body, cdata); ok {
			_, body, _ = strings.Cut(after, "]]>")
			continue
		}
		name, after, selfClosed, ok := startTag(body)
		if !ok {
			body = body[1:]
			continue
		}
		x.nested = x.nested || name == "signal"
		if selfClosed {
			x.elements = append(x.elements, xmlText{name, ""})
			body = after
			continue
		}
		if !isField(name) {
			body = after
			if text, behind, leaf := leafText(after, name); leaf && name != "signal" {
				x.elements = append(x.elements, xmlText{name, text})
				body = behind
			}
			continue
		}
		if unclosed[name] {
			body = after
			continue
		}
		text, behind, closed := untilClose(after, name)
		if !closed {
			unclosed[name] = true
			body = after
			continue
		}
		x.elements = append(x.elements, xmlText{name, text})
		body = behind
	}
}

func isField(name string) bool {
	if name == "confidence" {
		return true
	}
	for _, e := range vocabulary {
		if e.Dialect == DialectXML {
			for _, k := range e.Keys {
				if k.Name == name {
					return true
				}
			}
		}
	}
	return false
}

// startTag reads an opening tag at the start of s.
func startTag(s string) (name, rest string, selfClosed, ok bool) {
	n := nameLength(s[1:])
	if n == 0 {
		return "", "", false, false
	}
	name = s[1 : 1+n]
	_, rest, ok = attributes(s[1+n:])
	if !ok {
		return "", "", false, false
	}
	return name, rest, strings.HasSuffix(s[:len(s)-len(rest)], "/>"), true
}

// leafText cuts s at the closing tag of that name, if nothing but text and CDATA stands
// before it.
func leafText(s, name string) (text, rest string, ok bool) {
	for i := 0; ; {
		k := strings.IndexByte(s[i:], '<')
		if k < 0 {
			return "", "", false
		}
		i += k
		if !strings.HasPrefix(s[i:], cdata) {
			after, is := strings.CutPrefix(s[i:], "</"+name)
			after, ends := strings.CutPrefix(strings.TrimLeft(after, " \t\r\n"), ">")
			return s[:i], after, is && ends
		}
		end := strings.Index(s[i:], "]]>")
		if end < 0 {
			return "", "", false
		}
		i += end + len("]]>")
	}
}

// untilClose cuts s at the first closing tag of that name outside CDATA.
func untilClose(s, name string) (text, rest string, ok bool) {
	for i := 0; i < len(s); {
		k := strings.IndexByte(s[i:], '<')
		if k < 0 {
			break
		}
		i += k
		if strings.HasPrefix(s[i:], cdata) {
			end := strings.Index(s[i:], "]]>")
			if end < 0 {
				break
			}
			i += end + len("]]>")
			continue
		}
		if after, is := strings.CutPrefix(s[i:], "</"+name); is {
			if after = strings.TrimLeft(after, " \t\r\n"); strings.HasPrefix(after, ">") {
				return s[:i], after[1:], true
			}
		}
		i++
	}
	return "", "", false
}

// attributes reads name="value" pairs up to the end of an opening tag.
func attributes(s string) (attrs []xmlText, rest string, ok bool) {
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		if after, end := strings.CutPrefix(s, ">"); end {
			return attrs, after, true
		}
		if after, end := strings.CutPrefix(s, "/>"); end {
			return attrs, after, true
		}
		n := nameLength(s)
		if n == 0 || len(attrs) == maxAttributes {
			return nil, "", false
		}
		name := s[:n]
		s = strings.TrimLeft(s[n:], " \t\r\n")
		if !strings.HasPrefix(s, "=") { // as in HTML
			attrs = append(attrs, xmlText{name, ""})
			continue
		}
		s = strings.TrimLeft(s[1:], " \t\r\n")
		if s == "" || s[0] != '"' && s[0] != '\'' {
			return nil, "", false
		}
		end := strings.IndexByte(s[1:min(len(s), maxAttribute+2)], s[0])
		if end < 0 || slices.ContainsFunc(attrs, func(a xmlText) bool { return a.name == name }) {
			return nil, "", false
		}
		attrs = append(attrs, xmlText{name, s[1 : 1+end]})
		s = s[end+2:]
	}
}

func nameLength(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		if c != '_' && c != ':' && !alphanumeric(c) && (n == 0 || c != '-' && c != '.') {
			break
		}
		n++
	}
	return n
}

// plainText resolves the CDATA sections and entities of a field's text.
func plainText(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, cdata)
		b.WriteString(unescape(before))
		if !found {
			break
		}
		literal, rest, _ := strings.Cut(after, "]]>")
		b.WriteString(literal)
		s = rest
	}
	return strings.TrimSpace(b.String())
}

// unescape resolves XML's own entities and character references. What is not
// one stays as it is.
func unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "&")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := strings.IndexByte(after[:min(len(after), maxEntity)], ';')
		if end >= 0 {
			if r, ok := entity(after[:end]); ok {
				b.WriteRune(r)
				s = after[end+1:]
				continue
			}
		}
		b.WriteByte('&')
		s = after
	}
}

func entity(name string) (rune, bool) {
	switch name {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, isRef := strings.CutPrefix(name, "#")
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	if !isRef || len(digits) > 7 || strings.HasPrefix(digits, "+") || strings.HasPrefix(digits, "-") {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, base, 32)
	if err != nil || n == 0 || !utf8.ValidRune(rune(n)) {
		return 0, false
	}
	return rune(n), true
}

// childTexts reads a text that is nothing but child elements.
func childTexts(text string) ([]string, bool) {
	var items []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] != '<' {
			return nil, false
		}
		name, after, selfClosed, ok := startTag(text)
		if !ok || selfClosed {
			return nil, false
		}
		inner, rest, closed := untilClose(after, name)
		if !closed {
			return nil, false
		}
		items = append(items, plainText(inner))
		text = rest
	}
	return items, true
}
