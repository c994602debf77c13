package agentsig_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// The table of signals and handlers, as the line dialect's source has it.
var handlers = map[string]string{
	"READY_FOR_REVIEW: T-1":            "ready_for_review DISPATCH_CRITIC",
	"TASK_INCOMPLETE: T-1":             "task_incomplete LOG_AND_FILL_SLOTS",
	"INFRA_BLOCKED: T-1":               "infra_blocked ENTER_REMEDIATION",
	"REVIEW_PASSED: T-1":               "review_passed DISPATCH_AUDITOR",
	"REVIEW_FAILED: T-1":               "review_failed DISPATCH_DEVELOPER_REWORK",
	"AUDIT_PASSED: T-1":                "audit_passed MARK_COMPLETE",
	"AUDIT_FAILED: T-1":                "audit_failed DISPATCH_DEVELOPER_REWORK",
	"AUDIT_BLOCKED: T-1":               "audit_blocked ENTER_REMEDIATION",
	"EXPANDED_TASK_SPECIFICATION: T-1": "expanded_spec PROCESS_EXPANSION",
	"REMEDIATION_COMPLETE":             "remediation_complete DISPATCH_HEALTH_AUDITOR",
	"HEALTH_AUDIT: HEALTHY":            "health_healthy EXIT_REMEDIATION",
	"HEALTH_AUDIT: UNHEALTHY":          "health_unhealthy RETRY_REMEDIATION",
	"SEEKING_DIVINE_CLARIFICATION":     "divine_clarification AWAIT_DIVINE_RESPONSE",
	"EXPERT_REQUEST":                   "expert_request DISPATCH_EXPERT",
	"EXPERT_ADVICE: T-1":               "expert_advice DELIVER_TO_REQUESTING_AGENT",
	"EXPERT_UNSUCCESSFUL: T-1":         "expert_unsuccessful ESCALATE_TO_DIVINE",
	"EXPERT_CREATED: T-1":              "expert_created REGISTER_EXPERT",
	"FILE CONFLICT: T-1":               "file_conflict QUEUE_OR_COORDINATE",
	"CHECKPOINT: T-1":                  "checkpoint PROCESS_CHECKPOINT",
}

func TestParseSignal(t *testing.T) {
	for line, want := range handlers {
		output := "Some work.\n" + line + "\n"
		got := agentsig.ParseSignal(output)
		task := ""
		if strings.Contains(line, "T-1") {
			task = "T-1"
		}
		kind, handler, _ := strings.Cut(want, " ")
		if got != (agentsig.ParsedSignal{agentsig.Kind(kind), task, agentsig.Action(handler), output}) {
			t.Errorf("%s: got %+v, want %s", line, got, want)
		}
	}
	for _, output := range []string{
		"", "no signal here", "READY_FOR_REVIEW:\nT-1", "REVIEW_PASSED: T-1\nREVIEW_FAILED: T-1",
		`{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"DRAFT","exit_reason":"completed"}`,
	} {
		want := agentsig.ParsedSignal{Signal: "unknown", Handler: "REQUEST_CLARIFICATION", RawOutput: output}
		if got := agentsig.ParseSignal(output); got != want {
			t.Errorf("%q: got %+v", output, got)
		}
	}
	data, err := json.Marshal(agentsig.ParseSignal("CHECKPOINT: T-9"))
	if want := `{"signal":"checkpoint","task_id":"T-9","handler":"PROCESS_CHECKPOINT","raw_output":"CHECKPOINT: T-9"}`; err != nil || string(data) != want {
		t.Errorf("got %s, %v", data, err)
	}
}

// The phase table, each cell of it.
func TestNextPhase(t *testing.T) {
	completed := map[agentsig.Phase]string{
		"DRAFT": "IMPLEMENTATION", "IMPLEMENTATION": "CI_PENDING", "CI_PENDING": "READY_FOR_REVIEW",
		"READY_FOR_REVIEW": "REVIEW", "REVIEW": "READY_FOR_MERGE", "READY_FOR_MERGE": "COMPLETED",
	}
	for _, phase := range agentsig.Phases() {
		for _, reason := range agentsig.ExitReasons() {
			got, err := agentsig.NewExitSignal(phase, reason).NextPhase()
			var want agentsig.Phase
			var wantErr error
			switch {
			case phase == agentsig.PhaseCompleted:
				wantErr = agentsig.ErrPhaseTerminal
			case phase == agentsig.PhaseBlocked && reason == agentsig.ExitCompleted:
				wantErr = agentsig.ErrPhaseBlocked
			case reason == agentsig.ExitCompleted:
				want = agentsig.Phase(completed[phase])
			default:
				want = agentsig.PhaseBlocked
			}
			if got != want || !errors.Is(err, wantErr) {
				t.Errorf("%s %s: got %s, %v, want %s, %v", phase, reason, got, err, want, wantErr)
			}
		}
	}
	for _, row := range agentsig.Transitions() {
		if row.ByGate != (row.From == agentsig.PhaseCIPending && row.To == agentsig.PhaseReadyForReview) {
			t.Errorf("%+v: only CI_PENDING is the gate's to complete", row)
		}
	}
	if _, err := agentsig.NextPhase("NOWHERE", "completed"); err == nil {
		t.Error("an unknown phase has no next one")
	}
}

