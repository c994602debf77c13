package gate

import (
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	maxOutput = 8 << 10
	maxLog    = 64 << 20 // a command that prints without end does not fill the disk
)

// output takes what a command prints: all of it to the log, up to a limit, and
// the last of it to memory.
type output struct {
	log    io.Writer // nil if there is none
	logged int
	err    error // of the log
	tail   []byte
	begun  bool // the last byte was not a newline
}

// Write implements [io.Writer]. It never fails: the command goes on if the log
// can't.
func (o *output) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	o.begun = p[len(p)-1] != '\n'
	o.record(p)
	o.keep(p)
	return len(p), nil
}

// keep holds on to the last bytes.
func (o *output) keep(p []byte) {
	p = p[max(0, len(p)-maxOutput):]
	if over := len(o.tail) + len(p) - maxOutput; over > 0 {
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
	o.tail = append(o.tail, p...)
}

// record writes to the log.
func (o *output) record(p []byte) {
	if o.log == nil || o.err != nil || o.logged == maxLog {
		return
	}
	p = p[:min(len(p), maxLog-o.logged)]
	if _, o.err = o.log.Write(p); o.err != nil {
		o.err = fmt.Errorf("the log can't be written: %w", o.err)
		return
	}
	if o.logged += len(p); o.logged == maxLog {
		_, o.err = fmt.Fprintf(o.log, "\n[the log ends here, after %d MiB]\n", maxLog>>20)
	}
}

// note adds a line of the gate's own.
func (o *output) note(line string) {
	if o.begun {
		line = "\n" + line
	}
	_, _ = o.Write([]byte(line + "\n"))
}

// last returns what is kept, from the beginning of a rune.
func (o *output) last() string {
	tail := o.tail
	for i := 0; i < utf8.UTFMax-1 && len(tail) > 0 && len(o.tail) == maxOutput && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	return string(tail)
}
