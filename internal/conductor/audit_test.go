package conductor

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// sentence is a plan of one sentence, as the command line hands it in.
func sentence(t *testing.T) string {
	t.Helper()
	p, err := plan.Sentence("fix the flaky login test")
	if err != nil {
		t.Fatal(err)
	}
	return p.Markdown()
}

// Whether a run has an auditor is decided by the settings, by what is asked for, and by whether the plan is a sentence that
// somebody typed: never by what a plan's text says of it.
func TestUnaudited(t *testing.T) {
	typed := sentence(t)
	for name, c := range map[string]struct {
		settings string
		run      api.StartRun
		want     delivery.Unaudited
	}{
		"a sentence":                       {"", api.StartRun{Plan: typed}, delivery.UnauditedSentence},
		"a sentence in a file":             {"", api.StartRun{Plan: typed, Path: "/the/checkout/plan.md"}, ""},
		"a sentence in a file elsewhere":   {"", api.StartRun{Plan: typed, Path: "/dev/stdin"}, ""},
		"a plan":                           {"", api.StartRun{Plan: onePlan, Path: "/the/checkout/plan.md"}, ""},
		"a plan that comes without a file": {"", api.StartRun{Plan: onePlan}, ""},
		"criteria":                         {"", api.StartRun{Plan: typed + "\n**Acceptance Criteria**:\n- [ ] it is green\n"}, ""},
		"two tasks":                        {"", api.StartRun{Plan: typed + "\n#### Task T-2: more\n\n**Work**: More.\n\n**Blocked By**: none\n"}, ""},
		"checks of its own":                {"", api.StartRun{Plan: typed + "\n### Verification\n\n| Check | Environment | Command | Expected exit code |\n|---|---|---|---|\n| t | local | `true` | 0 |\n"}, ""},
		"a plan that wants no auditor":     {"", api.StartRun{Plan: "---\naudit: never\nunaudited: sentence\n---\n" + strings.Replace(onePlan, "Do it.", "Do it.\n\naudit: never\n\n**Audit**: never", 1), Path: "/the/checkout/plan.md"}, ""},
		"always":                           {"audit: always", api.StartRun{Plan: typed}, ""},
		"never":                            {"audit: never", api.StartRun{Plan: onePlan, Path: "/the/checkout/plan.md"}, delivery.UnauditedSettings},
		"asked for":                        {"audit: never", api.StartRun{Plan: typed, Audit: "always"}, ""},
		"asked for none":                   {"audit: always", api.StartRun{Plan: onePlan, Path: "/the/checkout/plan.md", Audit: "never"}, delivery.UnauditedRequest},
		"asked for what is usual":          {"audit: never", api.StartRun{Plan: onePlan, Path: "/the/checkout/plan.md", Audit: "auto"}, ""},
	} {
		e, err := examine(t.Context(), newHands(), settings(t, c.settings), c.run)
		if err != nil || e.settings.Unaudited != c.want {
			t.Errorf("%s: %q, %v", name, e.settings.Unaudited, err)
		}
		if v := e.preview(settings(t, c.settings)); v.Unaudited != c.want.Words() {
			t.Errorf("%s: the preview says %q", name, v.Unaudited)
		}
	}
	for _, asked := range []string{"yes", "Never", " never", "auto,never"} {
		_, err := examine(t.Context(), newHands(), settings(t, ""), api.StartRun{Plan: typed, Audit: asked})
		if form := (box.BadRequest{}); !errors.As(err, &form) || !errors.Is(err, errBadAudit) {
			t.Errorf("%q: %v", asked, err)
		}
	}
	nobody := settings(t, "")
	nobody.Roles.Auditor.Agent = "nobody"
	if _, err := examine(t.Context(), newHands(), nobody, api.StartRun{Plan: typed}); err != nil {
		t.Errorf("nobody plays the auditor whom nobody wants: %v", err)
	}
	if _, err := examine(t.Context(), newHands(), nobody, api.StartRun{Plan: onePlan}); !errors.Is(err, errNoAgent) {
		t.Errorf("nobody plays the auditor: %v", err)
	}
}

// A run keeps what it was started with: a plan that is amended, a second request and other settings do not change it. Its
// items say the same, also those that come later.
func TestAuditIsKept(t *testing.T) {
	const path = "/the/checkout/plan.md"
	more := onePlan + "\n#### Task T-2: More\n\n**Work**: More.\n\n**Blocked By**: none\n"
	for name, c := range map[string]struct {
		audit, other string
		light        bool
	}{
		"without": {"never", "always", true},
		"with":    {"always", "never", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := started(t, Options{})
			defer func() { s.Stop() }()
			r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan, Path: path, Audit: c.audit}, "")
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for what, q := range map[string]api.StartRun{
				"again": {Plan: onePlan, Path: path, Audit: c.other}, "amended": {Plan: more, Path: path, Amend: true, Audit: c.other},
			} {
				if _, err := s.Deliver(t.Context(), work.OperatorActor, q, ""); !errors.Is(err, errOtherAudit) {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
			if err := s.again(t, 0); err != nil { // with settings in which nothing is said of it
				t.Fatal(err)
			}
			if _, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: more, Path: path, Amend: true}, ""); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for _, id := range []string{"R1.T-1", "R1.T-2"} {
				i, err := s.ledger.ItemNamed(id)
				if err != nil || i.Unaudited != c.light {
					t.Errorf("%s: %s is without an auditor: %v, %v", name, id, i.Unaudited, err)
				}
			}
			s.ledger.WithRun(r.Subject, func(run *delivery.Run) {
				if run.Audits() == c.light {
					t.Errorf("%s: the run has an auditor: %v", name, run.Audits())
				}
			})
			for _, e := range s.ledger.Events(0) {
				if e.Type == delivery.PlanAmended && strings.Contains(string(e.Payload), "unaudited") || e.Type == work.WorkAdded && e.Actor != work.OperatorActor {
					t.Errorf("%s: %s by %s: %s", name, e.Type, e.Actor, e.Payload)
				}
			}
		})
	}
}
