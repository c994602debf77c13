package agentsig

import (
	"bytes"
	"fmt"
)

// stepText settles the next line, or the next fragment of a line too long to
// be held, outside signals.
func (s *Scanner) stepText(c *cursor, last bool) (more bool) {
	if s.off == 0 && c.i == 0 {
		rest := c.w[:min(len(c.w), len(bom))]
		switch {
		case string(rest) == bom:
			c.i = len(bom)
			return false
		case !last && bytes.HasPrefix([]byte(bom), rest):
			return true
		}
	}
	if s.announced != nil && !s.objectBegins(c, c.w[c.i:]) {
		s.loneExitLine()
	}
	if !s.mid && s.announced == nil {
		s.plainLines(c)
	}
	rest := c.w[c.i:]
	if len(rest) == 0 {
		return false
	}
	if s.largeObject && !s.mid && bytes.IndexByte([]byte("}]\r\n"), rest[0]) >= 0 {
		s.largeObject = false
	}
	if !s.mid && s.objectBegins(c, rest) {
		s.endParagraph(c, c.i)
		s.mode, s.object, s.wreck, s.taken = inObject, object{}, wreck{}, 0
		return false
	}
	ln, size, whole := cutLine(rest, last)
	if size == 0 {
		s.giveText(c, c.i+s.safeText(rest))
		return true
	}
	if s.masked() {
		c.ticked = c.i + size
		if !s.mid {
			s.maskedLine(c, ln, size, whole)
		}
		s.take(c, size, whole)
		return false
	}
	if s.mid {
		s.openText(c, ln, size, whole, nil)
		return false
	}
	s.lineStart(c, ln, size, whole)
	return false
}

// cutLine returns the first line of b without its ending, and how many bytes
// it takes with it. A line that is too long is cut into fragments, which are
// not whole. The size is 0 if the line is not complete.
func cutLine(b []byte, last bool) (ln []byte, size int, whole bool) {
	if nl := bytes.IndexByte(b[:min(len(b), maxLine+2)], '\n'); nl >= 0 {
		if ln = trimCR(b[:nl]); len(ln) <= maxLine {
			return ln, nl + 1, true
		}
	} else if len(b) < maxLine+2 {
		if !last {
			return nil, 0, false
		}
		if len(b) <= maxLine {
			return b, len(b), true
		}
	}
	size = maxLine
	for i := size - len(closeTag); i < size; i++ { // a tag or a run of backticks is not cut in two
		if b[i] != '<' {
			continue
		}
		if _, partial := tagAt(b[i:size], openTag); partial {
			size = i
		} else if _, partial := tagAt(b[i:size], closeTag); partial {
			size = i
		}
	}
	if ticks := bytes.TrimRight(b[:size], "`"); len(ticks) > 0 {
		size = len(ticks)
	}
	return b[:size], size, false
}

// take passes over a line that stays in the text.
func (s *Scanner) take(c *cursor, size int, whole bool) {
	end := c.i + size
	if whole {
		s.nextLine(c, end)
		return
	}
	s.mid, s.fresh, s.blankEnd = true, false, isBlank(c.w[end-1:end])
	c.i = end
}

// nextLine passes over the rest of a line that ends at end.
func (s *Scanner) nextLine(c *cursor, end int) {
	if c.w[end-1] == '\n' {
		s.line++
	}
	s.mid, s.quoted = false, false
	c.i = end
}

func (s *Scanner) masked() bool { return s.fence.length > 0 || s.delegation || s.quoted }

// maskedLine looks at a line inside a fence, a delegation prompt or a quote.
func (s *Scanner) maskedLine(c *cursor, ln []byte, size int, whole bool) {
	reason := ReasonFenced
	if s.delegation {
		reason = ReasonDelegation
		if isDelegation(ln, delegationEnd) {
			s.delegation = false
			return
		}
	} else if whole && s.fence.closedBy(ln) {
		s.fence = fence{}
		return
	} else if f, opens := s.fence.replacedBy(ln); opens && f.char == s.fence.char {
		s.fence = f
		return
	}
	s.mention(c, ln, c.i, size, reason)
}

// blockStart takes a line that ends a paragraph, and may begin a masked region.
func (s *Scanner) blockStart(c *cursor, ln []byte, size int, whole bool) (taken bool) {
	quoted := false
	switch f, opens := openFence(ln); {
	case isBlank(ln):
	case isQuote(ln):
		quoted = !whole
		text := bytes.TrimLeft(ln, "> \t")
		s.mention(c, text, c.i+len(ln)-len(text), size, ReasonQuoted)
	case opens:
		s.fence = f
	case isDelegation(ln, delegationStart):
		s.delegation = true
	default:
		return false
	}
	s.endParagraph(c, c.i+size)
	s.take(c, size, whole)
	s.quoted = quoted
	return true
}

