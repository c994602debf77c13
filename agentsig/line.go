package agentsig

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Limits of the line dialect, in bytes.
const (
	maxLine    = 8 << 10
	maxID      = 128
	maxRest    = 4 << 10
	maxPayload = 64 << 10
)

// lineName finds the line signal whose exact name a line starts with, and
// where the name ends; the end is -1 if there is none. A name ends at the end
// of the line, a colon or a blank. Of HEALTH_AUDIT the word behind it is a part.
func (x *Extension) lineName(line []byte) (*Entry, int) {
	if len(line) == 0 {
		return nil, -1
	}
	for _, e := range x.names(line[0]) {
		if len(line) < len(e.Wire) || string(line[:len(e.Wire)]) != e.Wire {
			continue
		}
		if n := len(e.Wire); n == len(line) || line[n] == ':' || line[n] == ' ' || line[n] == '\t' {
			return e, n
		}
	}
	return nil, -1
}

// namesByLetter lists the line signals by the first letter of their names, in
// either case.
var namesByLetter = func() (t [256][]*Entry) {
	for i := range vocabulary {
		if e := &vocabulary[i]; e.Dialect == DialectLine {
			t[e.Wire[0]] = append(t[e.Wire[0]], e)
			t[e.Wire[0]|0x20] = append(t[e.Wire[0]|0x20], e)
		}
	}
	return t
}()

// lineResult is what a line that starts with a signal's name turned out to be.
type lineResult struct {
	signal Signal
	reason Reason
	err    error
}

func (r *lineResult) refuse(reason Reason, format string, args ...any) lineResult {
	if r.reason == "" {
		r.reason, r.err = reason, fmt.Errorf(format, args...)
	}
	return *r
}

// parseLine reads the line signal e from a line that starts with its name,
// which ends at n. Without a reason in the result, it is valid.
func parseLine(e *Entry, line []byte, n int, o *Options) lineResult {
	r := parseNamed(e, line, n, o)
	if kind := entryOf(e.Kind); e.Argument == NoArgument && kind.Argument != NoArgument {
		r.signal.Subject = o.Task // as if it were said
	}
	return r
}

func parseNamed(e *Entry, line []byte, n int, o *Options) lineResult {
	r := lineResult{signal: e.said("")}
	rest := line[n:]
	if e.Argument == NoArgument {
		return r.withoutArgument(e, rest, o)
	}
	switch {
	case len(rest) == 0:
		return r.refuse(ReasonMissingID, "%s has no %s: write %s: <%s>", e.Wire, e.Argument, e.Wire, e.Argument)
	case rest[0] != ':':
		return r.refuse(ReasonMalformed, "%s needs a colon right after it: %s: <%s>", e.Wire, e.Wire, e.Argument)
	}
	rest = bytes.TrimLeft(rest[1:], " \t")
	if len(rest) == 0 {
		return r.refuse(ReasonMissingID, "%s has no %s on its line", e.Wire, e.Argument)
	}
	if e.Argument == NameArgument || e.Argument == PathArgument {
		return r.withRest(e, rest, o)
	}
	id, note := rest, []byte(nil)
	if i := bytes.IndexAny(rest, " \t"); i >= 0 {
		id, note = rest[:i], bytes.Trim(rest[i:], " \t\r")
	}
	r.takeRun(&note)
	r.signal.Subject = printableID(id)
	r.signal.Note = string(bytes.ToValidUTF8(note, []byte("\ufffd")))
	r.checkNonce(o)
	if !validID(id) {
		return r.refuse(ReasonBadID, "%s is not an id: %s", quote(string(id)), idForm)
	}
	r.checkRole(e, o)
	if o.Task != "" && r.signal.Subject != o.Task {
		r.refuse(ReasonWrongID, "this agent was assigned %s, not %s", quote(o.Task), quote(r.signal.Subject))
	}
	return r.withRun(o)
}

