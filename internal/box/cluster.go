package box

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/internal/raftlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A box can share its ledger with others (docs/cluster.md). Its log is a member's then ([raftlog.Log]), and one of the boxes leads: it alone
// decides, runs the terms of leases and hands work out. The others fold what it records, and can be asked what that is. Who
// leads is settled by the log; [Box.Lead] and [Box.Yield] have the box act by it.

// Cluster says how a box is a member of one.
type Cluster struct {
	ID        uint64 // of this box
	Peers     []uint64
	Transport raftlog.Transport
	Changed   func() // told when another box leads, or others take part, or the box has to begin anew to lead; it must not wait
	Tick      time.Duration
	Elect     int // ticks
}

// How often the box that leads says so, and after how many such ticks without it another one is elected: between one and two times that.
const (
	ClusterTick  = 100 * time.Millisecond
	ClusterElect = 8
)

// keepEntries is how many entries a member keeps in memory for others that lag. Who is further behind fetches the archive.
const keepEntries = 16 << 10

// level is what this program knows of the ledger. A build can have another one, to try how versions meet.
var level = "1"

// Level is the highest level of a ledger that this program knows: a change of what events mean, or how members speak to each other, raises it.
func Level() int {
	n, err := strconv.Atoi(level)
	if err != nil {
		return 0
	}
	return n
}

// LevelError refuses a ledger whose level this program does not know.
type LevelError struct{ Ledger, Program int }

func (e *LevelError) Error() string {
	return fmt.Sprintf("the ledger has level %d, and this program knows %d: all boxes of the cluster had a later version when that was raised. Nothing is damaged: install that version here, and start again", e.Ledger, e.Program)
}

func (b *Box) checkLevel() error {
	if l := b.state.cluster().Level; l > Level() {
		return &LevelError{l, Level()}
	}
	return nil
}

// share opens the log that the box shares with others.
func (b *Box) share(o Options, j *archive.Journal, f archive.Follower) (engine.Log, error) {
	c := o.Cluster
	b.changed = c.Changed
	changed := func(member.Status) { c.Changed() }
	b.wanting = func(m access.Members) { // in the log's loop, or before that begins
		voters, learners := m.Wanted()
		_ = b.shared.Want(context.Background(), voters, learners, m.Last) // or the log has ended
		b.changed()
	}
	if id := j.ID(); id != c.ID {
		return nil, fmt.Errorf("the log here is that of member %d, and cluster.json says that this box is member %d: was a file of another box put here? Put back what belongs together, or have the box's place given to a new one (`signalbox cluster replace NAME` at another box)", id, c.ID)
	}
	l, err := raftlog.New(b.archive, j, raftlog.Config{
		Follower: f, Transport: c.Transport, Peers: c.Peers, Removed: b.wasRemoved, Tick: c.Tick, Elect: c.Elect, Keep: keepEntries, Changed: changed,
	})
	if err != nil {
		return nil, err
	}
	b.shared = l
	if m := b.state.cluster(); len(m.All) > 0 {
		b.wanting(m)
	}
	l.Start()
	return o.Timing.log(l), nil
}

// wasRemoved says whether an event says that a blob was removed.
func (b *Box) wasRemoved(sum ledger.Hash) bool {
	removed, err := b.state.removedAfter(sum, -1)
	return err == nil && removed
}

// Shares reports whether the box is a member of a cluster.
func (b *Box) Shares() bool { return b.shared != nil }

// InCluster returns what the box's log knows of the cluster; nothing if it stands alone.
func (b *Box) InCluster() member.Status {
	if b.shared == nil {
		return member.Status{}
	}
	return b.shared.Status()
}

// ReceiveFrom takes what another member has said to this one, which whoever calls has proven.
func (b *Box) ReceiveFrom(message []byte) { b.shared.Receive(message) }

// CatchUp returns when all that was recorded anywhere in the cluster when it was called is folded here. Alone, it is at once.
func (b *Box) CatchUp(ctx context.Context) error {
	if b.shared == nil {
		return nil
	}
	return b.shared.CatchUp(ctx)
}

// HandOver has another box lead, if this one does.
func (b *Box) HandOver(ctx context.Context, to uint64) error { return b.shared.HandOver(ctx, to) }

// Lead has the box act as the one that leads: all leases have a full term from now. The log says that it leads, so all that was recorded before is
// folded. If a commit shows that more was signed, it stops instead.
func (b *Box) Lead() {
	if err := b.aheadOfAll(); err != nil {
		b.fail(err)
		return
	}
	b.state.start(b.now, b.expireSoon)
	b.leads.Store(true)
}

// Yield has it act so no more. Claims that wait end with their requests, which who leads ends.
func (b *Box) Yield() {
	b.leads.Store(false)
	b.state.rest()
}

