package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tomlFile keeps the entry as a table at the end of a TOML file. All else stays as it is, byte for byte. It reads as much of
// TOML as it takes to know where a table begins and ends, and which keys there are.
type tomlFile struct{}

var tomlPath = []string{"mcp_servers", Name}

const tomlNote = "# Written by `signalbox plugin install`; `signalbox plugin remove` takes it away."

// statement is a table's head or a key with its value, by where it is.
type statement struct {
	head, list bool
	path       []string // from the top
	start, end int
}

type tomlReader struct {
	data []byte
	at   int
}

func (r *tomlReader) failed(what string) error {
	return fmt.Errorf("it can't be read as TOML: line %d: %s", 1+bytes.Count(r.data[:min(r.at, len(r.data))], []byte("\n")), what)
}

func (r *tomlReader) has(text string) bool { return bytes.HasPrefix(r.data[r.at:], []byte(text)) }

// peek is the byte at hand; 0 at the end.
func (r *tomlReader) peek() byte {
	if r.at >= len(r.data) {
		return 0
	}
	return r.data[r.at]
}

// spaces passes over spaces and tabs.
func (r *tomlReader) spaces() {
	for r.peek() == ' ' || r.peek() == '\t' {
		r.at++
	}
}

// lines passes over white space, line ends and comments.
func (r *tomlReader) lines() {
	for {
		r.spaces()
		switch r.peek() {
		case '\r', '\n':
			r.at++
		case '#':
			r.comment()
		default:
			return
		}
	}
}

func (r *tomlReader) comment() {
	for r.at < len(r.data) && r.peek() != '\n' {
		r.at++
	}
}

// scanTOML returns the statements of a file.
func scanTOML(data []byte) ([]statement, error) {
	r := &tomlReader{data: data}
	if bytes.HasPrefix(data, byteOrderMark) {
		r.at = len(byteOrderMark)
	}
	if !utf8.Valid(data) {
		return nil, r.failed("it is not UTF-8")
	}
	var all []statement
	var table []string
	for {
		r.lines()
		if r.at >= len(data) {
			return all, nil
		}
		s := statement{start: r.at}
		var err error
		if r.peek() == '[' {
			s.head, s.list = true, r.has("[[")
			table, err = r.header(s.list)
			s.path = table
		} else {
			var key []string
			key, err = r.assignment()
			s.path = slices.Concat(table, key)
		}
		if err != nil {
			return nil, err
		}
		s.end = r.at
		r.spaces()
		if r.peek() == '#' {
			r.comment()
		}
		if r.peek() == '\r' {
			r.at++
		}
		if r.at < len(data) && r.peek() != '\n' {
			return nil, r.failed("a line has more than one key or table")
		}
		all = append(all, s)
	}
}

// header reads a table's head.
func (r *tomlReader) header(list bool) ([]string, error) {
	brackets := 1
	if list {
		brackets = 2
	}
	r.at += brackets
	key, err := r.key()
	if err != nil {
		return nil, err
	}
	if !r.has(strings.Repeat("]", brackets)) {
		return nil, r.failed("a table's name has no end")
	}
	r.at += brackets
	return key, nil
}

// assignment reads a key and its value.
func (r *tomlReader) assignment() ([]string, error) {
	key, err := r.key()
	if err != nil {
		return nil, err
	}
	if r.peek() != '=' {
		return nil, r.failed("a key has no value")
	}
	r.at++
	r.spaces()
	return key, r.value(0)
}

// key reads a key: parts with dots between them.
func (r *tomlReader) key() ([]string, error) {
	var parts []string
	for {
		r.spaces()
		part, err := r.part()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		r.spaces()
		if r.peek() != '.' {
			return parts, nil
		}
		r.at++
	}
}

func (r *tomlReader) part() (string, error) {
	start := r.at
	if quote := r.peek(); quote == '"' || quote == '\'' {
		if err := r.line(quote); err != nil {
			return "", err
		}
		text := string(r.data[start+1 : r.at-1])
		if quote == '\'' {
			return text, nil
		}
		plain, err := strconv.Unquote(string(r.data[start:r.at]))
		if err != nil {
			return text, nil // an escape that only TOML has: none that a name of ours could be written with
		}
		return plain, nil
	}
	for c := r.peek(); c == '_' || c == '-' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'; c = r.peek() {
		r.at++
	}
	if r.at == start {
		return "", r.failed("there is no key")
	}
	return string(r.data[start:r.at]), nil
}

// line passes over a string of one line.
func (r *tomlReader) line(quote byte) error {
	for r.at++; r.at < len(r.data) && r.peek() != quote; r.at++ {
		if r.peek() == '\n' {
			break
		}
		if quote == '"' && r.peek() == '\\' {
			r.at++
		}
	}
	if r.peek() != quote {
		return r.failed("a string has no end")
	}
	r.at++
	return nil
}

// text passes over a string.
func (r *tomlReader) text() error {
	quote := r.peek()
	three := strings.Repeat(string(quote), 3)
	if !r.has(three) {
		return r.line(quote)
	}
	for r.at += 3; r.at < len(r.data) && !r.has(three); r.at++ {
		if quote == '"' && r.peek() == '\\' {
			r.at++
		}
	}
	if r.at >= len(r.data) {
		return r.failed("a string has no end")
	}
	r.at += 3
	for range 2 { // quotes that are the string's last ones
		if r.peek() == quote {
			r.at++
		}
	}
	return nil
}

