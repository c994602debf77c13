package clustersim_test

import (
	"fmt"
	"slices"
	"testing"
)

// calmly lets a world go on in which nothing goes wrong, with events.
func calmly(w *world, rounds int) {
	for n := range rounds {
		if w.round(n); n%5 == 0 && w.leader() != nil {
			_, _ = w.leader().propose("scene", "goes on")
		}
	}
}

// A disk that is put back or emptied does not take part, whoever it was, and whoever is left to tell.
func TestDiskWentBack(t *testing.T) {
	for _, leads := range []bool{false, true} {
		for _, without := range []string{"nobody", "the leader", "the other"} {
			for _, empty := range []bool{false, true} {
				name := fmt.Sprintf("the leader's %t, without %s, emptied %t", leads, without, empty)
				t.Run(name, func(t *testing.T) {
					w, restore := newWorld(1, noPlant)
					defer restore()
					w.forms()
					w.calm = true
					calmly(w, 40)
					copies := map[*box]*disk{}
					for _, b := range w.up() {
						copies[b] = b.disk.copied()
					}
					calmly(w, 40)
					leader := w.leader()
					if leader == nil || w.failed != nil {
						t.Fatalf("no cluster: %v", w.failed)
					}
					others := slices.DeleteFunc(w.up(), func(b *box) bool { return b == leader })
					b, rest := others[0], []*box{leader, others[1]}
					if leads {
						b, rest = leader, others
					}
					switch without {
					case "the leader":
						rest[0].crash()
					case "the other":
						rest[1].crash()
					}
					old := copies[b]
					if empty {
						old = newDisk()
					}
					w.putBack(b, old)
					if w.failed != nil {
						t.Error(w.failed)
					}
				})
			}
		}
	}
}

// Worlds that are rare, in each of which a rule was found to be needed that the first worlds of TestWorlds do without.
func TestRareWorlds(t *testing.T) {
	for seed, rule := range map[uint64]string{
		47:   "who becomes a voter answers",
		115:  "a member that was away for long asks whom its host knows",
		393:  "what another has applied is believed",
		445:  "what came in bundles alone removes nobody",
		1322: "a removed member asks those who should take part",
		5919: "another member's read is passed on to nobody",
	} {
		t.Run(rule, func(t *testing.T) {
			if w := play(seed, worldSteps, noPlant); w.failed != nil {
				t.Errorf("seed %d: %v", seed, w.failed)
			}
		})
	}
}
