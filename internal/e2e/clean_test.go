//go:build unix

package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// After many runs, of which some were cancelled and some half done, clean leaves nothing of what was merged; the rest it
// names and keeps, until that is asked for. It touches neither a run that goes on nor anything of the user's.
func TestClean(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "checks: [{name: there, command: test -f README.md}]\nlimits: {agents: 4}\n")
	treasure := t.TempDir()
	if err := os.WriteFile(filepath.Join(treasure, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// A task whose name begins with U is never done: there is a commit, something that is not committed, and a way out of the worktree.
	w.script("developer", fmt.Sprintf(`case $task in
U*) echo half >half-$task.txt; git add -A; git commit -qm half; echo more >>half-$task.txt; ln -s %s way
    chmod -w .; echo SEEKING_DIVINE_CLARIFICATION $run; echo "Question: which?";;
*) echo done >$task.txt; git add -A; git commit -qm $task; echo READY_FOR_REVIEW: $task $run;;
esac
`, treasure))
	n := w.up()
	count := 8 // runs that are over; 20, if all is wanted
	if *all {
		count = 20
	}
	runs := make([]string, 0, count)
	for i := range count {
		tasks := []string{fmt.Sprintf("D-%d", i)}
		if i%4 > 1 {
			tasks = append(tasks, fmt.Sprintf("U-%d", i))
		}
		if i%4 == 3 {
			tasks = tasks[1:]
		}
		runs = append(runs, w.ended(n, tasks...))
	}
	last := fmt.Sprint("U-", count)
	live := w.begun(n, last)
	for i := 0; i < count; i += 4 { // every fourth is merged; the next stay where they are
		w.git("merge", "-q", "-m", "merge "+runs[i], "signalbox/"+runs[i])
	}
	w.git("branch", "mine")
	w.git("worktree", "add", "-q", filepath.Join(t.TempDir(), "own"), "signalbox/"+runs[4])
	before := w.lies()

	shown := w.cleaned("clean", "--json")
	if shown.Removed || !slices.Equal(w.lies(), before) {
		t.Errorf("without --yes things go: %+v", shown)
	}
	if text := w.must("clean"); !strings.HasPrefix(text, "stays\n") || strings.Count(text, "\nwould go\n") != 1 || strings.Contains(text, "\ngoes\n") {
		t.Errorf("what would go is not called that, or what stays does not come first:\n%s", text)
	}
	if r := w.signalbox("clean"); r.code != 0 || !strings.Contains(r.out, "nothing was removed: with --yes") || !slices.Equal(w.lies(), before) {
		t.Errorf("without a terminal: %+v", r)
	}
	done := w.cleaned("clean", "--yes", "--json")
	t.Logf("%d things were left, and %d bytes went", len(done.Left), done.Bytes)
	w.checkKept(done, runs, live)

	n.stop() // without a box it works as well
	done = w.cleaned("clean", "--unmerged", "--yes", "--json")
	for _, l := range done.Left {
		if l.Error != "" {
			t.Errorf("%+v", l)
		}
	}
	want := []string{"branch mine", "branch signalbox-tasks/" + live + "/" + last + "/work", "branch signalbox/" + live, "branch signalbox/" + runs[4], "branch trunk"}
	slices.Sort(want)
	got := slices.DeleteFunc(w.lies(), func(s string) bool { return !strings.HasPrefix(s, "branch ") })
	if !slices.Equal(got, want) {
		t.Errorf("branches %q, want %q", got, want)
	}
	left := slices.DeleteFunc(w.lies(), func(s string) bool { return strings.HasPrefix(s, "branch ") })
	if got := strings.Join(left, "\n"); strings.Contains(got, "half-U-2.") || strings.Count(got, "session ") != 1 {
		t.Errorf("what lies there:\n%s", got)
	}
	if _, err := os.Stat(filepath.Join(treasure, "mine")); err != nil {
		t.Errorf("a link that an agent left was followed: %v", err)
	}
	for _, check := range [][]string{{"ledger", "verify"}, {"logs", runs[0] + ".D-0"}, {"diff", runs[2] + ".D-2", "--stat"}} {
		if r := w.signalbox(check...); r.code != 0 || check[0] == "logs" && !strings.Contains(r.out, "(the hashes stay)") {
			t.Errorf("%v: %+v", check, r)
		}
	}
}

// checkKept looks at what is left when what was merged is gone.
func (w *world) checkKept(done api.Cleaned, runs []string, live string) {
	w.t.Helper()
	lies := strings.Join(w.lies(), "\n") + "\n"
	for i, run := range append(slices.Clone(runs), live) {
		goesOn := i == len(runs)
		merged, half, own := i%4 == 0 && !goesOn, i%4 > 1 || goesOn, i == 4
		if at := strings.Contains(lies, "branch signalbox/"+run+"\n"); at != (!merged && i%4 != 3 || own || goesOn) {
			w.t.Errorf("%s: its branch is there: %v", run, at)
		}
		if at := strings.Contains(lies, "tree "+run+"/U-"); at != half {
			w.t.Errorf("%s: a worktree is there: %v", run, at)
		}
		if at := strings.Contains(lies, "branch signalbox-tasks/"+run+"/"); at != half {
			w.t.Errorf("%s: a branch of a task is there: %v", run, at)
		}
	}
	for _, l := range done.Left {
		if l.Error != "" {
			w.t.Errorf("%+v", l)
		}
		done := strings.HasPrefix(l.Task, "D-")
		if l.Kind != api.LeftHomes && l.Kind != api.LeftBranch && l.Removed != (l.Task == "" || done) && l.Run != live && l.Task != "" {
			w.t.Errorf("%+v", l)
		}
		if l.Run == live && l.Removed {
			w.t.Errorf("of the run that goes on: %+v", l)
		}
	}
}

// cleaned runs a clean.
func (w *world) cleaned(args ...string) (c api.Cleaned) {
	w.t.Helper()
	r := w.signalbox(args...)
	if err := json.Unmarshal([]byte(r.out), &c); err != nil || r.code != 0 {
		w.t.Fatalf("%v: %v: %+v", args, err, r)
	}
	return c
}

// begun delivers a plan with these tasks, until only questions remain.
func (w *world) begun(n *node, tasks ...string) string {
	w.t.Helper()
	w.tasks(tasks...)
	plan, err := os.ReadFile(filepath.Join(w.dir, "plan.md"))
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := n.client.Deliver(w.t.Context(), api.StartRun{Plan: string(plan)})
	if err != nil {
		w.t.Fatal(err)
	}
	enough := errors.New("enough")
	err = n.client.FollowRun(w.t.Context(), r.ID, func(now api.Run) error {
		if r = now; r.State == api.RunWaiting {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		w.t.Fatal(err)
	}
	return r.ID
}

// ended delivers a plan with these tasks, and cancels what has a question.
func (w *world) ended(n *node, tasks ...string) string {
	w.t.Helper()
	id := w.begun(n, tasks...)
	if slices.ContainsFunc(tasks, func(t string) bool { return strings.HasPrefix(t, "U") }) {
		if _, err := n.client.CancelRun(w.t.Context(), id, api.Message{}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.until("it ends, and its mark is gone", func() bool {
		r, err := n.client.Run(w.t.Context(), id)
		_, marked := os.Stat(filepath.Join(w.dir, ".signalbox", "runs", r.Subject))
		return err == nil && r.State == api.RunFinished && (r.Outcome == delivery.Completed || r.Outcome == delivery.Cancelled) && errors.Is(marked, fs.ErrNotExist)
	})
	return id
}

// lies tells what lies there: branches, worktrees and their files, sessions, logs of checks.
func (w *world) lies() (all []string) {
	w.t.Helper()
	for name := range strings.Lines(w.git("for-each-ref", "--format=%(refname:short)", "refs/heads")) {
		all = append(all, "branch "+strings.TrimSpace(name))
	}
	for kind, pattern := range map[string]string{"tree ": "worktrees/*/*/*", "session ": "sessions/*", "log ": "gates/log/*"} {
		paths, err := filepath.Glob(filepath.Join(w.dir, ".signalbox", pattern))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, path := range paths {
			inside, _ := filepath.Rel(filepath.Join(w.dir, ".signalbox", filepath.Dir(strings.Split(pattern, "*")[0]+"x")), path)
			all = append(all, kind+inside)
		}
	}
	slices.Sort(all)
	return all
}
