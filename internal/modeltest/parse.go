package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Parse reads a script. An error names the line: "greet.script:3: …".
func Parse(name, text string) (Script, error) {
	p := parser{script: Script{name: name}, names: map[string]bool{}}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); {
		at := i + 1
		line := lines[i]
		i++
		var more []string
		for i < len(lines) && (isIndented(lines[i]) || strings.TrimSpace(lines[i]) == "") {
			more = append(more, lines[i])
			i++
		}
		if err := p.line(at, line, unindent(more)); err != nil {
			return Script{}, fmt.Errorf("%s:%d: %w", name, at, err)
		}
	}
	if err := p.endTurn(); err != nil {
		return Script{}, fmt.Errorf("%s:%d: %w", name, len(lines), err)
	}
	if len(p.script.conversations) == 0 {
		return Script{}, fmt.Errorf("%s:1: no conversation: one begins with == and a name", name)
	}
	return p.script, nil
}

func isIndented(line string) bool {
	return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
}

// unindent takes off what the lines have in common, and empty lines at the end.
func unindent(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	indent, first := "", true
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		own := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if first {
			indent, first = own, false
		}
		for !strings.HasPrefix(own, indent) {
			indent = indent[:len(indent)-1]
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimPrefix(l, indent)
		if strings.TrimSpace(l) == "" {
			out[i] = ""
		}
	}
	return out
}

type parser struct {
	script  Script
	names   map[string]bool
	results []*regexp.Regexp // for the reply that comes next
	between bool             // a result: or until: line has ended the last reply
	until   bool             // that was an until: line
	turn    *turn
}

func (p *parser) line(at int, line string, more []string) error {
	switch {
	case strings.TrimSpace(line) == "" && len(more) == 0, strings.HasPrefix(line, "#") && len(more) == 0:
		return nil
	case isIndented(line), strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
		return errors.New("an indented line continues a line such as says:, and there is none")
	}
	if name, ok := strings.CutPrefix(line, "=="); ok {
		return p.conversation(strings.TrimSpace(name), more)
	}
	verb, value, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%s is neither a comment (#), a conversation (==) nor a verb with a colon", quote(line))
	}
	if len(p.script.conversations) == 0 {
		return fmt.Errorf("%s: outside a conversation: one begins with == and a name", quote(verb))
	}
	return p.verb(at, verb, strings.TrimSpace(value), more)
}

func (p *parser) conversation(name string, more []string) error {
	if err := p.endTurn(); err != nil {
		return err
	}
	if name == "" || p.names[name] {
		return fmt.Errorf("a conversation needs a name of its own, not %s", quote(name))
	}
	if len(more) > 0 {
		return errors.New("a conversation's name is one line")
	}
	p.names[name] = true
	p.script.conversations = append(p.script.conversations, &conversation{name: name})
	p.turn = nil
	return nil
}

// endTurn refuses a conversation or turn that leaves something open.
func (p *parser) endTurn() error {
	switch {
	case len(p.script.conversations) == 0:
		return nil
	case p.turn == nil:
		return errors.New("the conversation above has no asked: line")
	case len(p.turn.replies) == 0:
		return errors.New("the turn above has no reply: after asked: something must follow")
	case p.between:
		return errors.New("after result: or until: a reply must follow")
	}
	return nil
}

func (p *parser) verb(at int, verb, value string, more []string) error {
	oneLine := func() error {
		if len(more) > 0 {
			return fmt.Errorf("%s: is one line", verb)
		}
		return nil
	}
	switch verb {
	case "asked":
		return errors.Join(oneLine(), p.asked(value))
	case "result", "until":
		return errors.Join(oneLine(), p.result(verb, value))
	case "usage", "pieces", "times":
		return errors.Join(oneLine(), p.setting(verb, value))
	}
	if p.turn == nil {
		return fmt.Errorf("a conversation begins with asked:, not %s", quote(verb+":"))
	}
	made, err := parsePart(verb, value, more)
	if err != nil {
		return err
	}
	return p.add(at, made)
}

