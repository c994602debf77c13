//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// disguise is what a developer does so that reviewers see another file than it committed.
type disguise struct {
	name, script string
	needs        string // a program
}

// Each has $git (what git keeps for the worktree) and $common (the repository).
var disguises = []disguise{
	{"skip-worktree", `git update-index --skip-worktree a.txt; echo harmless line >a.txt`, ""},
	{"assume-unchanged", `git update-index --assume-unchanged a.txt; echo harmless line >a.txt`, ""},
	// An index in which the harmless file's times and size are those of the committed one.
	{"stat", `echo harmless line >a.txt; touch -d 2020-01-01 a.txt; git update-index --assume-unchanged a.txt
python3 - $git/index <<'P'
import sys, os, struct, hashlib
b = bytearray(open(sys.argv[1], 'rb').read()); s = os.stat('a.txt'); i = 12
for _ in range(struct.unpack('>I', b[8:12])[0]):
    flags = struct.unpack('>H', b[i+60:i+62])[0]; n = flags & 0xfff
    if b[i+62:i+62+n] == b'a.txt':
        c, m = divmod(s.st_ctime_ns, 10**9), divmod(s.st_mtime_ns, 10**9)
        struct.pack_into('>IIIIII', b, i, *c, *m, s.st_dev & 0xffffffff, s.st_ino & 0xffffffff)
        struct.pack_into('>I', b, i+36, s.st_size); struct.pack_into('>H', b, i+60, flags & ~0x8000)
    i += (62+n+8)//8*8
b[-20:] = hashlib.sha1(b[:-20]).digest(); open(sys.argv[1], 'wb').write(b)
P`, "python3"},
	// Another repository's settings and refs, with a program that git status runs.
	{"commondir", `git init -q --bare fake/r; git --git-dir=fake/r config core.bare false
printf '#!/bin/sh\ntouch "%s/starts/ran"\n' "$SCRIPTS" >fake/fsm; chmod +x fake/fsm
git --git-dir=fake/r config core.fsmonitor $PWD/fake/fsm; git add -A; git commit -qm more; echo $PWD/fake/r >$git/commondir`, ""},
}

// build commits a back door.
const build = `git=$(git rev-parse --absolute-git-dir) common=$(git rev-parse --path-format=absolute --git-common-dir)
echo backdoor line >a.txt; git add -A; git commit -qm work
`

// reader is a reviewer who reads the files and runs nothing of the change's.
const reader = `seen=$SCRIPTS/starts/$task.$role.$n
cp a.txt $seen/file; git status --short >$seen/status 2>&1; git log --format=%%s >$seen/log 2>&1; git diff --name-only "$(git rev-parse HEAD~1)"...HEAD >$seen/diff 2>&1
git show HEAD:a.txt >$seen/show 2>&1; git rev-parse signalbox/R1 >$seen/branch 2>&1
ls $BOX/worktrees >$seen/others 2>/dev/null; touch "$(git rev-parse --git-common-dir)/mark" 2>/dev/null && echo exchange >$seen/wrote
if grep -q backdoor a.txt; then echo "%[1]s_FAILED: $task $run"; echo "Issues Found:"; echo "- a back door"; else echo "%[1]s_PASSED: $task $run"; fi
`

// judgedWorld is one in which reviewers read what a developer wrote.
func judgedWorld(t *testing.T, kind sandbox.Kind) *world {
	w := newWorld(t, "")
	w.settings("sandbox: {kind: %s, network: off, write: [%s/starts]}\nchecks: [{name: any, command: test -s README.md}]\nlimits: {linger: 300ms, grace: 300ms, reviews: 1}\n", kind, w.scripts)
	w.git("commit", "-qam", "settings")
	box := "BOX=" + filepath.Join(w.dir, ".signalbox") + "\n"
	w.script("critic", box+fmt.Sprintf(reader, "REVIEW"))
	w.script("auditor", box+fmt.Sprintf(reader, "AUDIT"))
	w.tasks("T-1")
	return w
}

