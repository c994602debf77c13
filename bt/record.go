package bt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// A Recorder writes down what a run's leaves did and when, so that [Program.Replay] can
// go through the run again. Its form is lines of JSON. A nil Recorder writes nothing.
type Recorder struct {
	to     *bufio.Writer
	writes []write
	err    error
}

// NewRecorder returns a recorder that writes to w. [Recorder.Flush] completes it.
func NewRecorder(w io.Writer) *Recorder { return &Recorder{to: bufio.NewWriter(w)} }

// Flush writes what is still held back, and returns the first error there was.
func (r *Recorder) Flush() error {
	if r == nil {
		return nil
	}
	if r.err == nil {
		r.err = r.to.Flush()
	}
	return r.err
}

// line is a line of a recording: the first has Tree, one at each tick has Tick, the
// others are what leaves did, or where the run was stopped.
type line struct {
	Tree      string        `json:"tree,omitempty"`
	Nodes     int           `json:"nodes,omitempty"`
	Began     time.Time     `json:"began,omitzero"`
	Global    value         `json:"global,omitzero"`
	Tick      int           `json:"tick,omitempty"`
	At        time.Duration `json:"at,omitempty"`
	Progress  time.Duration `json:"progress,omitempty"`
	Leaf      string        `json:"leaf,omitempty"`
	Node      int32         `json:"node,omitempty"`
	Status    Status        `json:"status,omitempty"`
	Writes    []write       `json:"writes,omitempty"`
	Note      string        `json:"note,omitempty"`
	Fault     string        `json:"fault,omitempty"`
	Temporary bool          `json:"temporary,omitempty"`
	After     time.Duration `json:"after,omitempty"`
	Stop      string        `json:"stop,omitempty"`
}

type write struct {
	Scope int32  `json:"scope"`
	Key   string `json:"key"`
	Value value  `json:"value"`
}

func (r *Recorder) put(l line) {
	if r.err != nil {
		return
	}
	data, err := json.Marshal(l)
	if err == nil {
		_, err = r.to.Write(append(data, '\n'))
	}
	r.err = err
}

func (r *Recorder) begin(run *Run) {
	if r != nil {
		r.put(line{Tree: text(run.program.name), Nodes: len(run.program.nodes), Began: run.began, Global: value{run.board.Values()}})
	}
}

func (r *Recorder) tick(run *Run) {
	if r != nil {
		r.put(line{Tick: run.ticks, At: run.elapsed, Progress: run.progress})
	}
}

func (r *Recorder) write(in int32, key string, v any) {
	if r != nil {
		r.writes = append(r.writes, write{in, key, value{v}})
	}
}

// forget drops writes that are not a leaf's.
func (r *Recorder) forget() {
	if r != nil {
		r.writes = r.writes[:0]
	}
}

func (r *Recorder) leaf(at int32, s Status, c *Context) {
	if r != nil {
		r.put(line{Leaf: text(c.run.program.nodes[at].path), Node: at, Status: s, Writes: r.writes,
			Note: c.note, Fault: c.fault, Temporary: c.temporary, After: c.after})
		r.writes = r.writes[:0]
	}
}

func (r *Recorder) stop(at int32, err error) {
	if r != nil {
		r.put(line{Node: at, Stop: err.Error()})
	}
}

// Replay goes through a recorded run of the program again, with what its leaves did then,
// and gives the trace of each tick. It returns the last status. A recording of another
// tree is an error.
func (p *Program) Replay(recording io.Reader, trace func(tick int, at time.Duration, entries []Entry)) (Status, error) {
	in := &replayer{lines: json.NewDecoder(recording)}
	in.advance()
	head := in.next
	if in.err != nil || head.Tree != text(p.name) || head.Nodes != len(p.nodes) {
		return Fresh, errors.Join(fmt.Errorf("this is no recording of the tree %q as it is now", p.name), in.err)
	}
	global, _ := head.Global.v.(map[string]any)
	board, err := NewBlackboard(global)
	if err != nil {
		return Fresh, fmt.Errorf("the recording's blackboard: %w", err)
	}
	run := p.Start(Options{Blackboard: board, Trace: trace, replay: in})
	defer run.Close()
	status := Fresh
	in.advance()
	for in.err == nil {
		if in.next.Tick == 0 {
			return status, fmt.Errorf("the recording has no tick where one is due, after tick %d", run.ticks)
		}
		at, progress := in.next.At, in.next.Progress
		in.advance()
		run.progress = progress
		status, err = run.Tick(context.Background(), head.Began.Add(at))
		if errors.Is(err, errDiffers) {
			return status, err
		}
	}
	if !errors.Is(in.err, io.EOF) {
		return status, fmt.Errorf("the recording can't be read: %w", in.err)
	}
	return status, nil
}

var errDiffers = errors.New("the recording is of a run that went another way")

// replayer reads a recording ahead by one line.
type replayer struct {
	lines *json.Decoder
	next  line
	err   error
}

func (p *replayer) advance() {
	p.next = line{}
	p.err = p.lines.Decode(&p.next)
}

// stopped returns what stopped the run at a node.
func (p *replayer) stopped(at int32) error {
	if p.err != nil || p.next.Stop == "" || p.next.Node != at {
		return nil
	}
	text := p.next.Stop
	p.advance()
	return errors.New(text)
}

// leaf does what a leaf did.
func (p *replayer) leaf(r *Run, c *Context) Status {
	l := p.next
	path := text(r.program.nodes[c.node].path)
	if p.err != nil {
		r.broken = fmt.Errorf("%w: it ends at tick %d where the tree asks %q: %w", errDiffers, r.ticks, path, p.err)
		return Failure
	}
	if l.Leaf != path || l.Node != c.node {
		r.broken = fmt.Errorf("%w: at tick %d it has %q where the tree asks %q", errDiffers, r.ticks, l.Leaf, path)
		return Failure
	}
	if l.Status != Running && !l.Status.Finished() {
		r.broken = fmt.Errorf("%w: at tick %d %q returned %v", errDiffers, r.ticks, path, l.Status)
		return Failure
	}
	for _, w := range l.Writes {
		if w.Scope < 0 || int(w.Scope) >= len(r.scopes) {
			r.broken = fmt.Errorf("%w: there is no scope %d", errDiffers, w.Scope)
			return Failure
		}
		r.set(c, w.Scope, w.Key, w.Value.v)
	}
	c.note, c.fault, c.temporary, c.after = l.Note, l.Fault, l.Temporary, l.After
	p.advance()
	return l.Status
}

// text is a text as JSON can hold it.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// value is a value of a blackboard in JSON. A whole float64 keeps its point, so that it
// is none of an int's.
type value struct{ v any }

// IsZero reports whether there is nothing.
func (v value) IsZero() bool { return v.v == nil }

// MarshalJSON writes the value.
func (v value) MarshalJSON() ([]byte, error) { return json.Marshal(pointed(v.v)) }

func pointed(v any) any {
	switch v := v.(type) {
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
			all[key] = pointed(x)
		}
		return all
	}
	return v
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *value) UnmarshalJSON(data []byte) (err error) {
	v.v, err = ParseValue(data)
	return err
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