// Leads reports whether the box acts as the one that leads; alone, it always does.
func (b *Box) Leads() bool { return b.shared == nil || b.leads.Load() }

// Shaken reports, once, whether something that the box which leads had under way has failed because it did not lead, or too few boxes answered: it is to
// yield, and lead anew if it still does.
func (b *Box) Shaken() bool { return b.shaken.Swap(false) }

// errYielded is why a box does not do what only the one that leads does.
var errYielded = fmt.Errorf("%w: this box does not lead any more", engine.ErrNotReady)

// shaken reports whether an error says no more than that the box does not lead, or that too few boxes answer.
func shaken(err error) bool {
	return errors.Is(err, engine.ErrNotReady) || errors.Is(err, engine.ErrUnknown) || errors.Is(err, ErrOutcomeUnknown)
}

// appendPatience is for how long a request waits until enough boxes have what it records.
const appendPatience = 3 * time.Second

// patient returns the context in which a request is recorded: alone, for as long as the box runs.
func (b *Box) patient() (context.Context, context.CancelFunc) {
	if b.shared == nil {
		return b.group.Context(), func() {}
	}
	return context.WithTimeout(b.group.Context(), appendPatience)
}

// append appends an event to the log, for the request with a key.
func (b *Box) append(ctx context.Context, subject string, last uint64, stored []byte, key string) (uint64, error) {
	seq, err := b.log.Append(ctx, subject, last, stored)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, engine.ErrUnknown) && b.group.Context().Err() == nil {
		err = fmt.Errorf("%w: no box leads, or too few answer", engine.ErrNotReady)
	}
	if open, ok := errors.AsType[*raftlog.Open](err); ok && key != "" {
		b.leaveOpen(key, open)
	}
	return seq, err
}

// leaveOpen notes that what a request asked for may be stored yet.
func (b *Box) leaveOpen(key string, open *raftlog.Open) {
	known := make(chan struct{})
	b.open.Lock()
	if b.open.all == nil {
		b.open.all = map[string]chan struct{}{}
	}
	b.open.all[key] = known // if there is one already, it is on the same subject, and decided no later
	b.open.Unlock()
	settle := func(ctx context.Context) {
		open.Wait(ctx)
		b.open.Lock()
		defer b.open.Unlock()
		if b.open.all[key] == known {
			delete(b.open.all, key)
		}
		close(known)
	}
	if !b.group.Go(settle) { // the box stops
		settle(b.group.Context())
	}
}

// lock has the request with a key be the only one, as [keylock.Lock.Lock]. Of one that came before it is known by then what became of it: it may have been on a
// subject of its own, where nothing else keeps the two from being stored both. It waits for that no longer than for enough boxes.
func (b *Box) lock(ctx context.Context, key keyOfKind) (unlock func(), err error) {
	if unlock, err = b.requests.Lock(ctx, key); err != nil {
		return nil, err
	}
	var late <-chan time.Time
	for {
		b.open.Lock()
		known := b.open.all[key.key]
		b.open.Unlock()
		if known == nil {
			return unlock, nil
		}
		if late == nil {
			late = time.After(appendPatience)
		}
		select {
		case <-known:
		case <-late:
			unlock()
			return nil, fmt.Errorf("%w: too few boxes answer", ErrOutcomeUnknown)
		case <-ctx.Done():
			unlock()
			return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
		}
	}
}

// Folded returns how many events the box has folded.
func (b *Box) Folded() uint64 { return b.state.upTo() }

// Signed returns the last checkpoint that the box has signed.
func (b *Box) Signed() (ledger.Checkpoint, error) {
	note := b.archive.Checkpoint()
	if note == nil {
		return ledger.Checkpoint{}, nil
	}
	return ledger.OpenCheckpoint(note, b.keys.Verifier)
}

// RootAt returns the root of the ledger's first events, if the box has signed as many.
func (b *Box) RootAt(size int64) (root ledger.Hash, known bool, err error) {
	if size > b.archive.Sealed() {
		return root, false, nil
	}
	root, err = b.archive.Root(size)
	return root, err == nil, err
}

// ReadFile returns a file of the box's archive that another member asks for by its name.
func (b *Box) ReadFile(name string) ([]byte, error) { return b.archive.ReadFile(name) }

// SignNothing has the box sign no checkpoint for as long as there is a reason, which is told once; "" for none.
func (b *Box) SignNothing(reason string) {
	if was := b.unsigned.Swap(&reason); (was == nil || *was != reason) && reason != "" {
		b.logger.Error("no checkpoint is signed", "why", reason)
	}
}

// signsNothing says why the box signs no checkpoint; "" if it does.
func (b *Box) signsNothing() string {
	if why := b.unsigned.Load(); why != nil {
		return *why
	}
	return ""
}

// errUnsigned is why no checkpoint is signed for now.
var errUnsigned = errors.New("no checkpoint is signed")