// value passes over a value.
func (r *tomlReader) value(depth int) error {
	if depth > maxDepth {
		return r.failed("values are nested too deep")
	}
	switch r.peek() {
	case '"', '\'':
		return r.text()
	case '[', '{':
		return r.nested(depth)
	}
	start := r.at
	for r.at < len(r.data) && strings.IndexByte("\r\n#,]}", r.peek()) < 0 {
		r.at++
	}
	for r.at > start && (r.data[r.at-1] == ' ' || r.data[r.at-1] == '\t') {
		r.at--
	}
	if r.at == start {
		return r.failed("a value is missing")
	}
	return nil
}

// nested passes over a list or an inline table.
func (r *tomlReader) nested(depth int) error {
	end := byte(']')
	if r.peek() == '{' {
		end = '}'
	}
	for r.at++; ; {
		r.lines()
		switch r.peek() {
		case end:
			r.at++
			return nil
		case ',':
			r.at++
			continue
		case 0:
			return r.failed("a list or an inline table has no end")
		}
		if end == '}' {
			if _, err := r.key(); err != nil {
				return err
			}
			if r.peek() != '=' {
				return r.failed("a key has no value")
			}
			r.at++
			r.spaces()
		}
		if err := r.value(depth + 1); err != nil {
			return err
		}
	}
}

// tomlPlace is where the entry is.
type tomlPlace struct {
	start, end  int // of its table
	there, more bool
}

var errInline = errors.New("its mcp_servers is written in a way that no table can be added to: write each server as a table, [mcp_servers.NAME]")

func placeInTOML(data []byte) (p tomlPlace, err error) {
	all, err := scanTOML(data)
	if err != nil {
		return p, err
	}
	under := func(s statement) bool { return len(s.path) >= 2 && slices.Equal(s.path[:2], tomlPath) }
	for i, s := range all {
		switch {
		case slices.Equal(s.path, tomlPath[:1]) && (!s.head || s.list):
			return p, errInline
		case s.head && !s.list && slices.Equal(s.path, tomlPath) && !p.there:
			p.there, p.start, p.end = true, s.start, s.end
			for _, of := range all[i+1:] {
				if of.head {
					break
				}
				p.end = of.end
			}
		case under(s) && (!p.there || s.start >= p.end):
			p.more = true
		}
	}
	if p.more && !p.there { // as a value, by keys with dots, or by tables below it alone
		p.there = true
	}
	return p, nil
}

func (tomlFile) find(data []byte) (text string, there, more bool, err error) {
	p, err := placeInTOML(data)
	return withoutReturns(string(data[p.start:p.end])), p.there, p.more, err
}

func withoutReturns(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func (tomlFile) text(s server) (string, error) {
	var args []string
	for _, a := range s.Args {
		args = append(args, quotedTOML(a))
	}
	if !utf8.ValidString(s.Command) {
		return "", errors.New("the path of this program is not UTF-8: put it where its path is")
	}
	return fmt.Sprintf("[%s]\ncommand = %s\nargs = [%s]", strings.Join(tomlPath, "."), quotedTOML(s.Command), strings.Join(args, ", ")), nil
}

func (tomlFile) read(text string) (s server) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, " = ")
		switch name { // strings and lists that text writes are JSON as well; what is no server has another text
		case "command":
			_ = json.Unmarshal([]byte(value), &s.Command)
		case "args":
			_ = json.Unmarshal([]byte(value), &s.Args)
		}
	}
	return s
}

// quotedTOML is a string as TOML has it.
func quotedTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteRune('\\')
			b.WriteRune(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (k tomlFile) put(data []byte, s server) (after []byte, made bool, err error) {
	p, err := placeInTOML(data)
	if err != nil {
		return nil, false, err
	}
	text, err := k.text(s)
	if err != nil {
		return nil, false, err
	}
	line := lineEnd(data)
	text = strings.ReplaceAll(text, "\n", line)
	if p.there {
		return splice(data, p.start, p.end, text), false, nil
	}
	text = tomlNote + line + text + line
	if len(data) > 0 {
		text = line + text
		if !bytes.HasSuffix(data, []byte("\n")) {
			text = line + text
		}
	}
	return append(bytes.Clone(data), text...), false, nil
}

func (tomlFile) take(data []byte, _ bool) (after []byte, empty bool, err error) {
	p, err := placeInTOML(data)
	if err != nil {
		return nil, false, err
	}
	from, to := p.start, p.end
	if n := bytes.IndexByte(data[to:], '\n'); n >= 0 && len(bytes.TrimSpace(data[to:to+n])) == 0 {
		to += n + 1
	}
	before := func() string { // the line above
		end := bytes.LastIndexByte(data[:from], '\n')
		return string(data[bytes.LastIndexByte(data[:max(end, 0)], '\n')+1 : from])
	}
	if line := before(); strings.TrimSpace(line) == tomlNote {
		from -= len(line)
	}
	if line := before(); from > 0 && strings.TrimSpace(line) == "" {
		from -= len(line)
	}
	after = splice(data, from, to, "")
	return after, len(bytes.TrimSpace(after)) == 0, nil
}