func (p *parser) asked(value string) error {
	re, err := pattern(value)
	if err != nil {
		return err
	}
	if p.turn == nil || len(p.turn.replies) > 0 {
		if p.turn != nil {
			if err := p.endTurn(); err != nil {
				return err
			}
		}
		p.turn = &turn{}
		c := p.script.conversations[len(p.script.conversations)-1]
		c.turns = append(c.turns, p.turn)
	}
	p.turn.asked = append(p.turn.asked, re)
	return nil
}

func (p *parser) result(verb, value string) error {
	re, err := pattern(value)
	if err != nil {
		return err
	}
	if a := p.attempt(); a == nil || !a.calls() {
		return errors.New(verb + ": must follow a call (runs:, writes:, reads: or calls:)")
	}
	p.results = append(p.results, re)
	p.between, p.until = true, p.until || verb == "until"
	return nil
}

func pattern(value string) (*regexp.Regexp, error) {
	re, err := regexp.Compile("(?m)" + value)
	if err != nil {
		return nil, errors.New("not a regular expression: " + safetext.Escape(err.Error()))
	}
	return re, nil
}

// attempt is the one that is being written, if any.
func (p *parser) attempt() *attempt {
	if p.turn == nil || len(p.turn.replies) == 0 {
		return nil
	}
	r := p.turn.replies[len(p.turn.replies)-1]
	return r.attempts[len(r.attempts)-1]
}

// add puts a part where it belongs: to the attempt that is being written, to another one
// at the same reply, or to a reply of its own.
func (p *parser) add(at int, made part) error {
	a := p.attempt()
	whole := made.verb == "fails" || made.verb == "limits"
	switch {
	case a == nil || p.between, a.calls() && !a.over() && !isCall(made.verb) && (whole || !isTrouble(made.verb)):
		a = &attempt{usage: defaultUsage(), times: 1}
		p.turn.replies = append(p.turn.replies, &reply{line: at, results: p.results, until: p.until, attempts: []*attempt{a}})
		p.results, p.between, p.until = nil, false, false
	case a.over():
		a = &attempt{usage: defaultUsage(), times: 1}
		r := p.turn.replies[len(p.turn.replies)-1]
		r.attempts = append(r.attempts, a)
	case whole:
		return fmt.Errorf("%s: can't come after what is said: the status is sent first. breaks: cuts a reply", made.verb)
	}
	a.parts = append(a.parts, made)
	return nil
}

