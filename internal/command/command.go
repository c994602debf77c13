// Package command has what the module's command lines share: what a command talks to, exit
// codes, JSON and colours that are safe for a terminal, help that reads like a page, versions,
// and what a doctor says.
package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

// Env is what a command talks to.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	InTTY    bool // In is a terminal
	OutTTY   bool // Out is a terminal
	ErrTTY   bool // Err is a terminal
	Color    bool // Out shows colours
	ErrColor bool // Err shows colours
	Live     bool // Out can be drawn over
	Signals
}

// Terminal returns the process's own environment.
func Terminal() Env {
	out, err := isTerminal(os.Stdout), isTerminal(os.Stderr)
	able := os.Getenv("TERM") != "dumb"
	colours := able && os.Getenv("NO_COLOR") == ""
	return Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY: isTerminal(os.Stdin), OutTTY: out, ErrTTY: err,
		Color: out && colours, ErrColor: err && colours,
		Live: out && able, Signals: noSignals,
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Size is how large the terminal is that Out is; 80 by 24 if that is not known.
func (e Env) Size() (columns, rows int) {
	if e.OutTTY {
		columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
		if err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
	}
	return 80, 24
}

// Columns is how wide a table may be: as wide as the terminal, and as wide as it has to be elsewhere (0), where every
// row stays on one line.
func (e Env) Columns() int {
	if !e.OutTTY {
		return 0
	}
	columns, _ := e.Size()
	return columns
}

// Colours, for people.
const (
	Green  = "32"
	Yellow = "33"
	Red    = "31"
	Bold   = "1"
	Faint  = "2"
)

// Paint gives text for Out a colour, where colours are shown.
func (e Env) Paint(colour, text string) string { return paint(e.Color, colour, text) }

// PaintErr gives text for Err a colour, where colours are shown.
func (e Env) PaintErr(colour, text string) string { return paint(e.ErrColor, colour, text) }

func paint(shown bool, colour, text string) string {
	if !shown {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// WriteJSON writes one value on one line.
func WriteJSON(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(InertJSON(data), '\n'))
	return err
}

// InertJSON escapes what JSON allows in a string and a terminal acts upon:
// C1 controls, and characters that hide or turn text around.
func InertJSON(data []byte) []byte {
	if !slices.ContainsFunc(data, func(c byte) bool { return c >= 0x7f }) {
		return data // as nearly always
	}
	var out bytes.Buffer
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		c := string(data[:size])
		switch {
		case r < 0x7f || safetext.Escape(c) == c:
			out.WriteString(c)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		data = data[size:]
	}
	return out.Bytes()
}

// Version is what the Go toolchain recorded in a program.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

// BuildVersion is this program's.
func BuildVersion() Version {
	v := Version{Version: "(devel)", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}

// A Finding is what a doctor found about one thing.
type Finding struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Text  string `json:"text"`
}

// The states of a finding.
const (
	Fine    = "ok"
	Warning = "warning"
	Missing = "missing"
)

// SayFindings shows findings to a person.
func (e Env) SayFindings(found []Finding) {
	const indent = 25
	colours := map[string]string{Fine: Green, Warning: Yellow, Missing: Red}
	for _, d := range found {
		fmt.Fprintf(e.Out, "%s  %-14s  %s\n", e.Paint(colours[d.State], fmt.Sprintf("%-7s", d.State)), d.Name, e.Hang(safetext.EscapeLines(d.Text), indent))
	}
}

// Hang is a text, safe to print, that begins in the column indent and goes on there on further lines. On a terminal
// none is wider than that; elsewhere they are the text's own.
func (e Env) Hang(text string, indent int) string {
	lines := strings.Split(text, "\n")
	if columns := e.Columns(); columns > 0 {
		for i, line := range lines {
			lines[i] = strings.Join(fit(line, columns-indent, false), "\n")
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n"+strings.Repeat(" ", indent))
}
