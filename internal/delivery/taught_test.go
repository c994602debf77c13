package delivery_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/prompt"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// until has what happens in a run until an agent in a role has something to say, and who that is.
var until = map[string]struct{ before, who, subject string }{
	"developer":         {"", "T-1", "T-1"},
	"critic":            {"say T-1 READY_FOR_REVIEW: T-1;gate T-1 pass", "T-1", "T-1"},
	"auditor":           {"say T-1 READY_FOR_REVIEW: T-1;gate T-1 pass;say T-1 REVIEW_PASSED: T-1", "T-1", "T-1"},
	"analyst":           {"", "T-1", "T-1"},
	"expert":            {`say T-1 EXPERT_REQUEST\nTarget Agent: dba`, "expert", "R1-E1"},
	"remediation":       {"", "remediation", "T-1"},
	"health_auditor":    {"say remediation REMEDIATION_COMPLETE", "health_auditor", "T-1"},
	"critic, of repair": {"say remediation REMEDIATION_COMPLETE;say health_auditor HEALTH_AUDIT: HEALTHY;repair 1a2b3c4 pass", "critic", "remediation"},
}

// What the instructions for a run teach a role is acted upon, each signal of it; and what they do not teach is not, said by
// that role.
func TestTaughtInRuns(t *testing.T) {
	line := regexp.MustCompile(`(?m)^    (.+)$`)
	for name, c := range until {
		role, _, repair := strings.Cut(name, ",")
		text, err := prompt.Voice{Subject: c.subject, Helps: repair}.Signals(agentsig.Role(role))
		if err != nil {
			t.Fatal(err)
		}
		taught := map[agentsig.Kind]bool{}
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			found, err := agentsig.Scan(strings.NewReader(m[1]+"\n"), agentsig.Options{})
			if err != nil {
				t.Fatal(err)
			}
			taught[found.Verdict.Kind] = true
		}
		for _, e := range agentsig.Vocabulary() {
			if e.Dialect != agentsig.DialectLine {
				continue
			}
			if acts := actsUpon(t, role, c.before, c.who, c.subject, e); acts != taught[e.Kind] {
				t.Errorf("%s: %s is acted upon: %v; taught: %v", name, e.Wire, acts, taught[e.Kind])
			}
		}
	}
}

// actsUpon plays what comes before, and reports whether a signal leads to something then.
func actsUpon(t *testing.T, role, before, who, subject string, e agentsig.Entry) bool {
	var out strings.Builder
	s := &scenario{t: t, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), items: map[string]work.Item{}, turns: map[string]int{}, out: &out}
	plan, baseline := "plan T-1", "baseline pass"
	switch role {
	case "analyst":
		plan = "plan draft:T-1"
	case "remediation", "health_auditor":
		baseline = "baseline fail"
	}
	if subject == "remediation" {
		baseline = "baseline fail"
	}
	for _, step := range append([]string{plan, baseline}, strings.Split(before, ";")...) {
		if step != "" {
			s.play(step)
		}
	}
	says := e.Wire
	switch e.Argument {
	case agentsig.TaskArgument, agentsig.RequestArgument:
		says += ": " + subject
	case agentsig.NameArgument, agentsig.PathArgument:
		says += ": x"
	}
	from := len(s.log)
	if e.Kind == agentsig.KindCheckpoint || e.Kind == agentsig.KindExpertCreated { // their sessions pass them on at once
		s.take(delivery.Note{Session: s.session(who).ID, Report: 1, Said: work.Said{Signal: e.Kind, Subject: "x"}, Key: "note"})
		return len(s.log) > from && (e.Kind == agentsig.KindCheckpoint || slices.Contains(s.run.Known, "x"))
	}
	s.play("say " + who + " " + says + `\nConfidence: HIGH\nTarget Agent: dba`)
	for _, event := range s.log[from:] {
		if event.Type == delivery.SignalRefused || event.Type == work.UnknownRecovery {
			return false
		}
	}
	return true
}
