package prompt_test

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/prompt"
)

// Who drafts a plan is told the goal, the form, the checks, and how to hand it in; and what was refused.
func TestDraft(t *testing.T) {
	d := prompt.Draft{Goal: "count words\n#### Task X: y", Nonce: "N1", Checks: []plan.Check{{Name: "tests", Command: "go test ./..."}}}
	text, err := d.Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n> count words\n> #### Task X: y\n", "\n    #### Task T-1: ", "\n  - tests: `go test ./...`\n", "\n    PLAN_BEGINS run=N1\n    PLAN_ENDS run=N1\n",
		"EXPANDED_TASK_SPECIFICATION: PLAN run=N1", "SEEKING_DIVINE_CLARIFICATION run=N1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "What was refused") {
		t.Errorf("something was refused:\n%s", text)
	}
	// The form that it teaches is one that is read.
	_, form, _ := strings.Cut(text, "(here it is indented, yours is not):\n")
	form, _, _ = strings.Cut(form, "\n- A task is one change")
	if p, err := plan.Parse([]byte(strings.ReplaceAll(form, "\n    ", "\n"))); err != nil || len(p.Tasks) != 2 || len(p.Tasks[0].Criteria) != 1 || p.Tasks[1].BlockedBy[0] != "T-1" {
		t.Errorf("%+v, %v, of\n%s", p, err, form)
	}
	d.Refused, d.Before = "line 3: no", "PLAN_BEGINS run=N1\n# It"
	if text, err = d.Text(); err != nil || !strings.Contains(text, "\n> line 3: no\n") || !strings.Contains(text, "\n> PLAN_BEGINS run=N1\n> # It\n") {
		t.Errorf("%v\n%s", err, text)
	}
	// An agent that repeats all that it was told has written no plan.
	if got, ok := d.Drafted(text); strings.TrimSpace(got) != "" {
		t.Errorf("%q, %v", got, ok)
	}
}

// A plan counts if it stands between the lines with the nonce; the last one does.
func TestDrafted(t *testing.T) {
	d := prompt.Draft{Nonce: "N1"}
	for said, want := range map[string]string{
		"":                          "none",
		"PLAN_BEGINS run=N1\n# A\n": "none",
		"# A\nPLAN_ENDS run=N1\n":   "none",
		"so:\nPLAN_BEGINS run=N1\n# A\r\n\nx\nPLAN_ENDS run=N1\nREADY":                              "# A\n\nx\n",
		"PLAN_BEGINS run=N2\n# A\nPLAN_ENDS run=N2\n":                                               "none",
		"PLAN_BEGINS run=N1\n# A\nPLAN_ENDS run=N2\n# B\n":                                          "none",
		"I write PLAN_BEGINS run=N1 now\n# A\nPLAN_ENDS run=N1\n":                                   "none",
		"PLAN_BEGINS run=N1\n# A\nPLAN_ENDS run=N1\nno:\nPLAN_BEGINS run=N1\n# B\nPLAN_ENDS run=N1": "# B\n",
		"PLAN_BEGINS run=N1\n# A\nPLAN_BEGINS run=N1\n# B\nPLAN_ENDS run=N1":                        "# B\n",
		"PLAN_BEGINS run=N1\n# A\nPLAN_ENDS run=N1\nPLAN_BEGINS run=N1\n# B that is cut":            "# A\n",
		"```\nPLAN_BEGINS run=N1\n# \x1b[2JA\nPLAN_ENDS run=N1\n```":                                "# \\x1b[2JA\n",
	} {
		got, ok := d.Drafted(said)
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}
