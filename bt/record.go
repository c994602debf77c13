package bt

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Recorder writes down what a run's leaves did and when, so that [Program.Replay] can
// go through the run again, and [Program.Resume] go on with it. Its form is lines of JSON,
// each with a sum over all that was written so far. A nil Recorder writes nothing.
//
// A line is written as soon as it is known: that a leaf begins before it does, and what it
// did right after. A line that can't be written ends the run, so that no leaf runs that the
// recording does not know of.
type Recorder struct {
	to     io.Writer
	headed bool // the first line is written
	writes []write
	saved  value
	sum    uint32 // of what was written
	err    error
}

// NewRecorder returns a recorder that writes to w, a line at a time.
func NewRecorder(w io.Writer) *Recorder { return &Recorder{to: w} }

// Flush flushes what is written to, if that holds something back, and returns the first
// error there was.
func (r *Recorder) Flush() error {
	if r == nil {
		return nil
	}
	if to, ok := r.to.(interface{ Flush() error }); ok && r.err == nil {
		r.err = to.Flush()
	}
	return r.err
}

// line is a line of a recording: the first has Tree, one at each tick has Tick, the
// others are what leaves did, that one begins, or where the run was stopped.
type line struct {
	Tree      string        `json:"tree,omitempty"`
	Nodes     int           `json:"nodes,omitempty"`
	Print     string        `json:"print,omitempty"`
	Began     time.Time     `json:"began,omitzero"`
	Global    value         `json:"global,omitzero"`
	Limits    Limits        `json:"limits,omitzero"`
	Tick      int           `json:"tick,omitempty"`
	At        time.Duration `json:"at,omitempty"`
	Progress  time.Duration `json:"progress,omitempty"`
	Begun     string        `json:"begun,omitempty"`
	Leaf      string        `json:"leaf,omitempty"`
	Node      int32         `json:"node,omitempty"`
	Status    Status        `json:"status,omitempty"`
	Writes    []write       `json:"writes,omitempty"`
	Saved     value         `json:"saved,omitzero"`
	Note      string        `json:"note,omitempty"`
	Fault     string        `json:"fault,omitempty"`
	Temporary bool          `json:"temporary,omitempty"`
	After     time.Duration `json:"after,omitempty"`
	Spent     Spent         `json:"spent,omitzero"`
	Stop      string        `json:"stop,omitempty"`
}

type write struct {
	Scope int32 `json:"scope"`
	Key   value `json:"key"`
	Value value `json:"value"`
}

func (r *Recorder) put(l line) {
	if r.err != nil {
		return
	}
	data, err := json.Marshal(l)
	if err == nil {
		data, r.sum = sealed(data, r.sum)
		_, err = r.to.Write(append(data, '\n'))
	}
	r.err = err
}

func (r *Recorder) begin(run *Run) {
	if r != nil && !r.headed {
		r.headed = true
		r.put(line{Tree: text(run.program.name), Nodes: len(run.program.nodes), Print: run.program.print(), Began: run.began, Global: value{run.board.Values()}, Limits: run.options.Limits})
	}
}

func (r *Recorder) tick(run *Run) {
	if r != nil {
		r.put(line{Tick: run.ticks, At: run.elapsed, Progress: run.progress})
	}
}

func (r *Recorder) write(in int32, key string, v any) {
	if r != nil {
		r.writes = append(r.writes, write{in, value{key}, value{v}})
	}
}

// forget drops writes that are not a leaf's.
func (r *Recorder) forget() {
	if r != nil {
		r.writes = r.writes[:0]
	}
}

func (r *Recorder) begun(at int32, c *Context) {
	r.put(line{Begun: text(c.run.program.nodes[at].path), Node: at})
}

func (r *Recorder) leaf(at int32, s Status, c *Context) {
	r.put(line{Leaf: text(c.run.program.nodes[at].path), Node: at, Status: s, Writes: r.writes, Saved: r.saved,
		Note: c.note, Fault: c.fault, Temporary: c.temporary, After: c.after, Spent: c.spent})
	r.writes, r.saved = r.writes[:0], value{}
}

func (r *Recorder) stop(at int32, err error) {
	if r != nil {
		r.put(line{Node: at, Stop: err.Error()})
	}
}

// recordedLeaf takes what a leaf did from a recording, or calls it and writes it down.
func (r *Run) recordedLeaf(c *Context) Status {
	if r.options.replay != nil {
		if status, known := r.options.replay.leaf(r, c); known {
			return status
		}
	}
	record, at := r.options.Record, c.node
	if !r.states[at].asked && !r.interrupted[at] {
		record.begun(at, c)
	}
	if record.err != nil {
		r.broken = fmt.Errorf("the recording can't be written: %w", record.err)
		return Failure
	}
	status := r.call(&r.program.steps[at], c)
	delete(r.interrupted, at)
	record.leaf(at, status, c)
	return status
}

