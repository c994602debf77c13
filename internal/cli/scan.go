package cli

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) scanCommand() *cobra.Command {
	var o agentsig.Options
	var role, phase, signals string
	var textOnly bool
	cmd := &cobra.Command{
		Use:   "scan [FILE]",
		Short: "Find the signals in an agent's output",
		Long: `Scan reads what one agent said, from FILE or from standard input (also as -), and reports
every signal in it, everything that was nearly one and why, and the verdict on
the whole output: one signal, ambiguous, or unknown.

What you leave out is not checked: without --role anyone may say anything,
without --task every id is right, without --phase an exit record may name any
phase. Scan only reads; nothing is acted upon. Line signals of your own are known
if --signals names the file that has them, such as signalbox.yaml.

On a live pipe findings appear as they come. A line signal is reported with the
lines below it, so it waits until these end: at the next signal, at the end, or
when the agent has been silent for 300 ms. What it says after that is not part of
the signal any more.

With --json each finding is an object on a line of its own, with the keys
outcome (signal, near_miss or rejected), dialect (line, xml or exit), kind,
name (if it is one of your own), subject, note (if there is one), reason, error, line, offset, length, sha256 and
fields; the last line is the verdict, with verdict, kind, subject and action.

With --text, line signals, XML blocks and exit records are taken out of the output;
the lines below a signal, and what is only mentioned, stay.

Exit codes: 0 if the verdict is a signal, whatever it says; 1 if it is not, or the
input can't be read; 2 for wrong usage; 130 if interrupted.`,
		Example: `  my-agent | signalbox scan --role developer --task T-1
  signalbox scan --json transcript.txt
  my-agent | signalbox scan --text`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Role, o.Phase = agentsig.Role(role), agentsig.Phase(phase)
			if err := a.checkOptions(cmd, o); err != nil {
				return err
			}
			if textOnly && a.JSON {
				return a.UsageError("--text and --json exclude each other")
			}
			var err error
			if o.Own, err = ownSignals(cmd.Context(), signals); err != nil {
				return err
			}
			in, closeIn, err := a.open(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer closeIn()
			return a.scan(cmd.Context(), in, o, textOnly)
		},
	}
	f := cmd.Flags()
	f.StringVar(&role, "role", "", "the agent's `ROLE`: "+list(agentsig.Roles()))
	f.StringVar(&o.Task, "task", "", "the `ID` of the task that the agent was assigned (for an expert: of its request)")
	f.StringVar(&phase, "phase", "", "the `PHASE` that the agent's session holds: "+list(agentsig.Phases()))
	f.StringVar(&o.Nonce, "nonce", "", "the `NONCE` that signals have to carry (READY_FOR_REVIEW: T-1 run=NONCE; before an exit record the line EXIT: run=NONCE)")
	f.StringVar(&signals, "signals", "", "know the line signals of your own in this `FILE`: signals: as in "+config.File)
	f.BoolVar(&textOnly, "text", false, "print only the clean text: the output without its signals")
	complete(cmd, "role", agentsig.Roles())
	complete(cmd, "phase", agentsig.Phases())
	return cmd
}

// maxSignals is how large a file of signals may be, in bytes.
const maxSignals = 1 << 20

// ownSignals reads a file of signals; there are none without one.
func ownSignals(ctx context.Context, path string) (*agentsig.Extension, error) {
	if path == "" {
		return nil, nil
	}
	f, err := openNamed(ctx, path)
	if err != nil {
		return nil, notThere(err, path, "name the file with your signals")
	}
	defer func() { _ = f.Close() }() // read only: closing it can't lose anything
	data, err := io.ReadAll(io.LimitReader(f, maxSignals))
	if err != nil {
		return nil, err
	}
	own, err := config.ReadSignals(path, data)
	if err != nil {
		return nil, err
	}
	return agentsig.Extend(own...)
}

// checkOptions refuses flags that can't be meant: a value that no signal could
// satisfy, or an empty one, which would switch the check off.
func (a *app) checkOptions(cmd *cobra.Command, o agentsig.Options) error {
	var empty error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			empty = a.UsageError("--%s is empty: leave it out, or give it a value", f.Name)
		}
	})
	if empty != nil {
		return empty
	}
	if err := o.Validate(); err != nil {
		return a.UsageError("%w", err)
	}
	return nil
}

func list[S ~string](all []S) string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

func complete[S ~string](cmd *cobra.Command, flag string, values []S) {
	words := make([]cobra.Completion, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag is not there: a mistake in this program
	}
}

