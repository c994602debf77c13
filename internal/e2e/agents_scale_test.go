//go:build linux

package e2e_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

var programs = flag.Int("programs", 4, "how many of the real agent programs work at once")

// Many real programs at once, of each kind that speaks the Agent Client Protocol as many:
// all are at work before any may go on. Their memory and time are printed.
func TestAgentsAtOnce(t *testing.T) {
	var kinds []real
	for _, r := range reals {
		if r.adapter == "acp" {
			r.installed(t)
			kinds = append(kinds, r)
		}
	}
	var script strings.Builder
	var ids []string
	for n := range *programs {
		id := fmt.Sprintf("T-%02d", n+1)
		ids = append(ids, id)
		fmt.Fprintf(&script, "== developer of %[1]s\nasked: ^# %[1]s:\nasked: (?P<run>run=\\S+) belongs\nwaits: %[1]s\nruns: echo done >%[1]s.txt && git add -A && git commit -qm %[1]s\nsays:\n  READY_FOR_REVIEW: %[1]s ${run}\n\n", id)
	}
	parsed, err := modeltest.Parse("many", script.String())
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, parsed)
	w := newWorld(t, "")
	w.severalAgents(kinds, server.URL())
	w.git("commit", "-qam", "settings")
	w.tasks(ids...)

	began := time.Now()
	n := w.up()
	n.begin(w)
	for _, id := range ids {
		select {
		case <-server.Reached(id):
		case <-time.After(5 * time.Minute):
			t.Fatalf("%s did not begin\n%s", id, w.story())
		}
	}
	up := time.Since(began)
	agents, sessions := 0, 0
	perKind := map[string]int{}
	for pid, kind := range w.agentProcesses() {
		kb := kilobytes(pid, "smaps_rollup", "Pss:")
		agents += kb
		perKind[kind] += kb
	}
	for _, p := range w.sessions() {
		sessions += kilobytes(p.pid, "smaps_rollup", "Pss:")
	}
	t.Logf("%d agents were at work after %v", *programs, up.Round(100*time.Millisecond))
	t.Logf("memory: agents %d MB, sessions %d MB, the box %d MB", agents>>10, sessions>>10, kilobytes(n.cmd.Process.Pid, "status", "VmHWM:")>>10)
	for i, k := range kinds {
		if count := (*programs - i + len(kinds) - 1) / len(kinds); count > 0 {
			t.Logf("  %-10s %3d MB each", k.name, perKind[k.name]>>10/count)
		}
	}
	for _, id := range ids {
		server.Release(id)
	}
	w.completed(n.finish(w))
	t.Logf("all were merged after %v", time.Since(began).Round(100*time.Millisecond))
	n.stop()
	w.until("all processes are gone", func() bool { return len(w.leftovers()) == 0 && len(w.agentProcesses()) == 0 })
}

// severalAgents lets developers be of several kinds, by the number of their task; shell
// scripts play the other roles.
func (w *world) severalAgents(kinds []real, url string) {
	w.t.Helper()
	var pick strings.Builder
	fmt.Fprintf(&pick, "#!/bin/sh\nn=${SIGNALBOX_TASK#T-}\ncase $(( (${n#0} - 1) %% %d )) in\n", len(kinds))
	for i, k := range kinds {
		command, env := k.start(w.t, url)
		fmt.Fprintf(&pick, "%d)\n", i)
		for name, value := range env {
			fmt.Fprintf(&pick, "export %s='%s'\n", name, value)
		}
		fmt.Fprintf(&pick, "export AGENT_KIND=%s\nexec '%s'\n;;\n", k.name, strings.Join(command, "' '"))
	}
	pick.WriteString("esac\n")
	w.script("pick", pick.String())
	scripted := fmt.Sprintf("{command: [%[1]s/agent], env: {SCRIPTS: %[1]s}}", w.scripts)
	w.write("signalbox.yaml", fmt.Sprintf("agents:\n  default: %s\n  real: {adapter: acp, command: [%s/pick], env: {SCRIPTS: %s}}\nroles: {developer: {agent: real}}\nlimits: {agents: %d, answer: 2m}\n",
		scripted, w.scripts, w.scripts, *programs))
}

// agentProcesses returns the processes of real agents and which kind each is of.
func (w *world) agentProcesses() map[int]string {
	found := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if !bytes.Contains(env, []byte("SCRIPTS="+w.scripts+"\x00")) {
			continue
		}
		if _, kind, ok := bytes.Cut(env, []byte("AGENT_KIND=")); ok {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			name, _, _ := bytes.Cut(kind, []byte{0})
			found[pid] = string(name)
		}
	}
	return found
}
