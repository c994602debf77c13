package box

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A ledger with an event of a newer version is refused in words that say so. It is no damage, and
// nothing is changed.
func TestNewerEvent(t *testing.T) {
	dir := Dir(t.TempDir())
	closeBox(t, oneItem(t, dir, nil)) // which leaves a snapshot
	before, err := os.ReadFile(dir.path(snapshotFile))
	if err != nil {
		t.Fatal(err)
	}
	b := inDir(t, dir)
	subject := b.newSubject()
	_, stored, err := b.stamp(ledger.Tip{}, subject, work.Event{Type: "WorkDreamt", Actor: work.BoxActor, Payload: struct{}{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.log.Append(t.Context(), subject, 0, stored); err == nil {
		t.Fatal("this version takes it")
	}
	_ = b.Close() // it says why it stopped
	_, _, err = Open(t.Context(), Options{Dir: dir})
	var newer *NewerError
	var damage *archive.Damage
	if !errors.As(err, &newer) || errors.As(err, &damage) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"event 2", "WorkDreamt", "newer version", "Nothing is damaged", "go on with that version"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	after, err := os.ReadFile(dir.path(snapshotFile))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the snapshot was changed: %v", err)
	}
}

// A request is one JSON document. What the box does not know in it is refused from a client, and
// ignored from a session, which may be of another version.
func TestBodies(t *testing.T) {
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	h := b.Handler()
	const add, report, activity = "/v1/work", "/v1/sessions/01JD0000000000000000000001:1.1/report", "/v1/sessions/01JD0000000000000000000001:1.1/activity"
	for _, c := range []struct {
		path, body string
		code       string
	}{
		{add, `{"title":"a"}`, ""},
		{add, ` {"title":"a"}` + "\r\n\t ", ""},
		{add, `{"title":"a"}{"title":"b"}`, api.CodeInvalid},
		{add, `{"title":"a"} garbage`, api.CodeInvalid},
		{add, `{"title":"a"}]`, api.CodeInvalid},
		{add, `{"title":"a","colour":"red"}`, api.CodeInvalid},
		{add, `{"title":"a"}` + strings.Repeat(" ", maxRequest), api.CodeInvalid},
		{report, `{"seq":1,"kind":"note","mood":"good"}`, api.CodeNotFound},
		{report, `{"seq":1,"kind":"note"}{}`, api.CodeInvalid},
		{report, `{"seq":"one"}`, api.CodeInvalid},
		{activity, `{"line":"a","mood":"good"}`, api.CodeNotFound},
		{activity, `{"line":"a"}1`, api.CodeInvalid},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.path, strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer "+b.apiToken)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var p api.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Errorf("%s: %v", w.Body, err)
		}
		if p.Code != c.code {
			t.Errorf("%s with %.60q is answered with %q: %s", c.path, c.body, p.Code, p.Message)
		}
	}
}

// What the box refuses a dead session for good is what it would refuse a living one.
func TestRefusedForGood(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{badRequest{errors.New("a report is a turn, a note or the end")}, true},
		{&http.MaxBytesError{Limit: 1}, true},
		{ErrStopping, false},
		{errCannotWrite, false},
		{errors.New("the box's own fault"), false},
		{nil, false},
	} {
		if got := api.Refused(asAnswered(c.err)); got != c.want {
			t.Errorf("%v is refused for good: %v", c.err, got)
		}
	}
}
