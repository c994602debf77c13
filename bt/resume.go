package bt

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"time"
)

// A RecordingFile is a recording that is gone on with: an [os.File] that was opened for
// reading and writing.
type RecordingFile interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
}

// Resume goes on with a run from its recording, wherever it was stopped: between two
// events, or while a line was written. The leaves that have a result are not run again;
// what they wrote is put back, and [Leaf.Restore] does the same for what they hold elsewhere. The trace has
// the recorded ticks too, so that it is that of a run which nothing stopped.
//
// The first [Run.Tick] (or that of [Run.Drive]) brings the last recorded tick to its end.
// Time goes on from there: what passed in between does not count, nor does a clock that was
// set back. A context's end that stopped the run is forgotten.
//
// A leaf that had begun and has no result may have been carried out. [Run.Interrupted]
// names such leaves; they are called again, and [Context.Interrupted] tells them.
//
// What was torn off at the end of the file is cut off, and the run writes on after that.
// A file that is damaged elsewhere, or is of a tree that was different, is an error, and
// nothing has happened. The blackboard gets the values that the run began with, and the
// limits are those that it began with; a file with nothing in it is a run that begins, with
// the blackboard and the limits as they are. Record is not looked at.
func (p *Program) Resume(file RecordingFile, o Options) (*Run, error) {
	good, err := survey(file)
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("the recording can't be read: %w", err)
	}
	in := &replayer{lines: newLineReader(io.LimitReader(file, good.size)), resuming: true, warn: o.Warn}
	o.Record, o.Warn, o.replay = nil, nil, in
	if o.Blackboard == nil {
		o.Blackboard = &Blackboard{}
	}
	var run *Run
	if good.lines > 0 {
		run, err = p.catchUp(in, o, good)
	} else {
		run = p.Start(o)
	}
	if err == nil {
		err = in.append(file, good)
	}
	if err != nil {
		if run != nil {
			run.Close()
		}
		return nil, err
	}
	return run, nil
}

// catchUp goes through the ticks before the last one, and reads what there is of that.
func (p *Program) catchUp(in *replayer, o Options, good extent) (*Run, error) {
	in.advance()
	head := in.next
	switch {
	case in.err != nil:
		return nil, in.err
	case !p.recorded(head):
		return nil, p.notOf()
	}
	o.Limits = head.Limits
	if err := o.Blackboard.fill(head.Global.v, o.Limits.withDefaults().Blackboard); err != nil {
		return nil, err
	}
	run := p.Start(o)
	run.began = head.Began
	in.advance()
	for tick := 1; tick < good.ticks; tick++ {
		status, err := run.replayTick(in)
		if errors.Is(err, errDiffers) {
			return run, err
		}
		run.carried++
		if status.Finished() {
			run.carried = 0
		}
	}
	if in.err == nil {
		pending := in.next
		if pending.Tick == 0 {
			return run, fmt.Errorf("%w: line %d has no tick where one is due, after tick %d", errDiffers, in.lines.number, run.ticks)
		}
		in.pending = &pending
		in.advance()
		for ; in.err == nil; in.advance() {
			in.rest = append(in.rest, in.next)
		}
	}
	if !errors.Is(in.err, io.EOF) {
		return run, in.err
	}
	run.underWay(in.rest)
	return run, nil
}

var errNoRecording = errors.New("this is no recording of a tree's run")

// Recorded returns the name of the tree that a recording is of, and the values that its run
// began with.
func Recorded(recording io.Reader) (tree string, global map[string]any, err error) {
	lines := newLineReader(recording)
	if first, err := lines.from.Peek(1); err == nil && first[0] != '{' {
		return "", nil, errNoRecording
	}
	head, err := lines.read()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err == nil && head.Nodes == 0:
		return "", nil, errNoRecording
	case err != nil:
		return "", nil, err
	}
	global, _ = head.Global.v.(map[string]any)
	return head.Tree, global, nil
}

// underWay finds the leaves that had begun and have no result.
func (r *Run) underWay(last []line) {
	r.interrupted = map[int32]bool{}
	for i := range r.states {
		if r.states[i].asked {
			r.interrupted[int32(i)] = true
		}
	}
	for _, l := range last {
		if l.Begun != "" || l.Leaf != "" {
			r.interrupted[l.Node] = l.Begun != "" || l.Status == Running
		}
	}
	maps.DeleteFunc(r.interrupted, func(node int32, under bool) bool {
		return !under || node < 0 || int(node) >= len(r.states)
	})
}

// Interrupted returns the leaves that were under way when the run was stopped that this one
// resumes, and have not been called since. What they do may have been carried out.
func (r *Run) Interrupted() []int {
	var all []int
	for _, node := range slices.Sorted(maps.Keys(r.interrupted)) {
		all = append(all, int(node))
	}
	return all
}

