package price

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

var errLongLine = fmt.Errorf("the line is longer than %d bytes", maxLine)

// lines reads a file line by line, in bounded memory.
type lines struct {
	r      *bufio.Reader
	number int // of the line read last, from 1
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(&limited{r: r, left: maxInput}, maxLine)}
}

// start goes to the first byte that is no blank, and says which it is. A byte order mark is
// passed over.
func (l *lines) start() (byte, error) {
	mark, err := l.r.Peek(3)
	switch {
	case bytes.HasPrefix(mark, []byte("\xff\xfe")) || bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return 0, fmt.Errorf("%w: it is written in UTF-16; save it as UTF-8", ErrUnknownFormat)
	case string(mark) == "\ufeff":
		_, err = l.r.Discard(len(mark))
	case errors.Is(err, io.EOF): // it is shorter than a mark
		err = nil
	}
	if err != nil {
		return 0, err
	}
	for {
		c, err := l.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return 0, ErrEmpty
		case err != nil:
			return 0, err
		case c == '\n':
			l.number++
		case c != ' ' && c != '\t' && c != '\r':
			return c, l.r.UnreadByte()
		}
	}
}

// next is the next line without its end, valid until the next call. After the last one the
// error is io.EOF; with errLongLine the line is the beginning of one that was passed over.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	l.number++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		begin := bytes.Clone(line[:maxText])
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.r.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return begin, errLongLine
	case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
}

// limited fails with ErrTooLarge after so many bytes; io.LimitReader would make a cut file look
// whole.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	// One byte more than is left tells a file that ends here from one that goes on.
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if int64(n) > l.left {
		return int(l.left), fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, int64(maxInput))
	}
	l.left -= int64(n)
	return n, err
}
