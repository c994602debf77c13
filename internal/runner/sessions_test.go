package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// script is what the agent does: a shell's text, with its prompt in $prompt and what its signals name itself by in $run.
func (b *bench) script(text string) {
	b.t.Helper()
	head := "#!/bin/sh\nprompt=$(cat)\nrun=$(printf '%s\\n' \"$prompt\" | sed -n 's/^\\(run=[^ ]*\\) belongs to this session.*/\\1/p')\n"
	if err := os.WriteFile(filepath.Join(b.repo, "agent"), []byte(head+text), 0o700); err != nil {
		b.t.Fatal(err)
	}
}

// start has a session carried out, from its start to its end.
func (b *bench) start(s delivery.Session) {
	b.t.Helper()
	s.Agent = "none"
	p := plan.Plan{Title: "A plan", Tasks: []plan.Task{{ID: "T-1", Title: "The task", Work: "Do it."}}}
	err := b.CarryOut(b.t.Context(), order.Order{Command: delivery.Command{ID: "start/1", Do: delivery.DoStart, Session: &s}, Token: "sbs_" + s.ID + "_secret", Run: b.run.Copy(), Plan: p, Reviews: delivery.Reviewer(s.Role)})
	if err != nil {
		b.t.Fatal(err)
	}
}

// A session is started in the task's worktree, with a prompt that names the task; what it said is handed in when its
// process is gone, and then how it ended.
func TestStartOrder(t *testing.T) {
	t.Parallel() // its session waits for a box
	b := newBench(t)
	b.script("echo done >work.txt\nprintf '%s' \"$prompt\" >prompt\necho READY_FOR_REVIEW: T-1 $run\n")
	b.start(delivery.Session{ID: "item-1.1", Role: agentsig.RoleDeveloper, Task: "T-1"})
	tree := b.treePath("R1", "T-1")
	if text, err := os.ReadFile(filepath.Join(tree, "work.txt")); err != nil || string(text) != "done\n" {
		t.Errorf("in the worktree: %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(tree, "prompt")); err != nil || !strings.Contains(string(text), "T-1") || !strings.Contains(string(text), "Do it.") {
		t.Errorf("its prompt is %q, %v", text, err)
	}
	verdict := agentsig.Kind("")
	for _, r := range b.reports {
		if r.Kind == api.ReportTurn {
			verdict = r.Verdict
		}
	}
	if verdict != agentsig.KindReadyForReview {
		t.Errorf("handed in: %+v", b.reports)
	}
	if end, ok := b.last().(delivery.End); !ok || end.Session != "item-1.1" {
		t.Errorf("told last: %+v", b.last())
	}
	before := len(b.told)
	b.start(delivery.Session{ID: "item-1.1", Role: agentsig.RoleDeveloper, Task: "T-1"}) // again, as after a restart
	if len(b.told) != before+1 {
		t.Errorf("told %+v", b.told[before:])
	}
}

// A session's token is in the session's own directory, for its owner alone: its agent has it neither in its environment, nor in its prompt
// or its worktree.
func TestSessionToken(t *testing.T) {
	t.Setenv("SIGNALBOX_TOKEN", "sbt_of_who_started_the_box")
	b := newBench(t)
	b.script("{ env; printf '%s' \"$prompt\"; tr '\\0' '\\n' </proc/self/cmdline; tr '\\0' '\\n' </proc/$PPID/environ; } >seen 2>/dev/null\necho READY_FOR_REVIEW: T-1 $run\n")
	b.start(delivery.Session{ID: "item-1.1", Role: agentsig.RoleDeveloper, Task: "T-1"})
	const token = "sbs_item-1.1_secret"
	spec := filepath.Join(b.sessionDir("item-1.1"), "spec.json")
	info, err := os.Stat(spec)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%s: %v, %v", spec, info, err)
	}
	if s, err := session.Read(b.sessionDir("item-1.1")); err != nil || s.Token != token {
		t.Errorf("the session has the token %q, %v", s.Token, err)
	}
	tree := b.treePath("R1", "T-1")
	seen, err := os.ReadFile(filepath.Join(tree, "seen"))
	if err != nil || !strings.Contains(string(seen), "PATH=") {
		t.Fatalf("its agent saw %q, %v", seen, err)
	}
	err = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), token) || strings.Contains(string(data), "sbt_of_who") {
			t.Errorf("%s has a token", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A session that goes on with the conversation of another is told what is new, and all if that is gone; if the agent's settings are
// others since, or nothing is left of the other session, it begins afresh, and that is told.
func TestResumeOrder(t *testing.T) {
	t.Parallel() // its sessions wait for a box
	b := newBench(t)
	b.script("echo done >work.txt\n")
	b.start(delivery.Session{ID: "item-1.1", Role: agentsig.RoleDeveloper, Task: "T-1"})
	b.run.Tasks = []*delivery.Task{{ID: "T-1", Briefs: []delivery.Brief{{From: "answer", Text: "take the left door"}, {From: "review", Text: "mend it"}}}}
	resumed := func(id, of string) delivery.Session {
		return delivery.Session{ID: id, Role: agentsig.RoleDeveloper, Task: "T-1", Resumes: &delivery.Resumed{Session: of, Conversation: delivery.Conversation{ID: "c-1"}, Told: 1}}
	}
	lost := func(before int) (reason string) {
		for _, in := range b.told[before:] {
			if f, ok := in.(delivery.Forgotten); ok {
				reason = f.Reason
			}
		}
		return reason
	}
	before := len(b.told)
	b.start(resumed("item-1.2", "item-1.1"))
	spec, err := session.Read(b.sessionDir("item-1.2"))
	if err != nil || lost(before) != "" || spec.Resume == nil || spec.Resume.Conversation.ID != "c-1" {
		t.Fatalf("%v, %q, %+v", err, lost(before), spec.Resume)
	}
	if short := spec.Resume.Prompt; !strings.Contains(short, "> mend it") || strings.Contains(short, "left door") || !strings.Contains(short, spec.Nonce) {
		t.Errorf("it is told %s", short)
	}
	if !strings.Contains(spec.Prompt, "> take the left door") || !strings.Contains(spec.Prompt, "> mend it") || !strings.Contains(spec.Prompt, spec.Nonce) {
		t.Errorf("if its conversation is gone, it is told %s", spec.Prompt)
	}
	agent := b.config.Agents["none"]
	agent.Env = map[string]string{"MODEL": "other"}
	b.config.Agents["none"] = agent
	for id, c := range map[string]struct{ of, why string }{"item-1.3": {"item-1.1", "settings have changed"}, "item-1.4": {"item-1.9", "nothing is left here"}} {
		before = len(b.told)
		b.start(resumed(id, c.of))
		if spec, err := session.Read(b.sessionDir(id)); err != nil || spec.Resume != nil || !strings.Contains(lost(before), c.why) {
			t.Errorf("%v, %q, %+v", err, lost(before), spec.Resume)
		}
	}
}

// A session that can't be made ready is told as broken, one whose program is not there as crashed, and nothing is
// left of either.
func TestStartFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.Worktree.Setup = "echo no room; false"
	b.start(delivery.Session{ID: "item-1.1", Role: agentsig.RoleDeveloper, Task: "T-1"})
	if end, ok := b.last().(delivery.End); !ok || end.How != delivery.Broken || !strings.Contains(end.Detail, "no room") {
		t.Errorf("told %+v", b.last())
	}
	b.config.Worktree.Setup = ""
	b.program = "/nowhere/signalbox"
	b.start(delivery.Session{ID: "item-1.2", Role: agentsig.RoleDeveloper, Task: "T-1"})
	if end, ok := b.last().(delivery.End); !ok || end.How != delivery.Crashed {
		t.Errorf("told %+v", b.last())
	}
	if alive := b.Alive(); len(alive) > 0 {
		t.Errorf("alive: %v", alive)
	}
}

// An agent gets the variables that it needs from the machine that it runs on. They are written nowhere, and without them it is
// not started.
func TestEnvFrom(t *testing.T) {
	const name, secret = "SBX_TEST_KEY", "k-from-the-machine"
	b := newBench(t)
	agent := b.config.Agents["none"]
	agent.EnvFrom = []string{name}
	b.config.Agents["none"] = agent
	b.start(delivery.Session{ID: "item-1.1", Role: agentsig.RoleDeveloper, Task: "T-1", Runner: "gpu1"})
	end, ok := b.last().(delivery.End)
	if !ok || end.How != delivery.Broken || !strings.Contains(end.Detail, name) || !strings.Contains(end.Detail, "gpu1") {
		t.Errorf("told %+v", b.last())
	}
	t.Setenv(name, secret)
	b.script("printf %s \"$" + name + "\" >seen\necho READY_FOR_REVIEW: T-1 $run\n")
	b.start(delivery.Session{ID: "item-1.2", Role: agentsig.RoleDeveloper, Task: "T-1"})
	if seen, err := os.ReadFile(filepath.Join(b.treePath("R1", "T-1"), "seen")); err != nil || string(seen) != secret {
		t.Errorf("its agent saw %q, %v", seen, err)
	}
	if spec, err := os.ReadFile(filepath.Join(b.sessionDir("item-1.2"), "spec.json")); err != nil || strings.Contains(string(spec), secret) {
		t.Errorf("it is written down: %s, %v", spec, err)
	}
}

// A session that was never started is ended by saying so; one whose process is there is told, and stays until the order
// is not due any more.
func TestEndOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := &delivery.Session{ID: "item-1.1", Role: agentsig.RoleDeveloper, Task: "T-1", Over: "the task is cancelled"}
	in, ok := b.carryOut(delivery.Command{ID: "end/1", Do: delivery.DoEnd, Session: s}).(delivery.End)
	if !ok || in.How != delivery.Stopped || in.Detail != s.Over {
		t.Errorf("told %+v", in)
	}
	b.script("echo up\nsleep 300\n")
	running, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	dir := b.sessionDir("item-1.2")
	live := delivery.Session{ID: "item-1.2", Role: agentsig.RoleDeveloper, Task: "T-1", Agent: "none"}
	o := order.Order{Command: delivery.Command{Do: delivery.DoStart, Session: &live}, Run: b.run.Copy(), Plan: plan.Plan{Tasks: []plan.Task{{ID: "T-1"}}}}
	if err := b.prepare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Start(t.Context(), b.program, dir, live.ID); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- b.end(running, o) }()
	for said := false; !said; {
		commands, _, _ := b.mails().Next(live.ID)
		said = len(commands) > 0 && commands[0].Kind == api.CommandEnd
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := errors.Join(session.Kill(dir, live.ID), session.Clean(dir, live.ID)); err != nil {
		t.Error(err)
	}
}

