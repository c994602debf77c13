//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/box"
)

// A real Prometheus scrapes a real box while it delivers a plan, with a token that is good for nothing else, and finds what happened.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed (Debian's package prometheus)")
	}
	w := newWorld(t, "checks: [{name: there, command: test -f README.md}]\n")
	w.up()
	address, err := box.Dir(filepath.Join(w.dir, ".signalbox")).Address()
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(w.signalbox("token", "create", "--name", "prometheus", "--scope", "metrics").out)
	p := scrape(t, program, address, token)
	w.until("the box is scraped before anything has happened", func() bool { return p.ask(`up == 1`) == "1" })
	w.tasks("T-1", "T-2: T-1")
	w.completed(w.deliver())
	for query, want := range map[string]string{
		`sum(signalbox_runs{state="finished"})`:                                                     "1",
		`sum(signalbox_merges_total{result="merged"})`:                                              "2",
		`sum(signalbox_agent_turn_duration_seconds_count{agent="scripted",outcome="signal"})`:       "6",
		`sum(signalbox_signals_total{kind="ready_for_review",outcome="accepted"})`:                  "2",
		`sum(signalbox_questions_open) or vector(0)`:                                                "0",
		`sum(signalbox_gate_check_duration_seconds_count{check="there",result="passed"}) >= bool 3`: "1",
		`sum(signalbox_ledger_append_duration_seconds_count) > bool 20`:                             "1",
		`count(signalbox_archive_sync_duration_seconds_count)`:                                      "1",
		`signalbox_build_info`: "1",
	} {
		w.until(query, func() bool { return p.ask(query) == want })
	}
	lint(t, address, token)
}

// lint holds the names, the types and the help of what is told to Prometheus against its own rules, and how much it is: what is told does
// not grow with tasks and sessions.
func lint(t *testing.T, address, token string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	metrics, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	cmd := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	cmd.Stdin = bytes.NewReader(metrics)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	series := 0
	for line := range strings.Lines(string(metrics)) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go_") && !strings.HasPrefix(line, "process_") {
			series++
		}
	}
	if t.Logf("%d series", series); series > 300 {
		t.Errorf("%d series of a box with one run of two tasks", series)
	}
}

// prometheus is one that runs.
type prometheus struct {
	t       *testing.T
	address string
}

// scrape starts a Prometheus that asks a box twice a second.
func scrape(t *testing.T, program, address, token string) prometheus {
	t.Helper()
	dir := t.TempDir()
	settings := fmt.Sprintf("scrape_configs:\n- job_name: signalbox\n  scrape_interval: 500ms\n  authorization: {credentials: %s}\n  static_configs: [{targets: ['%s']}]\n", token, address)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 5 { // another may take the address first
		p := prometheus{t, free(t)}
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
			"--web.listen-address="+p.address, "--log.level=warn")
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			<-ended
		})
		if p.listens(ended) {
			return p
		}
	}
	t.Fatal("Prometheus does not start")
	return prometheus{}
}

// listens waits until it answers, and reports false if it has ended instead.
func (p prometheus) listens(ended <-chan struct{}) bool {
	p.t.Helper()
	for late := time.After(patience); p.ask("vector(1)") != "1"; {
		select {
		case <-ended:
			return false
		case <-late:
			p.t.Fatal("Prometheus does not answer")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return true
}

// free returns an address on loopback that nobody has.
func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// ask returns the one value that a query has, or why there is none.
func (p prometheus) ask(query string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/api/v1/query?query="+url.QueryEscape(query), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Error string
		Data  struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err.Error()
	}
	if len(answer.Data.Result) != 1 {
		return fmt.Sprintf("%d results %s", len(answer.Data.Result), answer.Error)
	}
	return fmt.Sprint(answer.Data.Result[0].Value[1])
}
