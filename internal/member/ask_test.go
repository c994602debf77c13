package member

import (
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/signalbox-dev/signalbox/ledger"
)

// starts starts member 1 of three, in term 5, where it has not voted.
func starts(t *testing.T) *Member {
	t.Helper()
	three := Members{Voters: []uint64{1, 2, 3}}
	k := Kept{State: State{ID: 1, Term: 5, Commit: 1, At: Mark{Index: 1, Term: 4}, Members: three}, Entries: []Entry{{Index: 1, Term: 4}}}
	m, err := Start(Config{Life: 44, ElectionTicks: 4, Last: func(string) uint64 { return 0 }, Has: func(ledger.Hash) bool { return true }}, k)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// answers has another member answer what it knows of member 1.
func answers(m *Member, from, life, term uint64) {
	m.Receive(Message{From: from, To: 1, life: life, answer: &answer{heard: Heard{ID: 1}, term: term, at: Mark{Index: 1, Term: 4}, members: Members{Voters: []uint64{1, 2, 3}}}})
}

// vote asks member 1 for its vote, and returns whether it has it.
func vote(t *testing.T, m *Member, from, term uint64) bool {
	t.Helper()
	m.Receive(Message{From: from, To: 1, raft: &pb.Message{Type: pb.MsgVote.Enum(), From: new(from), To: new(uint64(1)), Term: new(term), Index: new(uint64(9)), LogTerm: new(uint64(5))}})
	for {
		out := m.Next()
		if out.Empty() {
			t.Fatalf("no answer to a vote in term %d", term)
		}
		m.Written()
		for _, msg := range out.Send {
			if msg.raft.GetType() == pb.MsgVoteResp {
				return !msg.raft.GetReject()
			}
		}
	}
}

// Before others have answered, a member says nothing but its question; then it votes in no term that one of them has heard of, as it may have
// voted there.
func TestVotesInNoTermThatWasHeardOf(t *testing.T) {
	m := starts(t)
	m.Receive(Message{From: 2, To: 1, raft: &pb.Message{Type: pb.MsgVote.Enum(), From: new(uint64(2)), To: new(uint64(1)), Term: new(uint64(9)), Index: new(uint64(9)), LogTerm: new(uint64(5))}})
	m.Tick()
	for _, msg := range m.Next().Send {
		if msg.raft != nil || msg.answer != nil {
			t.Errorf("it says %v before anyone has answered", msg)
		}
	}
	answers(m, 2, 43, 7) // to an earlier life
	answers(m, 3, 43, 7)
	if m.node != nil {
		t.Fatal("it takes answers to an earlier life")
	}
	answers(m, 2, 44, 6)
	answers(m, 3, 44, 7)
	if m.node == nil {
		t.Fatal("all have answered, and it does not take part")
	}
	if vote(t, m, 2, 7) {
		t.Error("it votes in term 7, which another one has heard of")
	}
	if !vote(t, m, 2, 8) {
		t.Error("it does not vote in term 8, of which nobody has heard")
	}
	if vote(t, m, 3, 8) {
		t.Error("it votes twice in term 8")
	}
}

// A majority is enough after a while, and not before.
func TestMajorityAnswers(t *testing.T) {
	m := starts(t)
	answers(m, 2, 44, 5)
	for n := range 4 {
		if m.node != nil {
			t.Fatalf("it takes part after %d ticks, and one has not answered", n)
		}
		m.Tick()
	}
	if m.node == nil {
		t.Error("a majority has answered for long, and it does not take part")
	}
	alone := starts(t)
	for range 40 {
		alone.Tick()
	}
	if alone.node != nil {
		t.Error("nobody has answered, and it takes part")
	}
}
