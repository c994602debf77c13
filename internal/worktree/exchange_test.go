package worktree

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// overwrite puts other contents where an object of the user's repository lies loose, as an
// agent can that may write objects.
func (f *fixture) overwrite(rev, text string) {
	f.t.Helper()
	root := f.repo.Root()
	name, kind := git(f.t, root, "rev-parse", rev), git(f.t, root, "cat-file", "-t", rev)
	file := filepath.Join(f.repo.Common(), "objects", name[:2], name[2:])
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, err := fmt.Fprintf(w, "%s %d\x00%s", kind, len(text), text)
	must(f.t, err)
	must(f.t, w.Close())
	must(f.t, os.Chmod(file, 0o644))
	must(f.t, os.WriteFile(file, b.Bytes(), 0o644))
	if got := git(f.t, root, "cat-file", kind, name); got != strings.TrimSuffix(text, "\n") {
		f.t.Fatalf("git does not believe it, so this test shows nothing: %q", got)
	}
}

// What an agent put in the place of an object does not come in under its name.
func TestTakeOverwritten(t *testing.T) {
	t.Parallel()
	for _, what := range []string{":a.txt", "^{tree}", ""} {
		t.Run("commit"+what, func(t *testing.T) {
			f := newFixture(t)
			_, commit := f.settled("a", "a.txt", "a back door\n")
			text := "harmless\n"
			switch what {
			case "^{tree}":
				text = "" // the empty tree
			case "":
				text = git(t, f.repo.Root(), "cat-file", "commit", commit) + " and more\n"
			}
			f.overwrite(commit+what, text)
			is(t, f.exchange.Take(t.Context(), commit, "R1"), ErrObjects)
			if _, err := f.exchange.Resolve(t.Context(), kept("R1")+commit); err == nil {
				t.Error("it is kept all the same")
			}
		})
	}
}

// An agent's objects have to be formed as git forms them; the user's old ones need not.
func TestTakeMalformed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	root := f.repo.Root()
	tree := git(t, root, "rev-parse", f.base+"^{tree}")
	raw := filepath.Join(t.TempDir(), "commit")
	who := "A <a@example.org> 1 +0000"
	must(t, os.WriteFile(raw, []byte("tree "+tree+"\nparent "+f.base+"\nauthor "+who+"\ncommitter "+strings.Replace(who, "<", "", 1)+"\n\nx\n"), 0o600))
	bad := git(t, root, "hash-object", "-t", "commit", "--literally", "-w", raw)
	is(t, f.exchange.Take(t.Context(), bad, "R1"), ErrObjects)
	git(t, root, "update-ref", "refs/heads/sb/old", bad)
	at, err := f.exchange.TakeBranch(t.Context(), "sb/old")
	if must(t, err); at != bad {
		t.Errorf("the branch is at %s", at)
	}
}

// A commit is taken also while a worktree is made: until its end git has no commit there.
func TestTakeWhileAWorktreeIsMade(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, commit := f.settled("a", "a.txt", "a\n")
	half := filepath.Join(f.exchange.common, "worktrees", "half")
	must(t, os.MkdirAll(half, 0o700))
	write(t, half, "HEAD", strings.Repeat("0", 40)+"\n")
	write(t, half, "commondir", "../..\n")
	write(t, half, "gitdir", filepath.Join(t.TempDir(), ".git")+"\n")
	tries := filepath.Join(t.TempDir(), "tries")
	done := filepath.Join(t.TempDir(), "git") // the worktree is done after the first try
	executable(t, done, `#!/bin/sh
"$GIT" "$@"
end=$?
case " $* " in *' fetch '*) echo >>"$TRIES"; rm -rf "$HALF" ;; esac
exit $end
`)
	f.exchange.env = append(f.exchange.env, "GIT="+f.exchange.program, "TRIES="+tries, "HALF="+half)
	f.exchange.program = done
	must(t, f.exchange.Take(t.Context(), commit, "R1"))
	holds(t, filepath.Dir(tries), "tries", "\n\n")
}

