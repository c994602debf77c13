package member

import (
	"cmp"
	"encoding/binary"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"

	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
)

// What the library calls a member that lags.
type progress = tracker.Progress

const fetchesArchive = tracker.StateSnapshot

// readContext is the size of what a read is known by in the library: the life, so that no answer to an earlier one counts, and the id.
const readContext = 16

// Next returns what is to be done now. After an output with writes it is not called before [Member.Written].
func (m *Member) Next() Output {
	out := m.out
	m.out = Output{}
	if m.stop == nil && m.node != nil && m.written {
		if len(m.replay) > 0 {
			out.Apply, m.replay = m.replay, nil
			return out
		}
		m.flushReads()
		m.bringAbout()
		m.commitKnown()
		m.guard(func() { m.take(&out) })
	}
	if m.stop != nil {
		out = Output{}
		if !m.stopTold {
			out.Stop, m.stopTold = m.stop, true
		}
	}
	return out
}

// take takes from the library what is ready.
func (m *Member) take(out *Output) {
	if !m.node.HasReady() {
		if m.save {
			m.write(out, raft.Ready{})
		}
		return
	}
	rd := m.node.Ready()
	s := &step{ready: rd, applied: m.applied}
	if !raft.IsEmptyHardState(rd.HardState) {
		m.state.Term, m.state.Vote, m.state.Commit = rd.GetTerm(), rd.GetVote(), max(m.state.Commit, rd.GetCommit())
	}
	m.apply(s, out)
	if m.stop != nil {
		return
	}
	m.confirm(s, out)
	elected := m.state.Term != m.durable.Term || m.state.Vote != m.durable.Vote
	if rd.MustSync || m.save || !raft.IsEmptySnap(rd.Snapshot) {
		m.write(out, rd)
		if m.stop != nil {
			return
		}
	}
	m.noteHeard()
	for _, r := range joined(rd.Messages) {
		if r.GetTo() == 0 || r.GetFrom() != m.id {
			continue // an answer to what this member told itself, or a read that another one asked of it when it led: who asked asks again
		}
		msg := Message{From: m.id, To: r.GetTo(), raft: r}
		leaders := r.GetType() == pb.MsgApp || r.GetType() == pb.MsgHeartbeat
		if leaders {
			msg.heard = m.state.Heard
		}
		if leaders && !elected && len(out.Writes) > 0 {
			out.Early = append(out.Early, msg) // entries need not be synced here to be sent, only to be counted
		} else {
			out.Send = append(out.Send, msg)
		}
	}
	if m.ready = s; len(out.Writes) == 0 {
		m.finish()
	}
}

// joined returns messages in their order, those with entries that go on where the last one to the same member ends as one with it: the library makes one
// of each proposal, and each would be read, and answered, by itself.
func joined(all []*pb.Message) []*pb.Message {
	if len(all) < 2 {
		return all
	}
	out := make([]*pb.Message, 0, len(all))
	open := map[uint64]*joining{}
	for _, r := range all {
		if r.GetType() != pb.MsgApp {
			delete(open, r.GetTo())
		} else if j := open[r.GetTo()]; j != nil && j.takes(r) {
			continue
		} else {
			j := &joining{term: r.GetTerm()}
			j.Message = &pb.Message{Type: r.Type, To: r.To, From: r.From, Term: r.Term, LogTerm: r.LogTerm, Index: r.Index, Commit: r.Commit}
			j.end, j.endTerm = r.GetIndex(), r.GetLogTerm()
			j.add(r.GetEntries())
			open[r.GetTo()], r = j, j.Message
		}
		out = append(out, r)
	}
	return out
}

// joining is a message that others are joined to: a copy, as the library may still hold what it gave.
type joining struct {
	*pb.Message
	term, end, endTerm uint64 // the message's; and of its last entry
	size               int    // bytes of its entries
}

func (j *joining) takes(r *pb.Message) bool {
	size := 0
	for _, e := range r.GetEntries() {
		size += len(e.GetData())
	}
	if r.GetTerm() != j.term || r.GetIndex() != j.end || r.GetLogTerm() != j.endTerm || j.size+size > maxAppend {
		return false
	}
	j.add(r.GetEntries())
	if r.GetCommit() > j.GetCommit() {
		j.Commit = r.Commit
	}
	return true
}

func (j *joining) add(entries []*pb.Entry) {
	for _, e := range entries {
		j.Entries = append(j.Entries, e)
		j.end, j.endTerm = e.GetIndex(), e.GetTerm()
		j.size += len(e.GetData())
	}
}

