package api

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A runner that is heard of is not said to be silent, and one that is not is said to be so from a few heartbeats on, as long as it is.
func TestSilence(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "", 14.9: "", 15: "no contact for 15 s", 40.6: "no contact for 40 s", 119: "no contact for 119 s", 120: "no contact for 2 min", 7199: "no contact for 119 min", 90_000: "no contact for 25 h",
	} {
		for _, state := range []string{RunnerPresent, RunnerDraining, RunnerLost} {
			if got := (Runner{State: state, LastContactS: &seconds}).Silence(); got != want {
				t.Errorf("%s, %v s: %q; want %q", state, seconds, got, want)
			}
		}
	}
	if got := (Runner{State: RunnerInvited}).Silence(); got != "" {
		t.Errorf("one that has not joined: %q", got)
	}
	if got := (Runner{State: RunnerLost}).Silence(); got != "no contact since the box was started" {
		t.Errorf("one of before: %q", got)
	}
}

// refuser is a carrier that has the box's answer by how the connection ended.
type refuser struct{ p *Problem }

func (r refuser) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.p }

// What a carrier knows to be the box's answer is one, and nobody says that no box answers.
func TestCarriersAnswer(t *testing.T) {
	want := &Problem{Code: CodeUnauthorized, Message: "so"}
	c := ClientOver(refuser{want}, "")
	_, posted := Post[struct{}](t.Context(), c, "/v1/runner/here", nil)
	for _, err := range []error{posted, c.Stream(t.Context(), "/v1/runner/orders", func() {}, nil)} {
		if err == nil || err.Error() != want.Error() {
			t.Errorf("it is %v", err)
		}
	}
}

// People are told more exactly than by its state why a runner is not there, and why one that is gets no agents.
func TestRunnerWords(t *testing.T) {
	at, since := time.Date(2026, 3, 2, 4, 21, 0, 0, time.Local), 1.0
	for i, c := range []struct {
		r                      Runner
		words, silence, remark string
	}{
		{Runner{State: RunnerLost, NotStarted: true}, "joined", "not started yet", ""},
		{Runner{State: RunnerLost, Protocol: 1, LastContactS: &since, LeftAt: &at}, "left", "at 2026-03-02 04:21", ""},
		{Runner{State: RunnerPresent, Protocol: 1, LastContactS: &since, Agents: []string{"codex"}}, RunnerPresent, "", ""},
		{Runner{State: RunnerPresent, Protocol: 1, LastContactS: &since}, RunnerPresent, "", "it has none of the agents' programs"},
		{Runner{State: RunnerPresent, Protocol: 1, LastContactS: &since, Problem: "no git"}, RunnerPresent, "", "no git"},
		{Runner{State: RunnerLost, Protocol: 1, LastContactS: &since}, RunnerLost, "", ""},
		{Runner{State: RunnerInvited}, RunnerInvited, "", ""},
	} {
		if c.r.Words() != c.words || !strings.HasPrefix(c.r.Silence(), c.silence) || c.silence == "" && c.r.Silence() != "" || c.r.Remark() != c.remark {
			t.Errorf("%d: %q, %q, %q", i, c.r.Words(), c.r.Silence(), c.r.Remark())
		}
	}
}
