package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/filelock"
)

// running returns the directory of a box that runs, as far as commands can tell, and answers by a handler.
func running(t *testing.T, answer http.HandlerFunc) (dir string) {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	dir = filepath.Join(t.TempDir(), ".signalbox")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.TakeDir(dir, filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	for name, text := range map[string]string{"box.json": fmt.Sprintf(`{"address":%q,"pid":1}`, strings.TrimPrefix(s.URL, "http://")), "api.token": "token\n", "verifier.key": "x+y+z\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Without a box that leads status shows what the box here has, says that it may be old, and is 1; other commands say so, and not that the box went away.
func TestStatusWithoutLeader(t *testing.T) {
	short := api.InCluster{Self: "c", Boxes: 3, Answer: 1, Problem: "too few answer"}
	said := map[string]any{
		"/v1/runs/latest": api.Run{ID: "R7", Title: "the plan", State: api.RunRunning}, "/v1/questions": []api.Question{},
		"/v1/status": api.Status{Box: api.BoxStatus{Writable: true}, Cluster: &short},
	}
	age := "92000"
	dir := running(t, func(w http.ResponseWriter, r *http.Request) {
		answer, known := said[r.URL.Path]
		if !known || r.URL.Path != "/v1/status" && r.FormValue("stale") != "ok" {
			time.Sleep(6 * time.Second)
			w.WriteHeader(http.StatusServiceUnavailable)
			_ = json.NewEncoder(w).Encode(api.Problem{Code: api.CodeNoLeader, Message: "no box of the cluster leads"})
			return
		}
		if age != "" {
			w.Header().Set(api.AgeHeader, age)
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	code, out, errOut := run(t, command.Env{}, "--dir", dir, "status")
	for _, want := range []string{"no box of the cluster leads", "may be old: this box last heard of one 1m32s ago", "signalbox cluster status", "R7", "this is the box c of a cluster: no box leads; 1 of 3 answer"} {
		if code != command.ExitFailure || !strings.Contains(out, want) || strings.Contains(out, "can write") {
			t.Errorf("status: exit %d, without %q: %s%s", code, want, out, errOut)
		}
	}
	age = ""
	code, out, _ = run(t, command.Env{}, "--dir", dir, "status", "--json")
	if code != command.ExitFailure || !strings.Contains(out, `"old":{}`) || !strings.Contains(out, `"id":"R7"`) {
		t.Errorf("status --json: exit %d, %s", code, out)
	}
	code, _, errOut = run(t, command.Env{}, "--dir", dir, "work", "add", "--title", "x")
	if code != command.ExitFailure || !strings.Contains(errOut, "no box of the cluster leads") || strings.Contains(errOut, "went away") {
		t.Errorf("work add: exit %d, %s", code, errOut)
	}
	began := time.Now()
	if _, out, _ = run(t, command.Env{}, "--dir", dir, "doctor"); !strings.Contains(out, "a box that leads; this is the box c") || time.Since(began) > 5*time.Second {
		t.Errorf("doctor, after %v: %s", time.Since(began), out)
	}
}

// Of a box that led and does not answer is not said that it leads, and the command is 1.
func TestClusterStatusLeaderGone(t *testing.T) {
	s := api.ClusterStatus{Self: "b", Leader: "a", Committed: 7, Members: []api.MemberStatus{
		{Name: "a", ID: 1, Role: api.RoleVoter, State: api.MemberNotReached}, {Name: "b", ID: 2, Role: api.RoleVoter, State: api.MemberFollows},
	}}
	dir := running(t, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s) })
	if code, out, _ := run(t, command.Env{}, "--dir", dir, "cluster", "status"); code != command.ExitFailure || !strings.Contains(out, "a led, and is not reached") || strings.Contains(out, "a leads") {
		t.Errorf("exit %d, %s", code, out)
	}
	s.Members[0].State = api.MemberLeads
	if code, out, _ := run(t, command.Env{}, "--dir", dir, "cluster", "status"); code != 0 || !strings.Contains(out, "a leads") {
		t.Errorf("exit %d, %s", code, out)
	}
}

// A run that is watched goes on without its box that leads, and that is said.
func TestWatchedWithoutLeader(t *testing.T) {
	r := api.Run{ID: "R7", Title: "the plan", State: api.RunRunning}
	dir := running(t, func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/v1/runs":
			_ = json.NewEncoder(w).Encode([]api.Run{r})
		case "/v1/runs/R7/watch":
			data, _ := json.Marshal(r)
			_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		default:
			time.Sleep(6 * time.Second)
			w.WriteHeader(http.StatusServiceUnavailable)
			_ = json.NewEncoder(w).Encode(api.Problem{Code: api.CodeNoLeader, Message: "no box of the cluster leads"})
		}
	})
	code, out, errOut := run(t, command.Env{}, "--dir", dir, "run")
	if code != command.ExitFailure || !strings.Contains(errOut, "no box of the cluster leads. R7 goes on when one leads again") {
		t.Errorf("exit %d, %s%s", code, out, errOut)
	}
}

// Who takes a box out is told if the two that are left both have to be there.
func TestLeaveTwoVoters(t *testing.T) {
	var s api.ClusterStatus
	dir := running(t, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s) })
	a, b, c := api.MemberStatus{Name: "a", Role: api.RoleVoter}, api.MemberStatus{Name: "b", Role: api.RoleVoter}, api.MemberStatus{Name: "c", Role: api.RoleVoter}
	for name, o := range map[string]struct {
		members []api.MemberStatus
		told    bool
	}{
		"two are left":                       {[]api.MemberStatus{a, b}, true},
		"two are left, and it is on its way": {[]api.MemberStatus{a, b, c}, true},
		"one is left":                        {[]api.MemberStatus{a, c}, false},
		"one of two only learns":             {[]api.MemberStatus{a, {Name: "b", Role: api.RoleLearner}}, false},
	} {
		s.Members = o.members
		code, out, errOut := run(t, command.Env{}, "--dir", dir, "cluster", "leave", "c")
		if told := strings.Contains(errOut, "a and b both vote: if either is not there nothing is recorded"); code != 0 || told != o.told {
			t.Errorf("%s: exit %d, %s%s", name, code, out, errOut)
		}
	}
}
