package runner

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gate"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/redact"
)

// next makes the runner of a box that is started after this one's was killed.
func (b *bench) next() *Runner {
	b.t.Helper()
	x, err := New(b.t.Context(), Options{
		Dir: b.dir, Program: b.program, Site: b.Site, Conductor: b.listener, Mail: mailbox.New(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Redact: b.redact, Hidden: b.hidden,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(x.Stop)
	return x
}

// What a box that was killed left running is ended in every place that it had: each run's merges are checked in one of their own.
func TestGatesAreSwept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.gatePath(gatePlaces + 3)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	left, err := process.Start(process.Command{Path: "sleep", Args: []string{"600"}, Dir: path, Env: os.Environ(), Marker: marker(path)})
	if err != nil {
		t.Fatal(err)
	}
	defer left.End(0)
	b.next()
	select {
	case <-left.Done():
	case <-time.After(time.Minute):
		t.Error("it runs on")
	}
}

// The worktree of a review that a killed box had begun to make is gone before the next one begins it anew.
func TestReviewIsMadeAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change("new.txt", "new\n")
	commit := b.judge()
	path := b.reviewPath("item-1.1")
	if err := b.exchange.AddDetached(t.Context(), path, commit); err != nil {
		t.Fatal(err)
	}
	x := b.next()
	unlock, err := x.starting.Lock(t.Context(), "item-1.1") // as who starts it does
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("it is removed while the review begins: %v", err)
	}
}

// Nothing is left of a review that could not be made ready.
func TestBrokenReview(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change("new.txt", "new\n")
	b.judge()
	b.config.Worktree.Setup = "echo no room; false"
	b.start(delivery.Session{ID: "item-1.1", Role: agentsig.RoleCritic, Task: "T-1"})
	if end, ok := b.last().(delivery.End); !ok || end.How != delivery.Broken {
		t.Fatalf("told %+v", b.last())
	}
	b.Stop()
	if _, err := os.Lstat(b.reviewPath("item-1.1")); !os.IsNotExist(err) {
		t.Errorf("its worktree is left: %v", err)
	}
}

// The temporary files of one task are nobody else's: neither what checks left there and nobody may change, nor the worktree of a task
// whose id looks like their name. (The first needs a user other than root to fail.)
func TestTempIsOwn(t *testing.T) {
	b := confined(t)
	tree := b.treePath("R1", "T-1")
	planted, other := filepath.Join(tree+tempSuffix, "cache"), b.treePath("R1", "T-1.tmp")
	for _, dir := range []string{tree, planted, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(planted, 0o500); err != nil {
		t.Fatal(err)
	}
	_, done, err := b.shell(tree, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(planted, "file")); !os.IsNotExist(err) {
		t.Errorf("the next checks find what others left: %v", err)
	}
	done()
	if _, err := os.Stat(filepath.Join(other, "file")); err != nil {
		t.Errorf("another task's worktree: %v", err)
	}
}

// A secret that a check prints is not told, also if its beginning is not among what is.
func TestSecretsOfChecks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	secrets, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b.redact = secrets.Text
	line := strings.Repeat("MIIEpAIBAAKCAQEA", 4)
	dash := "-----"
	key := dash + "BEGIN RSA PRIVATE KEY" + dash + "\n" + strings.Repeat(line+"\n", 60) + dash + "END RSA PRIVATE KEY" + dash + "\n"
	result := b.Runner.judge(gate.Report{Checks: []gate.Result{{Name: "c", Exit: 1, Output: key}}}, []gate.Check{{Name: "c", Command: "make"}})
	if strings.Contains(result.output, line) {
		t.Errorf("told: %s", result.output)
	}
}

// Neither is one that an agent's branch is named by, which does not pass the gate.
func TestSecretOfABranch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change("new.txt", "new\n")
	b.redact = func(text string) string { return strings.ReplaceAll(text, "hunter2", "[secret]") }
	tree := b.treePath("R1", "T-1")
	gittest.Git(t, tree, "checkout", "-q", "--orphan", "hunter2")
	gittest.Git(t, tree, "add", "-A")
	gittest.Git(t, tree, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "elsewhere")
	in, ok := b.carryOut(delivery.Command{ID: "gate/1", Do: delivery.DoGate}).(delivery.GateRan)
	if !ok || in.Passed || !slices.Contains([]string{in.Output, in.Trouble}, "") || !strings.Contains(in.Output+in.Trouble, "[secret]") {
		t.Errorf("told %+v", in)
	}
}
