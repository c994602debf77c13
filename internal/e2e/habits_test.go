//go:build unix

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// Ctrl-C ends the agents, and the next run goes on with what they left; nothing is
// counted against the task.
func TestInterrupt(t *testing.T) {
	for name, again := range map[string][]string{
		"same plan":   {"run", "plan.md"},
		"no argument": {"run"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "limits: {crashes: 1, timeouts: 1}\n")
			w.tasks("T-1", "T-2")
			w.script("T-1.developer.1", "echo half >half\nsleep 300 &\nwait\n")
			w.script("T-2.critic.1", "sleep 300\n")
			run := w.start("run", "plan.md")
			half := filepath.Join(w.dir, ".signalbox", "worktrees", "R1", "T-1", "half")
			w.until("two agents are at work", func() bool { text, _ := os.ReadFile(half); return len(text) > 0 && w.has("T-2.critic.1") })
			r := run.interrupt()
			if r.code != 130 || !strings.Contains(r.err, "`signalbox run` goes on with R1") {
				t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
			}
			if left := w.leftovers(); len(left) > 0 {
				t.Errorf("processes are left over: %v", left)
			}
			w.untouched()
			if r = w.signalbox(again...); r.code != 0 {
				t.Fatalf("%v: exit code %d\n%s%s\n%s", again, r.code, r.out, r.err, w.story())
			}
			if diff := cmp.Diff(tell(added, develops, "LeaseReleased IMPLEMENTATION", develops, built, reviewed, audited), w.tale("T-1")); diff != "" {
				t.Errorf("on the task (-want +got):\n%s", diff)
			}
			if strings.Contains(w.prompt("T-1", "developer", 2), "What happened before") {
				t.Errorf("it is held against the task:\n%s", w.prompt("T-1", "developer", 2))
			}
			if got := w.git("show", "signalbox/R1:half"); got != "half" {
				t.Errorf("what the first agent left is lost: %q", got)
			}
			w.untouched()
		})
	}
}

// Ctrl-C while the gate runs ends the checks, and the next run has the gate run again.
func TestInterruptGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.settings(`checks: [{name: slow, command: 'test ! -f T-1.txt || test -f "$SCRIPTS/go" || { touch "$SCRIPTS/checking"; sleep 300; }', environment: "SCRIPTS=%s"}]
limits: {gates: 1}
`, w.scripts)
	w.tasks("T-1")
	run := w.start("run", "plan.md")
	w.until("the gate runs", func() bool { _, err := os.Stat(filepath.Join(w.scripts, "checking")); return err == nil })
	if r := run.interrupt(); r.code != 130 {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if left := w.inside(); len(left) > 0 {
		t.Errorf("processes are left over: %v", left)
	}
	w.script("go", "")
	w.completed(w.goOn())
	if diff := cmp.Diff(tell(added, develops, built, reviewed, audited), w.tale("T-1")); diff != "" {
		t.Errorf("on the task (-want +got):\n%s", diff)
	}
}

// A question is answered from another terminal while the first one waits.
func TestAnswerElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("T-1.developer.1", say("SEEKING_DIVINE_CLARIFICATION", "Question: which port?"))
	w.script("T-1.developer.2", waitFor("go")+honest["developer"])
	run := w.start("run", "plan.md", "--wait")
	w.until("it asks", func() bool { return strings.Contains(run.out.String(), "(R1-Q1)") })
	if out := w.must("answer", "R1-Q1", "8080"); !strings.Contains(out, "R1-Q1 is answered") || strings.Contains(out, "no box") {
		t.Errorf("answer: %s", out)
	}
	if r := w.signalbox("answer", "R1-Q1", "9090"); r.code != 1 || !strings.Contains(r.err, "answered already") {
		t.Errorf("a second answer: exit code %d\n%s", r.code, r.err)
	}
	w.script("go", "")
	if r := run.wait(); r.code != 0 {
		t.Errorf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	w.told("T-1.developer.2", "Answer: 8080")
	w.untouched()
}

