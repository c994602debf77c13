package agentsig

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
)

// objectBegins reports whether a JSON object that may be an exit record begins here.
func (s *Scanner) objectBegins(c *cursor, rest []byte) bool {
	return rest[0] == '{' && !s.masked() && !s.largeObject && s.at(c) >= s.noObject
}

// stepObject follows an object that begins at w[i] until it is clear whether it
// is an exit record.
func (s *Scanner) stepObject(c *cursor, last bool) (more bool) {
	b := c.w[c.i:]
	o := &s.object
	held := b[:min(len(b), maxExit)]
	if !o.done && o.err == nil {
		s.taken += o.feed(held[s.taken:])
		s.wreck = o.wreck()
	}
	ended := o.done
	if o.err != nil {
		var n int
		n, ended = s.wreck.feed(held[s.taken:], last && len(held) == len(b), s.opts.Own)
		s.taken += n
	}
	switch {
	case o.done:
		return s.wholeObject(c, b, last)
	case ended:
		s.brokenObject(c, b[:s.taken], o.err)
		return false
	case len(b) > maxExit:
		if !o.protocol && (o.err == nil || !namesProtocol(held)) {
			s.noObject, s.mode = s.at(c)+maxExit, inText
			s.largeObject = o.err == nil && bytes.IndexByte(held, '\n') >= 0 // or it ends with its line
			return false
		}
		s.beginSkip(c, s.exitFinding(ReasonTooLong, errExitTooLarge), s.taken)
		s.skip.object = true
		return false
	case last:
		s.taken = len(b)
		s.brokenObject(c, b, o.problem("the input ends inside the object"))
		return false
	}
	return true
}

// namesProtocol is what makes text that does not parse a would-be exit record.
func namesProtocol(b []byte) bool { return bytes.Contains(b, []byte(`"protocol"`)) }

func (s *Scanner) wholeObject(c *cursor, b []byte, last bool) (more bool) {
	if !s.object.protocol {
		s.noObject, s.mode = s.at(c)+int64(s.taken), inText
		return false
	}
	behind := b[s.taken:]
	blanks := leadingBlanks(behind[:min(len(behind), wreckPeek)])
	behind = behind[blanks:]
	var err error
	switch {
	case blanks == wreckPeek: // too many to see what is behind them
		err = s.object.problem("trailing characters")
	case len(behind) < 2 && !last && (len(behind) == 0 || behind[0] == '\r'):
		return true
	case len(behind) > 0 && behind[0] != '\n' && !bytes.HasPrefix(behind, []byte("\r\n")):
		s.object.col += blanks
		err = s.object.problem("trailing characters")
	}
	s.exitObject(c, b[:s.taken], err)
	return false
}

// brokenObject settles an object that does not parse: text, unless it names
// the protocol.
func (s *Scanner) brokenObject(c *cursor, b []byte, err *SyntaxError) {
	if !namesProtocol(b) {
		s.noObject, s.mode = s.at(c)+int64(len(b)), inText
		return
	}
	s.exitObject(c, bytes.TrimRight(b, "\r\n"), err)
}

// exitObject settles an object that is meant as an exit record. Valid or not,
// it is taken out of the text, unless it is of another protocol.
func (s *Scanner) exitObject(c *cursor, b []byte, err error) {
	var e ExitSignal
	var leftOut error
	if err == nil {
		e, leftOut, err = readExit(b, s.opts.Hosts)
	}
	reason := ReasonInvalidRecord
	if err == nil {
		reason, err = s.opts.checkExit(e)
	}
	foreign := err != nil && !bytes.Contains(b, []byte(ExitProtocol)) // somebody else's record: it is text, and read as such
	if foreign {
		s.loneExitLine()
	}
	f := s.exitFinding(reason, err)
	f.Span = s.span(c, c.i, len(b))
	switch {
	case foreign:
		s.noObject, s.mode = s.at(c)+int64(len(b)), inText
		s.report(f)
	case f.Outcome == Accepted:
		f.Signal.exit, f.LeftOut = &e, leftOut
		s.remove(c, len(b))
		s.report(f)
	default:
		s.takeOut(c, len(b), f)
	}
}

