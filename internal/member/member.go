package member

import (
	"errors"
	"fmt"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

// These are memberlog's, under the names that a host of a member uses.
type (
	// Entry is one entry of the log.
	Entry = memberlog.Entry
	// Mark is a place in the log.
	Mark = memberlog.Mark
	// Write is what is written as one batch.
	Write = memberlog.Write
	// Kept is what a member finds in its log at a start.
	Kept = memberlog.Kept
	// State is what a member remembers besides its entries.
	State = memberlog.State
	// Members are those who take part.
	Members = memberlog.Members
	// Heard is the highest that a member acknowledged.
	Heard = memberlog.Heard
	// Damage is the error for a log that no member wrote.
	Damage = memberlog.Damage
)

// The kinds of entries.
const (
	Empty  = memberlog.Empty
	Event  = memberlog.Event
	Change = memberlog.Change
)

func damaged(format string, args ...any) *Damage { return &Damage{What: fmt.Sprintf(format, args...)} }

// Config is what a member is told once, at its start.
type Config struct {
	// Life differs at each start of this member, so that an answer to an earlier life is not taken for one to this.
	Life uint64

	// Peers are the other members that the host knows of, as who runs at the addresses that it has. They are asked too, as those that
	// the log knows may be gone; a member that has no log yet knows no others.
	Peers []uint64

	// Last returns the sequence of the last applied event on a subject, 0 for none. Has says whether a blob is synced here,
	// or was removed by an applied event. Both are called while a method of the member runs.
	Last func(subject string) uint64
	Has  func(ledger.Hash) bool

	// ElectionTicks pass without a leader before a member seeks election, at least 3; a leader sends at each tick.
	ElectionTicks int

	// Keep is how many applied entries stay in memory for members that lag, if they are not large; what is before is fetched as bundles.
	Keep int
}

// Bounds of what the library holds and sends at once.
const (
	maxAppend      = 1 << 20  // bytes of entries in a message, or one entry
	maxInflight    = 256      // messages on their way to a member
	maxOnTheWay    = 8 << 20  // bytes of entries in these: a host that holds them loses none
	maxUncommitted = 32 << 20 // bytes of entries that wait to be committed
	maxKept        = 32 << 20 // bytes of applied entries that stay in memory
	maxReads       = 1024     // reads that wait for a leader
	maxWrite       = 1024     // entries in a batch
	maxWriteSize   = 8 << 20  // bytes of entries after which another batch is begun
)

// Output is what a host has to do, in this order.
type Output struct {
	Early  []Message     // may go out at once, beside the writing
	Writes []Write       // to be written in this order and synced; one sync for all is enough, and a crash may keep any beginning
	Send   []Message     // after the sync
	Apply  []Applied     // committed events: each once, in order, applied before the member is called again
	Reads  []uint64      // the reads that may be answered once Apply is applied
	Fetch  []ledger.Hash // blobs that entries wait for: any member may have them
	Behind *Mark         // fetch the archive up to here from the leader, then call Fetched
	Stop   error         // the member takes part no more: ErrRemoved, ErrBehind, ErrContradicted, or a Damage
}

// Empty says that there is nothing to do.
func (o Output) Empty() bool {
	return len(o.Early)+len(o.Writes)+len(o.Send)+len(o.Apply)+len(o.Reads)+len(o.Fetch) == 0 && o.Behind == nil && o.Stop == nil
}

// Applied is a committed event.
type Applied struct {
	Seq   uint64
	Entry Entry
}

// Proposal asks the leader to append an event, if Last is the sequence of the last event on its subject. The leader checks that against
// its whole log.
type Proposal struct {
	Subject string
	Last    uint64
	Blobs   []ledger.Hash
	Data    []byte
}

// Ticket is where a proposal was put. It is stored if the entry that is applied at Index has this Term, and never will be if another one is.
// If the log begins anew behind Index, nobody here knows.
type Ticket struct{ Index, Term, Seq uint64 }

// Conflict is the error for a proposal that lost against another one: the one that was put at Index, which may not be
// applied yet. It is answered when that is applied. If another term's entry is applied there, nobody was first.
type Conflict struct{ Index, Term uint64 }

func (*Conflict) Error() string { return "someone was first: the subject has another last event" }

// How a proposal or a member ends.
var (
	ErrNotLeader = errors.New("this member does not lead, and nothing was stored")
	ErrFull      = errors.New("too much waits to be committed, and nothing was stored: try again")
	ErrBlob      = errors.New("a blob that the event names is not here, and nothing was stored: store it first")
	ErrRemoved   = errors.New("this member was removed from the cluster, and does not come back with what it has: signalbox cluster invite there, and signalbox cluster join with another directory, have its machine join anew")
	ErrBehind    = errors.New("this member has acknowledged more than its disk holds: the disk was lost, emptied or put back; signalbox cluster rejoin joins it under a new id")

	// ErrContradicted does not say whose fault it is: a start reads this log again, and asks the others what it has acknowledged.
	ErrContradicted = errors.New("another member and this one's log contradict each other: start this box again; if it stops again, its disk was put back, or is damaged, and signalbox cluster rejoin joins it under a new id")
)

// Member is one member of a cluster. Its methods are not for concurrent use.
type Member struct {
	config Config
	id     uint64

	asking *asking // the others, at the start; then nil
	around *asking // the others, whether this member was removed
	node   *raft.RawNode
	log    *log

	state   State // what is to be written next, but for commit
	writing State // what is on its way to the disk
	durable State // what was written and synced last
	written bool  // nothing is on its way to the disk
	ready   *step // what Written goes on with
	save    bool  // the state is written although the library has nothing to write

	applied Mark   // handed out to be applied, and applied
	covered uint64 // the events up to here are in the host's bundles
	fetched uint64 // and up to here beside them: they count when a base is written
	replay  []Applied

	known     Mark                 // what another member has applied
	term      uint64               // in which this member leads and has applied all earlier terms; 0 if it does not
	tail      Mark                 // the log's end as a leader has proposed it
	proposed  map[string]placement // the last event on a subject that is not applied yet
	wanted    []uint64             // the voters that there should be
	learning  []uint64             // who should get the log and not vote
	joined    uint64               // the highest id that anybody joined with, by the events that were applied
	joinedBy  uint64               // the last event that the host can have folded when it said so first
	changing  uint64               // the entry of a change that is not applied yet
	lately    uint64               // what was applied a tick ago
	fetching  map[uint64]int       // for how many ticks members have been fetching the archive
	waiting   []uint64             // reads that wait for a leader
	reads     []read               // reads that wait for an entry
	behind    *pb.Message          // the leader's message that this member needs the archive for
	out       Output               // gathered for Next
	stop      error
	stopTold  bool
	ticks     int // since the start
	lastHeard int // the tick when a leader was heard last
}

// placement is where an event was put.
type placement struct{ index, seq uint64 }

type read struct{ id, index uint64 }

// step is what came out of the library at once.
type step struct {
	ready   raft.Ready
	changes []*pb.ConfChangeV2
	applied Mark
	reads   []read // that go on waiting
}

// Start makes a member from what its log holds. It refuses a log that is damaged.
func Start(config Config, kept Kept) (*Member, error) {
	if err := kept.Check(); err != nil {
		return nil, err
	}
	if len(kept.State.Members.Voters) == 0 && len(config.Peers) == 0 {
		return nil, damaged("it is empty, and there is nobody to ask")
	}
	m := &Member{config: config, id: kept.State.ID, log: newLog(kept), state: kept.State, durable: kept.State, written: true,
		applied: kept.State.At, covered: kept.Covered, fetching: map[uint64]int{}, proposed: map[string]placement{}}
	m.commitCovered()
	place := kept.Before
	for _, e := range kept.Entries {
		if place = place.After(e); place.Index > m.applied.Index {
			break
		}
		if e.Kind == Event && place.Seq > m.covered {
			m.replay = append(m.replay, Applied{place.Seq, e})
		}
	}
	m.asking = m.newAsking(config.Peers)
	if len(m.asking.others()) == 0 {
		m.takePart()
	}
	return m, nil
}

// commitCovered raises what is committed to what a checkpoint covers.
func (m *Member) commitCovered() {
	before := m.log.before
	for _, e := range m.log.entries {
		at := after(before, e)
		if at.Seq > before.Seq && at.Seq <= m.covered { // an entry without an event after the last one may not be committed
			m.state.Commit = max(m.state.Commit, at.Index)
		}
		before = at
	}
}

// takePart begins to be a member, when the others were asked.
func (m *Member) takePart() {
	// The disk may have been put back, and a vote be forgotten: in a term that another one has heard of, this member votes
	// for itself, and asks nobody to.
	if heard := m.asking.term; heard > m.state.Term || heard == m.state.Term && heard > 0 && m.state.Vote == 0 {
		m.state.Term, m.state.Vote = heard, m.id
	}
	m.asking = nil
	m.lastHeard = m.ticks
	m.log.state = &pb.HardState{Term: new(m.state.Term), Vote: new(m.state.Vote), Commit: new(m.state.Commit)}
	m.log.begins = configuration(m.state.Members)
	m.log.snapshot = func() *pb.Snapshot { return snapshotOf(m.applied, m.state.Members) }
	m.save = true
	m.guard(func() {
		var err error
		m.node, err = raft.NewRawNode(&raft.Config{
			ID: m.id, ElectionTick: m.config.ElectionTicks, HeartbeatTick: 1,
			Storage: m.log, Applied: m.applied.Index,
			MaxSizePerMsg: maxAppend, MaxInflightMsgs: maxInflight, MaxInflightBytes: maxOnTheWay, MaxUncommittedEntriesSize: maxUncommitted, MaxCommittedSizePerReady: maxAppend,
			PreVote: true, CheckQuorum: true, ReadOnlyOption: raft.ReadOnlySafe,
			DisableProposalForwarding: true, StepDownOnRemoval: true, Logger: quiet{},
		})
		if err != nil {
			m.fail(damaged("%v", err))
		}
	})
}

// guard calls the library. What it panics with is a log or a message that contradicts this member's state.
func (m *Member) guard(call func()) {
	defer func() {
		if why := recover(); why != nil {
			m.fail(fmt.Errorf("%w (%v)", ErrContradicted, why))
		}
	}()
	call()
}

// fail stops the member.
func (m *Member) fail(err error) {
	if m.stop == nil {
		m.stop, m.term = err, 0
	}
}

// Tick says that time has passed.
func (m *Member) Tick() {
	if m.stop != nil {
		return
	}
	m.ticks++
	if m.asking != nil {
		m.ask()
		return
	}
	m.guard(m.node.Tick)
	m.lately = m.applied.Index
	status := m.node.BasicStatus()
	if status.RaftState == raft.StateLeader {
		m.lastHeard = m.ticks
	}
	if !contains(m.state.Members.All(), m.id) || m.ticks-m.lastHeard >= 2*m.config.ElectionTicks {
		m.askAround()
	}
	if status.RaftState == raft.StateLeader {
		m.tryAgain()
	}
}

// tryAgain tells members once more where to fetch the archive, after a while: the first message may be lost.
func (m *Member) tryAgain() {
	var again []uint64
	m.node.WithProgress(func(id uint64, _ raft.ProgressType, p progress) {
		if p.State != fetchesArchive {
			delete(m.fetching, id)
		} else if m.fetching[id]++; m.fetching[id] > 2*m.config.ElectionTicks {
			again = append(again, id)
		}
	})
	for _, id := range again {
		delete(m.fetching, id)
		m.guard(func() { m.node.ReportSnapshot(id, raft.SnapshotFailure) })
	}
}

// Receive takes a message that came from its From.
func (m *Member) Receive(msg Message) {
	switch {
	case msg.To != m.id || msg.From == m.id || m.stop != nil:
		return
	case msg.latest() > m.state.Term && msg.latest()-m.state.Term > mostAhead:
		return
	case msg.answer != nil:
		m.takeAnswer(msg)
		return
	case msg.raft == nil:
		m.out.Send = append(m.out.Send, m.answerTo(msg))
		return
	case m.asking != nil:
		m.asking.met = with(m.asking.met, msg.From) // it takes part when the others were asked
		return
	}
	r := msg.raft
	switch r.GetType() {
	case pb.MsgApp:
		r = m.withoutMissing(r)
	case pb.MsgSnap:
		if !m.reaches(r) {
			return
		}
	case pb.MsgReadIndex:
		if m.term == 0 {
			return // as if it were lost: what is committed is not known yet
		}
	}
	if (r.GetType() == pb.MsgApp || r.GetType() == pb.MsgHeartbeat) && r.GetTerm() >= m.state.Term {
		m.hear(msg.heard)
		m.lastHeard = m.ticks
	}
	m.guard(func() { _ = m.node.Step(r) })
}

// withoutMissing returns an append that ends before the first entry with a blob that is not here: what follows is as if it were lost,
// and comes again.
func (m *Member) withoutMissing(r *pb.Message) *pb.Message {
	for i, e := range r.GetEntries() {
		own, err := entryOf(e)
		if err != nil {
			continue // no message that was parsed has one
		}
		missing := false
		for _, sum := range own.Blobs {
			if !m.config.Has(sum) {
				missing = true
				m.out.Fetch = append(m.out.Fetch, sum)
			}
		}
		if missing {
			short := &pb.Message{Type: r.Type, To: r.To, From: r.From, Term: r.Term, LogTerm: r.LogTerm, Index: r.Index, Commit: r.Commit}
			short.Entries = r.GetEntries()[:i:i]
			return short
		}
	}
	return r
}

// reaches says whether the host's archive reaches as far as the leader's message says that the log begins anew; else it asks for that.
func (m *Member) reaches(r *pb.Message) bool {
	at, _, err := baseOf(r.GetSnapshot())
	if err != nil {
		return false
	}
	if at.Seq <= max(m.covered, m.fetched) {
		return true
	}
	m.lastHeard = m.ticks
	if p := m.behind; p != nil && p.GetFrom() == r.GetFrom() && p.GetTerm() == r.GetTerm() {
		return false // what is being fetched for the one before is enough for that: a later one each time would never be reached
	}
	m.behind, m.out.Behind = r, &at
	return false
}

// Fetched says that the host has fetched the archive up to an event: it lies, checked and synced, beside what the
// member has, and takes its place with the write of a base, if there is one.
func (m *Member) Fetched(covered uint64) {
	m.fetched = max(m.fetched, covered)
	if r := m.behind; r != nil && m.stop == nil && m.node != nil {
		m.behind = nil
		if m.reaches(r) {
			m.guard(func() { _ = m.node.Step(r) })
		}
	}
}

// Propose puts an event at the log's end, if this member leads and the event's condition holds.
func (m *Member) Propose(p Proposal) (Ticket, error) {
	if m.term == 0 || m.stop != nil {
		return Ticket{}, ErrNotLeader
	}
	for _, sum := range p.Blobs {
		if !m.config.Has(sum) {
			return Ticket{}, ErrBlob
		}
	}
	if before, ok := m.proposed[p.Subject]; ok && before.seq != p.Last {
		return Ticket{}, &Conflict{before.index, m.term}
	} else if !ok && m.config.Last(p.Subject) != p.Last {
		return Ticket{}, &Conflict{m.applied.Index, m.applied.Term}
	}
	e := Entry{Kind: Event, Subject: p.Subject, Last: p.Last, Blobs: p.Blobs, Data: p.Data}
	if err := m.put(pb.EntryNormal, eventData(e)); err != nil {
		return Ticket{}, err
	}
	m.proposed[p.Subject] = placement{m.tail.Index, m.tail.Seq}
	return Ticket{m.tail.Index, m.tail.Term, m.tail.Seq}, nil
}

// put puts an entry at the log's end.
func (m *Member) put(kind pb.EntryType, data []byte) (err error) {
	e := &pb.Entry{Type: kind.Enum(), Data: data}
	err = ErrFull
	m.guard(func() {
		err = m.node.Step(&pb.Message{Type: pb.MsgProp.Enum(), From: new(m.id), Entries: []*pb.Entry{e}})
	})
	switch {
	case errors.Is(err, raft.ErrProposalDropped) && m.node.BasicStatus().RaftState == raft.StateLeader:
		return ErrFull
	case errors.Is(err, raft.ErrProposalDropped):
		return ErrNotLeader
	case err != nil:
		return err
	}
	m.tail = after(m.tail, &pb.Entry{Index: new(m.tail.Index + 1), Term: new(m.term), Type: kind.Enum(), Data: data})
	return nil
}

// Read asks for what was committed when it was called: Output.Reads has the id when that is applied here. It is never
// answered if a message or the leader is lost, so the host asks again after a while, under a new id.
func (m *Member) Read(id uint64) {
	if len(m.waiting) < maxReads && m.stop == nil {
		m.waiting = append(m.waiting, id)
	}
}

// Want says who should take part, by the events that were applied: who votes, who gets the log and does not vote, and the highest id that anybody
// ever joined with. Each member's host says so at the start and when it applies an event that changes it. The leader brings it about. A voter is not made a
// learner again. Who is neither wanted nor a member any more is told that it was removed.
func (m *Member) Want(voters, learners []uint64, joined uint64) {
	m.wanted, m.learning = Members{Voters: voters}.All(), Members{Voters: learners}.All()
	if joined > m.joined {
		m.joined, m.joinedBy = joined, max(m.applied.Seq, m.covered) // at a start it has folded what its bundles have, and that may be more than is applied
	}
}

// HandOver has this member, if it leads, hand over to another one.
func (m *Member) HandOver(to uint64) {
	if m.term != 0 && m.stop == nil {
		m.guard(func() { m.node.TransferLeader(to) })
	}
}

// Status is what a member knows of the cluster.
type Status struct {
	Leader  uint64 // 0 for none
	Leads   bool   // this member does, and has applied all terms before its own: it decides
	Term    uint64
	Applied Mark
	Members Members
}

// Status returns what this member knows now.
func (m *Member) Status() Status {
	s := Status{Leads: m.term != 0, Term: m.state.Term, Applied: m.applied, Members: m.state.Members}
	if m.node != nil && m.stop == nil {
		now := m.node.BasicStatus()
		s.Leader, s.Term = now.Lead, now.GetTerm()
		s.Leads = s.Leads && m.term == s.Term // it may have heard of another term since
	}
	return s
}

// Alone returns the log's end if nobody but this member is left, and all of the log is applied: then, and only then, it may become the
// log of a single box.
func (m *Member) Alone() (Mark, bool) {
	only := m.term != 0 && len(m.state.Members.All()) == 1 && m.state.Members.Voters[0] == m.id
	return m.applied, only && m.written && m.applied == m.tail && m.durable.At.Index > 0 && m.durable.Members.Equal(m.state.Members)
}

func appendMarshalled(m proto.Message) []byte {
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err) // it has no text that could be wrong
	}
	return data
}
