//go:build unix

package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clone is what somebody else has: a bare clone of the repository, and the key.
type clone struct {
	*world
	bare string
}

// pushed returns a bare clone of everything that is on branches.
func (w *world) pushed() clone {
	w.t.Helper()
	bare := filepath.Join(w.t.TempDir(), "pushed.git")
	w.git("clone", "-q", "--bare", "--no-local", ".", bare)
	return clone{w, bare}
}

// in runs git in the clone, with something to read.
func (c clone) in(stdin string, args ...string) string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = c.bare, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Eve", "GIT_AUTHOR_EMAIL=eve@example.org", "GIT_COMMITTER_NAME=Eve", "GIT_COMMITTER_EMAIL=eve@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (c clone) message(commit string) string { return c.in("", "log", "-1", "--format=%B", commit) }

// forge makes a commit with another one's tree and parents, changed as a test wants.
func (c clone) forge(message, tree string, parents ...string) string {
	args := []string{"commit-tree", tree, "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return c.in(message, args...)
}

// verify runs verify in the clone.
func (c clone) verify(args ...string) result {
	c.t.Helper()
	cmd := c.command(c.t.Context(), append([]string{"verify"}, args...)...)
	cmd.Dir = c.bare
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// refuses fails the test unless a commit is refused for this fault, in these words.
func (c clone) refuses(what, fault, words string, args ...string) {
	c.t.Helper()
	r := c.verify(args...)
	if r.code != 1 || !strings.Contains(r.err, words) || r.out != "" {
		c.t.Errorf("%s: exit code %d\n%s%s", what, r.code, r.out, r.err)
	}
	r = c.verify(append(args, "--json")...)
	var said struct {
		OK    *bool  `json:"ok"`
		Fault string `json:"fault"`
	}
	if err := json.Unmarshal([]byte(r.out), &said); err != nil || said.OK == nil || *said.OK || said.Fault != fault || r.code != 1 {
		c.t.Errorf("%s: exit code %d\n%s%s", what, r.code, r.out, r.err)
	}
}

// Each merge of a pushed branch proves itself to whoever has the key, and nothing else
// does.
func TestVerifyCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "checks: [{name: there, command: test -f README.md}]\n")
	w.tasks("T-1", "T-2: T-1")
	// What an agent can do: a merge of its own, with another one's trailers.
	w.script("T-2.developer", `echo done >$task.txt
git add -A && git commit -qm $task
git log -1 --format=%B signalbox/R1 >$SCRIPTS/message
git update-ref HEAD $(git commit-tree HEAD^{tree} -p HEAD~1 -p HEAD -F $SCRIPTS/message)
git rev-parse HEAD >$SCRIPTS/agents
echo READY_FOR_REVIEW: $task $run
`)
	w.completed(w.deliver())
	c, key := w.pushed(), "--key="+w.key("verifier.key")
	second := c.in("", "rev-parse", "signalbox/R1")
	first := c.in("", "rev-parse", "signalbox/R1^")
	for task, commit := range map[string]string{"T-1": first, "T-2": second} {
		r := c.verify(commit, key)
		if r.code != 0 || !strings.Contains(r.out, "is the merge of "+task+" (run R1) that event ") || !strings.Contains(r.out, "not proven by this:") {
			t.Errorf("%s: exit code %d\n%s%s", task, r.code, r.out, r.err)
		}
		seen := strings.Split(c.in(c.message(commit), "interpret-trailers", "--parse"), "\n")
		for n, name := range []string{"Task: " + task, "Run: R1", "Event: ", "Checkpoint: ", "Proof: "} {
			if len(seen) != 5 || !strings.HasPrefix(seen[n], "Signalbox-"+name) {
				t.Errorf("git sees other trailers:\n%s", strings.Join(seen, "\n"))
			}
		}
	}
	tree := func(commit string) string { return c.in("", "rev-parse", commit+"^{tree}") }
	parents := func(commit string) []string { return strings.Fields(c.in("", "log", "-1", "--format=%P", commit)) }

	c.refuses("no merge of the box's", "none", "not a merge that Signalbox made", "trunk", key)
	for name, edit := range map[string][2]string{
		"task": {"Signalbox-Task: T-2", "Signalbox-Task: T-1"}, "run": {"Run: R1", "Run: R2"}, "size": {"/epoch/1 ", "/epoch/1 1"}, "proof": {"Proof: eyJ", "Proof: eyK"},
	} {
		message := strings.Replace(c.message(second), edit[0], edit[1], 1)
		c.refuses("edited: "+name, "edited", "the trailers were edited: ", c.forge(message, tree(second), parents(second)...), key)
	}
	c.refuses("moved to another merge", "moved", "moved here from another commit", c.forge(c.message(first), tree(second), parents(second)...), key)
	c.refuses("moved to no merge", "moved", "has not two parents, but 1", c.forge(c.message(first), tree(second), first), key)
	c.refuses("other files", "moved", "its files are others", c.forge(c.message(second), tree(first), parents(second)...), key)
	agents, err := os.ReadFile(filepath.Join(w.scripts, "agents"))
	if err != nil {
		t.Fatal(err)
	}
	c.refuses("an agent's merge", "moved", "moved here from another commit", strings.TrimSpace(string(agents)), key)

	forged := c.forge(c.message(first), tree(second), parents(second)...)
	c.in("", "replace", forged, first) // shown in its place by git, and not by verify
	c.refuses("replaced", "moved", "moved here from another commit", forged, key)
	c.refuses("no key", "", "nothing is proven without a key", second)

	if r := c.verify("nothing", key); r.code != 1 || !strings.Contains(r.err, "no such commit") {
		t.Errorf("no commit: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := c.verify(key); r.code != 2 {
		t.Errorf("no argument: exit code %d\n%s%s", r.code, r.out, r.err)
	}

	other := newWorld(t, "")
	other.tasks("T-1")
	other.completed(other.deliver())
	c.refuses("another ledger's key", "foreign", "the trailers are of another ledger: ", second, "--key="+other.key("verifier.key"))
	theirs := other.pushed().message("signalbox/R1")
	c.refuses("another ledger's trailers", "foreign", "the trailers are of another ledger: ", c.forge(theirs, tree(second), parents(second)...), key)
	w.provesMore(c, first, second)
}

// provesMore checks what a copy of the ledger, and a proof, add.
func (w *world) provesMore(c clone, first, second string) {
	key, archive := "--key="+w.key("verifier.key"), "--archive="+filepath.Join(w.dir, ".signalbox", "archive")
	r := c.verify(second, key, archive)
	if r.code != 0 || !strings.Contains(r.out, "passed by scripted") || !strings.Contains(r.out, "has this commit's name") || !strings.Contains(r.out, "that were signed") {
		w.t.Errorf("with the ledger: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	parents := strings.Fields(c.in("", "log", "-1", "--format=%P", second))
	twin := c.forge("Another title\n\n"+c.in(c.message(second), "interpret-trailers", "--parse"), second+"^{tree}", parents...)
	if r := c.verify(twin, key); r.code != 0 || !strings.Contains(r.out, "would prove the same") {
		w.t.Errorf("a twin: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	c.refuses("a twin", "contrary", "and not this commit", twin, key, archive)
	for n, e := range w.events() {
		if e.Type != "WorkMerged" || e.Work != "T-2" {
			continue
		}
		file := filepath.Join(w.t.TempDir(), "proof.json")
		if err := os.WriteFile(file, []byte(w.must("ledger", "prove", fmt.Sprint(n+1))), 0o600); err != nil {
			w.t.Fatal(err)
		}
		if r := c.verify(second, key, "--proof="+file); r.code != 0 || !strings.Contains(r.out, fmt.Sprintf("event %d has this commit's name", n+1)) {
			w.t.Errorf("with a proof: exit code %d\n%s%s", r.code, r.out, r.err)
		}
		c.refuses("a proof of something else", "contrary", "says nothing of this commit", first, key, "--proof="+file)
	}
}

// A ledger that was put back is refused as soon as a commit shows that it was longer,
// and what an agent writes into its commits refuses nothing.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.script("developer", `echo done >$task.txt
git add -A && git commit -qm $task
origin=$(git log --format=%B signalbox/R1 | sed -n 's/^Signalbox-Checkpoint: \([^ ]*\) .*/\1/p' | head -1)
root=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
printf 'Mine\n\nSignalbox-Task: a\nSignalbox-Run: b\nSignalbox-Event: 9\nSignalbox-Checkpoint: %s 999999 %s AAAAAAAA\nSignalbox-Proof: AA== \n' "$origin" $root >$SCRIPTS/message
git update-ref HEAD $(git commit-tree HEAD^{tree} -p HEAD~1 -p HEAD -F $SCRIPTS/message)
echo READY_FOR_REVIEW: $task $run
`)
	w.tasks("T-1", "T-2: T-1")
	w.completed(w.deliver())
	box, old := filepath.Join(w.dir, ".signalbox"), filepath.Join(t.TempDir(), "old")
	if err := os.CopyFS(old, os.DirFS(box)); err != nil {
		t.Fatal(err)
	}
	w.completed(w.deliver())
	key := "--key=" + w.key("verifier.key")
	c := w.pushed()
	c.refuses("an older ledger", "rolled_back", "the ledger was rolled back: a checkpoint over ", "signalbox/R2", key, "--archive="+filepath.Join(old, "archive"))

	newer := filepath.Join(t.TempDir(), "newer")
	for _, move := range [][2]string{{box, newer}, {old, box}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	r := w.signalbox("run", "plan.md")
	if r.code != 1 || !strings.Contains(r.err, "a commit in this repository shows that it is not what was signed: the ledger was rolled back: ") || !strings.Contains(r.err, "put the newer copy") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	for _, move := range [][2]string{{box, old}, {newer, box}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	w.completed(w.deliver())
}
