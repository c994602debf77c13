package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/process"
)

// maxQueued messages wait for a program that does not read its input.
const maxQueued = 16

// plain drives any program: what it prints is its voice.
type plain struct {
	dir    string // the session's
	spec   Spec
	marker string
	out    chan event

	group    *process.Group // nil if none runs
	messages chan []byte    // to its input, if it stays
	stop     chan struct{}  // closed to end it
	ending   bool
}

func newPlain(dir, marker string, spec Spec) *plain {
	return &plain{dir: dir, spec: spec, marker: marker, out: make(chan event)}
}

func (p *plain) events() <-chan event { return p.out }
func (p *plain) stays() bool          { return p.spec.Agent.Input == InputJSON }
func (p *plain) canBeTold() bool      { return p.stays() }

func (p *plain) ready() bool {
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

func (p *plain) prompt(turn int, text string) error {
	if !p.stays() {
		return p.start(turn, strings.NewReader(text), nil)
	}
	if p.group != nil {
		return p.send(messagePrompt, text)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	err = p.start(turn, r, w)
	_ = r.Close() // the program has it
	if err != nil {
		return errors.Join(err, w.Close())
	}
	return p.send(messagePrompt, text)
}

func (p *plain) tell(kind, text string) error {
	if !p.stays() || p.group == nil {
		return errCantBeTold
	}
	return p.send(kind, text)
}

// send queues a message for the program's input.
func (p *plain) send(kind, text string) error {
	line, err := json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{kind, text})
	if err != nil {
		return err
	}
	select {
	case p.messages <- append(line, '\n'):
		return nil
	default:
		return errors.New("the agent does not read what it is told")
	}
}

func (p *plain) cancel() { p.end() }

func (p *plain) end() bool {
	if p.group == nil {
		return false
	}
	if !p.ending {
		p.ending = true
		close(p.stop)
	}
	return true
}

// start runs the program, with its input from stdin, or by messages through w.
func (p *plain) start(turn int, stdin io.Reader, w *os.File) error {
	env := append(process.CleanEnv(os.Environ()), p.spec.Env...)
	env = append(env, "PWD="+p.spec.Dir, "SIGNALBOX_TASK="+p.spec.Task, "SIGNALBOX_ROLE="+string(p.spec.Role), "SIGNALBOX_TURN="+strconv.Itoa(turn),
		usageVariable+"="+filepath.Join(p.dir, usageFile))
	if p.spec.Nonce != "" {
		env = append(env, "SIGNALBOX_RUN="+p.spec.Nonce)
	}
	voice := &voice{out: p.out, split: p.stays()}
	group, err := process.Start(process.Command{
		Path: p.spec.Agent.Command[0], Args: p.spec.Agent.Command[1:], Dir: p.spec.Dir, Env: env, Marker: p.marker,
		Stdin: stdin, Stdout: voice, Stderr: sender{p.out, complained},
	})
	if err != nil {
		return err
	}
	err = writeJSON(filepath.Join(p.dir, agentFile), leader{group.Pid(), group.Started()})
	p.group, p.messages = group, make(chan []byte, maxQueued)
	p.stop, p.ending = make(chan struct{}), false
	if w != nil {
		go feed(w, p.messages, group.Done())
	}
	go p.wait(group, p.stop, voice)
	if err != nil {
		p.end()
	}
	return err
}

// wait tells that the program has stopped, by itself or because it has to, once all that
// came from it is gone too.
func (p *plain) wait(group *process.Group, stop <-chan struct{}, voice *voice) {
	select {
	case <-group.Done():
	case <-stop:
	}
	group.End(time.Duration(p.spec.Grace))
	exit, err := group.Wait()
	voice.end()
	if u, ok := p.usage(); ok {
		p.out <- event{kind: used, usage: u}
	}
	p.out <- event{kind: stopped, exit: exit, err: err}
}

// usageVariable names the file that a plain program may write to say what it has used,
// as JSON: {"input_tokens": N, "output_tokens": N, "cost_usd": N}.
const usageVariable = "SIGNALBOX_USAGE"

// maxUsage bounds what is read of that file.
const maxUsage = 64 << 10

// usage takes what the program says it has used, if it does.
func (p *plain) usage() (delivery.Usage, bool) {
	path := filepath.Join(p.dir, usageFile)
	f, err := open(path)
	if err != nil {
		_ = remove(path) // what is there is not what the next turn has used
		return delivery.Usage{}, false
	}
	var u delivery.Usage
	err = json.NewDecoder(io.LimitReader(f, maxUsage)).Decode(&u)
	err = errors.Join(err, f.Close(), remove(path))
	return u, err == nil && u.InputTokens >= 0 && u.OutputTokens >= 0 && u.CostUSD >= 0
}

func (p *plain) clear() error {
	p.group = nil
	return remove(filepath.Join(p.dir, agentFile))
}

// feed writes messages to a program's input until the program has ended.
func feed(w *os.File, messages <-chan []byte, done <-chan struct{}) {
	go func() {
		<-done
		_ = w.Close() // ends a write that nobody reads
	}()
	for {
		select {
		case m := <-messages:
			if _, err := w.Write(m); err != nil {
				return // it has closed its input; its output goes on
			}
		case <-done:
			return
		}
	}
}

// sender makes events of what is written to it.
type sender struct {
	out  chan<- event
	kind eventKind
}

func (s sender) Write(p []byte) (int, error) {
	s.out <- event{kind: s.kind, source: agentsig.Voice, text: bytes.Clone(p)}
	return len(p), nil
}

// voice makes events of a program's output, and looks for the end of its turns if it
// stays.
type voice struct {
	out   chan<- event
	split bool
	ends  turnEnds
}

func (v *voice) say(p []byte) { _, _ = sender{v.out, said}.Write(p) }
func (v *voice) over()        { v.out <- event{kind: turnOver} }

func (v *voice) Write(p []byte) (int, error) {
	if v.split {
		v.ends.split(p, v.say, v.over)
	} else {
		v.say(p)
	}
	return len(p), nil
}

func (v *voice) end() {
	if v.split {
		v.ends.end(v.say, v.over)
	}
}
