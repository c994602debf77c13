package box

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/index"
	"github.com/signalbox-dev/signalbox/internal/keylock"
	"github.com/signalbox-dev/signalbox/internal/raftlog"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// ErrLocked is returned if another box runs in the directory.
var ErrLocked = errors.New("a box is running here already")

// Options say how a box is to run.
type Options struct {
	Dir         Dir
	Archive     string              // where the archive lies; if empty, where it lay, or in Dir
	Segments    string              // where its log lies; if empty, where it lay, or in the archive
	Mirror      string              // where the log is written too; nowhere if empty
	Files       archive.FS          // the archive's files; those where it lies if nil
	ExitEnabled bool                // exit records are acted upon
	Hosts       []string            // that a pull request's URL may name, besides the common forges
	Own         *agentsig.Extension // line signals of the project's own
	Limits      work.Limits         // of work that stands alone; those of [delivery.DefaultLimits] where they are 0
	Redact      []string            // patterns of the operator's own secrets
	Checks      bool                // whoever conducts it runs the checks on work that stands alone and has a branch
	Evidence    Evidence            // reads what agents name that work by hand; may be nil
	Version     string              // of the program
	Settings    *api.Settings       // that it was started with, for who asks; may be nil
	Witnesses   Witnesses           // commits that may show that the ledger is not what was signed; may be nil
	Unlisted    bool                // only its own process finds it, for a moment; it makes way for others
	Patience    time.Duration       // how long it waits for a directory that another has for a moment
	Keep        time.Duration       // how long outputs of what is over are kept; for ever if 0
	Verify      bool                // read and prove all that is in the archive before it starts
	Busy        func(bool)          // told when a burst of events begins, as the box does with one; when it is over; and when no event comes any more; may be nil
	Timing      Timing              // who is told how long writing takes
	Logger      *slog.Logger

	Cluster *Cluster // how it is a member of one; nil if it stands alone

	Now func() time.Time // time.Now if nil; a test has a clock that is wrong

	held *holding // once it is taken
}

// Evidence reads a file that an agent names as its evidence, of at most [MaxEvidence] bytes.
type Evidence func(ref string) ([]byte, error)

// Box records what happens to work items and hands them from agent to agent.
type Box struct {
	dir         Dir
	held        *holding
	log         engine.Log
	shared      *raftlog.Log         // it, if the box is a member of a cluster; nil if it stands alone
	wanting     func(access.Members) // told who should take part; nil if it stands alone
	changed     func()               // told when another box leads, and the like; nil if it stands alone
	leads       atomic.Bool          // it acts as the box that leads
	shaken      atomic.Bool          // see Shaken
	archive     *archive.Archive
	keys        archive.Keys
	epoch       uint64
	state       *state
	kept        uint64    // the size of the ledger at the last snapshot
	evicted     time.Time // when something last left memory
	past        *past
	merging     atomic.Bool             // the index is
	requests    keylock.Lock[keyOfKind] // by key; starts of runs have one for all
	redact      *redact.Redactor
	hosts       []string
	own         *agentsig.Extension
	evidence    Evidence
	exitEnabled bool
	checks      bool
	limits      work.Limits
	version     string
	settings    *api.Settings
	logger      *slog.Logger
	now         func() time.Time

	unlisted bool // its address is for its own process alone

	apiToken, gateToken string

	group          *background.Group // all that runs beside requests; ends when the box stops
	stopped        chan struct{}     // closed when nothing is recorded any more
	sealing        sealing
	signing        sync.Mutex          // held while a checkpoint is signed and remembered
	ahead          []ledger.Checkpoint // that other boxes of a cluster have signed, by commits, over more than this one had when it started
	remembered     []byte              // the checkpoint that the directory remembers
	scrub          scrub
	recorded       atomic.Pointer[func(ledger.Event)] // see WhenRecorded
	runnersChanged atomic.Pointer[func()]             // see WhenRunnersChange
	keepBlobs      time.Duration                      // how long outputs of what is over are kept; for ever if 0
	unsigned       atomic.Pointer[string]             // why no checkpoint is signed; nil or empty if they are
	last           func() error                       // called when all is closed but the archive; nil for nothing
	open           struct {                           // appends that may be stored yet, by the key of their request
		sync.Mutex
		all map[string]chan struct{} // closed when that is known
	}
	removals struct {
		sync.Mutex
		all []foldedRemoval
	}
	failure struct {
		sync.Mutex
		err error
	}
}

// Found is what a box found when it started.
type Found struct {
	archive.Findings
	Events   uint64
	Items    int
	Leases   int
	Snapshot bool // the state came from a snapshot, and the events after it
	Took     time.Duration
}

