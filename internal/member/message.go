package member

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Message is what one member says to another. The host carries it and looks at nothing but its ends; that
// it comes from the member From is for the host to prove.
type Message struct {
	From, To uint64

	raft   *pb.Message // the library's; nil for a question and an answer
	heard  []Heard     // beside a leader's
	life   uint64      // of who asks
	answer *answer     // nil for a question
}

// answer is what a member knows of the one who asks.
type answer struct {
	heard   Heard   // what the one who asks has acknowledged
	term    uint64  // the latest that the one who answers knows
	at      Mark    // the last entry that the one who answers has applied, synced
	members Members // as of there
	removed bool    // the one who asks is no member any more, and will never be
}

// Kinds of messages on the wire.
const (
	wireRaft = iota + 1
	wireAsk
	wireAnswer
)

// MaxMessage bounds a message's bytes. What is larger is not read.
const MaxMessage = 16 << 20

var errMessage = errors.New("not a message of a member")

// AppendBinary appends the message's bytes: a kind, the ends, what the kind has, and at the end the library's own.
func (m Message) AppendBinary(b []byte) ([]byte, error) {
	kind := byte(wireRaft)
	switch {
	case m.answer != nil:
		kind = wireAnswer
	case m.raft == nil:
		kind = wireAsk
	}
	b = append(b, kind)
	b = binary.AppendUvarint(b, m.From)
	b = binary.AppendUvarint(b, m.To)
	switch kind {
	case wireAsk:
		return binary.AppendUvarint(b, m.life), nil
	case wireAnswer:
		b = binary.AppendUvarint(b, m.life)
		b = binary.AppendUvarint(b, m.answer.term)
		for _, n := range []uint64{m.answer.at.Index, m.answer.at.Term, m.answer.at.Seq} {
			b = binary.AppendUvarint(b, n)
		}
		b = appendHeard(b, []Heard{m.answer.heard})
		removed := byte(0)
		if m.answer.removed {
			removed = 1
		}
		return append(appendMembers(b, m.answer.members), removed), nil
	}
	b = appendHeard(b, m.heard)
	return proto.MarshalOptions{}.MarshalAppend(b, m.raft)
}

// ParseMessage reads what [Message.AppendBinary] wrote. It takes any bytes.
func ParseMessage(b []byte) (Message, error) {
	if len(b) == 0 || len(b) > MaxMessage {
		return Message{}, errMessage
	}
	r := reader{b: b[1:]}
	m := Message{From: r.number(), To: r.number()}
	switch b[0] {
	case wireAsk:
		m.life = r.number()
	case wireAnswer:
		m.life = r.number()
		m.answer = &answer{term: r.number(), at: Mark{Index: r.number(), Term: r.number(), Seq: r.number()}}
		if heard := r.heard(); len(heard) == 1 {
			m.answer.heard = heard[0]
		} else {
			r.bad = true
		}
		m.answer.members = r.members()
		switch said := r.bytes(1); said[0] {
		case 0:
		case 1:
			m.answer.removed = true
		default:
			r.bad = true
		}
		r.bad = r.bad || !m.answer.members.InOrder()
	case wireRaft:
		m.heard = r.heard()
		m.raft = &pb.Message{}
		if r.bad || proto.Unmarshal(r.b, m.raft) != nil {
			return Message{}, errMessage
		}
		r.b = nil
		if m.raft.GetFrom() != m.From || m.raft.GetTo() != m.To || !sound(m.raft) {
			return Message{}, errMessage
		}
	default:
		return Message{}, errMessage
	}
	if r.bad || len(r.b) > 0 || m.From == 0 || m.To == 0 {
		return Message{}, errMessage
	}
	return m, nil
}

// Sender returns who a message is said to come from, without reading the rest of it; false if these bytes are no message. [ParseMessage] takes none
// whose other parts say otherwise.
func Sender(b []byte) (from uint64, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	r := reader{b: b[1:]}
	from = r.number()
	return from, !r.bad && from != 0
}

// Needed returns messages that have come, in their order, without those that say nothing which a later one of the same sender does not say too:
// heartbeats, and answers to them. A leader sends entries upon each answer of a member that lags, so one that answers thousands at once, as it was
// stopped for a while, would have it do nothing else.
func Needed(came []Message) []Message {
	type said struct {
		from, term uint64
		what       pb.MessageType
	}
	later := map[said]bool{}
	var all []Message
	for _, m := range slices.Backward(came) {
		if m.raft != nil && (m.raft.GetType() == pb.MsgHeartbeat || m.raft.GetType() == pb.MsgHeartbeatResp) {
			s := said{m.From, m.raft.GetTerm(), m.raft.GetType()}
			if later[s] {
				continue
			}
			later[s] = true
		}
		all = append(all, m)
	}
	slices.Reverse(all)
	return all
}

