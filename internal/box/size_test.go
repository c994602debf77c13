//go:build linux

package box

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var sizeEvents = flag.Int("events", 50_000, "how many events TestSize starts a box on; 10000000 for the full measure")

// TestSize starts a box on a large ledger: with a snapshot and without, verifies it, and hands
// work over in it, in turn with smaller ones. The limits are for a million events on 200,000
// items, and more; 10,000 items are held to 100 MB.
func TestSize(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	size := *sizeEvents / 5 * 5
	if testing.Short() {
		size = min(size, 1000)
	}
	fill(t, dir, size)
	b := timed(t, "start without a snapshot", size, 30*time.Second*time.Duration(1+size/1_000_000), func() *Box { return reopen(t, dir, false) })
	if err := timed(t, "stop", size, 30*time.Second, func() error { return b.Close() }); err != nil {
		t.Fatal(err)
	}
	b = timed(t, "start with a snapshot", size, 5*time.Second, func() *Box { return reopen(t, dir, true) })
	if items, _, _ := b.state.counts(); items != size/5 {
		t.Errorf("%d items, want %d", items, size/5)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	key, err := dir.Verifier()
	if err != nil {
		t.Fatal(err)
	}
	verify := func() error {
		_, err := ledger.Verify(os.DirFS(dir.Archive("")), key)
		return err
	}
	if err := timed(t, "verify", size, 60*time.Second*time.Duration(1+size/1_000_000), verify); err != nil {
		t.Error(err)
	}
	if testing.Short() {
		return // the rest says nothing about so few events, and takes a build of the program
	}
	got, allowed := resident(t, dir), int64(200e6)
	if size <= 5*openItems { // no more items than a box has to hold in 100 MB
		allowed = 100e6
	}
	t.Logf("%d events: %d MB resident", size, got/1e6)
	if got > allowed {
		t.Errorf("%d MB resident, of which %d are allowed", got/1e6, allowed/1e6)
	}
	handOver(t, dir, size)
}

// handOver measures handoffs in a ledger in turn with those in smaller ones, and says what it found.
func handOver(t *testing.T, dir Dir, size int) {
	t.Helper()
	sizes, dirs := []int{size}, map[int]Dir{size: dir}
	type figures struct{ rate, p99 []float64 }
	found := map[int]*figures{}
	rounds, items := 1, 5
	if size >= 1_000_000 { // the figures of fewer say little: they are not held against those of smaller ledgers
		rounds, items, sizes = 5, 40, []int{10_000, size / 10, size}
	}
	for round := range rounds {
		for _, n := range sizes {
			if found[n] == nil {
				found[n] = &figures{}
			}
			if dirs[n] == "" {
				dirs[n] = Dir(t.TempDir())
				fill(t, dirs[n], n)
			}
			b, _, err := Open(t.Context(), Options{Dir: dirs[n], ExitEnabled: true})
			if err != nil {
				t.Fatal(err)
			}
			handoffs(t, b, fmt.Sprintf("W-%d", round), 5) // until what a start leaves behind is done
			rate, p99 := handoffs(t, b, fmt.Sprintf("M-%d", round), items)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			found[n].rate, found[n].p99 = append(found[n].rate, rate), append(found[n].p99, p99)
		}
	}
	for _, n := range sizes {
		f := found[n]
		slices.Sort(f.rate)
		slices.Sort(f.p99)
		t.Logf("%d events: %.0f handoffs/s (%.0f to %.0f), p99 %.1f ms (%.1f to %.1f)", n,
			f.rate[rounds/2], f.rate[0], f.rate[rounds-1], f.p99[rounds/2], f.p99[0], f.p99[rounds-1])
	}
}

// handoffs lets 64 agents hand new items over, so many each, past HTTP, and returns how many they handed
// over in a second and how long all but one in a hundred took at most, in milliseconds.
func handoffs(t *testing.T, b *Box, name string, items int) (rate, p99 float64) {
	t.Helper()
	const agents = 64
	phases := []agentsig.Phase{agentsig.PhaseReadyForReview, agentsig.PhaseReview, agentsig.PhaseReadyForMerge}
	took := make([][]time.Duration, agents)
	work := func(agent, n int) error {
		w, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: fmt.Sprintf("%s-%d-%d", name, agent, n), Title: "measured", Phase: phases[0]}, "")
		for _, phase := range phases {
			if err != nil {
				return err
			}
			begun := time.Now()
			var g api.Grant
			if g, err = b.Claim(t.Context(), api.Claim{Actor: "agent", Work: w.ID}, ""); err != nil {
				return err
			}
			var said []byte
			if said, err = agentsig.NewExitSignal(phase, agentsig.ExitCompleted).JSON(); err != nil {
				return err
			}
			var e api.Emitted
			if e, err = b.Emit(g.Session, said, ""); err == nil && !e.Accepted {
				err = errors.New(e.Error)
			}
			took[agent] = append(took[agent], time.Since(begun))
		}
		return err
	}
	begun := time.Now()
	var all sync.WaitGroup
	for agent := range agents {
		all.Go(func() {
			for n := range items {
				if err := work(agent, n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	seconds := time.Since(begun).Seconds()
	every := slices.Concat(took...)
	slices.Sort(every)
	if len(every) != agents*items*len(phases) {
		t.Fatalf("%d handoffs", len(every))
	}
	return float64(len(every)) / seconds, every[len(every)*99/100].Seconds() * 1000
}

// timed fails if something takes longer than it may for a million events. On fewer it only
// says how long it took: a busy machine is no fault of the box.
func timed[T any](t *testing.T, what string, size int, limit time.Duration, f func() T) T {
	t.Helper()
	begun := time.Now()
	v := f()
	took := time.Since(begun)
	t.Logf("%d events: %s in %.2f s", size, what, took.Seconds())
	if size >= 1_000_000 && took > limit {
		t.Errorf("%s took %v, and may take %v", what, took, limit)
	}
	return v
}

func reopen(t *testing.T, dir Dir, snapshot bool) *Box {
	t.Helper()
	b, found, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if found.Snapshot != snapshot || len(found.Notes) > 0 {
		t.Fatalf("found %+v", found)
	}
	return b
}

// fill writes a ledger of items with five events each, as a box would have, past
// the box.
func fill(t *testing.T, dir Dir, size int) {
	t.Helper()
	if err := dir.create(); err != nil {
		t.Fatal(err)
	}
	keys, err := dir.secrets(dir.Archive(""))
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(archive.Dir(dir.Archive("")), keys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	var batch [][]byte
	for r, err := range history(size) {
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, r.Data)
		if len(batch) == 1000 || r.Seq == uint64(size) {
			if _, err := a.Append(batch); err != nil {
				t.Fatal(err)
			}
			batch = nil
		}
		if r.Seq%50_000 == 0 {
			if _, err := a.Seal(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

// openItems is how many items of a large ledger are not completed: the last ones.
const openItems = 10_000

// history is what five requests on each item would have recorded.
func history(size int) iter.Seq2[engine.Record, error] {
	b := &Box{epoch: 1, now: time.Now}
	exit := func(p agentsig.Phase) agentsig.Signal {
		return agentsig.NewExitSignal(p, agentsig.ExitCompleted).WithNotes("done, and all tests pass").Signal()
	}
	grant := func(key string) work.Grant { return work.Grant{Epoch: 1, Actor: "agent", TTL: time.Minute, Key: key} }
	return func(yield func(engine.Record, error) bool) {
		var item work.Item
		for n := range size {
			subject := fmt.Sprintf("%026d", n/5)
			key := fmt.Sprintf("%026x", n)
			var c work.Command
			switch n % 5 {
			case 0:
				item = work.Item{}
				phase := agentsig.PhaseReview
				if n/5 >= size/5-openItems {
					phase = agentsig.PhaseReadyForReview
				}
				c = work.Add{ID: "T-" + strconv.Itoa(n/5), Title: "a title as people write them", Phase: phase, Actor: "operator", Key: key}
			case 1, 3:
				c = grant(key)
			default:
				c = work.End{Token: item.Lease.Token, Actor: "agent", Signal: exit(item.Phase), Said: work.Said{Signal: agentsig.KindExit}, Key: key}
			}
			e, err := work.Decide(item, c)
			if err != nil {
				yield(engine.Record{}, err)
				return
			}
			event, stored, err := b.stamp(item.Tip, subject, e)
			if err == nil {
				item, err = work.Fold(item, uint64(n)+1, event, stored)
			}
			if !yield(engine.Record{Seq: uint64(n) + 1, Subject: subject, Data: stored}, err) {
				return
			}
		}
	}
}

// resident starts a box in a process of its own and returns how much memory it
// has when it listens.
func resident(t *testing.T, dir Dir) int64 {
	t.Helper()
	program := filepath.Join(t.TempDir(), "signalbox")
	// go run keeps what it has linked, go build does not.
	if out, err := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "../../cmd/signalbox", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, "up", "--json", "--dir", string(dir))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || !json.Valid(line) {
		t.Fatalf("the box said %q, %v", line, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatal("no VmRSS")
	}
	kb, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
