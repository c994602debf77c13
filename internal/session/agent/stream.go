package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/safetext"
)

// stream is what Claude Code's and Codex's own programs have in common: each turn is a
// run of the program, which prints what happens as lines of JSON, and the conversation
// goes on from run to run by its id.
type stream struct {
	program
	teller
	id     string    // of the conversation, once the program has told it
	resets time.Time // when the provider's limit ends, if the program has told it
}

func (s *stream) Traits() Traits            { return Traits{MarksEnd: true} }
func (s *stream) Cancel()                   { s.End() }
func (s *stream) Tell(string, string) error { return ErrCantBeTold }

// run runs the program for a turn; line gets what it prints.
func (s *stream) run(turn int, arguments []string, text string, line func([]byte)) error {
	s.teller = teller{out: s.program.out}
	command := slices.Concat(s.spec.Agent.Command, arguments)
	return s.once(turn, command, text, &lineReader{line: line, tooLong: s.passOver})
}

// spend tells what was used since the last time.
func (s *stream) spend(since delivery.Usage) {
	s.program.out <- Event{Kind: Used, Usage: since}
}

// over tells that the agent has ended its turn, and how many things of it run on.
func (s *stream) over(open int) {
	s.rest()
	s.program.out <- Event{Kind: TurnOver, Open: open}
}

// fail tells that the turn has failed, and why; status is the provider's, if there is one.
func (s *stream) fail(why string, status int) {
	s.rest()
	text := fmt.Sprintf("the agent %s: its turn failed: %s", safetext.Escape(s.spec.Agent.Name), safetext.Escape(LastRunes(why, maxCause)))
	s.program.out <- failing(text, fmt.Sprintf("%d %s", status, why), s.resets)
}
