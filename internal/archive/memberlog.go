package archive

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
)

const (
	memberPrefix = "member-"
	memberDigits = 20
	longestTail  = 1 << 30 // what a start reads at most: the end that no checkpoint covers

	adviceRejoin = "nothing on this machine can make it again: `signalbox cluster rejoin` has the box fetch all of it from the others, under a new id"
)

func memberName(number uint64) string {
	return fmt.Sprintf("%s/%s%0*d.log", logDir, memberPrefix, memberDigits, number)
}

// memberNumber returns the number of a member's segment by its name, and false for what is none.
func memberNumber(name string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, ".log")
	n, err := strconv.ParseUint(strings.TrimPrefix(digits, memberPrefix), 10, 63)
	return n, ok && err == nil && name == path.Base(memberName(n)) && n > 0
}

// memberNumbers lists the segments of a member's log, in order.
func memberNumbers(fs FS) (numbers []uint64, err error) {
	if numbers, err = logFiles(fs, memberNumber); err != nil {
		return nil, fmt.Errorf("read the member's log: %w", err)
	}
	return numbers, nil
}

func damagedMember(where, what string, args ...any) *Damage {
	return &Damage{Where: where, What: fmt.Sprintf(what, args...), Advice: adviceRejoin}
}

// memberSegment is a file of a member's log, read up to the first place where no whole batch is.
type memberSegment struct {
	number  uint64
	name    string
	data    []byte
	records []*record
	ends    []int  // where the batch of each ends
	fault   *fault // what is not whole
}

// readMemberSegment reads what is whole in a segment.
func readMemberSegment(number uint64, data []byte) memberSegment {
	s := memberSegment{number: number, name: memberName(number), data: data}
	if !bytes.HasPrefix(data, []byte(memberMagic)) {
		s.fault = &fault{segment: s.name, last: nextMemberBatch(data, 0) < 0, torn: torn(data, 0, len(memberMagic))}
		return s
	}
	for at := len(memberMagic); at < len(data); {
		l, ok := readLengths(data[at:])
		if !ok {
			s.fault = &fault{segment: s.name, at: at, last: nextMemberBatch(data, at+1) < 0, torn: torn(data, at, at+memberHead)}
			return s
		}
		records, ok := readRecords(data[at:], l)
		end := at + l.end()
		if !ok || !fit(records, number, at == len(memberMagic)) {
			s.fault = &fault{segment: s.name, at: at, last: end >= len(data), torn: !ok && torn(data, at, end)}
			return s
		}
		for _, r := range records {
			s.records, s.ends = append(s.records, r), append(s.ends, end)
		}
		at = end
	}
	if len(s.records) == 0 {
		s.fault = &fault{segment: s.name, at: len(data), last: true, torn: true}
	}
	return s
}

// fit says whether a batch may stand where it stands: a segment's first one, and no other, is a head.
func fit(records []*record, number uint64, first bool) bool {
	for _, r := range records {
		head := r.segment == number && (r.before == nil) == (r.Base != nil) && (r.Base != nil) == (r.checkpoint != nil) &&
			r.Cut == nil && (len(r.Entries) == 0 || r.Base != nil) && !r.single
		if first && (!head || len(records) > 1) || !first && (r.segment > 0 || r.before != nil || r.Base != nil || r.checkpoint != nil) {
			return false
		}
	}
	return len(records) > 0
}

// nextMemberBatch returns where the next head of a batch is, or -1.
func nextMemberBatch(data []byte, from int) int {
	return nextHead(data, from, memberBatchMagic, func(b []byte) bool {
		_, ok := readLengths(b)
		return ok
	})
}

// memberLog is the end of a member's log, as far as a start has to know it.
type memberLog struct {
	kept       memberlog.Kept
	end        memberlog.Mark
	number     uint64 // of the last segment
	single     bool
	checkpoint []byte // that of the base, if the log begins with one and nothing else
	segments   []memberSegment
	torn       bool // a write at its end was never finished
}