// What an expert can't say, a person does: the agent that waits has the answer in the
// same conversation.
func TestAnswerForExpert(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "experts: [security]\n")
	w.tasks("T-1")
	w.script("T-1.developer.1", say("EXPERT_REQUEST", "Target Agent: security", "Request Type: help"))
	w.script("expert", say("EXPERT_UNSUCCESSFUL: R1-E1", "I do not know."))
	run := w.start("run", "plan.md", "--wait")
	w.until("it asks", func() bool { return strings.Contains(run.out.String(), "(R1-Q1)") })
	w.must("answer", "R1-Q1", "ask Bob")
	if r := run.wait(); r.code != 0 {
		t.Errorf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	w.told("T-1.developer.2", "the answer to your request", "ask Bob")
	if diff := cmp.Diff(tell(added, develops, built, reviewed, audited), w.tale("T-1")); diff != "" {
		t.Errorf("on the task (-want +got):\n%s", diff)
	}
	want := tell(started, "ExpertRequested security", "SessionGranted expert", "ExpertFailed", "QuestionAsked expert", "QuestionAnswered", "RequesterResumed", finished)
	if diff := cmp.Diff(want, w.tale("R1")); diff != "" {
		t.Errorf("on the run (-want +got):\n%s", diff)
	}
}

// An agent that stays and can be told: each line of its input is a message.
const listening = `#!/bin/sh
task=$SIGNALBOX_TASK role=$SIGNALBOX_ROLE
while read -r line; do
  case $line in *'belongs to this session'*) run=run=${line##*run=} run=${run%% *} ;; esac
  printf '%s\n' "$line" >>"$SCRIPTS/$role.heard"
  case $role,$line in
  developer,*'"type":"prompt"'*) mkdir -p "$SCRIPTS/starts/$task.$role.1"; : >"$SCRIPTS/starts/$task.$role.1/prompt"; echo at work; continue;;
  developer,*) echo done >$task.txt; echo READY_FOR_REVIEW: $task $run;;
  critic,*) echo REVIEW_PASSED: $task $run;;
  auditor,*) echo AUDIT_PASSED: $task $run;;
  esac
  echo '{"type":"turn_end"}'
done
`

// A message reaches an agent that can be told in the middle of its work.
func TestTellNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "    input: json\n")
	w.script("agent", listening)
	w.tasks("T-1")
	run := w.start("run", "plan.md")
	w.until("the developer is at work", func() bool { return w.has("T-1.developer.1") })
	if out := w.must("tell", "T-1", "leave", "the", "API"); !strings.Contains(out, "the agent on R1.T-1 has it") {
		t.Errorf("tell: %s", out)
	}
	if r := run.wait(); r.code != 0 {
		t.Fatalf("run: exit code %d\n%s%s\n%s", r.code, r.out, r.err, w.story())
	}
	heard, err := os.ReadFile(filepath.Join(w.scripts, "developer.heard"))
	if lines := strings.Split(strings.TrimSpace(string(heard)), "\n"); err != nil || len(lines) != 2 || lines[1] != `{"type":"tell","text":"leave the API"}` {
		t.Errorf("heard: %v %s", err, heard)
	}
	if p := payload[delivery.OnTask](w, delivery.MessageTold); p.Text != "leave the API" {
		t.Errorf("recorded: %+v", p)
	}
	w.untouched()
}

// A message to an agent that can't be told is for the next one on the task.
func TestTellNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("developer", waitFor("go")+honest["developer"])
	run := w.start("run", "plan.md")
	w.until("the developer is at work", func() bool { return w.has("T-1.developer.1") })
	if out := w.must("tell", "T-1", "leave the API"); !strings.Contains(out, "the next agent on R1.T-1 will be told: the one who works on it takes no messages meanwhile") {
		t.Errorf("tell: %s", out)
	}
	w.script("go", "")
	if r := run.wait(); r.code != 0 {
		t.Fatalf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	w.told("T-1.critic.1", "### operator", "leave the API")
	if r := w.signalbox("tell", "T-9", "hello"); r.code != 1 || !strings.Contains(r.err, "no such task: T-9") {
		t.Errorf("tell about a task that is not there: exit code %d\n%s", r.code, r.err)
	}
	w.untouched()
}

