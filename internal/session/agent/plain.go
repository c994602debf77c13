package agent

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// plain drives any program: what it prints is its voice.
type plain struct{ program }

func newPlain(p program) *plain { return &plain{p} }

// stays reports whether one run of the program takes all turns.
func (p *plain) stays() bool { return p.spec.Agent.Input == InputJSON }

func (p *plain) Traits() Traits { return Traits{CanBeTold: p.stays(), Stays: p.stays()} }

func (p *plain) Cancel() { p.End() }

func (p *plain) Prompt(turn int, text string) error {
	out := &voice{plain: p, split: p.stays()}
	if !p.stays() {
		err := p.once(turn, p.spec.Agent.Command, text, out)
		if err == nil {
			go p.lookOn(p.group.Done(), p.stop)
		}
		return err
	}
	if p.group == nil {
		if err := p.open(turn, p.spec.Agent.Command, newInlet(), out); err != nil {
			return err
		}
		go p.lookOn(p.group.Done(), p.stop)
	}
	return p.message(messagePrompt, text)
}

func (p *plain) Tell(kind, text string) error {
	if !p.stays() || p.group == nil {
		return ErrCantBeTold
	}
	return p.message(kind, text)
}

// message tells the program something.
func (p *plain) message(kind, text string) error {
	line, err := json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{kind, text})
	if err != nil {
		return err
	}
	return p.in.offer(append(line, '\n'))
}

// usageVariable names the file that a plain program may write to say what it has used,
// as JSON: {"input_tokens": N, "output_tokens": N, "cost_usd": N}.
const usageVariable = "SIGNALBOX_USAGE"

// usageFile is its name, in the program's private directory. It lies there until it is read.
const usageFile = "usage.json"

// maxUsage bounds what is read of that file.
const maxUsage = 64 << 10

// usage takes what the program says it has used, if it does.
func (p *plain) usage() (delivery.Usage, bool) {
	path := filepath.Join(p.spec.Private, usageFile)
	u, err := readUsage(path)
	if removed := os.Remove(path); !errors.Is(removed, os.ErrNotExist) { // what is there is not what the next turn has used
		err = errors.Join(err, removed)
	}
	return u, err == nil
}

func readUsage(path string) (u delivery.Usage, err error) {
	f, err := regular.OpenItself(path)
	if err != nil {
		return u, err
	}
	err = json.NewDecoder(io.LimitReader(f, maxUsage)).Decode(&u)
	return u, errors.Join(err, f.Close())
}

// lookEvery is how often it is looked what a program says it uses while it runs.
const lookEvery = time.Second

// lookOn tells what the program says it uses, whenever that is something new, until the program has ended or has to.
func (p *plain) lookOn(done, stop <-chan struct{}) {
	var last delivery.Usage
	for {
		select {
		case <-time.After(lookEvery):
		case <-done:
			return
		case <-stop:
			return
		}
		u, err := readUsage(filepath.Join(p.spec.Private, usageFile))
		if err != nil || u == last {
			continue
		}
		last = u
		select {
		case p.out <- Event{Kind: Using, Usage: u}:
		case <-done:
			return
		case <-stop:
			return
		}
	}
}

// voice makes events of a program's output, and looks for the end of its turns if it
// stays.
type voice struct {
	plain *plain
	split bool
	ends  turnEnds
}

func (v *voice) say(p []byte) { _, _ = sender{v.plain.out, Said}.Write(p) }
func (v *voice) over()        { v.plain.out <- Event{Kind: TurnOver} }

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
	if u, ok := v.plain.usage(); ok {
		v.plain.out <- Event{Kind: Used, Usage: u}
	}
}
