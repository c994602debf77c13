package agentsig

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Options say what is known about the agent that speaks. What is left out is
// not checked.
type Options struct {
	Role  Role
	Task  string     // the id that this agent was assigned; for an expert, its request's
	Phase Phase      // the phase that the session holds
	Nonce string     // if set, signals have to carry it; exit records on the line directly before them, EXIT: run=<nonce>
	Hosts []string   // hosts that a pull request's URL may point to, besides the common forges
	Own   *Extension // line signals of the project's own; nil for none. A scanner with some is slower
}

// Validate reports an option that no signal could ever satisfy.
func (o Options) Validate() error {
	switch {
	case o.Role != "" && !slices.Contains(Roles(), o.Role):
		return fmt.Errorf("unknown role %s: use one of %s", quote(string(o.Role)), join(Roles()))
	case o.Phase != "" && !slices.Contains(Phases(), o.Phase):
		return fmt.Errorf("unknown phase %s: use one of %s", quote(string(o.Phase)), join(Phases()))
	case o.Task != "" && !ValidID(o.Task):
		return fmt.Errorf("no signal can carry the task id %s: %s", quote(o.Task), idForm)
	case o.Nonce != "" && !validWord([]byte(o.Nonce)):
		return fmt.Errorf("no signal can carry the nonce %s: nonces are %s", quote(o.Nonce), wordForm)
	}
	return nil
}

func (o *Options) checkNonce(got string) (Reason, error) {
	switch {
	case o.Nonce == "" || got == o.Nonce:
		return "", nil
	case got == "":
		return ReasonMissingNonce, errors.New("the signal does not carry this session's nonce")
	}
	return ReasonWrongNonce, fmt.Errorf("the nonce %s is not this session's", quote(got))
}

// Source says where a piece of output comes from.
type Source uint8

// The sources. Only in the agent's own voice does a signal count.
const (
	Voice  Source = iota // what the agent itself says
	Tool                 // a tool's result
	Prompt               // the prompt, echoed
)

func (s Source) reason() Reason {
	if s == Tool {
		return ReasonToolText
	}
	return ReasonEchoedPrompt
}

// Sink receives what a scanner finds. Either function may be nil.
type Sink struct {
	// Finding is called for each finding, in the order of their offsets. That
	// of a line signal comes when its payload is complete, so after the text of
	// the payload.
	Finding func(Finding)
	// Text is called with the clean text, in order: without line signals, but
	// with their payload; without XML blocks and exit records, valid or not, and
	// the line that announces a record. The bytes are the scanner's: they are
	// good until the function returns.
	Text func([]byte)
}

// Scanner reads an agent's output as it comes; [NewScanner] makes one. Write to
// it in chunks of any size, then call Close; what it finds does not depend on the
// chunks. It holds less than 1 MiB, whatever is written to it. A Scanner is not
// safe for concurrent use.
type Scanner struct {
	opts Options
	sink Sink

	source   Source
	hold     []byte // what was written and can't be settled yet
	released int    // of which so much was given out as text already
	off      int64  // offset of the first byte not settled
	line     int    // its line
	begun    bool   // the agent has begun a message
	closed   bool
	slow     bool // for tests: no line is passed over as plain

	mode        mode
	mid         bool  // the next byte does not stand at the first column
	fresh       bool  // if mid: nothing stands before it but what was removed
	blankEnd    bool  // if mid: the byte before it is a blank
	quoted      bool  // if mid: the line is a quotation
	fence       fence // the code fence that is open
	delegation  bool  // a delegation prompt is open
	noObject    int64 // below this offset, no object begins
	largeObject bool  // inside an object too large to be an exit record

	para      paragraph
	runs      []tickRun // scratch: the backticks of the current line
	ahead     int       // how far inline code was looked ahead for
	after     []ticks   // the backticks met there
	maskUntil int64     // below this offset, tags stand in inline code
	liveAt    int64     // the tag at this offset does not

	block  block
	object object
	wreck  wreck
	taken  int // bytes of the object, or of its wreck
	skip   skip

	announced *exitLine // the line directly before w[i], if it announces an exit record

	pending *Finding // a line signal whose payload is still coming
	payload strings.Builder
	queue   []Finding // what was found after it
	sawXML  bool
	verdict verdict

	tail       []byte // the last bytes of clean text, as many as a tag's name has
	foreign    []byte // the current line of a source that is not the voice
	foreignOff int64  // its offset
}

type mode uint8

const (
	inText mode = iota
	inObject
	inBlock
	inParagraph // looking ahead for the end of inline code
	inSkip      // inside something too large to hold
	afterBlock
)

