package box

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/ledger"
)

// commits is a repository in which tests leave merges with checkpoints.
type commits struct {
	t   *testing.T
	dir string
}

func newCommits(t *testing.T) *commits {
	t.Helper()
	c := &commits{t, gittest.New(t)}
	c.git("", "commit", "-q", "--allow-empty", "-m", "next")
	return c
}

func (c *commits) git(input string, args ...string) string {
	c.t.Helper()
	return gittest.GitIn(c.t, c.dir, input, args...)
}

// merge puts a merge with a checkpoint on a ref, and returns what undoes it.
func (c *commits) merge(ref, signer string, signed ledger.Checkpoint, parents ...string) func() {
	c.t.Helper()
	note, err := signed.Sign(signer)
	if err != nil {
		c.t.Fatal(err)
	}
	line, err := ledger.CheckpointLine(note)
	if err != nil {
		c.t.Fatal(err)
	}
	args := []string{"commit-tree", "HEAD^{tree}", "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	message := fmt.Sprintf("Merge\n\nSignalbox-Task: T\nSignalbox-Run: R\nSignalbox-Event: 1\nSignalbox-Checkpoint: %s\nSignalbox-Proof: AA== \n", line)
	c.git("", "update-ref", ref, c.git(message, args...))
	return func() { c.git("", "update-ref", "-d", ref) }
}

// A ledger that does not go on from a checkpoint in a reachable merge is refused. What
// others signed, and what stands on agents' branches, is not believed.
func TestWitness(t *testing.T) {
	t.Parallel()
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	c := newCommits(t)
	own := b.keys.Origin()
	if _, err := b.archive.Seal(); err != nil {
		t.Fatal(err)
	}
	root, err := b.archive.Root(1)
	if err != nil {
		t.Fatal(err)
	}
	stranger, _, err := ledger.NewKey(own) // by the same name
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, _, err := ledger.NewKey("other/epoch/1")
	if err != nil {
		t.Fatal(err)
	}
	site, err := runner.OpenSite(t.Context(), c.dir, config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	both := []string{"HEAD~1", "HEAD"}
	later := ledger.Checkpoint{Origin: own, Size: 99}
	for _, w := range []struct {
		name, ref, signer string
		signed            ledger.Checkpoint
		parents           []string
		want              trailer.Kind
	}{
		{"as it is", "refs/heads/a", b.keys.Signer, ledger.Checkpoint{Origin: own, Size: 1, Root: root}, both, ""},
		{"rolled back", "refs/heads/a", b.keys.Signer, later, both, trailer.RolledBack},
		{"rolled back, as a remote shows", "refs/remotes/origin/a", b.keys.Signer, later, both, trailer.RolledBack},
		{"another history", "refs/heads/a", b.keys.Signer, ledger.Checkpoint{Origin: own, Size: 1}, both, trailer.Rewritten},
		{"another key", "refs/heads/a", stranger, later, both, ""},
		{"another ledger", "refs/heads/a", elsewhere, ledger.Checkpoint{Origin: "other/epoch/1", Size: 99}, both, ""},
		{"an agent's branch", "refs/heads/signalbox-tasks/R1/T-1/work", b.keys.Signer, later, both, ""},
		{"no merge", "refs/heads/a", b.keys.Signer, later, both[:1], ""},
	} {
		undo := c.merge(w.ref, w.signer, w.signed, w.parents...)
		notes, err := b.witness(t.Context(), site.Witnesses, false)
		kind, _ := trailer.IsFault(err)
		var damage *archive.Damage
		if kind != w.want || len(notes) > 0 || (err != nil) != (w.want != "") || err != nil && !errors.As(err, &damage) {
			t.Errorf("%s: %v %v", w.name, notes, err)
		}
		undo()
	}
	// One that is not believed hides none that is.
	c.merge("refs/heads/a", stranger, later, both...)
	c.merge("refs/heads/b", b.keys.Signer, later, both...)
	if _, err := b.witness(t.Context(), site.Witnesses, false); err == nil {
		t.Error("nothing was seen beside a forged checkpoint")
	}
	// A message of any length is looked at from its end.
	c.git("", "update-ref", "-d", "refs/heads/b")
	long := c.git(strings.Repeat("x", 2<<20)+"\n\n"+c.git("", "log", "-1", "--format=%B", "a"), "commit-tree", "HEAD^{tree}", "-p", "HEAD~1", "-p", "HEAD", "-F", "-")
	c.git("", "update-ref", "refs/heads/c", long)
	c.merge("refs/heads/b", b.keys.Signer, later, both...)
	if _, err := b.witness(t.Context(), site.Witnesses, false); err == nil {
		t.Error("nothing was seen beside a long message")
	}
	// What can't be looked at is said.
	if err := os.RemoveAll(c.dir + "/.git/objects"); err != nil {
		t.Fatal(err)
	}
	if notes, err := b.witness(t.Context(), site.Witnesses, false); err != nil || len(notes) != 1 {
		t.Errorf("%v %v", notes, err)
	}
}

// A box of a cluster may have less than another one has signed, as a commit says. It is held against that when it has as much.
func TestWitnessAhead(t *testing.T) {
	t.Parallel()
	for name, same := range map[string]bool{"the same": true, "another": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := Dir(t.TempDir())
			b := onFiles(t, dir, archive.Dir(dir.Archive("")), nil)
			defer closeBox(t, b)
			c := newCommits(t)
			b.signing.Lock() // nothing is sealed meanwhile
			addOne(t, b)
			origin := b.keys.Origin()
			ahead := ledger.Checkpoint{Origin: origin, Size: b.archive.Size()}
			root, err := b.rootOfEvents(ahead.Size)
			if same {
				ahead.Root = root
			}
			site, opened := runner.OpenSite(t.Context(), c.dir, config.Config{})
			if err != nil || opened != nil {
				b.signing.Unlock()
				t.Fatal(err, opened)
			}
			c.merge("refs/heads/a", b.keys.Signer, ahead, "HEAD~1", "HEAD")
			_, err = b.witness(t.Context(), site.Witnesses, true)
			held := len(b.ahead)
			b.signing.Unlock()
			if err != nil || held != 1 {
				t.Errorf("%d are ahead: %v", held, err)
			}
			_, err = b.seal()
			if kind, _ := trailer.IsFault(err); (err == nil) != same || !same && kind != trailer.Rewritten || same && len(b.ahead) > 0 {
				t.Errorf("sealed: %v, and %d are ahead", err, len(b.ahead))
			}
		})
	}
}

// Who leads has all that was ever signed: if a commit shows that there was more, all boxes were put back, and it stops.
func TestWitnessAheadOfLeader(t *testing.T) {
	t.Parallel()
	for size, stops := range map[int64]bool{1: false, 2: true} {
		b := oneItem(t, Dir(t.TempDir()), nil)
		b.signing.Lock()
		b.ahead = []ledger.Checkpoint{{Origin: b.keys.Origin(), Size: size}}
		b.signing.Unlock()
		b.Lead()
		err := b.Writable()
		if kind, _ := trailer.IsFault(err); (err != nil) != stops || stops && (kind != trailer.RolledBack || b.leads.Load()) {
			t.Errorf("a commit has %d events, and the ledger 1: %v", size, err)
		}
		if err := b.Close(); stops && err == nil {
			t.Error("it was closed without a word")
		}
	}
}

// A proof of what was just recorded waits for no timer.
func TestProveAtOnce(t *testing.T) {
	t.Parallel()
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	p, err := b.prove(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, c, err := p.Verify(b.keys.Verifier); err != nil || c.Size != 1 {
		t.Errorf("%+v %v", c, err)
	}
}
