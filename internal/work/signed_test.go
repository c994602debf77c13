package work_test

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/work"
)

// A signature is of one result, of one order on one task's work, by one key.
func TestSigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	stranger, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	result := func() work.Gate {
		return work.Gate{
			Commit: "c0ffee1", Checks: []work.Check{{Name: "test", Passed: true}}, Output: "all is well", Files: new(2), Runner: "gpu1", Signed: &work.Signed{Order: "gate/T-1/4"},
		}
	}
	said := result().Statement("R1", "T-1", "01ITEM", true)
	sign := func(text []byte) *work.Signed {
		return &work.Signed{Order: "gate/T-1/4", Key: public, Signature: ed25519.Sign(private, text)}
	}
	key := work.KeySHA256(public)
	if err := sign(said.Text()).Check(said, key); err != nil {
		t.Errorf("what was signed: %v", err)
	}
	for name, change := range map[string]func(g *work.Gate){
		"another commit":  func(g *work.Gate) { g.Commit = "c0ffee2" },
		"another check":   func(g *work.Gate) { g.Checks[0].Name = "lint" },
		"a check failed":  func(g *work.Gate) { g.Checks[0].Passed = false },
		"no checks":       func(g *work.Gate) { g.Checks = nil },
		"another output":  func(g *work.Gate) { g.Output = "all is bad" },
		"other files":     func(g *work.Gate) { g.Files = new(3) },
		"no files":        func(g *work.Gate) { g.Files = nil },
		"another runner":  func(g *work.Gate) { g.Runner = "gpu2" },
		"another order":   func(g *work.Gate) { g.Signed.Order = "gate/T-1/9" },
		"no order at all": func(g *work.Gate) { g.Signed = nil },
	} {
		g := result()
		change(&g)
		if err := sign(said.Text()).Check(g.Statement("R1", "T-1", "01ITEM", true), key); !errors.Is(err, work.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, other := range map[string]work.GateStatement{
		"another run":  result().Statement("R2", "T-1", "01ITEM", true),
		"another task": result().Statement("R1", "T-2", "01ITEM", true),
		"another item": result().Statement("R1", "T-1", "02ITEM", true),
		"it failed":    result().Statement("R1", "T-1", "01ITEM", false),
	} {
		if err := sign(said.Text()).Check(other, key); !errors.Is(err, work.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	short := sign(said.Text())
	short.Key = short.Key[1:]
	for name, bad := range map[string]*work.Signed{
		"none": nil, "empty": {}, "a short key": short,
		"another's key":       {Key: stranger, Signature: sign(said.Text()).Signature},
		"half a signature":    {Key: public, Signature: sign(said.Text()).Signature[:32]},
		"without what it is":  sign([]byte(strings.TrimPrefix(string(said.Text()), "signalbox gate result 1\n"))),
		"more than it is of ": sign(append(said.Text(), ' ')),
	} {
		if err := bad.Check(said, key); !errors.Is(err, work.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := sign(said.Text()).Check(said, work.KeySHA256(stranger)); !errors.Is(err, work.ErrSignature) {
		t.Errorf("a key that nobody has joined with: %v", err)
	}
}
