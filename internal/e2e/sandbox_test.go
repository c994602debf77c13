//go:build linux

package e2e_test

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// sandboxes runs a test in one of the sandboxes that confine something, which one its name decides; if all are wanted, in each.
func sandboxes(t *testing.T, f func(t *testing.T, kind sandbox.Kind)) {
	t.Helper()
	h := fnv.New32a()
	_, _ = h.Write([]byte(t.Name())) // which never fails
	confining := sandbox.Kinds()[1:]
	part := confining[h.Sum32()>>8%uint32(len(confining))]
	if sandbox.Available(part) != nil { // then the other one, if that can be had
		part = confining[(slices.Index(confining, part)+1)%len(confining)]
	}
	eachSandbox(t, func(t *testing.T, kind sandbox.Kind) {
		t.Helper()
		among(t, kind == part)
		f(t, kind)
	})
}

// eachSandbox runs a test in each sandbox that confines something, side by side. One that can't be had here is not tested.
func eachSandbox(t *testing.T, f func(t *testing.T, kind sandbox.Kind)) {
	t.Helper()
	for _, kind := range sandbox.Kinds()[1:] {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			if err := sandbox.Available(kind); err != nil {
				t.Skipf("NOT TESTED: %v", err)
			}
			f(t, kind)
		})
	}
}

// among skips a case that is like others and not of the part, unless all are wanted.
func among(t *testing.T, part bool) {
	t.Helper()
	if !part && !*all {
		t.Skip("NOT TESTED: a case like others; with -all")
	}
}

// In a sandbox a developer can commit, and neither read the box's directory nor write the
// user's checkout; a critic can't write its worktree either; checks are confined as well, and
// the work is delivered.
func TestSandbox(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		w.settings("sandbox: {kind: %s, network: off, write: [%s/starts]}\nchecks: [{name: confined, command: \"! cat %s/.signalbox/api.token\"}]\n", kind, w.scripts, w.dir)
		w.git("commit", "-qam", "settings")
		secrets := filepath.Join(w.dir, ".signalbox")
		try := func(what, command string) string {
			return fmt.Sprintf("if (%s) 2>/dev/null >&2; then echo '%s: let through'; else echo '%s: refused'; fi\n", command, what, what)
		}
		w.script("developer", try("token", "cat "+secrets+"/api.token")+try("list", "ls "+secrets+" | grep token")+try("checkout", "echo evil >"+w.dir+"/evil")+
			try("hook", "echo evil >"+w.dir+"/.git/hooks/pre-commit")+try("own", "echo x >own")+"rm -f own\n"+honest["developer"])
		w.script("critic", try("worktree", "echo x >critic.txt")+honest["critic"])
		w.tasks("T-1")
		w.completed(w.deliver())
		want := "token: refused\nlist: refused\ncheckout: refused\nhook: refused\nown: let through\n"
		if said := w.signalbox("logs", "T-1"); !strings.Contains(said.out, strings.Split(want, "\n")[0]) {
			t.Errorf("logs:\n%s%s", said.out, said.err)
		} else {
			for line := range strings.Lines(want + "worktree: refused\n") {
				if !strings.Contains(said.out, strings.TrimSpace(line)) {
					t.Errorf("there is no %q in\n%s", line, said.out)
				}
			}
		}
	})
}

// A run whose sandbox can't be made is refused before anything is started.
func TestSandboxRefused(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, fmt.Sprintf("sandbox: {kind: %s, write: [/no/such/directory]}\n", kind))
		w.tasks("T-1")
		r := w.signalbox("run", "plan.md")
		if r.code != 1 || !strings.Contains(r.err, "/no/such/directory") || !strings.Contains(r.err, "signalbox doctor") {
			t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
		}
	})
}
