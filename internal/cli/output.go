package cli

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/safetext"
)

// inertText passes an agent's text on to a terminal, with everything escaped
// that the terminal would act upon.
type inertText struct {
	to      io.Writer
	pending []byte // the beginning of a character, or a CR
}

func (t *inertText) Write(p []byte) (int, error) {
	t.pending = append(t.pending, p...)
	whole := len(t.pending)
	for back := 1; back <= min(utf8.UTFMax, whole); back++ {
		if c := t.pending[whole-back]; c == '\r' && back == 1 || utf8.RuneStart(c) && !utf8.FullRune(t.pending[whole-back:]) {
			whole -= back
			break
		}
	}
	text := bytes.ReplaceAll(t.pending[:whole], []byte("\r\n"), []byte("\n"))
	_, err := io.WriteString(t.to, safetext.EscapeLines(string(text)))
	t.pending = append(t.pending[:0], t.pending[whole:]...)
	return len(p), err
}

func (t *inertText) Close() error {
	_, err := io.WriteString(t.to, safetext.EscapeLines(string(t.pending)))
	t.pending = nil
	return err
}