// skip is what a block or object too large to hold turns into.
type skip struct {
	finding Finding
	hash    hash.Hash
	object  bool
}

const (
	maxQueue = 64
	maxAfter = 1024
	maxFeed  = 32 << 10
	bom      = "\ufeff"
)

// NewScanner returns a scanner that gives what it finds to the sink.
func NewScanner(o Options, sink Sink) *Scanner {
	if sink.Finding == nil {
		sink.Finding = func(Finding) {}
	}
	if sink.Text == nil {
		sink.Text = func([]byte) {}
	}
	return &Scanner{opts: o, sink: sink, line: 1, liveAt: -1}
}

// ErrClosed is returned by a write to a closed scanner.
var ErrClosed = errors.New("agentsig: scanner is closed")

// Write takes a chunk of what the agent itself says.
func (s *Scanner) Write(p []byte) (int, error) { return s.WriteFrom(Voice, p) }

// WriteFrom takes a chunk of output from a source. Only the agent's voice can
// hold signals and only it becomes clean text; elsewhere signals are near
// misses. A change of source ends the line.
func (s *Scanner) WriteFrom(from Source, p []byte) (int, error) {
	if s.closed {
		return 0, ErrClosed
	}
	n := len(p)
	if n == 0 {
		return 0, nil
	}
	if from != s.source {
		s.settle()
		s.source = from
	}
	if from != Voice {
		s.writeForeign(p)
		return n, nil
	}
	if !s.begun {
		s.begun = true
		if n := len(s.tail); n > 0 && s.tail[n-1] != '\n' {
			s.giveBytes([]byte{'\n'}) // so that two messages do not run together
		}
	}
	s.write(p)
	return n, nil
}

// write scans p in place where it can. Only what can't be settled is kept, and
// a line that was kept is completed first.
func (s *Scanner) write(p []byte) {
	for len(p) > 0 {
		if len(s.hold) == 0 {
			n := s.run(p, false)
			s.hold = append(s.hold, p[n:]...)
			return
		}
		n := min(len(p), maxFeed)
		if i := bytes.IndexByte(p[:n], '\n'); i >= 0 {
			n = i + 1
		}
		s.hold = append(s.hold, p[:n]...)
		p = p[n:]
		done := s.run(s.hold, false)
		s.hold = s.hold[:copy(s.hold, s.hold[done:])]
	}
}

// Flush reports a line signal whose payload is still coming, with the payload
// so far; what comes later is text, and not part of it. A listener calls it when
// the agent has fallen silent.
func (s *Scanner) Flush() { s.flushPending() }

// Close ends the output and returns the verdict on the whole of it.
func (s *Scanner) Close() Verdict {
	if !s.closed {
		s.settle()
		s.flushPending()
		s.closed = true
	}
	return s.verdict.result()
}

// settle decides everything that is still open, as at the end of the output.
// Fences and delegation prompts stay open.
func (s *Scanner) settle() {
	if s.source != Voice {
		s.endForeignLine()
		return
	}
	for len(s.hold) > 0 {
		n := s.run(s.hold, true)
		s.hold = s.hold[:copy(s.hold, s.hold[n:])]
	}
	if s.mode == inSkip {
		s.endSkip(!s.skip.object)
	}
	s.loneExitLine()
	s.mode, s.mid, s.quoted, s.released, s.begun = inText, false, false, 0, false
	s.para.reset()
}

// cursor is the scanner's place in the bytes at hand.
type cursor struct {
	w    []byte
	i    int // everything before is settled
	text int // clean text up to here was given out

	ticked int // the backticks before it are counted
}

// run settles as much of w as it can and returns how much that is. If w is the
// last of the output, that is all of it, in one call or several.
func (s *Scanner) run(w []byte, last bool) int {
	c := cursor{w: w, text: s.released}
	s.released = 0
	for c.i < len(w) {
		var more bool
		switch s.mode {
		case inText:
			more = s.stepText(&c, last)
		case inObject:
			more = s.stepObject(&c, last)
		case inBlock:
			more = s.stepBlock(&c, last)
		case inParagraph:
			more = s.stepParagraph(&c, last)
		case inSkip:
			more = s.stepSkip(&c, last)
		case afterBlock:
			more = s.stepAfterBlock(&c, last)
		}
		if more {
			break
		}
	}
	s.giveText(&c, c.i)
	s.countTicks(&c, c.i)
	if c.text > c.i {
		s.released = c.text - c.i
	}
	s.off += int64(c.i)
	return c.i
}

