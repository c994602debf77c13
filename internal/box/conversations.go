package box

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Ask records that a question is put to a model.
func (b *Box) Ask(ctx context.Context, actor string, a api.Ask, key string) (api.Conversation, error) {
	key = orNewKey(key)
	unlock, err := b.lock(ctx, keyOfKind{askQuestion, key})
	if err != nil {
		return api.Conversation{}, err
	}
	defer unlock()
	subject, err := b.state.addedBy(askQuestion, key)
	if err != nil {
		return api.Conversation{}, err
	}
	if subject != "" {
		return api.Conversation{ID: b.state.conversation(subject).ID, Subject: subject}, nil
	}
	subject = b.newSubject()
	id, err := b.state.reserve("", subject, conversationName)
	if err != nil {
		return api.Conversation{}, err
	}
	defer b.state.unreserve(id, subject)
	asked := conversation.Asked{
		ID: id, Question: b.redact.Text(a.Question), Class: b.redact.Text(a.Class), Provider: b.redact.Text(a.Provider), Model: b.redact.Text(a.Model),
		Continues: a.Continues, UserID: a.UserID, ProjectID: a.ProjectID,
	}
	for _, name := range []string{a.UserID, a.ProjectID} {
		if b.redact.Text(name) != name { // without it, nobody could ask as the same user again
			return api.Conversation{}, errSecretID
		}
	}
	if _, err := conversation.Decide(conversation.Conversation{}, conversation.Ask{Asked: asked, Actor: actor}); err != nil {
		return api.Conversation{}, err // before anything of it is stored
	}
	if a.Continues != "" {
		before, err := b.Exchange(a.Continues)
		if err == nil {
			err = before.Continuable(a.UserID, a.ProjectID)
		}
		if err != nil {
			return api.Conversation{}, err
		}
		asked.Continues = before.ID
	}
	whole, err := b.keep([]byte(asked.Question))
	if err != nil {
		return api.Conversation{}, err
	}
	if asked.Stored = whole.Blob; asked.Stored != nil {
		asked.Question = b.short(asked.Question)
	}
	_, err = ofConversations.record(b, subject, key, conversation.Ask{Asked: asked, Actor: actor, Key: key})
	return api.Conversation{ID: id, Subject: subject}, err
}

// Signalled records what a model said about its own turn.
func (b *Box) Signalled(id string, s api.Signalled, key string) (api.Recorded, error) {
	c, err := b.state.conversationNamed(id)
	if err != nil {
		return api.Recorded{}, err
	}
	said := conversation.Signalled{Turn: s.Turn, Type: s.Type, Confidence: s.Confidence, Defaulted: s.Defaulted, At: s.At.UTC()}
	for _, f := range s.Fields {
		said.Fields = append(said.Fields, work.Field{Name: f.Name, Value: fieldValue(f.Value)})
	}
	key = orNewKey(key)
	if r, ok, err := ofConversations.find(b, c, key, conversation.Signal{}.Events()); ok || err != nil {
		return inConversation(c, r), err
	}
	if _, err := conversation.Decide(c, conversation.Signal{Signalled: said}); err != nil {
		return api.Recorded{}, err // before anything of it is stored
	}
	said.Fields = b.fields(said.Fields)
	raw, err := b.keep(b.redact.Bytes([]byte(s.RawXML)))
	if err != nil {
		return api.Recorded{}, err
	}
	said.RawXML, said.Stored = raw.Text, raw.Blob
	r, err := ofConversations.record(b, c.Subject, key, conversation.Signal{Signalled: said, Key: key})
	return inConversation(c, r), err
}

