package cli

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/safetext"
)

// inertText passes an agent's text on to a terminal, or to what may be shown on one,
// with everything escaped that the terminal would act upon.
type inertText struct {
	to      io.Writer
	pending []byte // the beginning of a character, or a CR
}

func (t *inertText) Write(p []byte) (int, error) {
	t.pending = append(t.pending, p...)
	whole := wholeRunes(t.pending)
	if bytes.HasSuffix(t.pending, []byte{'\r'}) {
		whole--
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

// wholeRunes is how much of a text there is without the beginning of a character at its end.
func wholeRunes(text []byte) int {
	for back := 1; back <= min(utf8.UTFMax, len(text)); back++ {
		if c := text[len(text)-back:]; utf8.RuneStart(c[0]) {
			if !utf8.FullRune(c) {
				return len(text) - back
			}
			break
		}
	}
	return len(text)
}
