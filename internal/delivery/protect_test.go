package delivery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A task is held only if the run was protected until it was completed, and every verdict on
// it was given by one whom the box had started.
func TestProtection(t *testing.T) {
	whole := []string{"say T-1 READY_FOR_REVIEW: T-1", "gate T-1 pass", "say T-1 REVIEW_PASSED: T-1", "say T-1 AUDIT_PASSED: T-1", "merge T-1 ok"}
	lost := delivery.Unprotected{What: []string{"agents run without a sandbox"}}
	for _, c := range []struct {
		name     string
		settings string // protected=…
		steps    []string
		want     delivery.Protection
		exposed  string
	}{
		{name: "protected", settings: "protected=yes", steps: whole, want: delivery.Held},
		{name: "not protected", settings: "protected=no", steps: whole, want: delivery.Unheld, exposed: "no sandbox"},
		{name: "not recorded", steps: whole, want: delivery.Unheld, exposed: "did not record"},
		{name: "lost on the way", settings: "protected=yes", steps: append([]string{"lost"}, whole...), want: delivery.Unheld, exposed: "agents run without"},
		{name: "lost afterwards", settings: "protected=yes", steps: append(append([]string{}, whole...), "lost"), want: delivery.Held, exposed: "agents run without"},
		{name: "taken past the review", settings: "protected=yes", steps: []string{"override T-1 READY_FOR_MERGE"}, want: delivery.Unheld},
		{name: "declared done", settings: "protected=yes", steps: []string{"override T-1 COMPLETED"}, want: delivery.Unheld},
		{name: "taken back", settings: "protected=yes", steps: append([]string{"override T-1 READY_FOR_MERGE", "override T-1 IMPLEMENTATION"}, whole...), want: delivery.Held},
		{name: "blocked in between", settings: "protected=yes", steps: []string{"override T-1 READY_FOR_MERGE", "override T-1 BLOCKED"}, want: delivery.Unheld},
		{name: "only blocked", settings: "protected=yes", steps: []string{"override T-1 BLOCKED"}, want: delivery.Held},
		{name: "worked on by hand", settings: "protected=yes", steps: []string{"claimed"}, want: delivery.Unheld},
		{name: "reported from outside", settings: "protected=yes", steps: []string{"say T-1 READY_FOR_REVIEW: T-1", "reported"}, want: delivery.Unheld},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scenario{t: t, out: &strings.Builder{}, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), items: map[string]work.Item{}, turns: map[string]int{}}
			s.play(strings.TrimSpace("plan T-1 T-2 " + c.settings))
			s.play("baseline pass")
			for _, step := range c.steps {
				switch step {
				case "lost":
					s.take(lost)
					s.take(lost) // which is recorded once
				case "claimed":
					item := s.run.Task("T-1").Item
					s.record(delivery.Write{Item: item.Subject, Do: work.Release{Token: item.Lease.Token}})
					s.record(delivery.Write{Item: item.Subject, Do: work.Grant{Epoch: 1, Actor: "somebody", TTL: time.Minute, Key: "k"}})
					ready := agentsig.Signal{Kind: agentsig.KindReadyForReview, Subject: "T-1"}
					s.record(delivery.Write{Item: item.Subject, Do: work.End{Token: s.items[item.Subject].Lease.Token, Actor: "somebody", Signal: ready, Key: "k2"}})
				case "reported":
					s.record(delivery.Write{Item: s.run.Task("T-1").Item.Subject, Do: work.Report{Commit: "1a2b3c4", Passed: true, Key: "k"}})
				default:
					s.play(step)
				}
			}
			if got := s.run.Protection(s.run.Task("T-1")); got != c.want {
				t.Errorf("got %s, want %s\n%s", got, c.want, s.out)
			}
			got := strings.Join(s.run.Exposed(), "; ")
			if !strings.Contains(got, c.exposed) || (got == "") != (c.exposed == "") {
				t.Errorf("exposed is %q, want %q", got, c.exposed)
			}
			if n := strings.Count(s.out.String(), "not protected: agents run without a sandbox; `signalbox doctor` says what to do"); n > 1 {
				t.Errorf("it is recorded %d times", n)
			}
		})
	}
}

// The settings say in their start what they do not protect.
func TestSettingsProtect(t *testing.T) {
	var s delivery.Settings
	if s.Protect(nil); s.Protection != delivery.Held {
		t.Errorf("got %+v", s)
	}
	if s.Protect([]string{"the gate"}); s.Protection != delivery.Unheld || len(s.Unprotected) != 1 {
		t.Errorf("got %+v", s)
	}
}