// lineStart looks at a line that starts at the first column, outside every
// masked region.
func (s *Scanner) lineStart(c *cursor, ln []byte, size int, whole bool) {
	if s.blockStart(c, ln, size, whole) {
		return
	}
	end := c.i + size
	text := trimBlanks(ln)
	if run, ok := exitLineRun(text); ok && whole {
		s.announce(c, run, text, size)
		return
	}
	if tag := looseTagIn(c.w[c.i:], len(ln)); tag >= 0 {
		text = bytes.TrimRight(ln[:tag], " \t\r")
		if e, n := s.opts.Own.lineName(text); e != nil {
			s.endParagraph(c, c.i)
			// Without what follows it would look like a signal, so it goes too.
			r := parseLine(e, text, n, &Options{})
			err := fmt.Errorf("a <signal> tag stands on the line of %s", e.Wire)
			near := s.miss(c, DialectLine, r.signal, ReasonMalformed, err, c.i, len(text))
			s.remove(c, tag)
			s.report(*near)
			return
		}
	}
	e, n := s.opts.Own.lineName(text)
	if e != nil || ln[0] == '{' {
		s.endParagraph(c, c.i)
	}
	if e == nil {
		var near *Finding
		if e, subject, reason, start := s.opts.Own.nearLine(text); e != nil {
			near = s.miss(c, DialectLine, e.said(subject), reason, nil, c.i+start, len(text)-start)
		}
		s.openText(c, ln, size, whole, near)
		return
	}
	r := parseLine(e, text, n, &s.opts)
	if !whole {
		r.reason, r.err = "", nil
		r.refuse(ReasonTooLong, "the line of %s is longer than %d bytes", e.Wire, maxLine)
	}
	if r.reason != "" {
		s.openText(c, ln, size, whole, s.miss(c, DialectLine, r.signal, r.reason, r.err, c.i, len(text)))
		return
	}
	f := Finding{Outcome: Accepted, Dialect: DialectLine, Signal: r.signal, Span: s.span(c, c.i, len(text))}
	s.giveText(c, c.i)
	s.nextLine(c, end)
	c.text, c.ticked = end, end
	s.report(f)
}

// looseTagIn returns where the first tag stands in the first n bytes of w, a
// line, that is neither in inline code nor in indented code, or -1.
func looseTagIn(w []byte, n int) int {
	if _, columns := indentation(w[:n], 0); columns > 3 {
		return -1 // indented code
	}
	var runs []tickRun
	for i := 0; ; i++ {
		k := bytes.IndexByte(w[i:n], '<')
		if k < 0 {
			return -1
		}
		i += k
		if !tagBegins(w[i:]) {
			continue
		}
		if runs == nil {
			runs = tickRuns(nil, w[:n])
		}
		if !inCode(runs, i) {
			return i
		}
	}
}

// mention reports the exact signals of a line on which none counts. The line
// stands at w[from:]; it stays in the text.
func (s *Scanner) mention(c *cursor, ln []byte, from, size int, reason Reason) {
	text := trimBlanks(ln)
	sig, d, start, n := s.mentioned(text)
	if d == "" {
		return
	}
	s.giveText(c, c.i+size)
	s.report(*s.miss(c, d, sig, reason, nil, from+start, n))
}

// mentioned finds a signal that a line would be, or begin, if it counted there.
func (s *Scanner) mentioned(text []byte) (sig Signal, d Dialect, start, n int) {
	if e, n := s.opts.Own.lineName(text); e != nil {
		if r := parseLine(e, text, n, &Options{}); r.reason == "" {
			return r.signal, DialectLine, 0, len(text)
		}
	}
	if start, kind := mentionedTag(text); kind != "" {
		return Signal{Kind: kind}, DialectXML, start, len(openTag)
	}
	if start := mentionedExit(text); start >= 0 {
		return Signal{Kind: KindExit}, DialectExit, start, len(text) - start
	}
	return Signal{}, "", 0, 0
}

// Of a tag that is only mentioned, so many bytes are read, and of several on a
// line, so many are looked at.
const (
	maxMention  = 512
	maxMentions = 8
)

// mentionedTag finds an opening tag with a known type.
func mentionedTag(text []byte) (start int, kind Kind) {
	for range maxMentions {
		k := bytes.Index(text[start:], []byte(openTag))
		if k < 0 {
			break
		}
		start += k
		rest := text[start+len(openTag):]
		attrs, _, _ := attributes(string(rest[:min(len(rest), maxMention)]))
		x := xmlBlock{attrs: attrs}
		if e := entryOf(Kind(x.attribute("type"))); e != nil && e.Dialect == DialectXML {
			return start, e.Kind
		}
		start++
	}
	return -1, ""
}