// Open starts a box in a directory, which is made if need be. It refuses with
// [ErrLocked] if another box runs there, and with an [archive.Damage] if the
// ledger is not what was recorded. For one that nobody can ask it waits, as long as its Patience: that
// one is there for a single request, or it starts or stops.
func Open(ctx context.Context, o Options) (*Box, Found, error) {
	begun := time.Now()
	if err := o.Dir.create(); err != nil {
		return nil, Found{}, err
	}
	if err := o.hold(ctx, o.expectAll); err != nil {
		return nil, Found{}, err
	}
	// Somebody else may listen by now where a box that was killed did.
	if err := os.Remove(o.Dir.path(addressFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, Found{}, errors.Join(err, o.held.release())
	}
	b, found, err := open(ctx, o)
	if err != nil {
		return nil, Found{}, errors.Join(o.locate(err), o.held.release())
	}
	notes, err := o.Dir.setEngineAside()
	if err = errors.Join(err, b.begun()); err != nil {
		return nil, Found{}, errors.Join(err, b.Close())
	}
	found.Notes = append(found.Notes, notes...)
	if err := o.notePlaces(); err != nil {
		return nil, Found{}, errors.Join(err, b.Close())
	}
	found.Took = time.Since(begun)
	return b, found, nil
}

// elsewhere reports whether the archive lies outside of the box's directory.
func (o Options) elsewhere() bool { return o.Archive != o.Dir.path(archiveDir) }

// locate adds to a refusal of the archive where it lies.
func (o Options) locate(err error) error {
	var damage *archive.Damage
	var lost *archive.LostError
	if errors.As(err, &damage) || errors.As(err, &lost) {
		return fmt.Errorf("the archive in %s: %w", safetext.Escape(o.Archive), err)
	}
	return err
}

func open(ctx context.Context, o Options) (*Box, Found, error) {
	keys, err := o.Dir.secrets(o.Archive)
	if err != nil {
		return nil, Found{}, err
	}
	a, journal, err := o.openArchive(keys)
	if err != nil {
		return nil, Found{}, err
	}
	a.TimeSyncs(o.Timing.Synced)
	b, found, err := start(ctx, o, a, keys, func(b *Box, f archive.Follower) (engine.Log, error) {
		if journal != nil {
			return b.share(o, journal, f)
		}
		return o.Timing.log(archive.NewLog(a, f)), nil
	})
	if err == nil {
		return b, found, nil
	}
	closed := a.Close()
	var broken *index.Damage
	if (errors.Is(err, errSnapshot) || errors.As(err, &broken)) && closed == nil {
		if err := o.held.forgetIndex(); err != nil {
			return nil, Found{}, err
		}
		b, found, err := open(ctx, o)
		found.Notes = append(found.Notes, "the snapshot or the index is damaged, or not of this ledger: the state was folded from the first event, and the index made again")
		return b, found, err
	}
	return nil, Found{}, errors.Join(err, closed)
}

// start runs a box on an open archive, and on the log that is made for its state.
func start(ctx context.Context, o Options, a *archive.Archive, keys archive.Keys, newLog func(*Box, archive.Follower) (engine.Log, error)) (*Box, Found, error) {
	b := &Box{
		dir: o.Dir, archive: a, keys: keys, hosts: o.Hosts, own: o.Own, evidence: o.Evidence, exitEnabled: o.ExitEnabled, checks: o.Checks, limits: byHand(o.Limits),
		keepBlobs: o.Keep, version: o.Version, settings: o.Settings, logger: o.Logger, now: o.Now,
		stopped: make(chan struct{}), sealing: sealing{dirty: make(chan struct{}, 1), busy: o.Busy},
		held: o.held, unlisted: o.Unlisted,
	}
	if b.logger == nil {
		b.logger = slog.New(slog.DiscardHandler)
	}
	if b.now == nil {
		b.now = time.Now
	}
	b.group = background.New(context.Background())
	found, err := b.start(ctx, o, newLog)
	if err != nil {
		b.group.Stop()
		return nil, Found{}, errors.Join(err, b.past.close())
	}
	return b, found, nil
}

func (b *Box) start(ctx context.Context, o Options, newLog func(*Box, archive.Follower) (engine.Log, error)) (found Found, err error) {
	if b.apiToken, err = o.Dir.APIToken(); err != nil {
		return Found{}, err
	}
	if b.gateToken, err = o.Dir.read(gateFile); err != nil {
		return Found{}, err
	}
	if b.redact, err = o.Dir.Redactor(o.Redact); err != nil {
		return Found{}, err
	}
	if b.epoch, err = epochOf(b.keys.Verifier); err != nil {
		return Found{}, err
	}
	if err := b.scrub.load(o.Dir); err != nil {
		return Found{}, err
	}
	if found, err = b.load(ctx, o.Verify); err != nil {
		return Found{}, err
	}
	if o.Cluster == nil {
		b.state.start(b.now, b.expireSoon)
	}
	notes, err := b.witness(ctx, o.Witnesses, o.Cluster != nil)
	if err != nil {
		b.state.stop()
		return Found{}, err
	}
	found.Notes = append(found.Notes, notes...)
	found.Items, found.Leases, _ = b.state.counts()
	if b.log, err = newLog(b, b.follower()); err != nil {
		b.state.stop()
		return Found{}, err
	}
	b.group.Go(func(ctx context.Context) { b.sealing.run(ctx, b) })
	b.group.Go(func(ctx context.Context) { b.fail(b.scrub.run(ctx, b)) })
	return found, nil
}

// expireSoon takes a lease away, beside whoever says that its term is over.
func (b *Box) expireSoon(subject string, token work.Token) {
	b.group.Go(func(context.Context) { b.expire(subject, token) })
}

// errSnapshot says that the snapshot, or the index, is not of this ledger.
var errSnapshot = errors.New("the snapshot or the index does not belong to this ledger")

// load brings the state back: from a snapshot, if there is one, and from the
// events after it. It fails with errSnapshot if they do not go together.
func (b *Box) load(ctx context.Context, everything bool) (Found, error) {
	defer debug.FreeOSMemory() // much is left over
	var at ledger.Checkpoint
	var found Found
	if err := b.openPast(&found); err != nil {
		return Found{}, err
	}
	mark := b.past.index.Mark()
	b.state, at = b.dir.loadSnapshot(b.keys, mark.Size)
	if found.Snapshot = b.state != nil; !found.Snapshot {
		b.state = newState()
	}
	b.state.past = b.past
	b.kept = uint64(at.Size)
	newest := b.dir.latest(b.keys)
	if at.Size > newest.Size {
		newest = at
	}
	if err := b.refuseShorter(newest); err != nil {
		return Found{}, err
	}
	from := at.Size
	if everything {
		from = 0
	}
	notes := found.Notes
	var err error
	if found.Findings, err = b.archive.Start(ctx, from); err != nil {
		return Found{}, err
	}
	found.Notes = append(notes, found.Notes...)
	if everything || found.Verified > 0 {
		b.scrub.at = scrubbed{}.looked(b.now(), found.Verified, found.Verified)
	}
	if newest.Size > b.archive.Sealed() {
		if err := b.refuseOther(newest); err != nil {
			return Found{}, err
		}
		if _, err := b.seal(); err != nil {
			return Found{}, err
		}
	}
	for _, of := range []ledger.Checkpoint{at, {Size: mark.Size, Root: mark.Root}} {
		if root, err := b.archive.Root(of.Size); of.Size > 0 && (err != nil || root != of.Root) {
			return Found{}, errors.Join(errSnapshot, err)
		}
	}
	err = b.archive.Entries(at.Size, func(index int64, stored []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := b.state.fold(uint64(index)+1, stored)
		var newer *NewerError
		if err != nil && found.Snapshot && !errors.As(err, &newer) {
			err = errors.Join(errSnapshot, err)
		}
		if seq := uint64(index) + 1; err == nil && seq%evictLoading == 0 && b.state.crowded() && seq <= uint64(b.archive.Sealed()) {
			err = b.evict(seq, b.now())
			if err == nil {
				err = b.past.index.Merge(ctx, b.now())
			}
		}
		return err
	})
	if err != nil {
		return Found{}, err
	}
	found.Events = b.state.folded
	if err := b.checkLevel(); err != nil {
		return Found{}, err
	}
	_, err = b.seal() // what a kill left unsealed
	return found, err
}

func epochOf(verifier string) (uint64, error) {
	origin, _, _ := strings.Cut(verifier, "+")
	_, epoch, err := ledger.ParseOrigin(origin)
	return epoch, err
}

// fail stops the box because of an error, which Close returns. What ends because the box stops is no
// failure.
func (b *Box) fail(err error) {
	if b.group.Context().Err() == nil && err != nil {
		b.broken(err)
	}
	b.group.End()
}

// broken notes an error for good: Close returns it, and keeps no snapshot.
func (b *Box) broken(err error) {
	b.failure.Lock()
	b.failure.err = errors.Join(b.failure.err, err)
	b.failure.Unlock()
	b.logger.Error("the box stops", "error", err)
}

// keepUp does what is due from time to time while events come: what is over leaves memory, and the
// state is kept.
func (b *Box) keepUp(ctx context.Context) error {
	if size := uint64(b.archive.Sealed()); b.state.crowded() || b.now().Sub(b.evicted) > evictEvery {
		b.evicted = b.now()
		if err := b.evict(size, b.evicted); err != nil {
			return fmt.Errorf("let go of what is over: %w", err)
		}
		b.merge(ctx)
	}
	if b.state.upTo() < b.kept+snapshotEvery {
		return nil
	}
	if err := b.saveSnapshot(); err != nil {
		return fmt.Errorf("keep a snapshot: %w", err)
	}
	return nil
}

// merge merges the index's files in the background.
func (b *Box) merge(ctx context.Context) {
	if !b.merging.CompareAndSwap(false, true) {
		return
	}
	b.group.Go(func(context.Context) {
		defer b.merging.Store(false)
		if err := b.past.index.Merge(ctx, b.now()); err != nil && ctx.Err() == nil {
			b.indexBroken(fmt.Errorf("merge the index: %w", err))
		}
	})
}

// evictLoading is after how many events what is over leaves memory while the ledger is folded.
const evictLoading = 1000

// evictEvery is how often what is over leaves memory, if there is not much of it.
const evictEvery = time.Hour

// Done is closed when the box stops: it was told to, or can't record any more.
func (b *Box) Done() <-chan struct{} { return b.group.Context().Done() }

// Context ends when the box stops.
func (b *Box) Context() context.Context { return b.group.Context() }

// Stop ends what waits, and lets nothing more be recorded. [Box.Close] does the rest.
func (b *Box) Stop() { b.group.End() }

// Tokens returns the token that requests need, and the one that the gate's reports need instead.
func (b *Box) Tokens() (requests, gate string) { return b.apiToken, b.gateToken }

// Unlisted reports whether only its own process finds the box, for a moment.
func (b *Box) Unlisted() bool { return b.unlisted }

// Announce notes at which address the box can be asked, unless it is there for its own process alone.
func (b *Box) Announce(address string) error {
	if b.unlisted {
		return nil
	}
	if _, port, err := net.SplitHostPort(address); err == nil && port != strconv.Itoa(int(b.dir.LastPort())) {
		if err := b.held.write(portFile, []byte(port+"\n")); err != nil {
			return err
		}
	}
	return b.held.setAddress(address)
}

// Close stops the box: what waits is ended, what was recorded is sealed, and the
// state is kept as a snapshot.
func (b *Box) Close() error {
	b.group.End()
	b.state.stop()
	b.group.Stop()
	closed := b.log.Close()
	b.failure.Lock()
	failed := b.failure.err
	b.failure.Unlock()
	var err error
	if failed == nil {
		err = b.saveSnapshot()
	}
	if b.last != nil {
		err = errors.Join(err, b.last())
	}
	return errors.Join(failed, err, closed, b.past.close(), b.archive.Close(), b.Withdraw(), b.held.release())
}

// Withdraw removes the box's address: who looks for a box waits for the next one then.
func (b *Box) Withdraw() error {
	err := b.held.home.Remove(addressFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// sealing signs checkpoints while events come, and says whether many do. When they stop coming it does
// nothing.
type sealing struct {
	dirty chan struct{}
	busy  func(bool) // may be nil
}

// sealAfter is how long an event waits for the checkpoint that covers it.
const sealAfter = time.Second

// snapshotEvery is how many events come between two snapshots, and so about how many a start
// has to fold.
const snapshotEvery = 100_000

func (s *sealing) wake() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

func (s *sealing) run(ctx context.Context, b *Box) {
	p := beginPace(b.state.upTo(), b.now())
	s.say(true)
	over, idle := time.After(quietAfter), (<-chan time.Time)(nil)
	for {
		select {
		case <-s.dirty:
		case <-ctx.Done():
			return
		case <-over:
			s.say(false)
			over = nil
			continue
		case <-idle:
			s.say(false)
			idle = nil
			continue
		}
		select {
		case <-time.After(sealAfter):
		case <-ctx.Done():
			return
		}
		if _, err := b.seal(); err != nil && !errors.Is(err, errUnsigned) {
			b.fail(err)
			return
		}
		b.finishRemovals()
		if err := b.keepUp(ctx); err != nil {
			b.fail(err)
			return
		}
		if left := p.look(b.state.upTo(), b.now()); left > 0 {
			if over == nil {
				s.say(true)
			}
			over = time.After(left)
		}
		idle = time.After(quietAfter)
	}
}

func (s *sealing) say(busy bool) {
	if s.busy != nil {
		s.busy(busy)
	}
}
