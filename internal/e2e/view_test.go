//go:build unix

package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// terminal is a real terminal, by tmux, with a shell in the repository.
type terminal struct {
	w      *world
	socket string
}

// terminal opens one of a size. Without tmux the test is skipped.
func (w *world) terminal(size ...string) *terminal {
	w.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		w.t.Skip("tmux is not installed: the live view is not seen in a terminal")
	}
	tty := &terminal{w, filepath.Join(w.t.TempDir(), "tmux")}
	tty.tmux("-f", "/dev/null", "new-session", "-d", "-x", size[0], "-y", size[1], "sh")
	w.t.Cleanup(func() { _ = exec.Command("tmux", "-S", tty.socket, "kill-server").Run() }) //nolint:noctx // the test's context has ended
	tty.line("unset LESS GIT_PAGER; export EDITOR=true VISUAL= PAGER=less; alias signalbox="+program+"; clear; stty -g >before; echo rea''dy", "ready\n")
	return tty
}

func (t *terminal) tmux(args ...string) string {
	t.w.t.Helper()
	cmd := exec.CommandContext(t.w.t.Context(), "tmux", append([]string{"-S", t.socket}, args...)...)
	cmd.Dir = t.w.dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.w.t.Fatalf("tmux %v: %v %s", args, err, errs.String())
	}
	return string(out)
}

// shows waits until the screen has all of these.
func (t *terminal) shows(parts ...string) {
	t.w.t.Helper()
	var screen string
	defer func() {
		if t.w.t.Failed() {
			t.w.t.Logf("the screen:\n%s", screen)
		}
	}()
	t.w.until("the screen shows "+strings.Join(parts, " and "), func() bool {
		screen = t.tmux("capture-pane", "-p")
		for _, p := range parts {
			if !strings.Contains(screen, p) {
				return false
			}
		}
		return true
	})
}

// lacks fails the test if the screen, or what can be scrolled back to, has one of these.
func (t *terminal) lacks(parts ...string) {
	t.w.t.Helper()
	screen := t.tmux("capture-pane", "-p", "-S", "-")
	for _, p := range parts {
		if strings.Contains(screen, p) {
			t.w.t.Errorf("the screen has %q:\n%s", p, screen)
		}
	}
}

// press presses keys, as tmux names them, and waits for what comes of them.
func (t *terminal) press(keys string, parts ...string) {
	t.w.t.Helper()
	t.tmux(append([]string{"send-keys"}, strings.Fields(keys)...)...)
	t.shows(parts...)
}

// line types a line at the shell. What is waited for must not be in the line itself, which the screen shows too.
func (t *terminal) line(text string, parts ...string) {
	t.w.t.Helper()
	t.tmux("send-keys", "-l", text)
	t.press("Enter", parts...)
}