// state returns the state of the latest run, as another terminal sees it.
func (w *world) state() api.RunState {
	w.t.Helper()
	var run api.Run
	if err := json.Unmarshal([]byte(w.must("status", "--json")), &run); err != nil {
		w.t.Fatal(err)
	}
	return run.State
}

// A pause lets agents finish and starts no other, until it ends.
func TestPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("developer", waitFor("go")+honest["developer"])
	run := w.start("run", "plan.md")
	w.until("the developer is at work", func() bool { return w.has("T-1.developer.1") })
	if out := w.must("pause"); !strings.Contains(out, "R1 is paused") {
		t.Errorf("pause: %s", out)
	}
	w.script("go", "")
	w.until("the gate has passed", func() bool { return strings.Contains(run.out.String(), "T-1: gate passed") })
	if status := w.must("status"); w.state() != api.RunPaused || !strings.Contains(status, "paused") || w.has("T-1.critic.1") {
		t.Errorf("status:\n%s", status)
	}
	w.must("pause") // which it is
	w.must("pause", "--resume")
	if r := run.wait(); r.code != 0 {
		t.Errorf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if diff := cmp.Diff(tell(started, "RunPaused", "RunResumed", finished), w.tale("R1")); diff != "" {
		t.Errorf("on the run (-want +got):\n%s", diff)
	}
	w.untouched()
}