// note returns what an agent noted.
func (w *world) note(agent, name string) string {
	data, err := os.ReadFile(filepath.Join(w.scripts, "starts", agent, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// A reviewer is given the files of the commit, whatever the developer does to its worktree,
// to its index and to what git keeps for it; and it is the same commit for git.
func TestReviewersSeeTheCommit(t *testing.T) {
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		for _, d := range disguises {
			t.Run(d.name, func(t *testing.T) {
				if _, err := exec.LookPath(d.needs); d.needs != "" && err != nil {
					t.Skipf("NOT TESTED: %v", err)
				}
				t.Parallel()
				w := judgedWorld(t, kind)
				w.script("developer", build+d.script+"\necho READY_FOR_REVIEW: $task $run\n")
				w.deliver()
				const critic = "T-1.critic.1"
				// The box commits what lies in the worktree, by an index of its own: what was hidden
				// behind the developer's index is not in the commit any more, and all see the rest.
				judged := "harmless line"
				if d.name == "commondir" {
					judged = "backdoor line"
				}
				for name, want := range map[string]string{"file": judged, "show": judged, "status": "", "wrote": "", "others": ""} {
					if got := w.note(critic, name); got != want {
						t.Errorf("%s: %q, not %q", name, got, want)
					}
				}
				if log := w.note(critic, "log"); !strings.HasSuffix(log, "settings\nstart") {
					t.Errorf("its history: %q", log)
				}
				if got := w.note(critic, "diff"); !strings.Contains(got, "a.txt") && d.name != "commondir" || got == "" {
					t.Errorf("its diff: %q", got)
				}
				if got, want := w.note(critic, "branch"), w.git("merge-base", "signalbox/R1", "trunk"); got != want {
					t.Errorf("the integration branch: %q, not %q", got, want)
				}
				if _, err := os.Stat(filepath.Join(w.scripts, "starts", "ran")); err == nil {
					t.Error("git ran the developer's program for somebody else")
				}
				merged := strings.Contains(strings.Join(w.types("T-1"), " "), "WorkMerged")
				if merged != (d.name != "commondir") || merged && w.git("show", "signalbox/R1:a.txt") != judged {
					t.Errorf("merged: %t, what was judged: %s\n%s", merged, judged, w.story())
				}
				if left, _ := filepath.Glob(filepath.Join(w.dir, ".signalbox", "reviews", "*")); len(left) > 0 {
					t.Errorf("left over: %v", left)
				}
			})
		}
	})
}

// An object that was overwritten in git's store does not pass the gate, and the developer is
// told; what is merged then is what was judged, for git in the user's repository too.
func TestOverwrittenObject(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := judgedWorld(t, kind)
		const overwrite = `o=$(git rev-parse HEAD:a.txt); h=$(echo harmless line | git hash-object -w --stdin)
f=$common/objects/$(echo $o | sed 's,^..,&/,'); chmod u+w $f; cat $common/objects/$(echo $h | sed 's,^..,&/,') >$f
[ "$(git show HEAD:a.txt)" = "harmless line" ] || echo "it was not overwritten" >&2
`
		w.script("T-1.developer.1", build+overwrite+"echo READY_FOR_REVIEW: $task $run\n")
		w.script("T-1.developer.2", "git reset -q --soft HEAD~1; echo good line >a.txt; git add -A; git commit -qm better; echo READY_FOR_REVIEW: $task $run\n")
		w.completed(w.deliver())
		if got := w.types("T-1")[3]; got != "GateFailed" {
			t.Errorf("the gate's first word is %s:\n%s", got, w.story())
		}
		if told := w.prompt("T-1", "developer", 2); !strings.Contains(told, "damaged or malformed") {
			t.Errorf("the developer was told:\n%s", told)
		}
		for _, name := range []string{"file", "show"} {
			if got := w.note("T-1.critic.1", name); got != "good line" {
				t.Errorf("the critic's %s: %q", name, got)
			}
		}
		if got := w.git("show", "signalbox/R1:a.txt"); got != "good line" {
			t.Errorf("merged: %q", got)
		}
	})
}

// An expert who advises a reviewer looks at the same commit, in a worktree of its own; and what
// a box that was killed left of reviewers' worktrees is gone after the next start.
func TestExpertOfReviewer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "experts: [security]\n")
	w.tasks("T-1")
	w.script("developer", build+"git update-index --skip-worktree a.txt; echo harmless line >a.txt\necho READY_FOR_REVIEW: $task $run\n")
	w.script("T-1.critic.1", say("EXPERT_REQUEST", "Target Agent: security", "Request Type: help"))
	w.script("expert", "cp a.txt $SCRIPTS/starts/$task.$role.$n/file; pwd >$SCRIPTS/starts/$task.$role.$n/where\n"+honest["expert"])
	left := filepath.Join(w.dir, ".signalbox", "reviews", "GONE-1.1")
	if err := os.MkdirAll(left+"~tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	w.completed(w.deliver())
	if got := w.note("R1-E1.expert.1", "file"); got != "harmless line" {
		t.Errorf("the expert saw %q:\n%s", got, w.story())
	}
	if got := w.note("R1-E1.expert.1", "where"); !strings.Contains(got, filepath.Join(".signalbox", "reviews")) {
		t.Errorf("the expert was in %q", got)
	}
	if found, _ := filepath.Glob(filepath.Join(w.dir, ".signalbox", "reviews", "*")); len(found) > 0 {
		t.Errorf("left over: %v", found)
	}
}
