package toolbox

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/internal/process"
)

const (
	maxPrinted = 4 << 10          // bytes that are kept of what a server prints
	writeTime  = 30 * time.Second // that a server has to take a message off its input
	endTime    = 3 * time.Second  // in which a program whose output has ended is gone, or it lives
)

// stdio is a program that speaks MCP on its standard input and output.
type stdio struct {
	group *process.Group
	in    *os.File // its input
	out   *os.File // its output
	said  *tail
	long  atomic.Bool // it has sent a message that is too long
}

func openStdio(c Server) (*stdio, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		_, _ = theirIn.Close(), in.Close()
		return nil, err
	}
	env := slices.DeleteFunc(process.CleanEnv(os.Environ()), isModelKey)
	for name, value := range c.Env {
		env = append(env, name+"="+value)
	}
	p := &stdio{in: in, out: out, said: &tail{}}
	p.group, err = process.Start(process.Command{
		Path: c.Command, Args: c.Args, Dir: c.Dir, Env: env, Marker: "toolbox-" + rand.Text(),
		Stdin: theirIn, Stdout: theirOut, Stderr: p.said,
	})
	_, _ = theirIn.Close(), theirOut.Close() // the program has them, or nobody
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
	return p, nil
}

func (p *stdio) transport() mcp.Transport {
	lines := bufio.NewScanner(p.out)
	lines.Buffer(nil, maxMessage)
	return &mcp.IOTransport{Reader: &messages{stdio: p, lines: lines}, Writer: impatient{p.in}, MaxLineLength: maxMessage}
}

func (p *stdio) ended(ctx context.Context) string {
	if p.long.Load() { // then it was not read any more, and that is why it ends
		return fmt.Sprintf("sent a message of more than %d MiB", maxMessage>>20)
	}
	select {
	case <-p.group.Done():
		code, _ := p.group.Wait() // an error is about what it printed
		return fmt.Sprintf("ended with exit code %d", code)
	case <-time.After(endTime):
	case <-ctx.Done():
	}
	return ""
}

func (p *stdio) printed() string { return p.said.String() }

// close gives the program a moment to end by itself, as it should at the end of its
// input, and then ends its group. The session goes last: it waits for what is under way.
func (p *stdio) close(session *mcp.ClientSession) {
	_ = p.in.Close() // it may be closed already, and so may the output
	select {
	case <-p.group.Done():
	case <-time.After(exitTime):
	}
	p.group.End(exitTime)
	_ = p.out.Close()
	if session != nil {
		_ = session.Close() // of what is closed already
	}
}

// impatient is a program's input. What the program does not take in time never will be.
type impatient struct{ *os.File }

func (w impatient) Write(p []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return w.File.Write(p)
}

// messages reads the lines of a program's output that are messages of the protocol. The
// others, which many programs print there by mistake, are noise.
type messages struct {
	*stdio
	lines *bufio.Scanner
	rest  []byte // of the line that is being read
}

// Close closes the program's output.
func (m *messages) Close() error { return m.out.Close() }

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		if !m.lines.Scan() {
			m.long.Store(errors.Is(m.lines.Err(), bufio.ErrTooLong))
			return 0, cmp.Or(m.lines.Err(), io.EOF)
		}
		line := bytes.TrimSpace(m.lines.Bytes())
		if isMessage(line) {
			m.rest = append(bytes.Clone(line), '\n')
		} else if len(line) > 0 {
			_, _ = fmt.Fprintf(m.said, "%s\n", line[:min(len(line), maxPrinted/2)])
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func isMessage(line []byte) bool {
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		return false
	}
	_, err := jsonrpc.DecodeMessage(line)
	return err == nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
	cut  bool // the beginning is missing
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-maxPrinted):]...)
	t.cut = t.cut || len(p) > maxPrinted
	if over := len(t.kept) - maxPrinted; over > 0 {
		t.kept, t.cut = append([]byte(nil), t.kept[over:]...), true
	}
	return len(p), nil
}

// String returns what is kept in whole lines: half a secret is not known for one.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept
	if t.cut {
		_, kept, _ = bytes.Cut(kept, []byte("\n"))
	}
	return string(kept)
}

// isModelKey reports whether a variable holds the key of a model: what a tool's server gets
// of those is for the configuration to say.
func isModelKey(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return name == "OPENAI_API_KEY" || name == "ANTHROPIC_API_KEY"
}
