package agent

import "bytes"

// turnEndLine is what a program that stays prints when a turn is over.
const turnEndLine = `{"type":"turn_end"}`

// turnEnds finds the lines that end a turn, in chunks of any size. It holds back no more
// than may become such a line.
type turnEnds struct {
	held  int  // bytes of the line that were matched so far
	other bool // in the middle of a line that is another one
}

// split calls text with what is not such a line, and over for each that is.
func (t *turnEnds) split(p []byte, text func([]byte), over func()) {
	start := 0 // of what is neither given out nor held
	for i := 0; i < len(p); {
		switch b := p[i]; {
		case t.other:
			if n := bytes.IndexByte(p[i:], '\n'); n >= 0 {
				i += n + 1
				t.other = false
			} else {
				i = len(p)
			}
		case t.held < len(turnEndLine) && b == turnEndLine[t.held]:
			if t.held == 0 && i > start {
				text(p[start:i])
			}
			t.held++
			i++
			start = i
		case t.held == len(turnEndLine) && b == '\n':
			i++
			start = i
			t.held = 0
			over()
		default: // it is another line
			t.release(text)
			t.other = true
		}
	}
	if start < len(p) {
		text(p[start:])
	}
}

// release gives out what was held.
func (t *turnEnds) release(text func([]byte)) {
	if t.held > 0 {
		text([]byte(turnEndLine[:t.held]))
	}
	t.held = 0
}

// end ends the output: the last line may lack its newline.
func (t *turnEnds) end(text func([]byte), over func()) {
	if t.held == len(turnEndLine) {
		t.held = 0
		over()
	}
	t.release(text)
	t.other = false
}
