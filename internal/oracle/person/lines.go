package person

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
)

// MaxLine is how long a line can be, in bytes.
const MaxLine = 64 << 10

// ErrLongLine is a line that is longer. It is left out; the next one can be read.
var ErrLongLine = errors.New("the line is too long")

// maxAhead is how many lines are read before anybody asks for them.
const maxAhead = 64

// Lines are what is typed, line by line. They are read as they come, so that what was typed before
// a question was put can be told from its answer.
type Lines struct {
	typed chan line
}

type line struct {
	text string
	err  error
}

// Read begins to read lines. That ends with the reader.
func Read(in io.Reader) *Lines {
	l := &Lines{typed: make(chan line, maxAhead)}
	go func() {
		defer close(l.typed)
		r := bufio.NewReader(in)
		for {
			next := readLine(r)
			if next.err != nil && !errors.Is(next.err, ErrLongLine) {
				return
			}
			l.typed <- next
		}
	}()
	return l
}

// readLine reads a line. The last one need not end like one.
func readLine(r *bufio.Reader) line {
	var text []byte
	long := false
	for {
		piece, more, err := r.ReadLine()
		if err != nil {
			return line{err: err}
		}
		if long = long || len(text)+len(piece) > MaxLine; !long {
			text = append(text, piece...)
		}
		switch {
		case more:
		case long:
			return line{err: ErrLongLine}
		default:
			return line{text: strings.ToValidUTF8(string(text), "\ufffd")}
		}
	}
}

// Next returns the next line. The error is io.EOF after the last one, [ErrLongLine], or that of ctx.
func (l *Lines) Next(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	select {
	case next, ok := <-l.typed:
		if !ok {
			return "", io.EOF
		}
		return next.text, next.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Drop forgets the lines that were typed so far, and returns how many there were.
func (l *Lines) Drop() int {
	for n := 0; ; n++ {
		select {
		case _, ok := <-l.typed:
			if !ok {
				return n
			}
		default:
			return n
		}
	}
}
