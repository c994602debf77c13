package agentreply

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
)

// InboxSnapshot is what waits for a person, in all runs and in work by hand.
type InboxSnapshot struct {
	Head
	Questions int        `json:"questions"` // to be answered
	Reviews   int        `json:"reviews"`   // tasks that a person reviews, does or has taken
	NeedsYou  List[Need] `json:"needs_you"` // oldest first
}

// Inbox is the reply about what waits for a person.
func (who Reader) Inbox(questions []api.Question, now time.Time, file agentformat.File) agentformat.Response[InboxSnapshot] {
	return respond(agentformat.StatusSuccess, inboxSnapshot(questions, now, who.words(file)), file)
}

// WholeInbox is what the file of a reply about the inbox has: the same keys, with nothing cut.
func (who Reader) WholeInbox(questions []api.Question, now time.Time) InboxSnapshot {
	return inboxSnapshot(questions, now, who.whole())
}

func inboxSnapshot(questions []api.Question, now time.Time, w words) InboxSnapshot {
	var f facts
	f.wait(questions)
	s := InboxSnapshot{Questions: len(f.questions), Reviews: len(f.reviews), NeedsYou: List[Need]{len(f.waiting), []Need{}}}
	for _, q := range f.waiting {
		s.NeedsYou.First = append(s.NeedsYou.First, needOf(&w, q, now))
	}
	f.flagWaits(&s.flags)
	s.Verdict = fmt.Sprintf("%s and %s wait for a person", english.Count(s.Questions, "question"), english.Count(s.Reviews, "task"))
	if len(f.waiting) == 0 {
		s.flags.add(FlagInboxEmpty, "nothing waits for a person")
		s.Verdict, s.Next = "nothing waits for a person", "nothing to ask; while a run goes on, "+w.who.wait()
	} else {
		s.Next = jsontext.Shorten(w.who.need(f.waiting, w.all()), maxNext)
	}
	s.Cut = w.cut
	return s
}

func (s InboxSnapshot) inRoom(bytes int) InboxSnapshot { s.room = bytes; return s }

// Capped is the snapshot as it is sent.
func (s InboxSnapshot) Capped() InboxSnapshot {
	cut := s.NeedsYou.keep(maxEntries)
	s.NeedsYou.First = slices.Clone(s.NeedsYou.First)
	steps := []step{down(&s.NeedsYou, 2)}
	for i := range s.NeedsYou.First {
		if i > 0 {
			steps = append(steps, s.NeedsYou.First[i].steps()...)
		}
	}
	steps = append(steps, down(&s.NeedsYou, 1))
	if len(s.NeedsYou.First) > 0 {
		steps = append(steps, s.NeedsYou.First[0].steps()...)
	}
	steps = append(steps, down(&s.NeedsYou, 0))
	if s.fit(func() int { return jsontext.Length(s) }, steps...) || cut {
		s.Cut = true
	}
	return s
}
