package worktree

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/gittest"
)

// Whoever commits in a mirror does it by the name that commits at the box have, if they have one.
func TestCommitAs(t *testing.T) {
	t.Parallel()
	root := gittest.New(t)
	user, err := Open(t.Context(), root)
	must(t, err)
	gittest.Git(t, root, "config", "user.name", "Ann O'Nymous")
	gittest.Git(t, root, "config", "user.email", "ann@example.org")
	name, address, err := user.Author(t.Context())
	must(t, err)
	if name != "Ann O'Nymous" || address != "ann@example.org" {
		t.Errorf("commits are made by %q, %q", name, address)
	}
	mirror, err := InitMirror(t.Context(), t.TempDir(), strings.Repeat("1", 40))
	must(t, err)
	for _, who := range [][2]string{{"", ""}, {name, address}, {"-x", "<>"}, {"Bo", "bo@example.org"}, {"", ""}} {
		must(t, mirror.CommitAs(t.Context(), who[0], who[1]))
		var want []string
		if who[0] != "" {
			want = []string{"user.name=" + who[0], "user.email=" + who[1]}
		}
		got := strings.Split(gittest.Git(t, mirror.Root(), "config", "--local", "--list"), "\n")
		got = slices.DeleteFunc(got, func(line string) bool { return !strings.HasPrefix(line, "user.") })
		if !slices.Equal(got, want) {
			t.Errorf("with %q the mirror has %q", who, got)
		}
	}
}

// A mirror stands where a user's checkout would: it can be opened, has an exchange and worktrees, and takes no repository
// that it lies in for itself.
func TestInitMirror(t *testing.T) {
	t.Parallel()
	for length, format := range map[int]string{40: "sha1", 64: "sha256"} {
		above := gittest.New(t)
		dir := above + "/mirror"
		object := strings.Repeat("1", length)
		r, err := InitMirror(t.Context(), dir, object)
		must(t, err)
		again, err := InitMirror(t.Context(), dir, object)
		must(t, err)
		if r.Root() != dir || again.Root() != dir {
			t.Errorf("the mirror is at %s, and at %s", r.Root(), again.Root())
		}
		if got, err := r.Format(t.Context()); err != nil || got != format {
			t.Errorf("format %s, %v", got, err)
		}
		_, _, err = r.Head(t.Context())
		is(t, err, ErrNoCommit)
		tree := gittest.GitIn(t, dir, "", "mktree")
		commit := gittest.Git(t, dir, "commit-tree", "-m", "start", tree)
		gittest.Git(t, dir, "update-ref", "refs/heads/base", commit)
		x, err := OpenExchange(t.Context(), r, above+"/exchange.git")
		must(t, err)
		must(t, r.Add(t.Context(), above+"/tree", "signalbox-tasks/R1/a", commit))
		must(t, x.Take(t.Context(), commit, "R1"))
		if _, err := InitMirror(t.Context(), dir, strings.Repeat("1", 104-length)); err == nil {
			t.Error("a mirror of another format is taken")
		}
	}
	_, err := InitMirror(t.Context(), t.TempDir(), "abc")
	is(t, err, ErrUnknown)
	r, err := InitMirror(t.Context(), t.TempDir(), strings.Repeat("1", 40))
	must(t, err)
	for _, bad := range []Remote{{"ext::touch x", "A: b"}, {"http://127.0.0.1:1/x", "A"}, {"http://127.0.0.1:1/x", "A: b\nC: d"}, {"/tmp", "A: b"}} {
		if err := r.FetchFrom(t.Context(), bad, "+a:a"); err == nil || !strings.Contains(err.Error(), "is no address") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// What runs have left in a mirror goes when there is much of it; what a worktree is at, and what came just now, stays.
func TestCollect(t *testing.T) {
	t.Parallel()
	mirror, err := InitMirror(t.Context(), t.TempDir(), strings.Repeat("1", 40))
	must(t, err)
	dir := mirror.Root()
	tree := gittest.GitIn(t, dir, "", "mktree")
	held := gittest.Git(t, dir, "commit-tree", "-m", "held", tree)
	must(t, mirror.AddDetached(t.Context(), filepath.Join(t.TempDir(), "tree"), held))
	var stream strings.Builder
	const count = 2500
	for n := range count {
		text := fmt.Sprintf("what a run has left, %d\n", n)
		fmt.Fprintf(&stream, "blob\ndata %d\n%s", len(text), text)
	}
	gittest.GitIn(t, dir, stream.String(), "-c", "fastimport.unpackLimit=100000", "fast-import", "--quiet")
	objects := func() (loose []string) {
		must(t, filepath.WalkDir(filepath.Join(dir, ".git", "objects"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && len(d.Name()) == 38 {
				loose = append(loose, path)
			}
			return err
		}))
		return loose
	}
	must(t, mirror.Collect(t.Context()))
	all := objects()
	if len(all) < count {
		t.Fatalf("of %d objects that came just now %d are left", count, len(all))
	}
	long := time.Now().Add(-3 * time.Hour)
	for _, path := range all {
		must(t, os.Chtimes(path, long, long))
	}
	must(t, mirror.Collect(t.Context()))
	if left := objects(); len(left) != 0 {
		t.Errorf("%d of %d objects that nothing leads to are left", len(left), count)
	}
	if got, err := mirror.TreeOf(t.Context(), held); err != nil || got != tree {
		t.Errorf("what a worktree is at is gone: %s, %v", got, err)
	}
}

// A fetch looks at all worktrees in the end, and fails if one of them is being made just then: it is done again.
func TestFetchBesideAdd(t *testing.T) {
	t.Parallel()
	mirror, err := InitMirror(t.Context(), t.TempDir(), strings.Repeat("1", 40))
	must(t, err)
	once := filepath.Join(t.TempDir(), "git")
	executable(t, once, `#!/bin/sh
echo >>"$0.called"
[ "$(wc -l <"$0.called")" -gt 1 ] && exit
echo "fatal: bad object worktrees/T-4/HEAD" >&2
echo "error: http://127.0.0.1:1/ did not send all necessary objects" >&2
exit 1
`)
	mirror.program = once
	must(t, mirror.FetchFrom(t.Context(), Remote{URL: "http://127.0.0.1:1/x", Header: "A: b"}, "+a:a"))
}
