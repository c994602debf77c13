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
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
)

var cuts = flag.Int("cuts", 20, "how often TestPowerCuts cuts the power")

// TestPowerCuts runs a box on files that lose what was not synced, cuts the power
// again and again while clients work, and starts the box on what survived.
func TestPowerCuts(t *testing.T) {
	p := newPower(t, 1)
	begun := time.Now()
	n := *cuts
	if testing.Short() {
		n = min(n, 5)
	}
	events, err := p.run(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	count := map[outcome]int{}
	for _, r := range p.crowd.told() {
		count[r.outcome]++
	}
	t.Logf("%d power cuts, %d of them while the box started, in %.1f s; %d acknowledged, %d refused, %d failed, %d abandoned; %d events; %d torn writes removed",
		p.cuts, p.atStart, time.Since(begun).Seconds(), count[acked], count[refused], count[failed], count[abandoned], events, p.torn)
}

// TestPowerCutsNoticeEarlyAnswers holds the same against an archive that acknowledges before
// its log is synced, and against one none of whose syncs do anything: that has to be found to
// lose events.
func TestPowerCutsNoticeEarlyAnswers(t *testing.T) {
	for _, f := range []struct {
		name  string
		files func(archive.FS) archive.FS
	}{
		{"the log's syncs do nothing", func(fs archive.FS) archive.FS { return lying{fs} }},
		{"no sync does anything", func(fs archive.FS) archive.FS { return idle{fs} }},
	} {
		t.Run(f.name, func(t *testing.T) {
			for seed := range uint64(5) {
				p := newPower(t, 10+seed)
				p.files = f.files(p.disk)
				_, err := p.run(t.Context(), 10)
				t.Logf("after %d power cuts: %v", p.cuts, err)
				if errors.Is(err, errLost) {
					return
				}
			}
			t.Error("acknowledgements before the sync go unnoticed")
		})
	}
}

// lying is files whose syncs do nothing while they are being extended.
type lying struct{ archive.FS }

func (l lying) Extend(name string) (archive.File, error) {
	f, err := l.FS.Extend(name)
	return lyingFile{f}, err
}

// idle is files whose syncs do nothing.
type idle struct{ archive.FS }

func (i idle) Extend(name string) (archive.File, error) { return lying(i).Extend(name) }

func (i idle) Create(name string) (archive.File, error) {
	f, err := i.FS.Create(name)
	return lyingFile{f}, err
}

func (idle) SyncDir(string) error { return nil }

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

	cuts, atStart, torn int
}

func newPower(t *testing.T, seed uint64) *power {
	t.Helper()
	p := &power{
		dir:  box.Dir(filepath.Join(t.TempDir(), "box")),
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
	// The clients wait until then: what they do while it is looked grows with what there is to look at.
	p.disk.StopAfter(1 + p.chance.IntN(500))
	p.line.to(p.address())
	select {
	case <-p.box.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	return p.cut()
}

// on starts the box. A power cut is no reason to refuse: nothing but a write that was never
// acknowledged can be torn.
func (p *power) on(ctx context.Context) error {
	b, found, err := box.Open(ctx, box.Options{Dir: p.dir, Files: p.files, ExitEnabled: true})
	var damage *archive.Damage
	if errors.As(err, &damage) {
		return fmt.Errorf("%w: the box refuses: %w", errLost, err)
	}
	if err != nil {
		return err
	}
	if tornWrite(found.Notes) {
		p.torn++
	}
	p.box, p.server = b, httptest.NewServer(httpapi.New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler())
	if p.crowd != nil {
		return nil
	}
	token, err := p.dir.APIToken()
	if err != nil {
		return err
	}
	gate, err := os.ReadFile(filepath.Join(string(p.dir), "gate.token"))
	if err != nil {
		return err
	}
	p.crowd = gather(ctx, p.line.address(), token, strings.TrimSpace(string(gate)), clients, p.seed)
	return nil
}

// tornWrite reports whether a box says that it removed a write that was never finished.
func tornWrite(notes []string) bool { return strings.Contains(fmt.Sprint(notes), "never finished") }

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

// cut turns the power off, and leaves what a power cut could leave.
func (p *power) cut() error {
	p.cuts++
	if p.box != nil {
		if err := p.off(); !errors.Is(err, archivetest.ErrPower) {
			return fmt.Errorf("the box stopped, but not because of the power: %w", err)
		}
	}
	p.disk.PowerCut(p.chance)
	return nil
}

// end lets the clients finish on the box, stops it, and holds what lies in the
// archive against all that was told.
func (p *power) end(ctx context.Context) (int, error) {
	if err := p.on(ctx); err != nil {
		return 0, err
	}
	p.line.to(p.address())
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
