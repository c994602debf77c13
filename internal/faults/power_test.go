package faults_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/engine"
)

var cuts = flag.Int("cuts", 20, "how often TestPowerCuts cuts the power")

// TestPowerCuts runs a box on files that lose what was not synced, cuts the power
// again and again while clients work, and starts the box on what survived.
func TestPowerCuts(t *testing.T) {
	p := newPower(t, 1)
	begun := time.Now()
	events, err := p.run(t.Context(), *cuts)
	if err != nil {
		t.Fatal(err)
	}
	count := map[outcome]int{}
	for _, r := range p.crowd.told() {
		count[r.outcome]++
	}
	t.Logf("%d power cuts, %d of them while the box started, in %.1f s; %d acknowledged, %d refused, %d failed, %d abandoned; %d events, of which the engine had lost %d and the archive's log had not yet %d; %d torn writes removed; repairs were needed: %q",
		p.cuts, p.atStart, time.Since(begun).Seconds(), count[acked], count[refused], count[failed], count[abandoned], events, p.restored, p.archived, p.torn, p.repaired)
}

// TestPowerCutsNoticeEarlyAnswers holds the same against an archive that
// acknowledges before its log is synced: that has to be found to lose events.
func TestPowerCutsNoticeEarlyAnswers(t *testing.T) {
	for seed := range uint64(5) {
		p := newPower(t, 10+seed)
		p.files = lying{p.disk}
		_, err := p.run(t.Context(), 10)
		t.Logf("after %d power cuts: %v", p.cuts, err)
		if errors.Is(err, errLost) {
			return
		}
	}
	t.Error("acknowledgements before the sync go unnoticed")
}

// lying is files whose syncs do nothing while they are being extended.
type lying struct{ archive.FS }

func (l lying) Extend(name string) (archive.File, error) {
	f, err := l.FS.Extend(name)
	return lyingFile{f}, err
}

type lyingFile struct{ archive.File }

func (lyingFile) Sync() error { return nil }

// power is a box whose power is cut, and the clients that work on it.
type power struct {
	dir    box.Dir
	disk   *archivetest.Lossy
	files  archive.FS // the same, as the box sees it
	chance *rand.Rand
	seed   uint64
	line   *line
	crowd  *crowd
	seen   [][]byte // the events that were listed last

	box    *box.Box
	server *httptest.Server
	older  string // a copy of the engine's directory

	cuts, atStart, torn int
	restored, archived  int64
	repaired            []string // why a repair was needed
}

func newPower(t *testing.T, seed uint64) *power {
	t.Helper()
	temp := t.TempDir()
	p := &power{
		dir: box.Dir(filepath.Join(temp, "box")), older: filepath.Join(temp, "older"),
		disk: archivetest.NewLossy(), chance: rand.New(rand.NewPCG(seed, 3)), seed: seed,
	}
	p.files = p.disk
	return p
}

// run cuts the power so often, stops the box in the end, and returns how many
// events there are. An error is what was wrong, and leaves nothing running.
func (p *power) run(ctx context.Context, cuts int) (events int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if p.line, err = newLine(ctx, 100); err != nil {
		return 0, err
	}
	defer func() {
		cancel()
		if p.box != nil {
			err = errors.Join(err, p.off())
		}
		err = errors.Join(err, p.line.close())
		if p.crowd != nil {
			p.crowd.running.Wait()
		}
	}()
	for p.cuts < cuts {
		if err := p.life(ctx); err != nil {
			return 0, fmt.Errorf("after power cut %d: %w", p.cuts, err)
		}
	}
	return p.end(ctx)
}

