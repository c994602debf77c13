package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/internal/oracle/person"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
	"github.com/signalbox-dev/signalbox/safetext"
)

// approve returns how calls of these tools are decided that nobody has allowed in advance: by the
// person at the terminal, if standard input and output are one and no program reads along. From then
// on the terminal is read, so that nothing counts for an answer that was typed before the question.
func (v *askView) approve(tools []toolbox.Tool) oracle.Approve {
	if !slices.ContainsFunc(tools, func(t toolbox.Tool) bool { return !t.ReadOnly }) {
		return nil // nothing is asked, and the terminal is left to others
	}
	if v.InTTY && v.OutTTY && !v.JSON {
		return person.Asker{Lines: v.keyboard(), Show: v.show, Prompt: v.show}.Approve
	}
	told := map[string]bool{}
	return func(_ context.Context, p oracle.Proposal) oracle.Decision {
		if name := safetext.Escape(p.Tool.Name); !v.JSON && !told[name] {
			told[name] = true
			v.mu.Lock()
			defer v.mu.Unlock()
			v.line(command.Yellow, fmt.Sprintf("%s changes something, and is refused: there is no terminal to ask you at. --allow %s allows it.", name, name))
		}
		return oracle.Decision{}
	}
}

// keyboard returns the lines that are typed at the terminal, which only one may read.
func (v *askView) keyboard() *person.Lines {
	if v.lines == nil {
		v.lines = person.Read(v.In)
	}
	return v.lines
}

// show prints a text for the person who is asked, on a line of its own.
func (v *askView) show(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.freshLine()
	_, err := fmt.Fprint(v.Out, text)
	v.note(err)
}
