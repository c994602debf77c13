//go:build unix

package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// A session goes on while the box is away: what happens then is delivered when it is
// back, in order.
func TestBoxAway(t *testing.T) {
	t.Parallel()
	s := spec(t, `echo up; read -r go < go; echo 'CHECKPOINT: T-1'; echo 'EXPERT_CREATED: ann'; echo 'READY_FOR_REVIEW: T-1'; echo done > done`)
	mkfifo(t, filepath.Join(s.Dir, "go"))
	r := start(t, s)
	r.until("connection", func(b *box) bool { return b.connected == 1 })
	r.box.change(func() { r.box.away = true })
	if err := os.WriteFile(filepath.Join(s.Dir, "go"), []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	await(t, filepath.Join(r.dir, "outbox", "00003.json"))
	reports, err := session.Pending(r.dir)
	if err != nil || len(reports) != 3 || reports[2].Kind != api.ReportTurn {
		t.Fatalf("%+v, %v", reports, err)
	}
	r.box.change(func() { r.box.away = false })
	r.next(api.ReportNote)
	r.next(api.ReportNote)
	r.next(api.ReportTurn)
	r.end()
}

// A box that stays away is not waited for: the agent is ended, and the files have it all.
func TestOrphaned(t *testing.T) {
	t.Parallel()
	s := spec(t, `echo 'CHECKPOINT: T-1'; echo; echo; sleep 300`)
	s.Orphan = session.Duration(3 * time.Second) // by then the agent has spoken, also on a busy machine
	r := &run{t: t, dir: filepath.Join(t.TempDir(), "session"), box: newBox(), ended: make(chan error, 1)}
	r.box.away = true
	if err := session.Write(r.dir, s); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.wait()
	reports, err := session.Pending(r.dir)
	if err != nil || len(reports) != 2 || reports[1].How != api.HowOrphaned || reports[1].Detail != "the box stayed away for 3s" {
		t.Fatalf("%+v, %v", reports, err)
	}
	var handed []api.SessionReport
	err = session.HandIn(r.dir, slog.New(slog.DiscardHandler), func(report api.SessionReport) error {
		handed = append(handed, report)
		return nil
	})
	if err != nil || len(handed) != 2 || handed[1].Seq != 2 {
		t.Errorf("%+v, %v", handed, err)
	}
	if reports, err := session.Pending(r.dir); len(reports) != 0 || err != nil {
		t.Errorf("%+v, %v", reports, err)
	}
}

// A session that the box has given up ends its agent.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	r := start(t, spec(t, `echo up; sleep 300`))
	r.until("output", func(b *box) bool { return len(b.lines) > 0 })
	r.box.change(func() { r.box.gone = true })
	r.wait()
	if ended := r.file("ended.json"); !strings.Contains(ended, `"how":"stopped"`) || !strings.Contains(ended, "the session is over") {
		t.Errorf("%s", ended)
	}
}

// server is a box over HTTP that loses every other answer and cuts its streams.
type server struct {
	mu       sync.Mutex
	requests int
	reports  []api.SessionReport
	commands []api.SessionCommand
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/report"):
		var report api.SessionReport
		if err := json.NewDecoder(r.Body).Decode(&report); err != nil {
			panic(err)
		}
		s.reports = append(s.reports, report)
		if s.requests++; s.requests%2 == 1 {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "{}")
	case strings.HasSuffix(r.URL.Path, "/commands"):
		for _, c := range s.commands {
			data, err := json.Marshal(c)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
	default:
		fmt.Fprint(w, "{}")
	}
}

// Over HTTP, with lost answers and streams that break, each report arrives at least once
// and in order, and what comes twice is the same.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	box := &server{commands: []api.SessionCommand{
		{ID: "p-1", Kind: api.CommandPrompt, Text: "again"}, {ID: "p-2", Kind: api.CommandPrompt, Text: "and again"},
	}}
	s := httptest.NewServer(box)
	defer s.Close()
	client := api.NewClient(strings.TrimPrefix(s.URL, "http://"), "token")
	defer client.Close()
	dir := filepath.Join(t.TempDir(), "session")
	if err := session.Write(dir, spec(t, `cat; echo; echo 'CHECKPOINT: T-1'`)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Run(t.Context(), dir, client, slog.New(slog.DiscardHandler)) }()
	late := time.After(patience)
	for told := false; ; {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			box.check(t)
			return
		case <-late:
			t.Fatal("it does not end")
		case <-time.After(5 * time.Millisecond):
		}
		box.mu.Lock()
		if n := len(box.reports); !told && n > 0 && box.reports[n-1].Prompt == "p-2" {
			told = true
			box.commands = append(box.commands, api.SessionCommand{ID: "e", Kind: api.CommandEnd})
		}
		box.mu.Unlock()
	}
}

