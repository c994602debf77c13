package box

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	// A transcript that takes more than this in JSON is kept as a blob.
	maxInline = 4 << 10
	// Fields that take more than this in JSON are not repeated beside the
	// transcript, the last ones first, and a text among them is cut; where others
	// leave room, it may take that too.
	maxFields = 6 << 10
	maxText   = 1 << 10
	// What became of evidence takes no more than this.
	maxKept = 512
	// A name of a project's own takes no more than this.
	maxOwnName = 64
	// More near misses than this help nobody.
	maxNearMisses = 20
)

// Why an output is not accepted. An exit record that is not valid is refused with
// its own error.
var (
	errNoSignal    = errors.New("the output contains no signal that counts")
	errAmbiguous   = errors.New("the output says two different things")
	errNotAccepted = errors.New("the output was not accepted when it came first")
)

// Emit takes a session's output: it looks for the signal in it and records what
// the signal says. What is wrong with the output is said in the answer, with what to ask the agent. That is counted: the
// session can try again, until it was too often. The key is for output without a signal, which may be the same again.
func (b *Box) Emit(session string, output []byte, again string) (api.Emitted, error) {
	item, token, err := b.session(session)
	if err != nil {
		return api.Emitted{}, err
	}
	text := b.redact.Bytes(output)
	key := emitKey(session, text)
	if r, ok, err := ofItems.find(b, item, key, slices.Concat(work.End{}.Events(), work.Note{}.Events())); ok || err != nil {
		return emitted(item, r), err
	}
	said, err := b.read(item, token, text)
	unread := func(why error) (api.Emitted, error) {
		return b.unread(item, token, said, text, cmp.Or(again, key), why, func() (api.Emitted, error) { return b.Emit(session, output, again) })
	}
	if err != nil {
		return unread(err)
	}
	if _, before, err := ofItems.find(b, item, cmp.Or(again, key), work.Unread{}.Events()); err != nil {
		return api.Emitted{}, err
	} else if before {
		return unread(errNotAccepted) // that may have ended the session: now it would be a late result
	}
	signal := b.cleanSignal(said.verdict.Signal)
	if _, err := work.Decide(item, b.ending(item, token, signal, work.Said{}, key)); refusal(err) {
		if errors.Is(err, agentsig.ErrNoHandover) {
			err = fmt.Errorf("%s: %w, and the session goes on: end it with a signal that hands over %s, or an exit record", signal.Kind, err, item.Phase)
		}
		return unread(err) // before anything of it is stored
	}
	about, err := b.said(said.finding, text)
	if err == nil {
		signal, about, err = b.fit(signal, about, text)
	}
	if x, _ := signal.Exit(); err == nil && x.EvidenceBundleRef != "" && b.evidence != nil {
		about.Evidence, err = b.keepEvidence(func() ([]byte, error) { return b.evidence(x.EvidenceBundleRef) })
	}
	if err != nil {
		return api.Emitted{}, err
	}
	r, err := b.record(item.Subject, key, b.ending(item, token, signal, about, key))
	if refusal(err) {
		return rejected(item, said, err), nil
	}
	out := emitted(item, r)
	if signal.Kind == agentsig.KindCheckpoint && item.Run == "" && item.Count.Unknown > 0 {
		out.Ask = b.ask(item, delivery.Prompt{Ask: delivery.AskSignal}, said)
	}
	return out, err
}

// ending is what a session's signal asks for.
func (b *Box) ending(item work.Item, token work.Token, signal agentsig.Signal, about work.Said, key string) work.Command {
	if !signal.Terminal() {
		return work.Note{Token: token, Said: about, Key: key}
	}
	actor, ok := item.ActorOf(token)
	if !ok {
		actor = "unknown" // the ledger has it, with the grant
	}
	return work.End{Token: token, Actor: actor, Signal: signal, Said: about, Key: key, Limits: b.limits}
}

// emitKey makes the same output of a session the same request.
func emitKey(session string, text []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "emit %s\n", session)
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// reading is what was found in an output.
type reading struct {
	verdict    agentsig.Verdict
	finding    agentsig.Finding // of the verdict's signal
	nearMisses []agentsig.Finding
}

