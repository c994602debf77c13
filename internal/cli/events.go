package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) eventsCommand() *cobra.Command {
	var id string
	var after uint64
	var limit int
	var follow bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Show what happened, and what happens",
		Long: `Events shows the events of the ledger, oldest first; with --follow it goes on with
those that come, for which a box has to be running. An event is shown once it is in the
archive. Without --limit it is all of them. If --limit cut them, a line on standard error says so: with
the command for what follows, or with --json as {"next": SEQUENCE}, which --after takes.

With --json each is an object on a line of its own, with sequence, work and event,
which is the event as it is stored and hashed.`,
		Example: `  signalbox events --work T-1
  signalbox events --after 1000 --limit 50
  signalbox events --follow --json`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.checkLimit(cmd, limit); err != nil {
				return err
			}
			if follow && limit > 0 {
				return a.UsageError("--limit and --follow exclude each other: a page ends, and what is followed does not")
			}
			if !follow {
				next, err := a.showEvents(cmd.Context(), id, after, limit, heldBytes)
				if err == nil && next > 0 {
					err = a.sayMore(cmd, next)
				}
				return a.badValue(err)
			}
			_, err := ask(cmd.Context(), a, a.token, func(c *api.Client) (struct{}, error) {
				return struct{}{}, c.Events(cmd.Context(), id, after, true, func(e api.Event) error {
					after = e.Sequence
					return a.event(e)
				})
			})
			if errors.Is(err, api.ErrNoBox) && !api.Missing(err) && cmd.Context().Err() == nil {
				return fmt.Errorf("the box stopped: go on with --after %d once it runs again", after)
			}
			return a.badValue(err)
		},
	}
	cmd.Flags().StringVar(&id, "work", "", "only those of this work item, conversation or run (`ID`)")
	cmd.Flags().Uint64Var(&after, "after", 0, "only those after this `SEQUENCE`")
	limitFlag(cmd, &limit)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with those that come")
	return cmd
}

// heldEvents is a part of the events.
type heldEvents struct {
	events []api.Event
	next   uint64 // what to go on after if there are more; 0 at the end
	cut    bool   // there is no room for more
}

// errHeld ends a stream of events of which enough are held.
var errHeld = errors.New("enough events are held")

// showEvents shows so many events at most, or all if limit is 0, and holds so many bytes of them. It returns the sequence to go on after
// if there are more, and 0 at the end.
func (a *app) showEvents(ctx context.Context, id string, after uint64, limit, room int) (uint64, error) {
	for {
		held, err := look(ctx, a, func(c *api.Client) (heldEvents, error) { return holdEvents(ctx, c, id, after, limit, room) })
		if err != nil {
			return 0, err
		}
		for _, e := range held.events {
			if err := a.event(e); err != nil {
				return 0, err
			}
			after = e.Sequence
		}
		if !held.cut {
			return held.next, nil
		}
		if limit > 0 {
			limit -= len(held.events)
		}
	}
}

// holdEvents returns so many events at most, or all if limit is 0, as far as there is room.
func holdEvents(ctx context.Context, c *api.Client, id string, after uint64, limit, room int) (held heldEvents, err error) {
	hold := func(e api.Event) error {
		held.events = append(held.events, e)
		if room -= len(e.Event); room <= 0 && len(held.events) != limit {
			return errHeld
		}
		return nil
	}
	if limit == 0 {
		err = c.Events(ctx, id, after, false, hold)
	} else {
		held.next, err = eventPages(ctx, c, id, after, limit, hold)
	}
	if held.cut = errors.Is(err, errHeld); held.cut {
		err = nil
	}
	return held, err
}

// eventPages calls f with so many events at most, page by page. It returns the sequence to go on after
// if there are more, and 0 at the end.
func eventPages(ctx context.Context, c *api.Client, id string, after uint64, limit int, f func(api.Event) error) (uint64, error) {
	for {
		page := min(limit, api.PageSize)
		next, err := c.EventsUpTo(ctx, id, after, page, f)
		limit -= page
		if err != nil || next == 0 || limit == 0 {
			return next, err
		}
		after = next
	}
}