// write adds what has to be written: one batch for each term, and for so many entries.
func (m *Member) write(out *Output, rd raft.Ready) {
	m.written, m.save = false, false
	m.state.At = m.applied
	all := m.state.Members.All()
	m.state.Heard = slices.DeleteFunc(slices.Clone(m.state.Heard), func(h Heard) bool { return h.ID <= m.joined && !contains(all, h.ID) })
	w := Write{}
	end := m.log.end()
	if !raft.IsEmptySnap(rd.Snapshot) {
		at, members, err := baseOf(rd.Snapshot)
		if err != nil {
			m.fail(damaged("the leader's message about the archive can't be read"))
			return
		}
		w.Base, end = &at, at
		m.state.At, m.state.Members, m.state.Commit = at, members, max(m.state.Commit, at.Index)
		m.covered = max(m.covered, m.fetched)
		m.state.Taken = m.covered
		m.log.begin(at)
	}
	if len(rd.Entries) > 0 && rd.Entries[0].GetIndex() <= end.Index {
		cut, ok := m.log.mark(rd.Entries[0].GetIndex() - 1)
		if !ok || cut.Index < m.durable.Commit {
			m.fail(damaged("entry %d would be cut back, and %d was committed", rd.Entries[0].GetIndex(), m.durable.Commit))
			return
		}
		w.Cut, end = &cut, cut
		m.log.cut(cut.Index)
	}
	m.writing = m.state
	state := m.state
	size := 0
	for _, e := range rd.Entries {
		own, err := entryOf(e)
		if err != nil || own.Index != end.Index+1 {
			m.fail(damaged("entry %d can't be read", e.GetIndex()))
			return
		}
		if len(w.Entries) > 0 && (own.Term != end.Term || len(w.Entries) == maxWrite || size > maxWriteSize) {
			w.State = state
			w.State.Commit = min(state.Commit, end.Index) // what comes after is not in this batch
			out.Writes, w, size = append(out.Writes, w), Write{}, 0
		}
		size += len(e.GetData())
		end = end.After(own)
		w.Entries = append(w.Entries, own)
		m.log.add(e)
	}
	w.State = state
	out.Writes = append(out.Writes, w)
}

// apply adds the committed events, and notes what else is committed.
func (m *Member) apply(s *step, out *Output) {
	if !raft.IsEmptySnap(s.ready.Snapshot) {
		s.applied, _, _ = baseOf(s.ready.Snapshot)
	}
	fresh := map[string]uint64{}
	for _, e := range s.ready.CommittedEntries {
		own, err := entryOf(e)
		if err != nil || own.Index != s.applied.Index+1 {
			m.fail(damaged("entry %d is committed and can't be read", e.GetIndex()))
			return
		}
		s.applied = s.applied.After(own)
		switch {
		case own.Kind == Change:
			change := &pb.ConfChangeV2{}
			if err := proto.Unmarshal(own.Data, change); err != nil {
				m.fail(damaged("entry %d is a change of the members that can't be read", own.Index))
				return
			}
			s.changes = append(s.changes, change)
		case own.Kind == Event && s.applied.Seq > m.covered:
			last, ok := fresh[own.Subject]
			if !ok {
				last = m.config.Last(own.Subject)
			}
			if last != own.Last {
				m.fail(damaged("event %d was taken as the one after event %d on %q, and comes after event %d", s.applied.Seq, own.Last, own.Subject, last))
				return
			}
			fresh[own.Subject] = s.applied.Seq
			out.Apply = append(out.Apply, Applied{s.applied.Seq, own})
		}
	}
}

// confirm adds the reads whose entry is applied with this output.
func (m *Member) confirm(s *step, out *Output) {
	for _, r := range s.ready.ReadStates {
		if c := r.RequestCtx; len(c) == readContext && binary.BigEndian.Uint64(c) == m.config.Life {
			m.reads = append(m.reads, read{binary.BigEndian.Uint64(c[8:]), r.Index})
		}
	}
	for _, r := range m.reads {
		if r.index <= s.applied.Index {
			out.Reads = append(out.Reads, r.id)
		} else {
			s.reads = append(s.reads, r)
		}
	}
}

// Written says that the writes of the last output are synced.
func (m *Member) Written() {
	if m.written || m.stop != nil {
		return
	}
	m.written = true
	m.durable = m.writing
	if m.ready != nil {
		m.guard(m.finish)
	}
}

// finish goes on when what the library gave is done.
func (m *Member) finish() {
	s := m.ready
	m.ready = nil
	m.applied, m.reads = s.applied, s.reads
	for _, change := range s.changes {
		m.state.Members = membersOf(m.node.ApplyConfChange(change))
		m.save = true
	}
	if m.applied.Index >= m.changing {
		m.changing = 0
	}
	for subject, p := range m.proposed {
		if p.index <= m.applied.Index {
			delete(m.proposed, subject)
		}
	}
	m.node.Advance(s.ready)
	m.lead()
	m.log.bound(m.applied.Index, m.config.Keep, maxKept)
}

