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
	talk   delivery.Conversation // once the program has told it, or from [Spec.Resume]
	taken  bool                  // this session has heard of it
	lost   bool                  // this run of the program is in another one than it was to go on with: what it says counts for nothing
	why    string                // why the program can't go on with it, as it says
	resets time.Time             // when the provider's limit ends, if the program has told it
}

func newStream(p program) stream { return stream{program: p, talk: p.spec.Resume} }

func (s *stream) Traits() Traits            { return Traits{MarksEnd: true} }
func (s *stream) Cancel()                   { s.End() }
func (s *stream) Tell(string, string) error { return ErrCantBeTold }

// run runs the program for a turn; line gets what it prints.
func (s *stream) run(turn int, arguments []string, text string, line func([]byte)) error {
	s.teller, s.lost = teller{out: s.program.out}, false
	command := slices.Concat(s.spec.Agent.Command, arguments)
	return s.once(turn, command, text, &streamed{lineReader{line: func(l []byte) {
		if !s.lost {
			line(l)
		}
	}, tooLong: s.passOver}, s})
}

// streamed is what such a program prints.
type streamed struct {
	lineReader
	of *stream
}

// end tells that the conversation is gone if the program has ended without taking it up.
func (o *streamed) end() {
	o.lineReader.end()
	if s := o.of; s.forgets() {
		s.forget(s.why)
	}
}

// forget tells that the program can't go on with its conversation, and why.
func (s *stream) forget(why string) {
	s.talk = delivery.Conversation{}
	s.program.out <- Event{Kind: Forgotten, Text: []byte(safetext.Escape(LastRunes(why, maxCause)))}
}

// forgets reports whether the program was to go on with a conversation, and has not taken it up.
func (s *stream) forgets() bool { return s.talk.ID != "" && !s.taken }

// takes takes the conversation that the program is in. One whose id can't be passed on is none. A program that was to go
// on with one, and begins another, has been told what is new alone: it is ended.
func (s *stream) takes(id string) {
	if s.forgets() && id != s.talk.ID {
		s.lost = true
		s.forget("the program began another conversation")
		return
	}
	s.taken = true
	if id != s.talk.ID {
		s.talk = delivery.Conversation{ID: id}
	}
	if s.talk.Check() != nil {
		s.talk = delivery.Conversation{}
	}
	s.conversed()
}

// conversed tells how the conversation is.
func (s *stream) conversed() {
	if s.taken && s.talk.Check() == nil {
		s.program.out <- Event{Kind: Conversed, Conversation: s.talk}
	} else {
		s.heard()
	}
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
func (s *stream) fail(why string, status int) { s.failed(why, fmt.Sprintf("%d %s", status, why)) }

// failed tells the same of a cause that is not all that is said of it. If that is before the program has taken up its
// conversation, that is gone, which is told when the program has ended.
func (s *stream) failed(why, cause string) {
	s.rest()
	text := fmt.Sprintf("the agent %s: its turn failed: %s", safetext.Escape(s.spec.Agent.Name), safetext.Escape(LastRunes(why, maxCause)))
	e := failing(text, cause, s.resets)
	if s.forgets() && !e.Limited && !e.Refused {
		s.why = why
		return
	}
	s.program.out <- e
}
