package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Who speaks in a log.
const (
	whoAgent  = "agent"
	whoTool   = "tool"
	whoGate   = "gate"
	whoPerson = "person"
	whoBox    = "box"
)

// story is what the ledger has on an item, or on a run less what concerns its tasks.
type story struct {
	evidence.About

	events  []evidence.Happened // that were not taken away yet
	over    bool                // it has ended
	settled uint64              // by which event: they come subject by subject
}

// dull are the types of events that say nothing besides what was said, or is printed otherwise.
var dull = []string{
	work.WorkAdded, work.SignalRecorded, work.WorkShown, work.MergeAllowed, delivery.PromptDelivered, delivery.SignalNoted, delivery.RunStarted,
}

// take takes the next event of one of the subjects.
func (s *story) take(stored api.Event) error {
	e, err := ledger.Decode(stored.Event)
	if err != nil {
		return fmt.Errorf("event %d: %w", stored.Sequence, err)
	}
	c := evidence.ConcernsOf(e)
	if (e.Subject != s.Subject || s.Run) && !s.Has(e, c) {
		return nil
	}
	happened := evidence.Happened{Sequence: stored.Sequence, Event: e}
	s.settle(happened, c)
	if slices.Contains(dull, e.Type) {
		return nil
	}
	s.events = append(s.events, happened)
	return nil
}

// takeAway returns the events in the ledger's order, and forgets them. Their times are in that order too, although a
// clock may have been set back.
func (s *story) takeAway() []evidence.Happened {
	all := s.events
	s.events = nil
	slices.SortFunc(all, func(a, b evidence.Happened) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for i := 1; i < len(all); i++ {
		if all[i].Time.Before(all[i-1].Time) {
			all[i].Time = all[i-1].Time
		}
	}
	return all
}

// settle notes whether it is over after the last of the events that decide it.
func (s *story) settle(e evidence.Happened, c evidence.Concerns) {
	if e.Sequence < s.settled {
		return
	}
	switch {
	case e.Type == delivery.RunFinished, e.Type == delivery.TaskCancelled:
		s.over = true
	case e.Type == delivery.TaskRetried:
		s.over = false
	case !s.Run && e.Subject == s.Subject && c.NextPhase != "":
		s.over = c.NextPhase == agentsig.PhaseCompleted
	default:
		return
	}
	s.settled = e.Sequence
}

// whoOf says who speaks by an event.
func whoOf(e ledger.Event) string {
	switch {
	case e.Actor == work.OperatorActor:
		return whoPerson
	case work.ByOperator(e.Actor):
		return safetext.Escape(e.Actor)
	case e.Actor == work.GateActor, e.Type == delivery.BaselineChecked, e.Type == delivery.RepairChecked:
		return whoGate
	}
	return whoBox
}

// started returns who was started by an event, and on which runner, if somebody was.
func started(e ledger.Event) (role, agent, runner string, ok bool) {
	switch e.Type {
	case work.LeaseGranted, work.ReviewStarted, work.WorkTaken:
		var p work.Granted
		_ = json.Unmarshal(e.Payload, &p) // of one that can't be read nothing is known
		return cmp.Or(string(p.Role), "somebody"), cmp.Or(p.Agent, e.Actor), p.Runner, true
	case delivery.SessionGranted:
		var p delivery.Granted
		_ = json.Unmarshal(e.Payload, &p)
		return string(p.Role), p.Agent, p.Runner, true
	}
	return "", "", "", false
}

// textOf says what happened by an event. Of what people and agents asked and answered, and of what kept work from being
// merged, it is all of it.
func (s *story) textOf(e ledger.Event) string {
	short := delivery.Words(e, func(string) string { return "" })
	short = strings.TrimPrefix(short, s.Task+": ")
	var text string
	switch e.Type {
	case delivery.QuestionAsked:
		text = whole(e, func(p delivery.Question) string { return fmt.Sprintf("asks (%s): %s", p.ID, p.Text) })
	case delivery.QuestionAnswered:
		text = whole(e, func(p delivery.Answered) string { return fmt.Sprintf("answers %s: %s", p.ID, cmp.Or(p.Text, p.Choice)) })
	case delivery.MessageTold:
		text = whole(e, func(p delivery.Message) string { return "tells the agent: " + p.Text })
	case work.MergeApproved:
		text = whole(e, func(p work.Approved) string {
			return fmt.Sprintf("approves the merge of %.7s onto %.7s", p.Commit, p.Onto)
		})
	case work.MergeFailed:
		if work.ByOperator(e.Actor) {
			text = whole(e, func(p work.Merge) string { return fmt.Sprintf("sends the merge of %.7s back:\n%s", p.Commit, p.Reason) })
			break
		}
		text = whole(e, func(p work.Merge) string { return fmt.Sprintf("can't be merged at %.7s: %s", p.Commit, p.Reason) })
	case delivery.SessionEnded:
		text = whole(e, func(p delivery.Ended) string {
			if p.How == delivery.Done {
				return cmp.Or(p.Role, "the agent") + " ended"
			}
			_, more, _ := strings.Cut(strings.TrimSpace(p.Detail), "\n")
			return strings.TrimSpace(short + "\n" + more)
		})
	}
	return cmp.Or(text, short)
}

// whole says something of a payload; nothing if it can't be read.
func whole[P any](e ledger.Event, say func(P) string) string {
	var p P
	if json.Unmarshal(e.Payload, &p) != nil {
		return ""
	}
	return strings.TrimSpace(say(p))
}