// life starts the box on what survived, looks whether everything is there, lets
// the clients work on it, and cuts the power.
func (p *power) life(ctx context.Context) error {
	if p.cuts > 0 && p.chance.IntN(4) == 0 {
		p.disk.StopAfter(p.chance.IntN(6))
	}
	err := p.on(ctx)
	if errors.Is(err, archivetest.ErrPower) {
		p.atStart++
		return p.cut()
	}
	if err != nil {
		return err
	}
	if err := p.look(ctx, p.crowd.told(), false); errors.Is(err, api.ErrNoBox) && p.stopped() {
		return p.cut()
	} else if err != nil {
		return err
	}
	p.disk.StopAfter(1 + p.chance.IntN(500))
	select {
	case <-p.box.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	return p.cut()
}

// on starts the box, and repairs it if it says that this is needed.
func (p *power) on(ctx context.Context) error {
	o := box.Options{Dir: p.dir, Files: p.files, ExitEnabled: true}
	b, found, err := box.Open(ctx, o)
	var damage *archive.Damage
	if errors.As(err, &damage) || errors.Is(err, engine.ErrDamaged) {
		var lost *archive.LostError
		if _, _, err := box.Repair(ctx, o); errors.As(err, &lost) {
			return fmt.Errorf("%w: %w", errLost, err)
		} else if err != nil {
			return fmt.Errorf("repair: %w", err)
		}
		p.repaired = append(p.repaired, err.Error())
		b, found, err = box.Open(ctx, o)
	}
	if err != nil {
		return err
	}
	p.restored += found.Restored
	p.archived += found.Archived
	if strings.Contains(fmt.Sprint(found.Notes), "never finished") {
		p.torn++
	}
	p.box, p.server = b, httptest.NewServer(b.Handler())
	p.line.to(p.address())
	if p.crowd == nil {
		token, err := p.dir.APIToken()
		if err != nil {
			return err
		}
		gate, err := os.ReadFile(filepath.Join(string(p.dir), "gate.token"))
		if err != nil {
			return err
		}
		p.crowd = gather(ctx, p.line.address(), token, strings.TrimSpace(string(gate)), clients, p.seed)
	}
	if err := os.RemoveAll(p.older); err != nil {
		return err
	}
	return copyTree(p.older, p.dir.Engine())
}

func (p *power) stopped() bool {
	select {
	case <-p.box.Done():
		return true
	default:
		return false
	}
}

func (p *power) address() string { return p.server.Listener.Addr().String() }

func (p *power) look(ctx context.Context, told []request, ended bool) error {
	events, err := listed(ctx, p.address(), p.crowd.token)
	if err != nil {
		return err
	}
	if err := continues(events, p.seen); err != nil {
		return err
	}
	p.seen = events
	return check(events, told, ended)
}

// off stops the box. What that writes is lost: it comes after the cut.
func (p *power) off() error {
	p.line.to("")
	p.server.CloseClientConnections()
	err := p.box.Close()
	p.server.Close()
	p.box = nil
	return err
}

// cut turns the power off, and leaves of both stores what a power cut could leave.
func (p *power) cut() error {
	p.cuts++
	survivor := string(p.dir) + ".survivor"
	if err := copyTree(survivor, p.dir.Engine()); err != nil {
		return err
	}
	if p.box != nil {
		if err := p.off(); !errors.Is(err, archivetest.ErrPower) {
			return fmt.Errorf("the box stopped, but not because of the power: %w", err)
		}
	}
	p.disk.PowerCut(p.chance)
	if err := p.lose(survivor); err != nil {
		return err
	}
	if err := os.RemoveAll(p.dir.Engine()); err != nil {
		return err
	}
	err := os.Rename(survivor, p.dir.Engine())
	if errors.Is(err, os.ErrNotExist) {
		err = nil // nothing of it survived
	}
	return err
}

// lose takes from a copy of the engine's directory what may not have been synced.
// The engine syncs now and then only, so that can be all of it.
func (p *power) lose(dir string) error {
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream/*/streams/*/msgs/*.blk"))
	if err != nil || len(blocks) == 0 {
		return err
	}
	newest := blocks[len(blocks)-1]
	index := filepath.Join(filepath.Dir(newest), "index.db")
	old := filepath.Join(p.older, strings.TrimPrefix(newest, dir))
	switch p.chance.IntN(6) {
	case 0: // nothing
		return nil
	case 1: // everything since the box was started
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		return copyTree(dir, p.older)
	case 2: // everything
		return os.RemoveAll(dir)
	case 3: // the end of the newest block
		return edit(newest, func(data []byte) []byte { return data[:p.chance.IntN(len(data)+1)] })
	case 4: // sectors of the newest block, and the index
		had, err := os.ReadFile(old)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.Remove(index); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return edit(newest, func(data []byte) []byte {
			for at := len(had) / 512 * 512; at < len(data); at += 512 {
				if p.chance.IntN(20) == 0 {
					clear(data[max(at, len(had)):min(at+512, len(data))])
				}
			}
			return data
		})
	}
	err = os.Remove(index) // the index alone
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return err
}

// end lets the clients finish on the box, stops it, and holds what lies in the
// archive against all that was told.
func (p *power) end(ctx context.Context) (int, error) {
	if err := p.on(ctx); err != nil {
		return 0, err
	}
	p.crowd.disperse()
	if err := p.look(ctx, p.crowd.told(), true); err != nil {
		return 0, err
	}
	if err := p.off(); err != nil {
		return 0, err
	}
	key, err := p.dir.Verifier()
	if err != nil {
		return 0, err
	}
	events, err := verified(p.disk.Files(), key)
	if err != nil {
		return 0, err
	}
	return len(events), errors.Join(continues(events, p.seen), check(events, p.crowd.told(), true))
}
