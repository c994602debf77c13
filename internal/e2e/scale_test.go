//go:build unix

package e2e_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/session"
	sessionagent "github.com/signalbox-dev/signalbox/internal/session/agent"
)

var (
	agents = flag.Int("agents", 20, "how many agents live at once; 200 for the full measure: from 200 on their handoffs are held to the limit")
	pace   = flag.Duration("pace", 200*time.Millisecond, "how often an agent hands over")
)

// Many tasks that depend on each other at random, by few agents (thirty by twelve, if all is wanted): none is started
// before what it needs is merged, and never are there more agents than allowed.
func TestManyTasks(t *testing.T) {
	const seed = 4
	tasks, most := 15, 6
	if *all {
		tasks, most = 30, 12
	}
	w := newWorld(t, fmt.Sprintf("limits: {agents: %d}\n", most))
	if err := os.Mkdir(filepath.Join(w.scripts, "live"), 0o700); err != nil {
		t.Fatal(err)
	}
	for role, text := range honest {
		w.script(role, counted+text)
	}
	random := rand.New(rand.NewPCG(seed, seed))
	blockers := map[string][]string{}
	var lines []string
	for n := range tasks {
		id := fmt.Sprintf("T-%02d", n+1)
		for _, b := range random.Perm(n)[:min(n, random.IntN(4))] {
			blockers[id] = append(blockers[id], fmt.Sprintf("T-%02d", b+1))
		}
		line, needs := id, ""
		if len(blockers[id]) > 0 {
			line += ": " + strings.Join(blockers[id], ", ")
			needs = "ls " + strings.Join(blockers[id], ".txt ") + ".txt >&2 || exit 7\n"
		}
		lines = append(lines, line)
		w.script(id+".developer", counted+needs+honest["developer"])
	}
	w.tasks(lines...)
	began := time.Now()
	w.completed(w.deliver())
	t.Logf("%d tasks took %v", tasks, time.Since(began).Round(time.Millisecond))

	merged := map[string]bool{}
	working, peak := map[string]bool{}, 0
	for _, e := range w.events() {
		switch e.Type {
		case "WorkMerged":
			merged[e.Work] = true
		case "LeaseGranted", "ReviewStarted":
			for _, b := range blockers[e.Work] {
				if !merged[b] {
					t.Errorf("%s was started before %s was merged", e.Work, b)
				}
			}
			working[e.Session] = true
			peak = max(peak, len(working))
		case "AgentSessionCompleted", delivery.SessionEnded:
			delete(working, e.Session)
		}
	}
	counts := strings.Fields(w.read("counts"))
	seen := 0
	for _, c := range counts {
		n, err := strconv.Atoi(c)
		if err != nil {
			t.Fatal(err)
		}
		seen = max(seen, n)
	}
	t.Logf("at once: %d by the ledger, %d by the agents' own count, of %d", peak, seen, most)
	if len(merged) != tasks || len(counts) < 3*tasks || peak > most || seen > most || peak < most/2 {
		t.Errorf("%d tasks were merged by %d agents, %d at once by the ledger, %d by their own count", len(merged), len(counts), peak, seen)
	}
}

// counted is how an agent counts who is at work with it. It is at work until it says
// its signal, which is its last line.
const counted = `mkdir "$SCRIPTS/live/$$"
trap 'rmdir "$SCRIPTS/live/$$" 2>/dev/null' EXIT
ls "$SCRIPTS/live" | wc -l >>"$SCRIPTS/counts"
sleep 0.05
rmdir "$SCRIPTS/live/$$"
`

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.scripts, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// stamped is how an agent notes when it was started, and waits to be let go.
const stamped = `date +%s%N >"$SCRIPTS/starts/$task.$role.$n/at"
read -r _ <"$SCRIPTS/$task.$role.gate"
`

