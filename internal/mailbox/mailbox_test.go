package mailbox

import (
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Whoever asks after a session that has ended does not bring its mailbox back.
func TestForgottenSession(t *testing.T) {
	h := New()
	lost := h.Connect("s", time.Time{})
	h.Forget("s")
	select {
	case <-lost:
	default:
		t.Error("the connection goes on")
	}
	if in, lost := h.Connected("s"); in || lost != nil {
		t.Error("it is in touch")
	}
	if commands, more, lost := h.Next("s"); commands != nil || more != nil || lost != nil {
		t.Error("there is something to say to it")
	}
	if _, ok := <-h.Ask("s", api.SessionCommand{ID: "tell/1"}); ok {
		t.Error("it was told something")
	}
	h.Wrote("s", "tell/1")
	h.Heard("s", "a line", time.Time{})
	if len(h.all) > 0 {
		t.Errorf("it is remembered: %v", h.all)
	}
}

// A tell that is taken back is not sent any more, and nobody waits for its answer.
func TestTakeBack(t *testing.T) {
	h := New()
	h.Connect("s", time.Time{})
	answer := h.Ask("s", api.SessionCommand{ID: "tell/1"})
	h.TakeBack("s", "tell/1")
	h.Answered("s", "tell/1", true)
	if commands, _, _ := h.Next("s"); len(commands) > 0 {
		t.Errorf("to be sent: %+v", commands)
	}
	select {
	case told := <-answer:
		t.Errorf("answered: %v", told)
	default:
	}
	h.TakeBack("nobody", "tell/1")
	if h.Len() != 1 {
		t.Errorf("%d mailboxes", h.Len())
	}
}

// What was sent and not answered is sent again on the next connection; what was answered is not.
func TestSentAgain(t *testing.T) {
	h := New()
	delivered := 0
	h.Send("s", api.SessionCommand{ID: "prompt/1"}, func() { delivered++ })
	h.Send("s", api.SessionCommand{ID: "end/1"}, nil)
	lost := h.Connect("s", time.Time{})
	for _, id := range []string{"prompt/1", "end/1"} {
		h.Wrote("s", id)
	}
	if commands, _, _ := h.Next("s"); len(commands) > 0 || delivered != 1 {
		t.Errorf("sent twice on one connection: %+v, delivered %d times", commands, delivered)
	}
	h.Answered("s", "prompt/1", true)
	h.Connect("s", time.Time{})
	select {
	case <-lost:
	default:
		t.Error("the older connection goes on")
	}
	if commands, _, _ := h.Next("s"); len(commands) != 1 || commands[0].ID != "end/1" {
		t.Errorf("on the next connection: %+v", commands)
	}
	h.Disconnect("s", lost) // it does not count any more
	if !h.InTouch("s") {
		t.Error("an older connection hangs up the newer one")
	}
}

// An agent is quiet since it was heard of last, or since its session is in touch; what it has said stays when it is heard of
// without a word.
func TestQuiet(t *testing.T) {
	h, began := New(), time.Unix(1000, 0)
	want := func(says string, quiet time.Time) {
		t.Helper()
		if s, q, away := h.Seen("s"); s != says || !q.Equal(quiet) || away {
			t.Errorf("%q, quiet since %v, away: %v; want %q, %v", s, q, away, says, quiet)
		}
	}
	h.Connect("s", began)
	want("", began)
	h.Heard("s", "I look.", began.Add(time.Minute))
	want("I look.", began.Add(time.Minute))
	h.Heard("s", "", time.Time{})
	want("I look.", time.Time{})
	h.Connect("s", began.Add(time.Hour))
	want("I look.", began.Add(time.Hour))
}

// Each of these faults is noticed by the test that it names.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestForgottenSession$", Mutant: mutant.Mutant{Name: "asking whether an ended session is in touch remembers it", File: "mailbox.go",
			Old: "m := s.all[session]\n\tif m == nil {\n\t\treturn false, nil", New: "m := s.of(session)\n\tif m == nil {\n\t\treturn false, nil"}},
		{By: "^TestForgottenSession$", Mutant: mutant.Mutant{Name: "a connection to an ended session goes on", File: "mailbox.go",
			Old: "\t\tm.hangUp()\n\t}\n\tdelete(s.all, session)", New: "\t}\n\tdelete(s.all, session)"}},
		{By: "^TestTakeBack$", Mutant: mutant.Mutant{Name: "a tell that was taken back is answered", File: "mailbox.go",
			Old: "\t\tdelete(m.answers, id)\n\t}\n}\n\n// Connect", New: "\t}\n}\n\n// Connect"}},
		{By: "^TestSentAgain$", Mutant: mutant.Mutant{Name: "what was sent once is never sent again", File: "mailbox.go",
			Old: "m.wake, m.sent, m.quiet = make(chan struct{}), map[string]bool{}, now", New: "m.wake, m.quiet = make(chan struct{}), now"}},
		{By: "^TestQuiet$", Mutant: mutant.Mutant{Name: "an agent that is heard of without a word has said nothing", File: "mailbox.go",
			Old: "if says != \"\" {", New: "if true {"}},
		{By: "^TestSentAgain$", Mutant: mutant.Mutant{Name: "an older connection hangs up the newer one", File: "mailbox.go",
			Old: "(<-chan struct{})(m.lost) == lost", New: "lost != nil"}},
	})
}