// mostAhead is how many terms later than its own a member hears of. Nobody has had so many elections: what speaks of more is none of a cluster's, and
// who took such a term over would have it on its disk, and nobody could be elected after it when the numbers end.
const mostAhead = 1 << 40

// latest is the latest term that a message speaks of.
func (m Message) latest() uint64 {
	heard, term := m.heard, m.raft.GetTerm()
	if m.answer != nil {
		heard, term = []Heard{m.answer.heard}, max(m.answer.term, m.answer.at.Term)
	}
	for _, h := range heard {
		term = max(term, h.Term)
	}
	return term
}

// sound says whether the library may be given a message: one that members send each other, whose entries follow each other.
func sound(m *pb.Message) bool {
	if raft.IsLocalMsgTarget(m.GetFrom()) || raft.IsLocalMsgTarget(m.GetTo()) || len(m.GetResponses()) > 0 {
		return false
	}
	if m.GetTerm() == 0 && m.GetType() != pb.MsgReadIndex {
		return false
	}
	switch m.GetType() {
	case pb.MsgApp:
	case pb.MsgReadIndex, pb.MsgReadIndexResp:
		return len(m.GetEntries()) == 1 && len(m.GetEntries()[0].GetData()) <= readContext
	case pb.MsgHeartbeat, pb.MsgHeartbeatResp:
		return len(m.GetEntries()) == 0 && (len(m.GetContext()) == 0 || len(m.GetContext()) == 8)
	case pb.MsgSnap:
		_, _, err := baseOf(m.GetSnapshot())
		return err == nil && len(m.GetEntries()) == 0
	case pb.MsgAppResp, pb.MsgVote, pb.MsgVoteResp, pb.MsgPreVote, pb.MsgPreVoteResp, pb.MsgTimeoutNow:
		return len(m.GetEntries()) == 0
	default:
		return false
	}
	last := m.GetLogTerm()
	for i, e := range m.GetEntries() {
		if e.GetIndex() != m.GetIndex()+uint64(i)+1 || e.GetTerm() < last || e.GetTerm() > m.GetTerm() || e.GetTerm() == 0 {
			return false
		}
		last = e.GetTerm()
		if _, err := entryOf(e); err != nil {
			return false
		}
	}
	return true
}

// entryOf returns an entry of the library as one of ours. Its bytes stay shared.
func entryOf(e *pb.Entry) (Entry, error) {
	own := Entry{Index: e.GetIndex(), Term: e.GetTerm()}
	switch {
	case e.GetType() == pb.EntryConfChangeV2:
		own.Kind, own.Data = Change, e.GetData()
		return own, proto.Unmarshal(e.GetData(), &pb.ConfChangeV2{})
	case e.GetType() != pb.EntryNormal:
		return own, errMessage
	case len(e.GetData()) == 0:
		return own, nil
	}
	own.Kind = Event
	r := reader{b: e.GetData()}
	own.Subject = string(r.bytes(r.number()))
	own.Last = r.number()
	n := r.number()
	if n > ledger.MaxEvent/uint64(len(ledger.Hash{})) {
		return own, errMessage
	}
	for range n {
		own.Blobs = append(own.Blobs, ledger.Hash(r.bytes(uint64(len(ledger.Hash{})))))
		if r.bad {
			return own, errMessage
		}
	}
	own.Data = r.b
	if r.bad {
		return own, errMessage
	}
	return own, nil
}

// libraryEntry is the inverse of entryOf.
func libraryEntry(e Entry) *pb.Entry {
	own := &pb.Entry{Index: new(e.Index), Term: new(e.Term), Type: pb.EntryNormal.Enum()}
	switch e.Kind {
	case Change:
		own.Type, own.Data = pb.EntryConfChangeV2.Enum(), e.Data
	case Event:
		own.Data = eventData(e)
	}
	return own
}

func eventData(e Entry) []byte {
	b := make([]byte, 0, len(e.Subject)+len(e.Blobs)*len(ledger.Hash{})+len(e.Data)+2*binary.MaxVarintLen64)
	b = binary.AppendUvarint(b, uint64(len(e.Subject)))
	b = append(b, e.Subject...)
	b = binary.AppendUvarint(b, e.Last)
	b = binary.AppendUvarint(b, uint64(len(e.Blobs)))
	for _, sum := range e.Blobs {
		b = append(b, sum[:]...)
	}
	return append(b, e.Data...)
}

