//go:build unix

package sandbox

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// realDir is a temporary directory by its real name.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	return dir
}

// What is permitted is never more than what the entries say, path by path; and it is the
// same, but for directories with less access below them and links.
func TestGrants(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = 25
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		top := realDir(t)
		paths := grow(t, r, top)
		e := entries{"/": readable, top: access(r.IntN(3))}
		for range r.IntN(6) {
			e[paths[r.IntN(len(paths))]] = access(r.IntN(3))
		}
		grants, err := e.grants()
		check(t, err)
		for _, path := range paths {
			want, exact := wanted(e, path)
			got := hidden
			for _, g := range grants {
				if within(path, g.Path) {
					got = max(got, g.Access)
				}
			}
			if got > want || exact && got < want {
				t.Fatalf("seed %d: %s: got %v, want %v of %v\n%v", seed, path, got, want, e, grants)
			}
		}
	}
}

// grow makes a tree of directories and files whose names begin alike, with links between
// them that are not among the paths returned.
func grow(t *testing.T, r *rand.Rand, top string) []string {
	t.Helper()
	dirs, paths := []string{top}, []string{top}
	for n := range 5 + r.IntN(20) {
		name := filepath.Join(dirs[r.IntN(len(dirs))], strings.Repeat("a", n+1))
		switch r.IntN(5) {
		case 0:
			check(t, os.Symlink(paths[r.IntN(len(paths))], name))
			continue
		case 1, 2:
			check(t, os.WriteFile(name, nil, 0o600))
		default:
			check(t, os.Mkdir(name, 0o700))
			dirs = append(dirs, name)
		}
		paths = append(paths, name)
	}
	return paths
}

// wanted looks for the longest entry that holds a path, the dumb way. It is exact for what
// has no less access below it.
func wanted(e entries, path string) (a access, exact bool) {
	for at := path; ; at = filepath.Dir(at) {
		if own, ok := e[at]; ok {
			a = own
			break
		}
	}
	for p, below := range e {
		if strings.HasPrefix(p, path+"/") && below < a {
			return a, false
		}
	}
	return a, true
}

// A directory that can't be listed has what leads on from it, and nothing else.
func TestChildrenUnlisted(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: root can list everything")
	}
	dir := realDir(t)
	check(t, os.MkdirAll(filepath.Join(dir, "shut", "a", "b"), 0o700))
	check(t, os.MkdirAll(filepath.Join(dir, "shut", "c"), 0o700))
	shut := filepath.Join(dir, "shut")
	check(t, os.Chmod(shut, 0o300))
	t.Cleanup(func() { check(t, os.Chmod(shut, 0o700)) })
	got, err := children(shut, []string{shut + "/a/b", shut + "/a/d"})
	check(t, err)
	if diff := cmp.Diff([]string{"a"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEntries(t *testing.T) {
	dir := realDir(t)
	for _, name := range []string{"w/in", "h", "r"} {
		check(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	check(t, os.Symlink(filepath.Join(dir, "h"), filepath.Join(dir, "w", "planted")))
	check(t, os.Symlink(filepath.Join(dir, "w"), filepath.Join(dir, "link")))
	in := func(name string) string { return filepath.Join(dir, name) }

	got, err := Policy{Write: []string{in("link"), in("w/in"), in("link/planted")}, Read: []string{in("r")}, Hidden: []string{in("h")}, Temp: in("w/in")}.entries()
	check(t, err)
	want := entries{"/": readable, in("w"): writable, in("w/in"): writable, in("h"): hidden, in("r"): readable}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a link below a writable directory was followed, or another was not: %s", diff)
	}
	for name, p := range map[string]Policy{
		"not an absolute path": {Write: []string{"w"}},
		"make it, or take it":  {Hidden: []string{in("missing")}},
		"can't be changed":     {Write: []string{"/"}},
		"access to /dev/null":  {Read: []string{"/dev/null"}},
		"named twice":          {Write: []string{in("w")}, Hidden: []string{in("link")}},
	} {
		if _, err := p.entries(); !errors.Is(err, ErrBadPolicy) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

func TestCommand(t *testing.T) {
	command := []string{"agent", "-x"}
	got, err := Policy{Kind: None}.Command("signalbox", command)
	check(t, err)
	if !slices.Equal(got, command) {
		t.Errorf("got %q", got)
	}
	for _, k := range []Kind{"", "seatbelt"} {
		if _, err := (Policy{Kind: k}).Command("signalbox", command); !errors.Is(err, ErrBadPolicy) || !strings.Contains(err.Error(), "use none, landlock or bubblewrap") {
			t.Errorf("%q: got %v", k, err)
		}
	}
	if _, err := (Policy{Kind: None}).Command("signalbox", nil); !errors.Is(err, ErrBadPolicy) {
		t.Errorf("no command: got %v", err)
	}
	for _, policy := range []string{"{", `{"kind":"none"}`, `{"kind":"?"}`} {
		if err := Enter(policy, command); !errors.Is(err, ErrBadPolicy) {
			t.Errorf("%s: got %v", policy, err)
		}
	}
}

// A worktree in a box that is in a directory which can be written, such as a cache, is
// writable, and the rest of the box stays hidden.
func TestBoxBelowWritable(t *testing.T) {
	cache := realDir(t)
	box, tree := filepath.Join(cache, "repo", ".signalbox"), filepath.Join(cache, "repo", ".signalbox", "tree")
	check(t, os.MkdirAll(tree, 0o700))
	got, err := Policy{Write: []string{cache, tree}, Hidden: []string{box}}.entries()
	check(t, err)
	if diff := cmp.Diff(entries{"/": readable, cache: writable, box: hidden, tree: writable}, got); diff != "" {
		t.Error(diff)
	}
}
