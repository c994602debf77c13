package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// questionStory is what is shown of a question.
type questionStory struct {
	Conversation conversation.Exchange `json:"conversation"`
	Events       []api.Event           `json:"events"`
	more         bool                  // events than these
}

// showQuestion prints a question to a model. It reports whether there is one of this name: work can have
// such a name too.
func (a *app) showQuestion(ctx context.Context, id string) (bool, error) {
	story, err := look(ctx, a, func(c *api.Client) (s questionStory, err error) {
		if s.Conversation, err = c.Exchange(ctx, id); err != nil {
			return s, err
		}
		next, err := c.EventsUpTo(ctx, id, 0, api.PageSize, func(e api.Event) error {
			s.Events = append(s.Events, e)
			return nil
		})
		s.more = next > 0
		return s, err
	})
	var p *api.Problem
	switch {
	case errors.As(err, &p) && p.Code == api.CodeNotFound:
		return false, nil
	case err != nil:
		return false, err
	case a.JSON:
		return true, command.WriteJSON(a.Out, story)
	}
	text, err := story.text()
	if err == nil {
		_, err = fmt.Fprint(a.Out, text)
	}
	return true, err
}

// text is the story for people. Whoever wrote what is in it, it does nothing to a terminal.
func (s questionStory) text() (string, error) {
	x := s.Conversation
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", safetext.Escape(x.ID), cmp.Or(string(x.Outcome), "not ended"))
	for _, f := range []struct{ name, value string }{{"continues", x.Continues}, {"user", x.UserID}, {"project", x.ProjectID}} {
		if f.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", f.name, safetext.Escape(f.value))
		}
	}
	fmt.Fprintf(&b, "\nasked:\n%s\n", indented(x.Question))
	for _, e := range s.Events {
		stored, err := ledger.Decode(e.Event)
		if err != nil {
			return "", fmt.Errorf("event %d: %w", e.Sequence, err)
		}
		if stored.Type != conversation.TypeStarted {
			words := strings.TrimPrefix(conversation.Words(x.ID, stored), safetext.Escape(x.ID)+": ")
			fmt.Fprintf(&b, "%s  %s\n", stamp(stored.Time), words)
		}
	}
	if s.more {
		fmt.Fprintf(&b, "(There is more than these %d events: `signalbox events --work %s` has all.)\n", len(s.Events), safetext.Escape(x.ID))
	}
	switch {
	case x.Outcome == "":
	case x.Removed:
		b.WriteString("\nThe answer is not kept any longer (the setting archive.keep).\n")
	case x.Answer == nil:
		b.WriteString("\nThe answer is not in the ledger: the version that recorded it kept none.\n")
	case *x.Answer == "":
		b.WriteString("\nThere is no answer.\n")
	default:
		fmt.Fprintf(&b, "\nanswered:\n%s", indented(*x.Answer))
		if x.Cut {
			b.WriteString("  (It was longer, and the ledger has its beginning.)\n")
		}
	}
	return b.String(), nil
}
