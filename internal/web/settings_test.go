package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
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
