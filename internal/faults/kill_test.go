package faults_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/box"
)

var kills = flag.Int("kills", 6, "how often TestKills kills the box; 50 for the full measure")

const clients = 32

// TestKills kills the real program again and again while clients work on it, and
// starts it again. The clients ask again for what they got no answer to.
func TestKills(t *testing.T) {
	k := newKillLoop(t)
	begun := time.Now()
	n := *kills
	if testing.Short() {
		n = min(n, 2)
	}
	for range n {
		k.round(t)
	}
	events := k.end(t)
	told := k.crowd.told()
	count := map[outcome]int{}
	for _, r := range told {
		count[r.outcome]++
	}
	t.Logf("%d kills, %d of them at the start, in %.1f s; %d clients made %d requests: %d acknowledged, %d refused, %d abandoned; %d answers lost besides; %d events, by an export; %d torn writes removed",
		n, k.early, time.Since(begun).Seconds(), clients, len(told), count[acked], count[refused], count[abandoned],
		k.line.lost.Load(), events, k.torn)
}

// killLoop is a box that is killed, and the clients that work on it.
type killLoop struct {
	program, dir string
	token        string
	line         *line
	crowd        *crowd
	chance       *rand.Rand
	seen         [][]byte // the events that were listed last

	early int // kills of a box that had not started yet
	torn  int // starts that removed a torn write
}

func newKillLoop(t *testing.T) *killLoop {
	k := &killLoop{program: build(t), dir: filepath.Join(t.TempDir(), "box"), chance: rand.New(rand.NewPCG(1, 2))}
	var err error
	if k.line, err = newLine(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	first := k.start(t) // makes the tokens
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	if k.token, err = box.Dir(k.dir).APIToken(); err != nil {
		t.Fatal(err)
	}
	gate, err := os.ReadFile(filepath.Join(k.dir, "gate.token"))
	if err != nil {
		t.Fatal(err)
	}
	k.crowd = gather(t.Context(), k.line.address(), k.token, string(gate[:len(gate)-1]), clients, 1)
	t.Cleanup(func() {
		k.crowd.leave()
		if err := k.line.close(); err != nil {
			t.Error(err)
		}
		k.crowd.running.Wait()
	})
	return k
}

func (k *killLoop) start(t *testing.T) *process {
	t.Helper()
	p, err := launch(t, k.program, k.dir)
	if err == nil {
		err = p.listens()
	}
	if err != nil {
		t.Fatal(err)
	}
	if tornWrite(p.found.Notes) {
		k.torn++
	}
	k.line.to(p.found.Address)
	return p
}

// round starts the box, looks whether everything is there, and kills it after some
// acknowledgements more; now and then also before it listens.
func (k *killLoop) round(t *testing.T) {
	t.Helper()
	if k.chance.IntN(4) == 0 {
		k.early++
		p, err := launch(t, k.program, k.dir)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(k.chance.IntN(60)) * time.Millisecond) // any moment will do
		if err := p.kill(); err != nil {
			t.Fatal(err)
		}
		return
	}
	p := k.start(t)
	k.look(t, p, k.crowd.told(), false)
	if err := k.crowd.until(t.Context(), 1+k.chance.IntN(400)); err != nil {
		t.Fatal(err)
	}
	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
}

// look lists the box's events and holds what was told before against them.
func (k *killLoop) look(t *testing.T, p *process, told []request, ended bool) {
	t.Helper()
	events, err := listed(t.Context(), p.found.Address, k.token)
	if err == nil {
		err = continues(events, k.seen)
	}
	if err == nil {
		err = check(events, told, ended)
	}
	if err != nil {
		t.Fatal(err)
	}
	k.seen = events
}

// end lets the clients finish, stops the box, and holds an export of the archive
// against all that was told: what the box itself says does not count there. It returns how
// many events there are.
func (k *killLoop) end(t *testing.T) int {
	t.Helper()
	p := k.start(t)
	k.crowd.disperse()
	k.look(t, p, k.crowd.told(), true)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	key, err := box.Dir(k.dir).Verifier()
	if err != nil {
		t.Fatal(err)
	}
	export := filepath.Join(t.TempDir(), "export")
	if out, err := exec.CommandContext(t.Context(), k.program, "ledger", "export", export, "--dir", k.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	events, err := verified(os.DirFS(export), key)
	if err == nil {
		err = continues(events, k.seen)
	}
	if err == nil {
		err = check(events, k.crowd.told(), true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(events)
}