func (s *server) check(t *testing.T) {
	last := api.SessionReport{}
	var kinds []string
	for _, r := range s.reports {
		switch {
		case r.Seq == last.Seq && r.SHA256 == last.SHA256 && r.At.Equal(last.At):
		case r.Seq == last.Seq+1:
			kinds = append(kinds, r.Kind)
		default:
			t.Fatalf("%+v came after %+v", r, last)
		}
		last = r
	}
	want := []string{"note", "turn", "note", "turn", "note", "turn", "ended"}
	if !slices.Equal(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
	if len(s.reports) == len(kinds) {
		t.Error("no answer was lost: nothing is tested")
	}
}

// A session is a process of its own. If it is killed, what it has kept is there, and its
// agent can be ended.
func TestKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what has left the group is found on Linux only")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := spec(t, `setsid sh -c 'trap "" TERM; echo $$ > child; while :; do sleep 1; done' & echo 'CHECKPOINT: T-1'; echo; echo $$ > agent; sleep 300`)
	s.Grace = session.Duration(100 * time.Millisecond)
	dir := filepath.Join(t.TempDir(), "session")
	if err := session.Write(dir, s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nothingLeft(t, dir) })
	t.Setenv(boxAddress, "127.0.0.1:1") // nobody is there
	pid, err := session.Start(t.Context(), program, dir, "s-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if session.Alive(dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	await(t, filepath.Join(s.Dir, "child"))
	await(t, filepath.Join(s.Dir, "agent"))
	await(t, filepath.Join(dir, "outbox", "00001.json"))
	if !session.Alive(dir) || len(marked(t, dir)) == 0 {
		t.Error("it is not alive")
	}
	if err := session.Clean(dir, "s-1"); !errors.Is(err, session.ErrAlive) {
		t.Errorf("cleaned while it is alive: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); session.Alive(dir) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if session.Alive(dir) || len(marked(t, dir)) < 2 {
		t.Error("it is alive, or its agent is not")
	}
	for range 2 {
		if err := session.Clean(dir, "s-1"); err != nil {
			t.Error(err)
		}
		nothingLeft(t, dir)
	}
	reports, err := session.Pending(dir)
	if err != nil || len(reports) != 1 || reports[0].Kind != api.ReportNote {
		t.Errorf("%+v, %v", reports, err)
	}
}

// A session that is a process of its own does what it is told, over HTTP.
func TestStart(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for how, command := range map[string][]string{
		api.HowDone:    {"sh", "-c", "cat"},
		api.HowCrashed: {"no-such-program"}, // which may be over before Start has looked
	} {
		box := &server{commands: []api.SessionCommand{{ID: "e", Kind: api.CommandEnd}}}
		s := httptest.NewServer(box)
		defer s.Close()
		t.Setenv(boxAddress, strings.TrimPrefix(s.URL, "http://"))
		dir := filepath.Join(t.TempDir(), "session")
		what := spec(t, "")
		what.Agent.Command = command
		if err := session.Write(dir, what); err != nil {
			t.Fatal(err)
		}
		if _, err := session.Start(t.Context(), program, dir, "s-1"); err != nil {
			t.Fatal(err)
		}
		await(t, filepath.Join(dir, "ended.json"))
		for end := time.Now().Add(patience); session.Alive(dir) && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		box.mu.Lock()
		if n := len(box.reports); n == 0 || box.reports[n-1].How != how || session.Alive(dir) {
			t.Errorf("%s: %+v", how, box.reports)
		}
		box.mu.Unlock()
	}
}

// A session process that can't come up says why.
func TestStartFails(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Start(t.Context(), program, t.TempDir(), "s-1"); err == nil || !strings.Contains(err.Error(), "spec.json") || !strings.Contains(err.Error(), "(see ") {
		t.Errorf("no spec: %v", err)
	}
	if _, err := session.Start(t.Context(), "no-such-program", t.TempDir(), "s-1"); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("no program: %v", err)
	}
}

func TestBadSpec(t *testing.T) {
	for want, change := range map[string]func(*session.Spec){
		"no name":          func(s *session.Spec) { s.Session = "" },
		"absolute path":    func(s *session.Spec) { s.Dir = "work" },
		"no command":       func(s *session.Spec) { s.Agent.Command = nil },
		"no adapter":       func(s *session.Spec) { s.Agent.Adapter = "telepathy" },
		`no input "often"`: func(s *session.Spec) { s.Agent.Input = "often" },
	} {
		s := spec(t, "")
		change(&s)
		if err := session.Write(t.TempDir(), s); !errors.Is(err, session.ErrBadSpec) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// What a session keeps is for its owner alone.
func TestModes(t *testing.T) {
	t.Parallel()
	r := start(t, spec(t, `echo 'READY_FOR_REVIEW: T-1'; echo oh >&2`))
	r.next(api.ReportTurn)
	r.end()
	err := filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