// lead begins to decide when all earlier terms are applied, and ends when this member does not lead any more.
func (m *Member) lead() {
	status := m.node.BasicStatus()
	switch {
	case status.RaftState != raft.StateLeader:
		m.term = 0
	case m.term != status.GetTerm() && m.applied.Term == status.GetTerm():
		m.term, m.tail, m.changing = status.GetTerm(), m.applied, 0
		clear(m.proposed)
	case m.term != status.GetTerm():
		m.term = 0
	}
}

// noteHeard notes what the members have acknowledged to this leader.
func (m *Member) noteHeard() {
	status := m.node.BasicStatus()
	if status.RaftState != raft.StateLeader {
		return
	}
	var all []Heard
	m.node.WithProgress(func(id uint64, _ raft.ProgressType, p progress) {
		if p.Match > 0 {
			at, _ := m.log.mark(p.Match)
			all = append(all, Heard{ID: id, Term: status.GetTerm(), Index: p.Match, EntryTerm: at.Term})
		}
	})
	m.hear(all)
}

// hear takes what members have acknowledged, if it is more than what is known. It is written with the next batch.
func (m *Member) hear(all []Heard) {
	copied := false
	for _, h := range all {
		if h.ID == 0 {
			continue
		}
		at, found := slices.BinarySearchFunc(m.state.Heard, h.ID, func(h Heard, id uint64) int { return cmp.Compare(h.ID, id) })
		if found && !more(h, m.state.Heard[at]) || !found && len(m.state.Heard) == memberlog.Most {
			continue
		}
		if !copied {
			m.state.Heard, copied = slices.Clone(m.state.Heard), true // messages share it
		}
		if found {
			m.state.Heard[at] = h
		} else {
			m.state.Heard = slices.Insert(m.state.Heard, at, h)
		}
	}
}

// more says whether h tells more than what is known.
func more(h, known Heard) bool {
	return h.Term > known.Term || h.Term == known.Term && h.Index > known.Index
}

// flushReads gives waiting reads to the library, when there is a leader, and, if that is this member, it has applied all earlier terms.
func (m *Member) flushReads() {
	if len(m.waiting) == 0 {
		return
	}
	lead := m.node.BasicStatus().Lead
	if lead == 0 || lead == m.id && m.term == 0 {
		return
	}
	for _, id := range m.waiting {
		context := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, m.config.Life), id)
		m.guard(func() { m.node.ReadIndex(context) })
	}
	m.waiting = nil
}

// bringAbout has the leader change the members to those that are wanted, one step at a time: learners first, then one change with
// both majorities, then the end of it.
func (m *Member) bringAbout() {
	if m.term == 0 || m.changing != 0 || len(m.wanted) == 0 {
		return
	}
	now := m.state.Members
	change := &pb.ConfChangeV2{}
	add := func(id uint64, kind pb.ConfChangeType) {
		change.Changes = append(change.Changes, &pb.ConfChangeSingle{Type: kind.Enum(), NodeId: new(id)})
	}
	switch learner, gone := m.missing(), m.unwanted(); {
	case len(now.Outgoing) > 0: // an empty change ends the one that goes on
	case learner != 0:
		add(learner, pb.ConfChangeAddLearnerNode)
	case gone != 0:
		add(gone, pb.ConfChangeRemoveNode)
	case slices.Equal(now.Voters, m.wanted) || !m.caughtUp():
		return
	default:
		change.Transition = pb.ConfChangeTransitionJointExplicit.Enum()
		for _, id := range m.wanted {
			if !contains(now.Voters, id) {
				add(id, pb.ConfChangeAddNode)
			}
		}
		for _, id := range now.Voters {
			if !contains(m.wanted, id) {
				add(id, pb.ConfChangeRemoveNode)
			}
		}
	}
	if m.put(pb.EntryConfChangeV2, appendMarshalled(change)) == nil {
		m.changing = m.tail.Index
	}
}

// missing returns one that is wanted and gets no log yet, or 0.
func (m *Member) missing() uint64 {
	all := m.state.Members.All()
	for _, id := range slices.Concat(m.wanted, m.learning) {
		if !contains(all, id) {
			return id
		}
	}
	return 0
}

// wants says whether one should take part.
func (m *Member) wants(id uint64) bool { return contains(m.wanted, id) || contains(m.learning, id) }

// unwanted returns a learner that is not wanted, or 0.
func (m *Member) unwanted() uint64 {
	for _, id := range m.state.Members.Learners {
		if !m.wants(id) {
			return id
		}
	}
	return 0
}

// caughtUp says whether all who are to vote answer, and have the log up to what was applied a tick ago; an entry is in a log only
// with its blobs.
func (m *Member) caughtUp() bool {
	has := map[uint64]bool{m.id: true}
	m.node.WithProgress(func(id uint64, _ raft.ProgressType, p progress) {
		has[id] = has[id] || p.RecentActive && p.State == tracker.StateReplicate && p.Match >= m.lately
	})
	for _, id := range m.wanted {
		if !has[id] {
			return false
		}
	}
	return true
}