// takeOut takes n bytes at w[i] out of the text, and reports what they are and
// which line signals stand inside.
func (s *Scanner) takeOut(c *cursor, n int, f Finding) {
	inside := s.insideMisses(c, c.w[c.i:c.i+n])
	s.remove(c, n)
	s.report(f)
	for _, m := range inside {
		s.report(m)
	}
}

// checkExit holds a valid exit record against the phase table and the session.
func (o *Options) checkExit(e ExitSignal) (Reason, error) {
	t, err := transitionOf(e.PhaseCompleted, e.ExitReason)
	switch {
	case err != nil:
		return ReasonInvalidRecord, err
	case t.ByGate && o.Role != "":
		return ReasonWrongRole, ErrGateOnly
	case o.Phase != "" && e.PhaseCompleted != o.Phase:
		return ReasonWrongPhase, fmt.Errorf("the session holds phase %s, not %s", o.Phase, e.PhaseCompleted)
	}
	return "", nil
}

// remove takes n bytes at w[i] out of the text.
func (s *Scanner) remove(c *cursor, n int) {
	s.giveText(c, c.i)
	s.countTicks(c, c.i)
	if !s.mid {
		s.fresh, s.blankEnd, s.mid = true, true, true
	}
	if i := bytes.LastIndexByte(s.tail, '<'); i >= 0 && tagBegins(s.tail[i:]) {
		s.giveBytes([]byte{' '}) // or it would be the beginning of a tag
		s.fresh, s.blankEnd = false, true
	}
	s.line += bytes.Count(c.w[c.i:c.i+n], []byte{'\n'})
	c.i += n
	c.text, c.ticked = c.i, c.i
	s.mode = afterBlock
}

// stepBlock follows a <signal> block that begins at w[i] to its end.
func (s *Scanner) stepBlock(c *cursor, last bool) (more bool) {
	b := c.w[c.i:]
	held := b[:min(len(b), maxBlock)]
	s.block.feed(held[s.block.size:])
	switch {
	case s.block.state == blockDone:
		s.xmlBlock(c, b[:s.block.size])
		return false
	case len(b) > maxBlock:
		s.beginSkip(c, Finding{
			Outcome: NearMiss, Dialect: DialectXML,
			Reason: ReasonTooLong, Err: fmt.Errorf("the block is larger than %d bytes", maxBlock),
		}, s.block.size)
		return false
	case last:
		s.takeOut(c, len(b), *s.miss(c, DialectXML, Signal{}, ReasonUnclosed, nil, c.i, len(b)))
		return false
	}
	return true
}

// xmlBlock settles a complete block. Valid or not, it is taken out of the text.
func (s *Scanner) xmlBlock(c *cursor, raw []byte) {
	sig, reason, err := s.readBlock(raw)
	if reason != "" {
		s.takeOut(c, len(raw), *s.miss(c, DialectXML, sig, reason, err, c.i, len(raw)))
		return
	}
	s.sawXML = true
	s.takeOut(c, len(raw), Finding{Outcome: Accepted, Dialect: DialectXML, Signal: sig, Span: s.span(c, c.i, len(raw))})
}

func (s *Scanner) readBlock(raw []byte) (sig Signal, reason Reason, err error) {
	x := parseBlock(raw)
	if !x.ok {
		return sig, ReasonMalformed, errors.New("the opening tag is not well formed")
	}
	if reason, err := s.opts.checkNonce(x.attribute("run")); reason == ReasonWrongNonce {
		return sig, reason, err
	}
	typ := x.attribute("type")
	e := entryOf(Kind(typ))
	switch {
	case typ == "":
		return sig, ReasonMalformed, errors.New("the tag has no type")
	case e == nil || e.Dialect != DialectXML:
		return sig, ReasonUnknownType, fmt.Errorf("there is no signal of type %s", quote(typ))
	}
	sig = Signal{Kind: e.Kind, Run: x.attribute("run")}
	if x.nested {
		return sig, ReasonNested, fmt.Errorf("another <signal> opens inside the %s signal", typ)
	}
	r, err := newReflection(e, x)
	if err != nil {
		return sig, ReasonInvalidField, err
	}
	if reason, err := s.opts.checkNonce(sig.Run); reason != "" {
		return sig, reason, err
	}
	sig.reflection = r
	if s.sawXML {
		return sig, ReasonFurtherSignal, fmt.Errorf("a %s signal after the first signal of the output does not count", typ)
	}
	return sig, "", nil
}

