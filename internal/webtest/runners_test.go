//go:build unix

package webtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// joins has a machine join, and returns what it says of itself with.
func (w *world) joins(name string, labels ...string) (here func(order.Here)) {
	w.t.Helper()
	line, err := w.client.InviteRunner(w.t.Context(), api.NewRunner{Name: name, Labels: labels})
	if err != nil {
		w.t.Fatal(err)
	}
	dir := w.t.TempDir()
	e, err := enrolment.Join(w.t.Context(), dir, line.Line)
	if err != nil {
		w.t.Fatal(err)
	}
	_, key, err := enrolment.Read(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	carrier := e.Carrier(key)
	w.t.Cleanup(carrier.CloseIdleConnections)
	return func(h order.Here) {
		w.t.Helper()
		text, err := json.Marshal(h)
		if err != nil {
			w.t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(context.WithoutCancel(w.t.Context()), http.MethodPost, "https://box/v1/runner/here", bytes.NewReader(text))
		if err != nil {
			w.t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := carrier.RoundTrip(r)
		if err != nil {
			w.t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if said, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			w.t.Fatalf("%s: %d %s, %v", name, resp.StatusCode, said, err)
		}
	}
}

// runnersWorld has runners in every state that can be had without waiting, and a run.
func runnersWorld(t *testing.T) *world {
	t.Helper()
	secure, err := httpapi.ListenSecure(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := openWorld(t, secure)
	w.script("T-1", works)
	w.deliver("A shop that counts right", shop[0], shop[4])
	says := order.Here{Protocol: order.Protocol(), Version: "0.9.0", Agents: []order.Agent{{Name: "claude"}, {Name: "codex"}}}
	for i, name := range []string{"gpu1", "gpu2", "mini", "build-07.berlin"} {
		here := w.joins(name, []string{"linux", "gpu", "amd64", "rack-12", "berlin"}[:i+1]...)
		h := says
		h.Places, h.Alive = 4*i, []string{"S-1.1", "S-2.1", "S-3.1"}[:i]
		if name == "mini" {
			h.Problem = "git 2.20 is too old: 2.31 or newer is needed"
		}
		here(h)
		h.Alive = nil
		t.Cleanup(func() { here(h) }) // a box that is stopped waits for its sessions
	}
	if _, err := w.client.DrainRunner(t.Context(), "gpu2", api.DrainRunner{DeadlineMS: time.Hour.Milliseconds()}); err != nil {
		t.Fatal(err)
	}
	w.joins("attic")
	if _, err := w.client.InviteRunner(t.Context(), api.NewRunner{Name: "laptop"}); err != nil {
		t.Fatal(err)
	}
	return w
}

// The runners are shown as they are now, without a load of the page: one that joins, and one that is drained. Everybody can use the view, on
// each screen.
func TestRunners(t *testing.T) {
	b := openBrowser(t)
	w := runnersWorld(t)
	root := w.in(b)
	b.visit(root + "runners")
	b.until("document.getElementById('live').textContent === 'Live' && document.querySelectorAll('#runners article').length === 6")
	w.joins("late")(order.Here{Protocol: order.Protocol()})
	b.until("document.querySelector('#runner-late .tag').textContent === 'present'")
	if _, err := w.client.DrainRunner(t.Context(), "late", api.DrainRunner{}); err != nil {
		t.Fatal(err)
	}
	b.until("document.querySelector('#runner-late .tag').textContent === 'draining'")
	b.push("document.querySelector('#runner-late button')")
	b.until("document.body.innerText.includes('late takes work again') && document.querySelector('#runner-late .tag').textContent === 'present'")
	b.push("document.querySelector('#runner-gpu1 button')")
	b.until("document.body.innerText.includes('gpu1 takes nothing new') && document.querySelector('#runner-gpu1 .tag').textContent === 'draining'")
	if all := w.recorded(`"RunnerDrained"`); !strings.Contains(all[len(all)-1], `"actor":"client:page-`) {
		t.Errorf("recorded is %s", all)
	}
	path := os.Getenv("AXE_CORE")
	if path == "" {
		t.Skip("AXE_CORE does not say where axe-core's axe.min.js is")
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.screen(width, scheme)
			b.visit(root + "runners")
			if found := b.apart(string(axe), violations); found != "" {
				t.Errorf("at %d, %s:\n%v", width, scheme, found)
			}
			if wide := b.must("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
				t.Errorf("at %d it scrolls sideways, by %v", width, wide)
			}
		}
	}
}