// read looks for the one signal in an output.
func (b *Box) read(item work.Item, token work.Token, text []byte) (reading, error) {
	o := agentsig.Options{Task: item.Names(), Hosts: b.hosts, Own: b.own}
	if item.Holds(token) {
		o.Role, o.Phase = heldAs(item), item.Phase
	}
	var r reading
	var refused error
	exit := false
	first := map[agentsig.Kind]agentsig.Finding{} // of each kind that counts
	s := agentsig.NewScanner(o, agentsig.Sink{Finding: func(f agentsig.Finding) {
		switch f.Outcome {
		case agentsig.Rejected:
			refused = cmp.Or(refused, f.Err)
			exit = exit || f.Dialect == agentsig.DialectExit
		case agentsig.NearMiss:
			if len(r.nearMisses) < maxNearMisses {
				r.nearMisses = append(r.nearMisses, f)
			}
		case agentsig.Accepted:
			exit = exit || f.Dialect == agentsig.DialectExit
			if _, ok := first[f.Signal.Kind]; !ok {
				first[f.Signal.Kind] = f
			}
		}
	}})
	if _, err := s.Write(text); err != nil {
		return r, err
	}
	r.verdict = s.Close()
	r.finding = first[r.verdict.Kind]
	switch {
	case exit && !b.exitEnabled:
		return r, agentsig.ErrExitDisabled
	case refused != nil:
		return r, refused
	case r.verdict.Kind == agentsig.KindAmbiguous:
		return r, errAmbiguous
	case !r.verdict.OK():
		return r, errNoSignal
	}
	return r, nil
}

// said is what is recorded of a signal and where it was said.
func (b *Box) said(f agentsig.Finding, text []byte) (work.Said, error) {
	s := work.Said{
		Signal: f.Signal.Kind, Name: b.short(f.Signal.Name), Subject: b.short(f.Signal.Subject), Note: b.short(f.Signal.Note),
		Offset: f.Span.Offset, Length: f.Span.Length, SHA256: ledger.Hash(f.Span.SHA256),
	}
	if _, isExit := f.Signal.Exit(); !isExit { // whose fields are in the event itself
		for _, x := range f.Signal.Fields() {
			s.Fields = append(s.Fields, work.Field{Name: x.Name, Value: x.Value})
		}
		s.Fields = b.fields(s.Fields)
	}
	if f.LeftOut != nil {
		s.LeftOut = b.short(f.LeftOut.Error())
	}
	var err error
	s.Transcript, err = b.keep(text)
	return s, err
}

// fields returns as many of a signal's fields as an event has room for, redacted once
// more, since escapes in them were read.
func (b *Box) fields(said []work.Field) []work.Field {
	var kept []work.Field
	size := len("[]")
	for _, f := range said {
		f = work.Field{Name: b.short(f.Name), Value: b.clean(f.Value)}
		if list, ok := f.Value.([]string); ok {
			f.Value = firstOf(list, maxFields-size-len(`{"name":"","value":},`)-len(f.Name)*len(`\u0000`))
		}
		data, err := json.Marshal(f)
		if size += len(data); err != nil || size > maxFields {
			break
		}
		size += len(",")
		kept = append(kept, f)
	}
	for i := range kept {
		size += b.lengthen(&kept[i], said[i].Value, maxFields-size)
	}
	return kept
}

// firstOf returns as many of a list's entries as there is room for in JSON, and then one that says that there were more.
func firstOf(list []string, room int) []string {
	const more = "…"
	size, fit := len("[]"), 0 // how many fit if more follow
	for i, s := range list {
		data, err := json.Marshal(s)
		if size += len(data) + len(","); err != nil || size > room {
			return append(slices.Clone(list[:fit]), more)
		}
		if size+len(`"`+more+`"`) <= room {
			fit = i + 1
		}
	}
	return list
}

// lengthen puts more of a text into a field that has its beginning, if there is room, and returns how many bytes of JSON
// it took.
func (b *Box) lengthen(f *work.Field, said any, room int) int {
	short, isText := f.Value.(string)
	text, _ := said.(string)
	if text = b.redact.Text(text); !isText || len(text) <= maxText || room <= 0 {
		return 0
	}
	before, err := json.Marshal(short)
	if err != nil {
		return 0
	}
	longer := work.Cut(text, len(before)-len(`""…`)+room)
	after, err := json.Marshal(longer)
	if err != nil || len(after) <= len(before) {
		return 0
	}
	f.Value = longer
	return len(after) - len(before)
}

// keep returns a text as an event has it: in place if it is short, as a blob otherwise.
func (b *Box) keep(text []byte) (work.Transcript, error) {
	if len(text) <= maxInline && utf8.Valid(text) {
		if data, err := json.Marshal(string(text)); err == nil && len(data) <= maxInline {
			return work.Transcript{Text: string(text)}, nil
		}
	}
	blob, err := b.archive.PutBlob(text)
	return work.Transcript{Blob: &blob}, err
}