// A branch that moved is brought for all who ask for it at the same time.
func TestTakeBranchAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for round := range 4 {
		name := fmt.Sprintf("task-%d", round)
		_, tip := f.settled(name, "a.txt", name+"\n")
		git(t, f.repo.Root(), "update-ref", "refs/heads/sb/moving", tip)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if got, err := f.exchange.TakeBranch(t.Context(), "sb/moving"); err != nil || got != tip {
					t.Errorf("the branch is at %q, not at %s: %v", got, tip, err)
				}
			})
		}
		all.Wait()
	}
}

// A merge moves its branch here only in its turn: git refuses whoever else is bringing it.
func TestMergeInTurn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, commit := f.settled("a", "a.txt", "changed\n")
	m := f.merge(commit)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var other func() // ends the turn of another
	m.Check = func(ctx context.Context, _, _ string) (err error) {
		other, err = f.exchange.shared.take(ctx)
		return err
	}
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := f.exchange.Merge(ctx, m); !errors.Is(err, context.Canceled) {
			t.Errorf("the merge did not wait for its turn: %v", err)
		}
	})
	at := func(dir string) string { return git(t, dir, "rev-parse", "refs/heads/sb/run") }
	for ended := time.Now().Add(time.Minute); at(f.repo.Root()) == f.base; {
		if time.Now().After(ended) {
			t.Fatal("the branch does not move")
		}
	}
	for range 20 {
		if got := at(f.exchange.common); got != f.base {
			t.Errorf("the branch has moved here to %s out of turn", got)
		}
	}
	cancel()
	all.Wait()
	other()
	tip, err := f.exchange.TakeBranch(t.Context(), "sb/run")
	must(t, err)
	f.at("sb/run", tip)
}

// A worktree of the exchange has the files of the commit, whatever the index of the one
// that it was made in says of them.
func TestExchangeHasItsOwnIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree, commit := f.settled("a", "a.txt", "a back door\n")
	git(t, tree.path, "update-index", "--skip-worktree", "a.txt")
	write(t, tree.path, "a.txt", "harmless\n")
	if got := git(t, tree.path, "status", "--porcelain"); got != "" {
		t.Fatalf("the index hides nothing: %s", got)
	}
	f.take(commit)
	must(t, f.exchange.AddDetached(t.Context(), f.path("review"), commit))
	holds(t, f.path("review"), "a.txt", "a back door\n")
	if got := git(t, f.path("review"), "diff", "--name-only", f.base+"...HEAD"); got != "a.txt" {
		t.Errorf("the diff names %q", got)
	}
	must(t, f.exchange.Remove(t.Context(), f.path("review")))
}

// What is merged has the contents that were judged, in the user's repository too, also if
// somebody overwrites objects there after they were taken.
func TestMergeOfOverwritten(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, commit := f.settled("a", "a.txt", "judged\n")
	m := f.merge(commit)
	f.overwrite(commit+":a.txt", "not judged\n")
	m.Check = func(_ context.Context, dir, _ string) error {
		holds(t, dir, "a.txt", "judged\n")
		return nil
	}
	merged, err := f.exchange.Merge(t.Context(), m)
	must(t, err)
	f.at("sb/run", merged.Commit)
	for _, rev := range []string{"sb/run", commit} {
		if got := git(t, f.repo.Root(), "show", rev+":a.txt"); got != "judged" {
			t.Errorf("%s has %q", rev, got)
		}
	}
	out := filepath.Join(t.TempDir(), "clone")
	git(t, f.repo.Root(), "clone", "--quiet", "--no-local", "--branch", "sb/run", f.repo.Root(), out)
	holds(t, out, "a.txt", "judged\n")
}

// What a run starts from can't be overwritten once it has begun, and is not packed twice.
func TestGuard(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	packs := func() int {
		found, err := os.ReadDir(filepath.Join(f.repo.Common(), "objects", "pack"))
		must(t, err)
		return len(found)
	}
	git(t, f.repo.Root(), "update-ref", "refs/heads/sb/run", f.base)
	_, err := f.exchange.Begin(t.Context(), "sb/run")
	must(t, err)
	must(t, f.exchange.Guard(t.Context()))
	before := packs()
	must(t, f.exchange.Guard(t.Context()))
	if now := packs(); before == 0 || now != before {
		t.Errorf("there were %d files of packs, and are %d", before, now)
	}
	name := git(t, f.repo.Root(), "rev-parse", f.base+":a.txt")
	file := filepath.Join(f.repo.Common(), "objects", name[:2], name[2:])
	must(t, os.Chmod(file, 0o644))
	must(t, os.WriteFile(file, []byte("anything"), 0o644))
	if got := git(t, f.repo.Root(), "show", f.base+":a.txt"); got != "one\ntwo\nthree" {
		t.Errorf("the user's file is %q", got)
	}
}

