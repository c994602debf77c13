package raftlog

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Transport reaches the other members.
type Transport interface {
	// Send carries messages to a member, in their order, for [Log.Receive] there. It may wait, and it may lose them.
	Send(ctx context.Context, to uint64, messages ...[]byte) error

	// Fetch returns a file of another member's archive, as [archive.Archive.ReadFile] has it there. The error for one that
	// no member has satisfies errors.Is(err, fs.ErrNotExist).
	Fetch(ctx context.Context, name string) ([]byte, error)
}

// Config is what a log needs besides its archive.
type Config struct {
	Follower  archive.Follower
	Transport Transport
	Peers     []uint64               // the other members whom the transport reaches
	Removed   func(ledger.Hash) bool // says whether an event that was folded removed a blob; nil if none ever is
	Tick      time.Duration          // how often a leader says that it is there
	Elect     int                    // for how many ticks no leader is heard before another one is elected, at least 3
	Keep      int                    // how many entries stay in memory for members that lag

	// Changed is told of who leads, in which term, and who takes part, whenever one of these has changed, and of nobody when the log ends. It must not
	// wait. Nil if nobody wants to know.
	Changed func(member.Status)
}

// What is held for a member that does not keep up, in bytes.
const (
	maxInbox  = 64 << 20
	maxOutbox = 16 << 20
	maxRound  = 16 << 20 // of messages that are taken before the next write
)

const maxFetches = 16 // blobs at once

// Log is a member's log. Its methods may be called concurrently.
type Log struct {
	feed      *archive.Feed
	archive   *archive.Archive
	journal   *archive.Journal
	config    Config
	outgoing  *background.Group
	closing   chan struct{}
	closeOnce sync.Once
	ended     chan struct{} // closed when the loop has ended

	mu         sync.Mutex
	more       chan struct{} // gets something when there is something to take
	queue      []*request    // appends that the member does not have yet
	inbox      [][]byte
	inboxBytes int
	asked      []reader // those who want to read what is committed now
	done       []func() // what ended beside the loop, for the loop to take
	status     member.Status
	failed     error // why nothing is taken any more

	// The loop's own.
	id        uint64
	member    *member.Member
	waiting   map[uint64][]*request // appends in the log, by the index that decides them
	settled   uint64                // all up to this index are answered
	reads     map[uint64]*reading
	lastRead  uint64
	peers     map[uint64]*peer
	fetching  map[ledger.Hash]bool
	catching  bool   // the archive is being fetched
	fetched   []byte // its checkpoint
	unknown   error  // why the last event on a subject is not known
	told      member.Status
	tickCount int
}

var _ engine.Log = (*Log)(nil)

// request is an append that waits for its answer.
type request struct {
	member.Proposal
	term     uint64 // of the entry that decides it
	conflict bool   // it lost against that entry
	taken    bool   // the member has it; guarded by the log's mutex
	answer   chan answer
}

type answer struct {
	seq uint64
	err error
}

// reader waits for what was committed when it asked.
type reader struct {
	there chan struct{}   // closed when that is folded
	gone  <-chan struct{} // closed when nobody waits any more
}

// reading are those for whom the member was asked at once.
type reading struct {
	waits []reader
	since int // the tick when the member was asked
}

// New makes a log of an archive that was started, with its journal, and whose events the follower has. Nothing was taken from the
// journal yet. It does nothing until it is started.
func New(a *archive.Archive, j *archive.Journal, c Config) (*Log, error) {
	l := &Log{
		feed: archive.NewFeed(a), archive: a, journal: j, config: c, outgoing: background.New(context.Background()),
		closing: make(chan struct{}), ended: make(chan struct{}), more: make(chan struct{}, 1),
		waiting: map[uint64][]*request{}, reads: map[uint64]*reading{}, peers: map[uint64]*peer{}, fetching: map[ledger.Hash]bool{},
	}
	kept := j.Kept()
	l.id = kept.State.ID
	var life [8]byte
	_, _ = rand.Read(life[:]) // which never fails
	m, err := member.Start(member.Config{
		Life: binary.BigEndian.Uint64(life[:]), Peers: c.Peers, Last: l.last, Has: l.has, ElectionTicks: c.Elect, Keep: c.Keep,
	}, kept)
	if err != nil {
		l.outgoing.Stop()
		return nil, err
	}
	l.member = m
	return l, nil
}