// The four error texts of the exit protocol, word for word.
func TestExitErrors(t *testing.T) {
	for input, want := range map[string]string{
		`{"protocol":"wrong_protocol","version":"1.0.0","phase_completed":"DRAFT","exit_reason":"completed"}`:  `unknown protocol: expected 'apm2_agent_exit', got 'wrong_protocol'`,
		`{"protocol":"apm2_agent_exit","version":"2.0.0","phase_completed":"DRAFT","exit_reason":"completed"}`: `unsupported version: expected '1.x', got '2.0.0'`,
		`{"version":"1.0.0","phase_completed":"DRAFT","exit_reason":"completed"}`:                              "protocol: is required, and missing",
		"{\n  \"protocol\": \"apm2_agent_exit\",\n    version: \"1.0.0\"\n}":                                   "invalid JSON: expected `\"` at line 3 column 5",
	} {
		if _, err := agentsig.ParseExitIfEnabled([]byte(input), true); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := agentsig.ParseExitIfEnabled([]byte("{}"), false)
	if want := "exit signal validation is disabled (AGENT_EXIT_PROTOCOL_ENABLED=false)"; !errors.Is(err, agentsig.ErrExitDisabled) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	var protocol *agentsig.ProtocolError
	if _, err := agentsig.ParseExit([]byte(`{"protocol":"\u001b[2J"}`)); !errors.As(err, &protocol) || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("got %v, want an error that is safe to print", err)
	}
}

func TestExitProtocolEnabled(t *testing.T) {
	for value, want := range map[string]bool{
		"true": true, "TRUE": true, "1": true, "yes": true, "Yes": true,
		"false": false, "0": false, "no": false, "": false, "on": false, "true\t": false, "truee": false,
	} {
		for _, configured := range []bool{false, true} {
			got := agentsig.ExitProtocolEnabled(func(string) (string, bool) { return value, true }, configured)
			if got != want {
				t.Errorf("%q: got %v", value, got)
			}
		}
	}
	for _, configured := range []bool{false, true} {
		if got := agentsig.ExitProtocolEnabled(func(string) (string, bool) { return "", false }, configured); got != configured {
			t.Errorf("unset, configured %v: got %v", configured, got)
		}
	}
}

func TestOpenEvidence(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(dir, "evidence.yaml"): "fine", filepath.Join(outside, "secret"): "secret",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	e := agentsig.NewExitSignal(agentsig.PhaseReview, agentsig.ExitCompleted)
	f, err := e.WithEvidence("evidence.yaml").OpenEvidence(root)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	for _, ref := range []string{"", "link/secret", "../x", "/etc/passwd", "missing"} {
		if f, err := e.WithEvidence(ref).OpenEvidence(root); err == nil {
			_ = f.Close()
			t.Errorf("opened %q", ref)
		}
	}
}

// The parsed self-reflection signal, with the fields and values of its source.
func TestParseReflection(t *testing.T) {
	const prose = "The search encountered an error. Let me try a different approach.\n\n"
	const xml = `<signal type="need_turn">
  <reason>search_code failed, trying vault search instead</reason>
  <confidence>0.8</confidence>
</signal>`
	reply := prose + xml
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	r, ok := agentsig.ParseReflection(reply, at)
	if !ok {
		t.Fatal("no signal")
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"type": "need_turn", "confidence": 0.8,
		"fields":    map[string]any{"reason": "search_code failed, trying vault search instead", "expected_turns": 0.0},
		"raw_xml":   xml,
		"timestamp": "2026-05-01T11:00:00Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, ok := agentsig.ParseReflection("no signal", at); ok {
		t.Error("found a signal where there is none")
	}
	if _, ok := agentsig.ParseReflection("`"+xml+"`", at); ok {
		t.Error("found a signal that is only mentioned")
	}
}

