//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// leave is a command line that leaves a process which has left its group and its session, and
// has an empty environment; it says its name in its arguments.
func leave(name string) string {
	return "up=${TMPDIR:-/tmp}/up.$$; mkfifo $up; env -i setsid sh -c 'echo up >$0; while :; do sleep 1; done' $up " + name + " </dev/null >/dev/null 2>&1 &\nread -r said <$up; rm $up\n"
}

// named returns the processes that say a name in their arguments, and ends them.
func named(name string) (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		text, err := os.ReadFile(line)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		if err == nil && bytes.HasSuffix(text, []byte("\x00"+name+"\x00")) {
			pids = append(pids, pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return pids
}

// What the setup or a check leaves running is ended before anything else is done: before the
// reviewer looks, and before the next checks. (Bubblewrap does so by itself.)
func TestNothingOutlivesACheck(t *testing.T) {
	t.Parallel()
	for _, kind := range []sandbox.Kind{sandbox.None, sandbox.Landlock} {
		t.Run(string(kind), func(t *testing.T) {
			if err := sandbox.Available(kind); err != nil {
				t.Skipf("NOT TESTED: %v", err)
			}
			t.Parallel()
			w := setupWorld(t, kind, "sh ./check.sh")
			name := "left-by-" + filepath.Base(filepath.Dir(w.dir)) + string(kind)
			// Each looks for what those before it have left. The name is not in their own arguments.
			find := fmt.Sprintf("grep -la '[l]%s' /proc/[0-9]*/cmdline 2>/dev/null >>%s/starts/found\n", name[1:], w.scripts)
			w.write("setup.sh", find+leave(name))
			w.write("check.sh", find+leave(name)+"echo ran >>"+w.scripts+"/starts/checked\n")
			w.git("add", "-A")
			w.git("commit", "-qm", "checks that leave something")
			w.script("critic", find+honest["critic"])
			w.script("auditor", find+honest["auditor"])
			w.completed(w.deliver())
			if left := named(name); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
			if text, err := os.ReadFile(filepath.Join(w.scripts, "starts", "found")); err != nil || len(text) > 0 {
				t.Errorf("found while others were at work: %q, %v", text, err)
			}
			if text, err := os.ReadFile(filepath.Join(w.scripts, "starts", "checked")); err != nil || strings.Count(string(text), "ran") < 3 {
				t.Errorf("the checks did not come to their end: %q, %v", text, err)
			}
		})
	}
}

// A command that is tended ends as it would, with what it leaves; and it ends when it is told to,
// with the time that it may take.
func TestTend(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	name := "tended-" + filepath.Base(filepath.Dir(w.dir))
	r := w.signalbox("tend", "1s", "--", "sh", "-c", leave(name)+"echo out; echo err >&2; exit 3")
	if r.code != 3 || r.out != "out\n" || r.err != "err\n" {
		t.Errorf("it ended as %+v", r)
	}
	if left := named(name); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	run := w.start("tend", "10ms", "--", "sh", "-c", "trap '' TERM\n"+leave(name)+": >ready; while :; do sleep 1; done")
	w.until("it runs", func() bool {
		_, err := os.Stat(filepath.Join(w.dir, "ready"))
		return err == nil
	})
	run.interrupt()
	if left := named(name); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}