// Start lets records be appended, and messages come and go. Who starts a log closes it before the archive is closed.
func (l *Log) Start() { go l.run() }

// last is the member's question for the last folded event on a subject. If that is not known, nothing that the member says then
// is done.
func (l *Log) last(subject string) uint64 {
	seq, err := l.config.Follower.Last(subject)
	if err != nil && l.unknown == nil {
		l.unknown = fmt.Errorf("the last event on %s is not known: %w", subject, err)
	}
	return seq
}

func (l *Log) has(sum ledger.Hash) bool {
	return l.archive.HasBlob(sum) || l.config.Removed != nil && l.config.Removed(sum)
}

// Append stores data, which names the subject as an event does, if the last record there has the sequence last; see [engine.Log]
// and the package comment. While no leader is known it waits.
func (l *Log) Append(ctx context.Context, subject string, last uint64, data []byte) (uint64, error) {
	blobs, err := archive.CheckMembersRecord(subject, data)
	if err != nil {
		return 0, err
	}
	r := &request{Proposal: member.Proposal{Subject: subject, Last: last, Blobs: blobs, Data: data}, answer: make(chan answer, 1)}
	if err := l.give(ctx, func() { l.queue = append(l.queue, r) }); err != nil {
		return 0, err
	}
	select {
	case a := <-r.answer:
		return a.seq, a.err
	case <-ctx.Done():
	}
	if l.withdraw(r) {
		return 0, ctx.Err()
	}
	select {
	case a := <-r.answer:
		return a.seq, a.err
	default:
		return 0, &Open{r, ctx.Err()}
	}
}

// Open is the error of an append that its context ended for, and that may be stored yet. It is an [engine.ErrUnknown].
type Open struct {
	of  *request
	why error
}

func (o *Open) Error() string   { return engine.ErrUnknown.Error() + ": " + o.why.Error() }
func (o *Open) Unwrap() []error { return []error{engine.ErrUnknown, o.why} }

// Wait returns when it is stored and folded, or never will be, or when ctx or the log has ended. It is called once.
func (o *Open) Wait(ctx context.Context) {
	select {
	case <-o.of.answer:
	case <-ctx.Done():
	}
}

// give has the loop take something, if the log is in use.
func (l *Log) give(ctx context.Context, put func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	put()
	l.wake()
	return nil
}

func (l *Log) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// withdraw takes a request back that the member does not have yet.
func (l *Log) withdraw(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.taken {
		return false
	}
	for i, other := range l.queue {
		if other == r {
			l.queue = append(l.queue[:i:i], l.queue[i+1:]...)
			return true
		}
	}
	return false
}

// Receive takes a message that came from the member that it says it is from; that is for the caller to prove. It does not
// wait: what is too much is dropped.
func (l *Log) Receive(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil || l.inboxBytes+len(message) > maxInbox {
		return
	}
	l.inbox = append(l.inbox, message)
	l.inboxBytes += len(message)
	l.wake()
}

// CatchUp returns when all that was committed when it was called is folded here: what is read then is not older.
func (l *Log) CatchUp(ctx context.Context) error {
	there := make(chan struct{})
	if err := l.give(ctx, func() { l.asked = append(l.asked, reader{there, ctx.Done()}) }); err != nil {
		return err
	}
	select {
	case <-there:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ended:
		return l.why()
	}
}

func (l *Log) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Status returns what this member knows of the cluster.
func (l *Log) Status() member.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

// Want says who should vote; see [member.Member.Want].
func (l *Log) Want(ctx context.Context, voters, learners []uint64, joined uint64) error {
	return l.give(ctx, func() { l.done = append(l.done, func() { l.member.Want(voters, learners, joined) }) })
}

// HandOver has this member, if it leads, hand over to another one.
func (l *Log) HandOver(ctx context.Context, to uint64) error {
	return l.give(ctx, func() { l.done = append(l.done, func() { l.member.HandOver(to) }) })
}

// Alone says where the log ends if nobody but this member is left, and all of the log is committed and applied: [archive.Archive.Leave] then makes it
// that of a box which stands alone, once it is closed.
func (l *Log) Alone(ctx context.Context) (end member.Mark, alone bool, err error) {
	asked := make(chan struct{})
	err = l.give(ctx, func() {
		l.done = append(l.done, func() {
			end, alone = l.member.Alone()
			close(asked)
		})
	})
	if err != nil {
		return end, false, err
	}
	select {
	case <-asked:
		return end, alone, nil
	case <-l.ended:
		return member.Mark{}, false, l.why()
	}
}

