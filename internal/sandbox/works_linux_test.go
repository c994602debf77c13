//go:build amd64 || arm64

package sandbox_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// What agents do succeeds in every sandbox.
func TestWorks(t *testing.T) {
	for i, c := range []struct{ name, script string }{
		{"edit", `echo changed > file && sed -i s/changed/again/ file && grep again file`},
		{"make and remove", `mkdir -p a/b && echo x > a/b/c && mv a/b/c a/c && rm -r a`},
		{"move between directories", `mkdir a b && echo x > a/f && mv a/f b/f && ln b/f a/g && ln -s f b/h && cat b/h`},
		{"change modes", `echo 'echo ran' > s && chmod +x s && ./s | grep ran`},
		{"run a script", `printf '#!/bin/sh\necho ran\n' > s && chmod +x s && ./s | grep ran`},
		{"commit", `echo changed > file && git add file && git commit -q -m change && git log -1 --format=%s | grep change && test -z "$(git status --porcelain)"`},
		{"commit much", `for n in 1 2 3 4 5 6 7 8 9; do mkdir d$n; for m in 1 2 3 4 5 6 7 8 9; do echo $n$m > d$n/$m; done; done; git add -f d? && git commit -q -m much && git fsck --no-dangling`},
		{"look at changes", `echo changed > file && git diff | grep changed && git status && git log --oneline && git show HEAD`},
		{"amend, reset and restore", `echo a > file && git commit -q -a -m a && git commit -q --amend -m b && git reset -q --hard HEAD~1 && git restore file`},
		{"rebase", `echo a > new && git add -f new && git commit -q -m a && git rebase -q --force-rebase HEAD~1`},
		{"look at other branches", `git show main:file && git log --oneline main`},
		{"keep changes that can't be stashed", `echo changed > file && ! git stash && grep changed file`},
		{"temporary files", `f=$(mktemp) && echo x > $f && cat $f && test "${f#"$TMPDIR"}" != "$f"`},
		{"the null device", `echo x > /dev/null && test "$(cat /dev/null)" = ""`},
		{"random numbers", `head -c 8 /dev/urandom | wc -c | grep 8`},
		{"shared memory", `echo x > /dev/shm/sandbox-test-$$ && rm /dev/shm/sandbox-test-$$`},
		{"descriptors by name", `echo x > /dev/stdout && echo x | cat /dev/stdin`},
		{"a terminal", `"$SELF" try pty`},
		{"a pair of sockets", `"$SELF" try pair`},
		{"trace a child", `"$SELF" try debug`},
		{"signal a child", `sleep 1000 & kill $! && ! wait $!`},
		{"read the system", `ls /usr/bin > /dev/null && cat /etc/passwd > /dev/null && cat /proc/self/status > /dev/null`},
		{"read the checkout", `cat "$REPO"/file`},
		{"read the login", `cat "$HOME"/.claude/.credentials.json`},
		{"keep the login fresh", `echo new > "$HOME"/.claude/t && mv "$HOME"/.claude/t "$HOME"/.claude/.credentials.json`},
		{"use a cache", `mkdir "$HOME"/.cache/x && echo x > "$HOME"/.cache/x/y`},
		{"node", `node -e 'const {execFileSync} = require("child_process"); require("fs").writeFileSync("n", execFileSync("echo", ["x"]))' && cat n`},
	} {
		for _, k := range strong {
			t.Run(string(k)+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				if testing.Short() && i%8 != 0 {
					t.Skip("one kind of work in eight is tried with -short")
				}
				need(t, k)
				if _, err := exec.LookPath("node"); c.name == "node" && err != nil {
					t.Skipf("NOT TESTED: %v", err)
				}
				l := newLayout(t)
				if ok, out := l.run(t, l.confined(k), c.script); !ok {
					t.Errorf("it does not work:\n%s", out)
				}
			})
		}
	}
}

// With the network on there are servers to be reached, one's own and others'; Unix sockets
// stay closed.
func TestNetwork(t *testing.T) {
	for _, k := range strong {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			need(t, k)
			l := newLayout(t)
			p := l.confined(k)
			p.Network = true
			for name, want := range map[string]bool{"tcp": true, "udp": true, "listen": true, "pair": true, "socket": false, "abstract": false, "datagrams": false} {
				if got, out := l.run(t, p, `"$SELF" try `+name); got != want {
					t.Errorf("%s: %v\n%s", name, got, out)
				}
			}
		})
	}
}

