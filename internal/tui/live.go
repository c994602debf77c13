package tui

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// What a terminal is told. Terminals that do not know synchronised updates pass
// over them.
const (
	beginUpdate   = "\x1b[?2026h"
	endUpdate     = "\x1b[?2026l"
	hideCursor    = "\x1b[?25l"
	showCursor    = "\x1b[?25h"
	alternate     = "\x1b[?1049h" // a screen of its own, which leaves no trace
	backToMain    = "\x1b[?1049l"
	markPastes    = "\x1b[?2004h" // so that a paste is told from keys
	plainPastes   = "\x1b[?2004l"
	toTop         = "\x1b[H"
	eraseLine     = "\x1b[K" // from the cursor to the end
	eraseBelow    = "\x1b[J" // from the cursor to the end of the screen
	defaultWidth  = 80
	defaultHeight = 24
)

// Live draws a run on a terminal, each time over the last. Between two calls the
// cursor is hidden, at the start of the line below the frame; nobody else may
// write to the terminal until Close. It is for one goroutine at a time.
type Live struct {
	w             io.Writer
	size          func() (columns, rows int)
	color         bool
	open          bool     // the cursor is hidden
	drawn         []string // that are on the screen
	columns, rows int      // of the screen when they were drawn
}

// NewLive returns a Live that draws to the terminal w. It asks size, which gives
// zeros if it does not know, before it draws.
func NewLive(w io.Writer, size func() (columns, rows int), color bool) *Live {
	return &Live{w: w, size: size, color: color}
}

// Show draws the run as it is. It writes nothing if that would change nothing.
//
// The last column stays empty, because terminals disagree about what happens
// behind a character in it, and so does the last line, for the cursor. If the
// screen's size has changed, all of it is drawn anew: some terminals wrap and move
// the lines that were there, and others do not.
func (l *Live) Show(r api.Run, now time.Time) error {
	columns, rows := l.size()
	if columns < 2 || rows < 2 {
		columns, rows = defaultWidth, defaultHeight
	}
	frame := Frame(r, Options{Width: columns - 1, Height: rows - 1, Color: l.color, Now: now})
	resized := len(l.drawn) > 0 && (columns != l.columns || rows != l.rows)
	if !resized && slices.Equal(frame, l.drawn) {
		return nil
	}
	var b bytes.Buffer
	b.WriteString(beginUpdate + hideCursor)
	switch {
	case resized:
		b.WriteString(toTop + strings.Repeat(eraseLine+"\r\n", rows-1) + eraseLine + toTop)
	case len(l.drawn) > 0:
		fmt.Fprintf(&b, "\r\x1b[%dA", len(l.drawn))
	}
	for _, s := range frame {
		b.WriteString(s + eraseLine + "\r\n")
	}
	b.WriteString(eraseBelow + endUpdate)
	l.open = true
	if _, err := l.w.Write(b.Bytes()); err != nil {
		return err
	}
	l.drawn, l.columns, l.rows = frame, columns, rows
	return nil
}

// Erase takes the last frame off the screen, as if nothing had been drawn. It goes line by line: terminals keep a
// screen that is erased as a whole in what can be scrolled back to.
func (l *Live) Erase() error {
	if len(l.drawn) == 0 {
		return nil
	}
	up := fmt.Sprintf("\r\x1b[%dA", len(l.drawn))
	_, err := io.WriteString(l.w, up+strings.Repeat(eraseLine+"\r\n", len(l.drawn))+up)
	l.drawn = nil
	return err
}

// Close gives the terminal back: the last frame stays, and the cursor is below it.
// A Live that has drawn nothing writes nothing.
func (l *Live) Close() error {
	if !l.open {
		return nil
	}
	l.open, l.drawn = false, nil
	_, err := io.WriteString(l.w, showCursor)
	return err
}

// Full draws a model on a screen of its own, all of it. While it is open, nobody else may write to the terminal. It is for one
// goroutine at a time.
type Full struct {
	w             io.Writer
	size          func() (columns, rows int)
	color         bool
	open          bool
	drawn         []string
	columns, rows int
}

// NewFull returns a Full that draws to the terminal w, as large as size says.
func NewFull(w io.Writer, size func() (columns, rows int), color bool) *Full {
	return &Full{w: w, size: size, color: color}
}

// Show draws the model as it is, on the alternate screen. It writes nothing if that would change nothing. The last column
// stays empty, as with [Live].
func (f *Full) Show(m Model, now time.Time) error {
	columns, rows := f.size()
	o := screenOptions(columns, rows)
	o.Color, o.Now = f.color, now
	lines := m.Screen(o)
	if f.open && columns == f.columns && rows == f.rows && slices.Equal(lines, f.drawn) {
		return nil
	}
	var b bytes.Buffer
	if !f.open {
		b.WriteString(alternate + markPastes)
	}
	b.WriteString(beginUpdate + hideCursor + toTop)
	for i, s := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(s + eraseLine)
	}
	b.WriteString(eraseBelow + endUpdate)
	f.open = true
	if _, err := f.w.Write(b.Bytes()); err != nil {
		return err
	}
	f.drawn, f.columns, f.rows = lines, columns, rows
	return nil
}

// screenOptions are those of a terminal of this size, or of one that does not know its size.
func screenOptions(columns, rows int) Options {
	if columns < 2 || rows < 1 {
		columns, rows = defaultWidth, defaultHeight
	}
	return Options{Width: columns - 1, Height: rows}
}

// Forget has the next Show draw all of it: somebody else has written to the terminal.
func (f *Full) Forget() { f.drawn = nil }

// Close gives the terminal back as it was. Show opens it again.
func (f *Full) Close() error {
	if !f.open {
		return nil
	}
	f.open, f.drawn = false, nil
	_, err := io.WriteString(f.w, plainPastes+backToMain+showCursor)
	return err
}