func (s *Scanner) at(c *cursor) int64 { return s.off + int64(c.i) }

// giveText gives out what is not yet given out before w[upto].
func (s *Scanner) giveText(c *cursor, upto int) {
	if upto > c.text {
		s.giveBytes(c.w[c.text:upto])
		c.text = upto
	}
}

func (s *Scanner) giveBytes(p []byte) {
	s.tail = append(s.tail, p[max(0, len(p)-len(closeTag)):]...)
	s.tail = s.tail[:copy(s.tail, s.tail[max(0, len(s.tail)-len(closeTag)):])]
	s.sink.Text(p)
	if s.pending != nil {
		s.addPayload(p)
	}
}

// addPayload keeps text below a line signal.
func (s *Scanner) addPayload(p []byte) {
	if long := 4 << 10; s.payload.Len()+len(p) > long && s.payload.Cap() < maxPayload {
		s.payload.Grow(maxPayload - s.payload.Len()) // at once: it will fill up
	}
	s.payload.Write(p[:min(len(p), maxPayload-s.payload.Len())])
	if s.payload.Len() == maxPayload {
		s.flushPending()
	}
}

// report gives out a finding, or keeps it while a line signal before it waits
// for the rest of its payload.
func (s *Scanner) report(f Finding) {
	if f.Outcome != Accepted {
		f.Signal.exit, f.Signal.reflection = nil, nil // they may be large, and do not count
	}
	if s.pending != nil {
		if f.Outcome != Accepted && len(s.queue) < maxQueue {
			s.queue = append(s.queue, f)
			return
		}
		s.flushPending()
	}
	if f.Outcome == Accepted && f.Dialect == DialectLine {
		s.pending = &f
		return
	}
	s.give(f)
}

func (s *Scanner) give(f Finding) {
	if f.Outcome == Accepted {
		s.verdict.add(f.Signal)
	}
	s.sink.Finding(f)
}

func (s *Scanner) flushPending() {
	if s.pending == nil {
		return
	}
	f := *s.pending
	if f.Signal.Payload = s.payload.String(); !utf8.ValidString(f.Signal.Payload) {
		f.Signal.Payload = strings.ToValidUTF8(f.Signal.Payload, "\ufffd")
	}
	if len(f.Signal.Payload) > maxPayload { // by what replaced invalid bytes
		f.Signal.Payload = strings.ToValidUTF8(f.Signal.Payload[:maxPayload], "")
	}
	if len(f.Signal.Payload) < maxPayload/2 {
		f.Signal.Payload = strings.Clone(f.Signal.Payload) // not to keep the whole buffer for it
	}
	s.payload.Reset()
	s.pending = nil
	s.give(f)
	for _, q := range s.queue {
		s.give(q)
	}
	clear(s.queue)
	s.queue = s.queue[:0]
}

// span describes the n bytes at w[from:].
func (s *Scanner) span(c *cursor, from, n int) Span {
	return Span{
		Offset: s.off + int64(from),
		Length: int64(n),
		SHA256: sha256.Sum256(c.w[from : from+n]),
		Line:   s.line + bytes.Count(c.w[c.i:max(from, c.i)], []byte{'\n'}),
	}
}

// miss makes the finding for what stands at w[from:from+n] and does not count.
func (s *Scanner) miss(c *cursor, d Dialect, sig Signal, r Reason, err error, from, n int) *Finding {
	if err == nil {
		err = errors.New(r.Hint())
	}
	f := &Finding{Outcome: NearMiss, Dialect: d, Signal: sig, Reason: r, Err: err, Span: s.span(c, from, n)}
	if r == ReasonWrongNonce {
		f.Outcome = Rejected
	}
	return f
}

// Scan reads a whole output. It returns the findings, the clean text and the
// verdict. Use a [Scanner] for output that is large or still coming.
func Scan(r io.Reader, o Options) (Result, error) {
	var res Result
	if err := o.Validate(); err != nil {
		return res, err
	}
	var text bytes.Buffer
	s := NewScanner(o, Sink{
		Finding: func(f Finding) { res.Findings = append(res.Findings, f) },
		Text:    func(p []byte) { text.Write(p) },
	})
	_, err := io.Copy(s, r)
	res.Verdict = s.Close()
	res.Text = text.String()
	return res, err
}

// scanText scans a whole text.
func scanText(text string, o Options, finding func(Finding)) Verdict {
	s := NewScanner(o, Sink{Finding: finding})
	s.write([]byte(text))
	return s.Close()
}

// Result is what [Scan] returns.
type Result struct {
	Findings []Finding
	Text     string
	Verdict  Verdict
}