func (p *parser) setting(verb, value string) error {
	a := p.attempt()
	if a == nil || p.between {
		return fmt.Errorf("%s: must follow the reply that it is about", verb)
	}
	if verb == "usage" {
		u, err := parseUsage(value)
		a.usage = u
		return err
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 1e6 {
		return fmt.Errorf("%s: needs a number from 1 on, not %s", verb, quote(value))
	}
	if verb == "pieces" {
		a.pieces = n
		return nil
	}
	if !a.over() {
		return errors.New("times: must follow trouble (breaks:, stalls:, fails: or limits:)")
	}
	a.times = n
	return nil
}

func parseUsage(value string) (usage, error) {
	var u usage
	for field := range strings.SplitSeq(value, ",") {
		count, kind, _ := strings.Cut(strings.TrimSpace(field), " ")
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 || n > 1e12 {
			return u, fmt.Errorf("usage: reads like 120 in, 100 cached, 34 out; not %s", quote(value))
		}
		switch kind {
		case "in":
			u.in = n
		case "cached":
			u.cached = n
		case "out":
			u.out = n
		default:
			return u, fmt.Errorf("usage: has in, cached and out, not %s", quote(kind))
		}
	}
	if u.cached > u.in {
		return u, errors.New("usage: cached tokens are part of those that went in, so there can't be more of them")
	}
	return u, nil
}

// verbs is for the error that an unknown one gets.
const verbs = "asked, says, thinks, floods, runs, writes, reads, calls, result, until, waits, usage, pieces, " +
	"breaks, stalls, fails, limits, times"

func parsePart(verb, value string, more []string) (part, error) {
	made := part{verb: verb}
	text := strings.TrimPrefix(strings.Join(append([]string{value}, more...), "\n"), "\n")
	switch verb {
	case "says", "thinks", "runs":
		made.text = text
		return made, needs(verb, text, "text, on its line or indented below")
	case "writes":
		made.name = value
		if len(more) > 0 {
			made.text = strings.Join(more, "\n") + "\n"
		}
		return made, needs(verb, value, "a path; what is written is indented below")
	case "calls":
		name, args, _ := strings.Cut(strings.ReplaceAll(text, "\n", " "), " ")
		made.name, made.args = name, json.RawMessage(strings.TrimSpace(args))
		if !json.Valid(made.args) || made.args[0] != '{' {
			return made, errors.New("calls: needs a tool's name and its arguments as a JSON object")
		}
		return made, nil
	case "fails":
		return parseFailure(made, value, more)
	}
	if len(more) > 0 {
		return made, fmt.Errorf("%s: is one line", quote(verb))
	}
	switch verb {
	case "reads":
		made.name = value
		return made, needs(verb, value, "a path")
	case "waits":
		made.name = value
		return made, needs(verb, value, "a name, for Server.Release")
	case "breaks", "stalls":
		if value != "" {
			return made, fmt.Errorf("%s: stands alone, without %s", verb, quote(value))
		}
		return made, nil
	case "floods":
		return parseFlood(made, value)
	case "limits":
		return parseLimit(made, value)
	}
	return made, fmt.Errorf("no verb %s; there are %s", quote(verb), verbs)
}

func needs(verb, value, what string) error {
	if value == "" {
		return fmt.Errorf("%s: needs %s", verb, what)
	}
	return nil
}

func parseFlood(made part, value string) (part, error) {
	number, unit := strings.TrimRight(value, "KMiB"), 1<<10
	if strings.HasSuffix(value, "MiB") {
		unit = 1 << 20
	}
	n, err := strconv.Atoi(number)
	if err != nil || value != number+"KiB" && value != number+"MiB" || n < 1 || n > 64<<20/unit {
		return made, fmt.Errorf("floods: needs a size from 1KiB to 64MiB, not %s", quote(value))
	}
	made.size = n * unit
	return made, nil
}

func parseLimit(made part, value string) (part, error) {
	var err error
	if made.in, err = time.ParseDuration(value); err == nil && made.in > 0 {
		return made, nil
	}
	if made.at, err = time.Parse(time.RFC3339, value); err == nil {
		return made, nil
	}
	return made, fmt.Errorf("limits: needs a duration such as 90m or a time such as 2030-01-02T15:04:05Z, not %s", quote(value))
}

// parseFailure reads a status and a message, and below it headers, an empty line and a
// body.
func parseFailure(made part, value string, more []string) (part, error) {
	status, message, _ := strings.Cut(value, " ")
	n, err := strconv.Atoi(status)
	if err != nil || n < 400 || n > 599 {
		return made, fmt.Errorf("fails: needs a status from 400 to 599, not %s", quote(status))
	}
	made.fail = failure{status: n, message: strings.TrimSpace(message), header: http.Header{}}
	for i, l := range more {
		if l == "" {
			made.fail.body = strings.Join(more[i+1:], "\n")
			break
		}
		name, value, ok := strings.Cut(l, ":")
		if !ok || !headerName.MatchString(name) {
			return made, fmt.Errorf("fails: below it are headers, then an empty line and a body; %s is no header", quote(l))
		}
		made.fail.header.Set(name, strings.TrimSpace(value))
	}
	return made, nil
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// quote shows text that somebody wrote, shortened.
func quote(text string) string {
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return `"` + safetext.Escape(text) + `"`
}