// append has the recording written on.
func (p *replayer) append(file RecordingFile, good extent) error {
	err := file.Truncate(good.size)
	if err == nil {
		_, err = file.Seek(good.size, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("the recording can't be gone on with: %w", err)
	}
	p.resumed = &Recorder{to: file, headed: good.lines > 0, sum: good.sum}
	p.advance()
	return nil
}

// resumeTick makes the next tick the one that was under way.
func (p *replayer) resumeTick(r *Run, now time.Time) {
	switch {
	case p.resumed == nil: // it is only replayed
	case p.pending == nil:
		r.goLive()
	default:
		r.began = now.Add(-p.pending.At)
		r.elapsed = p.pending.At
		r.moveTo(p.pending.Progress)
		p.pending = nil
	}
}

// over reports whether a run that is resumed has nothing recorded any more.
func (p *replayer) over() bool {
	return p.resumed != nil && p.pending == nil && p.err != nil
}

// goLive has leaves called from now on.
func (r *Run) goLive() {
	p := r.options.replay
	r.options.replay, r.options.Record, r.options.Warn = nil, p.resumed, p.warn
}

// restore has a leaf put back what it holds outside the blackboard, in a run that is
// resumed.
func (p *replayer) restore(n *node, c *Context, l line) (err error) {
	if n.leaf.Restore == nil || !p.resuming {
		return nil
	}
	c.restoring = true
	defer func() {
		c.restoring = false
		if p := recover(); p != nil {
			err = errors.New(panicText(p))
		}
	}()
	n.leaf.Restore(c, l.Status, l.Saved.v)
	return nil
}

// fill makes values the only ones in the global scope.
func (b *Blackboard) fill(values any, most int) error {
	b.clear(b.global())
	all, _ := values.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if err := b.put(b.global(), key, all[key], most); err != nil {
			return fmt.Errorf("the recording's blackboard: key %.40q: %w", key, err)
		}
	}
	return nil
}

// print tells a tree from others: its nodes with all that they do, and the keys that are
// declared.
func (p *Program) print() string {
	h := sha256.New()
	e := json.NewEncoder(h)
	for i := range p.nodes {
		n := *p.nodes[i].Node
		args := value{map[string]any(n.Args)}
		n.Children, n.At, n.Description, n.Args = nil, "", "", nil
		_ = e.Encode([]any{p.nodes[i].parent, p.nodes[i].path, args, n}) // a hash takes everything
	}
	for _, s := range p.scopes {
		ports := map[string]Port{} // which keys they stand for is in the nodes
		for key, p := range s.ports {
			ports[key] = p.port
		}
		_ = e.Encode([]any{s.keys, ports})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// sealed adds to a line the sum over it and all before it, and returns that too.
func sealed(data []byte, before uint32) ([]byte, uint32) {
	sum := crc32.Update(before, castagnoli, data)
	return fmt.Appendf(data[:len(data)-1], sealForm, sum), sum
}

// unsealed returns a line without its sum, if that is right.
func unsealed(data []byte, before uint32) ([]byte, uint32, bool) {
	at := bytes.LastIndex(data, []byte(sealStart))
	if at < 0 || len(data)-at != sealLength {
		return nil, 0, false
	}
	stated := data[at:]
	data = append(data[:at:at], '}')
	sum := crc32.Update(before, castagnoli, data)
	return data, sum, string(stated) == fmt.Sprintf(sealForm, sum)
}

const (
	sealStart  = `,"sum":"`
	sealForm   = sealStart + `%08x"}`
	sealLength = len(sealStart) + 8 + len(`"}`)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maxLine bounds a line: a blackboard may be in it, and a byte take six.
const maxLine = 6*MaxBlackboard + 1<<20

// extent is how much of a recording is good.
type extent struct {
	size         int64
	lines, ticks int
	sum          uint32
}

// survey looks through a recording to its end, so that nothing is done with one that is
// damaged.
func survey(file io.ReadSeeker) (extent, error) {
	var good extent
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return good, fmt.Errorf("the recording can't be read: %w", err)
	}
	lines, stopped := newLineReader(file), 0
	for {
		l, err := lines.read()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errTorn):
			return good, nil
		case err != nil:
			return good, err
		case stopped > 0:
			return good, fmt.Errorf("line %d of the recording: the run was stopped at line %d, and something follows", lines.number, stopped)
		case (l.Tree != "" || l.Nodes > 0) != (lines.number == 1):
			return good, fmt.Errorf("line %d of the recording: the tree is named in the first line, and nowhere else", lines.number)
		case l.Stop != "":
			stopped = lines.number
			continue // it is cut off
		case l.Tick > 0:
			if good.ticks++; l.Tick != good.ticks {
				return good, fmt.Errorf("line %d of the recording: it has tick %d, and %d is due", lines.number, l.Tick, good.ticks)
			}
		case lines.number == 2:
			return good, errors.New("line 2 of the recording: it has no tick, and the first is due")
		}
		good = extent{lines.size, lines.number, good.ticks, lines.sum}
	}
}

// lineReader reads a recording's lines.
type lineReader struct {
	from   *bufio.Reader
	number int   // of the last line
	size   int64 // of all lines so far
	sum    uint32
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{from: bufio.NewReader(r)} }

// errTorn is of a last line that was not written to its end.
var errTorn = fmt.Errorf("the last line is not whole: %w", io.ErrUnexpectedEOF)

// read reads a line. Its error names the line, unless the recording has come to its end.
func (r *lineReader) read() (line, error) {
	data, err := r.line()
	if err != nil {
		return line{}, err
	}
	r.number++
	damaged := func(format string, args ...any) (line, error) {
		return line{}, fmt.Errorf("line %d of the recording: "+format, append([]any{r.number}, args...)...)
	}
	body, sum, ok := unsealed(data[:len(data)-1], r.sum)
	if !ok {
		return damaged("its sum is not that of what it has, or a line is missing before it")
	}
	var l line
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return damaged("%w", err)
	}
	r.size += int64(len(data))
	r.sum = sum
	return l, nil
}

// line returns the next line with its end.
func (r *lineReader) line() ([]byte, error) {
	var all []byte
	for {
		part, err := r.from.ReadSlice('\n')
		all = append(all, part...)
		switch {
		case err == nil:
			return all, nil
		case errors.Is(err, io.EOF) && len(all) > 0:
			return nil, errTorn
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(all) > maxLine:
			return nil, fmt.Errorf("line %d of the recording has more than %d MB", r.number+1, maxLine>>20)
		}
	}
}
