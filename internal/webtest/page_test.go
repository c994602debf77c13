//go:build unix

package webtest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/service"
)

// agent plays the developer: it does what there is for its task in a directory; if there is nothing, it writes a file, and says so.
// All other roles are a person's.
const agent = `#!/bin/sh
prompt=$(cat)
run=$(printf '%%s\n' "$prompt" | sed -n 's/^\(run=[^ ]*\) belongs to this session.*/\1/p' | tail -n 1)
if [ -e "%[1]s/$SIGNALBOX_TASK" ]; then . "%[1]s/$SIGNALBOX_TASK"; exit; fi
echo "a line" >done.txt
git add -A && git commit -qm "$SIGNALBOX_TASK"
echo "READY_FOR_REVIEW: $SIGNALBOX_TASK $run"
echo "Summary: <b>done</b>"
`

const plan = "# A plan\n\n#### Task T-1: The task\n\n**Work**: Do it.\n\n**Blocked By**: none\n"

// program is the signalbox program, which is built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "signalbox-webtest-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "signalbox")
	out, err := exec.Command("go", "run", "-exec", "cp", "../../cmd/signalbox", path).CombinedOutput() //nolint:noctx // all tests have it
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return path, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil && path != "" {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// world is a box in a repository, whose only agent is that.
type world struct {
	t       *testing.T
	client  *api.Client
	scripts string // what its agent does, in a file for each task
}

// newWorld makes one. The settings are besides those of the agent and its roles.
func newWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	return openWorld(t, nil, settings...)
}