// A task that is given up takes its dependents with it; the rest is delivered.
func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1", "T-2: T-1", "T-3: T-2", "T-4")
	w.script("T-1.developer", "sleep 300\n")
	w.script("T-4.developer", waitFor("go")+honest["developer"])
	run := w.start("run", "plan.md")
	w.until("the developer is at work", func() bool { return w.has("T-1.developer.1") })
	w.must("cancel", "T-1", "--reason", "not needed")
	w.script("go", "")
	r := run.wait()
	if r.code != 1 || !strings.Contains(r.out, "T-1: given up: not needed") {
		t.Errorf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if diff := cmp.Diff(tell(added, develops, "LeaseReleased IMPLEMENTATION"), w.tale("T-1")); diff != "" {
		t.Errorf("T-1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{added}, w.tale("T-3")); diff != "" {
		t.Errorf("T-3 (-want +got):\n%s", diff)
	}
	if got := payload[delivery.Finished](w, delivery.RunFinished); got != (delivery.Finished{Outcome: delivery.Partial, Completed: 1, Left: 3, GivenUp: 3}) {
		t.Errorf("finished: %+v", got)
	}
	if files := w.git("ls-tree", "--name-only", "signalbox/R1"); !strings.Contains(files, "T-4.txt") {
		t.Errorf("merged: %s", files)
	}
	w.untouched()
}

// A whole run is given up.
func TestCancelRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("T-1.developer", "sleep 300\n")
	run := w.start("run", "plan.md")
	w.until("the developer is at work", func() bool { return w.has("T-1.developer.1") })
	w.must("cancel", "--run")
	if r := run.wait(); r.code != 1 || !strings.Contains(r.out, "cancelled") {
		t.Errorf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := w.signalbox("run"); r.code != 2 || !strings.Contains(r.err, "no run to go on with") {
		t.Errorf("run again: exit code %d\n%s", r.code, r.err)
	}
	w.untouched()
}

// A task is tried again: the agent on it is ended, the next one has the message, and
// one that was given up is taken up.
func TestRetry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1", "T-2: T-1", "T-3")
	w.script("T-1.developer.1", "sleep 300\n")
	w.script("T-3.developer", waitFor("go")+honest["developer"])
	run := w.start("run", "plan.md")
	w.until("the developer is at work", func() bool { return w.has("T-1.developer.1") })
	w.must("cancel", "T-1")
	if out := w.must("retry", "T-1", "the database is up"); !strings.Contains(out, "R1.T-1 is tried again") {
		t.Errorf("retry: %s", out)
	}
	w.script("go", "")
	if r := run.wait(); r.code != 0 {
		t.Errorf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	w.told("T-1.developer.2", "### operator", "the database is up")
	if r := w.signalbox("retry", "T-1"); r.code != 1 || !strings.Contains(r.err, "the run has ended") {
		t.Errorf("retry at the end: exit code %d\n%s", r.code, r.err)
	}
	w.untouched()
}

// logs -f shows what agents say as they say it, until the task has ended or somebody leaves.
func TestFollowLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("developer", "echo first\n"+waitFor("go")+"echo second\n"+honest["developer"])
	run := w.start("run", "plan.md")
	w.until("the developer is at work", func() bool { return w.has("T-1.developer.1") })
	logs := w.start("logs", "-f", "T-1")
	w.until("its first word is shown", func() bool { return strings.Contains(logs.out.String(), "first\n") })
	if strings.Contains(logs.out.String(), "second") {
		t.Errorf("too early:\n%s", logs.out.String())
	}
	left := w.start("logs", "-f", "T-1")
	w.until("its first word is shown again", func() bool { return strings.Contains(left.out.String(), "first\n") })
	if r := left.interrupt(); r.code != 0 || r.err != "" {
		t.Errorf("logs that were left: exit code %d\n%s", r.code, r.err)
	}
	w.script("go", "")
	if r := logs.wait(); r.code != 0 || r.err != "" || !strings.Contains(r.out, "REVIEW_PASSED: T-1") || !strings.Contains(r.out, "completed\n") {
		t.Errorf("logs: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := run.wait(); r.code != 0 {
		t.Errorf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	all := w.must("logs", "T-1")
	for _, text := range []string{"== developer (scripted), ", "agent  first\n", "agent  second\n", "agent  READY_FOR_REVIEW: T-1", "== auditor (scripted)", "AUDIT_PASSED: T-1"} {
		if !strings.Contains(all, text) {
			t.Errorf("logs do not have %q:\n%s", text, all)
		}
	}
	w.untouched()
}

// A second run in the directory watches the first one's box; its end is not the run's.
func TestRunTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("developer", waitFor("go")+honest["developer"])
	first := w.start("run", "plan.md")
	w.until("the developer is at work", func() bool { return w.has("T-1.developer.1") })
	second, third := w.start("run", "plan.md"), w.start("run")
	w.until("the others watch", func() bool {
		return strings.Contains(second.out.String(), "R1 goes on") && strings.Contains(third.out.String(), "R1 goes on")
	})
	if r := third.interrupt(); r.code != 130 || !strings.Contains(r.err, "R1 goes on in the box") {
		t.Errorf("the third: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	w.script("go", "")
	for _, run := range []*running{first, second} {
		if r := run.wait(); r.code != 0 {
			t.Errorf("run: exit code %d\n%s%s", r.code, r.out, r.err)
		}
	}
	if diff := cmp.Diff(tell(added, develops, built, reviewed, audited), w.tale("T-1")); diff != "" {
		t.Errorf("on the task (-want +got):\n%s", diff)
	}
	w.untouched()
}

// What a check said on what the work starts from can be read, and so can those who were to
// repair it; if they can't be started, a person is asked soon.
func TestLogsOfRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "checks: [{name: tools, command: echo no compiler here; exit 3}]\n")
	w.script("remediation", "echo I have no hands\nexit 4\n")
	w.tasks("T-1")
	r := w.signalbox("run", "plan.md")
	for _, want := range []string{"tools failed: no compiler here", "agents that should repair it crash (3 times)", "The last agent: exit status 4"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("there is no %q in\n%s%s", want, r.out, r.err)
		}
	}
	said := w.signalbox("logs", "R1")
	for _, want := range []string{"== baseline", "no compiler here", "== remediation", "I have no hands"} {
		if !strings.Contains(said.out, want) {
			t.Errorf("there is no %q in\n%s%s", want, said.out, said.err)
		}
	}
}
