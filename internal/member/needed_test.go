package member

import (
	"slices"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"
)

// Of heartbeats, and of answers to them, the last of each sender in a term is enough. All else stays, in its order.
func TestNeeded(t *testing.T) {
	message := func(from, term, commit uint64, what pb.MessageType) Message {
		return Message{From: from, raft: &pb.Message{Type: what.Enum(), Term: new(term), Commit: new(commit)}}
	}
	came := []Message{
		message(1, 3, 10, pb.MsgHeartbeat), message(1, 4, 11, pb.MsgHeartbeat), message(1, 4, 12, pb.MsgApp), message(2, 4, 13, pb.MsgHeartbeatResp),
		message(1, 4, 14, pb.MsgApp), message(1, 4, 15, pb.MsgHeartbeat), message(3, 4, 16, pb.MsgHeartbeatResp), message(2, 4, 17, pb.MsgHeartbeatResp), {From: 3},
	}
	var left []uint64
	for _, m := range Needed(came) {
		left = append(left, m.raft.GetCommit())
	}
	if want := []uint64{10, 12, 14, 15, 16, 17, 0}; !slices.Equal(left, want) {
		t.Errorf("%v are left; want %v", left, want)
	}
}