// Git of the user's that says something else than the names is not asked: replaced
// objects, and settings that run a program.
func TestExchangeRunsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	root := f.repo.Root()
	_, commit := f.settled("a", "a.txt", "a back door\n")
	_, other := f.settled("b", "a.txt", "harmless\n")
	ran := filepath.Join(t.TempDir(), "ran")
	evil := "touch " + ran + "; exit 1 #"
	for name, value := range map[string]string{
		"uploadpack.packObjectsHook": evil, "core.fsmonitor": evil, "core.sshCommand": evil, "remote.origin.uploadpack": evil,
		"core.hooksPath": filepath.Join(root, ".signalbox", "hooks"),
	} {
		git(t, root, "config", name, value)
		t.Cleanup(func() { gitIn(context.WithoutCancel(t.Context()), t, root, "config", "--unset", name) })
	}
	write(t, root, ".signalbox/hooks/post-checkout", "#!/bin/sh\n"+evil)
	must(t, os.Chmod(filepath.Join(root, ".signalbox/hooks/post-checkout"), 0o755))
	git(t, root, "replace", commit, other)
	t.Cleanup(func() { gitIn(context.WithoutCancel(t.Context()), t, root, "replace", "-d", commit) })
	f.take(commit)
	must(t, f.exchange.AddDetached(t.Context(), f.path("review"), commit))
	holds(t, f.path("review"), "a.txt", "a back door\n")
	git(t, f.path("review"), "status")                      // as a reviewer does
	git(t, f.path("review"), "checkout", "--quiet", f.base) // and may, without a sandbox
	if _, err := os.Lstat(ran); err == nil {
		t.Error("something was run")
	}
}

// The user's own settings count in the exchange, wherever the repository is moved to.
func TestExchangeSettings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, commit := f.settled("a", "b.txt", "x\n")
	write(t, f.repo.Root(), ".signalbox/exchange.git/info/exclude", "stale\n")
	for range 2 {
		x, err := OpenExchange(t.Context(), f.repo, filepath.Join(f.repo.Root(), ".signalbox", "exchange.git"))
		must(t, err)
		must(t, x.Take(t.Context(), commit, "R1"))
		must(t, x.AddDetached(t.Context(), f.path("review"), commit))
		for want, args := range map[string][]string{
			"Ada":                                 {"config", "user.name"},
			"/dev/null":                           {"config", "core.hooksPath"},
			"true":                                {"config", "core.bare"},
			filepath.Join(f.repo.Common(), "lfs"): {"config", "lfs.storage"},
		} {
			if got := git(t, f.path("review"), args...); got != want {
				t.Errorf("git %v: %q, not %q", args, got, want)
			}
		}
		must(t, os.WriteFile(filepath.Join(x.common, "config"), []byte("[include]\n\tpath = /elsewhere/config\n[core]\n\tbare = true\n"), 0o600))
	}
	if text, err := os.ReadFile(filepath.Join(f.exchange.common, "info", "exclude")); err != nil || string(text) == "stale\n" {
		t.Errorf("info/exclude is not the user's: %q %v", text, err)
	}
	write(t, f.repo.Root(), ".env", "secret\n")
	t.Cleanup(func() { _ = os.Remove(filepath.Join(f.repo.Root(), ".env")) })
	must(t, f.exchange.Copy(t.Context(), f.path("review"), []string{".env"}))
	holds(t, f.path("review"), ".env", "secret\n")
}

