package archive_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
)

// A power cut at every write: what was promised is there, each batch as a whole, and nothing that was not written.
func TestJournalPowerCuts(t *testing.T) {
	keys := newKeys(t)
	step := 1
	if testing.Short() {
		step = 5
	}
	torn, kept, cuts := 0, 0, 0
	for _, kill := range []bool{false, true} {
		for writes := 0; ; writes += step {
			l := journalLife{fs: archivetest.NewLossy(), keys: keys, author: newAuthor(uint64(writes), founding()), chance: rand.New(rand.NewPCG(uint64(writes), 3))}
			l.large = true
			l.fs.StopAfter(writes)
			if writes%7 == 3 {
				l.fs.FailSync(1 + l.chance.IntN(40))
			}
			done, err := l.use(15)
			if err == nil && kill {
				l.fs.Kill()
				err = l.check()
			}
			if err == nil {
				l.fs.PowerCut(l.chance)
				err = l.check()
			}
			if err == nil && !done {
				_, err = l.use(6) // it goes on from there
			}
			if err == nil {
				l.fs.PowerCut(l.chance)
				err = l.check()
			}
			if err != nil {
				t.Fatalf("killed first: %v; stopped after %d writes: %v", kill, writes, err)
			}
			torn, kept, cuts = torn+l.torn, kept+l.unasked, cuts+1
			if done {
				break
			}
		}
	}
	t.Logf("%d power cuts; %d torn writes; %d batches that nobody relied on were kept", cuts, torn, kept)
	if torn == 0 || kept == 0 {
		t.Error("the power cuts did not reach everything that they are for")
	}
}

// The same with syncs that do nothing has to be noticed.
func TestJournalPowerCutsNoticeMissingSyncs(t *testing.T) {
	keys := newKeys(t)
	noticed := false
	for seed := uint64(0); seed < 50 && !noticed; seed++ {
		fs := archivetest.NewLossy()
		l := journalLife{fs: fs, files: unsyncedFiles{fs}, keys: keys, author: newAuthor(seed, founding()), chance: rand.New(rand.NewPCG(seed, 3))}
		if _, err := l.use(10); err != nil {
			t.Fatal(err)
		}
		fs.PowerCut(l.chance)
		noticed = l.check() != nil
	}
	if !noticed {
		t.Error("a log that does not sync its files passes")
	}
}

// journalLife is a member's log that is used, cut off and opened again.
type journalLife struct {
	fs     *archivetest.Lossy
	files  archive.FS // as the archive sees them; fs if nil
	keys   archive.Keys
	chance *rand.Rand
	*author
	founded       bool
	maybe         []past // what may be so too: after each of the batches that were not promised
	torn, unasked int
}

func (l *journalLife) disk() archive.FS {
	if l.files != nil {
		return l.files
	}
	return l.fs
}

// use writes for a while. It returns false if the power went.
func (l *journalLife) use(steps int) (done bool, err error) {
	if !l.founded {
		if err := archive.Found(l.disk(), l.keys, founding()); err != nil {
			return false, l.off(err)
		}
		l.founded = true
	}
	s, err := openSeat(l.disk(), l.keys, l.author, 0)
	if err != nil {
		return false, l.off(err)
	}
	if err := s.commit(); err != nil {
		return false, err
	}
	for range steps {
		var all []memberlog.Write
		now := l.past
		var maybe []past
		for range 1 + l.chance.IntN(3) {
			w := l.next()
			l.past = l.with(w)
			all, maybe = append(all, w), append(maybe, l.past)
		}
		if err := s.Write(all); err != nil {
			l.past, l.maybe = now, maybe
			return false, l.off(err)
		}
		if err := s.commit(); err != nil {
			return false, err
		}
		if l.chance.IntN(8) == 0 {
			if _, err := s.Seal(); err != nil {
				return false, l.off(err)
			}
		}
	}
	return true, l.off(s.Close())
}

func (l *journalLife) off(err error) error {
	if stopped(err) || errors.Is(err, archive.ErrFailed) {
		return nil
	}
	return err
}

// check starts the member, and looks for what was promised. What it finds counts as promised from then on.
func (l *journalLife) check() error {
	if !l.founded {
		s, err := openSeat(l.disk(), l.keys, l.author, 0)
		if err == nil { // it was founded, and nobody was told
			l.founded = true
			return l.is(s.kept)
		}
		if _, err := open(l.disk(), l.keys); err != nil {
			return fmt.Errorf("what was not founded is no single box's: %w", err)
		}
		return nil
	}
	s, err := openSeat(l.disk(), l.keys, l.author, int64(l.chance.IntN(2))*1e6)
	if err != nil {
		return err
	}
	for _, note := range s.found.Notes {
		if !strings.Contains(note, "never finished") {
			return fmt.Errorf("this should have been durable: %s", note)
		}
		l.torn++
	}
	err = l.is(s.kept)
	for _, p := range l.maybe {
		if err == nil {
			break
		}
		if p.is(s.kept) == nil {
			l.past, err = p, nil
			l.unasked++
		}
	}
	l.maybe = nil
	if err == nil {
		err = s.commit()
	}
	return err
}