// Replay goes through a recorded run of the program again, with what its leaves did then,
// and gives the trace of each tick. It returns the last status. A recording of another
// tree is an error.
func (p *Program) Replay(recording io.Reader, trace func(tick int, at time.Duration, entries []Entry)) (Status, error) {
	in := &replayer{lines: newLineReader(recording)}
	in.advance()
	head := in.next
	if in.err != nil {
		return Fresh, errors.Join(p.notOf(), in.err)
	}
	if !p.recorded(head) {
		return Fresh, p.notOf()
	}
	board := &Blackboard{}
	if err := board.fill(head.Global.v, head.Limits.withDefaults().Blackboard); err != nil {
		return Fresh, err
	}
	run := p.Start(Options{Blackboard: board, Trace: trace, Limits: head.Limits, replay: in})
	defer run.Close()
	run.began = head.Began
	status := Fresh
	in.advance()
	for in.err == nil {
		var err error
		status, err = run.replayTick(in)
		if errors.Is(err, errDiffers) {
			return status, err
		}
	}
	if !errors.Is(in.err, io.EOF) {
		return status, fmt.Errorf("the recording can't be read: %w", in.err)
	}
	return status, nil
}

// notOf says that a recording is not of the program.
func (p *Program) notOf() error {
	return fmt.Errorf("this is no recording of the tree %q as it is now", p.name)
}

// recorded reports whether a recording's first line is of the program.
func (p *Program) recorded(head line) bool {
	return head.Tree == text(p.name) && head.Nodes == len(p.nodes) && head.Print == p.print()
}

// replayTick goes through the next recorded tick.
func (r *Run) replayTick(in *replayer) (Status, error) {
	tick := in.next
	if tick.Tick == 0 {
		return Failure, fmt.Errorf("%w: line %d has no tick where one is due, after tick %d", errDiffers, in.lines.number, r.ticks)
	}
	in.advance()
	r.moveTo(tick.Progress)
	return r.Tick(context.Background(), r.began.Add(tick.At))
}

// moveTo takes over when something last moved, at the beginning of a recorded tick.
func (r *Run) moveTo(progress time.Duration) {
	if progress != r.progress {
		r.moved(progress)
	}
}

var errDiffers = errors.New("the recording is of a run that went another way")

// replayer reads a recording ahead by one line.
type replayer struct {
	lines *lineReader
	next  line
	err   error

	resuming bool              // the run will go on
	rest     []line            // what there is of its last tick, after next
	pending  *line             // the beginning of that tick
	resumed  *Recorder         // that goes on with the recording, once all before that tick is replayed
	warn     func(text string) // the run's own
}

func (p *replayer) advance() {
	if p.resumed == nil {
		p.next, p.err = p.lines.read()
		return
	}
	p.next, p.err = line{}, io.EOF
	if len(p.rest) > 0 {
		p.next, p.rest, p.err = p.rest[0], p.rest[1:], nil
	}
}

// stopped returns what stopped the run at a node.
func (p *replayer) stopped(at int32) error {
	if at < 0 && p.resumed != nil && p.err == nil {
		return fmt.Errorf("%w: it has %q, which the tree does not ask", errDiffers, p.next.Begun+p.next.Leaf)
	}
	if p.err != nil || p.next.Stop == "" || p.next.Node != at {
		return nil
	}
	text := p.next.Stop
	p.advance()
	return errors.New(text)
}

// leaf does what a leaf did. It reports whether that is known: in a run that is resumed
// the last leaf can have begun without a result.
func (p *replayer) leaf(r *Run, c *Context) (Status, bool) {
	path := text(r.program.nodes[c.node].path)
	differs := func(format string, args ...any) (Status, bool) {
		r.broken = fmt.Errorf("%w: "+format, append([]any{errDiffers}, args...)...)
		return Failure, true
	}
	if p.err == nil && p.next.Begun == path && p.next.Node == c.node {
		p.advance()
		if p.over() {
			r.interrupted[c.node] = true
			r.goLive()
			return Fresh, false
		}
	}
	l := p.next
	switch {
	case p.err != nil:
		return differs("it ends at tick %d where the tree asks %q: %w", r.ticks, path, p.err)
	case l.Leaf != path || l.Node != c.node:
		return differs("at tick %d it has %q where the tree asks %q", r.ticks, l.Leaf, path)
	case l.Status != Running && !l.Status.Finished():
		return differs("at tick %d %q returned %v", r.ticks, path, l.Status)
	}
	if err := p.restore(&r.program.nodes[c.node], c, l); err != nil {
		return differs("at tick %d %q: %w", r.ticks, path, err)
	}
	for _, w := range l.Writes {
		key, ok := w.Key.v.(string)
		if !ok || w.Scope < 0 || int(w.Scope) >= len(r.scopes) {
			return differs("there is no scope %d, or no key %v", w.Scope, w.Key.v)
		}
		r.set(c, w.Scope, key, w.Value.v)
	}
	c.note, c.fault, c.temporary, c.after = l.Note, l.Fault, l.Temporary, l.After
	c.Spend(l.Spent)
	if delete(r.interrupted, c.node); p.resumed != nil && l.Status == Running {
		r.interrupted[c.node] = true
	}
	p.advance()
	if p.over() {
		r.goLive()
	}
	return l.Status, true
}

