package agentsig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// SyntaxError says where an exit record stops being JSON.
type SyntaxError struct {
	Problem      string
	Line, Column int // from 1, counted from the opening brace
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON: %s at line %d column %d", e.Problem, e.Line, e.Column)
}

var errExitTooLarge = &FieldError{"exit record", fmt.Sprintf("larger than %d bytes", maxExit)}

// parseExit reads one object of strings in strict JSON. encoding/json alone
// would take repeated members, members that differ in case, null for a string,
// lone surrogates and invalid UTF-8.
func parseExit(data []byte) (ExitSignal, error) {
	var e ExitSignal
	if len(data) > maxExit {
		return e, errExitTooLarge
	}
	var o object
	n := o.feed(data)
	if o.err != nil {
		return e, o.err
	}
	if !o.done {
		return e, o.problem("the input ends inside the object")
	}
	for _, c := range data[n:] {
		if !jsonBlank(c) {
			return e, o.problem("trailing characters")
		}
		o.next(c)
	}
	if !utf8.Valid(data) {
		return e, &FieldError{"exit record", "not valid UTF-8"}
	}
	return exitMembers(data)
}

// exitMembers takes the record out of data, which is one syntactically valid
// object. The protocol and the version are looked at first: a record of
// another protocol is not to be blamed for its members.
func exitMembers(data []byte) (ExitSignal, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	var e ExitSignal
	if _, err := dec.Token(); err != nil {
		return e, err
	}
	values := map[string]string{}
	var problem error
	note := func(field, what string) {
		if problem == nil {
			problem = &FieldError{field, what}
		}
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return e, err
		}
		name, _ := key.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return e, err
		}
		if seen[name] {
			return e, &FieldError{quote(name), "appears twice"}
		}
		seen[name] = true
		if !slices.ContainsFunc(entryOf(KindExit).Keys, func(k Key) bool { return k.Name == name }) {
			note("unknown field "+quote(name), "an exit record has none of that name")
			continue
		}
		if raw[0] != '"' {
			note(name, "expected a string, got "+jsonType(raw[0]))
			continue
		}
		var v string
		if err := json.Unmarshal(raw, &v); err != nil {
			return e, err
		}
		values[name] = v
	}
	e = ExitSignal{
		Protocol: values["protocol"], Version: values["version"],
		PhaseCompleted: Phase(values["phase_completed"]), ExitReason: ExitReason(values["exit_reason"]),
		PRURL: values["pr_url"], EvidenceBundleRef: values["evidence_bundle_ref"], Notes: values["notes"],
	}
	if p, ok := values["protocol"]; ok && p != ExitProtocol {
		return e, &ProtocolError{p}
	}
	if v, ok := values["version"]; ok && !supportedVersion(v) {
		return e, &VersionError{v}
	}
	if problem != nil {
		return e, problem
	}
	for _, k := range entryOf(KindExit).Keys {
		if k.Required && !seen[k.Name] {
			return e, &FieldError{k.Name, "is required, and missing"}
		}
	}
	return e, nil
}

