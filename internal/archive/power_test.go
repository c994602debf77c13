package archive_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/ledger"
)

var lives = flag.Int("lives", 40, "how many archives TestPowerCuts cuts the power of, six times each; 500 for the full measure")

// Whatever was acknowledged, or was there after a start, is there after a power cut, once, and
// nothing but that and a beginning of what was not.
func TestPowerCuts(t *testing.T) {
	keys := newKeys(t)
	var total life
	n := *lives
	if testing.Short() {
		n = min(n, 10)
	}
	for seed := range uint64(n) {
		l := newLife(keys, seed, seed%3 == 0)
		if err := l.run(6); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		total.add(l)
	}
	t.Logf("%d power cuts and %d kills, %d of them during a start; %d torn writes healed; %d events that were not acknowledged and were kept; %d with several segments; %d times log or mirror completed the other",
		total.cuts, total.kills, total.inStart, total.torn, total.unasked, total.rotated, total.completed)
	if total.completed == 0 || total.torn == 0 || total.kills == 0 || total.unasked == 0 || total.inStart == 0 || total.rotated == 0 {
		t.Error("the power cuts did not reach everything that they are for")
	}
}

// A power cut at every single write of a short life, on the disk of the archive or that of the mirror.
func TestPowerCutEverywhere(t *testing.T) {
	keys := newKeys(t)
	step := 1
	if testing.Short() {
		step = 31
	}
	for _, c := range []struct{ kill, mirror bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		disks := newLife(keys, 0, c.mirror).disks()
		for at := range disks {
			for writes := 0; ; writes += step {
				l := newLife(keys, uint64(writes), c.mirror)
				l.disks()[at].StopAfter(writes)
				done, err := l.short()
				if err == nil && c.kill { // a start that sees what was not synced comes between
					for _, disk := range l.disks() {
						disk.Kill()
					}
					err = l.check()
				}
				if err == nil {
					for _, disk := range l.disks() {
						disk.PowerCut(l.chance)
					}
					err = l.check()
				}
				if err != nil {
					t.Fatalf("%+v: disk %d stopped after %d writes: %v", c, at, writes, err)
				}
				if done {
					break
				}
			}
		}
	}
}

// short uses an archive for a while. It returns false if the power went.
func (l *life) short() (done bool, err error) {
	b, err := open(l.files, l.keys)
	if err == nil {
		err = l.record(b, b.pen.many(3)...)
	}
	for range 2 {
		if err == nil {
			_, err = b.Seal()
		}
		if err == nil {
			err = l.record(b, b.pen.many(300)...)
		}
	}
	if err == nil {
		err = b.Close()
	}
	if errors.Is(err, archivetest.ErrPower) {
		return false, nil
	}
	return true, err
}

// An event that was written and not synced when the box was killed, and that the next start shows, is
// not lost by a power cut, although a sync of its file failed before.
func TestWhatAStartShowsIsDurable(t *testing.T) {
	for _, failed := range []bool{false, true} {
		fs, keys := archivetest.NewLossy(), newKeys(t)
		b := mustOpen(t, fs, keys)
		if err := b.record(b.pen.many(3)...); err != nil {
			t.Fatal(err)
		}
		if failed {
			fs.FailSync(1)
		} else {
			fs.StopAfter(1) // the write, and not the sync
		}
		if err := b.record(b.pen.many(1)...); err == nil {
			t.Fatal("the sync did not fail")
		}
		fs.Kill()
		for range 3 { // as often as somebody is told of it
			b = mustOpen(t, fs, keys)
			if b.Size() != 4 {
				t.Fatalf("after the kill there are %d events", b.Size())
			}
		}
		for seed := range uint64(20) {
			fs.PowerCut(rand.New(rand.NewPCG(seed, 3)))
			if b = mustOpen(t, fs, keys); b.Size() != 4 {
				t.Fatalf("after the power cut there are %d events of 4", b.Size())
			}
		}
	}
}

// The same with syncs that do nothing has to be noticed.
func TestPowerCutsNoticeMissingSyncs(t *testing.T) {
	keys := newKeys(t)
	for name, wrap := range map[string]func(archive.FS) archive.FS{
		"files":       func(fs archive.FS) archive.FS { return unsyncedFiles{fs} },
		"directories": func(fs archive.FS) archive.FS { return unsyncedDirs{fs} },
	} {
		noticed := false
		for seed := uint64(0); seed < 50 && !noticed; seed++ {
			l := newLife(keys, seed, false)
			l.files = wrap(l.fs)
			noticed = l.run(4) != nil
		}
		if !noticed {
			t.Errorf("an archive that does not sync its %s passes", name)
		}
	}
}

type unsyncedDirs struct{ archive.FS }

func (unsyncedDirs) SyncDir(string) error { return nil }

type unsyncedFiles struct{ archive.FS }

func (u unsyncedFiles) Create(name string) (archive.File, error) {
	f, err := u.FS.Create(name)
	return unsyncedFile{f}, err
}

func (u unsyncedFiles) Extend(name string) (archive.File, error) {
	f, err := u.FS.Extend(name)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ archive.File }

func (unsyncedFile) Sync() error { return nil }

// life is an archive that is used, cut off and opened again, and what has to be
// in it.
type life struct {
	fs     *archivetest.Lossy
	mirror *archivetest.Lossy // of the log; nil if there is none
	files  archive.FS         // both, as the archive sees them
	keys   archive.Keys
	chance *rand.Rand
	acked  [][]byte // and what a start has shown
	wrote  [][]byte // these, and what was tried since
	blobs  map[ledger.Hash]string

	cuts, kills, inStart, torn, unasked, rotated, completed int
}