// Nothing is left of a run that has ended but what the next one goes on from.
func TestForget(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, commit := f.settled("a", "a.txt", "changed\n")
	m := f.merge(commit)
	_, err := f.exchange.Begin(t.Context(), "sb/run")
	must(t, err)
	_, err = f.exchange.Merge(t.Context(), m)
	must(t, err)
	must(t, f.exchange.Take(t.Context(), commit, "R10"))
	for _, run := range []string{"R1", "R10"} {
		git(t, f.exchange.common, "update-ref", PushedRefs(run)+"a/1.1.1", commit)
	}
	must(t, f.exchange.Forget(t.Context(), "R1", "sb/run"))
	must(t, f.exchange.Forget(t.Context(), "R1", "sb/run")) // again after a crash
	want := commit + " " + PushedRefs("R10") + "a/1.1.1\n" + f.base + " " + baseRef + "\n" + commit + " " + kept("R10") + commit
	got := git(t, f.exchange.common, "for-each-ref", "--format=%(objectname) %(refname)", "--sort=-refname")
	if got != want {
		t.Errorf("refs are\n%s\nnot\n%s", got, want)
	}
}

// What a box that was killed was about to bring to the user's repository is removed by the next one.
func TestOutgoing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	write(t, f.exchange.common, outgoing+"1/pack-1.pack", "half")
	_, err := OpenExchange(t.Context(), f.repo, f.exchange.common)
	must(t, err)
	holds(t, f.exchange.common, outgoing+"1/pack-1.pack", nil)
}

// Repositories that are not like others.
func TestExchangeOfOddRepositories(t *testing.T) {
	t.Parallel()
	origin := t.TempDir()
	git(t, origin, "init", "--quiet", "--initial-branch=main")
	for n := range 3 {
		write(t, origin, "a.txt", fmt.Sprint(n))
		git(t, origin, "add", "--all")
		git(t, origin, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", fmt.Sprint(n))
	}
	git(t, origin, "config", "uploadpack.allowFilter", "true")
	for name, args := range map[string][]string{
		"shallow":          {"clone", "--quiet", "--depth=1", "file://" + origin},
		"alternates":       {"clone", "--quiet", "--shared", origin},
		"partial":          {"clone", "--quiet", "--filter=blob:none", "file://" + origin},
		"sha256":           {"init", "--quiet", "--initial-branch=main", "--object-format=sha256"},
		"separate git dir": {"clone", "--quiet", "--separate-git-dir=" + filepath.Join(t.TempDir(), "git"), origin},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "repo")
			git(t, origin, append(args, root)...)
			git(t, root, "config", "user.name", "Ada")
			git(t, root, "config", "user.email", "ada@example.org")
			git(t, root, "commit", "--quiet", "--allow-empty", "-m", "one more")
			repo, err := Open(t.Context(), root)
			must(t, err)
			x, err := OpenExchange(t.Context(), repo, filepath.Join(root, ".signalbox", "exchange.git"))
			must(t, err)
			base := git(t, root, "rev-parse", "HEAD")
			_, err = repo.Branch(t.Context(), "sb/run", base)
			must(t, err)
			_, err = x.Begin(t.Context(), "sb/run")
			must(t, err)
			path := filepath.Join(root, ".signalbox", "a")
			must(t, repo.Add(t.Context(), path, "sb/a", base))
			write(t, path, "a.txt", "changed\n")
			commit, _, err := repo.Tree(path).Settle(t.Context(), "work")
			must(t, err)
			must(t, x.Take(t.Context(), commit, "R1"))
			merged, err := x.Merge(t.Context(), Merge{Path: path + "-merge", Branch: "sb/run", Old: base, Commit: commit, Message: "merge"})
			must(t, err)
			if got := git(t, root, "show", merged.Commit+":a.txt"); got != "changed" {
				t.Errorf("merged: %q", got)
			}
			git(t, root, "fsck", "--no-dangling")
		})
	}
}

// spoil damages a file until the test ends: the fixture looks at the refs then.
func spoil(t *testing.T, file string, damage func(file string) error) {
	t.Helper()
	was, err := os.ReadFile(file)
	must(t, err)
	must(t, os.Chmod(file, 0o600))
	must(t, damage(file))
	t.Cleanup(func() { must(t, os.WriteFile(file, was, 0o600)) })
}