// open returns what to read: the named file, or standard input.
func (a *app) open(ctx context.Context, args []string) (io.Reader, func(), error) {
	if len(args) == 0 || args[0] == "-" {
		if a.InTTY {
			fmt.Fprintln(a.Err, "Reading what you type; end with Ctrl-D.")
		}
		return a.In, func() {}, nil
	}
	f, err := openNamed(ctx, args[0])
	if err != nil {
		return nil, nil, notThere(err, args[0], "name the file with the agent's output, or pipe it in")
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close()
		return nil, nil, fmt.Errorf("%s is a directory: name a file, or pipe an agent's output into scan", args[0])
	}
	return f, func() { _ = f.Close() }, nil // read only: closing it can't lose anything
}

// silence is how long an agent has to be quiet for its payload to count as
// complete.
const silence = 300 * time.Millisecond

func (a *app) scan(ctx context.Context, in io.Reader, o agentsig.Options, textOnly bool) error {
	out := bufio.NewWriter(a.Out)
	v := scanView{app: a, out: out}
	sink := agentsig.Sink{Finding: v.finding}
	closeText := func() error { return nil }
	if textOnly {
		text := io.Writer(out)
		if a.OutTTY {
			inert := &inertText{to: out}
			text, closeText = inert, inert.Close
		}
		sink = agentsig.Sink{Text: func(p []byte) { v.note(text.Write(p)) }}
	}
	s := agentsig.NewScanner(o, sink)
	readErr := follow(ctx, in, s, func() error {
		v.note(0, out.Flush())
		return v.err
	})
	if v.err != nil {
		return v.err
	}
	if readErr != nil {
		return readErr
	}
	verdict := s.Close()
	v.note(0, closeText())
	if !textOnly {
		v.verdict(verdict)
	}
	v.note(0, out.Flush())
	switch {
	case v.err != nil:
		return v.err
	case !verdict.OK():
		return errQuiet
	}
	return nil
}

