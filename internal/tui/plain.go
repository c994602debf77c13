package tui

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Plain writes a run's notices as lines, for pipes and logs. It is for one
// goroutine at a time.
type Plain struct {
	w        io.Writer
	last     uint64 // the sequence of the last notice that was written
	checking bool   // it was said that the first checks run

	nowhere map[string]bool // the tasks of which it was said that no runner could go on with them
}

// NewPlain returns a Plain that writes to w what comes after a sequence.
func NewPlain(w io.Writer, after uint64) *Plain {
	return &Plain{w: w, last: after, nowhere: map[string]bool{}}
}

// Show writes what is new since the last call: a line for each notice, with the
// time in UTC, and a "!" if a person should see it; and one when tasks begin to wait for
// the checks of what the work starts from, which may take long and print nothing; and for each task one when it
// begins to wait for a runner that is not there.
func (p *Plain) Show(r api.Run, now time.Time) error {
	var b bytes.Buffer
	last := p.last
	for _, n := range r.Notices {
		if n.Sequence <= p.last {
			continue
		}
		last = max(last, n.Sequence)
		b.WriteString(n.At.UTC().Format(time.RFC3339) + " ")
		if n.Grave {
			b.WriteString("! ")
		}
		b.WriteString(safetext.Escape(n.Text) + "\n")
	}
	checking := r.Checks > 0 && slices.ContainsFunc(r.Tasks, func(t api.Task) bool { return t.Why == delivery.WaitBaseline })
	if checking && !p.checking {
		fmt.Fprintf(&b, "%s the gate runs %s on what the work starts from; agents are started after that\n", now.UTC().Format(time.RFC3339), english.Count(r.Checks, "check"))
	}
	nowhere := map[string]bool{}
	for _, t := range r.Tasks {
		if nowhere[t.ID] = t.Waits.Nowhere; t.Waits.Nowhere && !p.nowhere[t.ID] {
			fmt.Fprintf(&b, "%s ! %s %s\n", now.UTC().Format(time.RFC3339), safetext.Escape(t.ID), safetext.Escape(t.Waits.Sentence()))
		}
	}
	if b.Len() > 0 {
		if _, err := p.w.Write(b.Bytes()); err != nil {
			return err
		}
	}
	p.last, p.checking, p.nowhere = last, checking, nowhere
	return nil
}
