package archive

import (
	"bytes"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A member's segment that is read is what writing it again makes, and no bytes make reading panic.
func FuzzMemberSegment(f *testing.F) {
	state := memberlog.Founding(4, 3)
	before := state.At
	event := []byte(`{"subject":"a","text":"x"}`)
	for _, records := range [][]*record{
		{{segment: 1, checkpoint: []byte("note"), Write: memberlog.Write{Base: &before, State: state}, seq: 3}},
		{{segment: 1, before: &before, Write: memberlog.Write{State: state}}},
		{
			{Write: memberlog.Write{Cut: &before, State: state, Entries: []memberlog.Entry{
				{Index: 5, Term: 1, Kind: memberlog.Event, Subject: "a", Last: 2, Data: event, Blobs: []ledger.Hash{{1}, {2}}},
				{Index: 6, Term: 1, Kind: memberlog.Change, Data: []byte{0, 1}},
				{Index: 7, Term: 1, Kind: memberlog.Empty},
			}}, seq: 3},
			{Write: memberlog.Write{State: state}, single: true},
		},
	} {
		data, err := appendRecords([]byte(memberMagic), records...)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := readMemberSegment(1, data)
		if s.fault == nil && len(s.records) == 0 {
			t.Fatal("a segment without a head has no fault")
		}
		at := len(memberMagic)
		for i := 0; i < len(s.records); {
			n := i + 1
			for n < len(s.records) && s.ends[n] == s.ends[i] {
				n++
			}
			again, err := appendRecords(nil, s.records[i:n]...)
			if err != nil || !bytes.Equal(again, data[at:s.ends[i]]) {
				t.Fatalf("a batch at byte %d is read, and written as another one: %v", at, err)
			}
			at, i = s.ends[i], n
		}
		// What a start reads in a file with the right checksums, but any text and body.
		if len(data) > memberHead {
			_, _ = parseRecords(data[memberHead:], nil)
			half := len(data) / 2
			_, _ = parseRecords(data[:half], data[half:])
		}
	})
}