// What is said to a session goes out when it is in touch; one whose directory is damaged can't be told, and is ended.
func TestPromptOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := &delivery.Session{ID: "item-1.1", Role: agentsig.RoleDeveloper, Task: "T-1", Agent: "none", Turn: 1, Prompt: &delivery.Prompt{ID: "prompt/2", Ask: delivery.AskProgress}}
	if err := b.CarryOut(t.Context(), order.Order{Command: delivery.Command{Do: delivery.DoPrompt, Session: s}, Run: b.run.Copy()}); err == nil {
		t.Error("a session without a directory was told something")
	}
	o := order.Order{Command: delivery.Command{Do: delivery.DoPrompt, Session: s}, Run: b.run.Copy(), Plan: plan.Plan{Tasks: []plan.Task{{ID: "T-1"}}}}
	if err := b.prepare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() { told <- b.CarryOut(t.Context(), o) }()
	b.mails().Connect(s.ID, time.Now())
	for sent := false; !sent; {
		commands, _, _ := b.mails().Next(s.ID)
		if sent = len(commands) > 0; sent {
			b.mails().Wrote(s.ID, commands[0].ID)
		}
	}
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	if in, ok := b.last().(delivery.Prompted); !ok || in.Prompt != "prompt/2" {
		t.Errorf("told %+v", b.last())
	}
	if err := b.Again(*s); err != nil {
		t.Error(err)
	}
}

