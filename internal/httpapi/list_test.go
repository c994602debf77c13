package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// listing is a box with a client.
func listing(t *testing.T, items int) (*box.Box, *api.Client) {
	t.Helper()
	b := openBox(t)
	s := httptest.NewServer(New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler())
	token, _ := b.Tokens()
	c := api.NewClient(strings.TrimPrefix(s.URL, "http://"), token)
	t.Cleanup(func() {
		c.Close()
		s.Close()
	})
	for n := range items {
		phase := agentsig.PhaseImplementation
		if n%2 == 1 {
			phase = agentsig.PhaseReview
		}
		if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: fmt.Sprint("T-", n), Title: "a title", Phase: phase}, ""); err != nil {
			t.Fatal(err)
		}
	}
	return b, c
}

// Pages, one after the other, are the whole list, also if items are added or move meanwhile.
func TestListPages(t *testing.T) {
	b, c := listing(t, 50)
	whole, err := c.List(t.Context(), "", api.From{})
	if err != nil || len(whole.Items) != 50 || whole.Next != "" {
		t.Fatalf("%d items, next %q, %v", len(whole.Items), whole.Next, err)
	}
	for _, limit := range []int{1, 7, 25, 49, 50, 51, 1000} {
		var all []api.Work
		from := api.From{Limit: limit}
		for {
			page, err := c.List(t.Context(), "", from)
			if err != nil {
				t.Fatal(err)
			}
			if rest := 50 - len(all); len(page.Items) != min(limit, rest) || (page.Next != "") != (rest > limit) {
				t.Fatalf("limit %d, %d left: %d items, next %q", limit, rest, len(page.Items), page.Next)
			}
			all = append(all, page.Items...)
			if from.After = page.Next; from.After == "" {
				break
			}
		}
		if diff := cmp.Diff(whole.Items, all); diff != "" {
			t.Fatalf("the list (-) and pages of %d (+):\n%s", limit, diff)
		}
	}
	review, err := c.List(t.Context(), agentsig.PhaseReview, api.From{Limit: 20})
	if err != nil || len(review.Items) != 20 {
		t.Fatalf("%+v, %v", review, err)
	}
	// The last one of the page leaves the phase, and the next page begins after it all the same.
	if _, err := b.Override(work.OperatorActor, review.Next, api.Override{Phase: agentsig.PhaseBlocked, Reason: "why not"}, ""); err != nil {
		t.Fatal(err)
	}
	rest, err := c.List(t.Context(), agentsig.PhaseReview, api.From{After: review.Next, Limit: 20})
	if err != nil || len(rest.Items) != 5 || rest.Next != "" {
		t.Errorf("%+v, %v", rest, err)
	}
	if end, err := c.List(t.Context(), "", api.From{After: whole.Items[49].ID, Limit: 3}); err != nil || len(end.Items) != 0 || end.Next != "" {
		t.Errorf("after the last: %+v, %v", end, err)
	}
}

// A list without a limit is whole, also if it is longer than what is read at once.
func TestWholeList(t *testing.T) {
	_, c := listing(t, 0)
	w := httptest.NewRecorder()
	n := 0
	err := answerList(slog.New(slog.DiscardHandler), w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/work", nil), func(from api.From) (api.Page[int], error) {
		page := api.Page[int]{}
		for n < 2500 && len(page.Items) < from.Limit {
			n++
			page.Items = append(page.Items, n)
		}
		if n < 2500 {
			page.Next = fmt.Sprint(n)
		}
		return page, nil
	})
	var all []int
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || len(all) != 2500 || all[2499] != 2500 || w.Header().Get("Link") != "" {
		t.Errorf("%d, %v", len(all), err)
	}
	if err != nil {
		t.Error(err)
	}
	if none, err := c.List(t.Context(), "", api.From{}); err != nil || none.Items == nil || len(none.Items) != 0 {
		t.Errorf("of an empty box: %+v, %v", none, err)
	}
}

// A list with something that can't be written is an error before its first byte, and breaks off after
// that: it never looks whole.
func TestBrokenList(t *testing.T) {
	for before := range 2 {
		var log bytes.Buffer
		w := httptest.NewRecorder()
		var err error
		aborted := func() (caught any) {
			defer func() { caught = recover() }()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/work", nil)
			err = answerList(slog.New(slog.NewTextHandler(&log, nil)), w, r, func(api.From) (api.Page[float64], error) {
				return api.Page[float64]{Items: append(make([]float64, before), math.Inf(1))}, nil
			})
			return nil
		}()
		if (aborted == any(http.ErrAbortHandler)) != (before > 0) || (err == nil) != (before > 0) || (w.Body.Len() == 0) != (before == 0) {
			t.Errorf("after %d: %v, %v, %q", before, aborted, err, w.Body)
		}
		if !strings.Contains(log.String(), "unsupported value") {
			t.Errorf("after %d the log has %q", before, log.String())
		}
	}
}

