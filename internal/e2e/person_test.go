//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// inbox returns what waits for a person.
func (w *world) inbox() (all []api.Question) {
	w.t.Helper()
	w.decode(w.must("inbox", "--json"), &all)
	return all
}

// decode reads what a command has printed.
func (w *world) decode(out string, v any) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(out), v); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
}

// reviews fails the test unless a run waits for nothing but a review of the task T-1 in a role.
func (w *world) reviews(run api.Run, role string) {
	w.t.Helper()
	all := w.inbox()
	if run.State != api.RunWaiting || len(all) != 1 || all[0].Kind != "review" || all[0].Task != "T-1" || string(all[0].Role) != role {
		w.t.Fatalf("the run is %s, and this waits for a person: %+v\n%s", run.State, all, w.story())
	}
}

// actors returns who did what on a task: the events of some types, with their actors.
func (w *world) actors(task string, types ...string) (all []string) {
	w.t.Helper()
	for _, e := range w.events() {
		if e.Work == task && slices.Contains(types, e.Type) {
			all = append(all, e.Type+" "+e.Actor)
		}
	}
	return all
}

// A person plays critic and auditor: sends the work back with two comments, which the developer is told, accepts what comes
// then, and is named for it. No agent is started in their roles, and nothing is counted or times out.
func TestPersonReviews(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "roles: {critic: {agent: person}, auditor: {agent: person}}\nlimits: {reviews: 1}\n")
	w.tasks("T-1")
	run := w.deliver()
	w.reviews(run, "critic")
	if text := w.must("status"); !strings.Contains(text, "\nclaimed, and nobody has checked it\n  R1.T-1  scripted: ") {
		t.Errorf("status says nothing of what is claimed:\n%s", text)
	}
	if r := w.signalbox("review", "T-1", "--accept", "--comment", "no"); r.code != 2 {
		t.Fatalf("an accepted task has a comment: exit code %d %s", r.code, r.err)
	}
	sent := w.signalbox("review", "T-1", "--reject", "--comment", "T-1.txt:1: say more than done", "--comment", "README.md:1: mention it", "--comment", "README.md:2: twice", "--comment", "all of it: better")
	if sent.code != 0 || sent.err != "note: README.md is not among the files that were changed; the comment is sent all the same\n" {
		t.Errorf("sent back: %+v", sent)
	}
	if r := w.signalbox("review", "T-1", "--accept"); r.code != 1 || !strings.Contains(r.err, "does not wait for a review") {
		t.Fatalf("what is sent back is accepted: exit code %d %s", r.code, r.err)
	}

	w.reviews(w.goOn(), "critic")
	if told := w.prompt("T-1", "developer", 2); !strings.Contains(told, "T-1.txt:1: say more than done") || !strings.Contains(told, "README.md:1: mention it") {
		t.Fatalf("the developer is not told what to change:\n%s", told)
	}
	var verdict struct {
		Role, Commit, Phase string
		Accepted            bool
	}
	w.decode(w.must("review", "T-1", "--accept", "--json"), &verdict)
	if !verdict.Accepted || verdict.Role != "critic" || verdict.Phase != "READY_FOR_MERGE" {
		t.Fatalf("the verdict is %+v", verdict)
	}
	w.reviews(w.goOn(), "auditor")
	w.must("review", "R1.T-1", "--accept")
	w.completed(w.goOn())

	want := []string{
		"AgentSessionCompleted scripted", "ReviewStarted operator", "AgentSessionCompleted operator",
		"AgentSessionCompleted scripted", "ReviewStarted operator", "AgentSessionCompleted operator", "AgentSessionCompleted operator",
	}
	if got := w.actors("T-1", work.ReviewStarted, work.AgentSessionCompleted); !slices.Equal(got, want) {
		t.Errorf("who did what: %v\nwant %v", got, want)
	}
	if n := len(w.actors("T-1", work.WorkShown)); n != 3 {
		t.Errorf("%d times is recorded what the person was shown, want 3:\n%s", n, w.story())
	}
	if started, _ := filepath.Glob(filepath.Join(w.scripts, "starts", "*.critic.*")); len(started) > 0 {
		t.Errorf("an agent plays the person: %v", started)
	}
}

// A person takes a task in the middle of an agent's work, commits twice, and gives it: gate, critic and auditor judge it as any
// other work, and the ledger says whose it is.
func TestTakeAndGive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("T-1.developer.1", "echo half >half.txt; git add -A; git commit -qm half\ntouch \"$SCRIPTS/begun\"\nwhile :; do sleep 0.1; done\n")
	run := w.start("run", "plan.md", "--wait", "--json")
	w.until("an agent works", func() bool { _, err := os.Stat(filepath.Join(w.scripts, "begun")); return err == nil })

	var taken api.Taken
	w.decode(w.must("take", "T-1", "--json"), &taken)
	if left := w.inside(); len(left) > 0 {
		t.Fatalf("the agent goes on beside the person: %v", left)
	}
	for i := range 2 {
		w.commit(taken.Worktree, fmt.Sprintf("mine-%d.txt", i))
	}
	if r := w.signalbox("claim", "R1.T-1", "--actor", "eve"); r.code == 0 {
		t.Fatalf("somebody else claims it: %s", r.out)
	}
	w.must("give", "T-1", "-m", "I did the rest\nby hand")
	var ended api.Run
	w.decode(run.wait().out, &ended)
	w.completed(ended)
	want := []string{"LeaseGranted scripted", "WorkTaken operator", "AgentSessionCompleted operator", "ReviewStarted scripted", "AgentSessionCompleted scripted", "LeaseGranted scripted", "AgentSessionCompleted scripted"}
	if got := w.actors("T-1", work.LeaseGranted, work.WorkTaken, work.ReviewStarted, work.AgentSessionCompleted); !slices.Equal(got, want) {
		t.Errorf("who did what: %v\nwant %v", got, want)
	}
	if files := w.git("ls-tree", "--name-only", "signalbox/R1"); !strings.Contains(files, "half.txt") || !strings.Contains(files, "mine-0.txt") || !strings.Contains(files, "mine-1.txt") {
		t.Errorf("merged is %s", files)
	}
	if claim := payload[work.Result](w, work.AgentSessionCompleted); claim.Field("Summary") != "I did the rest\nby hand" || claim.Session != taken.Session {
		t.Errorf("the person claims %q in %s", claim.Field("Summary"), claim.Session)
	}
}

// A person takes a task about which they are asked something, and gives it back to an agent with what that has to know. No box
// has to run for it.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("T-1.developer.1", say("SEEKING_DIVINE_CLARIFICATION", "Question: which way?"))
	if run := w.deliver(); run.State != api.RunWaiting {
		t.Fatalf("the run is %s", run.State)
	}
	if r := w.signalbox("give", "T-1"); r.code != 1 || !strings.Contains(r.err, "not taken") {
		t.Fatalf("a task is given that nobody has taken: exit code %d %s", r.code, r.err)
	}
	var taken, again api.Taken
	w.decode(w.must("take", "T-1", "--json"), &taken)
	w.decode(w.must("take", "T-1", "--json"), &again)
	if again != taken {
		t.Errorf("taken again it is %+v, and was %+v", again, taken)
	}
	w.commit(taken.Worktree, "mine.txt")
	if run, all := w.goOn(), w.inbox(); run.State != api.RunWaiting || len(all) != 1 || all[0].Kind != "give" {
		t.Fatalf("the run is %s, and this waits for a person: %+v", run.State, all)
	}
	w.must("give", "T-1", "--back", "-m", "make it pass")
	w.completed(w.goOn())
	if told := w.prompt("T-1", "developer", 2); !strings.Contains(told, "make it pass") {
		t.Errorf("the agent is not told:\n%s", told)
	}
	if files := w.git("ls-tree", "--name-only", "signalbox/R1"); !strings.Contains(files, "mine.txt") {
		t.Errorf("merged is %s", files)
	}
}

// A person who has taken a task says that nothing has to be changed: the critic judges that, and nothing is merged.
func TestGiveNoChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "roles: {developer: {agent: person}}\n")
	w.tasks("T-1")
	if run := w.deliver(); run.State != api.RunWaiting {
		t.Fatalf("the run is %s", run.State)
	}
	w.must("take", "T-1")
	for _, args := range [][]string{{"--no-change", " "}, {"--no-change", "it is there", "--back"}} {
		if r := w.signalbox(append([]string{"give", "T-1"}, args...)...); r.code != 2 {
			t.Errorf("give %q: exit code %d %s", args, r.code, r.err)
		}
	}
	w.must("give", "T-1", "-m", "I looked", "--no-change", "it is there already")
	run := w.goOn()
	if w.completed(run); run.Tasks[0].Phase != "COMPLETED" {
		t.Fatalf("the task is %+v", run.Tasks[0])
	}
	if got := w.actors("T-1", work.GatePassed, work.WorkUnchanged, work.WorkMerged); !slices.Equal(got, []string{"GatePassed gate", "WorkUnchanged box"}) {
		t.Errorf("it ends with %v\n%s", got, w.story())
	}
	if p := payload[work.Unchanged](w, work.WorkUnchanged); p.Reason != "it is there already" {
		t.Errorf("the reason is %q", p.Reason)
	}
}

// A person plays the developer: the task waits for them to take it.
func TestPersonDevelops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "roles: {developer: {agent: person}}\n")
	w.tasks("T-1", "T-2: T-1")
	if text := w.must("run", "plan.md", "--dry-run"); !strings.Contains(text, "\nat first: no agent; you take T-1 (signalbox take)\n") {
		t.Errorf("a dry run says:\n%s", text)
	}
	for _, task := range []string{"T-1", "T-2"} {
		run := w.deliver() // the same plan goes on
		if all := w.inbox(); run.State != api.RunWaiting || len(all) != 1 || all[0].Kind != "take" || all[0].Task != task {
			t.Fatalf("the run is %s, and this waits for a person: %+v", run.State, all)
		}
		var taken api.Taken
		w.decode(w.must("take", task, "--json"), &taken)
		w.commit(taken.Worktree, task+".txt")
		w.must("give", task, "-m", "done")
	}
	w.completed(w.goOn())
}

// What a person gives and the gate or a reviewer sends back says why where the person looks for it: in the inbox, when they take
// it again, and in its log, which has what the checks printed.
func TestPersonIsToldWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "roles: {developer: {agent: person}}\nchecks: [{name: strict, command: \"test ! -e bad.txt || test -e good.txt || { echo no good; exit 1; }\"}]\n")
	w.tasks("T-1")
	w.script("T-1.critic.1", say("REVIEW_FAILED: T-1", "Required Fixes: say it in French"))
	w.deliver()
	var taken api.Taken
	w.decode(w.must("take", "T-1", "--json"), &taken)
	for _, step := range []struct{ file, why string }{
		{"bad.txt", "sent back by gate: these checks failed: strict (`signalbox show R1.T-1 --all` has all of it)\n"},
		{"good.txt", "sent back by scripted: Required Fixes: say it in French"},
	} {
		w.commit(taken.Worktree, step.file)
		w.must("give", "T-1", "-m", "done")
		w.goOn()
		for _, command := range [][]string{{"inbox"}, {"take", "T-1"}, {"inbox"}} {
			if text := w.must(command...); !strings.Contains(text, step.why) || !strings.Contains(text, "signalbox show R1.T-1 --all") {
				t.Errorf("%s does not say %q:\n%s", command, step.why, text)
			}
		}
	}
	text := w.must("logs", "T-1")
	for _, part := range []string{"== developer (person), ", "a person has taken it over", "== gate, ", " gate   no good\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("the log has no %q:\n%s", part, text)
		}
	}
	if n := strings.Count(text, "== gate, "); n != 2 {
		t.Errorf("the log has %d parts with checks, want 2:\n%s", n, text)
	}
}

// commit commits a file in a worktree, as a person does.
func (w *world) commit(dir, name string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("by hand\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-qm", name}} {
		cmd := exec.CommandContext(w.t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}
