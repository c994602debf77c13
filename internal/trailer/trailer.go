package trailer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// The names of the trailers, in the order in which they are written.
const (
	prefix         = "Signalbox-"
	nameTask       = prefix + "Task"
	nameRun        = prefix + "Run"
	nameEvent      = prefix + "Event"
	nameCheckpoint = prefix + "Checkpoint"
	nameProof      = prefix + "Proof"
	nameAudit      = prefix + "Audit" // only if there was none
)

// noAudit is all that [nameAudit] can say.
const noAudit = "none"

var names = []string{nameTask, nameRun, nameEvent, nameCheckpoint, nameProof}

// Trailers are what a merge commit says of itself.
type Trailers struct {
	Task, Run  string
	Event      int64  // the ledger's sequence of the event that allowed it
	Checkpoint string // as [ledger.CheckpointLine] writes it
	Proof      string // as [ledger.Proof.Line] writes it
	Unaudited  bool   // it says that no auditor has looked at it
}

// Message returns a commit's message: a title, and the trailers that a proof of its
// MergeAllowed event makes. A title is one line, whatever is in it.
func Message(title string, p ledger.Proof) (string, error) {
	e, err := ledger.Decode(p.Event)
	if err != nil {
		return "", err
	}
	a, err := allowed(e)
	if err != nil {
		return "", err
	}
	checkpoint, err := ledger.CheckpointLine([]byte(p.Checkpoint))
	if err != nil {
		return "", err
	}
	values := []string{a.Task, a.Run, strconv.FormatInt(p.Index+1, 10), checkpoint, p.Line()}
	var b strings.Builder
	b.WriteString(safetext.Escape(title) + "\n\n")
	if a.Unaudited {
		fmt.Fprintf(&b, "%s: %s\n", nameAudit, noAudit)
	}
	for n, name := range names {
		if values[n] == "" || strings.TrimSpace(values[n]) != values[n] || safetext.Escape(values[n]) != values[n] {
			return "", fmt.Errorf("the trailer %s can't be written: %q", name, values[n])
		}
		fmt.Fprintf(&b, "%s: %s\n", name, values[n])
	}
	return b.String(), nil
}

// allowed returns what a MergeAllowed event of the box's says.
func allowed(e ledger.Event) (work.Allowed, error) {
	var a work.Allowed
	if e.Type != work.MergeAllowed || e.Actor != work.BoxActor {
		return a, fmt.Errorf("the event is %s by %s, and not %s by the box", safetext.Escape(e.Type), safetext.Escape(e.Actor), work.MergeAllowed)
	}
	err := json.Unmarshal(e.Payload, &a)
	return a, err
}

// Parse reads the trailers at the end of a commit's message: its last paragraph, if
// that is not its first. Other trailers may stand there too. It fails with a [Fault].
func Parse(message string) (Trailers, error) {
	message = strings.TrimRight(message, "\n")
	_, last, ok := cutLast(message, "\n\n")
	if !ok {
		return Trailers{}, &Fault{None, "its message has no trailers of Signalbox"}
	}
	values := map[string]string{}
	for line := range strings.SplitSeq(last, "\n") {
		if !strings.HasPrefix(line, prefix) {
			continue
		}
		name, value, ok := strings.Cut(line, ": ")
		if !ok || !slices.Contains(names, name) && (name != nameAudit || value != noAudit) || values[name] != "" || value == "" {
			return Trailers{}, edited("the line %q is not as a box writes it", short(line))
		}
		values[name] = value
	}
	if len(values) == 0 {
		return Trailers{}, &Fault{None, "its message has no trailers of Signalbox"}
	}
	for _, name := range names {
		if values[name] == "" {
			return Trailers{}, edited("the trailer %s is missing", name)
		}
	}
	seq, err := strconv.ParseInt(values[nameEvent], 10, 64)
	if err != nil || seq < 1 || strconv.FormatInt(seq, 10) != values[nameEvent] {
		return Trailers{}, edited("%s is no sequence of an event: %q", nameEvent, short(values[nameEvent]))
	}
	return Trailers{values[nameTask], values[nameRun], seq, values[nameCheckpoint], values[nameProof], values[nameAudit] != ""}, nil
}

// cutLast cuts a text at the last place where sep is.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// short is the beginning of something that somebody else wrote.
func short(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Origin returns the ledger that the trailers say they are of.
func (t Trailers) Origin() string {
	origin, _, _ := strings.Cut(t.Checkpoint, " ")
	return origin
}

// Signed returns the checkpoint that a commit's message carries, for a box that looks
// for what it has signed. Whether this key signed it is checked, and nothing else: the
// commit may be anybody's.
func Signed(message, verifierKey string) (ledger.Checkpoint, bool) {
	t, err := Parse(message)
	if err != nil {
		return ledger.Checkpoint{}, false
	}
	signed, err := ledger.ParseCheckpointLine(t.Checkpoint)
	if err != nil {
		return ledger.Checkpoint{}, false
	}
	c, err := ledger.OpenCheckpoint(signed, verifierKey)
	return c, err == nil
}

// Witness begins the line of a message that carries a checkpoint of a ledger, for
// whoever looks for it in many.
func Witness(origin string) string { return nameCheckpoint + ": " + origin + " " }

// Kind is what is wrong with a commit.
type Kind string

// The kinds.
const (
	None       Kind = "none"        // it has no trailers
	Edited     Kind = "edited"      // its trailers are not what a box wrote
	Foreign    Kind = "foreign"     // they are of another ledger than the key
	Moved      Kind = "moved"       // they belong to another commit
	RolledBack Kind = "rolled_back" // the ledger is older than they are
	Rewritten  Kind = "rewritten"   // the ledger has another history
	Contrary   Kind = "contrary"    // the ledger, or the proof, says something else
)

// Fault says why a commit is not proven.
type Fault struct {
	Kind Kind
	Text string
}

func (f *Fault) Error() string {
	switch f.Kind {
	case None:
		return "this is not a merge that Signalbox made: " + f.Text
	case Edited:
		return "the trailers were edited: " + f.Text
	case Foreign:
		return "the trailers are of another ledger: " + f.Text
	case Moved:
		return "the trailers were moved here from another commit: " + f.Text
	case RolledBack:
		return "the ledger was rolled back: " + f.Text
	case Rewritten:
		return "the ledger has another history: " + f.Text
	}
	return f.Text
}

func edited(format string, args ...any) error {
	return &Fault{Edited, fmt.Sprintf(format, args...)}
}

// IsFault returns the kind of fault that an error is.
func IsFault(err error) (Kind, bool) {
	var f *Fault
	if errors.As(err, &f) {
		return f.Kind, true
	}
	return "", false
}
