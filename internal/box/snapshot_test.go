package box

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/engine/enginetest"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A snapshot of an older form, which has no conversations, is not taken for one that
// says that there are none.
func TestOlderSnapshot(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	b := oneItem(t, dir, nil)
	if _, err := b.Ask(t.Context(), work.OperatorActor, api.Ask{Question: "why?"}, ""); err != nil {
		t.Fatal(err)
	}
	signer := b.keys.Signer
	closeBox(t, b)
	rewrite := func(format int) {
		t.Helper()
		data, err := os.ReadFile(dir.path(snapshotFile))
		if err != nil {
			t.Fatal(err)
		}
		var head snapshotHead
		if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&head); err != nil {
			t.Fatal(err)
		}
		var body, file bytes.Buffer
		older := struct{ Items []work.Item }{}
		if err := gob.NewEncoder(&body).Encode(older); err != nil {
			t.Fatal(err)
		}
		head.Format, head.MAC = format, snapshotMAC(signer, head.Checkpoint, body.Bytes())
		if err := gob.NewEncoder(&file).Encode(head); err != nil {
			t.Fatal(err)
		}
		file.Write(body.Bytes())
		if err := os.WriteFile(dir.path(snapshotFile), file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(2)
	b = inDir(t, dir)
	if _, err := b.Answered("Q-00001", api.Answered{Outcome: conversation.OutcomeAnswered}, ""); err != nil {
		t.Error(err)
	}
	closeBox(t, b)
	// The same with the form of today would be believed.
	rewrite(snapshotFormat)
	b = inDir(t, dir)
	defer closeBox(t, b)
	if _, err := b.state.conversationNamed("Q-00001"); !errors.Is(err, conversation.ErrNoConversation) {
		t.Errorf("the snapshot was not read: %v", err)
	}
}

// An engine that fails, and does not say what became of an append, makes no signal
// come twice or not at all.
func TestSignalsOnBadEngine(t *testing.T) {
	t.Parallel()
	b := onFiles(t, Dir(t.TempDir()), archive.Dir(t.TempDir()), enginetest.RandomFaults(1, 3))
	defer closeBox(t, b)
	again := func(what string, try func() error) {
		t.Helper()
		for range 100 {
			err := try()
			if err == nil {
				return
			}
			if c := Problem(err).Code; c != api.CodeUnknown {
				t.Fatalf("%s: %v", what, err)
			}
		}
		t.Fatalf("%s: no answer", what)
	}
	var c api.Conversation
	again("ask", func() (err error) {
		c, err = b.Ask(t.Context(), work.OperatorActor, api.Ask{Question: "why?"}, "ask")
		return err
	})
	const signals = 50
	for turn := range signals {
		s := api.Signalled{Turn: turn + 1, Type: agentsig.KindNeedTurn, At: time.Unix(0, 0)}
		again("signal", func() error {
			_, err := b.Signalled(c.ID, s, fmt.Sprint("signal ", turn))
			return err
		})
	}
	again("end", func() error {
		_, err := b.Answered(c.ID, api.Answered{Outcome: conversation.OutcomeAnswered}, "end")
		return err
	})
	if got := b.state.conversation(c.Subject); got.Signals != signals || !got.Ended() || got.Seq != signals+2 {
		t.Errorf("%+v", got)
	}
}
