package box

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// answered has a question recorded, and its answer.
func (k *keeper) answered(a api.Ask, text *string) string {
	k.t.Helper()
	c, err := k.Ask(k.t.Context(), work.OperatorActor, a, "")
	if err == nil {
		_, err = k.Answered(c.ID, api.Answered{Outcome: conversation.OutcomeAnswered, Turns: 1, Text: text}, "")
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return c.ID
}

func (k *keeper) exchange(id string) conversation.Exchange {
	k.t.Helper()
	x, err := k.Exchange(id)
	if err != nil {
		k.t.Fatal(err)
	}
	return x
}

// What was asked and answered can be had, whole, by its name or as the latest: from memory, after it
// has left that, and by a box that comes back with its snapshot or without it.
func TestExchange(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	if _, err := k.Exchange(api.LatestConversation); !errors.Is(err, conversation.ErrNoConversation) {
		t.Errorf("before anything was asked: %v", err)
	}
	if _, err := k.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "Q-00001", Title: "no conversation"}, ""); err != nil {
		t.Fatal(err)
	}
	short, empty, long := "because", "", strings.Repeat("because. ", maxInline)
	question := strings.Repeat("why? ", maxInline)
	first := k.answered(api.Ask{Question: "why?", UserID: "ann", ProjectID: "silver"}, &short)
	second := k.answered(api.Ask{Question: question, UserID: "ann", ProjectID: "silver", Continues: first}, &long)
	third := k.answered(api.Ask{Question: "and?", UserID: "ann", ProjectID: "silver", Continues: api.LatestConversation}, &empty)
	open, err := k.Ask(t.Context(), work.OperatorActor, api.Ask{Question: "open?"}, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []conversation.Exchange{
		{ID: "Q-00002", Question: "why?", UserID: "ann", ProjectID: "silver", Outcome: conversation.OutcomeAnswered, Answer: &short},
		{ID: "Q-00003", Question: question, UserID: "ann", ProjectID: "silver", Outcome: conversation.OutcomeAnswered, Answer: &long, Continues: first},
		{ID: "Q-00004", Question: "and?", UserID: "ann", ProjectID: "silver", Outcome: conversation.OutcomeAnswered, Answer: &empty, Continues: second},
		{ID: "Q-00005", Question: "open?"},
	}
	for n, before := range []func(){
		func() {},
		func() { letGo(t, k.Box) },
		k.reopen,
		func() {
			closeBox(t, k.Box)
			if err := errors.Join(os.Remove(k.dir.path(snapshotFile)), os.RemoveAll(k.dir.path(indexDir))); err != nil {
				t.Fatal(err)
			}
			k.open()
		},
	} {
		before()
		got := []conversation.Exchange{k.exchange(first), k.exchange(second), k.exchange(third), k.exchange(open.ID)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d: %s", n, diff)
		}
		if latest := k.exchange(api.LatestConversation); latest.ID != open.ID {
			t.Errorf("%d: the latest is %s", n, latest.ID)
		}
	}
	for _, id := range []string{"Q-00001", "Q-00009", "", "Q-1\x1b"} {
		if x, err := k.Exchange(id); !errors.Is(err, conversation.ErrNoConversation) {
			t.Errorf("%q: %+v, %v", id, x, err)
		}
	}
	k.verify()
}

// What can't be gone on from is refused, and leaves nothing.
func TestContinueRefused(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	text := "because"
	anns := k.answered(api.Ask{Question: "why?", UserID: "ann"}, &text)
	old := k.answered(api.Ask{Question: "why?"}, nil) // as versions did that kept no answer
	open, err := k.Ask(t.Context(), work.OperatorActor, api.Ask{Question: "open?"}, "")
	if err != nil {
		t.Fatal(err)
	}
	events := k.Status().Events
	for name, c := range map[string]struct {
		ask  api.Ask
		want error
	}{
		"nothing":          {api.Ask{Continues: "Q-00009"}, conversation.ErrNoConversation},
		"what is open":     {api.Ask{Continues: open.ID}, conversation.ErrOpen},
		"another's":        {api.Ask{Continues: anns, UserID: "ben"}, conversation.ErrOthers},
		"another project":  {api.Ask{Continues: anns, UserID: "ann", ProjectID: "gold"}, conversation.ErrOthers},
		"what has no text": {api.Ask{Continues: old}, conversation.ErrNoAnswer},
		"a secret user":    {api.Ask{UserID: "ghp_" + strings.Repeat("a1B2", 9)}, errSecretID},
		"a secret project": {api.Ask{ProjectID: "ghp_" + strings.Repeat("a1B2", 9)}, errSecretID},
		"a long user":      {api.Ask{UserID: strings.Repeat("a", 300)}, work.ErrTooLong},
	} {
		c.ask.Question = "and? " + strings.Repeat("why? ", maxInline)
		if got, err := k.Ask(t.Context(), work.OperatorActor, c.ask, ""); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	text = strings.Repeat("a", conversation.MaxAnswer+1)
	if _, err := k.Answered(open.ID, api.Answered{Outcome: conversation.OutcomeAnswered, Text: &text}, ""); !errors.Is(err, work.ErrTooLong) {
		t.Errorf("a long answer: %v", err)
	}
	if got := k.Status().Events; got != events {
		t.Errorf("%d events, and %d before", got, events)
	}
	if _, err := os.Stat(k.dir.path("archive/blob")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was refused is stored: %v", err)
	}
}

// An answer that is too long for an event is an output: it goes when it is old, and then its
// conversation can't be continued. Its question stays. A secret is in neither.
func TestAnswerIsRemoved(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	long, short := strings.Repeat("because. ", maxInline)+secret, "because of "+secret
	first, second := k.answered(api.Ask{Question: "why?"}, &long), k.answered(api.Ask{Question: "and why?"}, &short)
	for _, id := range []string{first, second} {
		if x := k.exchange(id); x.Answer == nil || strings.Contains(*x.Answer, secret) || !strings.Contains(*x.Answer, "[redacted:") {
			t.Errorf("%s keeps its secret: %v", id, x.Answer)
		}
	}
	letGo(t, k.Box)
	k.pass(2 * ninetyDays)
	k.remove()
	x := k.exchange(first)
	if x.Answer != nil || !x.Removed || x.Question != "why?" || x.Outcome != conversation.OutcomeAnswered {
		t.Errorf("%+v", x)
	}
	if err := x.Continuable("", ""); !errors.Is(err, conversation.ErrNoAnswer) || !strings.Contains(err.Error(), "archive.keep") {
		t.Errorf("%v", err)
	}
	if x := k.exchange(second); x.Answer == nil {
		t.Errorf("a short answer is gone: %+v", x)
	}
	k.verify()
}

// What was recorded between question and answer is neither of them.
func TestExchangeOfMany(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	c, err := k.Ask(t.Context(), work.OperatorActor, api.Ask{Question: "why?"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		if _, err := k.CallDecided(work.OperatorActor, c.ID, api.CallDecided{Call: n + 1, Turn: 1, Tool: "look", By: conversation.ByNobody}, fmt.Sprint("call ", n)); err != nil {
			t.Fatal(err)
		}
	}
	text := "because"
	if _, err := k.Answered(c.ID, api.Answered{Outcome: conversation.OutcomePartial, Text: &text, Cut: true}, ""); err != nil {
		t.Fatal(err)
	}
	if x := k.exchange(c.ID); x.Question != "why?" || x.Outcome != conversation.OutcomePartial || *x.Answer != text || !x.Cut {
		t.Errorf("%+v", x)
	}
}
