package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// speech is who said something, and what.
type speech struct {
	Session    string    `json:"session"`
	Role       string    `json:"role"`
	Agent      string    `json:"agent,omitempty"`
	Runner     string    `json:"runner,omitempty"` // that its session is on; empty for the box's own machine
	Transcript string    `json:"transcript"`
	Text       string    `json:"text"`
	Time       time.Time `json:"time,omitzero"`
	Who        string    `json:"who"`
	Event      string    `json:"event,omitempty"`
}

// These stand among the roles for the gate, and for what happened.
const (
	roleGate     = "gate"
	roleBaseline = "baseline" // the gate on what the work starts from
	roleEvent    = "event"
)

// entry is a part of a log: what happened, or a part of a file.
type entry struct {
	speech
	heading  string // that comes first, where it was not printed yet
	from, to int64  // of the file, if there is one
}

// print prints what was not printed yet, in order.
func (l *logs) print() error {
	entries, err := l.fresh()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if l.app.JSON {
			err = l.writeObjects(e)
		} else {
			err = l.write(e)
		}
		if err != nil {
			return err
		}
		l.said = true
	}
	return nil
}

// fresh returns what was not printed yet, in the order of times.
func (l *logs) fresh() ([]entry, error) {
	var all []entry
	for _, e := range l.about.takeAway() {
		if session, _, err := work.ParseSession(e.Session); err == nil && session == l.about.Subject && (e.Type == work.AgentSessionCompleted || e.Type == delivery.SessionEnded) {
			l.ended[e.Session] = e.Time
		}
		all = append(all, l.event(e.Event))
	}
	if l.errs {
		all = nil
	}
	role := roleGate // on work that nobody worked on before
	if l.about.Run {
		role = roleBaseline
	}
	begun, err := l.checks(speech{Role: role, Transcript: l.gateFile(l.about.Subject), Who: whoGate})
	if err != nil {
		return nil, err
	}
	all = append(all, begun...)
	names, err := l.sessions()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		said, err := l.session(name)
		if err != nil {
			return nil, err
		}
		all = append(all, said...)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.Time.Compare(b.Time) })
	return all, nil
}

// event is what happened.
func (l *logs) event(e ledger.Event) entry {
	out := entry{speech: speech{Session: e.Session, Role: roleEvent, Text: l.about.textOf(e), Time: e.Time, Who: whoOf(e), Event: e.Type}}
	if role, agent, runner, ok := started(e); ok {
		l.granted[e.Session] = speech{Role: role, Agent: agent, Runner: runner, Time: e.Time}
		out.Agent, out.Runner = agent, runner
		out.heading = heading(role, agent, e.Session, runner, e.Time)
	}
	var p delivery.Ended
	if e.Type == delivery.SessionEnded && json.Unmarshal(e.Payload, &p) == nil && p.Bytes == 0 && l.complained(e.Session) {
		out.Text += fmt.Sprintf("; it said nothing: `signalbox logs --stderr %s` has what it wrote to standard error", l.sources[len(l.sources)-1].name)
	}
	return out
}

// complained reports whether a session's agent wrote something to standard error.
func (l *logs) complained(session string) bool {
	info, err := os.Lstat(filepath.Join(l.sessionDir(session), "stderr"))
	return err == nil && info.Size() > 0
}

func (l *logs) sessionDir(name string) string {
	return runner.SessionFiles(l.app.dir, name)
}

// gateFile is where what checks printed is kept.
func (l *logs) gateFile(name string) string {
	return runner.ChecksLog(l.app.dir, name, !l.about.Run && l.about.Task == "")
}

// sessions returns the sessions that have a directory, and those that were granted, in order: a person's and those of work by hand have
// none, and what they hand in is checked all the same.
func (l *logs) sessions() (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(l.app.dir, "sessions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if subject, _, err := work.ParseSession(e.Name()); err == nil && subject == l.about.Subject {
			names = append(names, e.Name())
		}
	}
	for name := range l.granted {
		if subject, _, err := work.ParseSession(name); err == nil && subject == l.about.Subject && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		_, a, _ := work.ParseSession(x)
		_, b, _ := work.ParseSession(y)
		return cmp.Compare(a.Counter, b.Counter)
	})
	return names, nil
}

// alive reports whether one of them still runs.
func (l *logs) alive() bool {
	names, err := l.sessions()
	return err == nil && slices.ContainsFunc(names, func(name string) bool { return session.Alive(l.sessionDir(name)) })
}

// session returns what is new of a session's agent, and of the gate on its work.
func (l *logs) session(name string) ([]entry, error) {
	dir := l.sessionDir(name)
	who, known := l.granted[name]
	if !known {
		return nil, nil // it began after the events that were heard
	}
	who.Session, who.Who, who.Transcript = name, whoAgent, filepath.Join(dir, "transcript")
	if l.errs {
		who.Transcript = filepath.Join(dir, "stderr")
	}
	said, err := l.part(who)
	if err != nil || l.errs {
		return said, err
	}
	if len(said) > 0 {
		voices, err := session.Voices(dir)
		if err != nil {
			return nil, err
		}
		said = byVoice(said[0], voices)
	}
	checked, err := l.checks(speech{Session: name, Role: roleGate, Transcript: l.gateFile(name), Who: whoGate, Time: l.ended[name]})
	return append(said, checked...), err
}

