package archive_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Whatever was acknowledged is there after a power cut, and nothing but that and a
// beginning of what was not, whatever end of its records the engine has lost.
func TestPowerCuts(t *testing.T) {
	keys := newKeys(t)
	seeds := uint64(500)
	if testing.Short() {
		seeds = 100
	}
	var total life
	for seed := range seeds {
		l := life{fs: archivetest.NewLossy(), keys: keys, stream: &stream{}, pen: newPen(), chance: rand.New(rand.NewPCG(seed, 1))}
		l.files = l.fs
		if err := l.run(4); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		total.add(l)
	}
	t.Logf("%d power cuts, %d of them during Reconcile; healed: %d torn writes; %d events lost by the stream and restored, %d taken from it; %d rotated",
		total.cuts, total.inReconcile, total.torn, total.restored, total.archived, total.rotated)
	if total.torn == 0 || total.restored == 0 || total.archived == 0 || total.inReconcile == 0 || total.rotated == 0 {
		t.Error("the power cuts did not reach everything that they are for")
	}
}

// The same with syncs that do nothing has to be noticed.
func TestPowerCutsNoticeMissingSyncs(t *testing.T) {
	keys := newKeys(t)
	for name, wrap := range map[string]func(archive.FS) archive.FS{
		"files":       func(fs archive.FS) archive.FS { return unsyncedFiles{fs} },
		"directories": func(fs archive.FS) archive.FS { return unsyncedDirs{fs} },
	} {
		noticed := 0
		for seed := range uint64(50) {
			l := life{fs: archivetest.NewLossy(), keys: keys, stream: &stream{}, pen: newPen(), chance: rand.New(rand.NewPCG(seed, 1))}
			l.files = wrap(l.fs)
			if l.run(4) != nil {
				noticed++
			}
		}
		if noticed == 0 {
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
	files  archive.FS // the same, as the archive sees it
	keys   archive.Keys
	stream *stream
	pen    *pen
	chance *rand.Rand
	acked  [][]byte
	blobs  map[ledger.Hash]string

	cuts, inReconcile, torn, restored, archived, rotated int
}

func (l *life) add(o life) {
	l.cuts += o.cuts
	l.inReconcile += o.inReconcile
	l.torn += o.torn
	l.restored += o.restored
	l.archived += o.archived
	l.rotated += o.rotated
}

func (l *life) run(cuts int) error {
	l.blobs = map[ledger.Hash]string{}
	large := l.chance.IntN(50) == 0
	for range cuts {
		l.fs.StopAfter(l.chance.IntN(120))
		if b, err := open(l.files, l.keys, l.stream, l.pen); err == nil {
			err = l.use(b, large)
			if !errors.Is(err, archivetest.ErrPower) {
				return fmt.Errorf("while in use: %w", err)
			}
		} else if !errors.Is(err, archivetest.ErrPower) {
			return fmt.Errorf("opened under power: %w", err)
		} else {
			l.inReconcile++
		}
		l.fs.PowerCut(l.chance)
		l.cuts++
		recorded := l.stream.events()
		if n := len(recorded); l.chance.IntN(2) == 0 {
			l.stream.records = l.stream.records[:n-min(n, l.chance.IntN(20))]
		}
		if err := l.check(recorded); err != nil {
			return fmt.Errorf("after power cut %d: %w", l.cuts, err)
		}
	}
	return nil
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
	if err := b.record(events...); err != nil {
		return err
	}
	l.acked = append(l.acked, events...)
	return nil
}

// check opens the archive and looks for everything that was acknowledged, and for
// nothing that was not recorded.
func (l *life) check(recorded [][]byte) error {
	b, err := open(l.files, l.keys, l.stream, l.pen)
	if err != nil {
		return err
	}
	all, err := entries(b.Archive)
	if err != nil {
		return err
	}
	if len(all) < len(l.acked) {
		return fmt.Errorf("of %d acknowledged events there are %d", len(l.acked), len(all))
	}
	if err := same(all[:len(l.acked)], l.acked); err != nil {
		return err
	}
	if err := same(l.stream.events(), all); err != nil {
		return fmt.Errorf("the stream: %w", err)
	}
	if len(all) > len(recorded) || same(all, recorded[:len(all)]) != nil {
		return errors.New("there are events that nobody recorded")
	}
	l.acked = all
	for sum, text := range l.blobs {
		if got, err := b.Blob(sum); err != nil || string(got) != text {
			return fmt.Errorf("a blob: %w", err)
		}
	}
	l.restored += int(b.found.Restored)
	l.archived += int(b.found.Archived)
	for _, note := range b.found.Notes {
		switch {
		case strings.Contains(note, "never finished"):
			l.torn++
		case !strings.Contains(note, "taken from the stream"):
			return fmt.Errorf("this should have been durable: %s", note)
		}
	}
	if err := b.Close(); err != nil {
		return err
	}
	if names, err := l.fs.ReadDir("log"); err != nil || names[0] != fmt.Sprintf("%020d.log", 0) {
		l.rotated++
	}
	if l.chance.IntN(3) > 0 {
		return nil
	}
	report, err := ledger.Verify(l.fs.Files(), l.keys.Verifier)
	if err != nil || report.Events != b.Size() {
		return fmt.Errorf("verified %d events of %d: %w", report.Events, b.Size(), err)
	}
	return nil
}
