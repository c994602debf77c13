package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/advice"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/safetext"
)

// ask drives this very program as an expert: a model with tools, whose turns a behaviour tree
// steers. What the model and its tools say is in the transcript, and no voice: the signal that ends
// the turn is made here of how the question ended, and is the only one that carries the nonce.
type ask struct {
	program
	teller
}

func newAsk(p program) *ask { return &ask{program: p} }

func (a *ask) Traits() Traits            { return Traits{MarksEnd: true} }
func (a *ask) Cancel()                   { a.End() }
func (a *ask) Tell(string, string) error { return ErrCantBeTold }

func (a *ask) Prompt(turn int, text string) error {
	request, err := json.Marshal(advice.Request{Settings: a.spec.Agent.Ask, Question: text})
	if err != nil {
		return err
	}
	a.teller = teller{out: a.program.out}
	in := newInlet()
	if err := in.offer(append(request, '\n')); err != nil {
		return err
	}
	return a.open(turn, a.spec.Agent.Command, in, &lineReader{line: func(line []byte) { a.line(in, line) }, tooLong: a.passOver})
}

// line takes a line. What can't be read is a sign of life.
func (a *ask) line(in inlet, line []byte) {
	var l advice.Line
	if !decode(line, &l) {
		a.heard()
		return
	}
	switch {
	case l.Step != nil && l.Step.Check() == nil:
		a.step(in, *l.Step, l.Given)
	case l.Denied != "":
		a.deny("tool "+l.Denied, "it may change something, and allow in the agent's settings does not name it")
	case l.Used != (delivery.Usage{}):
		a.program.out <- Event{Kind: Used, Usage: l.Used}
	case l.Done != nil:
		a.done(*l.Done)
	case l.Remark != "":
		a.remark(short(l.Remark, maxResult))
	default:
		a.speak(agentsig.Tool, l.Text)
	}
}

// step tells of something that is to be recorded. The program is told when a call is, or can't be.
func (a *ask) step(in inlet, s delivery.Step, given string) {
	e := Event{Kind: Stepped, Step: s}
	switch {
	case s.Signal != nil:
		a.remark(oneLine(fmt.Sprintf("signal %s (%.2g) %s", s.Signal.Signal, s.Signal.Confidence, s.Signal.Text), maxTitle))
	case s.Call != nil:
		a.uses(a.tool(callID(s.Call.Call), "tool", s.Call.Tool+" "+s.Call.Arguments))
		e.Recorded = func(recorded bool) {
			word, err := json.Marshal(advice.Word{Call: s.Call.Call, Recorded: recorded})
			if err == nil {
				_ = in.offer(append(word, '\n')) // a program that does not read it calls nothing
			}
		}
	case s.Result != nil:
		t := a.tool(callID(s.Result.Call), "", "")
		t.gives(given)
		a.used(callID(s.Result.Call), t, s.Result.Failed)
	}
	a.program.out <- e
}

func callID(call int) string { return fmt.Sprintf("call-%d", call) }

// done ends the turn: with advice, or with why there is none.
func (a *ask) done(d advice.Done) {
	a.rest()
	if d.Limited || d.Refused {
		why := fmt.Sprintf("the agent %s: its model can't be asked: %s", safetext.Escape(a.spec.Agent.Name), safetext.Escape(LastRunes(d.Missing, maxCause)))
		e := Event{Kind: Failed, Text: []byte(why), Limited: d.Limited, Refused: d.Refused}
		if now := time.Now(); d.RetryAfter > 0 && sound(now.Add(d.RetryAfter), now) {
			e.Reset = now.Add(d.RetryAfter)
		}
		a.program.out <- e
		return
	}
	kind, text := agentsig.KindExpertUnsuccessful, d.Missing
	if d.Answered {
		kind, text = agentsig.KindExpertAdvice, d.Text
		if d.Missing != "" {
			text += "\n\nThis is not the whole answer: " + d.Missing
		}
	}
	a.speak(agentsig.Voice, lastWord(agentsig.Signal{Kind: kind, Subject: a.spec.Task, Run: a.spec.Nonce}, text))
	a.rest()
	a.program.out <- Event{Kind: TurnOver}
}

// maxAdvice bounds what is said below the signal, in bytes.
const maxAdvice = 16 << 10

// lastWord writes a signal with a text below it that reads back as this signal and no other, whatever
// the text is: as it is, or as a block quote, in which no signal counts.
func lastWord(s agentsig.Signal, text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	text = short(strings.TrimSpace(text), maxAdvice)
	for _, payload := range []string{text, quoted(text), quoted(safetext.EscapeLines(text)), ""} {
		s.Payload = payload
		if wire, err := s.Wire(); err == nil {
			return wire + "\n"
		}
	}
	return ""
}

// quoted makes a block quote of a text.
func quoted(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }
