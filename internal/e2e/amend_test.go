//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// version writes plan.md with tasks, each "ID work".
func (w *world) version(tasks ...string) {
	w.t.Helper()
	text := "# A plan that changes\n\n"
	for _, t := range tasks {
		id, work, _ := strings.Cut(t, " ")
		text += fmt.Sprintf("#### Task %s: The task %s\n\n**Work**: %s\n\n**Blocked By**: none\n\n", id, id, work)
	}
	w.write("plan.md", text)
}

// starts counts how often a task's developer was started.
func (w *world) starts(task string) int {
	dirs, err := filepath.Glob(filepath.Join(w.scripts, "starts", task+".developer.*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return len(slices.DeleteFunc(dirs, func(dir string) bool { return strings.Count(strings.TrimPrefix(filepath.Base(dir), task), ".") != 2 }))
}

// phases tells how the tasks of a run are.
func phases(r api.Run) string {
	var all []string
	for _, t := range r.Tasks {
		all = append(all, t.ID+" "+string(t.Phase))
	}
	return strings.Join(all, ", ")
}

// A plan is changed while a run of it is not finished: stopped, nothing happens; amended, what is new and changed is done, what is gone is
// not, and nothing that was completed as it is now is done twice; beside it, there are two runs.
func TestPlanChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	ask := "echo SEEKING_DIVINE_CLARIFICATION $run\necho Question: Which one?\n"
	for _, task := range []string{"T-2.developer.1", "T-3.developer"} {
		w.script(task, ask)
	}
	w.version("T-1 Do it.", "T-2 Do this.", "T-3 Do that.")
	if r := w.signalbox("run", "plan.md"); r.code != 2 {
		t.Fatalf("%+v", r)
	}
	events := len(w.events())
	if r := w.signalbox("run", "plan.md", "--dry-run"); r.code != 0 || !strings.Contains(r.out, "R1 delivers this plan already, and goes on") || strings.Contains(r.out, "at first") || len(w.events()) != events {
		t.Errorf("a dry run of the same plan: %+v", r)
	}

	w.version("T-1 Do it.", "T-2 Do this otherwise.", "T-4 Do more.")
	if r := w.signalbox("run", "plan.md", "--dry-run"); r.code != 0 || !strings.Contains(r.out, "R1 delivers another version") || !strings.Contains(r.out, "new      T-4\n  changed  T-2\n  gone     T-3\n") || len(w.events()) != events {
		t.Errorf("a dry run: %+v", r)
	}
	r := w.signalbox("run", "plan.md")
	if r.code != 2 || !strings.Contains(r.err, "--amend") || !strings.Contains(r.err, "new      T-4\n") || !strings.Contains(r.err, "changed  T-2\n") || !strings.Contains(r.err, "gone     T-3\n") || len(w.events()) != events {
		t.Errorf("stopped: %+v", r)
	}
	if r := w.signalbox("run", "plan.md", "--amend", "--beside"); r.code != 2 || len(w.events()) != events {
		t.Errorf("both: %+v", r)
	}

	amended := w.deliver("--amend")
	if amended.ID != "R1" || amended.Outcome != delivery.Completed || phases(amended) != "T-1 COMPLETED, T-2 COMPLETED, T-3 BLOCKED, T-4 COMPLETED" {
		t.Errorf("amended: %s, %s: %s", amended.ID, amended.Outcome, phases(amended))
	}
	if got := []int{w.starts("T-1"), w.starts("T-2"), w.starts("T-3"), w.starts("T-4")}; !slices.Equal(got, []int{1, 2, 1, 1}) {
		t.Errorf("developers were started %v times", got)
	}
	if p := w.prompt("T-2", "developer", 2); !strings.Contains(p, "Do this otherwise.") || !strings.Contains(p, "The plan was changed") {
		t.Errorf("the second developer of T-2 was told:\n%s", p)
	}
	for _, command := range [][]string{{"show", "T-2"}, {"work", "show", "T-2"}, {"show", "T-2", "--json"}, {"work", "show", "T-2", "--json"}} {
		if text := w.must(command...); !strings.Contains(text, "Do this otherwise.") || strings.Contains(text, "Do this.") {
			t.Errorf("%s shows what was asked before:\n%s", command, text)
		}
	}
	if text := w.must("show", "T-3"); !strings.Contains(text, "Do that.") {
		t.Errorf("what is gone has its text no more:\n%s", text)
	}
	if r := w.signalbox("ledger", "verify"); r.code != 0 {
		t.Errorf("%+v", r)
	}
}

// A task that was completed and is changed then is another one, which those wait for that waited for it; the run beside has
// nothing to do with it. A box that is killed in between goes on with it.
func TestPlanChangesWhatIsDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.script("T-2.developer.1", "echo SEEKING_DIVINE_CLARIFICATION $run\necho Question: Which one?\n")
	w.version("T-1 Do it.", "T-2 Do this.")
	if r := w.signalbox("run", "plan.md"); r.code != 2 {
		t.Fatalf("%+v", r)
	}
	w.version("T-1 Do it better.", "T-2 Do this.")
	n := w.up()
	text, err := os.ReadFile(filepath.Join(w.dir, "plan.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	q := api.StartRun{Plan: string(text), Path: filepath.Join(dir, "plan.md"), DryRun: true}
	look, err := n.client.Deliver(t.Context(), q)
	if err != nil || look.Amends == nil || look.Amends.Run != "R1" || look.Amends.Renamed["T-1"] != "T-1.2" || look.Amends.Done != 1 {
		t.Fatalf("%+v, %v", look.Amends, err)
	}
	q.DryRun = false
	if _, err := n.client.Deliver(t.Context(), q); err == nil {
		t.Error("nobody had said which of both")
	}
	q.Amend = true
	for range 2 { // its answer may have been lost
		if r, err := n.client.Deliver(t.Context(), q); err != nil || r.ID != "R1" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	n.kill()
	if r := w.signalbox("answer", "R1-Q1", "this one"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	var r api.Run
	out := w.signalbox("run", "plan.md", "--json")
	if err := json.Unmarshal([]byte(out.out), &r); err != nil || out.code != 0 || phases(r) != "T-1 COMPLETED, T-2 COMPLETED, T-1.2 COMPLETED" {
		t.Errorf("%v: %+v", err, out)
	}
	if got := []int{w.starts("T-1"), w.starts("T-1.2"), w.starts("T-2")}; !slices.Equal(got, []int{1, 1, 2}) {
		t.Errorf("developers were started %v times", got)
	}
	if p := w.prompt("T-1.2", "developer", 1); !strings.Contains(p, "Do it better.") {
		t.Errorf("%s", p)
	}

	w.script("T-2.developer", "echo SEEKING_DIVINE_CLARIFICATION $run\necho Question: Which one?\n")
	w.version("T-1 Do it.", "T-2 Do this.")
	if r := w.signalbox("run", "plan.md"); r.code != 2 {
		t.Fatalf("%+v", r)
	}
	w.version("T-1 Do it all.")
	beside := w.deliver("--beside")
	if beside.ID != "R3" || len(beside.Tasks) != 1 || beside.Tasks[0].Phase != agentsig.PhaseCompleted {
		t.Errorf("beside: %s: %s", beside.ID, phases(beside))
	}
}

// Where no box runs, an amendment is recorded before any agent is started: nobody works on what the plan does not ask any more. Nor
// does anybody if another version is handed in and nobody says what is to become of it.
func TestAmendedBeforeAgentsStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.script("T-1.developer.1", "touch \"$SCRIPTS/begun\"\nwhile :; do sleep 0.1; done\n")
	w.version("T-1 Do it.")
	run := w.start("run", "plan.md")
	w.until("an agent works", func() bool { _, err := os.Stat(filepath.Join(w.scripts, "begun")); return err == nil })
	run.interrupt()

	w.version("T-1 Do it otherwise.")
	events := len(w.events())
	if r := w.signalbox("run", "plan.md"); r.code != 2 || !strings.Contains(r.err, "--amend") || len(w.events()) != events {
		t.Errorf("%d events more: %+v", len(w.events())-events, r)
	}
	w.completed(w.deliver("--amend"))
	amended := false
	for _, e := range w.events()[events:] {
		amended = amended || e.Type == delivery.PlanAmended
		if e.Type == work.LeaseGranted && !amended {
			t.Errorf("an agent was started before the plan was amended:\n%s", w.story())
		}
	}
	if !amended || w.starts("T-1") != 2 || !strings.Contains(w.prompt("T-1", "developer", 2), "Do it otherwise.") {
		t.Errorf("developers were started %d times:\n%s", w.starts("T-1"), w.story())
	}
}
