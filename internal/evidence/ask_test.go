package evidence

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// told answers requests for events with those of a tale, two at a time.
func told(t *testing.T, events []Happened) *api.Client {
	t.Helper()
	names := map[string]string{"R1": "RUN", "R1.T-1": "ITEM"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after, _ := strconv.ParseUint(r.FormValue("after"), 10, 64)
		sent := 0
		for _, e := range events {
			if e.Subject != names[r.FormValue("work")] || e.Sequence <= after {
				continue
			}
			if sent == 2 {
				fmt.Fprintf(w, "data: {\"next\":%d}\n\n", after)
				return
			}
			stored, err := e.Encode()
			data, wrong := json.Marshal(api.Event{Sequence: e.Sequence, Event: stored})
			if err != nil || wrong != nil {
				t.Error(err, wrong)
			}
			fmt.Fprintf(w, "data: %s\n\n", data)
			sent, after = sent+1, e.Sequence
		}
	}))
	t.Cleanup(server.Close)
	c := api.NewClient(strings.TrimPrefix(server.URL, "http://"), "token")
	t.Cleanup(c.Close)
	return c
}

// A card is the same whether it is made at once or bit by bit, wherever the bits end; and one that was made stays as it was.
func TestCatchUp(t *testing.T) {
	events := tale(t, theTale...)
	c := told(t, events)
	want, err := cardOf(theWork, "T-1", events)
	if err != nil {
		t.Fatal(err)
	}
	for step := 1; step < len(events); step += 3 {
		f := NewFold("ITEM", "T-1")
		var made []Card
		for at := 0; at < len(events); at += step {
			if err := f.CatchUp(t.Context(), c, uint64(at), uint64(at+step), "R1.T-1", "R1"); err != nil {
				t.Fatal(err)
			}
			made = append(made, f.Card(theWork))
		}
		if got := made[len(made)-1]; !reflect.DeepEqual(got, want) {
			t.Errorf("by %d:\n%+v\nwant\n%+v", step, got, want)
		}
		for i, was := range made {
			if now, err := cardOf(theWork, "T-1", events[:min(len(events), (i+1)*step)]); err != nil || !reflect.DeepEqual(was, now) {
				t.Errorf("by %d, the card after %d was changed, %v:\n%+v\nwant\n%+v", step, i, err, was, now)
			}
		}
	}
	got, err := Ask(t.Context(), c, api.Work{ID: "R1.T-1", Subject: "ITEM", Title: "Parser", Handoff: theWork.Handoff},
		&api.Run{ID: "R1", Outcome: "cancelled", Tasks: []api.Task{{Work: "R1.T-1", Phase: agentsig.PhaseImplementation}}})
	if want.State = "cancelled"; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\nwant\n%+v", err, got, want)
	}
}

// An event is proven if it is in the signed ledger as it is shown. What is not signed yet is said to be that, and what is wrong is said.
func TestProve(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "box")
	b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"T-1", "T-2", "T-3"} {
		if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: id, Title: "a title"}, ""); err != nil {
			t.Fatal(err)
		}
	}
	subject := ""
	var rests []Happened
	for _, id := range []string{"T-1", "T-2", "T-3"} {
		w, err := b.Work(id)
		if err != nil {
			t.Fatal(err)
		}
		subject = w.Subject
		rests = append(rests, Happened{Sequence: w.Sequence})
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	key, err := box.Dir(dir).Verifier()
	if err != nil {
		t.Fatal(err)
	}
	files, err := open(filepath.Join(dir, "archive"), key)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rests {
		proof, err := files.Prove(int64(rests[i].Sequence) - 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(proof.Event, &rests[i].Event); err != nil {
			t.Fatal(err)
		}
	}
	unsigned := Happened{Sequence: uint64(files.Checkpoint.Size) + 1, Event: rests[0].Event}
	changed := rests[1]
	changed.Subject = subject
	for _, c := range []struct {
		events []Happened
		want   string
		wrong  bool
	}{
		{rests, "3 events, all in the signed ledger", false},
		{append(rests[:2:2], unsigned), "2 of 3 events in the signed ledger, 1 not signed yet", false},
		{[]Happened{rests[0], changed}, "WRONG: 1 of 2 events can't be proven; `signalbox ledger verify` says more", true},
	} {
		p, err := Prove(c.events, filepath.Join(dir, "archive"), key)
		if err != nil || p.Words() != c.want || p.Wrong() != c.wrong {
			t.Errorf("%s, wrong: %v, %v; want %s", p.Words(), p.Wrong(), err, c.want)
		}
	}
	if _, err := Prove(rests, t.TempDir(), key); err == nil {
		t.Error("events are proven by no ledger")
	}
}