// Tip returns the last sequence that is folded here, 0 for none.
func (l *Log) Tip(ctx context.Context) (uint64, error) { return l.feed.Tip(ctx) }

// Read calls do for every record from a sequence to the tip; see [engine.Log].
func (l *Log) Read(ctx context.Context, from uint64, do func(engine.Record) error) error {
	return l.feed.Read(ctx, from, do)
}

// Watch calls do with every record from a sequence on; see [engine.Log].
func (l *Log) Watch(ctx context.Context, from uint64, do func([]engine.Record) error) error {
	return l.feed.Watch(ctx, from, do)
}

// Close ends every call that still waits, and all that the log has running. It may be called again. The archive stays open.
func (l *Log) Close() error {
	l.closeOnce.Do(func() { close(l.closing) })
	<-l.ended
	return nil
}

// run is the loop.
func (l *Log) run() {
	defer close(l.ended)
	why := l.serve()
	l.outgoing.Stop()
	l.end(why)
	l.config.Follower.Ended(why)
}

// end answers what waits, and whatever comes after it.
func (l *Log) end(why error) {
	defer l.feed.End(why)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = why
	for _, r := range l.queue {
		r.taken = true
		r.answer <- answer{err: why}
	}
	for _, waiting := range l.waiting {
		for _, r := range waiting {
			r.answer <- answer{err: fmt.Errorf("%w: %w", engine.ErrUnknown, why)}
		}
	}
	l.queue, l.inbox, l.waiting, l.reads, l.asked = nil, nil, nil, nil, nil
	l.status = member.Status{}
	l.tell(l.status)
}

// tell tells who wants to know of a status that is another than before.
func (l *Log) tell(status member.Status) {
	was := l.told
	if l.told = status; l.config.Changed != nil && (status.Leads != was.Leads || status.Leader != was.Leader || status.Term != was.Term || !status.Members.Equal(was.Members)) {
		l.config.Changed(status)
	}
}

// serve does what the member says until the log is closed, or the member stops.
func (l *Log) serve() error {
	ticker := time.NewTicker(l.config.Tick)
	defer ticker.Stop()
	for {
		select {
		case <-l.more:
		case <-ticker.C:
			l.tick()
		case <-l.closing:
			return engine.ErrClosed
		}
		for {
			l.take()
			out := l.member.Next()
			if l.unknown != nil {
				return l.unknown
			}
			if out.Empty() {
				break
			}
			if err := l.do(out); err != nil {
				return err
			}
			select {
			case <-ticker.C:
				l.tick()
			case <-l.closing:
				return engine.ErrClosed
			default:
			}
		}
	}
}

// tick lets the member's time pass, and asks anew for those whose reads got no answer.
func (l *Log) tick() {
	l.member.Tick()
	l.tickCount++
	var again []reader
	for id, r := range l.reads {
		if l.tickCount-r.since > l.config.Elect {
			delete(l.reads, id)
			again = append(again, r.waits...)
		}
	}
	l.ask(slices.DeleteFunc(again, reader.left))
}

// left says whether nobody waits any more.
func (r reader) left() bool {
	select {
	case <-r.gone:
		return true
	default:
		return false
	}
}

func (l *Log) ask(waits []reader) {
	if len(waits) == 0 {
		return
	}
	l.lastRead++
	l.reads[l.lastRead] = &reading{waits, l.tickCount}
	l.member.Read(l.lastRead)
}

// take gives the member what has gathered.
func (l *Log) take() {
	inbox, asked, done := l.gathered()
	for _, f := range done {
		f()
	}
	var came []member.Message
	for _, b := range inbox {
		if m, err := member.ParseMessage(b); err == nil {
			came = append(came, m)
		}
	}
	for _, m := range member.Needed(came) {
		l.member.Receive(m)
	}
	l.ask(asked)
	status := l.member.Status()
	l.mu.Lock()
	l.status = status
	var queue []*request
	if status.Leads || status.Leader != 0 && status.Leader != l.id {
		n := min(len(l.queue), engine.MaxBatch)
		queue, l.queue = l.queue[:n:n], l.queue[n:]
		if len(l.queue) > 0 {
			l.wake()
		}
	}
	for _, r := range queue {
		r.taken = true
	}
	l.mu.Unlock()
	l.tell(status) // which finds it by now
	for _, r := range queue {
		l.propose(r)
	}
}
