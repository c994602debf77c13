//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// attack is what a hostile developer does before it says that it is done. Its script has,
// besides what all have, $git (what git keeps for its worktree), $common (the repository),
// $refs and $logs (the directories of its branch), $evil (a commit that nobody has seen), $out (a
// directory that it can't write) and `pwn`, a command that shows that it was run outside.
type attack struct{ name, script string }

const prelude = `
git=$(git rev-parse --absolute-git-dir) common=$(git rev-parse --path-format=absolute --git-common-dir)
refs=$common/refs/heads/signalbox-tasks/R1/$task logs=$common/logs/refs/heads/signalbox-tasks/R1/$task
out=$SCRIPTS/out
evil=$(git commit-tree -p HEAD -m evil "$(git rev-parse HEAD:)")
echo work >$task.txt
`

// Each was once let through, or is told from one that was by little. More, without a
// sandbox, are in internal/worktree.
var attacks = []attack{
	// What an operation of git's left behind says which refs are to be moved or deleted.
	{"rebase moves a branch", `mkdir $git/rebase-merge; echo refs/heads/trunk >$git/rebase-merge/head-name
echo $evil >$git/rebase-merge/orig-head; echo $evil >$git/rebase-merge/onto; : >$git/rebase-merge/interactive`},
	{"rebase deletes a branch", `mkdir $git/rebase-merge; echo refs/heads/keep >$git/rebase-merge/refs-to-delete; echo detached HEAD >$git/rebase-merge/head-name
git rev-parse HEAD >$git/rebase-merge/orig-head; git rev-parse HEAD >$git/rebase-merge/onto; : >$git/rebase-merge/interactive`},
	{"rebase writes the stash", `mkdir $git/rebase-merge; echo detached HEAD >$git/rebase-merge/head-name; echo $evil >$git/rebase-merge/autostash
git rev-parse HEAD >$git/rebase-merge/orig-head; git rev-parse HEAD >$git/rebase-merge/onto; : >$git/rebase-merge/interactive`},
	{"merge writes the stash", `echo $evil >$git/MERGE_AUTOSTASH`},
	{"am moves a branch", `mkdir $git/rebase-apply; : >$git/rebase-apply/applying; echo 1 >$git/rebase-apply/next; echo 1 >$git/rebase-apply/last
git rev-parse trunk >$git/rebase-apply/abort-safety; echo $evil >$git/ORIG_HEAD; echo ref: refs/heads/trunk >$git/HEAD`},
	{"cherry-pick moves a branch", `mkdir $git/sequencer; echo $evil >$git/sequencer/head; git rev-parse trunk >$git/sequencer/abort-safety; echo "pick $evil x" >$git/sequencer/todo
echo $evil >$git/CHERRY_PICK_HEAD; echo ref: refs/heads/trunk >$git/HEAD`},
	{"bisect moves a branch", `echo -Btrunk >$git/BISECT_START; : >$git/BISECT_LOG; git update-ref --no-deref HEAD $evil`},

	// Links where the box's git writes.
	{"index", `rm $git/index; ln -s $out/new $git/index`},
	{"log of HEAD", `rm -f $git/logs/HEAD; ln -s $out/canary $git/logs/HEAD`},
	{"log of the branch", `rm -f $logs/work; ln -s $out/canary $logs/work`},
	{"message", `rm -f $git/COMMIT_EDITMSG; ln -s $out/canary $git/COMMIT_EDITMSG`},
	{"lock of the worktree", `ln -s $out/canary $git/locked`},
	{"objects", `for d in $common/objects/??; do rmdir $d && ln -s $out $d; done 2>/dev/null`},
	{"branch is a link", `rm $refs/work; ln -s refs/heads/trunk $refs/work`},

	// Whose branch it is.
	{"branch stands for the run's", `echo ref: refs/heads/signalbox/R1 >$refs/work`},
	{"HEAD is another branch", `echo ref: refs/heads/trunk >$git/HEAD`},

	// Commands that git runs.
	{"submodule with a filter", `git init -q sub && cd sub && echo x >f && git add f && git commit -qm sub
echo '* filter=evil' >.git/info/attributes; git config filter.evil.clean "$(pwn)"; git config core.fsmonitor "$(pwn)"; cd .. && git add sub 2>/dev/null; touch sub/f; echo y >sub/f`},
	{"repository in its place", `mv .git gitfile; cp -r $common/. .git 2>/dev/null; git config --file .git/config filter.evil.clean "$(pwn)"; git config --file .git/config core.fsmonitor "$(pwn)"; echo '* filter=evil' >.gitattributes`},
	{"other common directory", `mkdir fake; cp -r $common/. fake 2>/dev/null; git config --file fake/config filter.evil.clean "$(pwn)"; echo $PWD/fake >$git/commondir; echo '* filter=evil' >.gitattributes`},
	{"settings of the worktree", `git config --file $git/config.worktree filter.evil.clean "$(pwn)"; git config --file $git/config filter.evil.clean "$(pwn)"; echo '* filter=evil' >.gitattributes`},
	{"hooks of the worktree", `mkdir -p $git/hooks; for h in pre-commit post-checkout reference-transaction; do printf '#!/bin/sh\n%s\n' "$(pwn)" >$git/hooks/$h; chmod +x $git/hooks/$h; done`},

	// What is waited for without end.
	{"pipe for the index", `rm $git/index; mkfifo $git/index`},
	{"pipe for .git", `rm .git; mkfifo .git`},
	{"pipe among the refs", `mkfifo $refs/pipe`},
	{"pipe for the branch", `rm $refs/work; mkfifo $refs/work`},
	{"pipe for the log", `rm -f $logs/work; mkfifo $logs/work`},
	{"pipe for attributes", `mkfifo .gitattributes .gitmodules .gitignore`},
	{"pipe for the usage", `mkfifo $SIGNALBOX_USAGE`},
	{"token for the usage", `ln -s "$BOX"/api.token $SIGNALBOX_USAGE`},
	{"endless usage", `(printf '{"input_tokens": '; head -c 300000000 /dev/zero | tr '\0' 1) >$SIGNALBOX_USAGE`},
}