func (a *app) event(e api.Event) error {
	if a.JSON {
		return command.WriteJSON(a.Out, e)
	}
	stored, err := ledger.Decode(e.Event)
	if err != nil {
		return fmt.Errorf("event %d: %w", e.Sequence, err)
	}
	at := stamp(stored.Time)
	if a.OutTTY {
		_, err = fmt.Fprintf(a.Out, "%6d  %s  %s\n", e.Sequence, a.Paint(command.Faint, at), a.eventText(e.Work, stored))
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%6d  %s  %-12s  %s  %s\n", e.Sequence, at,
		safetext.Escape(e.Work), safetext.Escape(stored.Type), safetext.Escape(what(e.Work, stored)))
	return err
}

// eventText says to a person at a terminal what an event is about, what happened, and its type.
func (a *app) eventText(name string, e ledger.Event) string {
	const indent = len("123456  2006-01-02 15:04:05  ")
	text := safetext.Escape(what(name, e))
	if slices.Contains(work.Types(), e.Type) {
		text = delivery.Words(e, func(string) string { return name })
	}
	if about := safetext.Escape(name); !strings.HasPrefix(text, about+": ") {
		text = about + ": " + text
	}
	return a.Hang(text+" ("+safetext.Escape(e.Type)+")", indent)
}

// apiEvent is the event of a proof.
func apiEvent(p ledger.Proof) api.Event {
	var e struct {
		Subject string `json:"subject"`
	}
	_ = json.Unmarshal(p.Event, &e) // the proof was checked: it is an event
	return api.Event{Sequence: uint64(p.Index) + 1, Work: e.Subject, Event: p.Event}
}

// removedWords says which outputs are not in the archive any more, and why.
func removedWords(e ledger.Event) string {
	p, err := ledger.ParseBlobRemoved(e.Payload)
	if err != nil {
		return e.Actor
	}
	text := fmt.Sprintf("%s: %s removed: %s; %.12s", e.Actor, were(len(p.Removed), "output"), p.Reason, p.Removed[0].SHA256)
	if len(p.Removed) > 1 {
		text += "…"
	}
	return text
}

// were says that so many things were done something to.
func were(n int, thing string) string {
	if n == 1 {
		return english.Count(n, thing) + " was"
	}
	return english.Count(n, thing) + " were"
}

// what says in a few words what an event did to a work item, a run or a conversation.
func what(name string, e ledger.Event) string {
	switch {
	case slices.Contains(delivery.Types(), e.Type):
		return delivery.Words(e, func(string) string { return name })
	case slices.Contains(conversation.Types(), e.Type):
		return conversation.Words(name, e)
	case slices.Contains(access.Types(), e.Type):
		return access.Sentence(e)
	case e.Type == ledger.TypeBlobRemoved:
		return removedWords(e)
	}
	var p struct {
		Title          string         `json:"title"`
		Phase          agentsig.Phase `json:"phase"`
		PhaseCompleted agentsig.Phase `json:"phase_completed"`
		ExitReason     string         `json:"exit_reason"`
		NextPhase      agentsig.Phase `json:"next_phase"`
		Role           string         `json:"role"`
		Reason         string         `json:"reason"`
		Commit         string         `json:"commit"`
		Signal         string         `json:"signal"`
	}
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return ""
	}
	text := e.Actor
	switch {
	case p.PhaseCompleted != "":
		text += fmt.Sprintf(": %s %s", p.PhaseCompleted, p.ExitReason)
	case p.Phase != "":
		text += ": " + string(p.Phase)
	case p.Signal != "":
		text += ": " + p.Signal
	}
	if p.NextPhase != "" {
		text += " -> " + string(p.NextPhase)
	}
	for _, more := range []string{p.Role, p.Commit, p.Title, p.Reason} {
		if more != "" {
			text += "  " + shorten(more)
		}
	}
	return text
}