// readMemberLog reads a member's log from the latest segment on before which all is in full bundles, and applied in the
// state at the log's end. It returns nil if there is none.
func readMemberLog(fs FS, full int64) (*memberLog, error) {
	numbers, err := memberNumbers(fs)
	if err != nil || len(numbers) == 0 {
		return nil, err
	}
	l := &memberLog{}
	var last *memberlog.State
	size := 0
	for i := len(numbers) - 1; ; i-- {
		if i < 0 || i+1 < len(numbers) && numbers[i]+1 != numbers[i+1] {
			return nil, damagedMember(memberName(numbers[i+1]-1), "it is missing")
		}
		data, err := fs.ReadFile(memberName(numbers[i]))
		if err != nil {
			return nil, fmt.Errorf("read the member's log: %w", err)
		}
		s := readMemberSegment(numbers[i], data)
		if err := l.settle(&s, i == len(numbers)-1); err != nil {
			return nil, err
		}
		if size += len(data); size > longestTail {
			return nil, damagedMember(logDir, "more than %d bytes at its end are covered by no checkpoint", longestTail)
		}
		l.segments = append(l.segments, s)
		if len(s.records) == 0 {
			continue
		}
		if last == nil {
			last = &s.records[len(s.records)-1].State
		}
		if before := s.records[0].before; before == nil || before.Seq <= uint64(full) && before.Index <= last.At.Index {
			break
		}
	}
	slices.Reverse(l.segments)
	return l, l.replay()
}

// settle decides what is not whole in a segment: a write that a power cut tore is the last one, and nobody relied on it.
func (l *memberLog) settle(s *memberSegment, last bool) error {
	f := s.fault
	switch {
	case f == nil:
		return nil
	case !last || !f.last || !f.torn:
		return damagedMember(s.name, "it is damaged at byte %d", f.at)
	}
	l.torn = true
	s.data = s.data[:f.at]
	return nil
}

// replay goes through the log.
func (l *memberLog) replay() error {
	for _, s := range l.segments {
		at := len(memberMagic)
		for i, r := range s.records {
			if err := l.take(r); err != nil {
				return damagedMember(s.name, "at byte %d: %v", at, err)
			}
			at = s.ends[i]
		}
	}
	if l.number == 0 {
		return damagedMember(l.segments[0].name, "it was never finished, and there is none before it")
	}
	return nil
}

// take goes on with a batch.
func (l *memberLog) take(r *record) error {
	switch {
	case l.single && r.Base != nil: // and was a member's once more
		l.kept = memberlog.Kept{}
		return l.add(r)
	case l.single:
		return errors.New("the log goes on, although it is a single box's again")
	case len(r.Entries) > 0 && r.seq != r.begin(l.end).Seq:
		return fmt.Errorf("event %d comes where event %d should be", r.seq+1, r.begin(l.end).Seq+1)
	case r.before == nil:
		return l.add(r)
	case l.number == 0:
		l.kept, l.end = memberlog.Kept{State: r.State, Before: *r.before}, *r.before
	case *r.before != l.end:
		return fmt.Errorf("it goes on after entry %d of term %d, and the log ends with entry %d of term %d", r.before.Index, r.before.Term, l.end.Index, l.end.Term)
	case !sameState(r.State, l.kept.State):
		return errors.New("it begins with another state than the last one")
	}
	l.number, l.checkpoint = r.segment, nil
	return nil
}

// add goes on with a batch that is no head which only repeats.
func (l *memberLog) add(r *record) error {
	if err := l.kept.Add(r.Write); err != nil {
		return err
	}
	l.end, l.single, l.checkpoint = r.after(l.end), r.single, r.checkpoint
	if r.segment > 0 {
		l.number = r.segment
	}
	return nil
}

// begin returns the place that a batch's entries follow, in a log that ended at a place before it.
func (r *record) begin(end memberlog.Mark) memberlog.Mark {
	switch {
	case r.Base != nil:
		return *r.Base
	case r.Cut != nil:
		return *r.Cut
	}
	return end
}

// after returns where the log ends with a batch.
func (r *record) after(end memberlog.Mark) memberlog.Mark {
	end = r.begin(end)
	for _, e := range r.Entries {
		end.Index, end.Term = e.Index, e.Term
		if e.Kind == memberlog.Event {
			end.Seq++
		}
	}
	return end
}

func sameState(a, b memberlog.State) bool {
	one, err := a.AppendText(nil)
	other, err2 := b.AppendText(nil)
	return err == nil && err2 == nil && bytes.Equal(one, other)
}
