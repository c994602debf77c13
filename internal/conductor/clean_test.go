package conductor

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// cancelled delivers a plan and cancels it, and has something left of it: work, what was said, and what checks printed.
func (s *stage) cancelled(t *testing.T, id string) {
	t.Helper()
	run, session := s.developing(t)
	if _, err := s.OnRun(t.Context(), work.OperatorActor, id, "cancel", api.Message{}); err != nil {
		t.Fatal(err)
	}
	if err := s.SessionReport(t.Context(), session, api.SessionReport{Kind: api.ReportEnded, How: api.HowStopped}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	if s.live(run) {
		t.Fatal("it goes on")
	}
	s.set(func() {
		s.left[id] = []order.Left{
			{Task: "T-1", Worktree: "/there", Branch: "work", Commit: "c1", Unmerged: 2},
			{Branch: "signalbox/" + id, Commit: "c0"},
		}
		subject := session[:len(session)-len("-1.1")]
		s.records = append(s.records, order.Record{Name: session, Subject: subject, Bytes: 60 << 20, At: time.Now()},
			order.Record{Name: run, Subject: run, Gate: true, Bytes: 1 << 20, At: time.Now()})
	})
	s.take()
}

// What a person asks to be removed, and what the settings do not keep: nothing else goes, and nothing goes unrecorded.
func TestClean(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		do             func(t *testing.T, s *stage)
		want           []string
	}{
		{"shown", "", func(t *testing.T, s *stage) { s.clean(t, api.Clean{Unmerged: true}) }, nil},
		{"merged", "", func(t *testing.T, s *stage) { s.clean(t, api.Clean{Remove: true}) }, []string{"discarded: R1"}},
		{"other runs", "", func(t *testing.T, s *stage) {
			s.clean(t, api.Clean{Remove: true, Unmerged: true, Runs: []string{"R7"}})
		}, nil},
		{"unmerged", "", func(t *testing.T, s *stage) { s.clean(t, api.Clean{Remove: true, Unmerged: true}) },
			[]string{"discarded: R1", "discarded: R1.T-1", "removed: S000001", "removed: S000002-1.1"}},
		{"young", "", func(t *testing.T, s *stage) { s.keep(t.Context()) }, nil},
		{"old transcripts", "keep: {transcripts: 48h, worktrees: 0s}", func(t *testing.T, s *stage) { s.later(t, 49*time.Hour) }, []string{"removed: S000001", "removed: S000002-1.1"}},
		{"old worktrees", "keep: {transcripts: 0s, worktrees: 48h}", func(t *testing.T, s *stage) { s.later(t, 49*time.Hour) }, []string{"put away: R1.T-1"}},
		{"no limits", "keep: {transcripts: 0s, worktrees: 0s, megabytes: 0}", func(t *testing.T, s *stage) { s.later(t, 9999*time.Hour) }, nil},
		{"too much", "keep: {megabytes: 60}", func(t *testing.T, s *stage) { s.later(t, time.Minute) }, []string{"removed: S000001"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := started(t, Options{Config: settings(t, c.settings)})
				s.set(func() { s.left = map[string][]order.Left{} })
				s.cancelled(t, "R1")
				c.do(t, s)
				if got := s.take(); !slices.Equal(got, c.want) {
					t.Errorf("%q, want %q", got, c.want)
				}
				recorded := 0
				for _, e := range s.ledger.Events(0) {
					if e.Type == delivery.LeftoversRemoved {
						recorded++
					}
				}
				if (recorded > 0) != (len(c.want) > 0) {
					t.Errorf("%d events for %q", recorded, c.want)
				}
				s.Stop()
			})
		})
	}
}

func (s *stage) clean(t *testing.T, q api.Clean) {
	t.Helper()
	got, err := s.Clean(t.Context(), work.OperatorActor, q)
	want := 5
	if len(q.Runs) > 0 {
		want = 0 // they are others
	}
	if err != nil || len(got.Left) != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, l := range got.Left {
		if l.Removed != (l.Goes && q.Remove) {
			t.Errorf("with %+v: %+v", q, l)
		}
	}
}

// later lets the time pass, and has the box see to what it keeps.
func (s *stage) later(t *testing.T, d time.Duration) {
	t.Helper()
	time.Sleep(d)
	s.keep(t.Context())
}

// Of a run that goes on nothing goes, whatever is asked for, nor of one that the ledger does not know.
func TestCleanLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{Config: settings(t, "keep: {megabytes: 1, transcripts: 24h, worktrees: 24h}")})
		run, session := s.developing(t)
		s.set(func() {
			work := []order.Left{{Task: "T-1", Worktree: "/there", Branch: "work", Commit: "c1"}}
			s.left = map[string][]order.Left{"R1": work, "R7": work}
			s.records = []order.Record{{Name: session, Subject: run, Bytes: 9 << 20}, {Name: "other", Subject: "other", Bytes: 9 << 20}}
		})
		s.take()
		got, err := s.Clean(t.Context(), work.OperatorActor, api.Clean{Remove: true, Unmerged: true})
		if err != nil || got.Bytes != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		s.later(t, 100*time.Hour)
		for _, note := range s.take() {
			if note[:7] == "removed" || note[:7] == "discard" || note[:7] == "put awa" {
				t.Error(note)
			}
		}
		s.Stop()
	})
}
