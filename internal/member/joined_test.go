package member

import (
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Messages with entries that follow each other become one for each member; nothing else is changed, and none of what was given.
func TestJoined(t *testing.T) {
	entry := func(index, term uint64, size int) *pb.Entry {
		return &pb.Entry{Index: new(index), Term: new(term), Type: pb.EntryNormal.Enum(), Data: make([]byte, size)}
	}
	message := func(what pb.MessageType, to, index, logTerm, commit uint64, entries ...*pb.Entry) *pb.Message {
		return &pb.Message{Type: what.Enum(), From: new(uint64(1)), To: new(to), Term: new(uint64(4)), Index: new(index), LogTerm: new(logTerm), Commit: new(commit), Entries: entries}
	}
	otherTerm := message(pb.MsgApp, 2, 6, 4, 3, entry(7, 4, 1))
	otherTerm.Term = new(uint64(5))
	for name, c := range map[string]struct{ given, want []*pb.Message }{
		"none": {},
		"two members": {
			[]*pb.Message{
				message(pb.MsgApp, 2, 4, 3, 2, entry(5, 4, 1)), message(pb.MsgApp, 3, 4, 3, 2, entry(5, 4, 1)),
				message(pb.MsgApp, 2, 5, 4, 3, entry(6, 4, 2), entry(7, 4, 2)), message(pb.MsgApp, 3, 5, 4, 3, entry(6, 4, 2)), message(pb.MsgApp, 2, 7, 4, 5),
			},
			[]*pb.Message{
				message(pb.MsgApp, 2, 4, 3, 5, entry(5, 4, 1), entry(6, 4, 2), entry(7, 4, 2)), message(pb.MsgApp, 3, 4, 3, 3, entry(5, 4, 1), entry(6, 4, 2)),
			},
		},
		"a gap, another term before, another term": {
			[]*pb.Message{message(pb.MsgApp, 2, 4, 3, 2, entry(5, 4, 1)), message(pb.MsgApp, 2, 6, 4, 2), message(pb.MsgApp, 2, 6, 3, 3), otherTerm},
			[]*pb.Message{message(pb.MsgApp, 2, 4, 3, 2, entry(5, 4, 1)), message(pb.MsgApp, 2, 6, 4, 2), message(pb.MsgApp, 2, 6, 3, 3), otherTerm},
		},
		"something else between them": {
			[]*pb.Message{message(pb.MsgApp, 2, 4, 3, 2, entry(5, 4, 1)), message(pb.MsgHeartbeat, 2, 0, 0, 2), message(pb.MsgApp, 2, 5, 4, 3, entry(6, 4, 1))},
			[]*pb.Message{message(pb.MsgApp, 2, 4, 3, 2, entry(5, 4, 1)), message(pb.MsgHeartbeat, 2, 0, 0, 2), message(pb.MsgApp, 2, 5, 4, 3, entry(6, 4, 1))},
		},
		"too large": {
			[]*pb.Message{message(pb.MsgApp, 2, 4, 3, 2, entry(5, 4, maxAppend)), message(pb.MsgApp, 2, 5, 4, 3, entry(6, 4, 1))},
			[]*pb.Message{message(pb.MsgApp, 2, 4, 3, 2, entry(5, 4, maxAppend)), message(pb.MsgApp, 2, 5, 4, 3, entry(6, 4, 1))},
		},
	} {
		var before []*pb.Message
		for _, m := range c.given {
			before = append(before, proto.CloneOf(m))
		}
		got := joined(c.given)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v; want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if !proto.Equal(got[i], c.want[i]) {
				t.Errorf("%s: message %d is %v; want %v", name, i, got[i], c.want[i])
			}
		}
		for i := range before {
			if !proto.Equal(before[i], c.given[i]) {
				t.Errorf("%s: what was given has changed: %v, and was %v", name, c.given[i], before[i])
			}
		}
	}
}
