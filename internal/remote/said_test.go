package remote

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/runner"
)

// What a session has done is at the box before its word is that says so; while the box is away its words wait, and none is lost or
// said before the one that it follows.
func TestWordsOfSessions(t *testing.T) {
	w := newWorld(t)
	dir := shortDir(t)
	w.want(w.session(first))
	r := opened(t, dir, w.box, w.log)
	w.run(r)
	w.untilSaid("done")
	if err := os.WriteFile(filepath.Join(dir, runner.Worktrees, "R1", "T-1", "x.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	client := api.FollowingClient(func() (string, error) { return api.SocketPrefix + filepath.Join(dir, socketFile), nil }, "token of "+first).WithPatience(0)
	defer client.Close()
	turn := api.SessionReport{Seq: 1, Kind: api.ReportTurn, Turn: 1}
	w.instead(func(path string) int { // the push gets through, and the word does not
		if strings.HasSuffix(path, "/report") {
			return http.StatusServiceUnavailable
		}
		return 0
	})
	if err := client.SendReport(t.Context(), first, turn); err == nil || api.Refused(err) || api.Gone(err) {
		t.Errorf("while the box is away: %v", err)
	}
	w.instead(nil)
	w.box.set(false)
	if err := client.SendReport(t.Context(), first, turn); err == nil || api.Refused(err) || api.Gone(err) {
		t.Errorf("while the box is out of reach: %v", err)
	}
	w.box.set(true)
	for _, report := range []api.SessionReport{turn, {Seq: 2, Kind: api.ReportNote}, {Seq: 3, Kind: api.ReportEnded, How: "done"}} {
		if err := client.SendReport(t.Context(), first, report); err != nil {
			t.Fatal(err)
		}
	}
	said := w.heard("ref 2", "ref 3", "pushed", "report")
	at := slices.IndexFunc(said, func(s string) bool { return strings.HasPrefix(s, "pushed") && !strings.Contains(s, w.base) })
	if at < 0 || !slices.Equal(said[at+1:], []string{"report " + first + " 1", "report " + first + " 2", "report " + first + " 3"}) || len(w.heard("ref")) != 2 {
		t.Errorf("said was %q", w.heard(""))
	}
	if got := gittest.Git(t, w.repo, "show", "refs/tasks/R1/T-1/1.1.2:x.txt"); got != "x" {
		t.Errorf("pushed was %q", got)
	}
	w.instead(func(path string) int {
		if strings.HasSuffix(path, "/report") {
			return http.StatusNotFound
		}
		return 0
	})
	if err := client.SendReport(t.Context(), first, api.SessionReport{Seq: 4, Kind: api.ReportNote}); !api.Gone(err) {
		t.Errorf("a session that is over is told %v", err)
	}
}

// A session is connected through to the box while both are there, and the box is told which ones are.
func TestCommands(t *testing.T) {
	said := make(chan string)
	box := newStandIn(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer one" {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(rw, "\n")
		for {
			select {
			case s := <-said:
				_, _ = io.WriteString(rw, s+"\n")
			case <-r.Context().Done():
				return
			}
		}
	}))
	box.set(true)
	dir := shortDir(t)
	r := opened(t, dir, box, io.Discard)
	if err := r.write(kept{Token: "one"}, first); err != nil {
		t.Fatal(err)
	}
	get := func() (int, string) {
		return word(t, dir, "GET", "/v1/sessions/"+first+"/commands", nil, "Authorization", "Bearer one")
	}
	get() // the box was not met yet, so this ends
	here, away := context.WithCancel(t.Context())
	defer away()
	r.sessions.meet(here)
	ended := make(chan string, 1)
	go func() {
		_, answer := get()
		ended <- answer
	}()
	said <- "something"
	for on, lost := r.sessions.Connected(first); ; on, lost = r.sessions.Connected(first) {
		if on && lost != nil {
			break
		}
		<-r.nudge
	}
	if got := r.sessions.inTouch(); !slices.Equal(got, []string{first}) {
		t.Errorf("in touch are %q", got)
	}
	_, lost := r.sessions.Connected(first)
	away()
	<-lost
	if answer := <-ended; !strings.Contains(answer, "something") && !strings.Contains(answer, "EOF") {
		t.Errorf("the session heard %q", answer)
	}
	r.sessions.stop() // returns when nobody is connected any more
	if got := r.sessions.inTouch(); len(got) != 0 {
		t.Errorf("in touch are %q", got)
	}
}

// Settings that can't be gone by are said, until there are others; sessions' orders begin anew with them. The same again change nothing.
func TestSettings(t *testing.T) {
	w := newWorld(t)
	good := w.settings
	w.settings = order.Settings{Text: "agents: [", Object: w.base}
	r := opened(t, shortDir(t), w.box, w.log)
	w.run(r)
	problem := func() string {
		if len(w.here) == 0 {
			return "none yet"
		}
		return w.here[len(w.here)-1].Problem
	}
	w.until("it says that the settings are bad", func() bool { return strings.Contains(problem(), "can't be gone by here") })
	w.tell(order.Notice{Settings: &good})
	w.until("it says what it can do", func() bool { return problem() == "" && len(w.here[len(w.here)-1].Agents) == 1 })
	last := func() order.Here { return w.here[len(w.here)-1] }
	w.mu.Lock()
	if h := last(); h.Agents[0].Name != "a" || h.Protocol != order.Protocol() || !h.Checks || h.Leaving || h.Version != "test" {
		t.Errorf("it says %+v", h)
	}
	w.mu.Unlock()
	works := func() *works {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.works
	}
	before := works()
	w.tell(order.Notice{Settings: &good})
	w.tell(order.Notice{Call: &order.Call{ID: 1, Do: "x"}})
	w.untilSaid("answer 1")
	if works() != before {
		t.Error("the same settings have it begin anew")
	}
	other := w.set("limits: {agents: 7}\n")
	other.Prompts = map[string]string{"developer.md": "Be kind."}
	other.Author, other.Address = "Ann", "ann@example.org"
	w.tell(order.Notice{Settings: &other})
	w.tell(order.Notice{Call: &order.Call{ID: 2, Do: "x"}})
	w.untilSaid("answer 2")
	if works() == before || works().config.Limits.Agents != 7 {
		t.Error("it does not go by other settings")
	}
	if name, address, err := works().mirror.Author(t.Context()); name != "Ann" || address != "ann@example.org" || err != nil {
		t.Errorf("commits are made here by %q, %q, %v", name, address, err)
	}
}
