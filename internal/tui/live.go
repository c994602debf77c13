package tui

import (
	"bytes"
	"fmt"
	"io"
	"slices"
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
		b.WriteString(toTop + eraseBelow)
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

// Erase takes the last frame off the screen, as if nothing had been drawn.
func (l *Live) Erase() error {
	if len(l.drawn) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(l.w, "\r\x1b[%dA%s", len(l.drawn), eraseBelow)
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