func (r *lineResult) withoutArgument(e *Entry, rest []byte, o *Options) lineResult {
	rest = bytes.Trim(rest, " \t\r")
	r.takeRun(&rest)
	r.checkNonce(o)
	if len(rest) > 0 && o.Nonce != "" {
		return r.refuse(ReasonExtraText, "nothing but run=… may follow %s on its line, but %s does", e.Wire, quote(string(rest)))
	}
	if len(rest) > 0 {
		return r.refuse(ReasonExtraText, "nothing may follow %s on its line, but %s does", e.Wire, quote(string(rest)))
	}
	r.checkNonce(o)
	r.checkRole(e, o)
	return r.withRun(o)
}

func (r *lineResult) withRest(e *Entry, rest []byte, o *Options) lineResult {
	if o.Nonce != "" { // it stands last: a path may contain blanks
		if i := bytes.LastIndexAny(rest, " \t"); i >= 0 {
			if tail := bytes.TrimRight(rest[i+1:], "\r"); r.takeRun(&tail) {
				rest = trimBlanks(rest[:i])
			}
		}
	}
	r.signal.Subject = string(rest)
	switch {
	case len(rest) > maxRest:
		r.signal.Subject = ""
		return r.refuse(ReasonTooLong, "the %s of %s is longer than %d bytes", e.Argument, e.Wire, maxRest)
	case safetext.Escape(r.signal.Subject) != r.signal.Subject || strings.ContainsRune(r.signal.Subject, utf8.RuneError):
		return r.refuse(ReasonInvisible, "the %s of %s contains control or invisible characters", e.Argument, e.Wire)
	}
	r.checkNonce(o)
	r.checkRole(e, o)
	return r.withRun(o)
}

// takeRun takes run=<nonce> off the front of b.
func (r *lineResult) takeRun(b *[]byte) bool {
	word, after := *b, []byte(nil)
	if i := bytes.IndexAny(word, " \t"); i >= 0 {
		word, after = word[:i], bytes.TrimLeft(word[i:], " \t")
	}
	nonce, ok := bytes.CutPrefix(word, []byte("run="))
	if !ok || len(nonce) == 0 {
		return false
	}
	r.signal.Run, *b = string(nonce), after
	return true
}

// checkNonce looks for a wrong nonce: the gravest thing that can be wrong with a
// signal, so it is checked first.
func (r *lineResult) checkNonce(o *Options) {
	if reason, err := o.checkNonce(r.signal.Run); reason == ReasonWrongNonce {
		r.refuse(reason, "%w", err)
	}
}

func (r *lineResult) checkRole(e *Entry, o *Options) {
	if !e.MayBeSaidBy(o.Role) {
		r.refuse(ReasonWrongRole, "the role %s may not say %s; %s may", o.Role, e.Wire, join(e.Roles))
	}
}

// withRun looks for the nonce when all else is right.
func (r *lineResult) withRun(o *Options) lineResult {
	if reason, err := o.checkNonce(r.signal.Run); reason != "" {
		r.refuse(reason, "%w", err)
	}
	return *r
}

const (
	wordForm = "letters, digits, '.', '_' and '-', and start with a letter or digit"
	idForm   = "ids are " + wordForm + "; or are an issue's, as #12 or org/repo#12"
)

// ValidID reports whether s can be a task's or request's id. It is a word: letters,
// digits, '.', '_' and '-', the first one a letter or digit; or it is an issue's, as
// #12 or org/repo#12: a number sign with a word behind it, and before it nothing, a
// word, or two words with a slash between them. It has at most 128 bytes.
func ValidID(s string) bool { return validID([]byte(s)) }

func validID(b []byte) bool {
	before, number, isIssue := bytes.Cut(b, []byte("#"))
	if !isIssue {
		return validWord(b)
	}
	owner, repo, isWhole := bytes.Cut(before, []byte("/"))
	return len(b) <= maxID && validWord(number) && (len(before) == 0 || validWord(owner) && (!isWhole || validWord(repo)))
}

