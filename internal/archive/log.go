package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/ledger"
)

// A segment of the log begins with
//
//	magic [8]  first index [8]  CRC-32C of these [4]
//
// and holds batches. A batch is
//
//	magic [4]  count [4]  length of the body [4]  first index [8]
//	CRC-32C of the body [4]  CRC-32C of these [4]
//
// and its body: the events, as a bundle of package ledger has them. Numbers are
// big-endian. A batch's head has a checksum of its own, so that a broken length is
// never taken for a write that ended early.
const (
	logDir        = "log"
	segmentMagic  = "sboxlog1"
	segmentDigits = 20 // of the first index, in a segment's name
	segmentHead   = len(segmentMagic) + 8 + 4
	batchMagic    = "bat1"
	batchHead     = len(batchMagic) + 4 + 4 + 8 + 4 + 4
	segmentSize   = 1 << 20 // a segment that is larger is followed by another one
	sector        = 512     // what a disk writes whole or not at all
)

// segmentLimit is segmentSize. Tests have a smaller one, so that few events make a log of several segments.
var segmentLimit = segmentSize

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func segmentName(first int64) string { return fmt.Sprintf("%s/%0*d.log", logDir, segmentDigits, first) }

func newSegment(first int64) []byte {
	head := binary.BigEndian.AppendUint64([]byte(segmentMagic), uint64(first))
	return binary.BigEndian.AppendUint32(head, checksum(head))
}

// appendBatch adds a batch to b, and returns it with the events as they lie in it.
func appendBatch(b []byte, first int64, events [][]byte) ([]byte, [][]byte) {
	size := batchHead
	for _, stored := range events {
		size += 2 + len(stored)
	}
	b = slices.Grow(b, size)
	at := len(b)
	b = b[:at+batchHead]
	kept := make([][]byte, len(events))
	for i, stored := range events {
		b = ledger.AppendEntry(b, stored)
		kept[i] = b[len(b)-len(stored) : len(b) : len(b)]
	}
	body := b[at+batchHead:]
	head := append(make([]byte, 0, batchHead), batchMagic...)
	head = binary.BigEndian.AppendUint32(head, uint32(len(events)))
	head = binary.BigEndian.AppendUint32(head, uint32(len(body)))
	head = binary.BigEndian.AppendUint64(head, uint64(first))
	head = binary.BigEndian.AppendUint32(head, checksum(body))
	head = binary.BigEndian.AppendUint32(head, checksum(head))
	copy(b[at:], head)
	return b, kept
}

// segment is a file of the log, read.
type segment struct {
	name    string
	data    []byte
	first   int64 // as its name says
	batches []batch
	faults  []fault
}

// batch is a batch that is whole.
type batch struct {
	first  int64
	events [][]byte
}

func (b batch) end() int64 { return b.first + int64(len(b.events)) }

// fault is a place in a segment where no whole batch is.
type fault struct {
	segment string
	at      int   // the byte where it begins
	first   int64 // the first event that should be there
	count   int64 // how many events; 0 if that can't be known
	last    bool  // nothing follows it
	torn    bool  // it looks like a write that a power cut ended
}

// readSegment reads what is whole in a segment.
func readSegment(name string, data []byte) segment {
	s := segment{name: name, data: data}
	_, _ = fmt.Sscanf(name, logDir+"/%d.log", &s.first) // the caller knows that it is a segment's name
	if !bytes.HasPrefix(data, newSegment(s.first)) {
		f := fault{segment: name, first: s.first, last: nextBatch(data, 0) < 0, torn: torn(data, 0, segmentHead)}
		s.faults = append(s.faults, f)
		if f.last {
			return s
		}
	}
	next := s.first
	for at := segmentHead; at < len(data); {
		h, ok := readHead(data[at:])
		if !ok {
			f := fault{segment: name, at: at, first: next, torn: torn(data, at, at+batchHead)}
			follows := nextBatch(data, at+1)
			f.last = follows < 0
			s.faults = append(s.faults, f)
			if f.last {
				break
			}
			at = follows
			continue
		}
		end := at + batchHead + h.length
		events, ok := readBody(data[at+batchHead:min(end, len(data))], h)
		if ok {
			s.batches = append(s.batches, batch{h.first, events})
		} else {
			s.faults = append(s.faults, fault{segment: name, at: at, first: h.first, count: h.count,
				last: end >= len(data), torn: torn(data, at, end)})
		}
		next, at = h.first+h.count, end
	}
	return s
}

type head struct {
	first, count int64
	length       int
	body         uint32
}

func readHead(b []byte) (head, bool) {
	if len(b) < batchHead || string(b[:len(batchMagic)]) != batchMagic {
		return head{}, false
	}
	n := b[len(batchMagic):]
	h := head{
		count:  int64(binary.BigEndian.Uint32(n)),
		length: int(binary.BigEndian.Uint32(n[4:])),
		first:  int64(binary.BigEndian.Uint64(n[8:])),
		body:   binary.BigEndian.Uint32(n[16:]),
	}
	if h.first < 0 || h.first > math.MaxInt64-h.count {
		return head{}, false
	}
	return h, binary.BigEndian.Uint32(n[20:]) == checksum(b[:batchHead-4])
}

func readBody(body []byte, h head) ([][]byte, bool) {
	if len(body) != h.length || checksum(body) != h.body {
		return nil, false
	}
	events, err := ledger.Entries(body)
	return events, err == nil && int64(len(events)) == h.count
}

// nextBatch returns where the next head of a batch is, or -1.
func nextBatch(data []byte, from int) int {
	return nextHead(data, from, batchMagic, func(b []byte) bool {
		_, ok := readHead(b)
		return ok
	})
}