// foldedRemoval is an event that says that blobs were removed, which another box has recorded, or this one while it signed nothing: their files go once it is sealed here.
type foldedRemoval struct {
	seq  uint64
	sums []ledger.Blob
}

// noteRemoval takes note of such an event.
func (b *Box) noteRemoval(seq uint64, e ledger.Event) {
	if b.shared == nil || e.Type != ledger.TypeBlobRemoved || b.leads.Load() {
		return
	}
	if p, err := ledger.ParseBlobRemoved(e.Payload); err == nil {
		b.removeLater(seq, p.Removed)
	}
}

// removeLater has the files of blobs go once the event that says so is sealed.
func (b *Box) removeLater(seq uint64, removed []ledger.RemovedBlob) {
	var sums []ledger.Blob
	for _, one := range removed {
		sums = append(sums, ledger.Blob(one))
	}
	b.removals.Lock()
	defer b.removals.Unlock()
	b.removals.all = append(b.removals.all, foldedRemoval{seq, sums})
}

// finishRemovals unlinks the files of blobs that sealed events of other boxes say were removed.
func (b *Box) finishRemovals() {
	sealed := uint64(b.archive.Sealed())
	b.removals.Lock()
	var due []foldedRemoval
	for len(b.removals.all) > 0 && b.removals.all[0].seq <= sealed {
		due, b.removals.all = append(due, b.removals.all[0]), b.removals.all[1:]
	}
	b.removals.Unlock()
	for _, r := range due {
		_, err := b.archive.MarkBlobs(r.sums, b.now().Add(removedAnyTime))
		if err == nil {
			_, err = b.archive.RemoveBlobs(int64(r.seq) - 1)
		}
		if err != nil {
			b.logger.Warn("outputs that are said to be removed can't be", "event", r.seq, "error", err)
		}
	}
}

// removedAnyTime is after whatever time a blob can have been stored at here.
const removedAnyTime = 100 * 365 * 24 * time.Hour

// Fail stops the box because of an error.
func (b *Box) Fail(err error) { b.fail(err) }

// InitCluster makes the ledger of a box that stands alone, and does not run, that of the first box of a cluster. It can be called again if it was cut off;
// recorded is called when the ledger says so, before its log is a member's, and may fail.
func InitCluster(ctx context.Context, o Options, found access.FoundCluster, recorded func(access.Member) error) (access.Member, error) {
	o.Unlisted = true
	b, _, err := Open(ctx, o)
	if err != nil {
		return access.Member{}, err
	}
	found.At = b.stampNow()
	if _, err = ofMembers.record(b, members, "", found); errors.Is(err, access.ErrMember) {
		err = nil // it was cut off after this
	}
	one, _ := b.Members().ByKey(found.Key)
	size := b.state.upTo()
	if err := errors.Join(err, b.Close()); err != nil {
		return one, err
	}
	if err := recorded(one); err != nil {
		return one, err
	}
	return one, o.asMember(ctx, memberlog.Founding(one.ID, size))
}

// asMember makes the log of a box that does not run that of a member. Where it begins with nothing, what was there may have been set aside.
func (o Options) asMember(ctx context.Context, s member.State) (err error) {
	check := func() error {
		if s.At == (memberlog.Mark{}) {
			return nil
		}
		return o.expectAll()
	}
	if err := o.hold(ctx, check); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.held.release()) }()
	keys, err := o.Dir.keys()
	if err != nil {
		return err
	}
	return archive.Found(o.files(), keys, s)
}

// JoinCluster makes a directory that of a member which has nothing yet: the others bring it what there is. There must be no ledger in it.
func JoinCluster(ctx context.Context, o Options, id uint64, secrets api.MemberSecrets) error {
	if err := o.Dir.create(); err != nil {
		return err
	}
	if member, err := HasMembersLog(ctx, o); member || err != nil {
		return err // it was cut off after this
	}
	if had, err := o.Dir.read(signerFile); err == nil && had != secrets.Signer {
		return fmt.Errorf("%s: %w", o.Dir, ErrHasLedger) // whose key must not be lost
	}
	for _, f := range []struct{ name, text string }{{apiTokenFile, secrets.Token}, {gateFile, secrets.Gate}, {signerFile, secrets.Signer}} {
		if err := o.Dir.write(f.name, []byte(f.text+"\n")); err != nil {
			return err
		}
	}
	return o.asMember(ctx, memberlog.Joining(id))
}

// CheckEmpty refuses a directory that has a ledger.
func CheckEmpty(o Options) error {
	if _, err := os.Stat(o.Dir.path(signerFile)); err == nil {
		return fmt.Errorf("%s: %w", o.Dir, ErrHasLedger)
	}
	return nil
}

