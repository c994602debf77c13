package box

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/prompt"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// byHand returns the limits of work that stands alone: those of runs where nothing else is set.
func byHand(l work.Limits) work.Limits {
	d := delivery.DefaultLimits()
	return work.Limits{
		Unknown: cmp.Or(l.Unknown, d.Unknown), Obstacles: cmp.Or(l.Obstacles, d.Obstacles),
		ExpertRequests: cmp.Or(l.ExpertRequests, d.ExpertRequests), RemediationRounds: cmp.Or(l.RemediationRounds, d.RemediationRounds),
	}
}

// maxPreview is how much of an output without a signal an event shows, in characters.
const maxPreview = 200

// unread takes an output without a signal that counts. A run counts for its own sessions. If the session has lost its
// lease meanwhile, the output is taken anew: then the result is late.
func (b *Box) unread(item work.Item, token work.Token, said reading, text []byte, key string, why error, anew func() (api.Emitted, error)) (api.Emitted, error) {
	out := rejected(item, said, why)
	if item.Run != "" {
		return out, nil
	}
	u := work.Unknown{OutputPreview: preview(text), Ambiguous: errors.Is(why, errAmbiguous), NearMisses: nearly(said)}
	r, err := b.record(item.Subject, key, work.Unread{Token: token, Unknown: u, Limit: b.limits.Unknown, Key: key})
	switch {
	case refusal(err) && item.Holds(token):
		return anew()
	case refusal(err):
		return out, nil // it has no say any more
	case err != nil:
		return out, err
	}
	out.Event, out.Sequence = r.event.Type, r.seq
	if r.event.Type == work.SignalFailure {
		out.Error += fmt.Sprintf(": that is %d times in a row, so the session is ended, and the work can be claimed again", b.limits.Unknown)
		return out, nil
	}
	err = json.Unmarshal(r.event.Payload, &u) // it may have been recorded before
	out.Attempt, out.Ask = u.Attempt, b.ask(item, delivery.Prompt{Ask: delivery.AskProgress, Text: refusedWords(why)}, said)
	return out, err
}

// preview returns the last characters of an output, escaped, and never half of one.
func preview(text []byte) string {
	text = bytes.TrimSpace(text)
	last := []rune(string(text[max(0, len(text)-4*maxPreview):]))
	return safetext.EscapeLines(string(last[max(0, len(last)-maxPreview):]))
}

func nearly(said reading) []work.NearMiss {
	var all []work.NearMiss
	for _, f := range said.nearMisses {
		all = append(all, work.NearMiss{Line: f.Span.Line, Kind: f.Signal.Kind, Reason: f.Reason})
	}
	return all
}

// refusedWords tell an agent why a signal is refused that was read, and what it can do about it; nothing if none was read.
// Enabling exit records is not for agents.
func refusedWords(why error) string {
	if errors.Is(why, errNoSignal) {
		return ""
	}
	if todo := hint(why); todo != "" && !errors.Is(why, agentsig.ErrExitDisabled) {
		return why.Error() + "\n" + todo
	}
	return why.Error()
}

// ask returns what to ask the agent of the session that holds an item.
func (b *Box) ask(item work.Item, p delivery.Prompt, said reading) string {
	role, v := b.voice(item)
	p.NearMisses = nearly(said)
	text, err := prompt.Further(p, role, v)
	if err != nil { // no role holds the phase, so there is no signal to ask for
		return "Say how your work ended."
	}
	return text
}

// instructions returns how to signal for the session that holds an item; empty if nobody signals in its phase.
func (b *Box) instructions(item work.Item) string {
	role, v := b.voice(item)
	text, _ := v.Signals(role) // there is no role for the phase
	return text
}

// heldAs is the role whose signals are acted upon in the session that holds an item; none if those of the phase are,
// whoever says them: a developer may hold DRAFT, and what a developer says does not complete it.
func heldAs(item work.Item) agentsig.Role {
	if item.Lease == nil { // it may have been recorded before, and is held no more
		return ""
	}
	if own, ok := item.Lease.Role.Phase(); ok && own != item.Phase {
		return ""
	}
	return item.Lease.Role
}

// voice is what the agent of the session that holds an item speaks as: its role, or the one of the phase.
func (b *Box) voice(item work.Item) (agentsig.Role, prompt.Voice) {
	role := heldAs(item)
	for _, r := range agentsig.Roles() {
		if own, ok := r.Phase(); role == "" && ok && own == item.Phase {
			role = r
		}
	}
	return role, prompt.Voice{Subject: item.Names(), Exit: b.exitEnabled, Hand: true, Own: b.own}
}

// ShowWait returns what an item waits for as people see it; nil if it waits for nothing.
func ShowWait(i work.Item) *api.Question {
	w := i.Wait
	if w == nil {
		return nil
	}
	return &api.Question{
		ID: w.ID, Kind: api.KindQuestion, Task: i.ID, Role: w.Role, Cause: w.Cause, Text: w.Text, Context: w.Context, Choices: []string{work.ChooseRetry}, AskedAt: w.At,
	}
}

func replies(i work.Item) []api.Reply {
	var all []api.Reply
	for _, r := range i.Replies {
		all = append(all, api.Reply{ID: r.ID, Question: r.Question, From: r.From, Text: r.Text})
	}
	return all
}

// Answer answers a question about work that stands alone. It reports whether there is such work: runs have questions of
// their own.
func (b *Box) Answer(actor, id string, a api.Answer, key string) (q api.Question, ok bool, err error) {
	at := strings.LastIndex(id, "-Q")
	if at < 0 {
		return q, false, nil
	}
	item, err := b.state.exact(id[:at])
	if err != nil || item.Asked == 0 {
		return q, false, nil // what can't be read is not found by a run either
	}
	if w := ShowWait(item); w != nil && w.ID == id {
		q = *w
	}
	key = orNewKey(key)
	_, err = b.record(item.Subject, key, work.Answer{Actor: actor, Question: id, Choice: a.Choice, Text: b.redact.Text(a.Text), Key: key})
	return q, true, err
}

// firstToCheck returns, of the items that wait for checks, the one that has waited longest; nil if there is none. The caller
// holds the lock.
func (s *state) firstToCheck() (first *work.Item) {
	for subject := range s.checking {
		if i := s.items[subject]; first == nil || i.Entered < first.Entered {
			first = i
		}
	}
	return first
}

// toCheck says which items wait for checks that the box runs; nil if none does.
func (s *state) toCheck() *api.ToCheck {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.firstToCheck()
	if first == nil {
		return nil
	}
	return &api.ToCheck{Work: first.ID, Branch: first.Branch, More: len(s.checking) - 1}
}
