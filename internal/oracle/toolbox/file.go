package toolbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/english"
)

// Bounds of what is read of a file in one call.
const (
	maxLines     = 400
	maxRead      = 32 << 10 // bytes
	maxLineRead  = 2000     // bytes of a line
	maxDirectory = 400      // names
)

func (c *code) read(ctx context.Context, raw json.RawMessage) Result {
	var a struct {
		Path string `json:"path"`
		From *int   `json:"from"`
		To   *int   `json:"to"`
	}
	if wrong := arguments(raw, &a); wrong != "" {
		return failed("%s", wrong)
	}
	from := 1
	if a.From != nil {
		from = *a.From
	}
	to := from + maxLines - 1
	if a.To != nil {
		to = min(to, *a.To)
	}
	if a.Path == "" || from < 1 || to < from {
		return failed("%s needs a path, and lines from 1 on with to not before from", nameRead)
	}
	w, err := c.find(a.Path)
	if err != nil {
		return at(a.Path, err)
	}
	defer w.close()
	if w.file == "" {
		return w.list(a.Path)
	}
	f, err := open(w.dir(), w.file, w.hide)
	if err != nil {
		return at(a.Path, err)
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReaderSize(f, binaryLook)
	if begin, _ := in.Peek(binaryLook); bytes.IndexByte(begin, 0) >= 0 { // what can't be read is said below
		return failed("%s is not text: it has zero bytes", quote(a.Path))
	}
	text, wrong := page(ctx, in, from, to)
	if wrong != "" {
		return failed("%s: %s", quote(a.Path), wrong)
	}
	return Result{Text: text, Sources: []string{w.place()}}
}

// page returns lines of a text with their numbers, and how to go on if there are more.
func page(ctx context.Context, in *bufio.Reader, from, to int) (text, wrong string) {
	var b strings.Builder
	n := 0
	for {
		if n%1000 == 0 && ctx.Err() != nil {
			return "", fmt.Sprintf("reading it was cancelled: %s", context.Cause(ctx))
		}
		line, over, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF) && n == 0:
			return "[the file is empty]", ""
		case errors.Is(err, io.EOF) && n < from:
			return "", fmt.Sprintf("it has only %s", english.Count(n, "line"))
		case errors.Is(err, io.EOF):
			return b.String(), ""
		case err != nil:
			return "", fmt.Sprintf("it can't be read: %s", err)
		}
		if n++; n < from {
			continue
		}
		if n > to || b.Len() > 0 && b.Len()+len(line) > maxRead-2*leftOut {
			fmt.Fprintf(&b, "[there is more: call again with from=%d]\n", n)
			return b.String(), ""
		}
		if fmt.Fprintf(&b, "%6d\t%s", n, clean(line)); over > 0 {
			fmt.Fprintf(&b, " [left out of this line: %s]", english.Count(over, "byte"))
		}
		b.WriteByte('\n')
	}
}

// readLine reads a line, and how many bytes it has beyond those that are kept.
func readLine(in *bufio.Reader) (line string, over int, err error) {
	var kept []byte
	for more := true; more; {
		var part []byte
		if part, more, err = in.ReadLine(); err != nil {
			return "", 0, err
		}
		take := min(len(part), maxLineRead-len(kept))
		kept = append(kept, part[:take]...)
		over += len(part) - take
	}
	return string(kept), over, nil
}

// list gives the names in the directory that the way leads to.
func (w *way) list(asked string) Result {
	entries, err := fs.ReadDir(w.dir().FS(), ".")
	if err != nil {
		return at(asked, err)
	}
	var b strings.Builder
	for i, e := range entries {
		if i == maxDirectory || b.Len() > maxRead {
			fmt.Fprintf(&b, "[%s more]\n", english.Count(len(entries)-i, "name"))
			break
		}
		b.WriteString(clean(strings.ReplaceAll(e.Name(), "\n", "?")))
		if e.IsDir() {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	if len(entries) == 0 {
		b.WriteString("[the directory is empty]")
	}
	return Result{Text: b.String(), Sources: []string{w.place()}}
}
