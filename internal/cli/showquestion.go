package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// showQuestion prints a question to a model.
func (a *app) showQuestion(ctx context.Context, id string) error {
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
	switch {
	case err != nil:
		return err
	case a.JSON:
		return command.WriteJSON(a.Out, story)
	}
	text, err := story.text()
	if err == nil {
		_, err = fmt.Fprint(a.Out, text)
	}
	return err
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
	var end conversation.Answered
	for _, e := range s.Events {
		stored, err := ledger.Decode(e.Event)
		if err != nil {
			return "", fmt.Errorf("event %d: %w", e.Sequence, err)
		}
		if stored.Type == conversation.TypeEnded {
			if err := json.Unmarshal(stored.Payload, &end); err != nil {
				return "", fmt.Errorf("event %d: %w", e.Sequence, err)
			}
		}
		if stored.Type != conversation.TypeStarted {
			words := strings.TrimPrefix(conversation.Words(x.ID, stored), safetext.Escape(x.ID)+": ")
			fmt.Fprintf(&b, "%s  %s\n", stamp(stored.Time), words)
		}
	}
	if s.more {
		fmt.Fprintf(&b, "(There is more than these %d events: `signalbox events --work %s` has all.)\n", len(s.Events), safetext.Escape(x.ID))
	}
	if end.Missing != "" {
		fmt.Fprintf(&b, "\nmissing:\n%s", indented(end.Missing))
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

// notFound reports whether the box has none of this name.
func notFound(err error) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Code == api.CodeNotFound
}

// listQuestions lists the latest questions to a model, so many, in the order of asking.
func (a *app) listQuestions(ctx context.Context, most int, args []string) error {
	switch {
	case len(args) > 0:
		return a.UsageError("--list goes without a question; a number of questions is put like this: --list=100")
	case most < 1:
		return a.UsageError("--list=%d: give the number to list at most, from 1", most)
	}
	all, err := look(ctx, a, func(c *api.Client) ([]conversation.Exchange, error) { return latestQuestions(ctx, c, most) })
	switch {
	case err != nil:
		return err
	case a.JSON:
		return command.WriteJSON(a.Out, all)
	case len(all) == 0:
		fmt.Fprintln(a.Err, "nothing was asked yet: `signalbox ask QUESTION` asks")
		return nil
	}
	t := command.NewTable("QUESTION", "OUTCOME", "CONTINUES", "ASKED")
	for _, x := range all {
		t.Add(x.ID, cmp.Or(string(x.Outcome), "not ended"), cmp.Or(x.Continues, "-"), shorten(x.Question))
	}
	t.Write(a.Out, a.Columns())
	return nil
}

// latestQuestions returns the latest questions. They are numbered; what is missing is a name that work has.
func latestQuestions(ctx context.Context, c *api.Client, most int) ([]conversation.Exchange, error) {
	all := []conversation.Exchange{}
	latest, err := c.Exchange(ctx, api.LatestConversation)
	if notFound(err) {
		return all, nil
	}
	var number int
	if err == nil {
		_, err = fmt.Sscanf(latest.ID, "Q-%d", &number)
	}
	for ; err == nil && number > 0 && len(all) < most; number-- {
		var x conversation.Exchange
		if x, err = c.Exchange(ctx, fmt.Sprintf("Q-%05d", number)); err == nil {
			all = append(all, x)
		} else if notFound(err) {
			err = nil
		}
	}
	slices.Reverse(all)
	return all, err
}