// What remediation left is committed, checked and merged if it was reviewed; nothing is, if it left nothing.
func TestRepairOrders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run.Remediation.Stage = delivery.StageVerify
	if in, ok := b.carryOut(delivery.Command{ID: "baseline/1", Do: delivery.DoBaseline}).(delivery.BaselineRan); !ok || in.Trouble != "" {
		t.Errorf("nothing was repaired: told %+v", in)
	}
	tree, err := b.tree(t.Context(), b.run, remediationTree)
	if err == nil {
		err = os.WriteFile(filepath.Join(tree.Path(), "fixed.txt"), []byte("fixed\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ran, ok := b.carryOut(delivery.Command{ID: "baseline/2", Do: delivery.DoBaseline}).(delivery.RepairRan)
	if !ok || ran.Files != 1 || len(ran.Names) != 1 || len(ran.Checks) != 1 || !ran.Checks[0].Passed {
		t.Fatalf("told %+v", b.last())
	}
	merged, ok := b.carryOut(delivery.Command{ID: "repair/1", Do: delivery.DoMergeRepair, Repair: &ran.Repair}).(delivery.RepairMergeRan)
	if !ok || merged.Failed != "" || merged.Result != gittest.Git(t, b.repo, "rev-parse", b.run.Branch) {
		t.Errorf("told %+v", b.last())
	}
	if names := gittest.Git(t, b.repo, "ls-tree", "--name-only", b.run.Branch); !strings.Contains(names, "fixed.txt") {
		t.Errorf("the branch has %s", names)
	}
}

// A pull request that can't be opened is told as a problem.
func TestPublishOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if in, ok := b.carryOut(delivery.Command{ID: "publish", Do: delivery.DoPublish}).(delivery.Published); !ok || in.URL != "" || in.Problem == "" {
		t.Errorf("told %+v", in)
	}
}

// A trial runs the checks of the settings on the last commit, and leaves nothing behind.
func TestTry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := Try(t.Context(), Trial{Repo: b.repo, Program: b.program, Config: b.config}); err != nil {
		t.Error(err)
	}
	settings, err := config.Parse(filepath.Join(b.repo, config.File), []byte("agents: {none: {command: [\"false\"]}}\nchecks: [{name: bad, command: 'echo because; false'}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var failed *TrialError
	if err := Try(t.Context(), Trial{Repo: b.repo, Program: b.program, Config: settings}); !errors.As(err, &failed) || failed.Error() != "bad failed" || !strings.Contains(failed.Output, "because") {
		t.Errorf("%v", err)
	}
	if status := gittest.Git(t, b.repo, "status", "--porcelain", "--ignored"); status != "" {
		t.Errorf("left behind:\n%s", status)
	}
}

// A change of the user's checkout, or of the run's branch, while a session ran is told.
func TestLook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.Begin(t.Context(), b.run.Subject, b.run.Branch, true); err != nil {
		t.Fatal(err)
	}
	<-b.Look(b.run.Subject, b.run.Branch, "s", "T-1", "plan.md")
	if len(b.told) > 0 {
		t.Errorf("nothing was changed: told %+v", b.told)
	}
	if err := os.WriteFile(filepath.Join(b.repo, "README.md"), []byte("changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, b.repo, "commit", "-q", "--allow-empty", "-m", "elsewhere")
	gittest.Git(t, b.repo, "branch", "-f", b.run.Branch, "HEAD")
	if err := os.WriteFile(filepath.Join(b.repo, "plan.md"), []byte("# Another version\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	<-b.Look(b.run.Subject, b.run.Branch, "s", "T-1", "plan.md")
	in, ok := b.last().(delivery.Touched)
	if !ok || in.Session != "s" || in.Task != "T-1" || !strings.Contains(in.Text, "README.md") || !strings.Contains(in.Text, "nobody reviewed what is between") {
		t.Errorf("told %+v", b.last())
	}
	if !strings.HasPrefix(in.Text, "in your checkout, ") || strings.Contains(in.Text, "plan.md") {
		t.Errorf("it is not said where, or of the plan: %s", in.Text)
	}
}

// That the user's checkout can't be looked at any more is told once, as a change would be; and again after it could be.
func TestLookFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.Begin(t.Context(), b.run.Subject, b.run.Branch, true); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(b.repo, ".git", "index")
	good, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		index string
		told  int
	}{{"bad", 1}, {"worse", 1}, {string(good), 1}, {"bad", 2}} {
		if err := os.WriteFile(index, []byte(c.index), 0o600); err != nil {
			t.Fatal(err)
		}
		<-b.Look(b.run.Subject, b.run.Branch, "s", "T-1", "")
		if len(b.told) != c.told {
			t.Fatalf("told %+v; want %d", b.told, c.told)
		}
	}
	if in, ok := b.last().(delivery.Touched); !ok || !strings.Contains(in.Text, "can't be looked at") {
		t.Errorf("told %+v", b.last())
	}
}

// mails are the mailboxes that a runner of the tests has.
func (b *bench) mails() *mailbox.Set { return b.mail.(*mailbox.Set) }
