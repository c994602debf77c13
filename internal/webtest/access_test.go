//go:build unix

package webtest_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// screen makes the browser's window so wide, and has it prefer light or dark.
func (b *browser) screen(width int, scheme string) {
	b.t.Helper()
	b.ask("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": max(900, width*5/8), "deviceScaleFactor": 1, "mobile": width < 500}, nil)
	b.ask("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}}, nil)
}

// apart evaluates an expression in a world of its own, which has the page and that the page's script does not see, nor its policy forbid.
func (b *browser) apart(source, expression string) any {
	b.t.Helper()
	var tree struct {
		FrameTree struct{ Frame struct{ ID string } }
	}
	b.ask("Page.getFrameTree", nil, &tree)
	var world struct{ ExecutionContextID int }
	b.ask("Page.createIsolatedWorld", map[string]any{"frameId": tree.FrameTree.Frame.ID}, &world)
	var r struct {
		Result    struct{ Value any }
		Exception *struct{ Text string } `json:"exceptionDetails"`
	}
	for _, e := range []string{source + "\n;true", expression} {
		b.ask("Runtime.evaluate", map[string]any{"expression": e, "contextId": world.ExecutionContextID, "returnByValue": true, "awaitPromise": true}, &r)
		if r.Exception != nil {
			b.t.Fatalf("%.100s: %s", e, r.Exception.Text)
		}
	}
	return r.Result.Value
}

// violations is what axe-core finds against the rules of the levels A and AA.
const violations = `axe.run(document, {runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}}).then((r) =>
  r.violations.map((v) => v.id + ': ' + v.help + '\n' + v.nodes.slice(0, 5).map((n) => '    ' + n.html.slice(0, 200) + '\n      ' + n.failureSummary.replaceAll('\n', ' ')).join('\n')).join('\n') +
  (r.passes.length < 5 ? 'only ' + r.passes.length + ' rules were looked at' : ''))`

var everyScreen = flag.Bool("screens", false, "TestAccessible looks at every view on each screen; otherwise on one in each world, on the phone in the one and on the desk in the other")

// Everybody can use every view, by the rules of axe-core: on a phone and on a desk, light and dark.
func TestAccessible(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two deliveries and many looks")
	}
	path := os.Getenv("AXE_CORE")
	if path == "" {
		t.Skip("AXE_CORE does not say where axe-core's axe.min.js is")
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for world, name := range []string{"waiting", "failed"} {
		t.Run(name, func(t *testing.T) {
			b := openBrowser(t)
			w := worlds[name](t)
			root := w.in(b)
			for n, view := range views(t) {
				for i, screen := range []struct {
					width  int
					scheme string
				}{{390, "light"}, {390, "dark"}, {1280, "dark"}, {1280, "light"}} {
					if i != world+2*((n+world)%2) && !*everyScreen {
						continue
					}
					b.screen(screen.width, screen.scheme)
					b.visit(root + view)
					if found := b.apart(string(axe), violations); found != "" {
						t.Errorf("%q at %d, %s:\n%v", view, screen.width, screen.scheme, found)
					}
					if wide := b.must("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
						t.Errorf("%q at %d scrolls sideways, by %v", view, screen.width, wide)
					}
				}
			}
		})
	}
}

// tabTo presses Tab until an expression is true of where the focus is. Each stop on the way shows that it has the focus.
func (b *browser) tabTo(is string) {
	b.t.Helper()
	for range 300 {
		b.press("Tab")
		if shown := b.must("(() => { const e = document.activeElement, s = getComputedStyle(e); return e === document.body || s.outlineStyle !== 'none' && s.outlineWidth !== '0px' ? '' : e.outerHTML })()"); shown != "" {
			b.t.Errorf("the focus is not seen at %v", shown)
		}
		if b.must("((e) => "+is+")(document.activeElement)") == true {
			return
		}
	}
	b.t.Fatalf("Tab does not come to %s", is)
}

// A task is reviewed by keyboard alone, from the link to the merge.
func TestKeyboard(t *testing.T) {
	b := openBrowser(t)
	w := newWorld(t)
	w.deliver("A plan", "T-1: The task")
	w.until("to review", func() (bool, error) { return len(w.waits("review")) == 1, nil })
	link, err := w.client.Page(t.Context(), api.NewPage{Scope: access.Answer})
	if err != nil {
		t.Fatal(err)
	}
	b.visit(link.URL)
	b.press("Enter")
	for round := 1; ; round++ {
		b.until("document.title.includes('Inbox') && !!document.querySelector('button[value=accept]')")
		b.tabTo("e.value === 'accept'")
		b.must("window.before = true")
		b.press("Enter")
		b.until("location.search.includes('did=accepted') && window.before === undefined")
		over := false
		w.until("the next review, or the end", func() (bool, error) {
			r, err := w.client.Run(t.Context(), "R1")
			over = r.State == api.RunFinished
			return over || len(w.waits("review")) == 1, err
		})
		if over {
			break
		}
		if round == 5 {
			t.Fatal("five reviews, and it is not over")
		}
	}
	if merged := w.recorded(`"actor":"client:page-`); len(merged) < 2 {
		t.Errorf("recorded is %s", strings.Join(merged, "\n"))
	}
	b.tabTo("e.getAttribute('href') === 'runs'")
	b.press("Enter")
	b.until("document.title.includes('Runs') && document.body.textContent.includes('completed')")
}
