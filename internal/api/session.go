package api

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/safetext"
)

// MaxReport is how long a session's report can be in JSON, in bytes.
const MaxReport = 1 << 20

// CodeGone answers a session that the box has given up: it ends its agent.
const CodeGone = "gone"

// Kinds of a session's report.
const (
	ReportTurn  = "turn"  // a turn is over
	ReportNote  = "note"  // something was said that ends nothing, or a tell was carried out
	ReportEnded = "ended" // the last one
)

// How a session ended.
const (
	HowDone     = "done"      // it was told to end
	HowCrashed  = "crashed"   // its program failed, or could not be started
	HowTimedOut = "timed_out" // a turn took too long
	HowStalled  = "stalled"   // nothing was heard of it
	HowLimited  = "limited"   // its provider's usage limit was reached
	HowOrphaned = "orphaned"  // the box stayed away
	HowStopped  = "stopped"   // the session was stopped, or the box has given it up

	HowLoggedOut  = "logged_out"  // its provider refuses its login
	HowOverBudget = "over_budget" // what it may use is used up
)

// SessionReport is what a session tells the box. The box answers it when it is kept;
// until then the session repeats it, so one may come twice.
type SessionReport struct {
	Seq        int            `json:"seq"`                   // from 1, in the session's order
	Kind       string         `json:"kind"`                  // ReportTurn, ReportNote or ReportEnded
	Turn       int            `json:"turn,omitempty"`        // which turn it is about, from 1
	Prompt     string         `json:"prompt,omitempty"`      // the id of the command that the turn or the note answers
	Verdict    agentsig.Kind  `json:"verdict,omitempty"`     // on the whole turn
	Signals    []SaidSignal   `json:"signals,omitempty"`     // that count, in the order they were said
	NearMisses []NearMiss     `json:"near_misses,omitempty"` // the first 20, with what was refused
	Preview    string         `json:"preview,omitempty"`     // what was said last, 200 characters, escaped
	Denied     string         `json:"denied,omitempty"`      // what was refused the agent, or why this stands for a report that the box refused; escaped
	NoAnswer   bool           `json:"no_answer,omitempty"`   // the deadline went by; of a tell: the agent was not told
	How        string         `json:"how,omitempty"`         // of the end
	Detail     string         `json:"detail,omitempty"`      // in words, escaped
	ResetAt    time.Time      `json:"reset_at,omitzero"`     // when a usage limit ends, if that is known
	Exit       *int           `json:"exit,omitempty"`        // of the agent's program, if it has ended
	Usage      delivery.Usage `json:"usage,omitzero"`        // of the turn; of a note and of the end: of all turns so far
	Budget     delivery.Scope `json:"budget,omitempty"`      // of an end by HowOverBudget: which one is used up
	Forgotten  string         `json:"forgotten,omitempty"`   // why the agent can't go on with the conversation that it was to; escaped
	Bytes      int64          `json:"bytes"`                 // of the transcript so far, as it is kept
	SHA256     string         `json:"sha256"`                // of those bytes
	At         time.Time      `json:"at"`

	Conversation *delivery.Conversation `json:"conversation,omitempty"` // of the end: that the agent's program can go on with later
	Step         *delivery.Step         `json:"step,omitempty"`         // of a note: what the model of an expert did that asks one
}

// maxHow is how long the word for an end can be: a session of another version may have others.
const maxHow = 64

// Check says whether parts of the report that are recorded as they are have their form.
func (r SessionReport) Check() error {
	switch sum, err := hex.DecodeString(r.SHA256); {
	case len(r.How) > maxHow || safetext.Escape(r.How) != r.How:
		return fmt.Errorf("how a session ended is a word of at most %d bytes", maxHow)
	case !slices.Contains([]delivery.Scope{"", delivery.ScopeRun, delivery.ScopeTask, delivery.ScopeTurn}, r.Budget):
		return errors.New("a budget is that of a run, a task or a turn")
	case r.SHA256 != "" && (err != nil || len(sum) != sha256.Size):
		return fmt.Errorf("sha256 has %d hexadecimal digits", 2*sha256.Size)
	}
	if r.Conversation != nil {
		if err := r.Conversation.Check(); err != nil {
			return err
		}
	}
	if r.Step != nil {
		if err := r.Step.Check(); err != nil {
			return err
		}
	}
	return r.Usage.Check()
}

