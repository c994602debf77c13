package web_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/web"
)

func (p *played) Changes(context.Context, evidence.Work, api.Run, io.Writer) (web.Changed, error) {
	return web.Changed{}, errors.New("there is nothing to see")
}

// changed is a box with a worktree.
type changed struct {
	*historied
	looked []evidence.Work
	shown  web.Changed
	diff   string
	fails  error
}

func (p *changed) Changes(_ context.Context, w evidence.Work, r api.Run, to io.Writer) (web.Changed, error) {
	p.looked = append(p.looked, w)
	if p.fails != nil || r.ID != "R1" {
		return web.Changed{}, p.fails
	}
	_, err := io.WriteString(to, p.diff)
	return p.shown, err
}

// Who wants to see it is shown what a task changes now. Nobody looks into a worktree otherwise.
func TestChanges(t *testing.T) {
	p := &changed{historied: tell("words", theTale...), diff: textDiff, shown: web.Changed{Base: "bbbbbbbbb", Commit: "ccccccccc", Live: true, Uncommitted: true}}
	page := p.pageOf(p, p)
	for _, path := range []string{"task?id=R1.T-1", "task?id=R1.T-1&part=task", "task?id=R1.T-1&show=changes&part=task", "task?id=R1.T-1&show=changes&part=said"} {
		if status, _ := p.look(page, "GET", path, access.Read); status != http.StatusOK || len(p.looked) > 0 {
			t.Errorf("%s: %d, looked %d times", path, status, len(p.looked))
		}
	}
	const path = "task?id=R1.T-1&show=changes"
	status, text := p.look(page, "GET", path, access.Read)
	has(t, status, text, "What it changes now", "Its worktree: ccccccc , and changes that are not committed, compared with bbbbbbb", "look again", "1 file, +2 −1", "f.go", "added:", "more")
	if len(p.looked) != 1 || p.looked[0].Item.Commit != "bbbbbbb2" || p.looked[0].Settled() || strings.Contains(text, "data-at") {
		t.Errorf("looked at %+v:\n%s", p.looked, text)
	}
	p.shown, p.diff = web.Changed{Base: "b", Commit: "c", Unread: "it is " + hostile}, strings.Repeat("x", 2<<20)
	_, text = p.look(page, "GET", path, access.Read)
	has(t, http.StatusOK, text, "The commit c , compared with b", "could not be looked at")
	inert(t, text)
	p.fails = errors.New("nobody has worked on it yet" + hostile)
	_, text = p.look(page, "GET", path, access.Read)
	has(t, http.StatusOK, text, "nobody has worked on it yet")
	inert(t, text)
}

// Who may operate can take a task, and is told where its work is.
func TestTake(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("x")
	status, text := p.look(page, "POST", "task", access.Answer, "work", "R1.T-1", "do", "take")
	if status != http.StatusForbidden || len(p.words) > 0 {
		t.Errorf("who may not: %d, %q\n%s", status, p.words, text)
	}
	status, text = p.look(page, "POST", "task", access.Operate, "work", "R1.T-1", "do", "take")
	if status != http.StatusOK || len(p.words) != 1 || p.words[0] != "POST /v1/work/R1.T-1/take {}" || !strings.Contains(text, "R1.T-1 is yours") || !strings.Contains(text, "signalbox give R1.T-1") {
		t.Errorf("%d, %q\n%s", status, p.words, text)
	}
	_, text = p.look(page, "POST", "task", access.Operate, "work", hostile, "do", "take")
	inert(t, text)
}

// A form that was refused leaves the browser at the form's address: the page says where its parts are.
func TestRefusedIsLive(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("x")
	for _, c := range []struct {
		path, here, part string
		form             []string
	}{
		{"answer", "./", "?part=inbox", []string{"question", "R1-Q9", "text", "x"}},
		{"review", "./", "?part=inbox", []string{"work", "R1.T-1", "verdict", "maybe"}},
		{"steer", "run?id=R1", "run?id=R1&part=run", []string{"run", "R1", "do", "delete"}},
		{"task", "task?id=R1.T-1", "task?id=R1.T-1&part=task", []string{"work", "R1.T-1", "do", "delete"}},
		{"answer", "task?id=R1.T-1", "task?id=R1.T-1&part=task", []string{"question", "R1-Q9", "text", "x", "at", "R1.T-1"}},
		{"review", "task?id=R1.T-1", "task?id=R1.T-1&part=task", []string{"work", "R1.T-1", "verdict", "maybe", "at", "R1.T-1"}},
	} {
		status, text := p.look(page, "POST", c.path, access.Operate, c.form...)
		if !strings.Contains(text, ` data-here="`+c.here+`">`) {
			t.Errorf("%s: %d, it does not say %s:\n%.800s", c.path, status, c.here, text)
		}
		if status, _ := p.look(page, "GET", c.part, access.Operate); status != http.StatusOK {
			t.Errorf("%s: %d", c.part, status)
		}
	}
	if _, text := p.look(page, "GET", "run?id=R1", access.Read); strings.Contains(text, "data-here") {
		t.Errorf("a view says that it is elsewhere:\n%.800s", text)
	}
}