// Events are paged by their sequences, also those of one item.
func TestEventPages(t *testing.T) {
	b, c := listing(t, 6)
	if _, err := b.Override(work.OperatorActor, "T-1", api.Override{Phase: agentsig.PhaseBlocked, Reason: "why not"}, ""); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		work  string
		after uint64
		limit int
		want  []uint64
		next  uint64
	}{
		{"", 0, 3, []uint64{1, 2, 3}, 3},
		{"", 3, 3, []uint64{4, 5, 6}, 6},
		{"", 3, 4, []uint64{4, 5, 6, 7}, 0},
		{"", 6, 4, []uint64{7}, 0},
		{"", 7, 4, nil, 0},
		{"T-1", 0, 1, []uint64{2}, 2},
		{"T-1", 0, 2, []uint64{2, 7}, 0},
		{"T-1", 2, 1, []uint64{7}, 0},
		{"T-0", 0, 1, []uint64{1}, 0},
	} {
		var got []uint64
		next, err := c.EventsUpTo(t.Context(), s.work, s.after, s.limit, func(e api.Event) error {
			got = append(got, e.Sequence)
			return nil
		})
		if err != nil || !slices.Equal(got, s.want) || next != s.next {
			t.Errorf("%q after %d, %d at most: %d, next %d, %v", s.work, s.after, s.limit, got, next, err)
		}
	}
}

// The last events before a sequence come the latest first, and say where to go on.
func TestEventsBefore(t *testing.T) {
	b, c := listing(t, 6)
	if _, err := b.Override(work.OperatorActor, "T-1", api.Override{Phase: agentsig.PhaseBlocked, Reason: "why not"}, ""); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		work   string
		before uint64
		limit  int
		want   []uint64
		next   uint64
	}{
		{"", math.MaxUint64, 3, []uint64{7, 6, 5}, 5},
		{"", 5, 3, []uint64{4, 3, 2}, 2},
		{"", 5, 4, []uint64{4, 3, 2, 1}, 0},
		{"", 2, 4, []uint64{1}, 0},
		{"", 1, 4, nil, 0},
		{"T-1", math.MaxUint64, 1, []uint64{7}, 7},
		{"T-1", math.MaxUint64, 2, []uint64{7, 2}, 0},
		{"T-1", 7, 5, []uint64{2}, 0},
		{"T-1", 2, 5, nil, 0},
	} {
		var got []uint64
		next, err := c.EventsBefore(t.Context(), s.work, false, s.before, s.limit, func(e api.Event) error {
			got = append(got, e.Sequence)
			return nil
		})
		if err != nil || !slices.Equal(got, s.want) || next != s.next {
			t.Errorf("%q before %d, %d at most: %d, next %d, %v", s.work, s.before, s.limit, got, next, err)
		}
	}
	var p *api.Problem
	if _, err := c.Prove(t.Context(), 8); !errors.As(err, &p) || p.Code != api.CodeNotFound {
		t.Errorf("the proof of an event that there is not: %v", err)
	}
}

// Wrong values are refused as problems that say what is right.
func TestListRefusals(t *testing.T) {
	b, _ := listing(t, 1)
	h := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler()
	token, _ := b.Tokens()
	for _, s := range []struct{ path, want string }{
		{"/v1/work?limit=0", "limit is how many are wanted at most: a whole number from 1 to 1000"},
		{"/v1/work?limit=-1", "limit is how many"},
		{"/v1/work?limit=1001", "limit is how many"},
		{"/v1/work?limit=ten", "limit is how many"},
		{"/v1/work?limit=", "limit is how many"},
		{"/v1/work?after=T-9", "there is no work item T-9: leave it out to begin with the first"},
		{"/v1/work?after=%1b[31m", `there is no work item \x1b[31m`},
		{"/v1/runs?limit=0", "limit is how many"},
		{"/v1/runs?after=R9", "there is no run R9"},
		{"/v1/runs?live=maybe", "live is true or false"},
		{"/v1/events?limit=0", "limit is how many"},
		{"/v1/events?after=2", "after (or the header Last-Event-ID) is the sequence of an event"},
		{"/v1/events?after=-1", "after (or the header Last-Event-ID) is the sequence of an event"},
		{"/v1/events?tasks=true", "tasks is true or false; true goes with a run in work"},
		{"/v1/events?work=T-0&tasks=some", "tasks is true or false"},
		{"/v1/events?before=1", "before is the sequence of an event, from 1 on; it goes with limit"},
		{"/v1/events?before=0&limit=1", "before is the sequence"},
		{"/v1/events?before=x&limit=1", "before is the sequence"},
		{"/v1/events?before=1&limit=1&after=1", "before is the sequence"},
		{"/v1/events/0/proof", "an event is named by its sequence"},
		{"/v1/events/x/proof", "an event is named by its sequence"},
		{"/v1/events?limit=1&follow=true", "limit and follow exclude each other"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, s.path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var p api.ProblemDetails
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusBadRequest || p.Code != api.CodeInvalid ||
			p.Type != "urn:signalbox:problem:invalid" || p.Status != w.Code || !strings.Contains(p.Detail, s.want) || p.Message != p.Detail ||
			w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s, %v", s.path, w.Code, w.Body, err)
		}
	}
}
