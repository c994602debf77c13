package backup_test

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Conversations are backed up and restored with all that was said, and go on.
func TestConversations(t *testing.T) {
	dir := t.TempDir()
	b, _ := open(t, dir, "")
	signal := api.Signalled{Turn: 1, Type: agentsig.KindNeedTurn, At: time.Unix(0, 0), RawXML: strings.Repeat("said ", 2000)}
	for range 2 {
		c, err := b.Ask(t.Context(), work.OperatorActor, api.Ask{Question: strings.Repeat("long ", 2000)}, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Signalled(c.ID, signal, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Answered("Q-00001", api.Answered{Outcome: conversation.OutcomeAnswered}, ""); err != nil {
		t.Fatal(err)
	}
	closeBox(t, b)
	restored := t.TempDir()
	if r, err := restore(t.Context(), backUp(t, dir), restored); err != nil || r.Events != 5 || r.Items != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	b, found := open(t, restored, "")
	defer closeBox(t, b)
	if found.Events != 5 || len(found.Notes) > 0 {
		t.Errorf("%+v", found)
	}
	if _, err := b.Signalled("Q-00001", signal, ""); err == nil {
		t.Error("what has ended goes on")
	}
	if _, err := b.Signalled("Q-00002", signal, ""); err != nil {
		t.Error(err)
	}
	if c, err := b.Ask(t.Context(), work.OperatorActor, api.Ask{Question: "why?"}, ""); err != nil || c.ID != "Q-00003" {
		t.Errorf("%+v, %v", c, err)
	}
}
