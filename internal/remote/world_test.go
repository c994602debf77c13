package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gitserver"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// world is a box with a repository that gives orders, and keeps what comes of them.
type world struct {
	t    *testing.T
	repo string // of the box
	base string
	git  *gitserver.Server
	box  *standIn
	log  *logged

	mu       sync.Mutex
	before   func(path string) int // what a request is answered with instead; 0 for what it is for
	said     []string              // in order: what was handed in, and what else is worth a word
	ran      []delivery.GateRan
	here     []order.Here
	there    order.There
	done     order.DoneHeard     // what is answered to who has done something
	lines    []chan order.Notice // of runners that follow
	settings order.Settings
	orders   []order.Assigned // due
	changed  chan struct{}    // closed when something was said
}

const branch = "signalbox/R1"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, repo: gittest.New(t), log: &logged{}, changed: make(chan struct{}), there: order.There{Protocol: order.Protocol(), Runs: []string{"R1"}}}
	gittest.Git(t, w.repo, "branch", branch)
	w.base = gittest.Git(t, w.repo, "rev-parse", branch)
	repo, err := worktree.Open(t.Context(), w.repo)
	if err != nil {
		t.Fatal(err)
	}
	w.git = gitserver.New(repo, gitserver.Limits{}, slog.New(slog.DiscardHandler))
	w.settings = w.set("")
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runner/here", func(rw http.ResponseWriter, r *http.Request) {
		var h order.Here
		w.read(r, &h)
		w.mu.Lock()
		w.here = append(w.here, h)
		there := w.there
		w.mu.Unlock()
		w.stir()
		_ = json.NewEncoder(rw).Encode(there)
	})
	mux.HandleFunc("GET /v1/runner/orders", w.follow)
	mux.HandleFunc("POST /v1/runner/hand-in", func(rw http.ResponseWriter, r *http.Request) {
		var h order.HandedIn
		w.read(r, &h)
		in, err := h.Read()
		if err != nil {
			t.Error(err)
		}
		switch in := in.(type) {
		case delivery.Pushed:
			w.say("pushed " + in.Session + " " + in.Commit + in.Problem)
		case delivery.End:
			w.say("end " + in.Session + " " + string(in.How))
		case delivery.GateRan:
			w.mu.Lock()
			w.ran = append(w.ran, in)
			w.mu.Unlock()
			w.say("gate " + in.Command)
		default:
			w.say(h.Kind)
		}
		_, _ = io.WriteString(rw, "{}")
	})
	mux.HandleFunc("POST /v1/runner/done", func(rw http.ResponseWriter, r *http.Request) {
		var d order.Done
		w.read(r, &d)
		w.mu.Lock()
		heard := w.done
		w.mu.Unlock()
		w.say("done " + d.Name + " " + d.Error)
		_ = json.NewEncoder(rw).Encode(heard)
	})
	mux.HandleFunc("POST /v1/runner/ref", func(rw http.ResponseWriter, r *http.Request) {
		var p order.Push
		w.read(r, &p)
		w.say(fmt.Sprint("ref ", p.Number))
		_ = json.NewEncoder(rw).Encode(order.Ref{Name: order.TaskRef("R1", "T-1", p.Session, p.Number)})
	})
	mux.HandleFunc("POST /v1/runner/answer", func(rw http.ResponseWriter, r *http.Request) {
		var a order.Answer
		w.read(r, &a)
		w.say(fmt.Sprintf("answer %d %s%s%s", a.ID, a.Text, a.Data, a.Error))
		_, _ = io.WriteString(rw, "{}")
	})
	mux.HandleFunc("POST /v1/runner/said", func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(rw, "{}")
	})
	mux.HandleFunc("POST /v1/sessions/{session}/report", func(rw http.ResponseWriter, r *http.Request) {
		var s api.SessionReport
		w.read(r, &s)
		w.say(fmt.Sprint("report ", r.PathValue("session"), " ", s.Seq))
		_, _ = io.WriteString(rw, "{}")
	})
	mux.HandleFunc("GET /v1/sessions/{session}/commands", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/v1/runner/git/fetch/{order}/{path...}", func(rw http.ResponseWriter, r *http.Request) {
		w.git.Serve(rw, r, r.PathValue("path"), gitserver.Access{Fetch: []string{"refs/heads/" + branch, "refs/tasks/R1/T-1/"}})
	})
	mux.HandleFunc("/v1/runner/git/push/{session}/{number}/{path...}", func(rw http.ResponseWriter, r *http.Request) {
		_, token, _ := strings.Cut(r.PathValue("session"), "-")
		w.git.Serve(rw, r, r.PathValue("path"), gitserver.Access{Fetch: []string{"refs/heads/" + branch, "refs/tasks/R1/T-1/"}, Push: "refs/tasks/R1/T-1/" + token + "." + r.PathValue("number")})
	})
	w.box = newStandIn(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		before := w.before
		w.mu.Unlock()
		if before != nil {
			if status := before(r.Method + " " + r.URL.Path); status != 0 {
				rw.Header().Set("Content-Type", "application/problem+json")
				rw.WriteHeader(status)
				code := map[int]string{http.StatusForbidden: api.CodeForbidden, http.StatusServiceUnavailable: api.CodeStopping, http.StatusBadRequest: api.CodeInvalid, http.StatusNotFound: api.CodeGone, http.StatusConflict: api.CodeConflict}[status]
				_ = json.NewEncoder(rw).Encode((&api.Problem{Code: code, Message: "so"}).Details(status))
				return
			}
		}
		mux.ServeHTTP(rw, r)
	}))
	w.box.set(true)
	return w
}