// baseOf returns where a leader's snapshot message says that the log begins anew, and who takes part there.
func baseOf(s *pb.Snapshot) (Mark, Members, error) {
	r := reader{b: s.GetData()}
	at := Mark{Index: s.GetMetadata().GetIndex(), Term: s.GetMetadata().GetTerm(), Seq: r.number()}
	members := membersOf(s.GetMetadata().GetConfState())
	if r.bad || len(r.b) > 0 || at.Index == 0 || at.Term == 0 || len(members.Voters) == 0 || !members.InOrder() {
		return Mark{}, Members{}, errMessage
	}
	return at, members, nil
}

// snapshotOf is the inverse of baseOf.
func snapshotOf(at Mark, members Members) *pb.Snapshot {
	return &pb.Snapshot{
		Data: binary.AppendUvarint(nil, at.Seq),
		Metadata: &pb.SnapshotMetadata{
			Index: new(at.Index), Term: new(at.Term),
			ConfState: configuration(members),
		},
	}
}

func appendHeard(b []byte, all []Heard) []byte {
	b = binary.AppendUvarint(b, uint64(len(all)))
	for _, h := range all {
		for _, n := range []uint64{h.ID, h.Term, h.Index, h.EntryTerm} {
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

func appendMembers(b []byte, m Members) []byte {
	for _, list := range [][]uint64{m.Voters, m.Outgoing, m.Learners} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, id := range list {
			b = binary.AppendUvarint(b, id)
		}
	}
	return b
}

// reader reads what others wrote, and notes if that can't be read.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return make([]byte, min(n, uint64(len(ledger.Hash{}))))
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// count reads how many of a list follow.
func (r *reader) count() uint64 {
	n := r.number()
	if n > memberlog.Most {
		r.bad = true
		return 0
	}
	return n
}

func (r *reader) heard() (all []Heard) {
	for range r.count() {
		all = append(all, Heard{ID: r.number(), Term: r.number(), Index: r.number(), EntryTerm: r.number()})
	}
	return all
}

func (r *reader) members() (m Members) {
	for _, list := range []*[]uint64{&m.Voters, &m.Outgoing, &m.Learners} {
		for range r.count() {
			*list = append(*list, r.number())
		}
	}
	return m
}

// String is the message in a few words, for people.
func (m Message) String() string {
	ends := fmt.Sprintf("%d→%d ", m.From, m.To)
	switch r := m.raft; {
	case m.answer != nil:
		a := m.answer
		return ends + fmt.Sprintf("answer: you have acknowledged entry %d in term %d; I know term %d, and entry %d, with voters %v%v; removed %t", a.heard.Index, a.heard.Term, a.term, a.at.Index, a.members.Voters, a.members.Outgoing, a.removed)
	case r == nil:
		return ends + "what have I acknowledged?"
	case r.GetType() == pb.MsgApp && len(r.GetEntries()) > 0:
		return ends + fmt.Sprintf("append in term %d: entries %d to %d after one of term %d; commit %d", r.GetTerm(), r.GetIndex()+1, r.GetIndex()+uint64(len(r.GetEntries())), r.GetLogTerm(), r.GetCommit())
	default:
		said := words[r.GetType()]
		if r.GetReject() {
			said = refusals[r.GetType()]
		}
		return ends + fmt.Sprintf("%s (term %d; entry %d of term %d, commit %d)", said, r.GetTerm(), r.GetIndex(), r.GetLogTerm(), r.GetCommit())
	}
}

// words are what the library's messages say.
var words = map[pb.MessageType]string{
	pb.MsgApp: "nothing new, but what is committed", pb.MsgAppResp: "it is synced", pb.MsgVote: "vote for me", pb.MsgVoteResp: "you have my vote",
	pb.MsgPreVote: "would you vote for me?", pb.MsgPreVoteResp: "I would", pb.MsgSnap: "you are far behind: fetch the archive", pb.MsgHeartbeat: "I lead", pb.MsgHeartbeatResp: "you lead",
	pb.MsgTimeoutNow: "lead in my place", pb.MsgReadIndex: "how far has a read to see?", pb.MsgReadIndexResp: "a read has to see this",
}

var refusals = map[pb.MessageType]string{pb.MsgAppResp: "it does not follow on my log", pb.MsgVoteResp: "you do not have my vote", pb.MsgPreVoteResp: "I would not"}
