package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/plan"
)

// The setup of a reviewer's worktree has a home directory that is gone afterwards, and what it changed of the commit is put
// back.
func TestReviewIsSetUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change("new.txt", "new\n")
	b.judge()
	homes := filepath.Join(t.TempDir(), "homes")
	b.config.Worktree.Setup = "echo $HOME >>" + homes + "; echo made >made.txt; echo forged >README.md"
	s := &delivery.Session{ID: "item-1.1", Role: agentsig.RoleCritic, Task: "T-1", Agent: "none"}
	in, err := b.room(t.Context(), order.Order{Command: delivery.Command{Session: s}, Run: b.run.Copy(), Reviews: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"made.txt": "made\n", "README.md": "good\n", "new.txt": "new\n"} {
		if text, err := os.ReadFile(filepath.Join(in.path, name)); err != nil || string(text) != want {
			t.Errorf("%s has %q, %v", name, text, err)
		}
	}
	text, err := os.ReadFile(homes)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.TrimSpace(string(text))
	if own == os.Getenv("HOME") || !strings.HasPrefix(own, b.dir) {
		t.Errorf("the setup had the home directory %s", own)
	}
	if _, err := os.Stat(own); !os.IsNotExist(err) {
		t.Errorf("the home directory %s is left: %v", own, err)
	}
}

// What a program of a reviewer's would take settings from is not in its worktree.
func TestConcealed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.Agents["opencode"] = config.Agent{Adapter: config.AdapterACP, Command: []string{"opencode", "acp"}}
	b.change("opencode.json", "{}\n")
	commit := b.judge()
	path := b.reviewPath("s")
	if err := b.exchange.AddDetached(t.Context(), path, commit); err != nil {
		t.Fatal(err)
	}
	names, err := b.conceal(t.Context(), delivery.Session{Agent: "opencode"}, path)
	if err != nil || len(names) == 0 {
		t.Fatalf("%q are concealed, %v", names, err)
	}
	if _, err := os.Stat(filepath.Join(path, "opencode.json")); !os.IsNotExist(err) {
		t.Errorf("opencode.json is there: %v", err)
	}
	if names, err := b.conceal(t.Context(), delivery.Session{Agent: "none"}, path); err != nil || len(names) > 0 {
		t.Errorf("of a program that takes no settings %q are concealed, %v", names, err)
	}
}

// What a box that was killed left of reviews that are over is removed by the next one; a review that is still to be started keeps
// its worktree.
func TestReviewsAreSwept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change("new.txt", "new\n")
	commit := b.judge()
	temp := b.reviewPath("gone") + tempSuffix
	if err := os.MkdirAll(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gone", "item-1.1"} {
		if err := b.exchange.AddDetached(t.Context(), b.reviewPath(name), commit); err != nil {
			t.Fatal(err)
		}
	}
	s := &delivery.Session{ID: "item-1.1", Role: agentsig.RoleCritic, Task: "T-1", Agent: "none"}
	if err := b.prepare(t.Context(), order.Order{Command: delivery.Command{Session: s}, Run: b.run.Copy(), Plan: plan.Plan{Tasks: []plan.Task{{ID: "T-1"}}}, Reviews: true}); err != nil {
		t.Fatal(err)
	}
	if err := b.sweepReviews(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Stop()
	for _, path := range []string{temp, b.reviewPath("gone")} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if _, err := os.Stat(b.reviewPath(s.ID)); err != nil {
		t.Error(err)
	}
}
