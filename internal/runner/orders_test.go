package runner

import (
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// listener is a conductor that takes everything, and allows every merge unless it refuses.
type listener struct {
	t       *testing.T
	told    []delivery.Input
	allowed []work.Allowed
	checked []delivery.MergeChecked
	refuse  bool
	reports []api.SessionReport
}

func (l *listener) HandIn(_ context.Context, _ string, in delivery.Input) error {
	l.told = append(l.told, in)
	return nil
}

func (l *listener) Permit(_ context.Context, _ string, m delivery.MergeChecked) (work.Permit, ledger.Proof, error) {
	l.checked = append(l.checked, m)
	if l.refuse {
		return work.Permit{}, ledger.Proof{}, nil
	}
	allowed := work.Allowed{Run: "R1", Task: "T-1", Commit: m.Commit, Onto: m.Onto, Tree: m.Tree, Base: m.Base}
	l.allowed = append(l.allowed, allowed)
	return work.Permit{Seq: uint64(len(l.allowed)), Allowed: allowed}, proofOf(l.t, allowed), nil
}

func (l *listener) Report(_ context.Context, _ string, r api.SessionReport) error {
	l.reports = append(l.reports, r)
	return nil
}

func (l *listener) Renew(string) {}

func (l *listener) MachinesChanged() {}

// last returns what was told last.
func (l *listener) last() delivery.Input {
	l.t.Helper()
	if len(l.told) == 0 {
		l.t.Fatal("nothing was told")
	}
	return l.told[len(l.told)-1]
}

// proofOf proves that a ledger of one event allows a merge.
func proofOf(t *testing.T, allowed work.Allowed) ledger.Proof {
	t.Helper()
	payload, err := json.Marshal(allowed)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: "item", ItemSeq: 1, Type: work.MergeAllowed, Actor: work.BoxActor,
		Time: time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC), Payload: payload,
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	signer, _, err := ledger.NewKey("test/epoch/1")
	if err != nil {
		t.Fatal(err)
	}
	note, err := ledger.Checkpoint{Origin: "test/epoch/1", Size: 1}.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Proof{Event: stored, Hashes: []ledger.Hash{{}}, Checkpoint: string(note)}
}

// bench is a runner with a run of one task, in a repository whose check is that README.md has no `bad` in it.
type bench struct {
	*Runner
	*listener
	repo string
	run  delivery.Run
}