// A role that changes nothing has its worktree to read.
func TestReadOnly(t *testing.T) {
	for _, k := range strong {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			need(t, k)
			l := newLayout(t)
			p := l.confined(k)
			p.Write, p.Read = l.state, append([]string{l.tree}, p.Read...)
			for script, want := range map[string]bool{
				`cat file && git log --oneline && GIT_OPTIONAL_LOCKS=0 git status && git diff`: true,
				`echo x > "$TMPDIR"/x && cat "$TMPDIR"/x`:                                      true,
				`echo changed > file`:                             false,
				`echo new > new`:                                  false,
				`git commit --allow-empty -m new`:                 false,
				`echo x | git hash-object -w --stdin`:             false,
				`rm -rf "$TREE"/file; test ! -e "$TREE"/file`:     false,
				`mv "$TREE" "$TREE".moved`:                        false,
				`echo "gitdir: /evil" > .git`:                     false,
				`echo 0 > "$GIT"/refs/heads/signalbox-tasks/r/t1`: false,
				`echo x > "$GIT"/worktrees/t1/index`:              false,
			} {
				if got, out := l.run(t, p, script); got != want {
					t.Errorf("%s: %v\n%s", script, got, out)
				}
			}
		})
	}
}

// The process that is started is the program, or stands for it: its exit code is the
// program's, a signal to its group is for the program to act on, and nothing is left after.
func TestProcessGroup(t *testing.T) {
	for _, k := range strong {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			need(t, k)
			l := newLayout(t)
			p := l.confined(k)
			if code := exit(t, l, p, `exit 7`); code != 7 {
				t.Errorf("exit code %d, want 7", code)
			}
			left := `setsid sleep 1000 & `
			if k == sandbox.Bubblewrap {
				left += `setsid env -i sleep 1000 & ` // out of reach of groups and markers
			}
			command, err := p.Command(self(t), []string{"sh", "-c", `trap 'echo bye > parting; exit' TERM; ` + left + `echo ready; sleep 1000 & wait`})
			check(t, err)
			r, w, err := os.Pipe()
			check(t, err)
			defer r.Close()
			g, err := process.Start(process.Command{Path: command[0], Args: command[1:], Dir: l.tree, Env: l.env, Stdout: w, Marker: t.TempDir()})
			check(t, err)
			check(t, w.Close())
			defer g.End(0)
			lines := bufio.NewScanner(r)
			if !lines.Scan() || lines.Text() != "ready" {
				t.Fatalf("got %q: %v", lines.Text(), lines.Err())
			}
			g.End(5 * time.Second) // in which the program ends in its own way; some do not go before they are killed
			check(t, r.SetReadDeadline(time.Now().Add(patience)))
			if lines.Scan() || lines.Err() != nil {
				t.Errorf("somebody still has the output: %q, %v", lines.Text(), lines.Err())
			}
			if _, err := os.Stat(filepath.Join(l.tree, "parting")); err != nil {
				t.Errorf("the program could not end in its own way: %v", err)
			}
		})
	}
}

func exit(t *testing.T, l *layout, p sandbox.Policy, script string) int {
	t.Helper()
	command, err := p.Command(self(t), []string{"sh", "-c", script})
	check(t, err)
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = l.tree, l.env
	_ = cmd.Run() // its exit code is asked for
	return cmd.ProcessState.ExitCode()
}

// A sandbox that can't be entered runs nothing.
func TestNotEntered(t *testing.T) {
	for _, k := range strong {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			need(t, k)
			l := newLayout(t)
			p := l.confined(k)
			command, err := p.Command(self(t), []string{"sh", "-c", "echo ran > ran"})
			check(t, err)
			check(t, os.RemoveAll(l.state[0])) // after it was looked at
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			cmd.Dir, cmd.Env = l.tree, l.env
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "make it, or take it out") {
				t.Errorf("got %v: %s", err, out)
			}
			if _, err := os.Stat(filepath.Join(l.tree, "ran")); err == nil {
				t.Error("the program ran")
			}
		})
	}
}

// BenchmarkStart is what a sandbox adds to the start of a program.
func BenchmarkStart(b *testing.B) {
	for _, k := range sandbox.Kinds() {
		b.Run(string(k), func(b *testing.B) {
			need(b, k)
			l := newLayout(b)
			command, err := l.confined(k).Command(self(b), []string{"true"})
			check(b, err)
			for b.Loop() {
				cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
				cmd.Dir, cmd.Env = l.tree, l.env
				check(b, cmd.Run())
			}
		})
	}
}