// mentionedExit finds the member that makes an object an exit record.
func mentionedExit(text []byte) int {
	i := bytes.Index(text, []byte(`"`+ExitProtocol+`"`))
	if i < 0 {
		return -1
	}
	before := bytes.TrimRight(text[:i], " \t")
	before, ok := bytes.CutSuffix(before, []byte(":"))
	if !ok {
		return -1
	}
	key := []byte(`"protocol"`)
	before = bytes.TrimRight(before, " \t")
	if len(before) < len(key) || !bytes.EqualFold(before[len(before)-len(key):], key) {
		return -1
	}
	start := len(before) - len(key)
	if open := bytes.TrimRight(before[:start], " \t"); bytes.HasSuffix(open, []byte("{")) {
		start = len(open) - 1
	}
	return start
}

// openText looks at a line or a part of one that is text, in which tags may
// stand. What is known to be a near miss of its start is given.
func (s *Scanner) openText(c *cursor, ln []byte, size int, whole bool, near *Finding) {
	first := c.i
	reportNear := func() {
		if near != nil {
			s.report(*near)
			near = nil
		}
	}
	hadNear := near != nil
	s.countTicks(c, first)
	s.runs = tickRuns(s.runs[:0], ln)
	counted := 0
	for p := 0; p < len(ln); p++ {
		k := bytes.IndexByte(ln[p:], '<')
		if k < 0 {
			break
		}
		p += k
		what := tagKindAt(c.w[first+p:], ln[p:], whole)
		if what == noTag {
			continue
		}
		for counted < len(s.runs) && s.runs[counted].start < p {
			s.para.add(s.runs[counted].ticks)
			counted++
		}
		s.giveText(c, first+p)
		reportNear()
		hadNear = true
		at := s.off + int64(first+p)
		if what == caseTag {
			s.tagMiss(c, ln[p:], first+p, ReasonCase)
			continue
		}
		if masked := s.tagMask(ln, p, at); masked != "" {
			if what == openingTag {
				s.tagMiss(c, ln[p:], first+p, masked)
			}
			continue
		}
		s.moveTo(c, first, p)
		switch {
		case s.para.any() && at != s.liveAt:
			s.mode, s.ahead, s.after = inParagraph, 0, s.after[:0]
		case what == openingTag:
			s.mode, s.block = inBlock, block{}
		default: // a closing tag, or the beginning of a tag at the very end
			s.looseTag(c, first+len(ln))
		}
		return
	}
	for _, r := range s.runs[counted:] {
		s.para.add(r.ticks)
	}
	c.ticked = first + size
	var mid *Finding
	if !hadNear {
		mid = s.midLineMiss(c, ln)
	}
	if near != nil || mid != nil {
		s.giveText(c, first+size)
	}
	reportNear()
	s.take(c, size, whole)
	if mid != nil {
		s.report(*mid)
	}
}

// tagMask says why the tag at position p of a line does not count, as far as
// that can be seen on the line; at is its offset. Indented code is masked, and so
// is what stands in it.
func (s *Scanner) tagMask(ln []byte, p int, at int64) Reason {
	if _, columns := indentation(ln, 0); columns > 3 && !s.mid {
		return ReasonIndented
	}
	if inCode(s.runs, p) || at < s.maskUntil {
		return ReasonInlineCode
	}
	return ""
}

// moveTo settles the text of a line up to position p of it.
func (s *Scanner) moveTo(c *cursor, first, p int) {
	switch {
	case p > 0:
		s.fresh, s.blankEnd = false, isBlank(c.w[first+p-1:first+p])
	case !s.mid:
		s.fresh, s.blankEnd = true, true
	}
	s.mid = true
	c.i, c.ticked = first+p, first+p
}

type tagKind uint8

const (
	noTag tagKind = iota
	openingTag
	closingTag
	partialTag // the output ends in the middle of a tag's name
	caseTag    // an opening tag in another case: text, and a near miss
)

// tagKindAt tells what the '<' at the start of w begins; ln is the rest of its
// line.
func tagKindAt(w, ln []byte, whole bool) tagKind {
	open, partialOpen := tagAt(w, openTag)
	closing, partialClose := tagAt(w, closeTag)
	switch {
	case open, partialOpen && len(w) == len(openTag):
		return openingTag
	case closing:
		return closingTag
	case (partialOpen || partialClose) && whole:
		return partialTag
	}
	if n := len(openTag); len(ln) > n && bytes.EqualFold(ln[:n], []byte(openTag)) {
		if start, kind := mentionedTag(bytes.ToLower(ln[:min(len(ln), maxMention)])); start == 0 && kind != "" {
			return caseTag
		}
	}
	return noTag
}