// text is a text as JSON can hold it.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// value is a value of a blackboard in JSON. A whole float64 keeps its point, so that it
// is none of an int's; a text that is no UTF-8, and a map with such a key, are objects that
// have what they hold under a key of their own.
type value struct{ v any }

// The keys of such objects. A map that has one of them, or any that begins like them, is
// written in the same way.
const (
	marked   = "\x00"
	bytesKey = marked + "bytes"
	pairsKey = marked + "pairs"
)

// IsZero reports whether there is nothing.
func (v value) IsZero() bool { return v.v == nil }

// MarshalJSON writes the value.
func (v value) MarshalJSON() ([]byte, error) { return json.Marshal(pointed(v.v)) }

func pointed(v any) any {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return map[string]any{bytesKey: base64.StdEncoding.EncodeToString([]byte(v))}
		}
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return json.Number(text)
	case []any:
		all := make([]any, len(v))
		for i, x := range v {
			all[i] = pointed(x)
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for key, x := range v {
			if !utf8.ValidString(key) || strings.HasPrefix(key, marked) {
				return pairs(v)
			}
			all[key] = pointed(x)
		}
		return all
	}
	return v
}

// pairs is a map as a list of keys and values, in order.
func pairs(v map[string]any) any {
	all := make([]any, 0, 2*len(v))
	for _, key := range slices.Sorted(maps.Keys(v)) {
		all = append(all, pointed(key), pointed(v[key]))
	}
	return map[string]any{pairsKey: all}
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *value) UnmarshalJSON(data []byte) (err error) {
	if v.v, err = ParseValue(data); err == nil && bytes.Contains(data, []byte(`"\u0000`)) {
		v.v, err = unmarked(v.v)
	}
	return err
}

// unmarked makes what objects with keys of their own stand for.
func unmarked(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case []any:
		for i := range v {
			if v[i], err = unmarked(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if encoded, ok := v[bytesKey].(string); ok {
			text, err := base64.StdEncoding.DecodeString(encoded)
			return string(text), err
		}
		if list, ok := v[pairsKey].([]any); ok {
			return unpaired(list)
		}
		for key := range v {
			if v[key], err = unmarked(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func unpaired(list []any) (any, error) {
	all := make(map[string]any, len(list)/2)
	for pair := range slices.Chunk(list, 2) {
		for i := range pair {
			var err error
			if pair[i], err = unmarked(pair[i]); err != nil {
				return nil, err
			}
		}
		key, ok := pair[0].(string)
		if !ok || len(pair) != 2 {
			return nil, errors.New("a map's key has no value")
		}
		all[key] = pair[1]
	}
	return all, nil
}

// FormatValue writes a value of a blackboard as the JSON that [ParseValue] reads. A text
// that is no UTF-8, or begins with a zero byte, is an error.
func FormatValue(v any) ([]byte, error) {
	if _, err := sizeOf(v); err != nil {
		return nil, err
	}
	data, err := json.Marshal(pointed(v))
	if err == nil && bytes.Contains(data, []byte(`"\u0000`)) {
		err = errors.New("it has a text that is no UTF-8, or begins with a zero byte")
	}
	return data, err
}

// ParseValue reads a value of a blackboard from JSON. A number is an int, unless it has a
// point or an exponent.
func ParseValue(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return unpointed(v)
}

func unpointed(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		var n any
		if strings.ContainsAny(v.String(), ".eE") {
			n, err = v.Float64()
		} else {
			n, err = strconv.Atoi(v.String())
		}
		if err != nil {
			return nil, fmt.Errorf("%.40s is no number that can be kept", v)
		}
		return n, nil
	case []any:
		for i := range v {
			if v[i], err = unpointed(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = unpointed(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
