//go:build unix

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/work"
)

// waits is a script that goes on once a command holds, or gives up.
func waits(command string) string {
	return fmt.Sprintf("i=0; until %s 2>/dev/null >&2; do i=$((i+1)); [ $i -gt 1800 ] && exit 7; sleep 0.1; done\n", command)
}

// delivered fails the test unless the run's branch has these files, and says which of a task's
// events are there.
func (w *world) delivered(files ...string) {
	w.t.Helper()
	all := strings.Fields(w.git("ls-tree", "--name-only", "signalbox/R1"))
	for _, name := range files {
		if !slices.Contains(all, name) {
			w.t.Errorf("%s is not on the branch, which has %v:\n%s", name, all, w.story())
		}
	}
}

// One developer has another task's commit in its history, and nothing of what is in it. Its
// reviewers see nothing of that; the other's work is on the branch in the end all the same,
// whoever is merged first.
func TestJudgedWorkStays(t *testing.T) {
	const take = "git merge -q -s ours -m T-1 signalbox-tasks/R1/T-2/work\n"
	const ready = "echo READY_FOR_REVIEW: $task $run\n"
	for first, second := range map[string]string{"T-1": "T-2", "T-2": "T-1"} {
		t.Run(first+" first", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			w.tasks("T-1", "T-2")
			w.script("T-1.developer.1", waits("test -e $SCRIPTS/fixed")+"echo 1 >T-1.txt; git add -A; git commit -qm T-1\n"+take+"touch $SCRIPTS/taken\n"+
				waits("test -e $SCRIPTS/more")+ready)
			w.script("T-2.developer.1", "echo fix >fix.txt; git add -A; git commit -qm T-2; touch $SCRIPTS/fixed\n"+waits("test -e $SCRIPTS/taken")+
				"echo 2 >T-2.txt; git add -A; git commit -qm T-2; touch $SCRIPTS/more\n"+ready)
			// What a developer has to do who is told to bring the branch in.
			w.script("developer", "git merge -q -m again signalbox/R1\ngit checkout -q signalbox/R1 -- .; git checkout -q ORIG_HEAD -- $task.txt\n"+
				"[ $task = T-2 ] && git checkout -q ORIG_HEAD -- fix.txt\ngit commit -qam again\n"+ready)
			w.script(first+".critic.1", waits("test -e $SCRIPTS/starts/"+second+".auditor.1")+honest["critic"])
			w.script(second+".auditor.1", waits(fmt.Sprintf("git -C %s cat-file -e signalbox/R1:%s.txt", w.dir, first))+honest["auditor"])
			w.completed(w.deliver())
			w.delivered("fix.txt", "T-1.txt", "T-2.txt")
			if what := w.types(second); !slices.Contains(what, work.MergeFailed) {
				t.Errorf("what %s was reviewed for is merged with something else:\n%s", second, w.story())
			}
			if said := w.prompt(second, "developer", 2); !strings.Contains(said, "reviewers saw what changed since") {
				t.Errorf("the developer is told\n%s", said)
			}
			for _, e := range w.events() {
				if e.Type == work.WorkMerged && !slices.Contains(w.types(e.Work), work.MergeAllowed) {
					t.Errorf("%s is merged without a word that allows it", e.Work)
				}
			}
		})
	}
}

// A history that holds what another task is at is not taken by the gate.
func TestOthersHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1", "T-2")
	w.script("T-2.developer", "echo fix >fix.txt; git add -A; git commit -qm T-2; touch $SCRIPTS/fixed\n"+waits("test -e $SCRIPTS/starts/T-1.developer.2")+"echo READY_FOR_REVIEW: $task $run\n")
	w.script("T-1.developer.1", waits("test -e $SCRIPTS/fixed")+
		"echo 1 >T-1.txt; git add -A; git commit -qm T-1; git merge -q -s ours -m T-1 signalbox-tasks/R1/T-2/work\necho READY_FOR_REVIEW: $task $run\n")
	w.script("T-1.developer.2", "git reset -q --soft signalbox/R1; git commit -qm anew\necho READY_FOR_REVIEW: $task $run\n")
	w.completed(w.deliver())
	w.delivered("fix.txt", "T-1.txt")
	if said := w.prompt("T-1", "developer", 2); !strings.Contains(said, "holds work of other tasks that is not merged") || !strings.Contains(said, "of T-2") {
		t.Errorf("the developer is told\n%s", said)
	}
}

// A tree that is small in git and large on disk is not checked out: it is rework.
func TestTreeBomb(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("T-1.developer.1", `tree=$(echo x | git hash-object -w --stdin) kind="100644 blob"
for level in 1 2 3 4 5 6 7 8 9 10 11 12; do
  tree=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '%s %s\t%s\n' "$kind" $tree $i; done | git mktree) kind="040000 tree"
done
root=$({ git ls-tree HEAD; printf '040000 tree %s\tbomb\n' $tree; } | git mktree)
git update-ref HEAD $(git commit-tree $root -p HEAD -m bomb)
echo READY_FOR_REVIEW: $task $run
`)
	w.script("T-1.developer.2", "git update-ref HEAD HEAD~1\n"+honest["developer"])
	w.completed(w.deliver())
	w.delivered("T-1.txt")
	if said := w.prompt("T-1", "developer", 2); !strings.Contains(said, "is too large to be checked out: it may have 100000 files and directories, and 4 GiB, more than") {
		t.Errorf("the developer is told\n%s", said)
	}
}

// What a check leaves where another repository would be, which git does not clean, is not there when
// other checks run, or the same ones on the merge, or where a reviewer looks.
func TestNothingStaysInSubmodules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("check", "ls deps >>"+w.scripts+"/found 2>/dev/null\nmkdir -p deps; touch deps/left\n")
	w.settings("checks: [{name: leaves, command: sh ./check}]\n")
	w.git("add", "-A")
	w.git("commit", "-qm", "checks")
	w.tasks("T-1", "T-2: T-1")
	w.script("T-1.developer", "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),deps; mkdir -p deps; echo 1 >T-1.txt; git add T-1.txt; git commit -qm T-1\necho READY_FOR_REVIEW: $task $run\n")
	w.script("T-2.developer", "echo 2 >T-2.txt; git add T-2.txt; git commit -qm T-2\necho READY_FOR_REVIEW: $task $run\n")
	for _, role := range []string{"critic", "auditor"} {
		w.script(role, "ls deps >>$SCRIPTS/found\n"+honest[role])
	}
	w.completed(w.deliver())
	w.delivered("T-1.txt", "T-2.txt", "deps")
	if found := w.read("found"); found != "" {
		t.Errorf("checks and reviewers found %q", found)
	}
}
