//go:build unix

package webtest_test

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// push clicks where a button is, as a finger would, and waits for the page that follows. The page has no script by which it could notice.
func (b *browser) push(button string) {
	b.t.Helper()
	b.must("document.body.dataset.before = 'yes'")
	at := b.must("((e) => { e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2] })(" + button + ")").([]any)
	for _, what := range []string{"mousePressed", "mouseReleased"} {
		b.ask("Input.dispatchMouseEvent", map[string]any{"type": what, "x": at[0], "y": at[1], "button": "left", "clickCount": 1}, nil)
	}
	b.until("document.readyState === 'complete' && document.body.dataset.before === undefined")
}

// On a phone with a browser that runs no scripts, a person logs in by the link, answers a question, sends a task back with a comment
// on a line, and accepts it until it is merged.
func TestWithoutScripts(t *testing.T) {
	b := openBrowser(t)
	w := newWorld(t)
	w.asks("Which door?")
	b.screen(390, "light")
	b.ask("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	link, err := w.client.Page(t.Context(), api.NewPage{Scope: access.Answer})
	if err != nil {
		t.Fatal(err)
	}
	b.visit(link.URL)
	b.push("document.querySelector('button.primary')")
	if said := b.must("document.getElementById('live').textContent + typeof Idiomorph"); said != "undefined" {
		t.Fatalf("scripts run: %v", said)
	}
	b.must("document.querySelector('textarea[name=text]').focus()")
	b.typed("The left one")
	b.push("document.querySelector('article button.primary')")
	if all := w.recorded(`"QuestionAnswered"`); len(all) != 1 || !strings.Contains(all[0], "The left one") || !strings.Contains(all[0], `"actor":"client:page-`) {
		t.Fatalf("recorded is %q", all)
	}
	w.script("T-1", writes("done.txt", "a line", "it is done"))
	w.deliver("A plan", "T-1: The task")
	root, _, _ := strings.Cut(link.URL, "login")
	for verdict := "back"; ; verdict = "accept" {
		over := false
		w.until("a review, or the end", func() (bool, error) {
			r, err := w.client.Run(t.Context(), "R1")
			over = r.State == api.RunFinished
			return over || len(w.waits("review")) == 1, err
		})
		if over {
			break
		}
		b.visit(root)
		b.push("document.querySelector('article h2 a')")
		if verdict == "back" {
			b.must("document.querySelector('textarea[name=comments]').focus()")
			b.typed("done.txt:1: say more")
		} else if shown := b.must("document.body.innerText"); !strings.Contains(shown.(string), "done.txt:1: say more") {
			t.Fatalf("what was sent back is not shown:\n%s", shown)
		}
		b.push("document.querySelector('button[value=" + verdict + "]')")
		if at := b.must("location.search"); !strings.Contains(at.(string), "did=") {
			t.Fatalf("at %s: %s", at, b.must("document.body.innerText"))
		}
	}
	if all := w.recorded(`"WorkMerged"`); len(all) != 1 {
		t.Errorf("recorded is %q", all)
	}
	b.visit(root + "runs")
	if shown := b.must("document.querySelector('main').innerText").(string); !strings.Contains(shown, "completed") {
		t.Errorf("the run is shown as\n%s", shown)
	}
	if wide := b.must("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
		t.Errorf("it scrolls sideways, by %v", wide)
	}
	b.clean(strings.SplitAfter(link.URL, ".localhost:")[0])
}