// insideMisses finds the first line signals inside a block or an object.
func (s *Scanner) insideMisses(c *cursor, raw []byte) (found []Finding) {
	const most = 16
	line := s.line
	for at := 0; len(found) < most; {
		nl := bytes.IndexByte(raw[at:], '\n')
		if nl < 0 {
			break
		}
		at += nl + 1
		line++
		ln, _, _ := bytes.Cut(raw[at:], []byte{'\n'})
		text := trimBlanks(trimCR(ln))
		if e, n := s.opts.Own.lineName(text); e != nil {
			if r := parseLine(e, text, n, &Options{}); r.reason == "" {
				f := s.miss(c, DialectLine, r.signal, ReasonInsideSignal, nil, c.i+at, len(text))
				f.Span.Line = line
				found = append(found, *f)
			}
		}
	}
	return found
}

// beginSkip gives up holding a block or object of which n bytes were followed.
func (s *Scanner) beginSkip(c *cursor, f Finding, n int) {
	f.Span = Span{Offset: s.at(c), Line: s.line}
	s.skip = skip{finding: f, hash: sha256.New()}
	s.skipBytes(c, n)
	s.mode = inSkip
}

func (s *Scanner) skipBytes(c *cursor, n int) {
	s.skip.hash.Write(c.w[c.i : c.i+n])
	s.skip.finding.Span.Length += int64(n)
	s.remove(c, n)
}

// stepSkip follows what is too large to hold to its end.
func (s *Scanner) stepSkip(c *cursor, last bool) (more bool) {
	b := c.w[c.i:]
	var n int
	var ended bool
	switch {
	case !s.skip.object:
		n = s.block.feed(b)
		ended = s.block.state == blockDone
	case s.object.err == nil:
		n = s.object.feed(b)
		ended = s.object.done
		s.wreck = s.object.wreck()
		if s.object.err != nil && n == 0 {
			n, ended = s.wreck.feed(b, last, s.opts.Own)
		}
	default:
		n, ended = s.wreck.feed(b, last, s.opts.Own)
	}
	if last && n == 0 && !ended {
		n = len(b)
	}
	s.skipBytes(c, n)
	s.mode = inSkip
	if ended {
		s.endSkip(false)
		s.mode = afterBlock
		if s.wreck.atLine { // it ended before this line
			s.mode, s.mid = inText, false
		}
	}
	return n == 0 && !ended
}

func (s *Scanner) endSkip(unclosed bool) {
	f := s.skip.finding
	s.skip.hash.Sum(f.Span.SHA256[:0])
	if unclosed {
		f.Reason, f.Err = ReasonUnclosed, errors.New(ReasonUnclosed.Hint())
	}
	s.skip = skip{}
	s.report(f)
}

// stepAfterBlock settles what follows something that was taken out of a line:
// the line goes with it if nothing else is on it, and what stood apart does
// not run together.
func (s *Scanner) stepAfterBlock(c *cursor, last bool) (more bool) {
	b := c.w[c.i:]
	blanks := leadingBlanks(b[:min(len(b), wreckPeek)])
	behind := b[blanks:]
	if !last && blanks < wreckPeek {
		switch {
		case len(behind) == 0, behind[0] == '\r' && len(behind) < 2:
			return true
		case behind[0] == '<' && len(behind) <= len(closeTag):
			if tagBegins(behind) {
				return true
			}
		}
	}
	s.mode = inText
	end := -1
	switch {
	case len(behind) == 0 && last:
		end = 0
	case len(behind) == 0:
	case behind[0] == '\n':
		end = 1
	case bytes.HasPrefix(behind, []byte("\r\n")):
		end = 2
	}
	switch {
	case end >= 0 && s.fresh:
		c.text = c.i + blanks + end
		if end == 0 {
			c.i = c.text
			return false
		}
		s.nextLine(c, c.text)
	case end < 0 && blanks > 0 && s.blankEnd && !s.fresh: // of the blanks around it, one is enough
		c.i++
		c.text = c.i
	case end >= 0, blanks > 0, tagBegins(behind):
	case s.fresh || !s.blankEnd:
		s.giveBytes([]byte{' '})
		s.fresh, s.blankEnd = false, true
	}
	return false
}