func TestReflectionViews(t *testing.T) {
	for xml, want := range map[string]any{
		`<signal type="need_turn"><reason>one more look</reason><expected_turns>2</expected_turns></signal>`:                                                                                agentsig.NeedTurn{"one more look", 2},
		`<signal type="context_sufficient"><sources_found>3</sources_found><source_types>["code"]</source_types></signal>`:                                                                  agentsig.ContextSufficient{3, []string{"code"}},
		`<signal type="stuck"><attempted>["a","b"]</attempted><blocker>no access</blocker><suggestions>ask</suggestions></signal>`:                                                          agentsig.Stuck{[]string{"a", "b"}, "no access", []string{"ask"}},
		`<signal type="need_capability"><capability>shell</capability><reason>to run tests</reason><workaround>read</workaround></signal>`:                                                  agentsig.NeedCapability{"shell", "to run tests", "read"},
		`<signal type="partial_answer"><missing>the year 2019</missing><caveat>rounded</caveat></signal>`:                                                                                   agentsig.PartialAnswer{"the year 2019", "rounded"},
		`<signal type="delegation_recommended"><reason>a long search</reason><scope>all of it</scope><estimated_tokens>500</estimated_tokens><subagent_type>scout</subagent_type></signal>`: agentsig.DelegationRecommended{"a long search", "all of it", 500, "scout"},
	} {
		r, ok := agentsig.ParseReflection(xml, time.Time{})
		if !ok || !reflect.DeepEqual(r.View(), want) {
			t.Errorf("%s: got %#v", xml, r.View())
		}
	}
	if v := (agentsig.Reflection{}).View(); v != nil {
		t.Errorf("got %v", v)
	}
}

// What each signal does to the phase that its session holds.
func TestHandover(t *testing.T) {
	exit := func(p agentsig.Phase, r agentsig.ExitReason) agentsig.Signal {
		return agentsig.NewExitSignal(p, r).Signal()
	}
	line := func(k agentsig.Kind) agentsig.Signal { return agentsig.Signal{Kind: k, Subject: "T-1"} }
	for _, c := range []struct {
		signal agentsig.Signal
		held   agentsig.Phase
		reason agentsig.ExitReason
		to     agentsig.Phase
		err    error
	}{
		{exit(agentsig.PhaseDraft, agentsig.ExitCompleted), agentsig.PhaseDraft, agentsig.ExitCompleted, agentsig.PhaseImplementation, nil},
		{exit(agentsig.PhaseReview, agentsig.ExitError), agentsig.PhaseReview, agentsig.ExitError, agentsig.PhaseBlocked, nil},
		{exit(agentsig.PhaseReview, agentsig.ExitCompleted), agentsig.PhaseDraft, "", "", agentsig.ErrWrongPhase},
		{exit(agentsig.PhaseCIPending, agentsig.ExitCompleted), agentsig.PhaseCIPending, "", "", agentsig.ErrGateOnly},
		{exit(agentsig.PhaseCIPending, agentsig.ExitBlocked), agentsig.PhaseCIPending, agentsig.ExitBlocked, agentsig.PhaseBlocked, nil},
		{exit(agentsig.PhaseCompleted, agentsig.ExitCompleted), agentsig.PhaseCompleted, "", "", agentsig.ErrPhaseTerminal},
		{exit(agentsig.PhaseBlocked, agentsig.ExitCompleted), agentsig.PhaseBlocked, "", "", agentsig.ErrPhaseBlocked},
		{line(agentsig.KindReadyForReview), agentsig.PhaseImplementation, agentsig.ExitCompleted, agentsig.PhaseCIPending, nil},
		{line(agentsig.KindTaskIncomplete), agentsig.PhaseImplementation, agentsig.ExitBlocked, agentsig.PhaseImplementation, nil},
		{line(agentsig.KindInfraBlocked), agentsig.PhaseImplementation, agentsig.ExitBlocked, agentsig.PhaseBlocked, nil},
		{line(agentsig.KindReviewPassed), agentsig.PhaseReview, agentsig.ExitCompleted, agentsig.PhaseReadyForMerge, nil},
		{line(agentsig.KindReviewFailed), agentsig.PhaseReview, agentsig.ExitCompleted, agentsig.PhaseImplementation, nil},
		{line(agentsig.KindAuditPassed), agentsig.PhaseReadyForMerge, agentsig.ExitCompleted, agentsig.PhaseCompleted, nil},
		{line(agentsig.KindAuditFailed), agentsig.PhaseReadyForMerge, agentsig.ExitCompleted, agentsig.PhaseImplementation, nil},
		{line(agentsig.KindDivineClarification), agentsig.PhaseReview, agentsig.ExitBlocked, agentsig.PhaseBlocked, nil},
		{line(agentsig.KindReviewPassed), agentsig.PhaseImplementation, "", "", agentsig.ErrWrongPhase},
		{line(agentsig.KindExpertRequest), agentsig.PhaseImplementation, "", "", agentsig.ErrNoHandover},
		{line(agentsig.KindCheckpoint), agentsig.PhaseImplementation, "", "", agentsig.ErrNoHandover},
	} {
		got, err := c.signal.Handover(c.held)
		want := agentsig.Handover{}
		if c.err == nil {
			want = agentsig.Handover{From: c.held, Reason: c.reason, To: c.to}
		}
		if !errors.Is(err, c.err) || got != want {
			t.Errorf("%s in %s: %v, %v, want %v, %v", c.signal.Kind, c.held, got, err, want, c.err)
		}
	}
}
