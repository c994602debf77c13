package member

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

func messages() []Message {
	library := func(m *pb.Message) *pb.Message {
		m.From, m.To = new(uint64(3)), new(uint64(9))
		if m.GetTerm() == 0 {
			m.Term = new(uint64(7))
		}
		return m
	}
	e := libraryEntry(Entry{Index: 5, Term: 7, Kind: Event, Subject: "a", Last: 2, Blobs: []ledger.Hash{{1}, {2}}, Data: []byte("event")})
	return []Message{
		{From: 3, To: 9, life: 44},
		{From: 3, To: 9, life: 44, answer: &answer{heard: Heard{ID: 9, Term: 7, Index: 41, EntryTerm: 7}, term: 8, at: Mark{Index: 38, Term: 6, Seq: 30}, members: someState.Members, removed: true}},
		{From: 3, To: 9, heard: someState.Heard, raft: library(&pb.Message{Type: pb.MsgApp.Enum(), Index: new(uint64(4)), LogTerm: new(uint64(6)), Entries: []*pb.Entry{e}, Commit: new(uint64(3))})},
		{From: 3, To: 9, raft: library(&pb.Message{Type: pb.MsgHeartbeat.Enum(), Commit: new(uint64(3))})},
		{From: 3, To: 9, raft: library(&pb.Message{Type: pb.MsgSnap.Enum(), Snapshot: snapshotOf(someState.At, someState.Members)})},
	}
}

var someState = State{ID: 9, Term: 7, Vote: 3, Commit: 40, At: Mark{Index: 38, Term: 6, Seq: 30}, Members: Members{Voters: []uint64{3, 9}, Outgoing: []uint64{3, 5}, Learners: []uint64{11}},
	Heard: []Heard{{ID: 3, Term: 7, Index: 41, EntryTerm: 7}, {ID: 5, Term: 6, Index: 39, EntryTerm: 6}}}

// A message is read as it was written; what no member sends is not read.
func TestMessage(t *testing.T) {
	for _, m := range messages() {
		data, err := m.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseMessage(data)
		if err != nil {
			t.Errorf("%v is not read: %v", m, err)
			continue
		}
		if diff := cmp.Diff(m, got, cmp.AllowUnexported(Message{}, answer{}), protocmp.Transform()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", m, diff)
		}
		if from, ok := Sender(data); from != m.From || !ok {
			t.Errorf("%v is said to come from %d, %t", m, from, ok)
		}
		for n := range data {
			if short, err := ParseMessage(data[:n]); err == nil && m.raft == nil {
				t.Errorf("the first %d of %d bytes of %v are read as %v", n, len(data), m, short)
			}
		}
	}
	for what, change := range map[string]func(m *pb.Message){
		"another sender":                 func(m *pb.Message) { m.From = new(uint64(4)) },
		"a message of the library's own": func(m *pb.Message) { m.Type = pb.MsgHup.Enum() },
		"a gap":                          func(m *pb.Message) { m.Entries[0].Index = new(uint64(6)) },
		"an entry of a later term":       func(m *pb.Message) { m.Entries[0].Term = new(uint64(8)) },
		"an entry of an earlier term":    func(m *pb.Message) { m.Entries[0].Term = new(uint64(5)) },
		"no term":                        func(m *pb.Message) { m.Term, m.Entries = nil, nil },
		"an old kind of change":          func(m *pb.Message) { m.Entries[0].Type = pb.EntryConfChange.Enum() },
		"an entry that is cut off":       func(m *pb.Message) { m.Entries[0].Data = m.Entries[0].Data[:20] },
		"a read without one":             func(m *pb.Message) { m.Type, m.Entries = pb.MsgReadIndex.Enum(), nil },
		"an archive that is nowhere":     func(m *pb.Message) { m.Type, m.Entries = pb.MsgSnap.Enum(), nil },
	} {
		m := messages()[2]
		change(m.raft)
		data, err := m.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseMessage(data); err == nil {
			t.Errorf("%s is read: %v", what, got)
		}
	}
}

// Bytes that name no sender are no message.
func TestSender(t *testing.T) {
	for _, data := range []string{"", "\x01", "\x01\x00", "\x01\x80", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"} {
		if from, ok := Sender([]byte(data)); ok {
			t.Errorf("%q comes from %d", data, from)
		}
	}
}

// FuzzMessage has a member take any message that is read.
func FuzzMessage(f *testing.F) {
	for _, m := range messages() {
		data, err := m.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msg, err := ParseMessage(data)
		if err != nil {
			return
		}
		if from, ok := Sender(data); from != msg.From || !ok {
			t.Fatalf("%v is said to come from %d, %t", msg, from, ok)
		}
		if again, err := msg.AppendBinary(nil); err != nil || len(again) == 0 {
			t.Fatalf("%v is not written: %v", msg, err)
		}
		k := Kept{State: State{ID: 1, Term: 2, Vote: 1, Commit: 2, At: Mark{Index: 1, Term: 1}, Members: Members{Voters: []uint64{1}}}, Entries: []Entry{{Index: 1, Term: 1},
			{Index: 2, Term: 1, Kind: Event, Subject: "a"}, {Index: 3, Term: 1, Kind: Event, Subject: "a"}, {Index: 4, Term: 2, Kind: Event, Subject: "a"}}}
		m, err := Start(Config{ElectionTicks: 4, Last: func(string) uint64 { return 0 }, Has: func(ledger.Hash) bool { return true }}, k)
		if err != nil {
			t.Fatal(err)
		}
		msg.To = m.id
		if msg.raft != nil {
			msg.raft.To = new(m.id)
		}
		for range 8 {
			m.Receive(msg)
			m.Next()
			m.Written()
			m.Tick()
		}
	})
}

// A member that has no log needs someone to ask, and one whose log is damaged does not start.
func TestStartRefuses(t *testing.T) {
	for what, k := range map[string]Kept{
		"nobody to ask":      {State: memberlog.Joining(7)},
		"does not say whose": {},
	} {
		if _, err := Start(Config{ElectionTicks: 4}, k); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want %q, got %v", what, err)
		}
	}
}