// tagBegins reports whether b begins with a tag of ours, or may yet.
func tagBegins(b []byte) bool {
	for _, tag := range []string{openTag, closeTag} {
		if is, partial := tagAt(b, tag); is || partial {
			return true
		}
	}
	return false
}

// stepParagraph looks ahead for whether the tag at w[i] stands in inline code
// that was opened before it on an earlier line and not closed yet.
func (s *Scanner) stepParagraph(c *cursor, last bool) (more bool) {
	b := c.w[c.i:]
	held := b[:min(len(b), maxBlock)]
	for {
		rest := held[s.ahead:]
		nl := bytes.IndexByte(rest, '\n')
		if nl < 0 {
			switch {
			case len(b) > maxBlock:
				s.inlineCode(c, maxBlock)
				return false
			case !last:
				return true
			}
			nl = len(rest)
		}
		ln := rest[:nl]
		if s.ahead > 0 && s.opts.Own.beginsAnew(trimCR(ln)) {
			break
		}
		s.runs = tickRuns(s.runs[:0], ln)
		for _, r := range s.runs {
			if s.para.full || r.closes == s.para.open[0].opens || len(s.after) == maxAfter {
				s.inlineCode(c, s.ahead+r.start)
				return false
			}
			s.after = append(s.after, r.ticks)
		}
		s.ahead = min(s.ahead+nl+1, len(held))
		if s.ahead == len(held) {
			if len(b) > maxBlock {
				s.inlineCode(c, maxBlock)
				return false
			}
			if last {
				break
			}
			return true
		}
	}
	if s.para.encloses(s.after) {
		s.inlineCode(c, s.ahead)
		return false
	}
	s.para.reset()
	s.liveAt, s.mode = s.at(c), inText
	return false
}

// inlineCode settles that the tag at w[i], and all tags up to n bytes behind
// it, are only mentioned.
func (s *Scanner) inlineCode(c *cursor, n int) {
	if is, _ := tagAt(c.w[c.i:], openTag); is {
		ln, _, _ := bytes.Cut(c.w[c.i:min(len(c.w), c.i+maxMention)], []byte{'\n'})
		s.tagMiss(c, ln, c.i, ReasonInlineCode)
	}
	s.maskUntil, s.mode = s.at(c)+int64(max(n, 1)), inText
	s.fresh, s.blankEnd = false, false
	c.i++ // the tag's '<' is text now
}

// writeForeign looks for signals in what the agent did not say itself.
func (s *Scanner) writeForeign(p []byte) {
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n')
		if n < 0 {
			s.addForeign(p)
			return
		}
		s.addForeign(p[:n])
		s.endForeignLine()
		s.off++
		s.line++
		p = p[n+1:]
	}
}

func (s *Scanner) addForeign(p []byte) {
	if len(s.foreign) == 0 {
		s.foreignOff = s.off
	}
	s.foreign = append(s.foreign, p[:min(len(p), maxLine-len(s.foreign))]...)
	s.off += int64(len(p))
}

func (s *Scanner) endForeignLine() {
	sig, d, start, n := s.mentioned(trimBlanks(trimCR(s.foreign)))
	if d != "" {
		c := cursor{w: s.foreign}
		f := s.miss(&c, d, sig, s.source.reason(), nil, start, n)
		f.Span.Offset = s.foreignOff + int64(start)
		s.report(*f)
	}
	s.foreign = s.foreign[:0]
}
