package agent

import (
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// SplitTurnEnds gives a text in chunks to turnEnds, and returns what it gives out and how
// many turns it ends.
func SplitTurnEnds(chunks [][]byte) (text string, turns int) {
	var t turnEnds
	say := func(p []byte) { text += string(p) }
	over := func() { turns++ }
	for _, c := range chunks {
		t.split(c, say, over)
	}
	t.end(say, over)
	return text, turns
}

// Limit is what an adapter makes of a failure's text.
func Limit(text string, now time.Time) (limited bool, reset time.Time) { return limit(text, now) }

// RefusesLogin is what an adapter makes of a failure's text.
func RefusesLogin(cause string) bool { return refusesLogin(cause) }

// LastWord is what the adapter ask says at the end of a turn.
func LastWord(s agentsig.Signal, text string) string { return lastWord(s, text) }

// Told is what came of a program's output.
type Told struct {
	Events int
	Bytes  int    // of all that was given out
	Voice  string // what counts as the agent's
	Text   string // all of the transcript
	Turns  int    // that were ended, well or not
	Sent   int    // messages to the program

	Refused, Limited bool // a turn failed for that

	Used delivery.Usage // in all
}

// Hear gives an adapter what its program prints, in pieces of a size.
func Hear(adapter string, allow []Permission, output []byte, size int) (h Told) {
	p := newProgram(Spec{Agent: Config{Name: "agent", Adapter: adapter, Command: []string{"agent"}}, Allow: allow})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range p.out {
			h.take(e)
		}
	}()
	out := hearer(p, &h.Sent)
	for rest := output; len(rest) > 0; {
		n := min(size, len(rest))
		_, _ = out.Write(rest[:n])
		rest = rest[n:]
	}
	out.end()
	close(p.out)
	<-done
	return h
}

func (h *Told) take(e Event) {
	h.Events++
	h.Bytes += len(e.Text)
	if e.Kind == Said {
		h.Text += string(e.Text)
	}
	if e.Kind == Used {
		h.Used.Add(e.Usage)
	}
	switch {
	case e.Kind == Said && e.Source == agentsig.Voice:
		h.Voice += string(e.Text)
	case e.Kind == TurnOver || e.Kind == Failed:
		h.Turns++
		h.Refused, h.Limited = h.Refused || e.Refused, h.Limited || e.Limited
	}
}

// hearer is what hears a program, as if a turn had begun.
func hearer(p program, sent *int) output {
	switch p.spec.Agent.Adapter {
	case AdapterClaude:
		c := newClaude(p)
		c.teller = teller{out: p.out}
		return &lineReader{line: c.line, tooLong: c.passOver}
	case AdapterCodex:
		c := newCodex(p)
		c.teller = teller{out: p.out}
		return &lineReader{line: c.line, tooLong: c.passOver}
	}
	a := newACP(p)
	conn := a.connect(func([]byte) error { *sent++; return nil }, func([]byte) { *sent++ })
	a.waiting, a.mute = "do it", time.NewTimer(time.Hour)
	_ = conn.call("initialize", nil, a.greeted) // it is queued, and nobody reads it
	return conn
}

// Settings is what a program is told by variables.
func Settings(s Spec, env []string) ([]string, error) {
	p := newProgram(s)
	return p.settings(env)
}
