package archive

import (
	"bytes"
	"testing"
)

// A segment is read in one way: what is taken as whole is what would be written for these events.
func FuzzSegment(f *testing.F) {
	data, _ := appendBatch(newSegment(7), 7, [][]byte{[]byte("one"), []byte("two")})
	data, _ = appendBatch(data, 9, [][]byte{[]byte("three")})
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add(append(bytes.Clone(data), make([]byte, 600)...))
	f.Add(append(bytes.Clone(data[:30]), data...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := readSegment(segmentName(7), data)
		if s.first != 7 {
			t.Fatalf("it begins with event %d", s.first)
		}
		end, whole := s.whole()
		if !whole {
			if len(s.faults) == 0 && end >= 0 {
				t.Error("nothing is wrong with it, and it is not whole")
			}
			return
		}
		again := newSegment(7)
		for _, b := range s.batches {
			again, _ = appendBatch(again, b.first, b.events)
		}
		if !bytes.Equal(again, data) {
			t.Errorf("%x is read as what is written as %x", data, again)
		}
	})
}
