package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// diff returns what a repository says of two states.
func diff(t *testing.T, r *Repo, d Diff) string {
	t.Helper()
	var out bytes.Buffer
	must(t, r.Diff(t.Context(), d, &out))
	return out.String()
}

// within lists all that is in a directory, with the contents of files.
func within(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[path] = string(data)
		return err
	}))
	return found
}

// A worktree is shown as it is, committed or not, and nothing is changed by it: in the worktree, in what git keeps for it, in
// the repository.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree, commit := f.settled("a", "a.txt", "one\ntwo\nthree\ncommitted\n")
	write(t, tree.path, "a.txt", "one\ntwo\nthree\ncommitted\nwritten\n")
	write(t, tree.path, "b\x1b[2J\n.txt", "new\n")
	write(t, tree.path, ".env", "a secret\n") // which git ignores
	must(t, os.Remove(filepath.Join(tree.path, "ü \n-b.txt")))
	at, err := tree.place()
	must(t, err)
	before := []map[string]string{within(t, tree.path), within(t, at.gitDir), within(t, filepath.Join(f.repo.common, "objects"))}

	s, err := tree.Snapshot(t.Context(), commit, f.exchange.Repo)
	must(t, err)
	got := diff(t, s.Repo, Diff{From: f.base, To: s.Tree})
	for _, want := range []string{
		"+committed\n+written\n", `+++ "b/b\033[2J\n.txt"`, "+new\n", `deleted file mode 100644`, `--- "a/\303\274 \n-b.txt"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "secret") || strings.ContainsRune(got, 0x1b) {
		t.Errorf("what git ignores is shown, or a name is not quoted:\n%s", got)
	}
	if got := diff(t, s.Repo, Diff{From: commit, To: s.Tree, Stat: true, Paths: []string{"*.txt"}}); !strings.Contains(got, "3 files changed") {
		t.Errorf("since the commit it is\n%s", got)
	}
	after := []map[string]string{within(t, tree.path), within(t, at.gitDir), within(t, filepath.Join(f.repo.common, "objects"))}
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("something was changed:\n%s", d)
	}
	must(t, s.Close())
	if left, _ := filepath.Glob(filepath.Join(globbed(f.repo.common), ownDirs, looks+"*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// Paths are meant where the user is.
func TestDiffPaths(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree, _ := f.settled("a", "ignored.txt", "at the top\n")
	write(t, tree.path, "below/ignored.txt", "below\n")
	commit, _, err := tree.Settle(t.Context(), "more")
	must(t, err)
	in := filepath.Join(f.dir, "elsewhere") // below the checkout, and no part of the commit
	must(t, os.MkdirAll(in, 0o755))
	for name, d := range map[string]Diff{
		"at the top":     {Paths: []string{"below"}},
		"by a pattern":   {Paths: []string{"below/*.txt"}},
		"from elsewhere": {Paths: []string{"below"}, In: t.TempDir()},
		"from below":     {Paths: []string{"../../../below"}, In: in},
	} {
		d.From, d.To = f.base, commit
		if got := diff(t, f.repo, d); !strings.Contains(got, "+below\n") || strings.Contains(got, "+at the top\n") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// No program runs that a change, its attributes or any settings name, and nothing of an agent's is believed but its files.
func TestDiffRunsNothing(t *testing.T) {
	t.Parallel()
	for name, arm := range map[string]func(a *armed, evil string){
		"settings of the worktree's": func(a *armed, evil string) {
			settings := filepath.Join(a.repo.common, "config")
			before, err := os.ReadFile(settings)
			must(a.t, err)
			a.t.Cleanup(func() { must(a.t, os.WriteFile(settings, before, 0o644)) })
			git(a.t, a.repo.Root(), "config", "extensions.worktreeConfig", "true")
			a.put("config.worktree", fmt.Sprintf("[core]\n\tfsmonitor = %[1]s\n[filter \"evil\"]\n\tclean = %[1]s\n[diff]\n\texternal = %[1]s\n[diff \"evil\"]\n\ttextconv = %[1]s\n", quoted(evil)))
		},
		"a repository in the place of the link": func(a *armed, evil string) {
			must(a.t, os.Remove(filepath.Join(a.tree.path, ".git")))
			git(a.t, a.tree.path, "init", "--quiet")
			for _, key := range []string{"core.fsmonitor", "filter.evil.clean", "diff.external", "diff.evil.textconv", "diff.evil.command", "core.pager"} {
				git(a.t, a.tree.path, "config", key, evil)
			}
		},
		"another repository": func(a *armed, evil string) {
			git(a.t, a.out, "init", "--quiet", "other")
			git(a.t, filepath.Join(a.out, "other"), "config", "core.fsmonitor", evil)
			write(a.t, a.tree.path, ".git", "gitdir: "+filepath.Join(a.out, "other", ".git")+"\n")
			a.put("commondir", filepath.Join(a.out, "other", ".git")+"\n")
		},
		"a repository inside": func(a *armed, evil string) {
			inner := filepath.Join(a.tree.path, "inner")
			git(a.t, a.tree.path, "init", "--quiet", "inner")
			git(a.t, inner, "-c", "user.name=E", "-c", "user.email=e@example.org", "commit", "--quiet", "--allow-empty", "-m", "inner")
			git(a.t, a.tree.path, "add", "inner")
			git(a.t, a.tree.path, "commit", "--quiet", "-m", "with it")
			for _, key := range []string{"core.fsmonitor", "diff.external"} {
				git(a.t, inner, "config", key, evil)
			}
			write(a.t, inner, "new.txt", "new\n")
		},
		"the user's own programs for files of a kind": func(a *armed, evil string) {
			kinds := filepath.Join(a.out, "attributes")
			write(a.t, a.out, "attributes", "*.txt diff=evil\n")
			a.repo.env = append(a.repo.env, "GIT_CONFIG_COUNT=5", "GIT_CONFIG_KEY_4=core.attributesFile", "GIT_CONFIG_VALUE_4="+kinds)
			for i, key := range []string{"diff.external", "diff.evil.command", "diff.evil.textconv", "core.pager"} {
				a.repo.env = append(a.repo.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, evil))
			}
		},
		"an index that names other files": func(a *armed, _ string) { a.forge("../../key", "a.txt") },
		"an index elsewhere":              func(a *armed, _ string) { a.link("/etc/passwd", filepath.Join(a.at.gitDir, "index")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			a := &armed{fixture: f, tree: f.add("a"), out: t.TempDir()}
			var err error
			a.at, err = a.tree.place()
			must(t, err)
			write(t, f.dir, "../key", "a secret\n")
			evil := filepath.Join(a.out, "evil")
			ran := filepath.Join(a.out, "ran")
			executable(t, evil, "#!/bin/sh\necho it ran >"+ran+"\ncat\n")
			write(t, a.tree.path, ".gitattributes", "*.txt diff=evil filter=evil\n")
			write(t, a.tree.path, "a.txt", "one\ntwo\nthree\nwritten\n")
			arm(a, evil)
			tip, err := f.repo.Tip(t.Context(), "sb/a")
			must(t, err)
			s, err := a.tree.Snapshot(t.Context(), tip)
			must(t, err)
			defer func() { must(t, s.Close()) }()
			got := diff(t, s.Repo, Diff{From: f.base, To: s.Tree})
			if !strings.Contains(got, "+written\n") || strings.Contains(got, "secret") || strings.Contains(got, "root:") {
				t.Errorf("it shows\n%s", got)
			}
			if _, err := os.Lstat(ran); err == nil {
				t.Error("a program ran")
			}
		})
	}
}

// A worktree that git would wait in is left when there is no time, and so is a branch.
func TestSnapshotDoesNotHang(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree := f.add("a")
	write(t, tree.path, "a.txt", "changed, so that git asks for its attributes\n")
	mkfifo(t, filepath.Join(tree.path, ".gitattributes"))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := tree.Snapshot(ctx, f.base); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ends with %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(globbed(f.repo.common), ownDirs, looks+"*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	branch := filepath.Join(f.repo.common, "refs", "heads", "sb", "a")
	must(t, os.Remove(branch))
	mkfifo(t, branch)
	_, err := f.repo.Tip(t.Context(), "sb/a")
	is(t, err, ErrUnknown)
	must(t, os.Remove(branch))
	_, err = f.repo.Tree(f.path("none")).Snapshot(t.Context(), f.base)
	is(t, err, ErrNotWorktree)
}

// What is compared is never taken for an option, and what git lacks is told as that.
func TestDiffOfNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	hostile := "--output=" + filepath.Join(t.TempDir(), "written")
	for _, rev := range []string{hostile, strings.Repeat("1", 40), "-p", ""} {
		is(t, f.repo.Diff(t.Context(), Diff{From: f.base, To: rev}, io.Discard), ErrGone)
	}
	if _, err := f.repo.Tip(t.Context(), "-x"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a branch that begins with a dash: %v", err)
	}
	if got := diff(t, f.repo, Diff{From: f.base, To: f.base, Paths: []string{hostile}}); got != "" {
		t.Errorf("a path that looks like an option shows %q", got)
	}
	_, commit := f.settled("a", "b.txt", "gone\n")
	blob := git(t, f.repo.Root(), "rev-parse", commit+":b.txt")
	must(t, os.Remove(filepath.Join(f.repo.common, "objects", blob[:2], blob[2:])))
	is(t, f.repo.Diff(t.Context(), Diff{From: f.base, To: commit}, io.Discard), ErrGone)
}

// refusing takes so much, and notes the largest piece.
type refusing struct{ left, largest int }

var errFull = errors.New("full")

func (r *refusing) Write(p []byte) (int, error) {
	r.largest = max(r.largest, len(p))
	if r.left -= len(p); r.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// A huge diff goes by in pieces, and ends when nobody wants more.
func TestDiffHuge(t *testing.T) { // alone: what others allocate would count
	f := newFixture(t)
	size := 64 << 20
	if testing.Short() {
		size = 8 << 20
	}
	_, commit := f.settled("a", "huge.txt", strings.Repeat("a line of this file\n", size/20))
	_, other := f.settled("b", "one-line.txt", strings.Repeat("x", size))
	for _, commit := range []string{commit, other} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all := &refusing{left: 4 * size}
		must(t, f.repo.Diff(t.Context(), Diff{From: f.base, To: commit}, all))
		runtime.ReadMemStats(&after)
		if held := after.TotalAlloc - before.TotalAlloc; 3*size-all.left < 0 || all.largest > 1<<20 || held > 4<<20 {
			t.Errorf("%d bytes came, %d of them at once, and %d were allocated", 4*size-all.left, all.largest, held)
		}
		some := &refusing{left: 1 << 20}
		if err := f.repo.Diff(t.Context(), Diff{From: f.base, To: commit}, some); err == nil {
			t.Error("it does not say that it was cut")
		}
	}
}

// The pager is the user's, as git finds it.
func TestPager(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []string
		want     string
	}{
		"GIT_PAGER":     {[]string{"core.pager=more"}, "own"},
		"off":           {[]string{"pager.diff=false"}, ""},
		"on":            {[]string{"pager.diff=true"}, "own"},
		"one for diffs": {[]string{"pager.diff=delta --dark"}, "delta --dark"},
	} {
		f := newFixture(t)
		f.repo.env = append(f.repo.env, "GIT_PAGER=own", fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(c.settings)))
		for i, s := range c.settings {
			key, value, _ := strings.Cut(s, "=")
			f.repo.env = append(f.repo.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
		}
		if got, err := f.repo.Pager(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	f := newFixture(t)
	f.repo.env = append(f.repo.env, "GIT_PAGER=cat")
	if got, err := f.repo.Pager(t.Context()); err != nil || got != "" {
		t.Errorf("cat is a pager: %q, %v", got, err)
	}
	if got, err := f.repo.DiffColours(t.Context()); err != nil || got != (DiffColours{"\x1b[1m", "\x1b[36m", "\x1b[31m", "\x1b[32m"}) {
		t.Errorf("the colours are %q, %v", got, err)
	}
	f.repo.env = append(f.repo.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=color.ui", "GIT_CONFIG_VALUE_0=never")
	if got, err := f.repo.DiffColours(t.Context()); err != nil || got != (DiffColours{}) {
		t.Errorf("nobody wants colours, and they are %q, %v", got, err)
	}
}

// A pager gets what is written, may be left at any time, and is missed if it is not there.
func TestPage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "read")
	endless := func(to io.Writer) error {
		for {
			if _, err := io.WriteString(to, "more\n"); err != nil {
				return err
			}
		}
	}
	must(t, Page(t.Context(), "cat >'"+file+"'", "", func(to io.Writer) error {
		_, err := io.WriteString(to, "all of it\n")
		return err
	}))
	holds(t, filepath.Dir(file), "read", "all of it\n")
	must(t, Page(t.Context(), "head -n 1 >/dev/null", "", endless))
	if err := Page(t.Context(), "no-such-pager 2>/dev/null", "", endless); err == nil {
		t.Error("a pager that is not there is not missed")
	}
	if err := Page(t.Context(), "cat >/dev/null", "", func(io.Writer) error { return errFull }); !errors.Is(err, errFull) {
		t.Errorf("what failed is told as %v", err)
	}
	must(t, Page(t.Context(), "cat >/dev/null; echo \"$LESS\" >'"+file+"'", "-+F", func(io.Writer) error { return nil }))
	if options, err := os.ReadFile(file); err != nil || !strings.HasSuffix(string(options), " -+F\n") {
		t.Errorf("less has the options %q, %v", options, err)
	}
}