// HasLedger reports whether something was ever signed in the archive of a box.
func HasLedger(o Options) bool {
	_, err := os.Stat(filepath.Join(o.Dir.Archive(o.Archive), ledger.CheckpointPath))
	return err == nil
}

// HasMembersLog reports whether the log of a box that does not run is that of a cluster's member.
func HasMembersLog(ctx context.Context, o Options) (member bool, err error) {
	return o.ofLog(ctx, archive.IsMember)
}

// HasLeft reports whether the log of a box that does not run was that of the last member of a cluster, which has left it.
func HasLeft(ctx context.Context, o Options) (left bool, err error) {
	return o.ofLog(ctx, archive.HasLeft)
}

// ofLog asks something of the log of a box that does not run.
func (o Options) ofLog(ctx context.Context, ask func(archive.FS) (bool, error)) (is bool, err error) {
	if err := o.hold(ctx, func() error { return nil }); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, o.held.release()) }()
	return ask(o.files())
}

// asideEnd follows the name of what is set aside; then the id comes under which the box had it.
const asideEnd = ".member-"

// CheckAside refuses, before anything has changed, what [SetAside] would fail at: a box that runs, or a place that can't be moved. It tries that, there and back.
func CheckAside(ctx context.Context, o Options, id uint64) error {
	places, err := o.full(ctx)
	if err != nil {
		return err
	}
	for _, place := range places {
		to, err := moveAside(place, id)
		if err == nil {
			err = os.Rename(to, place)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SetAside moves the archive of a box that does not run, and its log, beside themselves, and forgets what was made of them; so too the signer's key, if it is not the
// one that is given. It returns where all is that was ever set aside.
func SetAside(ctx context.Context, o Options, id uint64, signer string) (aside []string, err error) {
	places, err := o.full(ctx)
	if err != nil {
		return nil, err
	}
	if had, err := o.Dir.read(signerFile); err == nil && had != signer {
		places = append(places, o.Dir.path(signerFile))
	}
	for _, place := range places {
		if _, err := moveAside(place, id); err != nil {
			return nil, err
		}
	}
	for _, place := range []string{o.Archive, o.Segments, o.Dir.path(signerFile)} {
		old, err := setAside(place)
		if err != nil {
			return nil, err
		}
		aside = append(aside, old...)
	}
	for _, name := range []string{snapshotFile, latestFile, scrubFile, indexDir} {
		if err := os.RemoveAll(o.Dir.path(name)); err != nil {
			return aside, err
		}
	}
	return aside, nil
}

// full settles where the archive of a box that does not run lies, and its log, and returns those places in which something is.
func (o *Options) full(ctx context.Context) (places []string, err error) {
	if err := o.hold(ctx, func() error { return nil }); err != nil {
		return nil, err
	}
	if err := o.held.release(); err != nil {
		return nil, err
	}
	for _, place := range []string{o.Archive, o.Segments} {
		if place == "" {
			continue
		}
		entries, err := os.ReadDir(place)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			places = append(places, place)
		}
	}
	return places, nil
}

// moveAside moves what lies at a place of the box with an id beside it, and returns where it is then.
func moveAside(place string, id uint64) (to string, err error) {
	if to, err = free(fmt.Sprintf("%s%s%d", place, asideEnd, id)); err == nil {
		err = os.Rename(place, to)
	}
	if err != nil {
		return "", fmt.Errorf("the old ledger can't be set aside: %w: move it away yourself, and try again", err)
	}
	return to, nil
}

// ErrHasLedger refuses to put another ledger in the place of one that is there.
var ErrHasLedger = errors.New("there is a ledger already: join with another directory (--dir)")

// LeaveAlone makes the ledger of the last box of a cluster, which does not run, that of a box which stands alone.
func LeaveAlone(ctx context.Context, o Options) error {
	if o.Cluster == nil {
		return access.ErrNoCluster
	}
	ctx, cancel := context.WithTimeout(ctx, alonePatience)
	defer cancel()
	o.Unlisted = true
	b, _, err := Open(ctx, o)
	if err != nil {
		return err
	}
	var end member.Mark
	err = errors.New("its log is not settled")
	if len(b.Members().All) > 1 {
		err = errOthersThere
	}
	for len(b.Members().All) <= 1 {
		at, alone, asked := b.shared.Alone(ctx)
		if asked != nil || alone {
			end, err = at, asked
			break
		}
		select {
		case <-time.After(alonePause):
			continue
		case <-ctx.Done():
		}
		break
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the box can't stand alone: %w", err), b.Close())
	}
	b.last = func() error { return b.archive.Leave(end) }
	return b.Close()
}

var errOthersThere = errors.New("there are other boxes in the cluster: `signalbox cluster leave NAME` takes each of them out first")

const (
	alonePatience = 30 * time.Second
	alonePause    = 20 * time.Millisecond
)
