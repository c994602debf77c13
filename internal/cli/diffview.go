package cli

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

// diffView shows a diff on a terminal: in git's colours, and with everything escaped that the terminal would act
// upon. Git and pagers would pass on colours that are in the files, with which an agent could hide what it wrote.
// It takes the diff as git writes it without colours, and holds no more than a part of a line.
type diffView struct {
	to      io.Writer
	colours worktree.DiffColours

	line     []byte // that has begun, as far as it was not shown
	within   bool   // its beginning was
	colour   string // of it
	header   bool   // it is in front of a file's first hunk
	old, new int    // lines that are left of the hunk
}

// maxHeldLine is how much of a line is held.
const maxHeldLine = 64 << 10

const resetColour = "\x1b[m"

func (v *diffView) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		part, rest, whole := bytes.Cut(p, []byte{'\n'})
		v.line = append(v.line, part...)
		var err error
		switch {
		case whole:
			err = v.show(len(v.line), "\n")
		case len(v.line) > maxHeldLine:
			err = v.show(wholeRunes(v.line), "")
		}
		if err != nil {
			return 0, err
		}
		p = rest
	}
	return n, nil
}

// Close shows what is left: the last line of a diff may have no end.
func (v *diffView) Close() error {
	if len(v.line) == 0 {
		return nil
	}
	return v.show(len(v.line), "")
}

// show shows so much of the line, and what ends it.
func (v *diffView) show(n int, end string) error {
	if !v.within {
		v.colour = v.colourOf(string(v.line[:n]))
	}
	text := safetext.EscapeLines(string(v.line[:n]))
	if v.colour != "" && text != "" {
		text = v.colour + text + resetColour
	}
	_, err := io.WriteString(v.to, text+end)
	v.line = append(v.line[:0], v.line[n:]...)
	v.within = end == ""
	return err
}

// colourOf returns the colour of a line, which it may have the beginning of.
func (v *diffView) colourOf(line string) string {
	if v.old > 0 || v.new > 0 {
		switch {
		case strings.HasPrefix(line, "-"):
			v.old--
			return v.colours.Old
		case strings.HasPrefix(line, "+"):
			v.new--
			return v.colours.New
		case strings.HasPrefix(line, `\`): // no newline at the end of the file
		default:
			v.old, v.new = v.old-1, v.new-1
		}
		return ""
	}
	old, added, _, err := hunk(line)
	switch {
	case err == nil:
		v.header, v.old, v.new = false, old, added
		return v.colours.Frag
	case strings.HasPrefix(line, "diff "):
		v.header = true
	}
	if v.header {
		return v.colours.Meta
	}
	return ""
}

var errNoHunk = errors.New("not the beginning of a hunk")

// hunk reads how many lines a hunk has of before and of after, and with which line after begins: @@ -1,2 +3,4 @@, where a count
// that is left out is one.
func hunk(line string) (old, added, first int, err error) {
	words := strings.Fields(line[:min(len(line), 200)])
	if len(words) < 4 || words[0] != "@@" || words[3] != "@@" {
		return 0, 0, 0, errNoHunk
	}
	for i, n := range []*int{&old, &added} {
		*n = 1
		from, count, many := strings.Cut(words[i+1], ",")
		if many {
			if *n, err = strconv.Atoi(count); err != nil {
				return 0, 0, 0, err
			}
		}
		if first, err = strconv.Atoi(strings.TrimLeft(from, "+-")); err != nil {
			return 0, 0, 0, err
		}
	}
	return old, added, first, nil
}
