//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

// model starts a scripted model server that can be reached on the runner's machine alone, and has the program ask it there: where it is and
// where the program's home is are the machine's own, and do not travel.
func (r *far) model(program real, script string) (server *modeltest.Server, variables []string) {
	t := r.of.t
	t.Helper()
	if err := r.m.Inside(func() error {
		server = scripted(t, script)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	_, env := program.start(t, server.URL())
	for name, value := range env {
		variables = append(variables, name)
		r.env = append(r.env, name+"="+value)
	}
	slices.Sort(variables)
	return server, variables
}

// Real agents on a runner: a developer whose work a person sends back goes on in its conversation, on the same runner. When that one is gone,
// another developer begins afresh on another, and is told all.
func TestRunnersAgents(t *testing.T) {
	for _, name := range []string{"claude", "codex"} {
		for _, gone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s gone=%t", name, gone), func(t *testing.T) {
				among(t, gone == (name == "claude"))
				t.Parallel()
				program := reals[slices.IndexFunc(reals, func(r real) bool { return r.name == name })]
				bin := program.installed(t)
				w := newWorld(t, "")
				f := newFleet(w, 2)
				var servers []*modeltest.Server
				var variables []string
				for _, r := range f.far {
					server, names := r.model(program, "rework.txt")
					servers, variables = append(servers, server), names
				}
				f.node.stop()
				entry, err := json.Marshal(map[string]any{"adapter": program.adapter, "command": append([]string{filepath.Join(bin, program.command[0])}, program.command[1:]...), "env_from": variables})
				if err != nil {
					t.Fatal(err)
				}
				w.write("signalbox.yaml", fmt.Sprintf("agents: {real: %s}\nroles: {developer: {labels: [far]}, critic: {agent: person}, auditor: {labels: [far]}}\nlimits: {answer: 2m, runner_lost: 10s}\nsandbox: {kind: none}\nreview: unprotected\n", entry))
				w.git("commit", "-qam", "settings")
				w.tasks("T-1")
				f.up()
				first, second := f.far[0], f.far[1]
				first.start()
				f.back(first)
				w.reviews(w.deliver(), "critic")
				second.start()
				f.back(second)
				if gone {
					first.kill()
					f.lost(first)
				}
				w.must("review", "T-1", "--reject", "--comment", "greeting.txt:1: greet the world", "--comment", "greeting.txt:1: with an exclamation mark")
				w.reviews(w.goOn(), "critic")
				w.must("review", "T-1", "--accept")
				w.completed(w.goOn())
				if got := w.git("show", "signalbox/R1:greeting.txt"); got != "hello world!" {
					t.Errorf("merged: %q", got)
				}
				grants, ends := w.granted("developer"), w.endings("developer")
				if len(grants) != 2 || len(ends) != 2 || ends[0].Conversation == nil || ends[1].Conversation == nil {
					t.Fatalf("granted: %+v, ended: %+v", grants, ends)
				}
				on := map[bool]string{false: first.name, true: second.name}[gone]
				if grants[0].Runner != first.name || grants[1].Runner != on || (grants[1].Resumes == "") != gone || (grants[1].Fresh != "") != gone {
					t.Errorf("granted: %+v", grants)
				}
				if same := ends[0].Conversation.ID == ends[1].Conversation.ID; same == gone {
					t.Errorf("the conversations are %+v and %+v", ends[0].Conversation, ends[1].Conversation)
				}
				asked := [2]int{}
				for i, s := range servers {
					for _, q := range s.Requests() {
						if strings.HasPrefix(q.Conversation, "the developer") {
							asked[i]++
						}
					}
				}
				if asked[0] == 0 || (asked[1] > 0) != gone {
					t.Errorf("the models on the two machines were asked %v times by developers", asked)
				}
				t.Logf("granted %+v; asked %v", grants, asked)
				f.over()
			})
		}
	}
}