// openWorld makes one whose box has another listener for other machines; none if that is nil.
func openWorld(t *testing.T, secure net.Listener, settings ...string) *world {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	repo, script, scripts := gittest.New(t), filepath.Join(t.TempDir(), "agent"), t.TempDir()
	if err := os.WriteFile(script, fmt.Appendf(nil, agent, scripts), 0o700); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, repo, "config", "user.name", "Ann")
	gittest.Git(t, repo, "config", "user.email", "ann@example.org")
	set, err := config.Parse(filepath.Join(repo, config.File), fmt.Appendf(nil, "agents: {scripted: {command: [%s], commands: exec}}\nroles: {critic: {agent: person}, auditor: {agent: person}}\n%s", script, strings.Join(settings, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := service.Open(t.Context(), service.Options{Box: box.Options{Dir: box.Dir(filepath.Join(repo, ".signalbox"))}, Config: set, Program: path, Secure: secure})
	if err != nil {
		t.Fatal(err)
	}
	l, err := httpapi.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	token, _ := s.Box.Tokens()
	w := &world{t, api.NewClient(l.Addr().String(), token), scripts}
	t.Cleanup(func() {
		w.client.Close()
		ending, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		s.Conductor.Drain(ending) // no agent is left
		stop()
		if err := errors.Join(<-served, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// script has the agent on a task do something. $run is what belongs to its session.
func (w *world) script(task, does string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.scripts, task), []byte(does), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// deliver delivers a plan of tasks: each is its id, a colon and its title, and perhaps the tasks that it waits for, in brackets at its
// end.
func (w *world) deliver(title string, tasks ...string) api.Run {
	w.t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n", title)
	for _, task := range tasks {
		after := "none"
		if at := strings.LastIndex(task, " ["); at > 0 && strings.HasSuffix(task, "]") {
			task, after = task[:at], task[at+2:len(task)-1]
		}
		fmt.Fprintf(&text, "\n#### Task %s\n\n**Work**: Do it, and say how.\n\n**Blocked By**: %s\n", task, after)
	}
	r, err := w.client.Deliver(w.t.Context(), api.StartRun{Plan: text.String()})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// in has a browser log in.
func (w *world) in(b *browser) (root string) {
	w.t.Helper()
	link, err := w.client.Page(w.t.Context(), api.NewPage{Scope: access.Operate})
	if err != nil {
		w.t.Fatal(err)
	}
	b.visit(link.URL)
	b.until("!!document.querySelector('button.primary')")
	b.must("document.querySelector('button.primary').click()")
	b.until("document.title.includes('Inbox') && document.getElementById('live').textContent === 'Live'")
	root, _, _ = strings.Cut(link.URL, "login")
	return root
}

// until waits until the box says what a test waits for.
func (w *world) until(what string, is func() (bool, error)) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		ok, err := is()
		if err != nil {
			w.t.Fatal(err)
		}
		if ok {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond): // between two looks
		case <-w.t.Context().Done():
		}
	}
	w.t.Fatalf("for %v: not %s", patience, what)
}

// waits returns what waits for a person, of some kind.
func (w *world) waits(kind string) (all []api.Question) {
	w.t.Helper()
	questions, err := w.client.Questions(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, q := range questions {
		if q.Kind == kind {
			all = append(all, q)
		}
	}
	return all
}

// asks has somebody ask a question by hand.
func (w *world) asks(question string) {
	w.t.Helper()
	item, err := w.client.Add(w.t.Context(), api.AddWork{Title: "By hand", Phase: agentsig.PhaseImplementation})
	if err != nil {
		w.t.Fatal(err)
	}
	grant, err := w.client.Claim(w.t.Context(), api.Claim{Work: item.ID, Actor: "ann", Role: agentsig.RoleDeveloper})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.client.Emit(w.t.Context(), grant.Session, fmt.Appendf(nil, "SEEKING_DIVINE_CLARIFICATION\nQuestion: %s\n", question)); err != nil {
		w.t.Fatal(err)
	}
}

// recorded returns the events that have something in them, as they are stored.
func (w *world) recorded(what string) (all []string) {
	w.t.Helper()
	err := w.client.Events(w.t.Context(), "", 0, false, func(e api.Event) error {
		if strings.Contains(string(e.Event), what) {
			all = append(all, string(e.Event))
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// A person logs in by the link, answers a question while a hundred things happen, and reviews a task, all of it by keyboard. What
// they type stays, and the focus too. The browser asks nobody else for anything, and finds nothing to complain about.
func TestPage(t *testing.T) {
	b := openBrowser(t)
	w := newWorld(t)
	link, err := w.client.Page(t.Context(), api.NewPage{Scope: access.Operate})
	if err != nil {
		t.Fatal(err)
	}
	w.asks("Which door?")
	b.visit(link.URL)
	b.until("document.activeElement.textContent === 'Open the page'")
	b.press("Enter")
	b.until("document.title.startsWith('(1) Inbox') && document.getElementById('live').textContent === 'Live'")

	b.must("document.querySelector('textarea[name=text]').focus()")
	b.typed("The left one, ")
	b.must("window.field = document.activeElement, window.field.setSelectionRange(4, 8), true")
	for i := range 100 {
		if i%10 == 0 {
			w.asks(fmt.Sprintf("Number %d?", i))
			continue
		}
		if _, err := w.client.Add(t.Context(), api.AddWork{Title: "More"}); err != nil {
			t.Fatal(err)
		}
	}
	b.until("document.querySelectorAll('article').length === 11 && document.body.textContent.includes('Number 90?')")
	const mine = "document.activeElement === window.field && window.field.isConnected && window.field.value === 'The left one, ' && window.field.selectionStart === 4 && window.field.selectionEnd === 8"
	if b.must(mine) != true {
		t.Fatalf("what was typed, where, and the focus: %v", b.must("[document.activeElement.outerHTML, window.field.isConnected, window.field.value, window.field.selectionStart]"))
	}
	b.must("window.field.setSelectionRange(99, 99)")
	b.typed("and then up.")
	b.press("Tab")
	b.until("document.activeElement.textContent === 'Answer'")
	b.press("Enter")
	b.until("location.search.includes('did=answered') && document.querySelectorAll('article').length === 10 && document.querySelector('nav #waits .tag').firstChild.textContent === '10'")
	if all := w.recorded(`"QuestionAnswered"`); len(all) != 1 || !strings.Contains(all[0], "The left one, and then up.") || !strings.Contains(all[0], `"actor":"client:page-`) {
		t.Fatalf("recorded is %q", all)
	}

	if _, err := w.client.Deliver(t.Context(), api.StartRun{Plan: plan}); err != nil {
		t.Fatal(err)
	}
	w.until("to review", func() (bool, error) { return len(w.waits("review")) == 1, nil })
	b.until("!!document.querySelector('textarea[name=comments]') && document.body.textContent.includes('<b>done</b>')")
	b.must("document.querySelector('td[data-at]').click()")
	b.until("document.activeElement.name === 'comments' && document.activeElement.value === 'done.txt:1: '")
	b.typed("say more")
	b.press("Tab")
	b.until("document.activeElement.value === 'accept'")
	b.press("Tab")
	b.until("document.activeElement.value === 'back'")
	b.press("Enter")
	b.until("location.search.includes('did=back')")
	if all := w.recorded("done.txt:1: say more"); len(all) == 0 || !strings.Contains(all[0], `"actor":"client:page-`) {
		t.Fatalf("recorded is %q", all)
	}

	b.until("!!document.querySelector('nav a[href=runs]')") // the page is being loaded
	b.must("document.querySelector('nav a[href=runs]').click()")
	b.until("document.title.includes('Runs') && !!document.querySelector('li a')")
	b.must("document.querySelector('li a').click()")
	b.until("document.title.includes('R1: A plan') && document.getElementById('live').textContent === 'Live'")
	b.must("document.querySelector('.task h3 a').click()")
	b.until("document.title.includes('R1.T-1: The task') && document.getElementById('task').textContent.includes('What happened')")
	b.must("setTimeout(() => history.back())") // when this is answered
	b.until("document.title.includes('R1: A plan') && !!document.getElementById('steer-text') && document.getElementById('live').textContent === 'Live'")
	b.must("document.getElementById('steer-text').focus()")
	b.typed("lunch")
	b.press("Tab")
	b.until("document.activeElement.value === 'pause'")
	b.press("Enter")
	b.until("location.search.includes('did=pause') && document.querySelector('#run .tag').textContent === 'paused'")
	if _, err := w.client.CancelRun(t.Context(), "R1", api.Message{}); err != nil {
		t.Fatal(err)
	}
	b.until("document.querySelector('#run .tag').textContent === 'cancelled' && !document.querySelector('#steer button')") // by itself: and nothing is left to steer

	b.clean(strings.SplitAfter(link.URL, ".localhost:")[0])
}
