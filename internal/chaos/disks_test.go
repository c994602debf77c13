//go:build linux

package chaos

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

var update = flag.Bool("update", false, "write testdata/disks.txt anew")

// recorder adds items, and knows which were acknowledged.
type recorder struct {
	*world
	client *api.Client
	acked  []string
}

func (w *world) recorder() *recorder {
	return &recorder{world: w, client: api.ClientOver(&carrier{w: w, again: opTime}, w.token)}
}

// add adds so many items, each of which has to be acknowledged.
func (r *recorder) add(count int) {
	r.t.Helper()
	for range count {
		ctx, cancel := context.WithTimeout(context.Background(), opTime)
		v, err := r.client.Add(ctx, api.AddWork{Title: fmt.Sprintf("item %d", len(r.acked))})
		cancel()
		if err != nil {
			r.t.Fatal(err)
		}
		r.acked = append(r.acked, v.Subject)
	}
}

// missing returns how many acknowledged items are not among the events.
func (r *recorder) missing(events []eventOf) (count int) {
	there := map[string]bool{}
	for _, e := range events {
		there[e.Subject] = true
	}
	for _, subject := range r.acked {
		if !there[subject] {
			count++
		}
	}
	return count
}

// TestDisks damages the disks of boxes that do not run, or puts older ones back, and holds what happens then.
func TestDisks(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	t.Parallel() // it mostly waits
	var table strings.Builder
	say := func(what, happens string) {
		t.Logf("%s: %s", what, happens)
		fmt.Fprintf(&table, "%s: %s\n", what, happens)
	}
	w := newCluster(t, 0)
	r := w.recorder()
	r.add(300)
	w.quiet()
	w.restart() // so that there are snapshots
	r.add(40)
	for _, d := range damages {
		say("a bit of "+d.kind, r.damage(d))
	}
	say("an older directory of one", r.older(2))
	say("older directories of two", r.older(1, 2))
	events := w.close()
	if lost := r.missing(events); lost > 0 {
		t.Errorf("%d acknowledged events are in no archive", lost)
	}
	say("older directories of all three", r.olderAll(len(events)))
	const file = "testdata/disks.txt"
	if *update {
		if err := os.WriteFile(file, []byte(table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != table.String() {
		t.Errorf("it is otherwise than in %s (-update writes it), %v:\n%s", file, err, table.String())
	}
}

// restart stops all boxes and starts them.
func (w *world) restart() {
	w.t.Helper()
	for _, m := range w.boxes {
		if err := m.stop(); err != nil {
			w.t.Fatal(err)
		}
	}
	w.startAll()
	w.healthy()
}

func (w *world) startAll() {
	w.t.Helper()
	for _, m := range w.boxes {
		m.start()
	}
}

// damage flips a bit of a box's file, starts it, judges that it serves nothing else than the others, and brings it back.
func (r *recorder) damage(d damage) string {
	r.t.Helper()
	var m *machine
	for _, m = range []*machine{r.boxes[2], r.boxes[1], r.boxes[0]} { // the first has what no other one has
		if len(d.files(m)) > 0 && (m != r.leader() || m == r.boxes[0]) {
			break
		}
	}
	if err := m.stop(); err != nil {
		r.t.Fatal(err)
	}
	r.add(5) // which it lacks
	file, part := slices.MaxFunc(d.files(m), func(a, b string) int { return int(size(a) - size(b)) }), 0.5
	if filepath.Ext(file) == ".json" {
		part = 0 // elsewhere it may be a word that the ledger has too
	}
	m.flip(file, part, 0)
	turn := &round{world: r.world}
	err := m.try()
	if err == nil {
		err = turn.settled(m)
	}
	happens := "it stops with words"
	if err != nil {
		r.t.Logf("%s: %v", file, err)
		if explained(err) == "" {
			r.t.Errorf("%s: it refuses without words", d.kind)
		}
		m.kill()
	} else {
		r.quiet()
		own, other := m.served(), r.other(m).served()
		if own != "" && own != other {
			r.t.Errorf("with a bit of %s flipped it serves other events than the others do", d.kind)
		}
		if own == "" { // it is about to stop
			select {
			case <-m.process.ended:
			case <-time.After(5 * time.Second):
			}
		}
		if m.lives() {
			happens = "it heals"
			if err := m.stop(); err != nil {
				r.t.Error(err)
			}
		} else if said := m.process.said.String(); !strings.Contains(said, "damaged") && !strings.Contains(said, "signed") {
			r.t.Errorf("with a bit of %s flipped it stops without saying so: %s", d.kind, tail(said, 5))
		}
		if _, err := m.run("ledger", "verify"); err != nil && happens == "it heals" {
			r.t.Logf("%s: %v", file, err)
			happens = "it goes on, and ledger verify says so"
		}
	}
	switch {
	case happens == "it heals":
		m.start()
	case d.identity:
		m.flip(file, part, 0)
		m.start()
		happens += "; with the file put back it goes on"
	default:
		if err := m.rejoin(); err != nil {
			r.t.Fatalf("%s: %v", d.kind, err)
		}
		m.start()
		happens += "; rejoining mends it"
	}
	r.healthy()
	r.quiet()
	return happens
}

// other returns another box.
func (r *recorder) other(than *machine) *machine {
	for _, m := range r.boxes {
		if m != than {
			return m
		}
	}
	return nil
}

// served are all events as a box tells them by itself; "" if it says that it can't.
func (m *machine) served() string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h := sha256.New()
	err := m.client().Events(ctx, "", 0, false, func(e api.Event) error {
		_, err := fmt.Fprintf(h, "%d %s\n", e.Sequence, e.Event)
		return err
	})
	if err != nil {
		m.w.t.Logf("%s serves no events: %v", m.name, err)
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// older puts older directories of boxes back, where another one knows better.
func (r *recorder) older(which ...int) string {
	r.t.Helper()
	old, newer := map[int]string{}, map[int]string{}
	for _, m := range r.boxes {
		m.kill()
	}
	for _, n := range which {
		old[n] = r.boxes[n].copyAway(r.world)
	}
	r.startAll()
	r.healthy()
	r.add(20)
	r.quiet()
	for _, m := range r.boxes {
		m.kill()
	}
	for _, n := range which {
		newer[n] = r.boxes[n].copyAway(r.world)
		r.boxes[n].putBack(old[n])
	}
	refused := 0
	for _, m := range r.boxes {
		if err := m.try(); err != nil {
			r.t.Logf("%s: %v", m.name, err)
			refused++
		}
	}
	for deadline := time.Now().Add(10 * time.Second); refused == 0 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, n := range which {
			if !r.boxes[n].lives() {
				refused++
			}
		}
	}
	for _, n := range which { // those that were put back are about to stop, or go on
		select {
		case <-r.boxes[n].process.ended:
			if said := r.boxes[n].process.said.String(); !strings.Contains(said, "cluster rejoin") {
				r.t.Errorf("%s stopped without saying what to do: %s", r.boxes[n].name, tail(said, 5))
			}
		case <-time.After(5 * time.Second):
			r.t.Errorf("%s takes part with an older directory", r.boxes[n].name)
		}
	}
	if len(which) == 1 {
		m := r.boxes[which[0]]
		r.add(5) // the others go on
		if err := m.rejoin(); err != nil {
			r.t.Fatal(err)
		}
		m.start()
		r.healthy()
		r.quiet()
		return "it stops with words, and rejoins; the others go on"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Second)
	defer cancel()
	if _, err := r.client.Add(ctx, api.AddWork{Title: "too few"}); err == nil {
		r.t.Error("one of three records")
	}
	for _, n := range which {
		r.boxes[n].putBack(newer[n])
		r.boxes[n].start()
	}
	r.healthy()
	r.add(5)
	r.quiet()
	return "they stop with words, and nothing is recorded; with their newer directories they go on"
}

// olderAll puts older directories of all boxes back, which do not run. Nobody can know that, but by a checkpoint that somebody kept.
func (r *recorder) olderAll(size int) string {
	r.t.Helper()
	old := make([]string, len(r.boxes))
	for n, m := range r.boxes {
		old[n] = m.copyAway(r.world)
	}
	r.startAll()
	r.healthy()
	r.add(20)
	r.quiet()
	kept := filepath.Join(r.t.TempDir(), "checkpoint")
	data, err := os.ReadFile(filepath.Join(r.boxes[0].dir, "archive/checkpoint"))
	if err = errors.Join(err, os.WriteFile(kept, data, 0o600)); err != nil {
		r.t.Fatal(err)
	}
	for n, m := range r.boxes {
		m.kill()
		m.putBack(old[n])
	}
	r.startAll()
	r.healthy()
	r.quiet()
	if out, err := r.boxes[0].run("ledger", "check", kept); err == nil {
		r.t.Errorf("a ledger of %d events that lacks what was signed passes for the one that was: %s", size, out)
	} else {
		r.t.Log(err)
	}
	r.acked = r.acked[:len(r.acked)-20]
	r.add(30)
	r.quiet()
	if _, err := r.boxes[0].run("ledger", "check", kept); err == nil {
		r.t.Error("a ledger that has gone another way passes for the one that was signed")
	}
	events := r.close()
	if lost := r.missing(events); lost > 0 {
		r.t.Errorf("%d acknowledged events are in no archive", lost)
	}
	return "nobody can know, and they go on; a checkpoint that somebody kept shows it (ledger check)"
}

// size is how long a file is.
func size(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}
