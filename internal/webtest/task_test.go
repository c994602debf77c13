//go:build unix

package webtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// slowly is what a developer does whose first attempt fails at the gate, and who waits for a file before the end of the second one.
const slowly = `printf 'I \033[1;31mlook\033[0m at <b>it</b>\n'
if test -e done.txt; then
	echo good >done.txt
	until test -e '%[1]s'; do sleep 0.1; done
	printf '\033[32mthe door is open\033[0m\n'
	until test -e '%[1]s/too'; do sleep 0.1; done
else
	echo bad >done.txt
fi
git add -A && git commit -qm "$SIGNALBOX_TASK"
echo "READY_FOR_REVIEW: $SIGNALBOX_TASK $run"
echo "Summary: <b>done</b>"
`

// A task's view has what its agents said and what the checks printed, in colours, and is live; and says what is proven of it.
func TestTaskView(t *testing.T) {
	b := openBrowser(t)
	door := filepath.Join(t.TempDir(), "door")
	w := newWorld(t, `checks: [{name: test, command: 'printf "\033[33mlook\033[0m\n"; ! grep -s bad done.txt'}]`)
	w.script("T-1", fmt.Sprintf(slowly, door))
	link, err := w.client.Page(t.Context(), api.NewPage{Scope: access.Operate})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Deliver(t.Context(), api.StartRun{Plan: plan}); err != nil {
		t.Fatal(err)
	}
	b.visit(link.URL)
	b.until("document.activeElement.textContent === 'Open the page'")
	b.press("Enter")
	b.until("document.title.startsWith('Inbox')")
	w.until("at work again", func() (bool, error) { return len(w.recorded(`"LeaseGranted"`)) == 2, nil })
	root := strings.SplitAfter(link.URL, "/login")[0]
	b.visit(strings.TrimSuffix(root, "login") + "task?id=R1.T-1")
	b.until("document.getElementById('live').textContent === 'Live'")
	b.until("[...document.querySelectorAll('#said .voice.agent .bo.f1')].some((e) => e.textContent === 'look' && getComputedStyle(e).fontWeight === '700')")
	b.until("document.querySelector('#evidence').textContent.includes('these checks failed: test')")
	address := strings.TrimSuffix(root, "login") + "task?id=R1.T-1"
	w.until("what is not committed is shown", func() (bool, error) {
		b.visit(address + "&show=changes")
		text, _ := b.must("document.getElementById('changes').innerText").(string)
		return strings.Contains(text, "changes that are not committed") && strings.Contains(text, "good"), nil
	})
	b.visit(address)
	b.until("document.getElementById('live').textContent === 'Live'")
	if err := os.Mkdir(door, 0o700); err != nil {
		t.Fatal(err)
	}
	b.until("[...document.querySelectorAll('#said .f2')].some((e) => e.textContent === 'the door is open')") // by itself
	if err := os.WriteFile(filepath.Join(door, "too"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.until("to review", func() (bool, error) { return len(w.waits("review")) == 1, nil })
	b.until("!!document.querySelector('textarea[name=comments]') && document.querySelectorAll('#evidence ol')[0].children.length === 2")

	b.must("document.querySelector('#said a').click()") // the first session
	b.until("document.readyState === 'complete' && location.search.includes('session=') && !!document.querySelector('#said h3')")
	b.until("document.querySelector('#said .checks').open && document.querySelector('#said .checks .f3').textContent === 'look'")
	if text := b.must("document.body.innerText").(string); !strings.Contains(text, "I look at <b>it</b>") || strings.Contains(text, "WRONG") || strings.Contains(text, "Nothing is proven") {
		t.Errorf("the page says:\n%s", text)
	}
	w.until("all is signed", func() (bool, error) {
		b.visit(address)
		text, _ := b.must("document.querySelector('.facts').innerText").(string)
		return strings.Contains(text, "all in the signed ledger"), nil
	})
	for _, e := range b.heard("Log.entryAdded", "Runtime.exceptionThrown") {
		t.Errorf("the browser says %s", e.Params)
	}
	if _, err := w.client.CancelRun(t.Context(), "R1", api.Message{}); err != nil {
		t.Fatal(err)
	}
}

// What an agent said before the last 2,000 lines is read back to its beginning, by links, without scripts too; a secret that is cut there is not seen.
func TestEarlierParts(t *testing.T) {
	b := openBrowser(t)
	w := newWorld(t)
	w.script("T-1", "i=0\nwhile test $i -lt 5000; do i=$((i+1)); echo \"line $i of many\"; if test $i = 3000; then echo 'the key is ghp_"+strings.Repeat("Ab3", 12)+"'; fi; done\nwhile :; do sleep 1; done\n")
	w.deliver("A plan", "T-1: The task")
	root := w.in(b)
	w.until("all is said", func() (bool, error) {
		b.visit(root + "task?id=R1.T-1")
		return b.must("document.getElementById('said').innerText.includes('line 5000 of many')") == true, nil
	})
	b.accessible("the end of a long transcript")
	b.ask("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.visit(root + "task?id=R1.T-1")
	for n, want := range []string{"line 5000 of many", "line 3000 of many", "line 1000 of many"} {
		said := b.must("document.getElementById('said').innerText").(string)
		if !strings.Contains(said, want) || strings.Contains(said, "Ab3Ab3") || len(strings.Split(said, "\n")) > 2100 {
			t.Fatalf("the part %d before the end has not %s:\n%.2000s", n, want, said)
		}
		if n < 2 {
			b.push("[...document.querySelectorAll('#said a.button')].find((e) => e.textContent.startsWith('What was said before'))")
		}
	}
	if said := b.must("document.getElementById('said').innerText").(string); !strings.Contains(said, "line 1 of many") || strings.Contains(said, "What was said before") {
		t.Errorf("the first part is\n%.2000s", said)
	}
	b.push("[...document.querySelectorAll('#said a.button')].find((e) => e.textContent === 'The end of it')")
	if said := b.must("document.getElementById('said').innerText").(string); !strings.Contains(said, "line 5000 of many") {
		t.Errorf("the end is\n%.2000s", said)
	}
	if _, err := w.client.CancelRun(t.Context(), "R1", api.Message{}); err != nil {
		t.Fatal(err)
	}
}