// CallDecided records whether a call that changes something is made.
func (b *Box) CallDecided(actor, id string, d api.CallDecided, key string) (api.Recorded, error) {
	c, err := b.state.conversationNamed(id)
	if err != nil {
		return api.Recorded{}, err
	}
	do := conversation.DecideCall{Actor: actor, Key: orNewKey(key), Decided: conversation.Decided{
		Call: d.Call, Turn: d.Turn, Tool: b.redact.Text(d.Tool), Server: b.redact.Text(d.Server), Allowed: d.Allowed, By: d.By, Reason: b.short(d.Reason),
	}}
	if r, ok, err := ofConversations.find(b, c, do.Key, do.Events()); ok || err != nil {
		return inConversation(c, r), err
	}
	if _, err := conversation.Decide(c, do); err != nil {
		return api.Recorded{}, err // before anything of it is stored
	}
	arguments, err := b.keep(b.redact.Bytes([]byte(d.Arguments)))
	if err != nil {
		return api.Recorded{}, err
	}
	do.Arguments, do.Stored = arguments.Text, arguments.Blob
	r, err := ofConversations.record(b, c.Subject, do.Key, do)
	return inConversation(c, r), err
}

// CallEnded records what came of a call that was allowed.
func (b *Box) CallEnded(id string, r api.CallEnded, key string) (api.Recorded, error) {
	c, err := b.state.conversationNamed(id)
	if err != nil {
		return api.Recorded{}, err
	}
	key = orNewKey(key)
	ended, err := ofConversations.record(b, c.Subject, key, conversation.EndCall{Key: key, CallResult: conversation.CallResult{Call: r.Call, Outcome: r.Outcome, Bytes: r.Bytes}})
	return inConversation(c, ended), err
}

// Answered records how a conversation ended.
func (b *Box) Answered(id string, a api.Answered, key string) (api.Recorded, error) {
	c, err := b.state.conversationNamed(id)
	if err != nil {
		return api.Recorded{}, err
	}
	do := conversation.Answer{Key: orNewKey(key), Answered: conversation.Answered{
		Outcome: a.Outcome, Turns: a.Turns, Signals: a.Signals, TokensIn: a.TokensIn, TokensOut: a.TokensOut, Missing: b.short(a.Missing),
		Text: a.Text, Cut: a.Cut,
	}}
	if r, ok, err := ofConversations.find(b, c, do.Key, do.Events()); ok || err != nil {
		return inConversation(c, r), err
	}
	if _, err := conversation.Decide(c, do); err != nil {
		return api.Recorded{}, err // before anything of it is stored
	}
	if a.Text != nil {
		text := b.redact.Text(*a.Text)
		whole, err := b.keep([]byte(text))
		if err != nil {
			return api.Recorded{}, err
		}
		if do.Stored = whole.Blob; do.Stored != nil {
			text = b.short(text)
		}
		do.Text = &text
	}
	r, err := ofConversations.record(b, c.Subject, do.Key, do)
	return inConversation(c, r), err
}

// Exchange returns what was asked in a conversation, and what was answered: in the one with this
// name, or in the newest ([api.LatestConversation]). However much was recorded of it, two events are
// read.
func (b *Box) Exchange(id string) (conversation.Exchange, error) {
	if id == api.LatestConversation {
		if id = b.state.latestConversation(); id == "" {
			return conversation.Exchange{}, fmt.Errorf("%w: nothing was asked yet", conversation.ErrNoConversation)
		}
	}
	c, err := b.state.conversationNamed(id)
	if err != nil {
		return conversation.Exchange{}, err
	}
	seqs, err := b.state.sequences(c.Subject)
	if err != nil {
		return conversation.Exchange{}, err
	}
	asked, err := payloadAt[conversation.Asked](b, seqs[0])
	if err != nil {
		return conversation.Exchange{}, err
	}
	x := conversation.Exchange{ID: c.ID, Question: asked.Question, Continues: asked.Continues, UserID: asked.UserID, ProjectID: asked.ProjectID}
	if asked.Stored != nil {
		whole, err := b.archive.Blob(asked.Stored.SHA256)
		if err != nil {
			return conversation.Exchange{}, err
		}
		x.Question = string(whole)
	}
	if !c.Ended() {
		return x, nil
	}
	end := seqs[len(seqs)-1]
	ended, err := payloadAt[conversation.Answered](b, end)
	if err != nil {
		return conversation.Exchange{}, err
	}
	x.Outcome, x.Answer, x.Cut = ended.Outcome, ended.Text, ended.Cut
	if ended.Stored == nil {
		return x, nil
	}
	whole, err := b.archive.Blob(ended.Stored.SHA256)
	if err != nil {
		removed, unsure := b.state.removedAfter(ended.Stored.SHA256, int64(end)-1)
		if unsure != nil || !removed {
			return conversation.Exchange{}, errors.Join(err, unsure)
		}
		x.Answer, x.Removed = nil, true
		return x, nil
	}
	text := string(whole)
	x.Answer = &text
	return x, nil
}