// follow feeds the scanner what it reads, and flushes after every piece of it
// and when the input falls silent.
func follow(ctx context.Context, in io.Reader, s *agentsig.Scanner, flush func() error) error {
	type piece struct {
		data []byte
		err  error
	}
	pieces, free := make(chan piece), make(chan []byte, 2)
	free <- make([]byte, 64<<10)
	free <- make([]byte, 64<<10)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for buf := range free {
			n, err := in.Read(buf[:cap(buf)])
			select {
			case pieces <- piece{buf[:n], err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	idle := time.NewTimer(silence)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			s.Flush()
			_ = flush() // what was found so far; the interruption is what is reported
			return ctx.Err()
		case <-idle.C:
			s.Flush()
			if err := flush(); err != nil {
				return err
			}
		case p := <-pieces:
			if _, err := s.Write(p.data); err != nil {
				return err
			}
			if err := flush(); err != nil {
				return err
			}
			if errors.Is(p.err, io.EOF) {
				return nil
			}
			if p.err != nil {
				return fmt.Errorf("read the agent's output: %w", p.err)
			}
			free <- p.data
			idle.Reset(silence)
		}
	}
}

// scanView shows findings and the verdict. Its first error stays.
type scanView struct {
	*app
	out *bufio.Writer
	err error
}

func (v *scanView) note(_ int, err error) {
	if v.err == nil {
		v.err = err
	}
}

type findingJSON struct {
	Outcome agentsig.Outcome `json:"outcome"`
	Dialect agentsig.Dialect `json:"dialect"`
	Kind    agentsig.Kind    `json:"kind"`
	Name    string           `json:"name,omitempty"` // of the project's own
	Subject string           `json:"subject"`
	Note    string           `json:"note,omitempty"`
	Reason  agentsig.Reason  `json:"reason"`
	Error   string           `json:"error"`
	LeftOut string           `json:"left_out,omitempty"`
	Line    int              `json:"line"`
	Offset  int64            `json:"offset"`
	Length  int64            `json:"length"`
	SHA256  string           `json:"sha256"`
	Fields  agentsig.Fields  `json:"fields"`
}

type verdictJSON struct {
	Verdict string          `json:"verdict"`
	Kind    agentsig.Kind   `json:"kind"`
	Subject string          `json:"subject"`
	Action  agentsig.Action `json:"action"`
}

func (v *scanView) finding(f agentsig.Finding) {
	if !v.JSON {
		v.show(f)
		return
	}
	j := findingJSON{
		Outcome: f.Outcome, Dialect: f.Dialect, Kind: f.Signal.Kind, Name: f.Signal.Name, Subject: f.Signal.Subject, Note: f.Signal.Note,
		Reason: f.Reason, Line: f.Span.Line, Offset: f.Span.Offset, Length: f.Span.Length,
		SHA256: hex.EncodeToString(f.Span.SHA256[:]),
	}
	if f.Err != nil {
		j.Error = f.Err.Error()
	}
	if f.Outcome == agentsig.Accepted {
		j.Fields = f.Signal.Fields()
	}
	if f.LeftOut != nil {
		j.LeftOut = f.LeftOut.Error()
	}
	v.note(0, command.WriteJSON(v.out, j))
}

func (v *scanView) verdict(d agentsig.Verdict) {
	word := "signal"
	subject := d.Signal.Subject
	if !d.OK() {
		word, subject = string(d.Kind), ""
	}
	if v.JSON {
		v.note(0, command.WriteJSON(v.out, verdictJSON{word, d.Kind, subject, d.Action}))
		return
	}
	var text string
	switch d.Kind {
	case agentsig.KindUnknown:
		text = v.Paint(command.Red, "unknown") + ": no signal that counts"
	case agentsig.KindAmbiguous:
		text = fmt.Sprintf("%s: it says both %s and %s", v.Paint(command.Red, "ambiguous"), name(d.Signal), name(d.Other))
	default:
		text = v.Paint(command.Green, name(d.Signal))
	}
	v.note(fmt.Fprintf(v.out, "%s %s; next: %s\n", v.Paint(command.Bold, "verdict"), text, d.Action))
}

// name says which signal it is, as it is written.
func name(s agentsig.Signal) string {
	if x, ok := s.Exit(); ok {
		return fmt.Sprintf("exit record (%s %s)", x.PhaseCompleted, x.ExitReason)
	}
	e, ok := agentsig.Lookup(s.Kind)
	switch {
	case !ok:
		return "<signal>"
	case s.Name != "":
		return s.Name + ", which is " + name(agentsig.Signal{Kind: s.Kind, Subject: s.Subject})
	case e.Dialect == agentsig.DialectExit:
		return "exit record"
	case e.Dialect == agentsig.DialectXML:
		return "<signal type=\"" + e.Wire + "\">"
	case s.Subject != "":
		return e.Wire + ": " + safetext.Escape(s.Subject)
	}
	return e.Wire
}

// show reports a finding to a person.
func (v *scanView) show(f agentsig.Finding) {
	const margin = "                      "
	outcome := map[agentsig.Outcome]string{
		agentsig.Accepted: v.Paint(command.Green, "signal   "),
		agentsig.NearMiss: v.Paint(command.Yellow, "near miss"),
		agentsig.Rejected: v.Paint(command.Red, "rejected "),
	}[f.Outcome]
	note := ""
	if f.Signal.Note != "" {
		note = v.Paint(command.Faint, "  "+safetext.Escape(f.Signal.Note))
	}
	v.note(fmt.Fprintf(v.out, "line %-5d %s  %s%s\n", f.Span.Line, outcome, name(f.Signal), note))
	if f.Outcome != agentsig.Accepted {
		v.note(fmt.Fprintf(v.out, "%s%s\n", margin, v.Hang(fmt.Sprintf("%s: %s", f.Reason, f.Err), len(margin))))
		return
	}
	if f.LeftOut != nil {
		v.note(fmt.Fprintf(v.out, "%s%s: %s\n", margin, v.Paint(command.Yellow, "left out"), f.LeftOut))
	}
	r, _ := f.Signal.Reflection()
	for _, x := range f.Signal.Fields() {
		value := shorten(x.Value)
		switch {
		case x.Name == "defaulted" && r.Defaulted, x.Value == 0:
			continue // nobody said it
		case x.Name == "confidence" && r.Defaulted:
			value += " (not said)"
		}
		name, text, _ := strings.Cut(v.Hang(safetext.Escape(x.Name)+": "+value, len(margin)), ":")
		v.note(fmt.Fprintf(v.out, "%s%s%s\n", margin, v.Paint(command.Faint, name+":"), text))
	}
}

// shorten puts a field's value on one line, safe to print, of at most 100 characters as they
// are printed: what is escaped counts as its escape.
func shorten(value any) string {
	const most = 100
	text := fmt.Sprint(value)
	if items, ok := value.([]string); ok {
		text = strings.Join(items, ", ")
	}
	text = safetext.Escape(strings.ReplaceAll(text, "\n", " "))
	if r := []rune(text); len(r) > most {
		text = string(r[:most-1]) + "…"
	}
	return text
}
