//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// What a person hands in is what is judged and merged, whatever is in the worktree when the next box looks. Where nothing is changed,
// it is not handed in.
func TestGivenIsJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "roles: {developer: {agent: person}}\n")
	w.tasks("T-1")
	w.deliver()
	var taken api.Taken
	w.decode(w.must("take", "T-1", "--json"), &taken)
	if r := w.signalbox("give", "T-1", "-m", "done"); r.code != 1 || !strings.Contains(r.err, "nothing is changed") || !strings.Contains(r.err, "--no-change") || !strings.Contains(r.err, "--back") {
		t.Errorf("nothing is changed, and it is handed in: %+v", r)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(taken.Worktree, "mine.txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("given\n")
	w.must("give", "T-1", "-m", "done")
	write("changed after it\n")
	w.completed(w.goOn())
	if text := w.git("show", "signalbox/R1:mine.txt"); strings.TrimSpace(text) != "given" {
		t.Errorf("merged is %q", text)
	}
	if given, gate := payload[work.Result](w, work.AgentSessionCompleted).Given, payload[work.Gate](w, work.GatePassed).Commit; given == "" || given != gate {
		t.Errorf("%q was given, and the gate looked at %q", given, gate)
	}
}