// Many agents live at once, each on a task of its own. One after the other hands over,
// and the next one on its task is started soon.
func TestManyAgents(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is read in /proc")
	}
	w := newWorld(t, fmt.Sprintf("limits: {agents: %d}\nchecks: [{name: there, command: test -f README.md}]\n", *agents))
	roles := []string{"developer", "critic", "auditor"}
	var ids []string
	for n := range *agents {
		ids = append(ids, fmt.Sprintf("T-%03d", n+1))
	}
	w.gated(roles, ids)
	n := w.up()
	began := time.Now()
	n.begin(w)
	var bare []time.Duration
	for i, role := range roles {
		w.within(wholeDelivery+time.Duration(*agents)*5*time.Second, "all are at work as "+role, func() bool { return len(w.stamps(role)) == *agents })
		if i == 0 {
			t.Logf("%d agents were started in %v", *agents, time.Since(began).Round(time.Millisecond))
			w.sessionCosts(n)
		}
		bare = append(bare, w.letAllGo(role, ids)...)
		if i == 0 {
			w.memory(n)
		}
	}
	w.completed(n.finish(w))
	w.gone()
	w.handoffs(bare)
}

// stamps returns when the agents in a role were started, by task.
func (w *world) stamps(role string) map[string]time.Time {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.scripts, "starts", "*."+role+".1", "at"))
	if err != nil {
		w.t.Fatal(err)
	}
	at := map[string]time.Time{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			w.t.Fatal(err)
		}
		if ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil { // not in the middle of a write
			task, _, _ := strings.Cut(filepath.Base(filepath.Dir(f)), ".")
			at[task] = time.Unix(0, ns)
		}
	}
	return at
}

