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
	subject   string          // of the item or the run
	run       bool            // it is a run's
	task      string          // the item's id in its run; empty if it is in none
	questions map[string]bool // that were asked about it

	events  []happened // that were not taken away yet
	over    bool       // it has ended
	settled uint64     // by which event: they come subject by subject
}

// happened is an event, and where it is in the ledger.
type happened struct {
	sequence uint64
	ledger.Event
}

// concerns are parts of payloads by which events are told apart.
type concerns struct {
	ID        string         `json:"id"`
	Task      string         `json:"task"`
	TaskID    string         `json:"task_id"`
	NextPhase agentsig.Phase `json:"next_phase"`
}

// dull are the types of events that say nothing besides what was said, or is printed otherwise.
var dull = []string{
	work.WorkAdded, work.SignalRecorded, work.WorkShown, work.MergeAllowed, delivery.PromptDelivered, delivery.SignalNoted, delivery.RunStarted,
}

// ofAll are the types of events on a run that concern all its tasks.
var ofAll = []string{delivery.RunPaused, delivery.RunResumed, delivery.RunCancelled, delivery.RunFinished}

// take takes the next event of one of the subjects.
func (s *story) take(stored api.Event) error {
	e, err := ledger.Decode(stored.Event)
	if err != nil {
		return fmt.Errorf("event %d: %w", stored.Sequence, err)
	}
	var c concerns
	_ = json.Unmarshal(e.Payload, &c) // of one that can't be read nothing is known
	if e.Subject != s.subject || s.run {
		if !s.concerned(e, c) {
			return nil
		}
	}
	s.settle(happened{stored.Sequence, e}, c)
	if slices.Contains(dull, e.Type) {
		return nil
	}
	s.events = append(s.events, happened{stored.Sequence, e})
	return nil
}

// takeAway returns the events in the ledger's order, and forgets them. Their times are in that order too, although a
// clock may have been set back.
func (s *story) takeAway() []happened {
	all := s.events
	s.events = nil
	slices.SortFunc(all, func(a, b happened) int { return cmp.Compare(a.sequence, b.sequence) })
	for i := 1; i < len(all); i++ {
		if all[i].Time.Before(all[i-1].Time) {
			all[i].Time = all[i-1].Time
		}
	}
	return all
}

// concerned reports whether an event on a run is about the item, or else about no single task.
func (s *story) concerned(e ledger.Event, c concerns) bool {
	session, _, err := work.ParseSession(e.Session)
	own := err == nil && session == s.subject
	task := cmp.Or(c.Task, c.TaskID)
	switch {
	case s.run:
		return own || task == ""
	case e.Type == delivery.QuestionAsked && task == s.task:
		s.questions[c.ID] = true
	case e.Type == delivery.QuestionAnswered:
		return s.questions[c.ID]
	}
	return own || task != "" && task == s.task || slices.Contains(ofAll, e.Type)
}

// settle notes whether it is over after the last of the events that decide it.
func (s *story) settle(e happened, c concerns) {
	if e.sequence < s.settled {
		return
	}
	switch {
	case e.Type == delivery.RunFinished, e.Type == delivery.TaskCancelled:
		s.over = true
	case e.Type == delivery.TaskRetried:
		s.over = false
	case !s.run && e.Subject == s.subject && c.NextPhase != "":
		s.over = c.NextPhase == agentsig.PhaseCompleted
	default:
		return
	}
	s.settled = e.sequence
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

// started returns who was started by an event, if somebody was.
func started(e ledger.Event) (role, agent string, ok bool) {
	switch e.Type {
	case work.LeaseGranted, work.ReviewStarted, work.WorkTaken:
		var p work.Granted
		_ = json.Unmarshal(e.Payload, &p) // of one that can't be read nothing is known
		return cmp.Or(string(p.Role), "somebody"), cmp.Or(p.Agent, e.Actor), true
	case delivery.SessionGranted:
		var p delivery.Granted
		_ = json.Unmarshal(e.Payload, &p)
		return string(p.Role), p.Agent, true
	}
	return "", "", false
}

// textOf says what happened by an event. Of what people and agents asked and answered, and of what kept work from being
// merged, it is all of it.
func (s *story) textOf(e ledger.Event) string {
	short := delivery.Words(e, func(string) string { return "" })
	short = strings.TrimPrefix(short, s.task+": ")
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