// A hostile developer does not get the box, its git or its checks to do anything outside of
// the sandbox, nor to wait for it.
func TestHostileGit(t *testing.T) {
	eachSandbox(t, func(t *testing.T, kind sandbox.Kind) {
		for i, a := range attacks {
			t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
				among(t, kind == sandbox.Kinds()[1+i%2])
				t.Parallel()
				w := newWorld(t, "")
				w.settings("sandbox: {kind: %s, network: off, write: [%s/starts]}\nchecks: [{name: any, command: 'true'}]\nlimits: {linger: 300ms, grace: 300ms}\n", kind, w.scripts)
				w.git("commit", "-qam", "settings")
				w.git("branch", "keep")
				out := filepath.Join(w.scripts, "out")
				if err := os.Mkdir(out, 0o700); err != nil {
					t.Fatal(err)
				}
				w.script("out/canary", "sings\n")
				pwn := fmt.Sprintf("pwn() { echo 'touch %s/out/ran; cat'; }\nBOX=%s/.signalbox\n", w.scripts, w.dir)
				w.script("developer", pwn+prelude+a.script+"\n"+say("READY_FOR_REVIEW: T-1"))
				w.tasks("T-1")
				before := w.git("for-each-ref", "--format=%(refname) %(objectname)")
				w.deliver() // which may come to an end, or to a question
				w.unharmed(before)
			})
		}
	})
}

