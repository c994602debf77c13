package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
)

// How far the box is with looking through its events reads like that, and not like a loss; and questions about work by hand
// are of no run.
func TestStatusLines(t *testing.T) {
	said := func(say func(*app)) string {
		var out bytes.Buffer
		say(&app{Program: command.Program{Env: command.Env{Out: &out}}})
		return strings.TrimSpace(out.String())
	}
	since := time.Date(2026, 5, 4, 15, 57, 58, 0, time.Local)
	for _, c := range []struct {
		ledger api.LedgerStatus
		want   string
	}{
		{api.LedgerStatus{Events: 489}, "the box runs, and can write; 489 events in the ledger"},
		{api.LedgerStatus{Events: 489, Scrubbed: 489, ScrubbedSince: since}, "the box runs, and can write; 489 events in the ledger, all found whole since " + stamp(since)},
		{api.LedgerStatus{Events: 489, Scrubbed: 15, ScrubbedSince: since},
			"the box runs, and can write; 489 events in the ledger; the box checks again and again that they are whole: 15 of them since " + stamp(since)},
	} {
		if got := said(func(a *app) { a.showBox(api.BoxStatus{Writable: true}, c.ledger, true) }); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for _, c := range []struct {
		is   *api.InCluster
		want string
	}{
		{nil, ""},
		{&api.InCluster{Self: "a", Leader: "b", Boxes: 3, Answer: 3}, "this is the box a of a cluster: b leads; 3 of 3 answer"},
		{&api.InCluster{Self: "a", Boxes: 3, Answer: 1, Problem: "too\x1b few"}, `this is the box a of a cluster: no box leads; 1 of 3 answer; too\x1b few`},
	} {
		if got := said(func(a *app) { a.showInCluster(c.is) }); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for state, is := range map[string]*api.InCluster{
		"": nil, command.Fine: {Leader: "a", Boxes: 3, Answer: 3}, command.Warning: {Leader: "a", Boxes: 3, Answer: 2}, command.Missing: {Leader: "a", Boxes: 3, Answer: 3, Problem: "one differs"},
	} {
		got := ""
		diagnoseCluster(is, func(_, state, _ string, _ ...any) { got = state })
		if got != state {
			t.Errorf("doctor says that %+v is %q; want %q", is, got, state)
		}
	}
	ofRun, other, byHand := api.Question{Run: "R2"}, api.Question{Run: "R1"}, api.Question{Task: "T-1"}
	for _, c := range []struct {
		inbox []api.Question
		want  string
	}{
		{[]api.Question{ofRun}, ""},
		{[]api.Question{ofRun, byHand}, "1 question about work by hand for you: signalbox inbox"},
		{[]api.Question{other, other, byHand}, "2 questions of other runs and 1 question about work by hand for you: signalbox inbox"},
	} {
		if got := said(func(a *app) { a.showElsewhere(status{Run: &api.Run{ID: "R2"}, inbox: c.inbox}) }); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
