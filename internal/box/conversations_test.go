package box_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

const needTurn = `<signal type="need_turn"><reason>to read the parser</reason><expected_turns>2</expected_turns><confidence>0.8</confidence></signal>`

// said is a signal of a turn, read from a model's reply.
func said(t *testing.T, turn int, reply string) api.Signalled {
	t.Helper()
	r, ok := agentsig.ParseReflection(reply, time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	if !ok {
		t.Fatalf("%q has no signal", reply)
	}
	return api.NewSignalled(turn, r)
}

var question = api.Ask{Question: "where is the parser?", Class: "code", Provider: "local", Model: "small"}

func (u *bench) ask(t *testing.T) api.Conversation {
	t.Helper()
	c, err := u.client.Ask(t.Context(), api.NewKey(), question)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// history returns the events of an item or a conversation, with their names.
func (u *bench) history(t *testing.T, id string) (events []ledger.Event, names []string) {
	t.Helper()
	err := u.client.Events(t.Context(), id, 0, false, func(e api.Event) error {
		event, err := ledger.Decode(e.Event)
		events, names = append(events, event), append(names, e.Work)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return events, names
}

// code returns the code of the problem that a request was answered with.
func code(err error) string {
	var p *api.Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return fmt.Sprint(err)
}

// A question, its signals and its end are recorded as they were said, under one name.
func TestConversation(t *testing.T) {
	t.Parallel()
	u := up(t, t.TempDir())
	u.add(t, "T-1", agentsig.PhaseDraft)
	c := u.ask(t)
	if c.ID != "Q-00001" || c.Subject == "" {
		t.Fatalf("%+v", c)
	}
	signalled, err := u.client.Signalled(t.Context(), api.NewKey(), c.ID, said(t, 1, needTurn))
	if want := (api.Recorded{Event: conversation.TypeSignalled, Work: c.ID, Sequence: 3}); err != nil || signalled != want {
		t.Errorf("%+v, %v", signalled, err)
	}
	end := api.Answered{Outcome: conversation.OutcomePartial, Turns: 2, Signals: 1, TokensIn: 300, TokensOut: 40, Missing: "the tests"}
	ended, err := u.client.Answered(t.Context(), api.NewKey(), c.ID, end)
	if want := (api.Recorded{Event: conversation.TypeEnded, Work: c.ID, Sequence: 4}); err != nil || ended != want {
		t.Errorf("%+v, %v", ended, err)
	}
	events, names := u.history(t, c.ID)
	if len(events) != 3 || !cmp.Equal(names, []string{c.ID, c.ID, c.ID}) {
		t.Fatalf("%d events of %q", len(events), names)
	}
	for n, want := range []struct{ kind, actor, payload string }{
		{conversation.TypeStarted, "operator", `{"id":"Q-00001","question":"where is the parser?","class":"code","provider":"local","model":"small"}`},
		{conversation.TypeSignalled, "model", `{"turn":1,"type":"need_turn","confidence":0.8,"fields":[{"name":"reason","value":"to read the parser"},{"name":"expected_turns","value":2}],` +
			`"raw_xml":` + must(json.Marshal(needTurn)) + `,"at":"2026-01-02T12:00:00Z"}`},
		{conversation.TypeEnded, "oracle", `{"outcome":"partial","turns":2,"signals":1,"tokens_in":300,"tokens_out":40,"missing":"the tests"}`},
	} {
		e := events[n]
		if e.Type != want.kind || e.Actor != want.actor || e.Subject != c.Subject || e.Lease != "" || e.Key == "" || !sameJSON(t, string(e.Payload), want.payload) {
			t.Errorf("event %d: %+v\n%s", n, e, e.Payload)
		}
	}
	if s := u.Status(); s.Items != 1 || s.Leases != 0 || s.Events != 4 {
		t.Errorf("%+v", s)
	}
	u.verify(t)
}

func sameJSON(t *testing.T, got, want string) bool {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal([]byte(got), &a), json.Unmarshal([]byte(want), &b)); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(a, b)
}

// A box that comes back goes on with its conversations: with its snapshot, without it,
// without the index, and after a repair. By itself it records nothing.
func TestConversationAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u := up(t, dir)
	over, open := u.ask(t), u.ask(t)
	if _, err := u.client.Signalled(t.Context(), api.NewKey(), open.ID, said(t, 1, needTurn)); err != nil {
		t.Fatal(err)
	}
	if _, err := u.client.Answered(t.Context(), api.NewKey(), over.ID, api.Answered{Outcome: conversation.OutcomeStuck}); err != nil {
		t.Fatal(err)
	}
	remove := func(name string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	events := u.Status().Events
	for n, before := range []func(){
		func() {},
		func() { remove("snapshot") },
		func() { remove("index") },
		func() { remove("index"); remove("snapshot") },
		func() {
			if err := os.WriteFile(filepath.Join(dir, "archive", "checkpoint"), []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
			if done, _, err := box.Repair(t.Context(), box.Options{Dir: box.Dir(dir)}); err != nil || len(done) == 0 {
				t.Fatalf("%q, %v", done, err)
			}
		},
	} {
		u.down(t)
		before()
		u = up(t, dir)
		if got := u.Status().Events; got != events || u.found.Snapshot != (n != 1 && n != 3) {
			t.Errorf("start %d: %d events of %d, found %+v", n, got, events, u.found)
		}
		if _, err := u.client.Signalled(t.Context(), api.NewKey(), over.ID, said(t, 1, needTurn)); code(err) != api.CodeConflict {
			t.Errorf("start %d: after the end: %v", n, err)
		}
		if _, err := u.client.Signalled(t.Context(), api.NewKey(), open.ID, said(t, n+2, needTurn)); err != nil {
			t.Errorf("start %d: %v", n, err)
		}
		if c := u.ask(t); c.ID != fmt.Sprintf("Q-%05d", n+3) {
			t.Errorf("start %d: the next conversation is %s", n, c.ID)
		}
		events += 2
	}
	if all, _ := u.history(t, open.ID); len(all) != 7 {
		t.Errorf("%d events", len(all))
	}
	u.verify(t)
}

// A request that comes twice with its key is recorded once, also after the end; a key
// is for one request.
func TestConversationIsRepeated(t *testing.T) {
	t.Parallel()
	u := up(t, t.TempDir())
	ctx := t.Context()
	first, err := u.Ask(ctx, work.OperatorActor, question, "ask")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := u.Ask(ctx, work.OperatorActor, question, "ask"); err != nil || again != first {
		t.Errorf("asked twice: %+v, then %+v, %v", first, again, err)
	}
	signal, end := said(t, 1, needTurn), api.Answered{Outcome: conversation.OutcomeAnswered, Turns: 1}
	once, err := u.Signalled(first.ID, signal, "signal")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := u.Signalled(first.ID, signal, "signal"); err != nil || again != once {
		t.Errorf("signalled twice: %+v, then %+v, %v", once, again, err)
	}
	ended, err := u.Answered(first.ID, end, "signal") // keys are for one kind of request each
	if err != nil {
		t.Fatal(err)
	}
	if again, err := u.Answered(first.ID, end, "signal"); err != nil || again != ended {
		t.Errorf("ended twice: %+v, then %+v, %v", ended, again, err)
	}
	if again, err := u.Signalled(first.ID, signal, "signal"); err != nil || again != once {
		t.Errorf("signalled again after the end: %+v, then %+v, %v", once, again, err)
	}
	if r, err := u.Signalled(first.ID, signal, "new"); !errors.Is(err, conversation.ErrEnded) {
		t.Errorf("signalled after the end: %+v, %v", r, err)
	}
	if r, err := u.Answered(first.ID, end, "new"); !errors.Is(err, conversation.ErrEnded) {
		t.Errorf("ended after the end: %+v, %v", r, err)
	}
	if s := u.Status(); s.Events != 3 {
		t.Errorf("%d events, want 3", s.Events)
	}
}

// Requests at once with one key are one.
func TestConversationIsRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	u := up(t, t.TempDir())
	var all sync.WaitGroup
	asked := make([]api.Conversation, 8)
	for n := range asked {
		all.Go(func() {
			var err error
			if asked[n], err = u.Ask(t.Context(), work.OperatorActor, question, "ask"); err != nil {
				t.Error(err)
			}
			if _, err := u.Signalled(asked[n].ID, said(t, 1, needTurn), "signal"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(slices.Compact(asked)) != 1 || u.Status().Events != 2 {
		t.Errorf("%+v, %d events", asked, u.Status().Events)
	}
}

// A hundred signals at once are each recorded once, one after the other, by a box that
// is started anew in the middle.
func TestManySignals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u := up(t, dir)
	c := u.ask(t)
	for _, first := range []int{1, 51} {
		var all sync.WaitGroup
		for turn := first; turn < first+50; turn++ {
			signal := said(t, turn, needTurn)
			all.Go(func() {
				if _, err := u.client.Signalled(t.Context(), api.NewKey(), c.ID, signal); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if first == 1 {
			u.down(t)
			u = up(t, dir)
		}
	}
	events, _ := u.history(t, c.ID)
	turns := map[int]int{}
	for n, e := range events[1:] {
		var p conversation.Signalled
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			t.Fatal(err)
		}
		turns[p.Turn]++
		if e.ItemSeq != uint64(n)+2 || (p.Turn <= 50) != (n < 50) {
			t.Errorf("event %d of the conversation is at place %d, of turn %d", n+2, e.ItemSeq, p.Turn)
		}
	}
	if len(events) != 101 || len(turns) != 100 {
		t.Errorf("%d events, %d turns", len(events), len(turns))
	}
	u.verify(t)
}

// What can't be recorded is refused with what is wrong, and leaves nothing.
func TestConversationRefusals(t *testing.T) {
	t.Parallel()
	u := up(t, t.TempDir())
	ctx := t.Context()
	u.add(t, "Q-00001", agentsig.PhaseDraft)
	c := u.ask(t)
	if c.ID != "Q-00002" {
		t.Errorf("a name is given twice: %+v", c)
	}
	if _, err := u.client.Add(ctx, api.AddWork{ID: c.ID, Title: "a title"}); code(err) != api.CodeConflict {
		t.Errorf("an item with a conversation's name: %v", err)
	}
	signal := func(id string, change func(*api.Signalled)) error {
		s := said(t, 1, needTurn)
		change(&s)
		_, err := u.client.Signalled(ctx, api.NewKey(), id, s)
		return err
	}
	asked := func(q api.Ask) error {
		_, err := u.client.Ask(ctx, api.NewKey(), q)
		return err
	}
	_, unfinished := u.client.Answered(ctx, api.NewKey(), c.ID, api.Answered{Outcome: "won"})
	_, unknown := u.client.Answered(ctx, api.NewKey(), "Q-1", api.Answered{Outcome: conversation.OutcomeAnswered})
	_, noWork := u.client.Work(ctx, c.ID)
	for name, refused := range map[string]struct {
		err  error
		code string
	}{
		"a signal in no conversation":  {signal("Q-1", func(*api.Signalled) {}), api.CodeNotFound},
		"a signal in an item":          {signal("Q-00001", func(*api.Signalled) {}), api.CodeNotFound},
		"an end of no conversation":    {unknown, api.CodeNotFound},
		"a conversation as work":       {noWork, api.CodeNotFound},
		"no question":                  {asked(api.Ask{Question: " "}), api.CodeInvalid},
		"a long question":              {asked(api.Ask{Question: strings.Repeat("a", 128<<10+1)}), api.CodeInvalid},
		"a very long question":         {asked(api.Ask{Question: strings.Repeat("a", 1<<20)}), api.CodeInvalid},
		"a long name":                  {asked(api.Ask{Question: "a", Model: strings.Repeat("a", 300)}), api.CodeInvalid},
		"turn 0":                       {signal(c.ID, func(s *api.Signalled) { s.Turn = 0 }), api.CodeInvalid},
		"an agent's signal":            {signal(c.ID, func(s *api.Signalled) { s.Type = agentsig.KindReviewPassed }), api.CodeInvalid},
		"a confidence of 2":            {signal(c.ID, func(s *api.Signalled) { s.Confidence = 2 }), api.CodeInvalid},
		"no time":                      {signal(c.ID, func(s *api.Signalled) { s.At = time.Time{} }), api.CodeInvalid},
		"a time that can't be written": {signal(c.ID, func(s *api.Signalled) { s.At = time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)) }), api.CodeInvalid},
		"a field with members":         {signal(c.ID, func(s *api.Signalled) { s.Fields = []work.Field{{Name: "a", Value: map[string]any{"blob": "x"}}} }), api.CodeInvalid},
		"a list of lists":              {signal(c.ID, func(s *api.Signalled) { s.Fields = []work.Field{{Name: "a", Value: []any{[]any{"x"}}}} }), api.CodeInvalid},
		"an outcome that there is not": {unfinished, api.CodeInvalid},
	} {
		if code(refused.err) != refused.code {
			t.Errorf("%s: %v", name, refused.err)
		}
	}
	if s := u.Status(); s.Events != 2 {
		t.Errorf("%d events, want 2", s.Events)
	}
	if _, err := os.Stat(filepath.Join(string(u.dir), "archive", "blob")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was refused is stored: %v", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.server.URL+"/v1/conversations", strings.NewReader(`{"question":"a","turn":1}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+u.token(t, "api.token"))
	answer, err := u.server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a member that there is not: %s", answer.Status)
	}
}

// What is too long for an event is kept beside it, whole, and the ledger refers to it.
func TestLongConversation(t *testing.T) {
	t.Parallel()
	u := up(t, t.TempDir())
	ctx := t.Context()
	long := question
	long.Question = strings.Repeat("é", 8<<10)
	c, err := u.client.Ask(ctx, api.NewKey(), long)
	if err != nil {
		t.Fatal(err)
	}
	reply := `<signal type="stuck"><attempted>["` + strings.Repeat("a", 300) + `","b"]</attempted><blocker>no files</blocker><confidence>0.4</confidence></signal>` + "\n"
	signal := said(t, 1, reply)
	signal.RawXML += strings.Repeat("<", 60<<10)
	signal.Fields = append(signal.Fields, work.Field{Name: "text", Value: strings.Repeat("a", 2000)})
	for range 10_000 {
		signal.Fields = append(signal.Fields, work.Field{Name: "more", Value: "and more"})
	}
	if _, err := u.client.Signalled(ctx, api.NewKey(), c.ID, signal); err != nil {
		t.Fatal(err)
	}
	events, _ := u.history(t, c.ID)
	var asked conversation.Asked
	var signalled conversation.Signalled
	if err := errors.Join(json.Unmarshal(events[0].Payload, &asked), json.Unmarshal(events[1].Payload, &signalled)); err != nil {
		t.Fatal(err)
	}
	if asked.Stored == nil || asked.Stored.Size != 16<<10 || len(asked.Question) > 1100 || !strings.HasPrefix(long.Question, strings.TrimSuffix(asked.Question, "…")) {
		t.Errorf("%+v", asked)
	}
	if signalled.Stored == nil || signalled.Stored.Size != int64(len(signal.RawXML)) || signalled.RawXML != "" {
		t.Errorf("%+v", signalled.Stored)
	}
	fields := work.Said{Fields: signalled.Fields}
	if fields.Field("blocker") != "no files" || len(fields.Field("text")) > 1100 || len(signalled.Fields) < 10 || len(signalled.Fields) > 200 {
		t.Errorf("%d fields: %.2000v", len(signalled.Fields), signalled.Fields)
	}
	u.down(t)
	key, err := u.dir.Verifier()
	if err != nil {
		t.Fatal(err)
	}
	if r, err := ledger.Verify(osDir(u.dir.Archive("")), key); err != nil || r.Events != 2 || r.Blobs != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A secret in a question, a field, the XML or what is missing reaches no file.
func TestConversationSecrets(t *testing.T) {
	t.Parallel()
	u := up(t, t.TempDir())
	ctx := t.Context()
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	for _, text := range []string{"why is " + secret + " refused?", strings.Repeat("much was said. ", 500) + secret} {
		c, err := u.client.Ask(ctx, api.NewKey(), api.Ask{Question: text, Class: secret, Provider: secret, Model: secret})
		if err != nil {
			t.Fatal(err)
		}
		signal := said(t, 1, needTurn)
		signal.RawXML = strings.Replace(needTurn, "to read the parser", text, 1)
		signal.Fields = []work.Field{{Name: "reason", Value: text}, {Name: secret, Value: []string{"a", text}}}
		if _, err := u.client.Signalled(ctx, api.NewKey(), c.ID, signal); err != nil {
			t.Fatal(err)
		}
		if _, err := u.client.Answered(ctx, api.NewKey(), c.ID, api.Answered{Outcome: conversation.OutcomePartial, Missing: secret}); err != nil {
			t.Fatal(err)
		}
	}
	u.down(t)
	marks := 0
	err := filepath.WalkDir(string(u.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s contains the secret", path)
		}
		marks += bytes.Count(data, []byte("[redacted:"))
		return err
	})
	if err != nil || marks < 14 {
		t.Errorf("%d redactions, %v: the secret was not there to begin with", marks, err)
	}
}

// A call is recorded before it is made, without its secrets, and once for each key; what came of it
// is recorded after it, also by a box that was started in between.
func TestConversationCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u := up(t, dir)
	ctx := t.Context()
	c := u.ask(t)
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	call := api.CallDecided{Call: 1, Turn: 2, Tool: "write_note", Server: "notes", Arguments: `{"text":"` + secret + `"}`, Allowed: true, By: conversation.ByPerson}
	first, err := u.CallDecided(work.OperatorActor, c.ID, call, "call")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := u.CallDecided(work.OperatorActor, c.ID, call, "call"); err != nil || again != first {
		t.Errorf("decided twice: %+v, then %+v, %v", first, again, err)
	}
	if _, err := u.client.CallDecided(ctx, api.NewKey(), c.ID, call); code(err) != api.CodeConflict {
		t.Errorf("the same call again: %v", err)
	}
	refused := api.CallDecided{Call: 2, Turn: 2, Tool: "write_note", Arguments: `{"text":"` + strings.Repeat("x", 60<<10) + `"}`, By: "model"}
	if _, err := u.client.CallDecided(ctx, api.NewKey(), c.ID, refused); code(err) != api.CodeInvalid {
		t.Errorf("decided by the model: %v", err)
	}
	if _, err := os.Stat(filepath.Join(string(u.dir), "archive", "blob")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was refused is stored: %v", err)
	}
	u.down(t)
	u = up(t, dir)
	if _, err := u.client.CallEnded(ctx, api.NewKey(), c.ID, api.CallEnded{Call: 1, Outcome: conversation.CallUnknown, Bytes: 4}); err != nil {
		t.Fatal(err)
	}
	if _, err := u.client.CallEnded(ctx, api.NewKey(), c.ID, api.CallEnded{Call: 1, Outcome: conversation.CallDone}); code(err) != api.CodeConflict {
		t.Errorf("an end after the end: %v", err)
	}
	refused.By, refused.Reason = conversation.ByNobody, "there is no terminal"
	if _, err := u.client.CallDecided(ctx, api.NewKey(), c.ID, refused); err != nil {
		t.Fatal(err)
	}
	events, _ := u.history(t, c.ID)
	if len(events) != 4 {
		t.Fatalf("%d events", len(events))
	}
	for n, want := range []struct{ kind, actor, payload string }{
		{conversation.TypeCallDecided, "operator", `{"call":1,"turn":2,"tool":"write_note","server":"notes","arguments":"{\"text\":\"[redacted:github-token]\"}","allowed":true,"by":"person"}`},
		{conversation.TypeCallEnded, "oracle", `{"call":1,"outcome":"unknown","bytes":4}`},
		{conversation.TypeCallDecided, "oracle", ""},
	} {
		e := events[n+1]
		if e.Type != want.kind || e.Actor != want.actor || want.payload != "" && !sameJSON(t, string(e.Payload), want.payload) {
			t.Errorf("event %d: %+v\n%s", n, e, e.Payload)
		}
	}
	var long conversation.Decided
	if err := json.Unmarshal(events[3].Payload, &long); err != nil || long.Stored == nil || long.Stored.Size != int64(len(refused.Arguments)) || long.Arguments != "" || long.Allowed {
		t.Errorf("%+v, %v", long, err)
	}
	u.verify(t)
}
