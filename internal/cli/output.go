package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// writeJSON writes one value on one line.
func writeJSON(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(inertJSON(data), '\n'))
	return err
}

// inertJSON escapes what JSON allows in a string and a terminal acts upon:
// C1 controls, and characters that hide or turn text around.
func inertJSON(data []byte) []byte {
	if !slices.ContainsFunc(data, func(c byte) bool { return c >= 0x7f }) {
		return data // as nearly always
	}
	var out bytes.Buffer
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		c := string(data[:size])
		switch {
		case r < 0x7f || agentsig.Escape(c) == c:
			out.WriteString(c)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		data = data[size:]
	}
	return out.Bytes()
}

// Colours, for people.
const (
	green  = "32"
	yellow = "33"
	red    = "31"
	bold   = "1"
	faint  = "2"
)

func (a *app) paint(colour, text string) string {
	if !a.Color {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

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
	_, err := io.WriteString(t.to, agentsig.EscapeLines(string(text)))
	t.pending = append(t.pending[:0], t.pending[whole:]...)
	return len(p), err
}

func (t *inertText) Close() error {
	_, err := io.WriteString(t.to, agentsig.EscapeLines(string(t.pending)))
	t.pending = nil
	return err
}
