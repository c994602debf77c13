package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxCause is how many characters are told of why something failed: its last ones.
const maxCause = 4 << 10

// decode reads JSON as far as it is what was expected: of a field that is something else
// nothing is known, and the others count.
func decode(data []byte, v any) bool {
	err := json.Unmarshal(data, v)
	var mismatch *json.UnmarshalTypeError
	return err == nil || errors.As(err, &mismatch)
}

// content is a piece of a message, or of a tool's result.
type content struct {
	Type    string   `json:"type"`
	Text    string   `json:"text"`
	Path    string   `json:"path"`    // of a diff
	Content *content `json:"content"` // of a tool's result
}

func (c content) String() string {
	switch {
	case c.Type == "content" && c.Content != nil:
		return c.Content.String()
	case c.Type == "text":
		return c.Text
	case c.Type == "diff":
		return "changed " + c.Path
	case c.Type == "":
		return ""
	}
	return "[" + c.Type + "]"
}

// texts returns the text of pieces, each on lines of its own.
func texts(all []content) string {
	var b strings.Builder
	for _, c := range all {
		b.WriteString(short(c.String(), maxResult) + "\n")
	}
	return b.String()
}

// oneLine makes one line of a text, and no more than so many bytes.
func oneLine(text string, most int) string {
	line := strings.Join(strings.Fields(text[:min(len(text), 8*most)]), " ")
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// short cuts a text to so many bytes and says so.
func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := strings.ToValidUTF8(text[:most], "")
	return fmt.Sprintf("%s\n[%d bytes more]", cut, len(text)-len(cut))
}

// LastRunes returns the last n characters; what is left of a broken one in front of
// them goes.
func LastRunes(s string, n int) string {
	for s != "" && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:]
}
