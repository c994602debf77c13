package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Message is what somebody is told. What agents wrote is escaped in it, and cut.
type Message struct {
	ID       string           `json:"id"` // the same in every try
	Kind     config.Kind      `json:"kind"`
	At       time.Time        `json:"at"`              // when it happened
	Sequence uint64           `json:"sequence"`        // of the event in the ledger
	Run      string           `json:"run,omitempty"`   // empty if it is about work that stands alone
	Title    string           `json:"title,omitempty"` // of the run's plan
	Task     string           `json:"task,omitempty"`
	Runner   string           `json:"runner,omitempty"` // that was lost
	Text     string           `json:"text"`             // in a line
	Outcome  delivery.Outcome `json:"outcome,omitempty"`
	Question *api.Question    `json:"question,omitempty"` // that waits
	Link     string           `json:"link,omitempty"`     // to the page, for the command alone
}

// How long what others wrote can be in a message, in bytes of its JSON.
const (
	maxTitle   = 200
	maxText    = 500
	maxWritten = 2000
)

// id names a message: what it is of stays the same when a box is started again, and no other ledger has it.
func id(origin, of string) string {
	sum := sha256.Sum256([]byte(origin + "\n" + of))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// ofWait makes a message of something that waits for a person; not of a task that they have taken: they know.
func (t *Teller) ofWait(a box.Awaited) (Message, bool) {
	kind := config.KindQuestion
	switch {
	case a.Kind == string(delivery.PartGive):
		return Message{}, false
	case a.Kind == string(delivery.PartReview):
		kind = config.KindReview
	case a.Cause == delivery.CauseBudget && t.tells(config.KindBudget):
		kind = config.KindBudget
	}
	_, title := t.box.About(a.About)
	q := a.Question
	q.Text, q.Context = written(q.Text), written(q.Context)
	return Message{
		ID: id(t.o.Origin, "wait "+a.ID), Kind: kind, At: a.AskedAt, Sequence: a.Seq, Run: a.Run, Title: jsontext.Shorten(title, maxTitle), Task: a.Task,
		Text: jsontext.Shorten(about(a.Run, a.Task)+a.Text, maxText), Question: &q,
	}, t.tells(kind)
}

// ofEvent makes a message of an event of a run, if somebody is told of it.
func (t *Teller) ofEvent(seq uint64, e ledger.Event) (Message, bool, error) {
	m := Message{ID: id(t.o.Origin, fmt.Sprint("event ", seq)), At: e.Time, Sequence: seq}
	switch e.Type {
	case delivery.RunFinished:
		var p delivery.Finished
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return m, false, err
		}
		m.Kind, m.Outcome = config.KindFailed, p.Outcome
		if p.Outcome == delivery.Completed || p.Outcome == delivery.Cancelled {
			m.Kind = config.KindFinished
		}
	case delivery.SessionEnded:
		var p delivery.Ended
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return m, false, err
		}
		switch {
		case p.How == delivery.Stalled:
			m.Kind, m.Task = config.KindStalled, p.Task
		case p.How == delivery.Lost && p.Runner != "":
			m.Kind, m.Runner = config.KindRunnerLost, p.Runner
			m.Text = jsontext.Shorten("runner "+p.Runner+" is lost: "+p.Detail+"; what its sessions worked on is begun elsewhere, from what they had handed in", maxText)
			return m, t.tells(m.Kind), nil
		default:
			return m, false, nil
		}
	default:
		return m, false, nil
	}
	if !t.tells(m.Kind) {
		return m, false, nil
	}
	m.Run, m.Title = t.box.About(e.Subject)
	m.Title = jsontext.Shorten(m.Title, maxTitle)
	m.Text = jsontext.Shorten(about(m.Run, "")+delivery.Words(e, func(string) string { return "" }), maxText)
	return m, true, nil
}

// about says what a message is about, before what it says.
func about(run, task string) string {
	switch {
	case run != "" && task != "":
		return run + " " + task + ": "
	case run != "" || task != "":
		return cmp.Or(run, task) + ": "
	}
	return ""
}

// written cuts what an agent wrote, and makes it safe to print.
func written(text string) string {
	text, whole := safetext.Prefix(text, maxWritten)
	if !whole {
		text += "…"
	}
	return safetext.EscapeLines(text)
}
