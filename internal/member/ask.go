package member

import (
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"
)

// asking is what a member asks the others, and what it has heard. At its start it asks before any other message; later it asks
// when it hears no leader, as it may have been removed.
type asking struct {
	self     uint64
	own      Members  // those that this member knows of; a member without a log knows whom its host can reach
	met      []uint64 // others that its host knows, and who has sent something: this member may have been away for long
	ticks    int
	answers  map[uint64]*answer
	view     Members // of who knows most
	viewed   uint64  // the last entry that is applied there
	term     uint64  // the highest that was heard of
	deadline int     // after so many ticks a majority is enough
}

func (m *Member) newAsking(peers []uint64) *asking {
	own := m.state.Members
	if len(own.Voters) == 0 {
		own.Voters = Members{Voters: peers}.All()
	}
	return &asking{self: m.id, own: own, met: Members{Voters: peers}.All(), view: own, viewed: m.state.At.Index, answers: map[uint64]*answer{}, deadline: m.config.ElectionTicks}
}

// others returns whom to ask: everyone who has a vote, as this member knows it or as one knows that knows more.
func (a *asking) others() []uint64 {
	return slices.DeleteFunc(Members{Voters: a.own.Voting(), Outgoing: a.met, Learners: a.view.Voting()}.All(), func(id uint64) bool { return id == a.self })
}

// take takes an answer.
func (a *asking) take(from uint64, got *answer) {
	a.answers[from] = got
	a.term = max(a.term, got.term, got.heard.Term)
	if got.at.Index > a.viewed && len(got.members.Voters) > 0 {
		a.view, a.viewed = got.members, got.at.Index
	}
}

// enough says whether all who were asked and may know have answered, or, after a while, a majority together with the one who asks. Of those that
// only this member's own log names, others may know that they are gone.
func (a *asking) enough() bool {
	all := true
	for _, id := range (Members{Voters: a.view.Voting(), Learners: a.met}).All() {
		all = all && (id == a.self || a.answers[id] != nil)
	}
	return all || a.ticks >= a.deadline && a.view.Majority(func(id uint64) bool { return id == a.self || a.answers[id] != nil })
}

// removed says whether a majority of those who vote now know, synced, that the one who asks was removed. Before, it may be needed: who
// is removed counts until the others know.
func (a *asking) removed() bool {
	return a.view.Majority(func(id uint64) bool {
		got := a.answers[id]
		return got != nil && got.removed
	})
}

// ask asks those who have not answered, and takes part when that is enough. After a while it asks all again: they may know more by now.
func (m *Member) ask() {
	a := m.asking
	a.ticks++
	for _, id := range a.others() {
		if a.answers[id] == nil || a.answers[id].removed || a.ticks > a.deadline {
			m.out.Send = append(m.out.Send, Message{From: m.id, To: id, life: m.config.Life})
		}
	}
	if a.enough() {
		m.takePart()
	}
}

// askAround asks whether this member was removed. Those who should take part by the events that were applied are asked too: all whom the log names may
// be gone.
func (m *Member) askAround() {
	if m.around == nil {
		m.around = m.newAsking(m.config.Peers)
	}
	m.around.own = m.state.Members
	m.around.met = Members{Voters: m.config.Peers, Outgoing: m.wanted, Learners: m.learning}.All()
	for _, id := range m.around.others() {
		m.out.Send = append(m.out.Send, Message{From: m.id, To: id, life: m.config.Life})
	}
}

// answerTo says what this member knows of the one who asks.
func (m *Member) answerTo(msg Message) Message {
	got := &answer{heard: Heard{ID: msg.From}, term: m.state.Term, at: m.durable.At, members: m.durable.Members}
	for _, h := range m.state.Heard {
		if h.ID == msg.From {
			got.heard = h
		}
	}
	// An id is given once, and each is higher than all before: whoever has durably applied all events up to the one with which this member joined, and
	// neither has nor wants it, has seen it go. To have them in bundles is not enough: of the members that came with them it knows nothing yet.
	got.removed = m.node != nil && len(m.replay) == 0 && len(m.wanted) > 0 && msg.From <= m.joined && m.joinedBy <= m.durable.At.Seq &&
		!m.wants(msg.From) && !contains(m.state.Members.All(), msg.From) && !contains(m.durable.Members.All(), msg.From)
	return Message{From: m.id, To: msg.From, life: msg.life, answer: got}
}

// takeAnswer takes what another member knows of this one.
func (m *Member) takeAnswer(msg Message) {
	a := m.asking
	if a == nil {
		a = m.around
	}
	if a == nil || msg.life != m.config.Life || m.stop != nil || msg.answer.heard.ID != m.id {
		return
	}
	a.take(msg.From, msg.answer)
	switch {
	case m.asking != nil && m.wentBack(msg.answer.heard):
		m.fail(ErrBehind)
	case a.removed():
		m.fail(ErrRemoved)
	case m.asking != nil && a.enough():
		m.takePart()
	case m.asking == nil && msg.answer.at.Index > m.known.Index:
		m.known = msg.answer.at
	}
}

// commitKnown commits what another member has applied, if this log has it. Otherwise the voters before a change may need each other to
// learn that it is over, while those who knew are gone, or refuse to vote as their log is longer by what nobody counts any more.
func (m *Member) commitKnown() {
	at, ok := m.log.mark(m.known.Index)
	if !ok || at != m.known || at.Index <= m.state.Commit || m.node.HasReady() {
		return
	}
	// It is how the library takes that an entry which it has is committed; from nobody, as there is no leader.
	s := snapshotOf(at, m.state.Members)
	m.guard(func() {
		_ = m.node.Step(&pb.Message{Type: pb.MsgSnap.Enum(), Term: new(m.state.Term), From: new(uint64(0)), To: new(m.id), Snapshot: s})
	})
}

// wentBack says whether this member has acknowledged what its log does not hold.
func (m *Member) wentBack(h Heard) bool {
	if h.Term != m.state.Term || h.Index == 0 {
		return h.Term > m.state.Term
	}
	at, ok := m.log.mark(h.Index)
	return h.Index > m.log.end().Index || ok && h.EntryTerm != 0 && at.Term != h.EntryTerm
}
