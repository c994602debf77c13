package agentsig

import (
	"bytes"
	"errors"
)

// exitLinePrefix and a session's nonce are the line that stands directly before an exit
// record. The record itself is the protocol's, and has no place for a nonce.
const exitLinePrefix = "EXIT: run="

// exitLine is such a line. The scanner keeps it until it is clear whether a record follows.
type exitLine struct {
	run  string
	text []byte // the line with its ending
	span Span
}

var (
	errNoExitLine   = errors.New("the line directly before the record is not " + exitLinePrefix + "<nonce>, with this session's nonce")
	errNoExitRecord = errors.New(ReasonMissingRecord.Hint())
)

// exitLineRun returns the nonce of a line without its ending and trailing blanks, if the line
// announces an exit record and says nothing else.
func exitLineRun(text []byte) (string, bool) {
	run, ok := bytes.CutPrefix(text, []byte(exitLinePrefix))
	return string(run), ok && validWord(run)
}

// announce takes the line at w[i], which announces an exit record, out of the text. If no
// record follows directly, [Scanner.loneExitLine] gives it back.
func (s *Scanner) announce(c *cursor, run string, text []byte, size int) {
	end := c.i + size
	s.endParagraph(c, c.i)
	s.giveText(c, c.i)
	s.announced = &exitLine{run: run, text: bytes.Clone(c.w[c.i:end]), span: s.span(c, c.i, len(text))}
	s.nextLine(c, end)
	c.text, c.ticked = end, end
}

// loneExitLine settles that no exit record stands directly below the line that announces one:
// the line is text.
func (s *Scanner) loneExitLine() {
	l := s.announced
	if l == nil {
		return
	}
	s.announced = nil
	s.giveBytes(l.text)
	f := Finding{
		Outcome: NearMiss, Dialect: DialectExit, Signal: Signal{Kind: KindExit, Run: l.run},
		Reason: ReasonMissingRecord, Err: errNoExitRecord, Span: l.span,
	}
	if reason, err := s.opts.checkNonce(l.run); reason == ReasonWrongNonce {
		f.Outcome, f.Reason, f.Err = Rejected, reason, err
	}
	s.report(f)
}

// exitFinding makes the finding for an exit record that is valid but for the given fault, if
// there is one. The line that announces the record goes with it. As with other signals, a wrong
// nonce outweighs every fault, and a missing one counts if nothing else is wrong.
func (s *Scanner) exitFinding(reason Reason, err error) Finding {
	f := Finding{Outcome: Accepted, Dialect: DialectExit, Signal: Signal{Kind: KindExit}}
	if s.announced != nil {
		f.Signal.Run = s.announced.run
		s.announced = nil
	}
	nonce, nonceErr := s.opts.checkNonce(f.Signal.Run)
	switch {
	case nonce == ReasonWrongNonce:
		f.Outcome, f.Reason, f.Err = Rejected, nonce, nonceErr
	case err != nil:
		f.Outcome, f.Reason, f.Err = Rejected, reason, err
	case nonce != "":
		f.Outcome, f.Reason, f.Err = NearMiss, nonce, errNoExitLine
	}
	return f
}
