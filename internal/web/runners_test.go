package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// cardOf returns what a view says of a runner, without its tags.
func cardOf(t *testing.T, text, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<article class="card" id="runner-` + name + `">(.*?)</article>`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("there is no %s in\n%s", name, text)
	}
	return strings.Join(strings.Fields(tag.ReplaceAllString(found[1], " ")), " ")
}

// Who may look sees each runner: its state, for how long nothing was heard of it if that is long, what it has, what it may do and why it
// does nothing.
func TestRunners(t *testing.T) {
	p, page := play("words", textDiff)
	p.runners = someRunners("gpu")
	status, text := p.look(page, "GET", "runners", access.Read)
	if status != http.StatusOK || !strings.Contains(text, `<a href="runners" aria-current="page">Runners</a>`) {
		t.Fatalf("%d\n%s", status, text)
	}
	for name, want := range map[string]string{
		"gpu1": "gpu1 present Sessions 3 of 4 Labels gpu gpu Agents gpu, gpu Program signalbox gpu, protocol 1",
		"gpu2": "gpu2 present no contact for 40 s gpu Sessions 1 Labels none Agents none: no program of the settings' agents is there Program protocol 1",
		"gpu4": "gpu4 lost no contact for 11 min It gets no work until it is back. What its sessions worked on is begun elsewhere. Sessions 0 Labels none Agents none: no program of the settings' agents is there Program protocol 1",
		"gpu5": "gpu5 lost no contact since the box was started It gets no work until it is back. What its sessions worked on is begun elsewhere. Sessions 0 Labels none",
		"gpu0": "gpu0 joined not started yet: `signalbox runner` on its machine Sessions 0 Labels none",
		"gpu6": "gpu6 invited Nobody has joined, and the invitation is over: signalbox runner remove gpu6 , and invite it again. Labels none",
	} {
		if got := cardOf(t, text, name); got != want {
			t.Errorf("%s: %q\nwant %q", name, got, want)
		}
	}
	if got := cardOf(t, text, "gpu3"); !strings.HasPrefix(got, "gpu3 draining It takes nothing new. What it does may go on until 20") {
		t.Errorf("gpu3: %q", got)
	}
	if got := cardOf(t, text, "gpu9"); !strings.HasPrefix(got, "gpu9 left at 20") || !strings.Contains(got, " It gets no work until it is started again, and takes work again. Sessions 0 ") {
		t.Errorf("gpu9: %q", got)
	}
	for look, n := range map[string]int{"good": 1, "": 2, "warn": 5, "bad": 2} {
		if got := strings.Count(text, `<span class="tag `+look+`">`); got != n {
			t.Errorf("%d states look %s; want %d", got, look, n)
		}
	}
	soon := time.Now().Add(time.Hour)
	p.runners = []api.Runner{{Name: "new", State: api.RunnerInvited, ExpiresAt: &soon}}
	if _, text := p.look(page, "GET", "runners?part=runners", access.Read); !strings.HasPrefix(text, `<section id="runners" data-live="runners"`) || !strings.Contains(cardOf(t, text, "new"), "May join until") {
		t.Errorf("a part of it, with who may join yet:\n%s", text)
	}
}

// Who may operate drains a runner, and has it take work again; nobody else is shown how, or may.
func TestDrain(t *testing.T) {
	p, page := play("words", textDiff)
	p.runners = someRunners("gpu")
	_, text := p.look(page, "GET", "runners", access.Operate)
	for name, want := range map[string]string{"gpu1": "Drain gpu1", "gpu3": "Have gpu3 take work again", "gpu4": "Drain gpu4"} {
		if got := cardOf(t, text, name); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := cardOf(t, text, "gpu6"); strings.Contains(got, "Drain") {
		t.Errorf("who has not joined: %q", got)
	}
	if _, text := p.look(page, "GET", "runners", access.Answer); strings.Contains(text, `action="runners"`) {
		t.Errorf("who may not drain one is shown how:\n%s", text)
	}
	for _, c := range []struct {
		name, do string
		scope    access.Scope
		want     int
		makes    string
	}{
		{"gpu1", "drain", access.Operate, 303, `POST /v1/runners/gpu1/drain {"deadline_ms":1800000}`},
		{"gpu3", "undrain", access.Operate, 303, `POST /v1/runners/gpu3/drain {"back":true}`},
		{"../x", "drain", access.Operate, 303, `POST /v1/runners/../x/drain {"deadline_ms":1800000}`},
		{"gpu1", "remove", access.Operate, 400, ""},
		{"gpu1", "drain", access.Answer, 403, ""},
		{"gpu1", "undrain", access.Read, 403, ""},
	} {
		p.words = nil
		got := p.send(page, "POST", "runners", c.scope, "runner", c.name, "do", c.do)
		if got.Code != c.want || strings.Join(p.words, "\n") != c.makes || c.want == 303 && !strings.HasPrefix(got.Header().Get("Location"), "runners?did="+c.do) {
			t.Errorf("%+v: %d to %q, %q", c, got.Code, got.Header().Get("Location"), p.words)
		}
		if c.want != 303 && !strings.Contains(got.Body.String(), `data-here="runners"`) {
			t.Errorf("%+v: after a refused form nothing is live", c)
		}
	}
}

// Where there are no runners, no view but the settings speaks of them, and theirs says how to get one.
func TestNoRunners(t *testing.T) {
	w := newWorld(t)
	b := w.in(access.Read)
	for _, path := range []string{"", "runs", "stats", "ledger"} {
		if got := b.get(path); strings.Contains(got.text, "unners") {
			t.Errorf("%q speaks of runners:\n%s", path, got.text)
		}
	}
	if got := b.get("settings"); strings.Count(got.text, `<a href="runners"`) != 1 {
		t.Errorf("the settings do not lead there:\n%s", got.text)
	}
	if got := b.get("runners"); got.status != http.StatusOK || !strings.Contains(got.text, "signalbox runner invite --name NAME") || !strings.Contains(got.text, `aria-current="page">Runners`) {
		t.Errorf("%d\n%s", got.status, got.text)
	}
	if got := w.browse().get("runners"); got.status != http.StatusUnauthorized {
		t.Errorf("a stranger is answered with %d", got.status)
	}
	p, page := play("words", textDiff)
	p.runners = someRunners("gpu")
	for _, path := range []string{"", "runs", "settings"} {
		if _, text := p.look(page, "GET", path, access.Read); strings.Count(text, `<a href="runners">Runners</a>`) != 1 {
			t.Errorf("%q does not lead to the runners", path)
		}
	}
}

// Which runner an agent works on is said where the agent is.
func TestRunnerOfAgent(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("plan ")
	p.run.Tasks[0].Agent.Runner, p.run.Tasks[0].Agent.Name = "gpu1", "codex"
	for _, path := range []string{"run?id=R1", "task?id=R1.T-1"} {
		if _, text := p.look(page, "GET", path, access.Read); !strings.Contains(text, "developer: codex on gpu1") {
			t.Errorf("%q:\n%s", path, text)
		}
	}
}

// No event says that a runner is there: who looks at them is told to look again, every few seconds, and nobody else is.
func TestRunnersLive(t *testing.T) {
	for topic, want := range map[string]bool{"runners": true, "runs": false} {
		synctest.Test(t, func(t *testing.T) {
			_, page := play("words", textDiff)
			ctx, leave := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://x.localhost/stream?since=7&on="+topic, nil)
			r.AddCookie(&http.Cookie{Name: "signalbox", Value: "read"})
			w := httptest.NewRecorder()
			done := make(chan struct{})
			go func() { defer close(done); page.ServeHTTP(w, r) }()
			time.Sleep(12 * time.Second)
			leave()
			<-done
			told := strings.Count(w.Body.String(), "event: changed\ndata: [\"runners\"]")
			if (told == 2) != want || told == 0 == want {
				t.Errorf("on %s: told %d times in 12 s\n%s", topic, told, w.Body.String())
			}
		})
	}
}