// validWord reports whether b can be an id without a number sign, or a nonce.
func validWord(b []byte) bool {
	if len(b) == 0 || len(b) > maxID || !alphanumeric(b[0]) {
		return false
	}
	for _, c := range b {
		if !alphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func printableID(b []byte) string {
	if len(b) > maxID {
		b = b[:maxID]
	}
	return string(bytes.ToValidUTF8(b, []byte("\ufffd")))
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// nearLine looks for a line signal in disguise at the start of a line: behind
// indentation, quotes, emphasis, terminal escapes or invisible characters, in
// another case, or spelt with look-alikes. The start is where it begins.
func (x *Extension) nearLine(line []byte) (e *Entry, subject string, reason Reason, start int) {
	if e := x.strayName(line); e != nil {
		if e.Argument == NoArgument {
			return e, "", ReasonExtraText, 0
		}
		return e, "", ReasonMalformed, 0
	}
	d := disguise{rest: line}
	start = leadingBlanks(line)
	if start > 0 {
		d.reason = ReasonIndented
		d.rest = line[start:]
	}
	d.skipDecoration()
	x.lines(func(one *Entry) bool {
		m := d
		if !m.match(one.Wire) {
			return true
		}
		if said, ok := m.argument(one); ok && m.reason != "" {
			e, subject, reason = one, said, m.reason
		}
		return e == nil
	})
	if e == nil {
		start = 0
	}
	return e, subject, reason, start
}

// strayName finds the name that a line starts with exactly, but with something
// behind it that neither ends the name nor belongs to a longer one, such as a
// full stop.
func (x *Extension) strayName(line []byte) *Entry {
	if len(line) == 0 {
		return nil
	}
	for _, e := range x.names(line[0]) {
		n := len(e.Wire)
		if len(line) > n && string(line[:n]) == e.Wire && line[n] < utf8.RuneSelf && line[n] > ' ' && line[n] < 0x7f &&
			!alphanumeric(line[n]) && bytes.IndexByte([]byte("_:"), line[n]) < 0 {
			return e
		}
	}
	return nil
}

// disguise reads a line as the eye does, and keeps the first thing that an
// exact reader would not forgive.
type disguise struct {
	rest   []byte
	reason Reason
}

func (d *disguise) blame(r Reason) {
	if d.reason == "" {
		d.reason = r
	}
}

// skipDecoration passes over what stands before a name.
func (d *disguise) skipDecoration() {
	for len(d.rest) > 0 {
		switch c := d.rest[0]; c {
		case ' ', '\t':
			d.rest = d.rest[1:]
		case '*', '_':
			if listMarker(d.rest) > 0 {
				return
			}
			d.blame(ReasonBold)
			d.rest = d.rest[1:]
		case '`':
			d.blame(ReasonInlineCode)
			d.rest = d.rest[1:]
		case '>':
			d.blame(ReasonQuoted)
			d.rest = d.rest[1:]
		default:
			if !d.skipUnseen() {
				return
			}
		}
	}
}

// skipUnseen passes over one terminal escape, invisible character or byte that
// is no text.
func (d *disguise) skipUnseen() bool {
	if len(d.rest) == 0 {
		return false
	}
	if d.rest[0] == 0x1b {
		d.blame(ReasonANSI)
		d.rest = d.rest[ansiLength(d.rest):]
		return true
	}
	r, size := utf8.DecodeRune(d.rest)
	if r == utf8.RuneError && size == 1 || safetext.Invisible(r) && r != '\t' {
		d.blame(ReasonInvisible)
		d.rest = d.rest[size:]
		return true
	}
	return false
}

// ansiLength returns the length of the terminal escape at the start of b.
func ansiLength(b []byte) int {
	if len(b) < 2 || b[1] != '[' {
		return min(len(b), 2)
	}
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			return i + 1
		}
	}
	return len(b)
}

// next returns the character that the eye sees next, in upper case.
func (d *disguise) next() byte {
	for d.skipUnseen() {
	}
	if len(d.rest) == 0 {
		return 0
	}
	c := d.rest[0]
	if c == '\\' && len(d.rest) > 1 && d.rest[1] == '_' { // as Markdown escapes it
		d.blame(ReasonMalformed)
		d.rest = d.rest[1:]
		c = '_'
	}
	if c < utf8.RuneSelf {
		d.rest = d.rest[1:]
		return c
	}
	r, size := utf8.DecodeRune(d.rest)
	d.rest = d.rest[size:]
	c = lookAlike(r)
	if c != 0 {
		d.blame(ReasonLookAlike)
	}
	return c
}

// match reads a name. Where it has a blank, any number of them is read, or an
// underscore; where it has an underscore, a blank is read too.
func (d *disguise) match(name string) bool {
	for i := range len(name) {
		if name[i] == '_' && len(d.rest) > 0 && d.rest[0] == ' ' {
			d.blame(ReasonMalformed)
			d.rest = d.rest[1:]
			continue
		}
		if name[i] == ' ' {
			if len(d.rest) > 0 && d.rest[0] == '_' {
				d.blame(ReasonMalformed)
				d.rest = d.rest[1:]
				continue
			}
			n := leadingBlanks(d.rest)
			if n != 1 {
				d.blame(ReasonMalformed)
			}
			d.rest = d.rest[n:]
			continue
		}
		c := d.next()
		if c >= 'a' && c <= 'z' {
			d.blame(ReasonCase)
			c -= 'a' - 'A'
		}
		if c != name[i] {
			return false
		}
	}
	return true
}

// argument reads what has to follow the name for it to be a signal.
func (d *disguise) argument(e *Entry) (string, bool) {
	d.skipEmphasis()
	if e.Argument == NoArgument {
		return "", len(bytes.Trim(d.rest, trailing)) == 0
	}
	if d.next() != ':' {
		return "", false
	}
	d.skipEmphasis()
	oneWord := e.Argument == TaskArgument || e.Argument == RequestArgument
	var subject []byte
	for len(d.rest) > 0 && len(subject) < maxID {
		if d.skipUnseen() {
			continue
		}
		blank := d.rest[0] == ' ' || d.rest[0] == '\t'
		if blank && oneWord && len(subject) > 0 {
			break
		}
		_, size := utf8.DecodeRune(d.rest)
		if !blank || len(subject) > 0 {
			subject = append(subject, d.rest[:size]...)
		}
		d.rest = d.rest[size:]
	}
	subject = bytes.Trim(subject, trailing)
	return string(subject), len(subject) > 0
}

const trailing = " \t*_`.\"')"

func (d *disguise) skipEmphasis() {
	for len(d.rest) > 0 && (d.rest[0] == '*' || d.rest[0] == '_' || d.rest[0] == '`') {
		d.blame(ReasonBold)
		d.rest = d.rest[1:]
	}
}

// midLine looks for a terminal line signal in the middle of a line, given the
// position of an underscore: every terminal signal's name has one.
func (x *Extension) midLine(line []byte, underscore int) (e *Entry, subject string, start int) {
	x.lines(func(one *Entry) bool {
		at := underscore - bytes.IndexByte([]byte(one.Wire), '_')
		if !one.Terminal || at <= 0 || alphanumeric(line[at-1]) || line[at-1] == '_' ||
			!bytes.HasPrefix(line[at:], []byte(one.Wire)) {
			return true
		}
		d := disguise{rest: line[at+len(one.Wire):]}
		if said, ok := d.argument(one); ok && (one.Argument == NoArgument || validID([]byte(said))) {
			e, subject, start = one, said, at
		}
		return e == nil
	})
	return e, subject, start
}
