package session

import (
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// Marker is for tests that look for processes.
func Marker(dir, name string) (string, error) { return marker(dir, name) }

// LessPatience lets a test not wait long for a session that was killed.
func LessPatience(t interface{ Cleanup(func()) }) {
	before := killPatience
	killPatience = 50 * time.Millisecond
	t.Cleanup(func() { killPatience = before })
}

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

// Heard is what came of a program's output.
type Heard struct {
	Events int
	Bytes  int    // of all that was given out
	Voice  string // what counts as the agent's
	Turns  int    // that were ended, well or not
	Sent   int    // messages to the program
}

// Hear gives an adapter what its program prints, in pieces of a size.
func Hear(adapter string, allow []Permission, output []byte, size int) (h Heard) {
	p := newProgram("", "", Spec{Agent: Agent{Name: "agent", Adapter: adapter, Command: []string{"agent"}}, Allow: allow})
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

func (h *Heard) take(e event) {
	h.Events++
	h.Bytes += len(e.text)
	switch {
	case e.kind == said && e.source == agentsig.Voice:
		h.Voice += string(e.text)
	case e.kind == turnOver || e.kind == failed:
		h.Turns++
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

// Permissions returns the permissions there are.
func Permissions() []Permission { return []Permission{Edit, Execute, Fetch} }

// Settings is what a program is told by variables.
func Settings(dir string, s Spec, env []string) ([]string, error) {
	p := newProgram(dir, "", s)
	return p.settings(env)
}

// Pending returns the reports in a session's outbox, in order.
func Pending(dir string) (reports []api.SessionReport, err error) {
	numbers, err := outbox(dir)
	for _, seq := range numbers {
		var r api.SessionReport
		err = errors.Join(err, readJSON(reportFile(dir, seq), api.MaxReport, &r))
		reports = append(reports, r)
	}
	return reports, err
}