// nextHead returns where the next head is that begins with a magic and is whole, or -1.
func nextHead(data []byte, from int, magic string, whole func([]byte) bool) int {
	for from < len(data) {
		i := bytes.Index(data[from:], []byte(magic))
		if i < 0 {
			break
		}
		if whole(data[from+i:]) {
			return from + i
		}
		from += i + 1
	}
	return -1
}

// torn says whether what should lie from at to end looks like a write that a power
// cut ended: the file is too short, or a sector was never written.
func torn(data []byte, at, end int) bool {
	if len(data) < end {
		return true
	}
	for at < end {
		next := min((at/sector+1)*sector, len(data))
		if len(bytes.Trim(data[at:next], "\x00")) == 0 {
			return true
		}
		at = next
	}
	return false
}

// logFiles lists the files of a log, in order, by the numbers that their names stand for.
func logFiles[N int64 | uint64](fs FS, number func(name string) (N, bool)) (all []N, err error) {
	err = eachName(fs, logDir, func(name string) error {
		n, ok := number(name)
		if ok && len(all) == maxNames {
			return damagedLog(logDir, "it has more than %d files, which no log has", maxNames)
		}
		if ok {
			all = append(all, n)
		}
		return nil
	})
	if err != nil && !missing(err) {
		return nil, err
	}
	slices.Sort(all)
	return all, nil
}

// segmentNames lists the segments of the log, in order, with the first index of each.
func segmentNames(fs FS) (names []string, firsts []int64, err error) {
	if firsts, err = logFiles(fs, segmentFirst); err != nil {
		return nil, nil, fmt.Errorf("read the archive's log: %w", err)
	}
	for _, first := range firsts {
		names = append(names, segmentName(first))
	}
	return names, firsts, nil
}

// segmentFirst returns the first index of a segment by its name, and false for what is none.
func segmentFirst(name string) (first int64, ok bool) {
	digits, ok := strings.CutSuffix(name, ".log")
	n, err := strconv.ParseUint(digits, 10, 63)
	return int64(n), ok && err == nil && len(digits) == segmentDigits
}

// readLog reads the segments that hold event from and those after it.
func readLog(fs FS, from int64) (segments []segment, err error) {
	names, firsts, err := segmentNames(fs)
	if err != nil {
		return nil, err
	}
	for i := segmentOf(firsts, from); i < len(names); i++ {
		name := names[i]
		data, err := fs.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the archive's log: %w", err)
		}
		segments = append(segments, readSegment(name, data))
	}
	return segments, nil
}

// damagedLog is a refusal because of the log.
func damagedLog(where, what string, args ...any) *Damage {
	return &Damage{Where: where, What: fmt.Sprintf(what, args...), Advice: adviceRepair}
}

// joinLog returns the events from index from on, and the fault at the log's very
// end if there is one. Anything else that is not whole is damage.
func joinLog(segments []segment, from int64) (events [][]byte, tail *fault, err error) {
	j := joining{from: from, each: func(_ int64, stored []byte) error {
		events = append(events, stored)
		return nil
	}}
	for i, s := range segments {
		if err := j.add(s, i == len(segments)-1); err != nil {
			return nil, nil, err
		}
	}
	return events, j.tail, j.begun()
}

// walkLog calls f for the log's events from an index on, with one segment in memory at a time. The bytes are not to
// be kept. It returns where the log ends, and the fault there if there is one. Anything else that is not whole is
// damage.
func walkLog(ctx context.Context, fs FS, from int64, f func(index int64, stored []byte) error) (end int64, tail *fault, err error) {
	names, firsts, err := segmentNames(fs)
	if err != nil {
		return 0, nil, err
	}
	j := joining{from: from, each: f}
	for i := segmentOf(firsts, from); i < len(names); i++ {
		if err := ctx.Err(); err != nil {
			return 0, nil, err
		}
		data, err := fs.ReadFile(names[i])
		if err != nil {
			return 0, nil, fmt.Errorf("read the archive's log: %w", err)
		}
		if err := j.add(readSegment(names[i], data), i == len(names)-1); err != nil {
			return 0, nil, err
		}
	}
	return j.next, j.tail, j.begun()
}

// joining puts segments together that have to follow each other.
type joining struct {
	from int64 // the first event that is wanted
	each func(index int64, stored []byte) error
	some bool   // there was a segment
	next int64  // the event that has to come next
	tail *fault // at the end of the last segment
}

// begun says whether the log has the first event that is wanted.
func (j *joining) begun() error {
	if !j.some {
		return damagedLog(logDir, "the log's file with event %d is missing", j.from+1)
	}
	return nil
}

// add takes the next segment.
func (j *joining) add(s segment, last bool) error {
	if !j.some && s.first > j.from {
		return j.begun()
	}
	if !j.some {
		j.some, j.next = true, s.first
	}
	if s.first != j.next {
		return damagedLog(s.name, "events %d to %d are missing before it", j.next+1, s.first)
	}
	for _, f := range s.faults {
		if !f.last || !last {
			return damagedLog(s.name, "it is damaged at byte %d, in event %d or after it", f.at, f.first+1)
		}
		j.tail = &f
	}
	for _, b := range s.batches {
		if b.first != j.next {
			return damagedLog(s.name, "event %d comes where event %d should be", b.first+1, j.next+1)
		}
		for i, stored := range b.events {
			if at := b.first + int64(i); at >= j.from {
				if err := j.each(at, stored); err != nil {
					return err
				}
			}
		}
		j.next = b.end()
	}
	return nil
}