// gated has the agents of tasks wait until they are let go, each in turn.
func (w *world) gated(roles, ids []string) {
	w.t.Helper()
	for _, role := range roles {
		w.script(role, stamped+honest[role])
		for _, id := range ids {
			if err := syscall.Mkfifo(filepath.Join(w.scripts, id+"."+role+".gate"), 0o600); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.tasks(ids...)
}

// letAllGo lets one agent in a role after the other go on, and returns how long bare sessions take to start meanwhile.
func (w *world) letAllGo(role string, ids []string) (bare []time.Duration) {
	w.t.Helper()
	tick := time.NewTicker(*pace / 2)
	defer tick.Stop()
	for k, id := range ids {
		<-tick.C
		w.letGo(id, role)
		<-tick.C
		if k%4 == 0 { // while the others live
			bare = append(bare, w.bareStart(fmt.Sprintf("%s-%d", role, k)))
		}
	}
	return bare
}

// letGo lets an agent that waits go on.
func (w *world) letGo(task, role string) {
	w.t.Helper()
	gate, err := os.OpenFile(filepath.Join(w.scripts, task+"."+role+".gate"), os.O_WRONLY, 0) // waits for the reader
	if err == nil {
		_, err = gate.WriteString("\n")
	}
	if err != nil {
		w.t.Fatal(err)
	}
	_ = gate.Close()
}

// bareStart returns how long a session takes from the start of its process to its
// agent's first instruction, with no box and nothing to prepare.
func (w *world) bareStart(name string) time.Duration {
	w.t.Helper()
	nobody := w.t.TempDir()
	if err := os.WriteFile(filepath.Join(nobody, "api.token"), []byte("none\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	at := filepath.Join(nobody, "at")
	dir := filepath.Join(nobody, "session")
	err := session.Write(dir, session.Spec{
		Session: name, Box: nobody, Dir: nobody, Prompt: "start",
		Agent: sessionagent.Config{Name: "bare", Command: []string{"sh", "-c", "date +%s%N >at.new; mv at.new at"}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(w.t.Context(), program, "session", dir)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	var text []byte
	w.until("a bare session starts", func() bool { text, err = os.ReadFile(at); return err == nil })
	_ = cmd.Process.Kill() // its agent has ended
	_ = cmd.Wait()
	ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	return time.Unix(0, ns).Sub(began)
}

// sessionCosts prints what a session takes that waits for its agent, and what the box takes beside them.
func (w *world) sessionCosts(n *node) {
	w.t.Helper()
	all := w.sessions()
	shared, own := 0, 0
	spent := time.Duration(0)
	for _, p := range all {
		shared += kilobytes(p.pid, "smaps_rollup", "Pss:")
		own += kilobytes(p.pid, "status", "RssAnon:")
		spent += p.cpu
	}
	each := func(kb int) float64 { return float64(kb) / float64(len(all)) / 1000 * 1.024 }
	w.t.Logf("%d sessions with their agents at work: %.1f MB each with its share of the program's file, %.1f MB of its own, %v of the processor since its start; the box %.0f MB",
		len(all), each(shared), each(own), (spent / time.Duration(len(all))).Round(time.Millisecond), float64(kilobytes(n.cmd.Process.Pid, "status", "VmRSS:"))/1000*1.024)
}

// memory prints what the box and its sessions take.
func (w *world) memory(n *node) {
	w.t.Helper()
	total := 0
	all := w.sessions()
	for _, p := range all {
		total += kilobytes(p.pid, "smaps_rollup", "Pss:")
	}
	w.t.Logf("memory: the box %d MB at most; %d sessions, %.1f MB each", kilobytes(n.cmd.Process.Pid, "status", "VmHWM:")>>10, len(all), float64(total)/float64(len(all))/1024)
}

func kilobytes(pid int, file, field string) int {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field); ok {
			n, _ := strconv.Atoi(strings.Fields(value)[0])
			return n
		}
	}
	return 0
}

// handoffs prints how long the next agent of each task took to start, and fails the
// test if it is too long.
func (w *world) handoffs(bare []time.Duration) {
	w.t.Helper()
	critics, auditors := w.stamps("critic"), w.stamps("auditor")
	var reviews, audits, words, ends, starts []time.Duration
	said := map[string]time.Time{} // by session
	for _, e := range w.events() {
		switch {
		case e.Type == "GatePassed":
			reviews = append(reviews, critics[e.Work].Sub(e.Time))
		case e.Type == "AgentSessionCompleted" && of(e) == "review_passed":
			audits = append(audits, auditors[e.Work].Sub(e.Time))
			said[e.Session] = e.Time
		case e.Type == "AgentSessionCompleted" && of(e) == "ready_for_review":
			words = append(words, critics[e.Work].Sub(e.Time))
		case e.Type == "LeaseGranted" && auditors[e.Work].After(e.Time) && critics[e.Work].Before(e.Time):
			starts = append(starts, auditors[e.Work].Sub(e.Time))
		case e.Type == delivery.SessionEnded && !said[e.Session].IsZero():
			ends = append(ends, e.Time.Sub(said[e.Session]))
		}
	}
	w.t.Logf("of the auditors' starts: p50 %v until the critic's session has ended, p50 %v from the lease on", percentile(ends, 50), percentile(starts, 50))
	base := percentile(bare, 50)
	w.t.Logf("a bare session's start: p50 %v, p99 %v of %d", base, percentile(bare, 99), len(bare))
	for _, m := range []struct {
		what  string
		times []time.Duration
		held  bool
	}{
		{"from GatePassed to the critic's start", reviews, true},
		{"from REVIEW_PASSED to the auditor's start", audits, true},
		{"from READY_FOR_REVIEW through the gate to the critic's start", words, false},
	} {
		beyond := percentile(m.times, 99) - base
		w.t.Logf("%s: p50 %v, p95 %v, p99 %v of %d; beyond the bare start's p50: p50 %v, p95 %v, p99 %v",
			m.what, percentile(m.times, 50), percentile(m.times, 95), percentile(m.times, 99), len(m.times),
			percentile(m.times, 50)-base, percentile(m.times, 95)-base, beyond)
		if m.held && *agents >= 200 && beyond > 50*time.Millisecond {
			w.t.Errorf("%s: %v beyond the start itself, want at most 50ms", m.what, beyond)
		}
	}
}

// of returns the signal that a session was completed with.
func of(e recorded) string {
	var p struct{ Signal string }
	_ = json.Unmarshal(e.Payload, &p) // one that can't be read has none
	return p.Signal
}

func percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[min(len(all)*p/100, len(all)-1)].Round(100 * time.Microsecond)
}
