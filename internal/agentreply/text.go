package agentreply

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/safetext"
)

// TextView is a text of which a page is wanted: a diff, a log, a plan.
type TextView struct {
	What   string // diff, log, plan
	Of     string // the id of what it belongs to
	Whole  string // the text
	Offset int    // the byte of it with which the page begins; counted from the end if it is negative
	Total  int    // bytes that there are in all, if Whole is only their beginning; otherwise 0
}

// TextSnapshot is a page of a text.
type TextSnapshot struct {
	Head
	What   string `json:"what"`
	Of     string `json:"of"`
	Total  int    `json:"total_bytes"`
	Offset int    `json:"offset"`
	Onward int    `json:"next_offset"` // 0 at the end
	Text   string `json:"quoted_text"` // escaped; lines are kept

	rest string
}

// Text is the reply with a page of a text.
func Text(v TextView, _ time.Time) agentformat.Response[TextSnapshot] {
	from := v.Offset
	if from < 0 {
		from = max(0, len(v.Whole)+from)
	}
	from = min(from, len(v.Whole))
	from = runeStart(v.Whole, from)
	s := TextSnapshot{What: word(v.What), Of: id(v.Of), Total: max(v.Total, len(v.Whole)), Offset: from, rest: v.Whole[from:]}
	end := from + page(s.rest, maxPage)
	switch {
	case s.Total == 0:
		s.flags.add(FlagTextEnd, "the text is empty")
	case end < s.Total:
		s.flags.add(FlagTextMore, "the page ends before the text does, which has %d bytes", s.Total)
	default:
		s.flags.add(FlagTextEnd, "the page has the end of the text, which has %d bytes", s.Total)
	}
	return respond(agentformat.StatusSuccess, s, agentformat.File{})
}

// runeStart returns where the character begins that a byte of a text belongs to: the byte itself if it belongs to none.
func runeStart(text string, at int) int {
	for from := at; from >= 0 && at-from < utf8.UTFMax; from-- {
		if r, size := utf8.DecodeRuneInString(text[from:]); r != utf8.RuneError && from+size > at {
			return from
		}
	}
	return at
}

// maxPage is how much of a text a page has, in bytes of JSON: what is left of [MaxReply] when all else is as long as it can be.
const maxPage = 2200

func (s TextSnapshot) inRoom(bytes int) TextSnapshot { s.room = bytes; return s }

// Capped is the page.
func (s TextSnapshot) Capped() TextSnapshot {
	n := page(s.rest, maxPage)
	s.Text = safetext.EscapeLines(s.rest[:n])
	end := s.Offset + n
	s.Verdict = fmt.Sprintf("%s of %s: bytes %d to %d of %d", s.What, s.Of, s.Offset, end, s.Total)
	s.Next = "nothing: the text ends here"
	if end < s.Total {
		s.Onward, s.Cut = end, true
		s.Next = fmt.Sprintf("there is more: if you need it, call again with offset %d", end)
		if s.What == "diff" || s.What == "log" {
			s.Next = fmt.Sprintf("there is more: if you need it, call get_%s with the same work and offset %d", s.What, end)
		}
	}
	s.rest = ""
	return s
}

// page returns how many bytes of a text a page has that may have so many bytes of JSON. It ends at a line's end if one is in
// its second half.
func page(text string, most int) int {
	end, line, sum := 0, 0, 0
	for end < len(text) {
		_, size := utf8.DecodeRuneInString(text[end:])
		one := jsontext.Length(safetext.EscapeLines(text[end:end+size])) - len(`""`)
		if sum += one; sum > most {
			if line > end/2 {
				return line
			}
			return end
		}
		end += size
		if strings.HasSuffix(text[:end], "\n") {
			line = end
		}
	}
	return end
}