// unharmed fails the test unless what lies outside of the sandboxes is as it was.
func (w *world) unharmed(refs string) {
	w.t.Helper()
	files, _ := filepath.Glob(filepath.Join(w.scripts, "out", "*"))
	if len(files) != 1 {
		w.t.Errorf("written outside: %q", files)
	}
	if text, err := os.ReadFile(filepath.Join(w.scripts, "out", "canary")); string(text) != "sings\n" || err != nil {
		w.t.Errorf("the canary: %q, %v", text, err)
	}
	var now []string
	for line := range strings.Lines(w.git("for-each-ref", "--format=%(refname) %(objectname)")) {
		if !strings.HasPrefix(line, "refs/heads/signalbox") {
			now = append(now, strings.TrimSpace(line))
		}
	}
	if got := strings.Join(now, "\n"); got != refs {
		w.t.Errorf("refs were\n%s\nand are\n%s", refs, got)
	}
	w.quiet()
	if got := w.git("status", "--porcelain"); got != "?? plan.md" {
		w.t.Errorf("the checkout: %s", got)
	}
}

// A confined agent has nothing of the box's: no secret in its environment, no open file, no
// command of the program's that gets through.
func TestHostileAgent(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		w.settings("sandbox: {kind: %s, write: [%s/starts]}\n", kind, w.scripts)
		w.git("commit", "-qam", "settings")
		w.script("developer", `seen="$SCRIPTS/starts/$task.$role.$n"
env >"$seen/env"
for f in /proc/$$/fd/*; do echo ${f##*/}; done | grep -v '^[012]$' | while read f; do [ ! -e /proc/$$/fd/$f ] || readlink /proc/$$/fd/$f; done >"$seen/files"
cd `+w.dir+`
for c in status inbox 'answer R1-Q1 yes' 'cancel --run' 'tell T-1 x' 'override R1.T-1 COMPLETED --reason x' 'run --json'; do `+program+` $c && echo "$c" >>"$seen/obeyed"; done
cd "$OLDPWD"
`+honest["developer"])
		w.tasks("T-1")
		w.completed(w.deliver())
		seen := func(name string) string {
			data, _ := os.ReadFile(filepath.Join(w.scripts, "starts", "T-1.developer.1", name)) // what was not written is empty
			return string(data)
		}
		env := seen("env")
		if !strings.Contains(env, "SIGNALBOX_TASK=T-1") {
			t.Fatalf("the environment was not seen: %q", env)
		}
		for _, secret := range []string{"api.token", "gate.token", "signer.key"} {
			if strings.Contains(env, w.key(secret)) {
				t.Errorf("%s is in the environment", secret)
			}
		}
		for line := range strings.Lines(seen("files")) {
			if !strings.HasPrefix(line, w.scripts) { // the script itself, which the shell reads
				t.Errorf("open: %s", line)
			}
		}
		if obeyed := seen("obeyed"); obeyed != "" {
			t.Errorf("these got through:\n%s", obeyed)
		}
		w.quiet()
	})
}

// quiet fails the test if something was seen to change outside of the worktrees.
func (w *world) quiet() {
	w.t.Helper()
	for _, e := range w.events() {
		if e.Type == "CheckoutTouched" {
			w.t.Errorf("touched: %s", e.Payload)
		}
	}
}

// What leaves its group and its environment behind ends with the session all the same.
func TestHostileSurvivor(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		w.settings("sandbox: {kind: %s, network: off, write: [%s/starts]}\nlimits: {linger: 300ms, grace: 300ms}\n", kind, w.scripts)
		w.git("commit", "-qam", "settings")
		w.script("developer", honest["developer"]+"setsid env -i sh -c 'trap \"\" TERM; (sleep 120 & wait); : "+w.dir+"' </dev/null >/dev/null 2>&1 &\nsleep 0.2\n")
		w.tasks("T-1")
		w.completed(w.deliver())
		left := w.leftovers()
		for _, process := range left {
			var pid int
			if _, err := fmt.Sscan(process, &pid); err == nil {
				_ = syscall.Kill(-pid, syscall.SIGKILL) // the test's own: it leads a session
			}
		}
		if len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		w.until("they are gone", func() bool { return len(w.leftovers()) == 0 })
	})
}
