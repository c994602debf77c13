//go:build unix

package box

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// desk is a box for agents that work by hand in a directory of their own.
type desk struct {
	t *testing.T
	*Box
	dir, tree string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), tree: t.TempDir()}
	d.open()
	t.Cleanup(func() { closeBox(t, d.Box) })
	return d
}

func (d *desk) open() {
	d.t.Helper()
	b, _, err := Open(d.t.Context(), Options{Dir: Dir(d.dir), ExitEnabled: true, Redact: []string{"hunter2"}, Evidence: func(ref string) ([]byte, error) {
		return regular.ReadBelow(d.tree, ref, MaxEvidence, filepath.Join(d.tree, "keys"))
	}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.Box = b
}

// restart closes the box, which leaves a snapshot, and opens it again.
func (d *desk) restart() {
	d.t.Helper()
	closeBox(d.t, d.Box)
	d.open()
}

// says has somebody claim T-1 in a role and end with an output. It returns what they were given.
func (d *desk) says(role agentsig.Role, actor, output string) api.Grant {
	d.t.Helper()
	g, err := d.Claim(context.Background(), api.Claim{Work: "T-1", Role: role, Actor: actor}, "")
	if err != nil {
		d.t.Fatal(err)
	}
	e, err := d.Emit(g.Session, []byte(output), "")
	if err != nil || !e.Accepted {
		d.t.Fatalf("%s: %+v, %v", output, e, err)
	}
	return g
}

func (d *desk) gate(result string) {
	d.t.Helper()
	if _, err := d.Report("T-1", api.Report{Commit: "0a1b2c3", Result: result}, ""); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) shown() api.Work {
	d.t.Helper()
	w, err := d.Work("T-1")
	if err != nil {
		d.t.Fatal(err)
	}
	return w
}

const exitRecord = `{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"IMPLEMENTATION","exit_reason":"completed",`

// What an agent says that it did comes to the next one, whoever that is, also after a restart.
func TestSaidComesToTheNext(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if _, err := d.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-1", Title: "fix it", Asked: "It has to hold.\nAll of it; the password is hunter2.", Phase: agentsig.PhaseImplementation}, ""); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(d.tree, "evidence"), 0o700), os.WriteFile(filepath.Join(d.tree, "evidence", "t.yaml"), []byte("tests: 12\nkey: hunter2\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	first := d.says(agentsig.RoleDeveloper, "ann", exitRecord+`"pr_url":"https://github.com/a/b/pull/7","evidence_bundle_ref":"evidence/t.yaml","notes":"it holds"}`)
	if first.Title != "fix it" || !strings.HasPrefix(first.Asked, "It has to hold.\nAll of it; ") || strings.Contains(first.Asked, "hunter2") || first.Claim != nil || first.Findings != nil {
		t.Errorf("the first one is given %+v", first)
	}
	d.restart()
	d.gate("pass")
	critic := d.says(agentsig.RoleCritic, "bob", "REVIEW_FAILED: T-1\nRequired Fixes:\n- main.go: it does not hold\n")
	c := critic.Claim
	if c == nil || c.By != "ann" || c.Text != "it holds" || c.PRURL != "https://github.com/a/b/pull/7" || c.Phase != agentsig.PhaseImplementation || critic.PRURL != c.PRURL || critic.Findings != nil {
		t.Fatalf("the critic is given %+v", critic.Handoff)
	}
	kept, err := d.archive.Blob(critic.Evidence.SHA256)
	if err != nil || !strings.HasPrefix(string(kept), "tests: 12\nkey: ") || strings.Contains(string(kept), "hunter2") || critic.Evidence.Ref != "evidence/t.yaml" || critic.Evidence.Bytes != int64(len(kept)) {
		t.Errorf("the evidence is %+v: %q, %v", critic.Evidence, kept, err)
	}
	again := d.says(agentsig.RoleDeveloper, "eve", "All done.\nREADY_FOR_REVIEW: T-1\nSummary: it holds now\nFiles Modified:\n- main.go\n")
	if f := again.Findings; f == nil || f.By != "bob" || f.Text != "Required Fixes:\n- main.go: it does not hold" || again.Claim == nil || again.Claim.Sequence > f.Sequence {
		t.Errorf("the next developer is given %+v", again.Handoff)
	}
	d.gate("fail")
	w := d.shown()
	if c := w.Claim; c == nil || c.By != "eve" || c.Text != "Summary: it holds now\nFiles Modified:\n- main.go" || w.PRURL == "" || w.Evidence != nil {
		t.Errorf("after the second claim: %+v", w.Handoff)
	}
	if f := w.Findings; f == nil || f.By != work.GateActor || f.Commit != "0a1b2c3" || f.Text != "the gate failed" || f.Sequence < w.Claim.Sequence {
		t.Errorf("after the gate: %+v", w.Findings)
	}
	d.restart()
	if now := d.shown(); now.Claim.Sequence != w.Claim.Sequence || now.Findings.Sequence != w.Findings.Sequence || now.Asked != first.Asked {
		t.Errorf("after a restart: %+v", now.Handoff)
	}
}

// A forge of one's own takes its field out of an exit record, and nothing else.
func TestLeftOutURL(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if _, err := d.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-1", Title: "fix it", Phase: agentsig.PhaseImplementation}, ""); err != nil {
		t.Fatal(err)
	}
	d.says(agentsig.RoleDeveloper, "ann", exitRecord+`"pr_url":"https://git.example.org:8443/a/b/7","notes":"it holds"}`)
	w := d.shown()
	if c := w.Claim; w.Phase != agentsig.PhaseCIPending || c.PRURL != "" || w.PRURL != "" || c.Text != "it holds" || c.LeftOut != "pr_url: names a port: 'https://git.example.org:8443/a/b/7'" {
		t.Errorf("the claim is %+v", c)
	}
}

// Whatever an agent names as evidence, nothing is read outside of its directory, nothing waited for, and the claim says so.
func TestHostileEvidence(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	in := func(name string) string { return filepath.Join(d.tree, name) }
	if err := errors.Join(
		syscall.Mkfifo(in("pipe"), 0o600), os.Symlink("/etc/passwd", in("passwd")), os.Symlink("/etc", in("etc")), os.Mkdir(in("keys"), 0o700),
		os.WriteFile(in("keys/gate.token"), []byte("secret"), 0o600), os.WriteFile(in("large"), make([]byte, MaxEvidence+1), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"pipe", "passwd", "etc/passwd", "keys/gate.token", "large", "nothing", "keys"} {
		if _, err := d.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "E-" + strings.ReplaceAll(ref, "/", "."), Title: ref, Phase: agentsig.PhaseImplementation}, ""); err != nil {
			t.Fatal(err)
		}
		g, err := d.Claim(t.Context(), api.Claim{Work: "E-" + strings.ReplaceAll(ref, "/", "."), Actor: "ann"}, "")
		if err != nil {
			t.Fatal(err)
		}
		if e, err := d.Emit(g.Session, []byte(exitRecord+`"evidence_bundle_ref":"`+ref+`"}`), ""); err != nil || !e.Accepted {
			t.Fatalf("%s: %+v, %v", ref, e, err)
		}
		w, err := d.Work(g.Work)
		if err != nil || w.Evidence == nil || w.Evidence.Problem == "" || w.Evidence.SHA256 != (ledger.Hash{}) || strings.Contains(w.Evidence.Problem, d.tree) {
			t.Errorf("%s: %+v, %v", ref, w.Evidence, err)
		}
	}
	g, err := d.Claim(t.Context(), api.Claim{Actor: "ann"}, "")
	if !errors.Is(err, ErrNothing) {
		t.Fatalf("%+v, %v", g, err)
	}
	if _, err := d.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-1", Title: "up", Phase: agentsig.PhaseImplementation}, ""); err != nil {
		t.Fatal(err)
	}
	if g, err = d.Claim(t.Context(), api.Claim{Actor: "ann"}, ""); err != nil {
		t.Fatal(err)
	}
	if e, err := d.Emit(g.Session, []byte(exitRecord+`"evidence_bundle_ref":"../../etc/passwd"}`), ""); err != nil || e.Accepted {
		t.Errorf("a path upwards: %+v, %v", e, err)
	}
}