func jsonType(first byte) string {
	switch first {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func jsonBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// object follows one JSON object byte by byte, in bounded memory, until it is
// done or breaks the grammar.
type object struct {
	done     bool // the closing brace was taken
	err      *SyntaxError
	protocol bool // a member named protocol was seen at the top

	line, col int  // of the next byte, from 0
	blank     bool // there is nothing on its line yet
	gap       bool // there was a blank line before it
	want      jsonWant
	depth     int
	arrays    [maxDepth/64 + 1]uint64 // which open containers are arrays

	literal string                      // what is left of true, false or null
	key     [6*len("protocol") + 1]byte // the current top-level key, as written, as far as it matters
	keyLen  int
	isKey   bool
	hex     int  // hexadecimal digits still to come
	code    rune // of those
	low     bool // the low half of a surrogate pair must follow
}

const maxDepth = 1000

type jsonWant uint8

const (
	wantOpen       jsonWant = iota // the opening brace
	wantFirstKey                   // a key or }
	wantKey                        // a key
	wantColon                      //
	wantValue                      //
	wantFirstValue                 // a value or ]
	wantComma                      // a comma or the end of the container
	inString
	inEscape
	inHex
	inLiteral
	inMinus
	inZero
	inInteger
	inPoint
	inFraction
	inE
	inESign
	inExponent
)

// feed takes bytes until the object is done or broken, or b ends, and returns
// how many it took. The byte that breaks the object is not taken.
func (o *object) feed(b []byte) int {
	for i := 0; i < len(b); i++ {
		if o.want == inString && !o.low { // the common case, at the speed of memory
			n := plainString(b[i:])
			if o.isKey && o.depth == 1 {
				o.addKey(b[i : i+n])
			}
			o.col += n
			i += n
			if i == len(b) {
				return i
			}
		}
		if problem := o.step(b[i]); problem != "" {
			o.err = o.problem(problem)
			return i
		}
		o.next(b[i])
		if o.done {
			return i + 1
		}
	}
	return len(b)
}

func (o *object) next(c byte) {
	if c == '\n' {
		o.line, o.col, o.gap, o.blank = o.line+1, 0, o.gap || o.blank, true
		return
	}
	o.col++
	if !jsonBlank(c) {
		o.gap, o.blank = false, false
	}
}

func (o *object) problem(what string) *SyntaxError {
	return &SyntaxError{what, o.line + 1, o.col + 1}
}

// wreck returns where to go on after the object broke.
func (o *object) wreck() wreck {
	quote := o.want == inString || o.want == inEscape || o.want == inHex
	return wreck{depth: o.depth, quote: quote, open: quote, atLine: o.line > 0 && o.col == 0, gap: o.gap}
}

// plainString returns how many bytes of b belong to a string without being
// special in it.
func plainString(b []byte) int {
	for i, c := range b {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(b)
}

func (o *object) addKey(b []byte) { o.keyLen += copy(o.key[o.keyLen:], b) }

// step takes one byte, or says why it can't.
func (o *object) step(c byte) string {
	switch o.want {
	case inString, inEscape, inHex:
		return o.inString(c)
	case inLiteral:
		if c != o.literal[0] {
			return "expected a value"
		}
		if o.literal = o.literal[1:]; o.literal == "" {
			o.want = wantComma
		}
		return ""
	case inMinus, inZero, inInteger, inPoint, inFraction, inE, inESign, inExponent:
		if taken, problem := o.inNumber(c); taken || problem != "" {
			return problem
		}
		o.want = wantComma
	}
	if jsonBlank(c) {
		return ""
	}
	switch o.want {
	case wantOpen:
		if c != '{' {
			return "expected `{`"
		}
		return o.open(c)
	case wantFirstKey, wantKey:
		switch {
		case c == '"':
			o.want, o.isKey = inString, true
			o.keyLen = 0
		case c == '}' && o.want == wantFirstKey:
			o.close()
		default:
			return "expected `\"`"
		}
	case wantColon:
		if c != ':' {
			return "expected `:`"
		}
		o.want = wantValue
	case wantComma:
		switch {
		case c == ',' && o.inArray():
			o.want = wantValue
		case c == ',':
			o.want = wantKey
		case c == ']' && o.inArray(), c == '}' && !o.inArray():
			o.close()
		case o.inArray():
			return "expected `,` or `]`"
		default:
			return "expected `,` or `}`"
		}
	case wantValue, wantFirstValue:
		return o.value(c)
	}
	return ""
}

func (o *object) value(c byte) string {
	switch {
	case c == '"':
		o.want, o.isKey = inString, false
	case c == '{' || c == '[':
		return o.open(c)
	case c == ']' && o.want == wantFirstValue:
		o.close()
	case c == '-':
		o.want = inMinus
	case c == '0':
		o.want = inZero
	case c >= '1' && c <= '9':
		o.want = inInteger
	case c == 't':
		o.want, o.literal = inLiteral, "rue"
	case c == 'f':
		o.want, o.literal = inLiteral, "alse"
	case c == 'n':
		o.want, o.literal = inLiteral, "ull"
	default:
		return "expected a value"
	}
	return ""
}

func (o *object) open(c byte) string {
	if o.depth == maxDepth {
		return "nested too deeply"
	}
	o.depth++
	word, bit := o.depth/64, uint64(1)<<(o.depth%64)
	if c == '[' {
		o.arrays[word] |= bit
		o.want = wantFirstValue
	} else {
		o.arrays[word] &^= bit
		o.want = wantFirstKey
	}
	return ""
}

func (o *object) close() {
	o.depth--
	o.want = wantComma
	o.done = o.depth == 0
}

func (o *object) inArray() bool { return o.arrays[o.depth/64]&(1<<(o.depth%64)) != 0 }

func (o *object) inString(c byte) string {
	if o.isKey && o.depth == 1 && (o.want != inString || c == '\\') {
		o.addKey([]byte{c})
	}
	switch o.want {
	case inString:
		switch {
		case o.low && c != '\\':
			return "lone surrogate"
		case c == '\\':
			o.want = inEscape
		case c == '"':
			return o.endString()
		case c < ' ':
			return "control character in a string"
		}
	case inEscape:
		switch c {
		case 'u':
			o.want, o.hex, o.code = inHex, 4, 0
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			if o.low {
				return "lone surrogate"
			}
			o.want = inString
		default:
			return "invalid escape"
		}
	case inHex:
		digit, ok := hexDigit(c)
		if !ok {
			return "invalid escape"
		}
		o.code = o.code<<4 | digit
		if o.hex--; o.hex > 0 {
			return ""
		}
		isLow := o.code >= 0xdc00 && o.code < 0xe000
		if isLow != o.low {
			return "lone surrogate"
		}
		o.low = o.code >= 0xd800 && o.code < 0xdc00
		o.want = inString
	}
	return ""
}

func (o *object) endString() string {
	if !o.isKey {
		o.want = wantComma
		return ""
	}
	o.want = wantColon
	if o.depth != 1 || o.protocol {
		return ""
	}
	key := o.key[:o.keyLen]
	o.protocol = string(key) == "protocol"
	if bytes.IndexByte(key, '\\') >= 0 {
		var name string
		quoted := slices.Concat([]byte{'"'}, key, []byte{'"'})
		o.protocol = json.Unmarshal(quoted, &name) == nil && name == "protocol"
	}
	return ""
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0'), true
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}

// inNumber takes a byte of a number; taken is false if the number ended before it.
func (o *object) inNumber(c byte) (taken bool, problem string) {
	digit := c >= '0' && c <= '9'
	exponent := c == 'e' || c == 'E'
	switch o.want {
	case inMinus:
		switch {
		case c == '0':
			o.want = inZero
		case digit:
			o.want = inInteger
		default:
			return false, "expected a digit"
		}
	case inZero, inInteger:
		switch {
		case digit && o.want == inInteger:
		case c == '.':
			o.want = inPoint
		case exponent:
			o.want = inE
		default:
			return false, ""
		}
	case inPoint:
		if !digit {
			return false, "expected a digit"
		}
		o.want = inFraction
	case inFraction:
		switch {
		case digit:
		case exponent:
			o.want = inE
		default:
			return false, ""
		}
	case inE, inESign:
		switch {
		case digit:
			o.want = inExponent
		case o.want == inE && (c == '+' || c == '-'):
			o.want = inESign
		default:
			return false, "expected a digit"
		}
	case inExponent:
		return digit, ""
	}
	return true, ""
}

// wreck follows what is left of a broken object, so that it can be told as a
// whole what was wrong: until its braces balance or something else begins.
type wreck struct {
	depth  int
	quote  bool // inside a string
	open   bool // inside the string in which the object broke; it may go on over lines
	skip   bool // the next byte is escaped
	atLine bool // the next byte starts a line
	gap    bool // there was a blank line before it
}

// wreckPeek is how much of a line is needed to see whether something else
// begins there.
const wreckPeek = 256

// feed takes bytes of b and returns how many, and whether the wreck ends
// there. If it returns fewer than all and not ended, it needs more to decide.
func (k *wreck) feed(b []byte, last bool, own *Extension) (n int, ended bool) {
	for i, c := range b {
		if k.atLine {
			line := b[i:min(len(b), i+wreckPeek)]
			if nl := bytes.IndexByte(line, '\n'); nl >= 0 {
				line = line[:nl]
			} else if len(line) < wreckPeek && !last {
				return i, false
			}
			if k.endsBefore(trimCR(line), own) {
				return i, true
			}
			k.atLine = false
		}
		switch {
		case c == '\n':
			k.quote, k.skip, k.atLine = k.open, false, true
		case k.skip:
			k.skip = false
		case k.quote:
			k.quote, k.skip = c != '"', c == '\\'
			k.open = k.open && k.quote
		case c == '"':
			k.quote = true
		case c == '{':
			k.depth++
		case c == '}':
			if k.depth--; k.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(b), last
}

// endsBefore reports whether a line can't belong to the wreck. Inside a string
// that lacks its end, only what can't be in it ends the wreck: a signal there is
// part of what somebody wrote.
func (k *wreck) endsBefore(line []byte, own *Extension) bool {
	if k.open {
		return isBlank(line) || line[0] == '{'
	}
	return k.gap || own.beginsAnew(line) || bytes.HasPrefix(line, []byte(openTag))
}

// beginsAnew reports whether a line is something of its own, which belongs
// neither to a paragraph nor to a broken object before it.
func (x *Extension) beginsAnew(line []byte) bool {
	if len(bytes.TrimLeft(line, " \t")) == 0 || line[0] == '{' {
		return true
	}
	if _, opens := openFence(line); opens || isDelegation(line, delegationStart) {
		return true
	}
	_, rest := x.lineName(line)
	return rest >= 0
}