func newBench(t *testing.T) *bench {
	t.Helper()
	repo := gittest.New(t)
	if err := os.WriteFile(filepath.Join(repo, "README.md"), []byte("good\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, repo, "add", "-A")
	gittest.Git(t, repo, "commit", "-q", "-m", "a file")
	settings, err := config.Parse(filepath.Join(repo, config.File), fmt.Appendf(nil, "agents: {none: {command: [%q]}}\nlimits: {orphan: 1s, grace: 1s}\nchecks: [{name: good, command: '! grep bad README.md'}]\n", filepath.Join(repo, "agent")))
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{t: t}
	b := &bench{Runner: newRunner(t, repo, settings, l), listener: l, repo: repo}
	_, base, err := b.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.run.ID, b.run.Subject, b.run.Branch = "R1", "subject", "signalbox/R1"
	b.run.Tasks = []*delivery.Task{{ID: "T-1", Item: work.Item{Chain: work.Chain{Subject: "item"}, ID: "R1.T-1", Title: "The task", Phase: agentsig.PhaseImplementation}}}
	if made, err := b.MakeBranch(t.Context(), b.run.Branch, base); err != nil || !made {
		t.Fatal(made, err)
	}
	return b
}

// carryOut carries out an order, and returns what was told last.
func (b *bench) carryOut(cmd delivery.Command) delivery.Input {
	b.t.Helper()
	if cmd.Task == nil {
		cmd.Task = b.run.Tasks[0]
	}
	if err := b.CarryOut(b.t.Context(), order.Order{Command: cmd, Run: b.run.Copy()}); err != nil {
		b.t.Fatal(err)
	}
	return b.last()
}

// change has an agent's work in the task's worktree: a file with a text.
func (b *bench) change(name, text string) {
	b.t.Helper()
	tree, err := b.tree(b.t.Context(), b.run, "T-1")
	if err == nil {
		err = os.WriteFile(filepath.Join(tree.Path(), name), []byte(text), 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// The checks run on what the work begins from, and what they say is told.
func TestBaselineOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in, ok := b.carryOut(delivery.Command{ID: "baseline/0", Do: delivery.DoBaseline}).(delivery.BaselineRan)
	if !ok || in.Command != "baseline/0" || in.Trouble != "" || len(in.Checks) != 1 || !in.Checks[0].Passed || in.Commit != gittest.Git(t, b.repo, "rev-parse", "HEAD") {
		t.Errorf("told %+v", in)
	}
}

// The gate commits what an agent left, checks that commit, and tells how it went. What fails without the change too is
// trouble, and not the change's fault.
func TestGateOrder(t *testing.T) {
	for name, c := range map[string]struct {
		before, file, text string
		passed             bool
		trouble            string
	}{
		"good work":         {"good\n", "new.txt", "new\n", true, ""},
		"bad work":          {"good\n", "README.md", "bad\n", false, ""},
		"it was bad before": {"bad\n", "new.txt", "new\n", false, "fails on signalbox/R1 too"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if c.before != "good\n" {
				if err := os.WriteFile(filepath.Join(b.repo, "README.md"), []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
				gittest.Git(t, b.repo, "commit", "-q", "-a", "-m", "before")
				gittest.Git(t, b.repo, "branch", "-f", b.run.Branch, "HEAD")
			}
			b.change(c.file, c.text)
			in, ok := b.carryOut(delivery.Command{ID: "gate/1", Do: delivery.DoGate}).(delivery.GateRan)
			if !ok || in.Passed != c.passed || in.Commit == "" || (in.Trouble == "") != (c.trouble == "") || !strings.Contains(in.Trouble, c.trouble) {
				t.Errorf("told %+v", in)
			}
			if c.passed != (in.Output == "") {
				t.Errorf("output %q", in.Output)
			}
		})
	}
}

// What is handed in with nothing changed, or again after it did not pass, is told as that, and no check runs on it. A
// claim that nothing has to be changed is checked like a change.
func TestGateUnchanged(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the checks many times; not with -short")
	}
	b := newBench(t)
	b.change("README.md", "good\n")
	gate := func() delivery.GateRan {
		t.Helper()
		in, ok := b.carryOut(delivery.Command{ID: "gate/1", Do: delivery.DoGate}).(delivery.GateRan)
		if !ok || in.Trouble != "" || in.Files == nil {
			t.Fatalf("told %+v", in)
		}
		return in
	}
	base, task := gittest.Git(t, b.repo, "rev-parse", "HEAD"), b.run.Tasks[0]
	if in := gate(); in.Since != work.SinceStart || in.Passed || len(in.Checks) != 0 || *in.Files != 0 || in.Commit != base {
		t.Errorf("nothing was changed, and told %+v", in)
	}
	task.NoChange = "it is there"
	if in := gate(); in.Since != "" || !in.Passed || len(in.Checks) != 1 || *in.Files != 0 {
		t.Errorf("that is claimed to be right, and told %+v", in)
	}
	b.change("new.txt", "new\n")
	first := gate()
	if first.Since != "" || !first.Passed || *first.Files != 1 {
		t.Errorf("something was changed, and told %+v", first)
	}
	task.Failed = &delivery.Failure{By: work.SinceReview, Commit: first.Commit}
	if in := gate(); in.Since != work.SinceReview || in.Passed || len(in.Checks) != 0 || in.Commit != first.Commit {
		t.Errorf("the same again, and told %+v", in)
	}
}

// judged has the task's work pass the gate and be looked at, and returns the commit.
func (b *bench) judge() string {
	b.t.Helper()
	in, ok := b.carryOut(delivery.Command{ID: "gate/1", Do: delivery.DoGate}).(delivery.GateRan)
	if !ok || !in.Passed {
		b.t.Fatalf("told %+v", in)
	}
	i := &b.run.Tasks[0].Item
	tree, err := b.exchange.TreeOf(b.t.Context(), in.Commit)
	if err != nil {
		b.t.Fatal(err)
	}
	base, err := b.partsAt(b.t.Context(), b.run, in.Commit)
	if err != nil {
		b.t.Fatal(err)
	}
	seen := work.Seen{Session: "s", Commit: in.Commit, Tree: tree, Base: base}
	i.Commit, i.Audited, i.Review, i.Audit = in.Commit, true, seen, seen
	return in.Commit
}

// What was judged is merged, with the proof in its message; a merge that was made already is not made again.
func TestMergeOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change("new.txt", "new\n")
	commit := b.judge()
	merge := delivery.Command{ID: "merge/1", Do: delivery.DoMerge}
	in, ok := b.carryOut(merge).(delivery.MergeRan)
	if !ok || in.Failed != "" || in.Trouble != "" || in.Commit != commit || in.Result == "" {
		t.Fatalf("told %+v", in)
	}
	if tip := gittest.Git(t, b.repo, "rev-parse", b.run.Branch); tip != in.Result {
		t.Errorf("the branch is at %s, and the merge is %s", tip, in.Result)
	}
	if message := gittest.Git(t, b.repo, "log", "-1", "--format=%B", b.run.Branch); !strings.HasPrefix(message, "Merge T-1: The task") || !strings.Contains(message, "Signalbox-Proof: ") {
		t.Errorf("its message is %q", message)
	}
	b.run.Tasks[0].Item.Allowed = &work.Permit{Seq: 1, Allowed: b.allowed[0]} // its box was killed before it was told
	again, ok := b.carryOut(merge).(delivery.MergeRan)
	if !ok || again.Result != in.Result || len(b.allowed) != 1 {
		t.Errorf("told %+v, after %d merges were allowed", again, len(b.allowed))
	}
}

// Nothing is merged that nobody looked at, that was not allowed, or that fails the checks together with what was
// merged before.
func TestMergeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spoil           func(t *testing.T, b *bench)
		failed, trouble string
	}{
		"nobody looked at it": {func(_ *testing.T, b *bench) {
			b.run.Tasks[0].Item.Review.Tree = "another"
		}, "", "the critic was given"},
		"it is not allowed": {func(_ *testing.T, b *bench) { b.refuse = true }, "", "not due any more"},
		"the checks fail on the merge": {func(t *testing.T, b *bench) {
			path := filepath.Join(b.repo, "README.md")
			if err := os.WriteFile(path, []byte("bad\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			gittest.Git(t, b.repo, "commit", "-q", "-a", "-m", "bad")
			gittest.Git(t, b.repo, "branch", "-f", b.run.Branch, "HEAD")
		}, "the checks fail on the merge", ""},
		"it conflicts": {func(t *testing.T, b *bench) {
			if err := os.WriteFile(filepath.Join(b.repo, "new.txt"), []byte("other\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			gittest.Git(t, b.repo, "add", "-A")
			gittest.Git(t, b.repo, "commit", "-q", "-m", "other")
			gittest.Git(t, b.repo, "branch", "-f", b.run.Branch, "HEAD")
		}, "new.txt", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name != "the checks fail on the merge" {
				t.Skip("one refusal, by the checks, is tried with -short")
			}
			b := newBench(t)
			b.change("new.txt", "new\n")
			b.judge()
			c.spoil(t, b)
			tip := gittest.Git(t, b.repo, "rev-parse", b.run.Branch)
			in, ok := b.carryOut(delivery.Command{ID: "merge/1", Do: delivery.DoMerge}).(delivery.MergeRan)
			if !ok || in.Result != "" || !strings.Contains(in.Failed, c.failed) || !strings.Contains(in.Trouble, c.trouble) || in.Failed == "" && in.Trouble == "" {
				t.Errorf("told %+v", in)
			}
			if now := gittest.Git(t, b.repo, "rev-parse", b.run.Branch); now != tip {
				t.Errorf("the branch moved from %s to %s", tip, now)
			}
		})
	}
}

// A reviewer gets a worktree with the commit that passed, and it is told what that is before the session is made.
func TestReviewRoom(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change("new.txt", "new\n")
	commit := b.judge()
	b.change("new.txt", "something else\n") // what the developer has by now is not what was judged
	s := &delivery.Session{ID: "item-1.1", Role: agentsig.RoleCritic, Task: "T-1", Agent: "none"}
	in, err := b.room(t.Context(), order.Order{Command: delivery.Command{Session: s}, Run: b.run.Copy(), Reviews: true})
	if err != nil || in.commit != commit || in.base == "" {
		t.Fatalf("%+v, %v", in, err)
	}
	if text, err := os.ReadFile(filepath.Join(in.path, "new.txt")); err != nil || string(text) != "new\n" {
		t.Errorf("it sees %q, %v", text, err)
	}
	if shown, ok := b.last().(delivery.Shown); !ok || shown.Commit != commit || shown.Base != in.base || shown.Session != s.ID {
		t.Errorf("told %+v", b.last())
	}
	b.Gone(s.ID)
	b.Stop()
	if _, err := os.Stat(in.path); !os.IsNotExist(err) {
		t.Errorf("its worktree is left: %v", err)
	}
}

// An order that nobody knows is an error, and so is one whose context has ended.
func TestNoSuchOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.CarryOut(t.Context(), order.Order{Command: delivery.Command{ID: "x", Do: "dance"}}); err == nil {
		t.Error("it was carried out")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.CarryOut(ctx, order.Order{Command: delivery.Command{ID: "baseline/0", Do: delivery.DoBaseline}, Run: b.run.Copy()}); err == nil || len(b.told) > 0 {
		t.Errorf("%v, told %+v", err, b.told)
	}
}
