package agent

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/process"
)

// maxQueued messages wait for a program that does not read its input.
const maxQueued = 16

// program is the agent's program: its process group, its input and its end. Adapters
// have one, and give its output a meaning.
type program struct {
	spec   Spec
	out    chan Event
	stderr io.Writer // takes what it complains of
	secret string    // the password of a server that the program has for itself

	group  *process.Group // nil if none runs
	in     inlet          // to its input, if that stays open
	stop   chan struct{}  // closed to end it
	ending bool
}

func newProgram(spec Spec) program {
	out := make(chan Event)
	return program{spec: spec, out: out, stderr: sender{out, Complained}, secret: rand.Text()}
}

// output takes what a program prints. It is ended once, when nothing more comes.
type output interface {
	io.Writer
	end()
}

func (p *program) Events() <-chan Event { return p.out }

func (p *program) Ready() bool {
	if p.group == nil {
		return true
	}
	select {
	case <-p.group.Done():
		return false
	default:
		return !p.ending
	}
}

func (p *program) End() bool {
	if p.group == nil {
		return false
	}
	if !p.ending {
		p.ending = true
		close(p.stop)
	}
	return true
}

func (p *program) Clear() { p.group = nil }

// once runs the program with a text as the whole of its input.
func (p *program) once(turn int, command []string, text string, out output) error {
	return p.start(turn, command, strings.NewReader(text), out)
}

// open runs the program with an input that stays open for messages.
func (p *program) open(turn int, command []string, in inlet, out output) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	p.in = in
	if err = p.start(turn, command, r, out); err == nil {
		go in.feed(w, p.group.Done(), p.stop)
	}
	_ = r.Close() // the program has it
	if err != nil {
		close(in.closed)
		return errors.Join(err, w.Close())
	}
	return nil
}

// inlet takes messages for a program's input.
type inlet struct {
	messages chan []byte
	closed   chan struct{} // when nobody passes them on any more
}

func newInlet() inlet { return inlet{make(chan []byte, maxQueued), make(chan struct{})} }

// offer queues a message if there is room.
func (i inlet) offer(message []byte) error {
	select {
	case i.messages <- message:
		return nil
	default:
		return errors.New("the agent does not read what it is told")
	}
}

// give queues a message once there is room. It is for whoever hears the program, which
// may ask for more at once than it reads, and has to wait then.
func (i inlet) give(message []byte) {
	select {
	case i.messages <- message:
	case <-i.closed:
	}
}

// environment is what the program gets, and what it runs inherits: the nonce is not in it.
func (p *program) environment(turn int) []string {
	env := append(process.CleanEnv(os.Environ()), p.spec.Env...)
	return append(env, "PWD="+p.spec.Dir, "SIGNALBOX_TASK="+p.spec.Task, "SIGNALBOX_ROLE="+string(p.spec.Role), "SIGNALBOX_TURN="+strconv.Itoa(turn),
		usageVariable+"="+filepath.Join(p.spec.Private, usageFile))
}

// confine returns how a command is run in the agent's sandbox.
func (p *program) confine(command []string) ([]string, error) {
	if !p.spec.confined() {
		return command, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return p.spec.Confine.Command(self, command)
}

// start runs the program.
func (p *program) start(turn int, command []string, stdin io.Reader, out output) error {
	command, err := p.confine(command)
	if err != nil {
		return err
	}
	env := p.environment(turn)
	settings, err := p.settings(env)
	if err != nil {
		return err
	}
	group, err := process.Start(process.Command{
		Path: command[0], Args: command[1:], Dir: p.spec.Dir, Env: append(env, settings...), Marker: p.spec.Marker,
		Stdin: stdin, Stdout: out, Stderr: p.stderr,
	})
	if err != nil {
		return err
	}
	err = p.spec.Started(group.Pid(), group.Started())
	p.group, p.stop, p.ending = group, make(chan struct{}), false
	go p.wait(group, p.stop, out)
	if err != nil {
		p.End()
	}
	return err
}

// wait tells that the program has stopped, by itself or because it has to, once all that
// came from it is gone too.
func (p *program) wait(group *process.Group, stop <-chan struct{}, out output) {
	select {
	case <-group.Done():
	case <-stop:
	}
	group.End(p.spec.Grace)
	exit, err := group.Wait()
	_ = process.EndOrphans() // what can't be had is not waited for
	out.end()
	p.out <- Event{Kind: Stopped, Exit: exit, Err: err}
}

// feed writes messages to a program's input until the program has ended or has to: some
// heed the end of their input and no signal.
func (i inlet) feed(w *os.File, done, stop <-chan struct{}) {
	defer close(i.closed)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-done:
		case <-stop:
		}
		_ = w.Close() // ends a write that nobody reads
	}()
	for {
		select {
		case m := <-i.messages:
			if _, err := w.Write(m); err != nil {
				return // it has closed its input; its output goes on
			}
		case <-over:
			return
		}
	}
}

// sender makes events of what is written to it.
type sender struct {
	out  chan<- Event
	kind EventKind
}

func (s sender) Write(p []byte) (int, error) {
	s.out <- Event{Kind: s.kind, Source: agentsig.Voice, Text: bytes.Clone(p)}
	return len(p), nil
}

// maxLine is how long a line of a program that speaks in JSON can be. Some print more
// than 10 MiB in one.
const maxLine = 32 << 20

// lineReader calls line with each line that is written to it, and tooLong once for one
// that is longer than maxLine, which is passed over. The bytes are good until line
// returns.
type lineReader struct {
	line    func([]byte)
	tooLong func()

	held []byte
	skip bool // in the middle of a line that is too long
}

func (l *lineReader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		whole := i >= 0
		if !whole {
			i = len(p)
		}
		switch {
		case l.skip:
		case len(l.held)+i > maxLine:
			l.skip, l.held = true, nil
			l.tooLong()
		case whole && len(l.held) == 0:
			l.line(p[:i])
		default:
			l.held = append(l.held, p[:i]...)
			if whole {
				l.line(l.held)
				l.held = l.held[:0]
			}
		}
		if !whole {
			break
		}
		l.skip = false
		p = p[i+1:]
	}
	if cap(l.held) > 1<<20 && len(l.held) == 0 {
		l.held = nil // one long line is no reason to keep the room for another
	}
	return n, nil
}

// end gives out a last line that has no newline.
func (l *lineReader) end() {
	if len(l.held) > 0 {
		l.line(l.held)
	}
	l.held = nil
}
