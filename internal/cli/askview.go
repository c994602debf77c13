package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/internal/oracle/person"
	"github.com/signalbox-dev/signalbox/safetext"
)

// askView shows what happens while a question is answered.
type askView struct {
	*app
	text    *inertText // where the answer goes, which may be shown on a terminal later
	written bool       // something of the answer is on the present line
	blank   int        // line ends of the answer that are held back
	trouble string     // the last error that was shown
	tracing bool       // what happens inside is shown too
	book    *ledgerBook
	lines   *person.Lines // what is typed; nil while nobody reads it
	stop    func()        // nobody reads what is written
	err     error
	mu      sync.Mutex // held by whoever writes
}

// begin makes the view ready for a question, which stop ends if nobody reads what is written.
func (v *askView) begin(stop func()) { v.trouble, v.stop = "", stop }

func (v *askView) note(err error) {
	v.err = cmp.Or(v.err, err)
	if err != nil {
		v.stop()
	}
}

// chunkJSON is a chunk for programs. The last one says where the ledger has it.
type chunkJSON struct {
	oracle.Chunk
	Conversation string `json:"conversation,omitempty"`
}

// eventJSON is an event for programs.
type eventJSON struct {
	Type string `json:"type"`
	oracle.Event
}

// event shows what the oracle tells its subscribers: always to programs, to people with the trace.
func (v *askView) event(e oracle.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.JSON:
		v.note(command.WriteJSON(v.Out, eventJSON{"event", e}))
	case v.tracing:
		fields, err := json.Marshal(e.Fields)
		v.note(err)
		v.line(command.Faint, "  * "+safetext.Escape(e.Name)+" "+shorten(string(fields)))
	}
}

func (v *askView) chunk(c oracle.Chunk) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.JSON {
		j := chunkJSON{Chunk: c}
		if c.Type == oracle.Done {
			j.Conversation = v.book.id
		}
		v.note(command.WriteJSON(v.Out, j))
		return
	}
	switch c.Type {
	case oracle.Content:
		v.content(c.Text)
	case oracle.ToolCall:
		v.line(command.Faint, "  > "+safetext.Escape(c.Tool)+" "+shorten(compact(c.Arguments)))
	case oracle.ToolResult:
		colour, word := command.Faint, bytesWords(int64(c.Bytes))
		if c.Failed {
			colour, word = command.Yellow, "failed"
		}
		if c.Refused {
			word = "refused"
		}
		v.line(colour, "  < "+safetext.Escape(c.Tool)+" "+word+": "+shorten(strings.TrimPrefix(strings.TrimSpace(c.Text), "refused: ")))
	case oracle.Signal:
		if v.tracing {
			v.line(command.Faint, fmt.Sprintf("  * consecutive_same_reason %d, turns_without_signal %d", c.SameReason, c.Silent))
		}
	case oracle.System:
		text := c.Text
		if before, repeated := strings.CutSuffix(text, ": "+v.trouble); repeated && v.trouble != "" {
			text = before + "."
		}
		v.line(command.Yellow, safetext.Escape(text))
	case oracle.Error:
		v.line(command.Red, safetext.Escape(c.Text))
		v.trouble = c.Text
	case oracle.Sources:
		v.line(command.Faint, "sources: "+shorten(c.Sources))
	}
}

// compact puts arguments on one line; there may be none.
func compact(arguments string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(arguments)) != nil {
		return arguments
	}
	return strings.TrimPrefix(b.String(), "{}")
}

// line writes a remark on a line of its own.
func (v *askView) line(colour, text string) {
	v.freshLine()
	v.remark(colour, text)
}

// content writes a piece of the answer. Where a signal was taken out, or a turn has ended, there
// is no more than one empty line.
func (v *askView) content(text string) {
	rest := strings.TrimLeft(text, "\n")
	v.blank += len(text) - len(rest)
	if rest == "" {
		return
	}
	if lines := min(v.blank, 2); v.written {
		v.write(strings.Repeat("\n", lines))
	}
	body := strings.TrimRight(rest, "\n")
	v.blank = len(rest) - len(body)
	v.write(body)
	v.written = true
}

func (v *askView) write(text string) {
	_, err := io.WriteString(v.text, text)
	v.note(err)
}

// trace shows what a tick did.
func (v *askView) trace(text []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.freshLine()
	fmt.Fprint(v.Err, v.PaintErr(command.Faint, safetext.EscapeLines(string(text))))
}

// freshLine ends a line of the answer that is not at its end. What goes through another program (tee)
// to the terminal of the remarks comes later than they do, and so does its line's end.
func (v *askView) freshLine() {
	if v.written {
		v.write("\n")
		if v.ErrTTY && !v.OutTTY {
			fmt.Fprintln(v.Err)
		}
	}
	v.written, v.blank = false, 0
}

// remark writes a line to standard error.
func (a *app) remark(colour, text string) { fmt.Fprintln(a.Err, a.PaintErr(colour, text)) }

// end says what it took.
func (v *askView) end(a oracle.Answer) {
	if v.JSON {
		return
	}
	v.note(v.text.Close())
	v.freshLine()
	outcome := string(a.Outcome)
	if a.Unsignalled {
		outcome += ", unsignalled,"
	}
	calls := english.Count(a.ToolCalls, "tool call")
	if a.Refused > 0 {
		calls += fmt.Sprintf(" (%d refused)", a.Refused)
	}
	v.remark(command.Faint, fmt.Sprintf("%s in %s, %s, %d tokens in and %d out; %s",
		outcome, english.Count(a.Turns, "turn"), calls, a.TokensIn, a.TokensOut, v.book.inLedger()))
}
