//go:build linux

package ledger_test

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/ledger"
)

var (
	largeEvents = flag.Int("events", 50_000, "how many events TestVerifyLarge verifies; 10000000 for the full measure")
	verifyDir   = flag.String("verify", "", "the directory that TestVerifyLarge verifies in a process of its own")
)

// TestVerifyLarge verifies a large ledger with five events on each subject, in a
// process of its own, and holds it to 200 MB.
func TestVerifyLarge(t *testing.T) {
	if *verifyDir != "" {
		verifyHere(t, *verifyDir)
		return
	}
	if testing.Short() {
		t.Skip("writes a large ledger; not with -short")
	}
	dir := t.TempDir()
	begun := time.Now()
	subjects := writeLedger(t, dir, *largeEvents)
	t.Logf("%d events on %d subjects written in %.1f s", *largeEvents, subjects, time.Since(begun).Seconds())
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVerifyLarge$", "-test.v", "-verify", dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := regexp.MustCompile(`(\d+) events, (\d+) subjects in ([\d.]+) s, (\d+) MB resident`).FindStringSubmatch(string(out))
	if found == nil {
		t.Fatalf("no measure in\n%s", out)
	}
	t.Log(found[0])
	if found[1] != strconv.Itoa(*largeEvents) || found[2] != strconv.Itoa(subjects) {
		t.Errorf("want %d events, %d subjects", *largeEvents, subjects)
	}
	if mb, err := strconv.Atoi(found[4]); err != nil || mb > 200 {
		t.Errorf("%d MB resident, of which 200 are allowed", mb)
	}
}

// verifyHere verifies a ledger and says what that took.
func verifyHere(t *testing.T, dir string) {
	key, err := os.ReadFile(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	r, err := ledger.Verify(os.DirFS(dir), string(key))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d events, %d subjects in %.1f s, %d MB resident", r.Events, r.Subjects, time.Since(begun).Seconds(), peakResident(t)/1e6)
}

// peakResident returns the most memory that this process had.
func peakResident(t *testing.T) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kb int64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// open is a subject that gets more events.
type open struct {
	id  int
	tip ledger.Tip
}

// writeLedger writes a ledger as a box would, with five events on nearly every
// subject and up to 10,000 subjects at a time, and the key beside it. It returns
// how many subjects there are.
func writeLedger(t testing.TB, dir string, events int) (subjects int) {
	signer, verifier, err := ledger.NewKey(origin)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string, data []byte) error {
		name := filepath.Join(dir, filepath.FromSlash(path))
		err := os.WriteFile(name, data, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, data, 0o600))
		}
		return err
	}
	var edge ledger.Edge
	r := rand.New(rand.NewPCG(15, 4))
	all := make([]open, min(10_000, events/20+1))
	var bundle []byte
	for n := range events {
		o := &all[r.IntN(len(all))]
		if o.tip.ItemSeq == 0 || o.tip.ItemSeq == 5 {
			*o = open{id: subjects}
			subjects++
		}
		stored := largeEvent(o, n)
		o.tip = ledger.Tip{ItemSeq: o.tip.ItemSeq + 1, Sum: ledger.Sum(stored)}
		bundle = ledger.AppendEntry(bundle, stored)
		err := edge.Append(stored, write)
		if width := n%ledger.TileWidth + 1; width == ledger.TileWidth || n == events-1 {
			err = errors.Join(err, write(ledger.EntriesPath(int64(n/ledger.TileWidth), width), bundle))
			bundle = bundle[:0]
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	note, err := edge.Checkpoint(origin).Sign(signer)
	if err := errors.Join(err, edge.Partial(0, write), write(ledger.CheckpointPath, note), write("key", []byte(verifier))); err != nil {
		t.Fatal(err)
	}
	return subjects
}

// largeEvent writes an event as [ledger.Event.Encode] does, which takes longer.
func largeEvent(o *open, n int) []byte {
	kinds := []string{"WorkAdded", "LeaseGranted", "AgentSessionCompleted", "GatePassed", "WorkMerged"}
	return fmt.Appendf(nil, `{"format":1,"epoch":1,"subject":"01JD%022d","item_seq":%d,"prev":"%s","type":"%s","actor":"runner-1","session":"s-%d.1","key":"k%d","time":"%s","payload":{"phase":"IN_PROGRESS","reason":"all tests pass & the change is small","ttl_ms":600000}}`,
		o.id, o.tip.ItemSeq+1, o.tip.Sum, kinds[o.tip.ItemSeq], n, n, time.Unix(1_772_000_000+int64(n), 123e6).UTC().Format(time.RFC3339Nano))
}

// BenchmarkVerify compares verifying with reading the same files and hashing them
// once. Times of the processor are compared too, which a busy machine changes less.
func BenchmarkVerify(b *testing.B) {
	const events = 200_000
	dir := b.TempDir()
	writeLedger(b, dir, events)
	key, err := os.ReadFile(filepath.Join(dir, "key"))
	if err != nil {
		b.Fatal(err)
	}
	var verifying, reading spent
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rounds := 0
	for b.Loop() {
		verifying.add(b, func() error {
			_, err := ledger.Verify(os.DirFS(dir), string(key))
			return err
		})
		rounds++
	}
	runtime.ReadMemStats(&after)
	for range rounds {
		reading.add(b, func() error { return hashFiles(dir) })
	}
	all := float64(rounds * events)
	b.ReportMetric(all/verifying.wall.Seconds(), "events/s")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/all, "B/event")
	b.ReportMetric(float64(verifying.cpu)/all, "cpu-ns/event")
	b.ReportMetric(float64(verifying.wall)/float64(reading.wall), "times-reading")
	b.ReportMetric(float64(verifying.cpu)/float64(reading.cpu), "cpu-times-reading")
}

// spent is the time that something took, by the clock and of the processor.
type spent struct{ wall, cpu time.Duration }

func (s *spent) add(b *testing.B, f func() error) {
	begun, used := time.Now(), processorTime(b)
	if err := f(); err != nil {
		b.Fatal(err)
	}
	s.wall += time.Since(begun)
	s.cpu += processorTime(b) - used
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// hashFiles reads all files and hashes them.
func hashFiles(dir string) error {
	buf := make([]byte, 256<<10)
	return fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := os.Open(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		_, err = io.CopyBuffer(struct{ io.Writer }{sha256.New()}, struct{ io.Reader }{file}, buf)
		return errors.Join(err, file.Close())
	})
}
