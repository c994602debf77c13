//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// nothingLeft fails the test if a draft has left something in the checkout, besides the files that are named, or if a box
// was made.
func (w *world) nothingLeft(files ...string) {
	w.t.Helper()
	var want []string
	for _, f := range files {
		want = append(want, "?? "+f)
	}
	if got := w.git("status", "--porcelain", "--ignored"); got != strings.Join(want, "\n") {
		w.t.Errorf("in the checkout there is\n%s", got)
	}
	if got := w.git("worktree", "list"); strings.Contains(got, "\n") {
		w.t.Errorf("worktrees:\n%s", got)
	}
	if got := w.git("branch", "--list"); got != "* trunk" {
		w.t.Errorf("branches: %s", got)
	}
	if left := w.leftovers(); len(left) > 0 {
		w.t.Errorf("processes are left over: %v", left)
	}
}

const drafts = `echo I have read it.
echo PLAN_BEGINS $run
`

// An agent writes a plan: the first can't be read, and it is told why; the second is kept, and can be delivered. Nothing
// else is in the checkout, no box is made, and nothing is started.
func TestDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "checks: [{name: words, command: 'true'}]\n")
	w.script("PLAN.analyst.1", drafts+"echo '#### Task T-1: Count words'\necho PLAN_ENDS $run\necho EXPANDED_TASK_SPECIFICATION: PLAN $run\n")
	w.script("PLAN.analyst.2", drafts+`echo scratch >scratch.txt
cat <<'END'
# Words

<!-- nobody would see this -->
#### Task T-1: Count words

**Work**: Count them.

**Blocked By**: none

### Verification

| Check | Environment | Command | Expected exit code |
|---|---|---|---|
| mine | | `+"`true`"+` | 0 |
END
echo PLAN_ENDS $run
echo EXPANDED_TASK_SPECIFICATION: PLAN $run
`)
	r := w.signalbox("plan", "draft", "count words")
	if r.code != 0 || !strings.Contains(r.out, "plan.md written: 1 task in 1 step\n") || !strings.Contains(r.out, "T-1") ||
		!strings.HasSuffix(r.out, "\nNext: read plan.md and change what is not right (signalbox plan check plan.md), then signalbox run plan.md\n") {
		t.Fatalf("%+v", r)
	}
	if !strings.Contains(r.err, "scripted reads the repository and writes a plan, for 1h at most; Ctrl-C ends it\n") ||
		!strings.Contains(r.err, "note: the plan adds a check, which the gate would run: true\n") {
		t.Errorf("it says:\n%s", r.err)
	}
	text, err := os.ReadFile(filepath.Join(w.dir, "plan.md"))
	if err != nil || !strings.HasPrefix(string(text), "<!-- An agent (scripted) wrote this plan, and nobody has looked at it yet. Take this line out when you have. -->\n\n# Words\n\n#### Task T-1") ||
		strings.Contains(string(text), "nobody would see this") {
		t.Errorf("%v\n%s", err, text)
	}
	first, second := w.prompt("PLAN", "analyst", 1), w.prompt("PLAN", "analyst", 2)
	if !strings.Contains(first, "\n> count words\n") || !strings.Contains(first, "words: `true`") || strings.Contains(first, "What was refused") ||
		!strings.Contains(second, "\n> line 1: task T-1 has no Work") || !strings.Contains(second, "\n> #### Task T-1: Count words") {
		t.Errorf("it was told\n%s\nand then\n%s", first, second)
	}
	w.nothingLeft("plan.md")
	if r := w.signalbox("plan", "draft", "count words"); r.code != 1 || !strings.Contains(r.err, "plan.md is there already, and is left as it is: name another file with -o") {
		t.Errorf("over a file: %+v", r)
	}
	w.completed(w.deliver())
}

// What an agent does that writes no plan is said, and nothing is left of it.
func TestNoDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for script, want := range map[string]string{
		"echo no plan\n": "signalbox: the agent wrote no plan that can be read, also when it was told why: There was no plan between the two lines that name the run.\nit said last: no plan",
		"echo SEEKING_DIVINE_CLARIFICATION $run\necho Question: which words\n":                   "signalbox: the agent asks before it writes a plan: answer in the goal:\nQuestion: which words",
		"echo it broke >&2\nexit 3\n":                                                            "signalbox: the agent did not finish (crashed): exit status 3: it broke",
		"echo mine >\"$(dirname \"$(git rev-parse --git-common-dir)\")/../README.md\"\nexit 3\n": "note: your checkout was changed while the agent was at work: ",
	} {
		w.script("PLAN.analyst", script)
		if r := w.signalbox("plan", "draft", "count words"); r.code != 1 || !strings.Contains(r.err, want) {
			t.Errorf("%s: %+v", script, r)
		}
		w.git("checkout", "-q", "--", ".")
		w.nothingLeft()
	}
	if r := w.signalbox("plan", "draft", "count words", "--agent", "other"); r.code != 1 || !strings.Contains(r.err, `there is no agent called "other" in the settings that could write a plan: name one of scripted`) {
		t.Errorf("an agent that is not there: %+v", r)
	}
}

