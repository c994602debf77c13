package conversation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Only what has ended, with its answer, is gone on from, by its own user in its own project; who can't
// is told why, and what to do.
func TestContinuable(t *testing.T) {
	text := ""
	answered := conversation.Exchange{ID: "Q-00001", Question: "why?", Outcome: conversation.OutcomeFailed, Answer: &text}
	for _, c := range []struct {
		name          string
		change        func(*conversation.Exchange)
		user, project string
		want          error
		says          string
	}{
		{"ended", func(*conversation.Exchange) {}, "", "", nil, ""},
		{"the same user and project", func(x *conversation.Exchange) { x.UserID, x.ProjectID = "ann", "silver" }, "ann", "silver", nil, ""},
		{"open", func(x *conversation.Exchange) { x.Outcome = "" }, "", "", conversation.ErrOpen, "Wait for its answer"},
		{"of an older version", func(x *conversation.Exchange) { x.Answer = nil }, "", "", conversation.ErrNoAnswer, "the version that recorded it kept none. Ask anew"},
		{"removed", func(x *conversation.Exchange) { x.Answer, x.Removed = nil, true }, "", "", conversation.ErrNoAnswer, "archive.keep"},
		{"another user's", func(x *conversation.Exchange) { x.UserID = "an\x1bn" }, "ben", "", conversation.ErrOthers, `Ask with --user an\x1bn and without --project`},
		{"somebody's", func(x *conversation.Exchange) { x.UserID = "ann" }, "", "", conversation.ErrOthers, "with --user ann"},
		{"nobody's", func(*conversation.Exchange) {}, "ann", "", conversation.ErrOthers, "without --user"},
		{"of another project", func(x *conversation.Exchange) { x.ProjectID = "gold" }, "", "silver", conversation.ErrOthers, "with --project gold"},
	} {
		x := answered
		c.change(&x)
		err := x.Continuable(c.user, c.project)
		if !errors.Is(err, c.want) || err != nil && (!strings.HasPrefix(err.Error(), "Q-00001 can't be continued: ") || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// An answer and the names of who asked have their bounds.
func TestBounds(t *testing.T) {
	open := do(t, conversation.Conversation{}, ask("why?"))
	for n, want := range map[int]error{conversation.MaxAnswer: nil, conversation.MaxAnswer + 1: work.ErrTooLong} {
		text := strings.Repeat("a", n)
		if _, err := conversation.Decide(open, answer(func(a *conversation.Answer) { a.Text = &text })); !errors.Is(err, want) {
			t.Errorf("an answer of %d bytes: %v", n, err)
		}
	}
	for name, change := range map[string]func(*conversation.Ask, string){
		"user": func(a *conversation.Ask, s string) { a.UserID = s }, "project": func(a *conversation.Ask, s string) { a.ProjectID = s },
	} {
		for n, want := range map[int]error{256: nil, 257: work.ErrTooLong} {
			a := ask("why?")
			change(&a, strings.Repeat("a", n))
			if _, err := conversation.Decide(conversation.Conversation{}, a); !errors.Is(err, want) {
				t.Errorf("a %s of %d bytes: %v", name, n, err)
			}
		}
	}
}
