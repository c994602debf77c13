package trailer_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// elsewhere is a ledger of a merge whose checks ran on a runner, each event of it as it can be forged.
type elsewhere struct {
	what     string // the type of the event by which the runner has joined
	joined   access.RunnerEvent
	gate     work.Gate
	passed   string // the type of the event of the gate
	private  ed25519.PrivateKey
	run      string // that it has signed
	late     bool   // it joined afterwards
	others   int    // events between the gate and the merge
	tampered func(*work.Gate)
	removes  int // which file is gone when it is opened, as when a box seals meanwhile, counted from 1; 0 for none
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := hash(t, public)
	return &elsewhere{
		what: access.RunnerJoined, joined: access.RunnerEvent{Name: "gpu1", Key: &key}, private: private, run: "R1", passed: work.GatePassed,
		gate: work.Gate{Commit: merges, Runner: "gpu1", Checks: []work.Check{{Name: "test", Passed: true}}, Signed: &work.Signed{Order: "gate/T-1/1", Key: public, Joined: 2}},
	}
}

// removed are files of which one is gone when it is opened.
type removed struct {
	fstest.MapFS
	opened, gone int
}

func (r *removed) Open(name string) (fs.File, error) {
	if r.opened++; r.opened == r.gone {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return r.MapFS.Open(name)
}

// hash is what a key is known by.
func hash(t *testing.T, public ed25519.PublicKey) (h ledger.Hash) {
	t.Helper()
	sum, err := hex.DecodeString(work.KeySHA256(public))
	if err != nil {
		t.Fatal(err)
	}
	copy(h[:], sum)
	return h
}

// against writes the ledger, and holds the merge against it: 1 the task, 2 the runner joins, 3 the gate, 4 the audit.
func (x *elsewhere) against(t *testing.T) (*trailer.Checks, error) {
	t.Helper()
	b := newBook(t, "ledger.example")
	b.add(work.WorkAdded, "operator", work.Added{ID: "R1.T-1"})
	join := func() {
		b.subject = "RUNNERS"
		b.add(x.what, "runner:gpu1", x.joined)
		b.subject = "ITEM"
	}
	if !x.late {
		join()
	}
	if x.gate.Signed != nil {
		x.gate.Signed.Signature = ed25519.Sign(x.private, x.gate.Statement(x.run, "T-1", "ITEM", true).Text())
	}
	if x.tampered != nil {
		x.tampered(&x.gate)
	}
	b.add(x.passed, work.GateActor, x.gate)
	if x.late {
		join()
	}
	b.subject = "OTHER"
	for n := range x.others {
		b.add(work.WorkAdded, "operator", work.Added{ID: fmt.Sprint(n)})
	}
	b.subject = "ITEM"
	a := allowed()
	a.Verdict = uint64(b.add(work.AgentSessionCompleted, "auditor", audit()))
	c := b.commit(b.add(work.MergeAllowed, work.BoxActor, a))
	p, err := trailer.Check(c, b.key)
	if err != nil {
		t.Fatal(err)
	}
	files := &removed{MapFS: b.files}
	f, err := ledger.OpenFiles(files, b.key)
	if err != nil {
		t.Fatal(err)
	}
	files.opened, files.gone = 0, x.removes
	r, err := p.Against(f)
	return r.Checks, err
}

// Whose word it is that checks have passed follows from the ledger alone.
func TestChecks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(x *elsewhere)
		want   *trailer.Checks
	}{
		"signed":           {func(*elsewhere) {}, &trailer.Checks{Event: 3, Runner: "gpu1", Joined: 2}},
		"long ago":         {func(x *elsewhere) { x.others = 2500 }, &trailer.Checks{Event: 3, Runner: "gpu1", Joined: 2}},
		"before signing":   {func(x *elsewhere) { x.gate.Signed = nil }, &trailer.Checks{Event: 3, Runner: "gpu1"}},
		"at home":          {func(x *elsewhere) { x.gate.Signed, x.gate.Runner = nil, "" }, nil},
		"of another":       {func(x *elsewhere) { x.gate.Commit = other }, nil},
		"that have failed": {func(x *elsewhere) { x.passed = work.GateFailed }, nil},
	} {
		x := newElsewhere(t)
		c.change(x)
		got, err := x.against(t)
		if err != nil || (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A file that is gone, as when the ledger's box seals meanwhile, is no word against what was checked: who looks again finds what is in its place.
func TestChecksMeanwhile(t *testing.T) {
	for n := 1; ; n++ {
		x := newElsewhere(t)
		x.removes = n
		got, err := x.against(t)
		if err == nil && n > 7 && *got == (trailer.Checks{Event: 3, Runner: "gpu1", Joined: 2}) { // no more files are opened
			break
		}
		if _, isFault := trailer.IsFault(err); isFault || !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("file %d is gone: %+v, %v", n, got, err)
		}
	}
}

// What is forged of it is told.
func TestChecksForged(t *testing.T) {
	stranger, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, forge := range map[string]func(x *elsewhere){
		"another's key":              func(x *elsewhere) { *x.joined.Key = hash(t, stranger) },
		"another's name":             func(x *elsewhere) { x.joined.Name = "gpu2" },
		"a result in another's name": func(x *elsewhere) { x.tampered = func(g *work.Gate) { g.Runner, g.Signed.Joined = "gpu2", 2 } },
		"no key":                     func(x *elsewhere) { x.joined.Key = nil },
		"who never joined":           func(x *elsewhere) { x.what = access.RunnerDrained },
		"who joined later":           func(x *elsewhere) { x.late, x.gate.Signed.Joined = true, 3 },
		"no event":                   func(x *elsewhere) { x.gate.Signed.Joined = 99 },
		"the event before the first": func(x *elsewhere) { x.gate.Signed.Joined = 0 },
		"another run's":              func(x *elsewhere) { x.run = "R2" },
		"a check more": func(x *elsewhere) {
			x.tampered = func(g *work.Gate) { g.Checks = append(g.Checks, work.Check{Name: "lint", Passed: true}) }
		},
		"no signature":  func(x *elsewhere) { x.tampered = func(g *work.Gate) { g.Signed.Signature = nil } },
		"another order": func(x *elsewhere) { x.tampered = func(g *work.Gate) { g.Signed.Order = "gate/T-1/2" } },
	} {
		x := newElsewhere(t)
		forge(x)
		got, err := x.against(t)
		if kind, _ := trailer.IsFault(err); kind != trailer.Contrary || got != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
