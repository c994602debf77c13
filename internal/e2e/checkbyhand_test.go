//go:build unix

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// gateByHand are settings by which the box checks work by hand: nobody may have written `bad`.
const gateByHand = "gate: {checks: on}\nchecks: [{name: good, command: '! grep bad work.txt', timeout: 20s}]\n"

// branch commits a file on a branch, beside the checkout.
func (h hand) branch(name, text string) (commit string) {
	h.t.Helper()
	tree := filepath.Join(h.t.TempDir(), "tree")
	if list := h.git("branch", "--list", name); list == "" {
		h.git("branch", name)
	}
	h.git("worktree", "add", "-q", tree, name)
	if err := os.WriteFile(filepath.Join(tree, "work.txt"), []byte(text+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.git("-C", tree, "add", "-A")
	h.git("-C", tree, "commit", "-qm", text)
	commit = h.git("-C", tree, "rev-parse", "HEAD")
	h.git("worktree", "remove", "--force", tree)
	return commit
}

// item returns the item T-1.
func (h hand) item() api.Work {
	h.t.Helper()
	var w api.Work
	if err := json.Unmarshal([]byte(h.must("work", "show", "T-1", "--json")), &w); err != nil {
		h.t.Fatal(err)
	}
	return w
}

// leaves waits until the item has left CI_PENDING, and returns where it is then.
func (h hand) leaves() agentsig.Phase {
	h.t.Helper()
	h.until("T-1 leaves CI_PENDING", func() bool { return h.item().Phase != agentsig.PhaseCIPending })
	return h.item().Phase
}

// By hand, the box runs the checks on an item's branch: what fails comes to the next developer, what passes to the critic. It
// does so also where no agents are set, and nothing of it is done in the user's repository.
func TestHandGate(t *testing.T) {
	t.Parallel()
	h := hand{newWorld(t, "")}
	h.write("signalbox.yaml", gateByHand)
	box := h.up()
	h.must("work", "add", "--id", "T-1", "--title", "fix the parser", "--phase", "IMPLEMENTATION", "--branch", "fix/parser")
	g := h.claim("developer")
	if g.Branch != "fix/parser" {
		t.Errorf("the developer is told of the branch %q", g.Branch)
	}
	bad := h.branch("fix/parser", "bad")
	before := h.git("for-each-ref")
	h.emit(g, "READY_FOR_REVIEW: T-1")
	if phase := h.leaves(); phase != agentsig.PhaseImplementation {
		t.Fatalf("what fails is in %s\n%s", phase, box.said.String())
	}
	g = h.claim("developer")
	if g.Findings == nil || g.Findings.Commit != bad || !strings.Contains(g.Findings.Text, "these checks failed: good") || g.Findings.By != work.GateActor {
		t.Errorf("the next developer is told %+v", g.Findings)
	}
	if log := h.must("logs", "T-1"); !strings.Contains(log, "gate") || !strings.Contains(log, "$ ! grep bad work.txt") {
		t.Errorf("the logs:\n%s", log)
	}
	if after := h.git("for-each-ref"); after != before {
		t.Errorf("refs were\n%s\nand are\n%s", before, after)
	}
	good := h.branch("fix/parser", "good")
	h.emit(g, "READY_FOR_REVIEW: T-1")
	if phase := h.leaves(); phase != agentsig.PhaseReadyForReview {
		t.Fatalf("what passes is in %s\n%s", phase, box.said.String())
	}
	if p := payload[work.Gate](h.world, "GatePassed"); p.Commit != good || len(p.Checks) != 1 || !p.Checks[0].Passed {
		t.Errorf("recorded %+v", p)
	}
	g = h.claim("critic")
	if g.Branch != "fix/parser" || g.Commit != good {
		t.Errorf("the critic is told of %s at %s", g.Branch, g.Commit)
	}
	if e := h.emit(g, "REVIEW_PASSED: T-1"); e.NextPhase != agentsig.PhaseReadyForMerge {
		t.Errorf("%+v", e)
	}
	want := []string{"WorkAdded", "LeaseGranted", "AgentSessionCompleted", "GateFailed", "LeaseGranted", "AgentSessionCompleted", "GatePassed", "ReviewStarted", "AgentSessionCompleted"}
	if got := h.types("T-1"); !slices.Equal(got, want) {
		t.Errorf("recorded %v", got)
	}
}

// By hand, a branch that is not there is a question, and its answer has the box look again.
func TestHandGateNoBranch(t *testing.T) {
	t.Parallel()
	h := hand{newWorld(t, gateByHand)}
	h.up()
	h.git("tag", "refs/heads/fix", "HEAD") // git would take it for the branch
	h.must("work", "add", "--id", "T-1", "--title", "x", "--phase", "IMPLEMENTATION", "--branch", "fix")
	h.emit(h.claim("developer"), "READY_FOR_REVIEW: T-1")
	if phase := h.leaves(); phase != agentsig.PhaseBlocked {
		t.Fatalf("it is in %s", phase)
	}
	if inbox := h.must("inbox"); !strings.Contains(inbox, "there is no branch fix in the box's repository") || !strings.Contains(inbox, "T-1-Q1") {
		t.Errorf("the inbox:\n%s", inbox)
	}
	if card := h.must("show", "T-1"); !strings.Contains(card, "there is no branch fix") {
		t.Errorf("the card:\n%s", card)
	}
	h.branch("fix", "good")
	h.must("answer", "T-1-Q1", "retry")
	h.until("it passes", func() bool { return h.item().Phase == agentsig.PhaseReadyForReview })
}

// A box that is stopped or killed while it checks leaves nothing running, and the next one checks again and says it once.
func TestHandGateKilled(t *testing.T) {
	t.Parallel()
	h := hand{newWorld(t, "gate: {checks: on}\nchecks: [{name: slow, command: 'echo >>../../../began; test -e ../../../goes-on || sleep 600'}]\n")}
	box := h.up()
	h.branch("fix", "good")
	h.must("work", "add", "--id", "T-1", "--title", "x", "--phase", "IMPLEMENTATION", "--branch", "fix")
	h.emit(h.claim("developer"), "READY_FOR_REVIEW: T-1")
	begins := func(times int) {
		t.Helper()
		h.until("the check begins", func() bool {
			began, err := os.ReadFile(filepath.Join(h.dir, "began"))
			return err == nil && len(began) == times
		})
	}
	begins(1)
	box.stop()
	if left := h.leftovers(); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	box = h.up()
	begins(2)
	if w := h.item(); !w.BoxChecks {
		t.Errorf("nothing says that the box checks it: %+v", w)
	}
	for _, command := range [][]string{{"work", "show", "T-1"}, {"show", "T-1"}, {"status"}} {
		if text := h.must(command...); !strings.Contains(text, "the box runs the checks") {
			t.Errorf("%v:\n%s", command, text)
		}
	}
	box.kill()
	if text := h.must("status"); !strings.Contains(text, "when a box runs (signalbox up), it runs the checks on T-1 (branch fix)") {
		t.Errorf("status:\n%s", text)
	}
	h.write("goes-on", "")
	h.up()
	if phase := h.leaves(); phase != agentsig.PhaseReadyForReview {
		t.Errorf("it is in %s", phase)
	}
	if got := h.types("T-1"); !slices.Equal(got[3:], []string{"GatePassed"}) {
		t.Errorf("recorded %v", got)
	}
}