// SaidSignal is a signal and where it stands in what the session's agent said.
type SaidSignal struct {
	Wire   string `json:"wire"` // as [agentsig.Signal.Wire] writes it; its first line alone if it can't, or if it is one of too many
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	SHA256 string `json:"sha256"`
	Line   int    `json:"line"`

	LeftOut string `json:"left_out,omitempty"` // a field that does not count, and why
	Name    string `json:"name,omitempty"`     // the project's own name that it was said by
}

// Kinds of a session's command.
const (
	CommandPrompt = "prompt" // a further turn
	CommandTell   = "tell"   // a message into the turn that runs
	CommandEnd    = "end"
	CommandStop   = "stop" // as an end, but the session was not done: its end is HowStopped
)

// SessionCommand is what the box wants of a session. It is sent again until it is
// answered: a prompt by the report of its turn, a tell by a note, an end or a stop by the end.
type SessionCommand struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Text     string `json:"text,omitempty"`
	AnswerMS int64  `json:"answer_ms,omitempty"` // by when the turn is over or a signal is said; 0 for no deadline
	Reason   string `json:"reason,omitempty"`    // of an end or a stop
}

// prospect is what can still come of a session's request that was not carried out.
type prospect int

const (
	later   prospect = iota // it may be taken when it is sent again
	refused                 // the box will never take it as it is
	gone                    // the box has given up the session
)

// prospectOf says what can come of a request that failed with an error. It is the one place that
// decides which answers are worth a retry: all but those that name the request or the session itself.
func prospectOf(err error) prospect {
	var p *Problem
	if !errors.As(err, &p) {
		return later // nobody answered, or somebody who is no box
	}
	switch p.Code {
	case CodeInvalid:
		return refused
	case CodeNotFound, CodeConflict, CodeGone:
		return gone
	}
	return later
}

// Gone reports whether an error says that the box has given up the session.
func Gone(err error) bool { return prospectOf(err) == gone }

// Refused reports whether an error says that the box will never take the request as it is: sending it
// again is of no use.
func Refused(err error) bool { return prospectOf(err) == refused }

// SendReport hands in a session's report. Its number is its key: the box keeps it once.
func (c *Client) SendReport(ctx context.Context, session string, r SessionReport) error {
	_, err := post[struct{}](ctx, c, sessionPath(session)+"/report", "report-"+strconv.Itoa(r.Seq), r)
	return err
}

// Activity is a sign of life of a session's agent.
type Activity struct {
	Line string `json:"line"`           // the last line that it said in its turn
	Busy bool   `json:"busy,omitempty"` // it waits for a tool, so nothing need be heard of it
}

// Activity tells the box of a sign of life. It is not repeated.
func (c *Client) Activity(ctx context.Context, session string, a Activity) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = do[struct{}](ctx, c, http.MethodPost, sessionPath(session)+"/activity", "", data)
	return err
}

// Commands calls connected once the box has answered, and then f for each command as
// it comes, until ctx ends, f fails or the box goes away.
func (c *Client) Commands(ctx context.Context, session string, connected func(), f func(SessionCommand) error) error {
	return c.Stream(ctx, sessionPath(session)+"/commands", connected, func(data string) error {
		var command SessionCommand
		if err := json.Unmarshal([]byte(data), &command); err != nil {
			return fmt.Errorf("the box sent a command that can't be read: %w", err)
		}
		return f(command)
	})
}

// serverSent calls f with the data of each server-sent event. What ends before its
// empty line is not an event. It returns f's error, ErrNoBox if the stream breaks, and
// nil when it ends.
func serverSent(r io.Reader, f func(data string) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	var data string
	for lines.Scan() {
		line := lines.Text()
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			data = text
		}
		if line != "" || data == "" {
			continue
		}
		if err := f(data); err != nil {
			return err
		}
		data = ""
	}
	if err := lines.Err(); err != nil {
		return errors.Join(ErrNoBox, err)
	}
	return nil
}