// payloadAt returns what the event of a sequence says.
func payloadAt[T any](b *Box, seq uint64) (T, error) {
	var payload T
	stored, err := b.archive.Event(int64(seq) - 1)
	if err != nil {
		return payload, err
	}
	e, err := ledger.Decode(stored)
	if err == nil {
		err = json.Unmarshal(e.Payload, &payload)
	}
	return payload, err
}

// latestConversation returns the name of the newest conversation, or nothing if there is none: names
// are made up for all of them, one after the other.
func (s *state) latestConversation() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.madeUp[conversationName] == 0 {
		return ""
	}
	return fmt.Sprintf(conversationName, s.madeUp[conversationName])
}

func inConversation(c conversation.Conversation, r recorded[conversation.Conversation]) api.Recorded {
	return api.Recorded{Event: r.event.Type, Work: c.ID, Sequence: r.seq}
}

// fieldValue returns what came as JSON as a signal has it: a whole number as an int, a
// list of texts as one. Anything else is left as it is.
func fieldValue(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= math.MaxInt32 {
			return int(v)
		}
	case []any:
		texts := make([]string, len(v))
		for i, x := range v {
			text, ok := x.(string)
			if !ok {
				return v
			}
			texts[i] = text
		}
		return texts
	}
	return v
}

// foldConversation takes an event on a conversation.
func (s *state) foldConversation(seq uint64, e ledger.Event, stored []byte) error {
	var before conversation.Conversation
	if c := s.conversations[e.Subject]; c != nil {
		before = *c
	}
	after, err := conversation.Fold(before, seq, e, stored)
	if err != nil {
		return err
	}
	s.putConversation(&after)
	return nil
}

// putConversation replaces a conversation.
func (s *state) putConversation(after *conversation.Conversation) {
	if s.conversations[after.Subject] == nil {
		s.name(after.ID, after.Subject, conversationName)
	}
	s.conversations[after.Subject] = after
}

// conversation returns the conversation with a subject; the zero one if there is none.
func (s *state) conversation(subject string) conversation.Conversation {
	_ = s.bring(subject) // what can't be found out has stopped the box
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.conversations[subject]; c != nil {
		return *c
	}
	return conversation.Conversation{}
}

// conversationNamed returns the conversation with a name for people.
func (s *state) conversationNamed(id string) (conversation.Conversation, error) {
	if err := s.bringNamed(id); err != nil {
		return conversation.Conversation{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.conversations[s.ids[id]]; c != nil {
		return *c, nil
	}
	return conversation.Conversation{}, fmt.Errorf("%w: %s", conversation.ErrNoConversation, safetext.Escape(id))
}

// subjectNamed returns the subject of the item, the conversation or the run with this name.
func (s *state) subjectNamed(id string) (string, error) {
	if c, err := s.conversationNamed(id); err == nil {
		return c.Subject, nil
	}
	i, err := s.named(id, toLook)
	if errors.Is(err, work.ErrNoItem) && id != "" {
		if run, none := s.runNamed(id); none == nil {
			return run, nil
		}
	}
	return i.Subject, err
}