// fit makes sure that what is recorded has room in an event: what is too long
// stays in the transcript alone.
func (b *Box) fit(signal agentsig.Signal, s work.Said, text []byte) (agentsig.Signal, work.Said, error) {
	x, _ := signal.Exit()
	data, err := json.Marshal([]any{s, x})
	if err != nil || len(data) <= ledger.MaxPayload-maxText-maxKept {
		return signal, s, err
	}
	s.Shortened, s.Note, s.Subject, s.Fields = true, "", "", nil
	if s.Transcript.Blob == nil {
		blob, err := b.archive.PutBlob(text)
		if err != nil {
			return signal, s, err
		}
		s.Transcript = work.Transcript{Blob: &blob}
	}
	if x.Protocol != "" {
		x.Notes, x.EvidenceBundleRef, x.PRURL = "", "", ""
		signal = x.Signal()
	}
	return signal, s, nil
}

// cleanSignal redacts an exit record once more, since escapes in it were read.
func (b *Box) cleanSignal(s agentsig.Signal) agentsig.Signal {
	x, ok := s.Exit()
	if !ok {
		return s
	}
	x.Notes, x.PRURL, x.EvidenceBundleRef = b.redact.Text(x.Notes), b.redact.Text(x.PRURL), b.redact.Text(x.EvidenceBundleRef)
	return x.Signal()
}

// short redacts a text once more, since escapes in it were read, and cuts it.
func (b *Box) short(s string) string {
	s, whole := safetext.Prefix(b.redact.Text(s), maxText)
	if whole {
		return s
	}
	return s + "…"
}

func (b *Box) clean(value any) any {
	switch v := value.(type) {
	case string:
		return b.short(v)
	case []string:
		out := make([]string, len(v))
		for i, s := range v {
			out[i] = b.short(s)
		}
		return out
	}
	return value
}

// refusal reports whether an error is about what the session said, and not about
// the box.
func refusal(err error) bool {
	for _, e := range []error{
		agentsig.ErrNoHandover, agentsig.ErrWrongPhase, agentsig.ErrGateOnly, agentsig.ErrPhaseTerminal, agentsig.ErrPhaseBlocked,
		work.ErrNotHolder, work.ErrSessionOver,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// hint says what to do about an exit record that is refused. Nothing, if the error says it: one about a member of the
// record names what is allowed.
func hint(err error) string {
	switch {
	case errors.Is(err, agentsig.ErrExitDisabled):
		return fmt.Sprintf("Start the box with %s=true, or with exit_protocol: true in %s; or ask whoever runs it to.", agentsig.ExitProtocolVariable, config.File)
	case errors.As(err, new(*agentsig.ProtocolError)):
		return fmt.Sprintf("Write %q as the protocol of an exit record, exactly so.", agentsig.ExitProtocol)
	case errors.As(err, new(*agentsig.VersionError)):
		return fmt.Sprintf("Write a version of three numbers, the first of them 1, such as %q.", agentsig.ExitVersion)
	case errors.As(err, new(*agentsig.SyntaxError)):
		return "Write the exit record as one valid JSON object, with double quotes around all names and values."
	}
	return ""
}

func rejected(item work.Item, r reading, err error) api.Emitted {
	out := api.Emitted{Work: item.ID, Error: err.Error(), Hint: hint(err)}
	for _, f := range r.nearMisses {
		out.NearMisses = append(out.NearMisses, api.NearMiss{Line: f.Span.Line, Kind: f.Signal.Kind, Reason: f.Reason, Hint: f.Reason.Hint()})
	}
	return out
}

// emitted answers with what was recorded.
func emitted(item work.Item, r recorded[work.Item]) api.Emitted {
	out := api.Emitted{Accepted: true, Event: r.event.Type, Work: item.ID, Sequence: r.seq}
	var p agentsig.AgentSessionCompleted // without what was said, which is not answered
	if json.Unmarshal(r.event.Payload, &p) == nil {
		out.PhaseCompleted, out.ExitReason, out.NextPhase = p.PhaseCompleted, p.ExitReason, p.NextPhase
	}
	if r.event.Type == work.LateResultRecorded {
		out.Accepted = false
		out.Error = fmt.Sprintf("the session did not hold the work any more when this result came: it is recorded as late (event %d), and moves nothing", r.seq)
	}
	return out
}