// tagMiss reports a tag at w[at] that is only mentioned or misspelt.
func (s *Scanner) tagMiss(c *cursor, ln []byte, at int, reason Reason) {
	var sig Signal
	if start, kind := mentionedTag(bytes.ToLower(ln[:min(len(ln), maxMention)])); start == 0 {
		sig.Kind = kind
	}
	s.report(*s.miss(c, DialectXML, sig, reason, nil, at, len(openTag)))
}

// looseTag takes out a closing tag that nothing opened, or a tag that the
// output breaks off in.
func (s *Scanner) looseTag(c *cursor, lineEnd int) {
	b := c.w[c.i:lineEnd]
	reason, n := ReasonUnclosed, len(b)
	if is, _ := tagAt(c.w[c.i:], closeTag); is {
		reason, n = ReasonUnopened, len(closeTag)
		if end := len(closeTag) + leadingBlanks(b[len(closeTag):]); end < len(b) && b[end] == '>' {
			n = end + 1
		}
	}
	f := s.miss(c, DialectXML, Signal{}, reason, nil, c.i, n)
	s.remove(c, n)
	s.report(*f)
}

// midLineMiss looks for a signal in the middle of a line.
func (s *Scanner) midLineMiss(c *cursor, ln []byte) *Finding {
	text := trimBlanks(ln)
	for p := 0; p < len(text); p++ {
		k := bytes.IndexByte(text[p:], '_')
		if k < 0 {
			return nil
		}
		p += k
		if !s.opts.Own.underscoreMatters(text, p) {
			continue
		}
		if e, subject, start := s.opts.Own.midLine(text, p); e != nil {
			reason := ReasonMidLine
			if inCode(s.runs, start) {
				reason = ReasonInlineCode
			}
			return s.miss(c, DialectLine, e.said(subject), reason, nil, c.i+start, len(text)-start)
		}
		if start := mentionedExit(text); start >= 0 && p > start {
			reason := ReasonMidLine
			d := disguise{rest: text}
			if d.skipDecoration(); start == len(text)-len(d.rest) && !s.mid {
				reason = ReasonMalformed
				if d.reason != "" {
					reason = d.reason
				} else if start > 0 {
					reason = ReasonIndented
				}
			}
			return s.miss(c, DialectExit, Signal{Kind: KindExit}, reason, nil, c.i+start, len(text)-start)
		}
	}
	return nil
}

// safeText returns how much of an incomplete line can't be, or become, a part
// of a signal.
func (s *Scanner) safeText(b []byte) int {
	if s.masked() {
		return len(b)
	}
	if !s.mid {
		if isQuote(b) {
			return len(b)
		}
		if n := min(len(b), len(exitLinePrefix)); string(b[:n]) == exitLinePrefix[:n] {
			return 0
		}
		begins := false
		s.opts.Own.lines(func(e *Entry) bool {
			n := min(len(b), len(e.Wire))
			begins = string(b[:n]) == e.Wire[:n]
			return !begins
		})
		if begins {
			return 0
		}
	}
	for i := 0; i < len(b); i++ {
		k := bytes.IndexByte(b[i:], '<')
		if k < 0 {
			break
		}
		i += k
		if tagBegins(b[i:]) {
			return i
		}
	}
	return len(b)
}

// endParagraph forgets the backticks before w[at].
func (s *Scanner) endParagraph(c *cursor, at int) {
	s.para.reset()
	c.ticked = at
}

// countTicks takes the backticks before w[at] into account.
func (s *Scanner) countTicks(c *cursor, at int) {
	if c.ticked >= at {
		return
	}
	if s.fence.length == 0 && !s.delegation {
		s.runs = tickRuns(s.runs[:0], c.w[c.ticked:at])
		for _, r := range s.runs {
			s.para.add(r.ticks)
		}
	}
	c.ticked = at
}

// underscoreMatters reports whether the underscore at w[i] may belong to a
// terminal signal's name or to the exit protocol's.
func underscoreMatters(w []byte, i int) bool {
	if i == 0 || i+1 == len(w) {
		return i+1 == len(w)
	}
	return underscoreAfter[w[i-1]] && underscoreBefore[w[i+1]]
}

var underscoreAfter, underscoreBefore = func() (after, before [256]bool) {
	for _, name := range midLineNames() {
		i := bytes.IndexByte([]byte(name), '_')
		after[name[i-1]], before[name[i+1]] = true, true
	}
	return after, before
}()
