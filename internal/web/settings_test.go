package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/service"
)

// Who may read sees the settings that the box goes by, each with whether it is the default, without secrets, and as text.
func TestSettings(t *testing.T) {
	c, err := config.Parse("/x/<b>signalbox.yaml", []byte(`
notify: {command: 'true <script>alert(1)</script>', webhook: 'https://example.org/s3cret'}
branch: "work/{run}"
`))
	if err != nil {
		t.Fatal(err)
	}
	w := worldOf(t, service.Options{Config: c, Box: box.Options{Dir: box.Dir(t.TempDir())}})
	if got := w.browse().get("settings"); got.status != http.StatusUnauthorized || strings.Contains(got.text, "example.org") {
		t.Errorf("a stranger is answered with %d\n%s", got.status, got.text)
	}
	got := w.in(access.Read).get("settings")
	if got.status != http.StatusOK || strings.Contains(got.text, "s3cret") || strings.Contains(got.text, "<script>alert") || strings.Contains(got.text, "<b>signalbox") {
		t.Fatalf("answered with %d\n%s", got.status, got.text)
	}
	if n := strings.Count(got.text, "<caption>"); n > 12 {
		t.Errorf("there are %d tables: settings without others beside them share one", n)
	}
	for _, want := range []string{
		`<a href="settings" aria-current="page">`, "<caption>notify</caption>",
		`<th scope="row">notify.webhook</th><td class="wide"><code>https://example.org/…</code></td><td>you</td>`,
		`<th scope="row">limits.agents</th><td class="wide"><code>5</code></td><td><span class="meta">default</span></td>`,
		"<caption>general</caption>", `<th scope="row">budget.tokens</th><td class="wide"><code>0</code> <span class="meta">no limit</span></td>`,
		`<th scope="row">archive.mirror</th><td class="wide"><span class="meta">there is none</span></td>`,
		`<th scope="row">hosts</th><td class="wide"><span class="meta">nothing</span></td>`,
	} {
		if !strings.Contains(got.text, want) {
			t.Errorf("there is no %s in\n%s", want, got.text)
		}
	}
}

// someBoxes is a cluster with a box in each state.
func someBoxes(text string) *api.ClusterStatus {
	at := []string{"192.0.2.1:7443", text}
	return &api.ClusterStatus{Self: "a" + text, Leader: "b", Members: []api.MemberStatus{
		{Name: "a" + text, ID: 1, Role: api.RoleVoter, State: api.MemberFollows, Lag: 2, Addresses: at},
		{Name: "b", ID: 2, Role: api.RoleVoter, State: api.MemberLeads, Problem: text, Addresses: at},
		{Name: "c", ID: 3, Role: api.RoleVoter, State: api.MemberNotReached, Addresses: at},
		{Name: "d", ID: 4, Role: api.RoleLearner, State: api.MemberFetches, Lag: 4000, Addresses: at},
		{Name: "c", Role: api.RoleInvited, State: api.MemberExpires, Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)},
	}}
}

// The boxes of a cluster are shown with the settings: each with its state, its role and how far behind it is, if that is known. A box alone has none.
func TestBoxes(t *testing.T) {
	p, page := play("words", textDiff)
	if _, text := p.look(page, "GET", "settings", access.Read); strings.Contains(text, "Boxes") {
		t.Errorf("a box alone shows boxes:\n%s", text)
	}
	p.cluster = someBoxes("x")
	_, text := p.look(page, "GET", "settings", access.Read)
	_, table, _ := strings.Cut(text, `id="boxes"`)
	table, rest, _ := strings.Cut(table, "</table>")
	var rows []string
	for _, row := range strings.Split(table, "<tr>")[2:] {
		rows = append(rows, strings.Join(strings.Fields(tag.ReplaceAllString(row, " ")), " "))
	}
	want := []string{
		"ax this one follows voter 2 192.0.2.1:7443 x", "b leads voter 0 192.0.2.1:7443 x", "c not reached voter unknown 192.0.2.1:7443 x",
		"d fetches learner 4000 192.0.2.1:7443 x", "c expires invited may join until 2030-01-02 03:04 UTC",
	}
	if fmt.Sprint(rows) != fmt.Sprint(want) {
		t.Errorf("shown:\n%s\nwant:\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	for look, n := range map[string]int{"good": 1, "warn": 1, "bad": 2, "": 1} {
		if got := strings.Count(table, `<span class="tag `+look+`">`); got != n {
			t.Errorf("%d states look %q; want %d", got, look, n)
		}
	}
	if !strings.Contains(rest, `<p class="note bad">b: x</p>`) || !strings.Contains(rest, ">3 of 4 boxes answer. ") {
		t.Errorf("below stands\n%.300s", rest)
	}
	p.cluster.Leader = ""
	if _, text := p.look(page, "GET", "settings", access.Read); !strings.Contains(text, "boxes answer; none leads, and nothing is recorded until one does. ") {
		t.Errorf("that none leads is not said:\n%s", text)
	}
}