// Ctrl-C ends the agent with all that it started, and leaves nothing. Of a draft that was killed, the next one sees to that.
func TestDraftEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "limits: {grace: 200ms}\n")
	w.script("PLAN.analyst", "setsid sleep 600 &\necho here >\"$SCRIPTS/here\"\nsleep 600\n")
	here := filepath.Join(w.scripts, "here")
	for _, killed := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		draft := w.command(ctx, "plan", "draft", "count words")
		if err := draft.Start(); err != nil {
			t.Fatal(err)
		}
		for _, err := os.Stat(here); err != nil; _, err = os.Stat(here) {
			if time.Sleep(5 * time.Millisecond); ctx.Err() != nil {
				t.Fatal("the agent was not started")
			}
		}
		if err := os.Remove(here); err != nil {
			t.Fatal(err)
		}
		end := os.Interrupt
		if killed {
			end = os.Kill
		}
		if err := draft.Process.Signal(end); err != nil {
			t.Fatal(err)
		}
		_ = draft.Wait() // how it ended is seen below
		if !killed {
			if code := draft.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit code %d", code)
			}
			w.nothingLeft()
		}
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, ".signalbox-try-*")); len(left) != 1 {
		t.Fatalf("what was killed left %v", left)
	}
	w.script("PLAN.analyst", "echo no plan\n")
	if r := w.signalbox("plan", "draft", "count words"); r.code != 1 {
		t.Errorf("%+v", r)
	}
	w.nothingLeft()
}

// In a sandbox the agent can't write its worktree or the checkout, and sees nothing of a box that is there.
func TestDraftConfined(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		w.settings("sandbox: {kind: %s, write: [%s/starts]}\nroles: {analyst: {allow: [edit, execute]}}\n", kind, w.scripts)
		w.tasks("T-1")
		w.completed(w.deliver())
		w.script("PLAN.analyst", `
echo x >x.txt && echo wrote its worktree >&2 && exit 3
top=`+w.dir+`
echo x >"$top/x.txt" && echo wrote the checkout >&2 && exit 3
cat "$top/.signalbox/api.token" && echo read a token >&2 && exit 3
cat README.md >/dev/null || exit 4
git log --oneline -1 >/dev/null || exit 5
`+drafts+"printf '#### Task T-1: a\\n**Work**: b\\n'\necho PLAN_ENDS $run\n")
		r := w.signalbox("plan", "draft", "count words", "-o", "-")
		if r.code != 0 || !strings.Contains(r.out, "#### Task T-1: a\n") {
			t.Errorf("%+v", r)
		}
	})
}

// Claude Code, driven in both ways, writes a plan against a scripted model, after one that could not be read.
func TestDraftByClaude(t *testing.T) {
	t.Parallel()
	for _, r := range reals[:2] {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			script, err := modeltest.Parse("draft", `
== the analyst
asked: ^# Draft a plan
asked: (?P<run>run=\S+) belongs
says: I look at what is there.
reads: README.md
result: a repository
says: I write to be sure.
writes: x.txt
  x
says:
  PLAN_BEGINS ${run}
  # Words
  PLAN_ENDS ${run}

  EXPANDED_TASK_SPECIFICATION: PLAN ${run}
  Confidence: HIGH

asked: there is no task in the plan
says:
  This is it.

  PLAN_BEGINS ${run}
  # Words

  #### Task T-1: Count words

  **Work**: Count them.
  PLAN_ENDS ${run}

  EXPANDED_TASK_SPECIFICATION: PLAN ${run}
  Confidence: HIGH
`)
			if err != nil {
				t.Fatal(err)
			}
			server := serve(t, script)
			w := newWorld(t, "")
			w.write("signalbox.yaml", fmt.Sprintf("agents: {real: %s}\nlimits: {answer: 2m}\n", r.entry(t, server.URL())))
			w.git("commit", "-qam", "settings")
			made := w.signalbox("plan", "draft", "count words", "-o", "words.md")
			if made.code != 0 || !strings.Contains(made.out, "words.md written: 1 task in 1 step\n") || !strings.Contains(made.err, "real used ") {
				t.Fatalf("%+v", made)
			}
			w.nothingLeft("words.md")
		})
	}
}