// checks returns what is new of what checks printed.
func (l *logs) checks(who speech) ([]entry, error) {
	if l.errs {
		return nil, nil
	}
	return l.part(who)
}

// part returns what is new in a file, if anything is; the file may be empty. One that was begun anew is read anew.
func (l *logs) part(who speech) ([]entry, error) {
	f, err := regular.OpenItself(who.Transcript) // agents may have put anything there
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it has not begun yet, or there is none
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	from, seen := l.read[who.Transcript]
	if info.Size() < from {
		from, seen = 0, false
		delete(l.headed, who.key())
	}
	if seen && info.Size() == from {
		return nil, nil
	}
	if seen || who.Time.IsZero() {
		who.Time = info.ModTime()
	}
	l.read[who.Transcript] = info.Size()
	named := who.Session
	if who.Who == whoGate {
		named = ""
	}
	return []entry{{who, heading(who.Role, who.Agent, named, who.Runner, who.Time), from, info.Size()}}, nil
}

// byVoice takes a part of a transcript apart by who said it, and when.
func byVoice(part entry, voices []session.Voice) (all []entry) {
	for i, v := range voices {
		piece := part
		if i > 0 { // what stands before the first one is its too
			piece.from = max(piece.from, v.Offset)
		}
		if i+1 < len(voices) {
			piece.to = min(piece.to, voices[i+1].Offset)
		}
		if piece.from >= piece.to && (piece.to > 0 || i > 0) {
			continue
		}
		piece.Time = v.At
		switch v.From {
		case agentsig.Voice:
		case agentsig.Tool:
			piece.Who = whoTool
		case agentsig.Prompt:
			piece.Who = whoBox
		}
		all = append(all, piece)
	}
	if len(all) == 0 {
		return []entry{part}
	}
	return all
}

// key names what has one heading: a session, or the checks on its work.
func (s speech) key() string {
	if s.Who == whoGate {
		return s.Role + " " + s.Session
	}
	return s.Session
}

// write writes an entry for people.
func (l *logs) write(e entry) error {
	if e.heading != "" && !l.headed[e.key()] {
		l.headed[e.key()] = true
		l.endLine()
		fmt.Fprintln(l.app.Out, l.app.Paint(command.Bold, e.heading))
	}
	if e.heading != "" && e.Role == roleEvent && e.Event != work.WorkTaken {
		return nil // that it began
	}
	if l.inLine && (e.Who != l.last.Who || e.Transcript == "" || e.Transcript != l.last.Transcript) {
		l.endLine()
	}
	gutter := ""
	if !l.errs {
		gutter = l.app.Paint(command.Faint, fmt.Sprintf("%s %-6s ", e.Time.Local().Format("15:04:05"), e.Who))
	}
	out := &inertText{to: &guttered{to: l.app.Out, gutter: gutter, inLine: &l.inLine}}
	l.last = e
	err := l.open(e, func(text io.Reader) error {
		_, err := io.Copy(out, text)
		return errors.Join(err, out.Close())
	})
	if e.Transcript == "" {
		l.endLine()
	}
	return err
}

// endLine ends the line that was begun.
func (l *logs) endLine() {
	if l.inLine {
		fmt.Fprintln(l.app.Out)
	}
	l.inLine = false
}

// open calls f with the text of an entry.
func (l *logs) open(e entry, f func(io.Reader) error) error {
	if e.Transcript == "" {
		return f(strings.NewReader(e.Text))
	}
	file, err := regular.OpenItself(e.Transcript)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only
	return f(io.NewSectionReader(file, e.from, e.to-e.from))
}

// guttered begins each line with the same.
type guttered struct {
	to     io.Writer
	gutter string
	inLine *bool
}

func (g *guttered) Write(p []byte) (int, error) {
	var out bytes.Buffer
	for line := range bytes.Lines(p) {
		if !*g.inLine {
			out.WriteString(g.gutter)
		}
		out.Write(line)
		*g.inLine = !bytes.HasSuffix(line, []byte("\n"))
	}
	_, err := g.to.Write(out.Bytes())
	return len(p), err
}

// maxObject is the most text in one object, in bytes.
const maxObject = 1 << 20

// writeObjects writes an entry for programs: at least one object, and more of them for a long text.
func (l *logs) writeObjects(e entry) error {
	return l.open(e, func(text io.Reader) error {
		var held []byte // the beginning of a character
		for first := true; ; first = false {
			part, err := io.ReadAll(io.LimitReader(text, maxObject))
			if err != nil {
				return err
			}
			more := len(part) == maxObject
			part = append(held, part...)
			n := len(part)
			if more {
				n = wholeRunes(part)
			}
			if n > 0 || first {
				e.Text = string(part[:n])
				if err := command.WriteJSON(l.app.Out, e.speech); err != nil {
					return err
				}
			}
			if !more {
				return nil
			}
			held = slices.Clone(part[n:])
		}
	})
}
