//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// speaking builds the program as one that speaks another protocol with machines elsewhere.
func speaking(t *testing.T, protocol int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fmt.Sprintf("signalbox-%d", protocol))
	number := fmt.Sprintf("-X github.com/signalbox-dev/signalbox/internal/order.protocol=%d", protocol)
	args := slices.Concat([]string{"run", "-exec", "cp"}, buildFlags, []string{"-ldflags", number, "../../cmd/signalbox", path}) // go run keeps what it has linked
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// A box is updated under runners that are not. A runner one version behind works; one that is two behind then finishes what it has, gets
// nothing new, and people are told at both ends to update it; a newer one is refused.
func TestRunnersVersions(t *testing.T) {
	t.Parallel()
	notShort(t)
	oldest := order.Protocol() // what all tests' program speaks
	second, third, newest := speaking(t, oldest+1), speaking(t, oldest+2), speaking(t, oldest+3)
	w := newWorld(t, "checks: [{name: there, command: test -f README.md}]\n"+farAway)
	w.program = second
	w.script("T-1.developer", waitFor("go")+honest["developer"])
	w.tasks("T-1", "T-2: T-1")
	f := newFleet(w, 3)
	old, behind, ahead := f.far[0], f.far[1], f.far[2]
	old.program, behind.program, ahead.program = program, second, newest

	old.start()
	f.back(old)
	f.node.begin(w)
	w.until("a developer is at work", func() bool { return f.has("T-1.developer.1") })
	if r := f.listed(old); r.State != api.RunnerPresent || r.Protocol != oldest || r.Problem != "" {
		t.Errorf("one version behind: %+v", r)
	}

	f.node.stop()
	w.program = third
	f.up()
	w.until("the runner two versions behind is drained", func() bool { return f.state(old) == api.RunnerDraining })
	const update = "it gets no new work; install the box's version on it and start it again"
	if r := f.listed(old); r.State != api.RunnerDraining || !strings.Contains(r.Problem, update) {
		t.Errorf("two versions behind: %+v", r)
	}
	if r := f.signalbox("runner", "list"); !strings.Contains(strings.Join(strings.Fields(r.out), " "), update) {
		t.Errorf("two versions behind: %s%s", r.out, r.err)
	}
	w.until("its log says so", func() bool { return strings.Contains(old.said.String(), update) })
	f.script("go", "")
	w.until("the critic waits for a runner", func() bool { return strings.Contains(f.signalbox("status").out, "└ r1 is draining") })

	ahead.start()
	if err := ahead.cmd.Wait(); err == nil || !strings.Contains(ahead.said.String(), "update the box first") {
		t.Errorf("newer than the box: %v\n%s", err, ahead.said.String())
	}
	ahead.ended = true
	if r := f.listed(ahead); r.State == api.RunnerPresent || !strings.Contains(r.Problem, "update the box first") {
		t.Errorf("newer than the box: %+v", r)
	}

	behind.start()
	f.back(behind)
	f.completed(f.node.finish(w))
	agents, checks := f.worked()
	t.Logf("agents by runner: %v, passed checks: %v", agents, checks)
	if agents[old.name] != 1 || agents[behind.name] == 0 || len(agents) != 2 {
		t.Errorf("agents by runner: %v", agents)
	}
	ofType(f, delivery.SessionEnded, func(e recorded, p delivery.Ended) {
		if p.How == delivery.Lost || p.How == delivery.Crashed {
			t.Errorf("%s is %s: %s", e.Session, p.How, p.Detail)
		}
	})
	ofType(f, work.LeaseGranted, func(e recorded, p work.Granted) {
		if want := map[bool]string{true: old.name, false: behind.name}[e.Work == "T-1"]; p.Role == "developer" && p.Runner != want {
			t.Errorf("the developer of %s works on %s", e.Work, p.Runner)
		}
	})
	f.judge("T-1", "T-2")
	f.over()
}

// listed is what `runner list` says of a runner.
func (f *fleet) listed(r *far) api.Runner {
	f.t.Helper()
	out := f.signalbox("runner", "list", "--json").out
	var all []api.Runner
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		f.t.Fatalf("%v\n%s", err, out)
	}
	at := slices.IndexFunc(all, func(one api.Runner) bool { return one.Name == r.name })
	if at < 0 {
		f.t.Fatalf("%s is not there: %s", r.name, out)
	}
	return all[at]
}
