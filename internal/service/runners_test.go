package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/remote"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// An agent of each role, which says where it runs.
const agentScript = `#!/bin/sh
run=$(sed -n 's/^\(run=[^ ]*\) belongs to this session.*/\1/p' | tail -n 1)
echo "my token is ghp""_0123456789abcdefghijklmnopqrstuvwxyzAB, keep it"
echo "trouble" >&2
case $SIGNALBOX_ROLE in
developer) echo far >>change.txt; git add -A; git commit -qm change; echo left >>left.txt
  echo "READY_FOR_REVIEW: $SIGNALBOX_TASK $run" ;;
critic) cat change.txt >/dev/null && echo "REVIEW_PASSED: $SIGNALBOX_TASK $run" ;;
auditor) cat left.txt >/dev/null && echo "AUDIT_PASSED: $SIGNALBOX_TASK $run" ;;
esac
`

// A task is worked on, reviewed and audited on another machine, over TLS with pinned keys, and merged at home.
func TestRunnerElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it builds the program, and delivers with it")
	}
	program := filepath.Join(t.TempDir(), "signalbox")
	if out, err := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "github.com/signalbox-dev/signalbox/cmd/signalbox", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	repo := gittest.New(t)
	far, err := os.MkdirTemp("", "r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(far) })
	agent := filepath.Join(far, "agent")
	if err := os.WriteFile(agent, []byte(agentScript), 0o700); err != nil {
		t.Fatal(err)
	}
	settings, err := config.Parse(filepath.Join(repo, config.File), []byte("agents: {a: {command: [./agent]}}\nsandbox: {kind: none}\nchecks: [{name: any, command: \"echo looked at by ghp''_0123456789abcdefghijklmnopqrstuvwxyzAB\"}]\naudit: always\ngate: {runner: any}\n"))
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(testLog{t}, nil))
	secure, err := httpapi.ListenSecure(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := Open(t.Context(), Options{Box: box.Options{Dir: box.Dir(filepath.Join(repo, ".signalbox")), Logger: logger}, Config: settings, Program: program, Secure: secure})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	l, err := httpapi.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, leave := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving, l) }()
	defer func() {
		leave()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	token, _ := s.Box.Tokens()
	client := api.NewClient(l.Addr().String(), token)
	defer client.Close()
	invited, err := client.InviteRunner(t.Context(), api.NewRunner{Name: "gpu1"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := enrolment.Join(t.Context(), far, invited.Line)
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := enrolment.Read(far)
	if err != nil {
		t.Fatal(err)
	}
	carrier := e.Carrier(key)
	defer carrier.CloseIdleConnections()
	far2, err := remote.Open(t.Context(), remote.Options{Dir: far, Name: "gpu1", Carrier: carrier, Program: program, Version: "test", Sign: key.Sign, Now: time.Now, Logger: logger.With("at", "gpu1")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(far2.Run(ctx), far2.Close()) }()
	left := false
	defer func() {
		cancel()
		if !left {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}()
	plan := strings.ReplaceAll(onePlan, "T-1", "T-2") // whose checks the runner is drawn for
	run, err := s.Conductor.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: plan}, "")
	if err != nil {
		t.Fatal(err)
	}
	watch, err := s.Box.WatchRun(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.End()
	limit := time.After(time.Minute)
	for {
		v, err := watch.Show()
		if err != nil {
			t.Fatal(err)
		}
		if v.State == api.RunFinished {
			if v.Outcome != "completed" {
				t.Errorf("%+v", v)
			}
			break
		}
		select {
		case <-watch.Changed:
		case <-limit:
			t.Fatalf("it is not finished: %+v", v)
		}
	}
	if at := gittest.Git(t, repo, "show", run.Branch+":change.txt", run.Branch+":left.txt"); !strings.Contains(at, "far") || !strings.Contains(at, "left") {
		t.Errorf("merged was %q", at)
	}
	all, err := client.Runners(t.Context())
	if err != nil || len(all) != 1 || all[0].State != api.RunnerPresent || all[0].Protocol != order.Protocol() {
		t.Errorf("the runners are %+v, %v", all, err)
	}
	far2.Leave() // when all is copied that was said there
	left = true
	if err := <-ended; err != nil {
		t.Error(err)
	}
	checkRecords(t, far, filepath.Join(repo, ".signalbox"))
}

// checkRecords sees that what was said and printed at a runner is at the box, without the secrets.
func checkRecords(t *testing.T, far, box string) {
	t.Helper()
	said := 0
	for _, pattern := range []string{"sessions/*/transcript", "sessions/*/stderr", "gates/log/*"} {
		there, err := filepath.Glob(filepath.Join(far, pattern))
		if err != nil || len(there) == 0 {
			t.Errorf("nothing was said there: %s %v", pattern, err)
		}
		for _, path := range there {
			own, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(far, path)
			if err != nil {
				t.Fatal(err)
			}
			copied, err := os.ReadFile(filepath.Join(box, name))
			if err != nil {
				t.Error(err)
				continue
			}
			secret := "ghp" + "_0123456789abcdefghijklmnopqrstuvwxyzAB"
			if want := strings.ReplaceAll(string(own), secret, "[redacted:github-token]"); string(copied) != want || want == string(own) && pattern != "sessions/*/stderr" {
				t.Errorf("%s is %q, want %q", name, copied, want)
			}
			said++
		}
	}
	if said < 7 {
		t.Errorf("%d files of three sessions and a check", said)
	}
}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}
