//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// endings returns how the sessions in a role ended.
func (w *world) endings(role string) (all []delivery.Ended) {
	w.t.Helper()
	for _, e := range w.events() {
		var end delivery.Ended
		if e.Type == delivery.SessionEnded && json.Unmarshal(e.Payload, &end) == nil && end.Role == role {
			all = append(all, end)
		}
	}
	return all
}

// granted returns what was granted to agents in a role.
func (w *world) granted(role string) (all []work.Granted) {
	w.t.Helper()
	for _, e := range w.events() {
		var p work.Granted
		if e.Type == work.LeaseGranted && json.Unmarshal(e.Payload, &p) == nil && string(p.Role) == role {
			all = append(all, p)
		}
	}
	return all
}

// A person sends work back with two comments, and the developer mends it in its own conversation: the model is asked with all that
// was said before. What it has used is counted once. If the conversation is gone, the ledger says so, and the developer is told
// all. The auditor begins afresh.
func TestAgentsRework(t *testing.T) {
	for _, c := range []struct {
		program string
		lost    bool
		sandbox sandbox.Kind
		part    bool
	}{
		{"claude", false, sandbox.None, false}, {"claude", true, sandbox.None, false}, {"claude", false, sandbox.Landlock, true},
		{"codex", false, sandbox.None, true}, {"codex", true, sandbox.None, false}, {"codex", false, sandbox.Bubblewrap, false},
		{"claude-acp", false, sandbox.None, false}, {"claude-acp", true, sandbox.None, true}, {"codex-acp", false, sandbox.None, false},
	} {
		name := c.program
		switch {
		case c.lost:
			name += " loses it"
		case c.sandbox != sandbox.None:
			name += " in a sandbox"
		}
		t.Run(name, func(t *testing.T) {
			among(t, c.part)
			t.Parallel()
			if err := sandbox.Available(c.sandbox); err != nil {
				t.Skipf("NOT TESTED: %v", err)
			}
			r := reals[slices.IndexFunc(reals, func(r real) bool { return r.name == c.program })]
			server := scripted(t, "rework.txt")
			w := newWorld(t, "")
			entry := r.entry(t, server.URL())
			w.write("signalbox.yaml", fmt.Sprintf("agents: {real: %s}\nroles: {critic: {agent: person}}\nlimits: {answer: 2m}\nsandbox: {kind: %s}\nreview: unprotected\n", entry, c.sandbox))
			w.git("commit", "-qam", "settings")
			w.tasks("T-1")
			w.reviews(w.deliver(), "critic")
			if c.lost {
				forget(t, entry, w.endings("developer")[0].Conversation.ID)
			}
			w.must("review", "T-1", "--reject", "--comment", "greeting.txt:1: greet the world", "--comment", "greeting.txt:1: with an exclamation mark")
			w.reviews(w.goOn(), "critic")
			w.must("review", "T-1", "--accept")
			w.completed(w.goOn())
			defer func() {
				if t.Failed() {
					t.Log(w.story())
				}
			}()
			if got := w.git("show", "signalbox/R1:greeting.txt"); got != "hello world!" {
				t.Errorf("merged: %q", got)
			}
			want := []string{"ReviewStarted operator", "ReviewStarted operator"}
			if got := w.actors("T-1", work.ReviewStarted); !slices.Equal(got, want) {
				t.Errorf("who reviewed: %v", got)
			}
			grants, ends := w.granted("developer"), w.endings("developer")
			if len(grants) != 2 || grants[0].Resumes != "" || grants[1].Resumes == "" || len(ends) != 2 || ends[0].Conversation == nil || ends[1].Conversation == nil {
				t.Fatalf("granted: %+v, ended: %+v", grants, ends)
			}
			if same := ends[0].Conversation.ID == ends[1].Conversation.ID; same == c.lost {
				t.Errorf("the conversations are %+v and %+v", ends[0].Conversation, ends[1].Conversation)
			}
			if gone := slices.Contains(w.types("R1"), delivery.ConversationLost); gone != c.lost {
				t.Errorf("the conversation is gone: %v", gone)
			}
			for _, p := range w.granted("auditor") {
				if p.Resumes+p.Fresh != "" {
					t.Errorf("the auditor is granted %+v", p)
				}
			}
			all, counted := ends[0].Usage, ends[1].Conversation.Counted
			all.Add(ends[1].Usage)
			if !c.lost && (counted.Tokens() > 0 && counted.Tokens() != all.Tokens() || math.Abs(counted.CostUSD-all.CostUSD) > 1e-9) {
				t.Errorf("it has used %+v, and its program counts %+v", all, counted)
			}
			for i, want := range []int64{2170, 4180} {
				if got := ends[i].Usage.Tokens(); got != want {
					t.Errorf("developer %d has used %d tokens, want %d", i+1, got, want)
				}
			}
			asked := 0
			for _, q := range server.Requests() {
				if q.Conversation == "the developer" && q.Turn == 2 {
					asked++
				}
			}
			if (asked > 0) == c.lost {
				t.Errorf("%d requests go on with the conversation", asked)
			}
		})
	}
}

// forget removes what an agent's program has kept of a conversation.
func forget(t *testing.T, entry, conversation string) {
	t.Helper()
	var agent struct{ Env map[string]string }
	if err := json.Unmarshal([]byte(entry), &agent); err != nil {
		t.Fatal(err)
	}
	removed := 0
	err := filepath.WalkDir(agent.Env["HOME"], func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), conversation) {
			removed++
			if err = os.RemoveAll(path); err == nil && d.IsDir() {
				return fs.SkipDir
			}
		}
		return err
	})
	if err != nil || removed == 0 {
		t.Fatalf("nothing of the conversation %s is there: %v", conversation, err)
	}
}
