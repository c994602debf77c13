package member

import (
	"errors"
	"strings"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"
)

// A term that no election has led to is not taken over, whatever a message says of it; one of many elections later is.
func TestFarAhead(t *testing.T) {
	for name, says := range map[string]func(term uint64) Message{
		"an answer of the library's": func(term uint64) Message {
			return Message{From: 2, To: 1, raft: &pb.Message{Type: pb.MsgHeartbeatResp.Enum(), From: new(uint64(2)), To: new(uint64(1)), Term: new(term)}}
		},
		"what was heard": func(term uint64) Message {
			m := Message{From: 2, To: 1, heard: []Heard{{ID: 1, Term: term, Index: 9, EntryTerm: 5}}}
			m.raft = &pb.Message{Type: pb.MsgHeartbeat.Enum(), From: new(uint64(2)), To: new(uint64(1)), Term: new(uint64(6))}
			return m
		},
		"an answer": func(term uint64) Message {
			return Message{From: 2, To: 1, life: 44, answer: &answer{heard: Heard{ID: 1}, term: term, at: Mark{Index: 1, Term: 4}, members: Members{Voters: []uint64{1, 2, 3}}}}
		},
	} {
		for term, taken := range map[uint64]bool{1 << 30: true, 1 << 50: false, ^uint64(0): false} {
			m, highest := starts(t), uint64(0)
			if name != "an answer" {
				answers(m, 2, 44, 5)
				answers(m, 3, 44, 5)
			}
			m.Receive(says(term))
			answers(m, 3, 44, 5)
			for out := m.Next(); !out.Empty(); out = m.Next() {
				for _, w := range out.Writes {
					highest = max(highest, w.State.Term)
					for _, h := range w.State.Heard {
						highest = max(highest, h.Term)
					}
				}
				m.Written()
			}
			if (highest == term) != taken {
				t.Errorf("%s of term %d: it has written %d", name, term, highest)
			}
		}
	}
}

// A member that is told that more is committed than it has stops. Its log may be whole, so it is to be started again first.
func TestContradicted(t *testing.T) {
	m := starts(t)
	answers(m, 2, 44, 5)
	answers(m, 3, 44, 5)
	beat := &pb.Message{Type: pb.MsgHeartbeat.Enum(), From: new(uint64(2)), To: new(uint64(1)), Term: new(uint64(6)), Commit: new(uint64(99))}
	m.Receive(Message{From: 2, To: 1, raft: beat})
	err := m.Next().Stop
	if !errors.Is(err, ErrContradicted) || strings.Contains(err.Error(), "log is damaged") {
		t.Errorf("it stops with %v", err)
	}
}
