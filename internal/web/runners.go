package web

import (
	"fmt"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// runnersView is the machines besides the box's own on which agents work, or may.
type runnersView struct {
	frame
	Runners []runnerCard
}

// runnerCard is a runner as it is shown.
type runnerCard struct {
	api.Runner
	Expired bool // nobody can join by its invitation any more
	Steers  bool // who looks at it may drain it
}

// drainFor is how long what is under way on a runner may go on when it is drained at the page: as `signalbox runner drain` has it.
const drainFor = 30 * time.Minute

// Look is how its state looks.
func (r runnerCard) Look() string {
	switch {
	case r.State == api.RunnerInvited, r.LeftAt != nil:
		return ""
	case r.State == api.RunnerLost && !r.NotStarted:
		return "bad"
	case r.State == api.RunnerPresent && r.Silence() == "" && r.Problem == "":
		return "good"
	}
	return "warn"
}

// Load says how many sessions it has, and how many it may have.
func (r runnerCard) Load() string {
	if r.Places == 0 {
		return fmt.Sprint(r.Sessions)
	}
	return fmt.Sprintf("%d of %d", r.Sessions, r.Places)
}

// Program says what it runs.
func (r runnerCard) Program() string {
	if r.Version == "" {
		return fmt.Sprintf("protocol %d", r.Protocol)
	}
	return fmt.Sprintf("signalbox %s, protocol %d", r.Version, r.Protocol)
}

func (p *Page) runners(w http.ResponseWriter, a asked) { p.showRunners(w, a, http.StatusOK, "") }

// showRunners shows them, and why a form about one was refused if it was.
func (p *Page) showRunners(w http.ResponseWriter, a asked, status int, problem string) {
	v := runnersView{frame: p.framed(a, "Runners", "runners", topicRunners)}
	if v.Problem = problem; a.Method == http.MethodPost {
		v.Here = "runners"
	}
	all, err := a.client.Runners(a.Context())
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	for _, r := range all {
		v.Runners = append(v.Runners, runnerCard{r, r.ExpiresAt != nil && p.o.Now().After(*r.ExpiresAt), v.Steers})
	}
	name := "runners.html"
	if a.Method == http.MethodGet && a.URL.Query().Get("part") == "runners" {
		name = "runners-list"
	}
	p.show(w, a.Request, status, name, v)
}

// drain has a runner that a form names take nothing new, or take work again.
func (p *Page) drain(w http.ResponseWriter, a asked) {
	name, do := a.PostForm.Get("runner"), a.PostForm.Get("do")
	q := api.DrainRunner{DeadlineMS: drainFor.Milliseconds()}
	switch {
	case !a.may(access.ToOperate):
		p.showRunners(w, a, http.StatusForbidden, scopeNeeded(access.Operate))
		return
	case do == "undrain":
		q = api.DrainRunner{Back: true}
	case do != "drain":
		p.showRunners(w, a, http.StatusBadRequest, "the form does not say what to do")
		return
	}
	if _, err := a.client.DrainRunner(a.Context(), name, q); err != nil {
		p.showRunners(w, a, statusOf(err), err.Error())
		return
	}
	done(w, a.Request, "runners", do, name)
}
