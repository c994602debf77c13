//go:build amd64 || arm64

package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// layout is a user's home with a repository in it, in which a box runs and two agents have
// their worktrees.
type layout struct {
	env    []string // the names of all that is of interest
	tree   string
	policy sandbox.Policy
	state  []string // what the policy has of agents' programs
}

// patience is for how long anything that is run may take.
const patience = time.Minute

// self is this test's program, which what is confined runs as well.
func self(t testing.TB) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// template is a home as [newLayout] gives it to every test, made once.
var template = sync.OnceValue(func() string {
	top, err := os.MkdirTemp("/var/tmp", "sandbox-test-")
	if err != nil {
		panic(err)
	}
	cmd := exec.CommandContext(context.Background(), "sh", "-ec", `
		mkdir -p home/.claude home/.ssh home/run home/repo
		cd home; echo login > .claude/.credentials.json; echo settings > .claude.json; echo key > .ssh/id; echo alias > .bashrc
		cd repo; mkdir -p .signalbox/sessions/s1/temp .signalbox/sessions/s2
		printf %s '`+secret+`' > .signalbox/api.token; cp .signalbox/api.token .signalbox/sessions/s1/spec.json; echo report > .signalbox/sessions/s2/report; ln -s .signalbox/sessions link
		git init -q -b main; git config user.name n; git config user.email n@example.org
		echo text > file; echo '*' > .gitignore; git add -f file; git commit -q -m first; git branch other
		git repack -q -d; echo more > file; git commit -q -a -m second
		for n in 1 2; do git worktree add -q .signalbox/worktrees/r/t$n -b signalbox-tasks/r/t$n; done`)
	cmd.Dir, cmd.Env = top, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top, "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, out))
	}
	return top
})

// newLayout makes one, with its box running. It lies outside of /tmp, as homes do.
func newLayout(t testing.TB) *layout {
	t.Helper()
	top, err := os.MkdirTemp("/var/tmp", "sandbox-test-")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(top)) })
	shared, err := os.MkdirTemp("/tmp", "sandbox-test-") // of somebody else
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(shared)) })
	memory, err := os.CreateTemp("/dev/shm", "sandbox-test-")
	check(t, err)
	t.Cleanup(func() { check(t, errors.Join(memory.Close(), os.Remove(memory.Name()))) })
	_, err = memory.WriteString("data")
	check(t, errors.Join(err, os.WriteFile(filepath.Join(shared, "file"), []byte("data"), 0o600), os.CopyFS(top, os.DirFS(template()))))

	home, repo := filepath.Join(top, "home"), filepath.Join(top, "home", "repo")
	box, common := filepath.Join(repo, ".signalbox"), filepath.Join(repo, ".git")
	trees := filepath.Join(box, "worktrees", "r")
	for _, name := range []string{"t1", "t2"} { // their links are absolute
		check(t, os.WriteFile(filepath.Join(trees, name, ".git"), []byte("gitdir: "+filepath.Join(common, "worktrees", name)+"\n"), 0o600))
		check(t, os.WriteFile(filepath.Join(common, "worktrees", name, "gitdir"), []byte(filepath.Join(trees, name, ".git")+"\n"), 0o600))
	}
	l := &layout{tree: filepath.Join(trees, "t1"), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "REPO=" + repo, "BOX=" + box, "GIT=" + common,
		"TREE=" + filepath.Join(trees, "t1"), "OTHER=" + filepath.Join(trees, "t2"),
		"SOCKET=" + filepath.Join(home, "run", "box.sock"), "SELF=" + self(t), "LC_ALL=C",
		"SHARED_TEMP=" + shared, "SHARED_MEMORY=" + memory.Name(), "GIT_CONFIG_NOSYSTEM=1",
	}}
	state, err := sandbox.FindState([]string{"claude"}, home, func(string) string { return "" })
	l.state = slices.Concat(state.Own, state.Shared)
	check(t, err)
	write, read, err := sandbox.GitPaths(common, l.tree, "signalbox-tasks/r/t1")
	check(t, err)
	l.policy = sandbox.Policy{
		Write:  slices.Concat([]string{l.tree}, write, l.state),
		Read:   append([]string{filepath.Dir(self(t))}, read...),
		Hidden: []string{box, filepath.Join(home, ".ssh")},
		Temp:   filepath.Join(box, "sessions", "s1", "temp"),
	}
	l.startBox(t, box)
	return l
}

func (l *layout) startBox(t testing.TB, dir string) {
	t.Helper()
	box := exec.CommandContext(t.Context(), self(t), "box", dir)
	box.Dir, box.Env = dir, append([]string{"BOX_SECRET=" + secret}, l.env...)
	stdin, err := box.StdinPipe()
	check(t, err)
	stdout, err := box.StdoutPipe()
	check(t, err)
	check(t, box.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = box.Wait() // it may have been killed
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if lines.Text() == "ready" {
			return
		}
		l.env = append(l.env, lines.Text())
	}
	t.Fatal("the box did not start")
}

// run runs a script in the worktree, confined by a policy, with the box's token and its
// directory as descriptors 3 and 4. It reports whether the script succeeded.
func (l *layout) run(t testing.TB, p sandbox.Policy, script string) (bool, string) {
	t.Helper()
	command, err := p.Command(self(t), []string{"sh", "-c", "echo begun; " + script})
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = l.tree, l.env
	for _, name := range []string{"api.token", "."} {
		f, err := os.Open(filepath.Join(p.Hidden[0], name))
		check(t, err)
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if ctx.Err() != nil || !strings.HasPrefix(out.String(), "begun\n") {
		t.Fatalf("the script was not run to its end: %v\n%s", err, out.Bytes())
	}
	return err == nil, out.String()
}

// confined is the layout's policy in a kind.
func (l *layout) confined(k sandbox.Kind) sandbox.Policy {
	p := l.policy
	p.Kind = k
	return p
}

// need skips what takes a kind that can't be had here.
func need(t testing.TB, k sandbox.Kind) {
	t.Helper()
	if err := sandbox.Available(k); err != nil {
		t.Skipf("NOT TESTED: %s: %v", k, err)
	}
}

// strong are the kinds that confine.
var strong = []sandbox.Kind{sandbox.Landlock, sandbox.Bubblewrap}
