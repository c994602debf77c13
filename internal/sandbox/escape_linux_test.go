//go:build amd64 || arm64

package sandbox_test

import (
	"os"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// probe is a way out. The script succeeds if it gets there.
type probe struct {
	name, script string
	root         bool                    // whether only root can, without a sandbox
	perhaps      bool                    // whether the system itself may refuse it
	known        map[sandbox.Kind]string // why a kind does not stop it
}

func both(why string) map[sandbox.Kind]string {
	return map[sandbox.Kind]string{sandbox.Landlock: why, sandbox.Bubblewrap: why}
}

func landlockOnly(why string) map[sandbox.Kind]string {
	return map[sandbox.Kind]string{sandbox.Landlock: why}
}

var probes = []probe{
	// The box's directory.
	{name: "read the token", script: `cat "$BOX"/api.token`},
	{name: "list the box's directory", script: `ls -a "$BOX" | grep api.token`},
	{name: "list the sessions", script: `ls "$BOX"/sessions | grep s2`},
	{name: "ask whether the token is there", script: `test -e "$BOX"/api.token`,
		known: landlockOnly("Landlock does not restrict stat: names can be guessed, content can't be read")},
	{name: "read another session's report", script: `cat "$BOX"/sessions/s2/report`},
	{name: "read the session's own token", script: `cat "$BOX"/sessions/s1/spec.json`},
	{name: "read the session's own token by its temporary files", script: `cat "$BOX"/sessions/s1/temp/../spec.json`},
	{name: "write another session's report", script: `echo forged > "$BOX"/sessions/s2/report`},
	{name: "add a report to a session", script: `echo forged > "$BOX"/sessions/s2/another`},
	{name: "add to the box's directory", script: `echo forged > "$BOX"/forged`},
	{name: "follow a link of the user's to the sessions", script: `cat "$REPO"/link/s2/report`},
	{name: "remove the token", script: `rm "$BOX"/api.token`},
	{name: "move the token here", script: `mv "$BOX"/api.token . && cat api.token`},
	{name: "link the token here", script: `ln "$BOX"/api.token hard && cat hard`},
	{name: "lead a link to the token", script: `ln -s "$BOX"/api.token soft && cat soft`},
	{name: "go up from here", script: `cat ../../../api.token`},
	{name: "go up by /proc", script: `cat /proc/self/cwd/../../../api.token`},
	{name: "move the worktree up", script: `mv "$TREE" "$BOX"/moved`},
	{name: "read what the user hides", script: `cat "$HOME"/.ssh/id`},
	{name: "use an inherited file", script: `cat <&3`},
	{name: "use an inherited directory", script: `cat /proc/self/fd/4/api.token`},

	// Other agents, and the user.
	{name: "read another worktree", script: `cat "$OTHER"/file`},
	{name: "write another worktree", script: `echo changed > "$OTHER"/file`},
	{name: "write the checkout", script: `echo changed > "$REPO"/file`},
	{name: "append to the checkout", script: `echo changed >> "$REPO"/file`},
	{name: "truncate in the checkout", script: `truncate -s 0 "$REPO"/file`},
	{name: "add to the checkout", script: `echo new > "$REPO"/new`},
	{name: "remove from the checkout", script: `rm -f "$REPO"/file`},
	{name: "rename in the checkout", script: `mv "$REPO"/file "$REPO"/renamed`},
	{name: "replace in the checkout", script: `echo new > new && mv -f new "$REPO"/file`},
	{name: "make a directory in the home", script: `mkdir "$HOME"/made`},
	{name: "make a link in the home", script: `ln -s /etc "$HOME"/made`},
	{name: "make a pipe in the home", script: `mkfifo "$HOME"/made`},
	{name: "write what shells start with", script: `echo evil >> "$HOME"/.bashrc`},
	{name: "write through a link", script: `ln -s "$REPO"/file soft && echo changed > soft`},
	{name: "write through a hard link", script: `ln "$REPO"/file hard && echo changed > hard`},
	{name: "write the settings beside the login", script: `echo evil > "$HOME"/.claude.json`},
	{name: "write the settings of its own program", script: `echo evil > "$HOME"/.claude/settings.json`,
		known: both("the login is in the same directory and has to be kept fresh; what the settings name runs when the user starts that program")},
	{name: "change a mode", script: `chmod 0600 "$REPO"/file`,
		known: landlockOnly("Landlock does not restrict chmod, chown, utime and setxattr")},
	{name: "change a time", script: `touch -d 2001-01-01 "$REPO"/file`,
		known: landlockOnly("Landlock does not restrict chmod, chown, utime and setxattr")},
	{name: "write others' temporary files", script: `echo changed > "$SHARED_TEMP"/file`},
	{name: "add to others' temporary files", script: `echo new > "$SHARED_TEMP"/new`},
	{name: "write others' shared memory", script: `grep -q data "$SHARED_MEMORY" && echo changed > "$SHARED_MEMORY"`,
		known: landlockOnly("/dev/shm is needed for semaphores and shared memory, and Landlock can't give a program one of its own")},
	{name: "attach others' shared memory", perhaps: true, script: `"$SELF" try shared`},

	// The repository.
	{name: "write a hook", script: `echo evil > "$GIT"/hooks/post-commit`},
	{name: "write the configuration", script: `git config core.pager evil`},
	{name: "replace the configuration", script: `echo > c && mv -f c "$GIT"/config`},
	{name: "write attributes", script: `mkdir -p "$GIT"/info && echo '* filter=evil' > "$GIT"/info/attributes`},
	{name: "move the user's branch", script: `git update-ref refs/heads/main HEAD~1`},
	{name: "write another branch's ref", script: `git rev-parse HEAD > "$GIT"/refs/heads/other`},
	{name: "delete another branch", script: `git branch -D other`},
	{name: "make a branch", script: `git branch made`},
	{name: "pack the refs", script: `git pack-refs --all`},
	{name: "write to the user's stash", script: `echo changed > file && git stash`},
	{name: "move another task's branch", script: `git update-ref refs/heads/signalbox-tasks/r/t2 HEAD~1`,
		known: both("a lock is made beside a ref, so its directory is writable with all refs in it; the box knows which commit it has checked")},
	{name: "write what git keeps for another worktree", script: `echo evil > "$GIT"/worktrees/t2/HEAD`},
	{name: "lead git astray from its own worktree", script: `echo /evil > "$GIT"/worktrees/t1/commondir`,
		known: both("the index and HEAD are replaced beside it; git that others run there is told GIT_COMMON_DIR")},
	{name: "remove packed history", script: `rm -f "$GIT"/objects/pack/*.pack && ! ls "$GIT"/objects/pack/*.pack`},
	{name: "add objects from elsewhere", script: `echo /evil > "$GIT"/objects/info/alternates`},
	{name: "remove loose objects", script: `rm -f "$GIT"/objects/??/* && ! git cat-file -e HEAD`,
		known: both("commits are made of loose objects, and what can be added to a directory can be removed from it")},

	// Other processes.
	{name: "kill the box", script: `kill -KILL $PID`},
	{name: "ask whether the box lives", script: `kill -0 $PID`},
	{name: "set limits to the box", script: `"$SELF" try limit`},
	{name: "type into a terminal", script: `"$SELF" try type`},
	{name: "read by the box's root", script: `cat /proc/$PID/root"$BOX"/api.token`},
	{name: "read by the box's directory", script: `cat /proc/$PID/cwd/api.token`},
	{name: "read by the box's descriptor", script: `cat /proc/$PID/fd/$TOKEN_FD`},
	{name: "read the box's environment", script: `tr '\0' '\n' < /proc/$PID/environ | grep BOX_SECRET`},
	{name: "read the box's memory", script: `"$SELF" try memory`},
	{name: "read the box's memory by call", script: `"$SELF" try vm`},
	{name: "take the box's descriptor", script: `"$SELF" try pidfd`},
	{name: "trace the box", script: `"$SELF" try ptrace`},

	// Sockets.
	{name: "connect to a socket by path", script: `"$SELF" try socket`},
	{name: "connect to a socket by abstract name", script: `"$SELF" try abstract`},
	{name: "send to a socket from a pair", script: `"$SELF" try datagrams`},
	{name: "connect by TCP", script: `"$SELF" try tcp`},
	{name: "send by UDP", script: `"$SELF" try udp`},
	{name: "open a packet socket", perhaps: true, script: `"$SELF" try packet`, root: true},
	{name: "open a socket to the host", perhaps: true, script: `"$SELF" try vsock`},
	{name: "go around the filter by io_uring", perhaps: true, script: `"$SELF" try uring`},

	// Privileges.
	{name: "gain privileges by setuid", script: `grep -q 'NoNewPrivs:.0' /proc/self/status`},
	{name: "have an administrator's capabilities", perhaps: true, script: `unshare --mount true`, root: true},
	{name: "open a device", script: `for d in /dev/fuse /dev/net/tun /dev/loop-control /dev/kmsg; do test -r $d && (: < $d) && exit; done; exit 1`, perhaps: true},
	{name: "make a device", perhaps: true, script: `"$SELF" try device`, root: true},
	{name: "unmount what hides", perhaps: true, script: `unshare -Urm sh -c 'umount -l "$BOX"; cat "$BOX"/api.token'`},
	{name: "mount the root again", perhaps: true, script: `unshare -Urm sh -c 'mkdir -p m && mount --bind / m && cat m"$BOX"/api.token || { mount --rbind / m && cat m"$BOX"/api.token; }'`},
	{name: "make the root writable", perhaps: true, script: `unshare -Urm sh -c 'mount -o remount,bind,rw /; echo changed > "$REPO"/file'`},
	{name: "look from a new root", perhaps: true, script: `unshare -Ur chroot / sh -c 'cat "$BOX"/api.token'`},
}

// Every way out is open without a sandbox, so a probe can tell; and closed in one, or known.
func TestEscapes(t *testing.T) {
	for _, k := range append([]sandbox.Kind{sandbox.None}, strong...) {
		t.Run(string(k), func(t *testing.T) {
			need(t, k)
			for i, p := range probes {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					if testing.Short() && i%16 != 0 {
						t.Skip("one way out in sixteen is tried with -short")
					}
					if p.root && os.Geteuid() != 0 {
						t.Skip("NOT TESTED: only root could")
					}
					l := newLayout(t)
					got, out := l.run(t, l.confined(k), p.script)
					if k == sandbox.None && !got && p.perhaps {
						t.Skipf("NOT TESTED: this system refuses it without a sandbox: %s", out)
					}
					switch want := k == sandbox.None || p.known[k] != ""; {
					case k == sandbox.None && !got:
						t.Errorf("the probe fails without a sandbox, and so shows nothing:\n%s", out)
					case want && !got:
						t.Errorf("it is stopped: take it out of what is known\n%s", out)
					case !want && got:
						t.Errorf("it got out:\n%s", out)
					}
				})
			}
		})
	}
}
