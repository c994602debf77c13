package web_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// aPlan is a plan of two tasks, the second of which waits for the first, whose words are these.
func aPlan(words string) string {
	line := strings.NewReplacer("\n", " ", "\r", " ").Replace(words)
	return fmt.Sprintf("# %[1]s\n\n#### Task T-1: %[1]s\n\n**Work**: %[1]s\n\n**Blocked By**: none\n\n#### Task T-2: %[1]s\n\n**Work**: Do it.\n\n**Blocked By**: T-1\n\n### Verification\n\n| Check | Environment | Command | Expected Exit Code |\n| --- | --- | --- | --- |\n| lint | local | `make lint` | 0 |\n", line)
}

// wouldBe is what a dry run says of it.
func wouldBe(words string) api.Run {
	return api.Run{
		Title: words, State: api.RunDry, AtOnce: 2, Checks: 3, Budget: delivery.Spend{CostUSD: 12.5, Tokens: 7000}, Unprotected: []string{words}, Unaudited: words,
		Tasks: []api.Task{
			{ID: "T-1", Title: words, Agent: &api.Agent{Role: "developer", Name: words, Task: "T-1"}},
			{ID: "T-2", Title: words, BlockedBy: []string{"T-1"}, Why: delivery.WaitBlocked},
		},
	}
}

var checked = regexp.MustCompile(`name="checked" value="([0-9a-f]{64})"`)

// A plan is pasted, looked at, and started as it was looked at: it reaches the box by the API, and its lines end as in a file.
func TestStart(t *testing.T) {
	p, page := play("words", textDiff)
	p.would = wouldBe("A shop")
	pasted := strings.ReplaceAll(aPlan("A shop"), "\n", "\r\n")
	status, text := p.look(page, "POST", "start", access.Operate, "plan", pasted, "do", "check")
	for _, want := range []string{
		"2 tasks in 2 steps", "At once 2 agents at most; the gate runs 3 checks", "12.50 USD or 7000 tokens", "not protected: A shop", "developer: A shop", "<code>make lint</code>", "Nothing was recorded or started yet", `value="start"`,
		"<textarea id=\"plan\" name=\"plan\" class=\"code\" rows=\"18\" spellcheck=\"false\" autocapitalize=\"off\" required>\n# A shop\n\n#### Task T-1",
	} {
		if status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%d, no %q:\n%s", status, want, text)
		}
	}
	digest := checked.FindStringSubmatch(text)
	if digest == nil || len(p.words) > 0 {
		t.Fatalf("%q is started, %v", p.words, digest)
	}
	if status, text := p.look(page, "POST", "start", access.Operate, "plan", pasted+"\r\n", "do", "start", "checked", digest[1]); status != http.StatusConflict || !strings.Contains(text, "changed since you looked") || len(p.words) > 0 {
		t.Errorf("another plan than was looked at: %d, %q\n%s", status, p.words, text)
	}
	if status, text := p.look(page, "POST", "start", access.Operate, "plan", pasted, "do", "start"); status != http.StatusConflict || len(p.words) > 0 {
		t.Errorf("a plan that nobody has looked at: %d, %q\n%s", status, p.words, text)
	}
	got := p.send(page, "POST", "start", access.Operate, "plan", pasted, "do", "start", "checked", digest[1])
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "run?id=R1&did=start&what=R1" || len(p.words) != 1 || p.words[0] != aPlan("A shop") {
		t.Errorf("%d to %s, %q", got.Code, got.Header().Get("Location"), p.words)
	}
}

