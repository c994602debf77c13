package memberlink_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/internal/memberlink"
)

// frame is a message as it is on the wire.
func frame(message []byte) string {
	return string(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
}

// What comes on a stream is given as it was sent, up to the first that is no message of the one who sends.
func TestReceive(t *testing.T) {
	large := message(7, strings.Repeat("x", 1<<20))
	largest := message(7, strings.Repeat("x", member.MaxMessage-2))
	for name, c := range map[string]struct {
		stream string
		want   []string
		err    error
	}{
		"nothing":             {"", nil, nil},
		"messages":            {frame(message(7, "a")) + frame(message(7, "")) + frame(large), []string{string(message(7, "a")), string(message(7, "")), string(large)}, nil},
		"the largest":         {frame(largest), []string{string(largest)}, nil},
		"one byte too many":   {frame(append(largest, 'x')), nil, memberlink.ErrFrame},
		"4 GiB":               {"\xff\xff\xff\xff" + strings.Repeat("x", 1<<20), nil, memberlink.ErrFrame},
		"no bytes":            {"\x00\x00\x00\x00", nil, memberlink.ErrFrame},
		"no sender":           {frame([]byte("\x01")), nil, memberlink.ErrFrame},
		"another sender":      {frame(message(7, "a")) + frame(message(8, "b")), []string{string(message(7, "a"))}, memberlink.ErrForged},
		"a length cut off":    {frame(message(7, "a")) + "\x00\x00", []string{string(message(7, "a"))}, io.ErrUnexpectedEOF},
		"a message cut off":   {frame(message(7, "abc"))[:6], nil, io.ErrUnexpectedEOF},
		"nothing of one":      {frame(message(7, "abc"))[:4], nil, io.ErrUnexpectedEOF},
		"a large one cut off": {frame(large)[:100<<10], nil, io.ErrUnexpectedEOF},
	} {
		var got []string
		err := memberlink.Receive(iotest.HalfReader(strings.NewReader(c.stream)), 7, func(b []byte) { got = append(got, string(b)) })
		if (c.err == nil) != (err == nil) || !errors.Is(err, c.err) {
			t.Errorf("%s ends with %v, not with %v", name, err, c.err)
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s is given as %d messages", name, len(got))
		}
	}
	if err := memberlink.Receive(iotest.ErrReader(io.ErrClosedPipe), 7, func([]byte) {}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a stream that breaks ends with %v", err)
	}
}

// A length alone takes no memory.
func TestReceiveBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		_ = memberlink.Receive(strings.NewReader("\x00\xff\xff\xff"), 7, func([]byte) {})
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 20<<20 {
		t.Errorf("it takes %d bytes", n)
	}
}

// FuzzReceive has any stream received: what is given is what is there, and of the one who sends.
func FuzzReceive(f *testing.F) {
	f.Add([]byte(frame(message(7, "a"))+frame(message(7, ""))), byte(7))
	f.Add([]byte(frame(message(8, "a"))), byte(7))
	f.Add([]byte("\x00\x00\x00\x00"), byte(7))
	f.Add([]byte("\x00\xff\xff\xff\x01\x07"), byte(7))
	f.Fuzz(func(t *testing.T, stream []byte, from byte) {
		var again bytes.Buffer
		err := memberlink.Receive(bytes.NewReader(stream), uint64(from), func(b []byte) {
			if said, ok := member.Sender(b); said != uint64(from) || !ok {
				t.Fatalf("%q is given, of %d", b, said)
			}
			again.WriteString(frame(b))
		})
		if !bytes.HasPrefix(stream, again.Bytes()) || err == nil && again.Len() != len(stream) {
			t.Fatalf("%q is given of %q (%v)", again.Bytes(), stream, err)
		}
	})
}
