// Package toolbox holds the tools that a model can call: those of the MCP servers that a
// configuration names, and three of its own. search_code and read_file read below one
// directory; fetch_web gets a page and is off unless the configuration turns it on.
//
// A server is a program that speaks MCP on its standard input and output, or an address
// that speaks it over streamable HTTP. Programs are started in process groups of their
// own and ended with them.
//
// What servers and pages say is data for the model. It is bounded, its UTF-8 is mended,
// and control characters other than newline and tab are taken out (a carriage return
// becomes a newline); nothing else is changed, so whoever prints it escapes it. Errors
// and warnings of this package are safe to print.
package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	maxTools     = 200       // of all servers together with the built-in ones
	maxArguments = 256 << 10 // bytes of a call's arguments
	defaultTime  = time.Minute
)

// Tool is what a model is told of a tool.
type Tool struct {
	Name        string          // [a-zA-Z0-9_-]{1,64}
	Description string          // at most 2,000 characters
	Schema      json.RawMessage // of the arguments: a JSON schema with the type object
	Server      string          // as the configuration names it; "" for a built-in tool
	ReadOnly    bool            // it changes nothing: it is built in, or its server says so
}

// Result is what came of a call. A failure is a result too: the model reads why.
type Result struct {
	Text    string // at most 64 KiB
	Failed  bool
	Refused bool     // it failed, since a person or a rule does not allow it: nothing was tried
	Sources []string // the files, URLs or servers that the text came from; none of a failure
	Unknown bool     // it failed, and may have done its work all the same
}

func failed(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), Failed: true}
}

func refused(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), Failed: true, Refused: true}
}

// Toolbox is a set of tools that are ready to be called, from several goroutines if need be.
type Toolbox struct {
	tools    map[string]entry
	warnings []string
	servers  []*server
	code     *code // nil if it is off
	web      *web  // nil if it is off

	life   context.Context // ends with Close
	cancel context.CancelCauseFunc
	using  sync.RWMutex // held for reading by every call
	closed bool
}

// entry is a tool and what runs it. The arguments are as [Arguments] returns them.
type entry struct {
	Tool
	call func(ctx context.Context, arguments json.RawMessage) Result
}

var errClosed = errors.New("the toolbox is closed")

// Open starts and connects every server, all at once, and asks each for its tools. If one
// fails there is no toolbox: the error holds a [*ServerError] for each that did. ctx is
// about opening only; what was opened lasts until Close.
func Open(ctx context.Context, c Config) (*Toolbox, error) {
	t := &Toolbox{tools: map[string]entry{}}
	t.life, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := t.open(ctx, c); err != nil {
		_ = t.Close() // what is wrong is said already
		return nil, err
	}
	return t, nil
}

func (t *Toolbox) open(ctx context.Context, c Config) error {
	var builtin []entry
	if c.Root != "" {
		code, err := openCode(c.Root, c.Hidden)
		if err != nil {
			return err
		}
		t.code, builtin = code, append(builtin, code.tools()...)
	}
	if c.Web.Enabled {
		t.web = newWeb(c.Web)
		builtin = append(builtin, t.web.tool())
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		s, err := newServer(name, c.Servers[name])
		if err != nil {
			return err
		}
		t.servers = append(t.servers, s)
	}
	lists, errs := make([]listing, len(t.servers)), make([]error, len(t.servers))
	var all sync.WaitGroup
	for i, s := range t.servers {
		all.Go(func() { lists[i], errs[i] = s.list(ctx) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	t.tools, t.warnings = assemble(builtin, lists)
	return nil
}

// Tools returns the tools, by name.
func (t *Toolbox) Tools() []Tool {
	list := make([]Tool, 0, len(t.tools))
	for _, name := range slices.Sorted(maps.Keys(t.tools)) {
		list = append(list, t.tools[name].Tool)
	}
	return list
}

// Warnings returns what Open had to leave out or to change, a sentence each.
func (t *Toolbox) Warnings() []string { return slices.Clone(t.warnings) }

// Call runs a tool. It returns when the tool has answered, when ctx or the tool's time is
// over, or when the toolbox is closed.
//
// A server that has gone away since its last answer is started or connected anew, once a
// call. A call during which the server goes away is not made again, for it may have done
// its work: the result says so.
func (t *Toolbox) Call(ctx context.Context, name string, arguments json.RawMessage) Result {
	t.using.RLock()
	defer t.using.RUnlock()
	if t.closed {
		return failed("%s: no tool can be called any more", errClosed)
	}
	tool, ok := t.tools[name]
	if !ok {
		return failed("%s", t.unknown(name))
	}
	object, err := Arguments(name, arguments)
	if err != nil {
		return failed("%s", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.life, func() { cancel(errClosed) })()
	result := tool.call(ctx, object)
	result.Text = bound(clean(result.Text))
	return result
}

// Has returns an error if there is no tool with this name, which says what was perhaps meant.
func (t *Toolbox) Has(name string) error {
	if _, ok := t.tools[name]; !ok {
		return errors.New(t.unknown(name))
	}
	return nil
}

// unknown says that there is no such tool, and which ones were perhaps meant.
func (t *Toolbox) unknown(name string) string {
	names := slices.Sorted(maps.Keys(t.tools))
	if near := near(name, names); len(near) > 0 {
		return fmt.Sprintf("there is no tool %s: did you mean %s?", quote(name), strings.Join(near, " or "))
	}
	const most = 20
	switch {
	case len(names) == 0:
		return fmt.Sprintf("there is no tool %s: there are none at all", quote(name))
	case len(names) > most:
		names = append(names[:most:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return fmt.Sprintf("there is no tool %s: there are %s", quote(name), strings.Join(names, ", "))
}

// Close cancels the calls that are running, waits for them, and ends every connection and
// every program that was started, with its group. It may be called twice.
func (t *Toolbox) Close() error {
	t.cancel(errClosed)
	t.using.Lock()
	defer t.using.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	var all sync.WaitGroup
	for _, s := range t.servers {
		all.Go(s.close)
	}
	all.Wait()
	if t.web != nil {
		t.web.close()
	}
	if t.code != nil {
		return t.code.root.Close()
	}
	return nil
}

// quote puts a text that came from outside into an error.
func quote(s string) string { return `"` + cutRunes(safetext.Escape(s), 60) + `"` }
