//go:build unix

package webtest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// accessible fails the test if axe-core finds anything in what the browser shows, on a phone or on a desk, light or dark, or if it scrolls sideways. Without
// axe-core it looks at the second alone.
func (b *browser) accessible(what string) {
	b.t.Helper()
	var axe []byte
	if path := os.Getenv("AXE_CORE"); path != "" {
		var err error
		if axe, err = os.ReadFile(path); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, width := range []int{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.screen(width, scheme)
			if len(axe) > 0 {
				if found := b.apart(string(axe), violations); found != "" {
					b.t.Errorf("%s at %d, %s:\n%v", what, width, scheme, found)
				}
			}
			if wide := b.must("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
				b.t.Errorf("%s at %d scrolls sideways, by %v", what, width, wide)
			}
		}
	}
}

// A plan is pasted, mended where it is wrong, looked at and started by keyboard alone; everybody can use what is said of it.
func TestStartByKeyboard(t *testing.T) {
	b := openBrowser(t)
	w := newWorld(t, "budget: {cost_usd: 20}")
	root := w.in(b)
	b.visit(root + "runs")
	b.tabTo("e.getAttribute('href') === 'start'")
	b.press("Enter")
	b.until("document.title.includes('Start a run') && document.getElementById('live').textContent === 'Live'")
	b.tabTo("e.id === 'plan'")
	b.typed(strings.Replace(plan, "Blocked By**: none", "Blocked By**: T-7", 1))
	b.tabTo("e.value === 'check'")
	b.press("Enter")
	b.until("document.getElementById('said')?.innerText.includes('Line 7') && document.readyState === 'complete' && document.getElementById('live').textContent === 'Live'")
	b.accessible("what is wrong with a plan")
	if all := w.recorded(`"RunStarted"`); len(all) > 0 {
		t.Errorf("a plan that is wrong is started: %s", all)
	}
	b.must("document.getElementById('plan').focus(), document.getElementById('plan').select()")
	b.typed(plan)
	b.tabTo("e.value === 'check'")
	b.press("Enter")
	b.until("document.getElementById('said')?.innerText.includes('1 task in 1 step') && document.readyState === 'complete' && document.getElementById('live').textContent === 'Live'")
	b.accessible("what would be started")
	if said := b.must("document.getElementById('said').innerText").(string); !strings.Contains(said, "developer: scripted") || !strings.Contains(said, "20.00 USD") {
		t.Errorf("it says\n%s", said)
	}
	b.tabTo("e.value === 'start'")
	b.press("Enter")
	b.until("location.search.includes('did=start') && document.title.includes('R1: A plan')")
	if all := w.recorded(`"RunStarted"`); len(all) != 1 || !strings.Contains(all[0], `"actor":"client:page-`) {
		t.Errorf("recorded is %s", all)
	}
	if r, err := w.client.Deliver(t.Context(), api.StartRun{Plan: plan}); err != nil || r.ID != "R1" {
		t.Errorf("the same plan from a file is %s, %v", r.ID, err)
	}
	b.visit(root + "start")
	b.tabTo("e.id === 'plan'")
	b.typed(plan)
	b.tabTo("e.value === 'check'")
	b.press("Enter")
	b.until("document.getElementById('said')?.innerText.includes('R1 delivers this plan already') && !document.querySelector('button[value=start]')")
	for _, e := range b.heard("Runtime.exceptionThrown", "Page.javascriptDialogOpening") {
		t.Errorf("the browser says %s", e.Params)
	}
	if _, err := w.client.CancelRun(t.Context(), "R1", api.Message{}); err != nil {
		t.Fatal(err)
	}
}

// It is started by fingers too, on a phone that runs no scripts.
func TestStartWithoutScripts(t *testing.T) {
	b := openBrowser(t)
	w := newWorld(t)
	root := w.in(b)
	b.screen(390, "dark")
	b.ask("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.visit(root + "runs")
	b.push("document.querySelector('a[href=start]')")
	b.must("document.getElementById('plan').focus()")
	b.typed("no plan")
	b.push("document.querySelector('button[value=check]')")
	if said := b.must("document.getElementById('said').innerText + document.getElementById('plan').value").(string); !strings.Contains(said, "there is no task in the plan") || !strings.Contains(said, "no plan") {
		t.Errorf("it says\n%s", said)
	}
	b.must("document.getElementById('plan').focus(), document.getElementById('plan').select()")
	b.typed(plan)
	b.push("document.querySelector('button[value=check]')")
	b.push("document.querySelector('button[value=start]')")
	if all := w.recorded(`"RunStarted"`); len(all) != 1 || b.must("document.title").(string) != "R1: A plan – Signalbox" {
		t.Errorf("at %v, recorded is %s", b.must("document.title"), all)
	}
	if _, err := w.client.CancelRun(t.Context(), "R1", api.Message{}); err != nil {
		t.Fatal(err)
	}
}
