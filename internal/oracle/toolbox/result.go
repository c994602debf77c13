package toolbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	maxResult      = 64 << 10 // bytes of a result's text
	maxDescription = 2000     // characters
	leftOut        = 80       // bytes that the line about what was left out may take
)

// clean mends UTF-8 and takes out control characters, of which only newlines and tabs stay.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			return -1
		}
		return r
	}, s)
}

// bound cuts a result's text to its size, and says in its last line how much is left out.
func bound(s string) string {
	if len(s) <= maxResult {
		return s
	}
	kept, _ := safetext.Prefix(s, maxResult-leftOut)
	return fmt.Sprintf("%s\n[%d bytes more were left out]", kept, len(s)-len(kept))
}

// cutRunes returns the beginning of s, of at most n characters, with a mark if it is cut.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}

// textOf puts a server's answer into words: its texts, or what it has for programs if
// there is no text. What is neither is named.
func textOf(r *mcp.CallToolResult) string {
	var parts []string
	said := false
	say := func(text string) {
		if text != "" {
			parts, said = append(parts, text), true
		}
	}
	name := func(format string, args ...any) { parts = append(parts, "["+fmt.Sprintf(format, args...)+"]") }
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			say(c.Text)
		case *mcp.ImageContent:
			name("an image, %s, %d bytes: not shown", c.MIMEType, len(c.Data))
		case *mcp.AudioContent:
			name("a sound, %s, %d bytes: not played", c.MIMEType, len(c.Data))
		case *mcp.ResourceLink:
			name("a resource: %s %s %s", c.Name, c.URI, c.MIMEType)
		case *mcp.EmbeddedResource:
			if c.Resource == nil {
				continue
			}
			if c.Resource.Text == "" {
				name("a resource: %s %s, %d bytes: not shown", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
				continue
			}
			name("a resource: %s %s", c.Resource.URI, c.Resource.MIMEType)
			say(c.Resource.Text)
		}
	}
	if !said && r.StructuredContent != nil {
		if data, err := json.Marshal(r.StructuredContent); err == nil {
			parts = append(parts, string(data))
		}
	}
	if len(parts) == 0 {
		return "[the tool answered with nothing]"
	}
	return strings.Join(parts, "\n")
}