// set are settings by which agents run without a sandbox, with more lines.
func (w *world) set(more string) order.Settings {
	w.t.Helper()
	return w.setAgent(`"true"`, more)
}

// setAgent does the same with another program.
func (w *world) setAgent(program, more string) order.Settings {
	w.t.Helper()
	c, err := config.Parse(filepath.Join(w.repo, config.File), []byte("agents: {a: {command: ["+program+"]}}\nsandbox: {kind: none}\n"+more))
	if err != nil {
		w.t.Fatal(err)
	}
	text, prompts, err := c.Elsewhere()
	if err != nil {
		w.t.Fatal(err)
	}
	return order.Settings{Text: text, Prompts: prompts, Object: w.base}
}

func (w *world) read(r *http.Request, v any) {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		w.t.Errorf("%s: %v", r.URL.Path, err)
	}
}

// follow gives a runner all that is due, and then what comes.
func (w *world) follow(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	next := make(chan order.Notice, 100)
	w.lines = append(w.lines, next)
	settings := w.settings
	next <- order.Notice{Settings: &settings}
	w.give(next)
	w.mu.Unlock()
	_, _ = io.WriteString(rw, "\n")
	for {
		select {
		case n := <-next:
			data, err := json.Marshal(n)
			if err != nil {
				w.t.Error(err)
			}
			if _, err := fmt.Fprintf(rw, "data: %s\n\n", data); err != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// give puts what is due on a line. The caller holds mu.
func (w *world) give(line chan order.Notice) {
	due := []string{}
	for _, o := range w.orders {
		line <- order.Notice{Order: &o}
		due = append(due, o.Name)
	}
	line <- order.Notice{Due: &due}
}

// want has orders be due, and no others.
func (w *world) want(orders ...order.Assigned) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.orders = orders
	for _, l := range w.lines {
		w.give(l)
	}
}

// tell sends something to the runners that follow.
func (w *world) tell(n order.Notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lines {
		l <- n
	}
}

func (w *world) say(what string) {
	w.mu.Lock()
	w.said = append(w.said, what)
	w.mu.Unlock()
	w.stir()
}

func (w *world) stir() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

// until waits for something to be so; it is called with mu held.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	limit := time.After(time.Minute)
	for {
		w.mu.Lock()
		is, changed, said := so(), w.changed, slices.Clone(w.said)
		w.mu.Unlock()
		if is {
			return
		}
		select {
		case <-changed:
		case <-limit:
			w.t.Fatalf("it does not come to this: %s; said was %q, and logged\n%s", what, said, w.log)
		}
	}
}

// untilSaid waits until something was said that begins so.
func (w *world) untilSaid(begins string) {
	w.t.Helper()
	w.until(begins, func() bool {
		return slices.ContainsFunc(w.said, func(s string) bool { return strings.HasPrefix(s, begins) })
	})
}

// heard is what was said so far that begins with one of these.
func (w *world) heard(begins ...string) (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.said {
		if slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(s, b) }) {
			all = append(all, s)
		}
	}
	return all
}

// count is how much was said that begins so. The caller holds mu.
func (w *world) count(begins string) (n int) {
	for _, s := range w.said {
		if strings.HasPrefix(s, begins) {
			n++
		}
	}
	return n
}

// heardDone says what is answered to who has done something.
func (w *world) heardDone(h order.DoneHeard) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = h
}

// instead has requests be answered otherwise.
func (w *world) instead(before func(path string) int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = before
}

// run has a runner work for the box, until the test ends or what is returned is called, which returns how it ended.
func (w *world) run(r *Remote) (leave func() error) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	leave = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	w.t.Cleanup(func() { _ = leave() })
	return leave
}

// session is an order to start a developer.
func (w *world) session(id string) order.Assigned { return w.sessionOn("T-1", id) }

// sessionOn is one to start a developer on a task.
func (w *world) sessionOn(task, id string) order.Assigned {
	s := &delivery.Session{ID: id, Role: agentsig.RoleDeveloper, Agent: "a", Task: task, Runner: "gpu1"}
	run := delivery.Run{Subject: "01R", Sessions: map[string]*delivery.Session{id: s}}
	run.ID, run.Branch, run.Base = "R1", branch, w.base
	var item work.Item
	item.Subject, item.ID, item.Task, item.Title = strings.Split(id, "-")[0], "R1."+task, task, "the task"
	run.Tasks = []*delivery.Task{{ID: task, Item: item}}
	o := order.Order{Command: delivery.Command{ID: "start/" + id, Do: delivery.DoStart, Runner: "gpu1", Session: s}, Run: run, Plan: plan.Plan{Tasks: []plan.Task{{ID: task, Title: "the task"}}}, Token: "token of " + id}
	return order.Assigned{Order: o, Name: o.Name(), Fetch: []string{"refs/heads/" + branch}}
}

// pushed are the refs that sessions have made at the box, and what each is at.
func (w *world) pushed() string {
	return gittest.Git(w.t, w.repo, "for-each-ref", "--format=%(refname) %(objectname)", "refs/tasks")
}