// A person watches a run in a terminal and does all of it there: looks at log, diff and evidence, answers, reviews, pauses,
// cancels almost, leaves. The terminal is as before then, and another `run` goes on.
func TestViewAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "roles: {critic: {agent: person}}\n")
	w.tasks("T-1", "T-2", "T-3")
	w.script("T-1.developer.1", say("SEEKING_DIVINE_CLARIFICATION", "Question: which of the two ways?"))
	w.script("T-3.developer", "printf '\\033[31mreading\\033[0m %s/deep/file.go\\n' \"$PWD\"\nwhile :; do sleep 0.1; done\n")
	tty := w.terminal("80", "24")
	tty.line("signalbox run plan.md; echo exit $?", "asks you (R1-Q1)", "waits for your review", "reading deep/file.go", "› ? T-1")

	tty.press("Down", "› ? T-2")
	tty.press("?", "any key goes back", "Ctrl-Z")
	tty.press("Enter", "› ? T-2", "? help")
	tty.press("Enter", "ready for review", "(END)") // the log
	tty.press("q", "› ? T-2")
	tty.press("d", "+++ b/T-2.txt", "(END)")
	tty.tmux("send-keys", "C-c") // is the pager's, which may lose a key that comes with it
	w.until("the pager says where it is", func() bool {
		return strings.Contains(tty.tmux("send-keys", "=", ";", "capture-pane", "-p"), "lines 1-")
	})
	tty.press("q", "› ? T-2")
	tty.press("s", "R1.T-2: The task T-2", "in the signed ledger")
	tty.lacks("checkpoint")
	tty.press("q", "› ? T-2")

	tty.press("Up a", "? R1-Q1", "which of the two ways?", "answer:")
	tty.tmux("send-keys", "-l", "the left one q")
	tty.press("Enter", "R1-Q1 is answered")
	tty.press("Down r", "T-2.txt", "[a]ccept, [s]end back, [l]ater?")
	tty.press("a Enter", "is accepted")
	tty.press("p", "○ paused")
	tty.press("p", "R1 is going on")
	tty.press("Down x", "Cancel T-3 and what depends on it?")
	tty.press("n", "› ● T-3", "? help")
	tty.press("t", "tell T-3:", "reading deep/file.go")
	tty.press("Escape", "› ● T-3", "? help")
	tty.press("t", "tell T-3:", "reading deep/file.go")
	tty.tmux("send-keys", "-l", "hurry")
	tty.press("Enter", "will be told")
	tty.tmux("resize-window", "-x", "120", "-y", "40")
	tty.shows("o open", "T-2: review passed", "R1-Q1 is answered: the left one q")
	tty.tmux("resize-window", "-x", "80", "-y", "24")

	w.until("the developer has read its prompt", func() bool {
		_, err := os.Stat(filepath.Join(w.scripts, "starts", "T-1.developer.2", "prompt"))
		return err == nil
	})
	tty.press("q", "ended with it. The work is kept")
	tty.press("y", "agents are ended, their work is kept", "exit 1")
	tty.lacks("in the signed ledger", "(END)")
	tty.line("stty -g | cmp - before && echo the' 'same", "the same\n")
	if told := w.prompt("T-1", "developer", 2); !strings.Contains(told, "the left one q") {
		t.Errorf("the developer is not told:\n%s", told)
	}

	tty.line("clear; signalbox run; echo exit $?", "? T-1", "T-3")
	tty.press("C-c", "agents are ended, their work is kept", "exit 130")
	tty.line("stty -g | cmp - before && echo as' 'before", "as before\n")
	tty.tmux("send-keys", "exit", "Enter")
}

// Who has no editor is told so, and where the worktree is, whatever their shell would have said.
func TestViewWithoutEditor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "roles: {developer: {agent: person}}\n")
	w.tasks("T-1")
	tty := w.terminal("120", "24")
	tty.line("unset EDITOR VISUAL; SHELL=/bin/false signalbox run plan.md; echo exit $?", "› ? T-1", "for you to take it")
	tty.press("o", "EDITOR is not set: R1.T-1 is yours, in ", ".signalbox/worktrees/R1/T-1", "for you to give it", "signalbox give R1.T-1")
	tty.press("q", "Leave?")
	tty.press("y", "exit 1")
	tty.line("clear; SHELL=false signalbox take T-1 --open && echo shell' 'ended", "shell ended\n")
	tty.tmux("send-keys", "exit", "Enter")
}

// A person watches the box of somebody else: it goes on when they leave. What they take over opens in their editor. A box that is
// told to stop, and a view that is, leave the terminal as it was.
func TestViewOfAnotherBox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("T-1.developer", "touch \"$SCRIPTS/begun\"\nwhile :; do sleep 0.1; done\n")
	box := w.up()
	tty := w.terminal("120", "40")
	tty.line("signalbox run plan.md; echo exit $?", "› ● T-1", "q leave")
	tty.press("q", "R1 goes on in the box", "exit 1")
	tty.line("clear; signalbox run plan.md; echo exit $?", "› ● T-1", "q leave")
	tty.press("o", "Take T-1 over")
	tty.press("y", "R1.T-1 is yours", "signalbox give R1.T-1")
	tty.press("C-z", "topped")
	tty.line("stty -g | cmp - before && echo suspend''ed", "suspended\n")
	tty.line("fg", "› ? T-1")
	tty.press("x", "Cancel T-1")
	tty.press("y", "exit 1") // the run has ended with it
	tty.line("stty -g | cmp - before && echo as' 'before", "as before\n")
	tty.tmux("send-keys", "exit", "Enter")
	box.stop()
}
