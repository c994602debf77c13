package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/internal/oracle/person"
	"github.com/signalbox-dev/signalbox/safetext"
)

const chatPrompt = "> "

// terminalLine is the longest line that Linux hands on from a terminal, in bytes: of a longer one it drops
// the rest without a word.
const terminalLine = 4095

// chat answers the questions that are typed, each of which goes on from the one before.
func (a *app) chat(ctx context.Context, q asking) error {
	x, closeIt, err := a.openAsker(ctx, q)
	if err != nil {
		return err
	}
	defer closeIt()
	talk, err := x.book.talk(ctx, q)
	if err != nil {
		return err
	}
	x.with.continues = talk.Continues // also if others ask meanwhile
	a.remark(command.Faint, "Ask, a line at a time. Ctrl-C ends an answer that is being made, Ctrl-D the chat.")
	lines := x.view.keyboard()
	for {
		x.view.show(chatPrompt)
		question, err := lines.Next(ctx)
		switch {
		case x.view.err != nil: // nobody sees the prompt
			return x.view.err
		case errors.Is(err, io.EOF):
			x.view.show("\n")
			return x.view.err
		case errors.Is(err, person.ErrLongLine):
			a.remark(command.Yellow, fmt.Sprintf("That is longer than the %d KiB of a question: put what is long into a file, and ask about that.", person.MaxLine>>10))
			continue
		case err != nil:
			return err
		case len(question) == terminalLine:
			a.remark(command.Yellow, fmt.Sprintf("That has %d bytes, which is all that a terminal takes of a line: its end may be missing, so it is not asked. `signalbox ask --continue -` reads what is longer from standard input.", terminalLine))
			continue
		case oracle.CheckQuestion(question) != nil: // it is blank: a line is short enough, and text
			continue
		}
		if err := x.next(ctx, question); err != nil {
			return err
		}
	}
}

// next answers the next question of a chat. What goes wrong with it alone is told, and the chat goes on.
func (x *asker) next(outer context.Context, question string) error {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	defer x.Catch(cancel)()
	var err error
	if x.settings.Talk, err = x.book.talk(ctx, x.with); err == nil {
		_, err = x.answer(ctx, cancel, question)
	}
	switch {
	case outer.Err() != nil:
		return outer.Err()
	case x.view.err != nil:
		return x.view.err
	case err != nil:
		x.view.show("")
		x.remark(command.Red, safetext.Escape(err.Error()))
	}
	if x.book.id != "" && !x.book.lost { // what the ledger does not have can't be gone on from
		x.with.continues = x.book.id
	}
	return nil
}
