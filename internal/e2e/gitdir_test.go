//go:build linux

package e2e_test

import (
	"crypto/sha1"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// An agent's index that names the box's secrets, with times that make git read them, does not
// bring them into git's store, where the agent could read them.
func TestIndexOfSecrets(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		w.settings("sandbox: {kind: %s, write: [%s/starts]}\n", kind, w.scripts)
		w.git("commit", "-qam", "settings")
		const up = "../../../" // from a task's worktree to the box's directory
		if err := os.WriteFile(filepath.Join(w.scripts, "forged"), forgedIndex(up+"api.token", up+"signer.key"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.script("developer", "echo done >$task.txt\ncp \"$SCRIPTS\"/forged \"$(git rev-parse --git-dir)\"/index || echo NO INDEX\necho READY_FOR_REVIEW: $task $run\n")
		w.tasks("T-1")
		w.completed(w.deliver())
		if said := w.signalbox("logs", "T-1"); strings.Contains(said.out, "NO INDEX") {
			t.Errorf("the index was not written:\n%s", said.out)
		}
		for _, name := range []string{"api.token", "signer.key"} {
			blob := w.git("hash-object", "--no-filters", filepath.Join(w.dir, ".signalbox", name))
			if all := w.git("cat-file", "--batch-all-objects", "--batch-check"); strings.Contains(all, blob) {
				t.Errorf("%s is in git's store", name)
			}
		}
		if files := w.git("diff", "--name-only", "trunk...signalbox/R1"); files != "T-1.txt" {
			t.Errorf("merged: %q", files)
		}
	})
}

// forgedIndex is an index of git's with files that are not known yet.
func forgedIndex(names ...string) []byte {
	out := binary.BigEndian.AppendUint32([]byte("DIRC"), 2)
	out = binary.BigEndian.AppendUint32(out, uint32(len(names)))
	for _, name := range names { // in order
		entry := make([]byte, 0, 128)
		for _, n := range []uint32{1, 0, 1, 0, 1, 1, 0o100644, 0, 0, 1} {
			entry = binary.BigEndian.AppendUint32(entry, n)
		}
		hash := sha1.Sum([]byte(name))
		entry = append(append(entry, hash[:]...), byte(len(name)>>8), byte(len(name)))
		entry = append(entry, name...)
		out = append(append(out, entry...), make([]byte, 8-len(entry)%8)...)
	}
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

// Broken refs, and locks, that an agent leaves beside its branch are gone when the run has ended:
// the user's git works.
func TestBrokenRefs(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		w.settings("sandbox: {kind: %s, write: [%s/starts]}\n", kind, w.scripts)
		w.git("commit", "-qam", "settings")
		w.script("developer", `echo done >$task.txt
git add -A && git commit -qm $task
refs=$(git rev-parse --git-common-dir)/refs/heads/signalbox-tasks/R1/$task
echo 1234123412341234123412341234123412341234 >$refs/missing && echo garbage >$refs/garbage && touch $refs/work.lock || echo NO REFS
echo READY_FOR_REVIEW: $task $run
`)
		w.tasks("T-1")
		w.completed(w.deliver())
		if said := w.signalbox("logs", "T-1"); strings.Contains(said.out, "NO REFS") {
			t.Errorf("the refs were not written:\n%s", said.out)
		}
		w.git("gc", "--quiet")
		w.git("log", "--branches", "--oneline")
		clone := filepath.Join(t.TempDir(), "clone")
		w.git("clone", "--quiet", "--no-local", ".", clone)
		w.git("-C", clone, "fetch", "--quiet")
		for _, name := range []string{"refs/heads/signalbox-tasks", "logs/refs/heads/signalbox-tasks", "signalbox"} {
			if _, err := os.Lstat(filepath.Join(w.dir, ".git", name)); err == nil {
				t.Errorf(".git/%s is left", name)
			}
		}
	})
}