func newLife(keys archive.Keys, seed uint64, mirror bool) *life {
	l := &life{fs: archivetest.NewLossy(), keys: keys, chance: rand.New(rand.NewPCG(seed, 1)), blobs: map[ledger.Hash]string{}}
	l.files = l.fs
	if mirror {
		l.mirror = archivetest.NewLossy()
		l.files = archive.Mirrored(l.fs, l.mirror)
	}
	return l
}

// disks are where the archive lies.
func (l *life) disks() []*archivetest.Lossy {
	if l.mirror == nil {
		return []*archivetest.Lossy{l.fs}
	}
	return []*archivetest.Lossy{l.fs, l.mirror}
}

func (l *life) add(o *life) {
	l.cuts += o.cuts
	l.kills += o.kills
	l.inStart += o.inStart
	l.torn += o.torn
	l.unasked += o.unasked
	l.rotated += o.rotated
	l.completed += o.completed
}

func (l *life) run(ends int) error {
	large := l.chance.IntN(50) == 0
	for range ends {
		disks := l.disks()
		disk := disks[l.chance.IntN(len(disks))]
		disk.StopAfter(l.chance.IntN(120))
		if l.chance.IntN(4) == 0 {
			disk.FailSync(1 + l.chance.IntN(40))
		}
		b, err := openFrom(l.files, l.keys, l.from())
		if err == nil {
			err = l.use(b, large)
		} else {
			l.inStart++
		}
		if !stopped(err) {
			return fmt.Errorf("while in use: %w", err)
		}
		if l.chance.IntN(2) == 0 {
			l.kills++
			for _, disk := range l.disks() {
				disk.Kill()
			}
			if err := l.check(); err != nil {
				return fmt.Errorf("after kill %d: %w", l.kills, err)
			}
		}
		l.cuts++
		for _, disk := range l.disks() {
			disk.PowerCut(l.chance)
		}
		if err := l.check(); err != nil {
			return fmt.Errorf("after power cut %d: %w", l.cuts, err)
		}
	}
	return nil
}

// from is where a start begins to look: everywhere, or near the end.
func (l *life) from() int64 {
	if l.chance.IntN(2) == 0 {
		return 0
	}
	return int64(len(l.acked))
}

func stopped(err error) bool {
	return errors.Is(err, archivetest.ErrPower) || errors.Is(err, archivetest.ErrSync)
}

// use records events until the power goes.
func (l *life) use(b *box, large bool) error {
	for {
		switch l.chance.IntN(6) {
		case 0:
			if l.chance.IntN(8) == 0 { // nothing partial is left then
				if err := l.record(b, b.pen.many(int(256-b.Size()%256))...); err != nil {
					return err
				}
			}
			if _, err := b.Seal(); err != nil {
				return err
			}
		case 1:
			text := strings.Repeat("blob", l.chance.IntN(2000))
			blob, err := b.PutBlob([]byte(text))
			if err != nil {
				return err
			}
			l.blobs[blob.SHA256] = text
			if err := l.record(b, b.pen.write("item-b", "", &blob)); err != nil {
				return err
			}
		default:
			size, count := 200, 1+l.chance.IntN(5)
			switch {
			case large:
				size, count = 16000, 30
			case l.chance.IntN(60) == 0:
				count = 300
			}
			var events [][]byte
			for i := range count {
				events = append(events, b.pen.write(fmt.Sprint("item-", i%7), strings.Repeat("x", l.chance.IntN(size)), nil))
			}
			if err := l.record(b, events...); err != nil {
				return err
			}
		}
	}
}

func (l *life) record(b *box, events ...[]byte) error {
	l.wrote = append(l.wrote, events...)
	if err := b.record(events...); err != nil {
		return err
	}
	l.acked = append(l.acked, events...)
	return nil
}

// check starts the archive, and looks for everything that was acknowledged, and for
// nothing that was not recorded. What it shows counts as acknowledged from then on.
func (l *life) check() error {
	b, err := openFrom(l.files, l.keys, l.from())
	if err != nil {
		return err
	}
	all := b.wrote
	if len(all) < len(l.acked) {
		return fmt.Errorf("of %d acknowledged events there are %d", len(l.acked), len(all))
	}
	if err := same(all[:len(l.acked)], l.acked); err != nil {
		return err
	}
	if len(all) > len(l.wrote) || same(all, l.wrote[:len(all)]) != nil {
		return errors.New("there are events that nobody recorded")
	}
	l.unasked += len(all) - len(l.acked)
	l.acked, l.wrote = all, all[:len(all):len(all)]
	for sum, text := range l.blobs {
		if got, err := b.Blob(sum); err != nil || string(got) != text {
			return fmt.Errorf("a blob: %w", err)
		}
	}
	for _, note := range b.found.Notes {
		switch {
		case strings.Contains(note, "never finished"):
			l.torn++
		case l.mirror != nil && strings.Contains(note, "was completed"):
			l.completed++
		case l.mirror == nil || !strings.Contains(note, "mirror of the log is new"):
			return fmt.Errorf("this should have been durable: %s", note)
		}
	}
	if names, err := l.fs.ReadDir("log"); err != nil || len(names) > 1 {
		l.rotated++
	}
	if l.chance.IntN(3) > 0 {
		return nil // as it is, with an end that is not sealed
	}
	if err := errors.Join(scrubAll(b.Archive, 1000), b.Close()); err != nil {
		return err
	}
	v, err := archive.Verify(bg, l.fs, l.keys.Verifier)
	if err != nil || v.Events != b.Size() {
		return fmt.Errorf("verified %d events of %d: %w", v.Events, b.Size(), err)
	}
	return nil
}