// What is wrong with a plan is said by line, as `plan check` says it, and the text stays. Nothing is started.
func TestStartRefused(t *testing.T) {
	p, page := play("words", textDiff)
	p.would = wouldBe("A shop")
	for _, c := range []struct {
		name, plan, do string
		scope          access.Scope
		want           int
		says           []string
	}{
		{"nothing", " \n ", "check", access.Operate, 400, []string{"paste a plan"}},
		{"no plan", "hello", "check", access.Operate, 400, []string{"It can't be delivered: 1 thing to mend"}},
		{"a wrong line", "\n" + strings.ReplaceAll(aPlan("A shop"), "T-1\n\n###", "T-9\n\n###"), "start", access.Operate, 400, []string{"<strong>Line 14</strong> <code>**Blocked By**: T-9</code>", "T-9", "required>\n\n# A shop"}},
		{"by who may look", aPlan("A shop"), "start", access.Read, 403, []string{"--scope operate"}},
		{"by who may answer", aPlan("A shop"), "start", access.Answer, 403, []string{"--scope operate"}},
		{"what is too long", "# x\n" + strings.Repeat("x", api.MaxPlan), "check", access.Operate, 400, []string{"make two plans of it"}},
		{"what is far too long", strings.Repeat("x", 5<<20), "check", access.Operate, 400, []string{"too long"}},
		{"what has too many tasks", "# x\n" + tasks(1001), "check", access.Operate, 400, []string{"1001 tasks"}},
		{"what is not text", "# x\n\xff", "check", access.Operate, 400, []string{"<strong>Line 2</strong>", "UTF-8"}},
	} {
		status, text := p.look(page, "POST", "start", c.scope, "plan", c.plan, "do", c.do)
		if status != c.want || len(p.words) > 0 {
			t.Errorf("%s: %d, %q", c.name, status, p.words)
		}
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q:\n%.3000s", c.name, want, text)
			}
		}
	}
	if _, text := p.look(page, "GET", "start", access.Answer); strings.Contains(text, "<form method=\"post\" action=\"start") {
		t.Errorf("who may not start a run has a form for it:\n%s", text)
	}
	if _, text := p.look(page, "GET", "runs", access.Answer); strings.Contains(text, `href="start"`) {
		t.Errorf("who may not start a run is led there:\n%s", text)
	}
	p.would.ID = "R1"
	if _, text := p.look(page, "POST", "start", access.Operate, "plan", aPlan("A shop")); !strings.Contains(text, "delivers this plan already") || strings.Contains(text, `value="start"`) {
		t.Errorf("a plan that is delivered:\n%s", text)
	}
	p.refuses = "there are no agents: name some"
	if status, text := p.look(page, "POST", "start", access.Operate, "plan", aPlan("A shop")); status != http.StatusConflict || !strings.Contains(text, p.refuses) || !strings.Contains(text, "#### Task T-1") {
		t.Errorf("a box that delivers nothing: %d\n%s", status, text)
	}
}

// tasks are so many of a plan.
func tasks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "#### Task T-%d: x\n\n**Work**: x\n\n**Blocked By**: none\n\n", i+1)
	}
	return b.String()
}

// Whatever a plan says, what is shown of it has no tag that it does not have of a harmless one.
func TestHostilePlan(t *testing.T) {
	// The nth string is looked at in one of the places in which it can be, or in all if n is negative.
	look := func(n int, words string) map[string]bool {
		all := map[string]bool{}
		p, page := play(words, textDiff)
		for i, text := range []string{aPlan(words), strings.ReplaceAll(aPlan(words), ": none", ": "+words), words} {
			for j, refuses := range []string{"", words} {
				if n >= 0 && n%6 != 2*i+j {
					continue
				}
				p.would, p.refuses = wouldBe(words), refuses
				p.would.ID, p.would.Delivered = map[bool]string{true: words}[refuses != ""], words
				_, said := p.look(page, "POST", "start", access.Operate, "plan", text, "do", "check")
				inert(t, said)
				for one := range markup(theirs.ReplaceAllString(said, "")) {
					all[one] = true
				}
			}
		}
		return all
	}
	known := look(-1, "words")
	for one := range look(-1, "T-3\n") {
		known[one] = true
	}
	all := hostileStrings(t)
	if testing.Short() {
		all = all[:len(all)/8]
	}
	for n, s := range all {
		if *everyString {
			n = -1
		}
		for one := range look(n, s) {
			if !known[one] {
				t.Errorf("%q: %s", s, one)
			}
		}
	}
}