// Objects that are missing or damaged are the commit's fault, whatever git says of them.
func TestTakeDamaged(t *testing.T) {
	t.Parallel()
	for _, what := range []string{":a.txt", "^{tree}", ""} {
		for name, damage := range map[string]func(file string) error{
			"removed":   os.Remove,
			"cut":       func(file string) error { return os.Truncate(file, 12) },
			"emptied":   func(file string) error { return os.Truncate(file, 0) },
			"not git's": func(file string) error { return os.WriteFile(file, []byte("garbage"), 0o600) },
		} {
			t.Run(name+" commit"+what, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				_, commit := f.settled("a", "a.txt", "work\n")
				object := git(t, f.repo.Root(), "rev-parse", commit+what)
				file := filepath.Join(f.repo.Common(), "objects", object[:2], object[2:])
				spoil(t, file, damage)
				is(t, f.exchange.Take(t.Context(), commit, "R1"), ErrObjects)
			})
		}
	}
	t.Run("a pack that is cut", func(t *testing.T) {
		f := newFixture(t)
		_, commit := f.settled("a", "a.txt", "work\n")
		git(t, f.repo.Root(), "repack", "-adqn")
		packs, err := filepath.Glob(filepath.Join(f.repo.Common(), "objects", "pack", "*.pack"))
		must(t, err)
		spoil(t, packs[0], func(file string) error { return os.Truncate(file, 100) })
		is(t, f.exchange.Take(t.Context(), commit, "R1"), ErrObjects)
	})
}

// What the machine does to git, and what is wrong with the exchange, is not the commit's fault.
func TestTakeTrouble(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"git is killed":               `echo "fatal: bad object $NAME" >&2; kill -9 $$`,
		"a part of git is killed":     `echo "error: index-pack died of signal 9" >&2; echo "fatal: bad object $NAME" >&2; exit 128`,
		"no process is to be had":     `echo "error: cannot fork() for index-pack: Resource temporarily unavailable" >&2; exit 128`,
		"the remote end is killed":    `echo "error: git upload-pack: git-pack-objects died with error." >&2; echo "fatal: git upload-pack: aborting due to possible repository corruption on the remote side." >&2; exit 128`,
		"no file may be that large":   `ulimit -f 0; "$GIT" "$@"; exit $?`,
		"the exchange has bad config": `echo '[[[' >"$GIT_DIR/config"; exec "$GIT" "$@"`,
		"the exchange has no HEAD":    `: >"$GIT_DIR/HEAD"; exec "$GIT" "$@"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			_, commit := f.settled("a", "a.txt", "work\n")
			troubled := filepath.Join(t.TempDir(), "git")
			executable(t, troubled, "#!/bin/sh\ncase \" $* \" in *' fetch '*) "+script+";; esac\nexec \"$GIT\" \"$@\"\n")
			f.exchange.env = append(f.exchange.env, "GIT="+f.exchange.program, "NAME="+commit)
			f.exchange.program = troubled
			if err := f.exchange.Take(t.Context(), commit, "R1"); err == nil || errors.Is(err, ErrObjects) {
				t.Errorf("the commit is blamed: %v", err)
			}
		})
	}
}

// Git that makes room looks at all worktrees, and fails if one of them is being made just then: it is run again.
func TestForgetBesideAdd(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"prune --expire=now", "repack -adq", "gc --prune=now --quiet"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			_, commit := f.settled("a", "a.txt", "work\n")
			must(t, f.exchange.Take(t.Context(), commit, "R1"))
			// The first call finds a worktree as git leaves it for a moment.
			besideAdd := filepath.Join(t.TempDir(), "git")
			executable(t, besideAdd, `#!/bin/sh
case " $* " in *' gc '*)
  if [ ! -f "$0.called" ]; then
    half=$GIT_DIR/worktrees/half
    mkdir -p "$half" && echo ../.. >"$half/commondir" && echo /half/.git >"$half/gitdir" || exit 1
    printf '%040d\n' 0 >"$half/HEAD"
    echo loose | "$GIT" hash-object -w --stdin >/dev/null
    "$GIT" `+command+` && touch "$0.passed"
    status=$?
    touch "$0.called"
    rm -r "$half"
    exit $status
  fi
esac
exec "$GIT" "$@"
`)
			f.exchange.env = append(f.exchange.env, "GIT="+f.exchange.program)
			f.exchange.program = besideAdd
			must(t, f.exchange.Forget(t.Context(), "R1", "nobody"))
			if _, err := os.Stat(besideAdd + ".passed"); err == nil {
				t.Errorf("git %s does not mind a worktree that is being made", command)
			}
		})
	}
}
