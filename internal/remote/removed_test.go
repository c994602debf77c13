//go:build unix

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// A runner that its box does not know any more ends its sessions, with all that their agents have begun, before it leaves: also those that it
// finds when it is started.
func TestRemoved(t *testing.T) {
	for name, again := range map[string]bool{"while it works": false, "when it is started again": true} {
		t.Run(name, func(t *testing.T) {
			w, dir := newWorld(t), shortDir(t)
			pipe, script := filepath.Join(dir, "pipe"), filepath.Join(dir, "agent.sh")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(script, []byte("exec 3>"+pipe+"\nsleep 1000 & echo up >&3\nwait\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			w.settings = w.setAgent("sh, "+script, "limits: {grace: 100ms}\n")
			w.want(w.session(first))
			t.Cleanup(func() { // if it fails
				now, cancel := context.WithCancel(context.Background())
				cancel()
				if _, err := runner.EndAll(now, dir); err != nil {
					t.Error(err)
				}
			})
			begin := func() (r *Remote, ended <-chan error, leave func()) {
				program, err := os.Executable()
				if err == nil {
					r, err = Open(t.Context(), Options{
						Dir: dir, Name: "gpu1", Box: "192.0.2.7:7443", Carrier: w.box, Program: program, Version: "test", Now: time.Now, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
					})
				}
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				end := make(chan error, 1)
				go func() { end <- r.Run(ctx) }()
				return r, end, cancel
			}
			r, ended, leave := begin()
			defer func() { leave() }()
			up, err := os.Open(pipe) // waits for the agent
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = up.Close() }()
			var its struct{ Pid int }
			if text, err := os.ReadFile(filepath.Join(runner.SessionFiles(dir, first), "session.json")); err != nil || json.Unmarshal(text, &its) != nil || its.Pid == 0 {
				t.Fatalf("the session's process: %s, %v", text, err)
			}
			if again {
				leave()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			w.instead(func(string) int { return http.StatusForbidden })
			if again {
				r, ended, leave = begin()
			} else {
				r.hurry()
			}
			if err := <-ended; err == nil || err.Error() != "gpu1 was removed at the box 192.0.2.7:7443: have it invited again, and join here (signalbox runner join LINE)" {
				t.Errorf("it ends with %v", err)
			}
			if files := runner.SessionFiles(dir, first); session.Alive(files) || session.AgentLeft(files) {
				t.Error("the session goes on")
			}
			if last, _, err := session.Outcome(runner.SessionFiles(dir, first)); err != nil || last.How != api.HowStopped { // and was not killed
				t.Errorf("the session ended with %+v, %v", last, err)
			}
			if said, err := io.ReadAll(up); err != nil || string(said) != "up\n" { // ends when nobody is left who could write
				t.Errorf("the agent said %q, %v", said, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if !strings.Contains(w.log.String(), "sessions=1") {
				t.Errorf("logged was %s", w.log)
			}
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for !errors.Is(syscall.Kill(its.Pid, 0), syscall.ESRCH) { // its process ends soon after: under the race detector within a second
				select {
				case <-tick.C:
				case <-t.Context().Done():
					t.Fatal("the session's process goes on")
				}
			}
		})
	}
}
