package memberlog

import (
	"errors"
	"strings"
	"testing"
)

func event(index, term uint64) Entry {
	return Entry{Index: index, Term: term, Kind: Event, Subject: "a", Data: []byte("x")}
}

// kept is a log of entries 1 to 4, of which 2 are committed.
func kept() Kept {
	var k Kept
	s := State{ID: 1, Term: 2, Vote: 1, Commit: 2, At: Mark{1, 1, 0}, Members: Members{Voters: []uint64{1}}}
	if err := k.Add(Write{Entries: []Entry{{Index: 1, Term: 1}, event(2, 1), event(3, 1)}, State: s}); err != nil {
		panic(err)
	}
	if err := k.Add(Write{Entries: []Entry{event(4, 2)}, State: s}); err != nil {
		panic(err)
	}
	return k
}

// A log that is read back is what was written; what no member wrote is damage.
func TestKept(t *testing.T) {
	k := kept()
	if end := k.End(); end != (Mark{4, 2, 3}) {
		t.Errorf("it ends at %+v", end)
	}
	next := k.State
	next.Term, next.Vote = 3, 0
	if err := k.Add(Write{Cut: &Mark{2, 1, 1}, Entries: []Entry{event(3, 3)}, State: next}); err != nil {
		t.Fatal(err)
	}
	if end := k.End(); end != (Mark{3, 3, 2}) || len(k.Entries) != 3 {
		t.Errorf("after a cut it ends at %+v", end)
	}
	base := next
	base.Commit, base.At = 10, Mark{10, 3, 8}
	if err := k.Add(Write{Base: &base.At, State: base}); err != nil {
		t.Fatal(err)
	}
	if end := k.End(); end != base.At || len(k.Entries) != 0 {
		t.Errorf("after a base it ends at %+v with %d entries", end, len(k.Entries))
	}

	for what, w := range map[string]func(w *Write){
		"entry 2 was committed":       func(w *Write) { w.Cut = &Mark{1, 1, 0} },
		"cut back to entry 5":         func(w *Write) { w.Cut = &Mark{5, 2, 4} },
		"has term 1 and event 2":      func(w *Write) { w.Cut = &Mark{3, 1, 1} },
		"and 2 was committed":         func(w *Write) { w.Base = &Mark{1, 1, 0} },
		"entry 6 of term 2 follows":   func(w *Write) { w.Entries = []Entry{event(6, 2)} },
		"entry 5 of term 1 follows":   func(w *Write) { w.Entries = []Entry{event(5, 1)} },
		"its state goes back: term":   func(w *Write) { w.State.Term = 1 },
		"commit 1 after 2":            func(w *Write) { w.State.Commit = 1 },
		"has two votes in term 2":     func(w *Write) { w.State.Vote = 3 },
		"entry 9 was committed":       func(w *Write) { w.State.Commit = 9 },
		"its state knows term 2 only": func(w *Write) { w.Entries = []Entry{event(5, 3)} },
		"member 3 wrote after":        func(w *Write) { w.State.ID = 3 },
		"names no member":             func(w *Write) { w.State.ID = 0 },
		"not in order":                func(w *Write) { w.State.Members.Voters = []uint64{3, 1} },
	} {
		k := kept()
		write := Write{State: k.State}
		w(&write)
		err := k.Add(write)
		if what == "entry 2 was committed" {
			what = "and 2 was committed"
		}
		var damage *Damage
		if !errors.As(err, &damage) || !strings.Contains(err.Error(), what) {
			t.Errorf("want %q, got %v", what, err)
		}
	}
}

// A start refuses a log that can't be gone on with.
func TestCheck(t *testing.T) {
	for what, change := range map[string]func(k *Kept){
		"does not say whose":         func(k *Kept) { k.State = State{} },
		"begins after entry 3":       func(k *Kept) { k.Before = Mark{3, 1, 0}; k.Entries = nil },
		"the bundles hold 9 events":  func(k *Kept) { k.Covered = 9 },
		"begins after event 5":       func(k *Kept) { k.Before.Seq = 5 },
		"is not the one that was":    func(k *Kept) { k.State.At.Seq = 1 },
		"follows entry 1 of term 1":  func(k *Kept) { k.Entries = append(k.Entries[:1:1], k.Entries[2:]...) },
		"entry 7 was committed, and": func(k *Kept) { k.State.Commit = 7 },
	} {
		k := kept()
		change(&k)
		if err := k.Check(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want %q, got %v", what, err)
		}
	}
}
