package archive

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A segment of a member's log begins with
//
//	magic [8]
//
// and holds batches. A batch is
//
//	magic [5]  length of the text [4]  length of the body [4]
//	CRC-32C of the text [4]  CRC-32C of the body [4]  CRC-32C of these [4]
//
// then its text, lines that say what it is, and its body: the entries, one after the other. Numbers
// are big-endian. Neither text nor body has a byte that is zero. So no sector of a batch can be all
// zero unless it was never written, and no entry can hold a batch.
const (
	memberMagic      = "sboxmem1"
	memberBatchMagic = "mem1\x00"
	memberHead       = len(memberBatchMagic) + 5*4
	longestText      = 1 << 20
	longestBody      = mostEntries * ledger.MaxEvent
	mostEntries      = 1024
)

// record is a part of what a batch of a member's log says. Its text has these lines, in this order, and those that say nothing are
// left out:
//
//	segment NUMBER                       it begins a segment
//	before INDEX TERM SEQ                of a segment's first one: what comes before it
//	base INDEX TERM SEQ                  or that the log begins anew behind this place,
//	checkpoint BASE64                    and who has signed the events up to there
//	cut INDEX TERM SEQ                   the log ends here again: what came after it is void
//	entries TERM INDEX SEQ ENTRY...      the first index, the sequence of the first event, and each entry (see [appendEntry])
//	blobs PLACE:SHA-256...               what the entries name, by their place in the batch
//	single                               the log is a single box's again
//	state STATE                          the member's state, whole
//
// Batches that are synced together are one, with one record after the other: what a power cut tears is always the last one.
// The state and, in a segment's first batch, what comes before it are there each time. So a start that reads the latest
// segments only forgets neither vote nor voters.
type record struct {
	segment    uint64          // its number; 0 for a batch that begins none
	before     *memberlog.Mark // nil for a base
	checkpoint []byte
	memberlog.Write
	seq    uint64 // of the last event before the entries
	single bool
}

// The letters of the entries' kinds.
const (
	letterEvent  = 'e'
	letterChange = 'c'
	letterEmpty  = 'n'
)

// dataOf returns an entry's data as it lies in the body: that of a change is the library's, and has zeros.
func dataOf(e memberlog.Entry) []byte {
	if e.Kind == memberlog.Change {
		return base64.StdEncoding.AppendEncode(nil, e.Data)
	}
	return e.Data
}

// appendEntry adds what the text says of an entry: its letter, how long it is in the body, and of an event the condition
// it was taken under.
func appendEntry(b []byte, e memberlog.Entry, size int) []byte {
	switch e.Kind {
	case memberlog.Event:
		return fmt.Appendf(b, " %c%d:%d", letterEvent, size, e.Last)
	case memberlog.Change:
		return fmt.Appendf(b, " %c%d", letterChange, size)
	default:
		return fmt.Appendf(b, " %c", letterEmpty)
	}
}

// appendRecords adds a batch to b.
func appendRecords(b []byte, records ...*record) ([]byte, error) {
	at := len(b)
	b = append(b, make([]byte, memberHead)...)
	var body []byte
	for _, r := range records {
		datas := make([][]byte, len(r.Entries))
		for i, e := range r.Entries {
			datas[i] = dataOf(e)
			body = append(body, datas[i]...)
		}
		var err error
		if b, err = r.appendText(b, datas); err != nil {
			return nil, err
		}
	}
	text := b[at+memberHead:]
	switch {
	case len(text) > longestText || len(body) > longestBody:
		return nil, fmt.Errorf("a batch of a member's log has at most %d bytes of text and %d of entries, not %d and %d", longestText, longestBody, len(text), len(body))
	case bytes.IndexByte(body, 0) >= 0:
		return nil, errors.New("an event of a member's log has no byte that is zero")
	}
	head := append(make([]byte, 0, memberHead), memberBatchMagic...)
	head = binary.BigEndian.AppendUint32(head, uint32(len(text)))
	head = binary.BigEndian.AppendUint32(head, uint32(len(body)))
	head = binary.BigEndian.AppendUint32(head, checksum(text))
	head = binary.BigEndian.AppendUint32(head, checksum(body))
	head = binary.BigEndian.AppendUint32(head, checksum(head))
	copy(b[at:], head)
	return append(b, body...), nil
}

func appendMark(b []byte, what string, m *memberlog.Mark) []byte {
	if m == nil {
		return b
	}
	return fmt.Appendf(b, "%s %d %d %d\n", what, m.Index, m.Term, m.Seq)
}

// appendText adds the text, given the entries' data as it lies in the body.
func (r *record) appendText(b []byte, datas [][]byte) ([]byte, error) {
	if r.segment > 0 {
		b = fmt.Appendf(b, "segment %d\n", r.segment)
	}
	b = appendMark(b, "before", r.before)
	b = appendMark(b, "base", r.Base)
	if len(r.checkpoint) > 0 {
		b = append(base64.StdEncoding.AppendEncode(append(b, "checkpoint "...), r.checkpoint), '\n')
	}
	b = appendMark(b, "cut", r.Cut)
	b = r.appendEntries(b, datas)
	if r.single {
		b = append(b, "single\n"...)
	}
	b, err := r.State.AppendText(append(b, "state "...))
	return append(b, '\n'), err
}

func (r *record) appendEntries(b []byte, datas [][]byte) []byte {
	if len(r.Entries) == 0 {
		return b
	}
	first := r.Entries[0]
	b = fmt.Appendf(b, "entries %d %d %d", first.Term, first.Index, r.seq+1)
	blobs := []byte("blobs")
	for i, e := range r.Entries {
		b = appendEntry(b, e, len(datas[i]))
		for _, sum := range e.Blobs {
			blobs = hex.AppendEncode(fmt.Appendf(blobs, " %d:", i), sum[:])
		}
	}
	b = append(b, '\n')
	if len(blobs) > len("blobs") {
		b = append(append(b, blobs...), '\n')
	}
	return b
}

// lengths are those of a batch's parts, and their checksums.
type lengths struct {
	text, body       int
	textSum, bodySum uint32
}

func (l lengths) end() int { return memberHead + l.text + l.body }

func readLengths(b []byte) (lengths, bool) {
	if len(b) < memberHead || string(b[:len(memberBatchMagic)]) != memberBatchMagic {
		return lengths{}, false
	}
	n := b[len(memberBatchMagic):]
	l := lengths{
		text: int(binary.BigEndian.Uint32(n)), body: int(binary.BigEndian.Uint32(n[4:])),
		textSum: binary.BigEndian.Uint32(n[8:]), bodySum: binary.BigEndian.Uint32(n[12:]),
	}
	ok := binary.BigEndian.Uint32(n[16:]) == checksum(b[:memberHead-4])
	return l, ok && l.text <= longestText && l.body <= longestBody
}

// readRecords reads a batch that begins with a whole head.
func readRecords(b []byte, l lengths) ([]*record, bool) {
	if len(b) < l.end() {
		return nil, false
	}
	text, body := b[memberHead:memberHead+l.text], b[memberHead+l.text:l.end()]
	if checksum(text) != l.textSum || checksum(body) != l.bodySum {
		return nil, false
	}
	records, err := parseRecords(text, body)
	return records, err == nil
}

var errRecord = errors.New("not a batch of a member's log")

// parseRecords reads a batch's text and takes its body apart. There is one way to write records: any
// other text is refused.
func parseRecords(text, body []byte) ([]*record, error) {
	p := recordParser{r: &record{}, body: body}
	var all []*record
	var again []byte
	for line := range bytes.Lines(text) {
		what, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if err := p.line(what, rest); err != nil {
			return nil, err
		}
		if what != "state" {
			continue
		}
		var err error
		if again, err = p.r.appendText(again, p.datas); err != nil {
			return nil, err
		}
		all = append(all, p.r)
		p.r, p.datas = &record{}, nil
	}
	if len(p.body) > 0 || !bytes.Equal(again, text) {
		return nil, errRecord
	}
	return all, nil
}

type recordParser struct {
	r     *record
	body  []byte   // what is left of it
	datas [][]byte // the entries' data as it lies in the body
}

func (p *recordParser) line(what, rest string) (err error) {
	r := p.r
	switch what {
	case "segment":
		r.segment, err = strconv.ParseUint(rest, 10, 63)
	case "before":
		r.before, err = parseMark(rest)
	case "base":
		r.Base, err = parseMark(rest)
	case "checkpoint":
		r.checkpoint, err = base64.StdEncoding.DecodeString(rest)
	case "cut":
		r.Cut, err = parseMark(rest)
	case "entries":
		err = p.entries(rest)
	case "blobs":
		err = p.blobs(rest)
	case "state":
		r.State, err = memberlog.ParseState([]byte(rest))
	case "single":
		r.single = true
	default:
		err = errRecord
	}
	return err
}

func parseMark(text string) (*memberlog.Mark, error) {
	m := &memberlog.Mark{}
	_, err := parseNumbers(text, &m.Index, &m.Term, &m.Seq)
	return m, err
}

// parseNumbers reads numbers with a space between them, and returns what comes after these.
func parseNumbers(text string, into ...*uint64) (rest string, err error) {
	for _, n := range into {
		var word string
		word, text, _ = strings.Cut(text, " ")
		if *n, err = strconv.ParseUint(word, 10, 63); err != nil {
			return "", errRecord
		}
	}
	return text, nil
}

func (p *recordParser) entries(text string) error {
	var term, index, seq uint64
	words, err := parseNumbers(text, &term, &index, &seq)
	if err != nil || seq == 0 || len(p.r.Entries) > 0 {
		return errRecord
	}
	p.r.seq = seq - 1
	for word := range strings.SplitSeq(words, " ") {
		e := memberlog.Entry{Index: index, Term: term}
		index++
		if len(p.r.Entries) == mostEntries || !p.entry(&e, word) {
			return errRecord
		}
		p.r.Entries = append(p.r.Entries, e)
	}
	return nil
}

// entry reads what the text says of an entry, and takes its data off the body.
func (p *recordParser) entry(e *memberlog.Entry, word string) bool {
	if word == "" {
		return false
	}
	size, last, _ := strings.Cut(word[1:], ":")
	n, err := strconv.ParseUint(size, 10, 31)
	if err != nil && word[0] != letterEmpty || int(n) > len(p.body) {
		return false
	}
	data := p.body[:n:n]
	p.body, p.datas = p.body[n:], append(p.datas, data)
	switch word[0] {
	case letterEvent:
		about, subjectErr := subjectOf(data)
		e.Kind, e.Subject, e.Data = memberlog.Event, string(about), data
		e.Last, err = strconv.ParseUint(last, 10, 63)
		return err == nil && subjectErr == nil
	case letterChange:
		e.Kind = memberlog.Change
		e.Data, err = base64.StdEncoding.DecodeString(string(data))
		return err == nil && bytes.Equal(dataOf(*e), data)
	case letterEmpty:
		e.Kind = memberlog.Empty
		return true
	}
	return false
}

func (p *recordParser) blobs(text string) error {
	for word := range strings.SplitSeq(text, " ") {
		place, digits, _ := strings.Cut(word, ":")
		i, err := strconv.ParseUint(place, 10, 31)
		var sum ledger.Hash
		if err != nil || int(i) >= len(p.r.Entries) || len(digits) != hex.EncodedLen(len(sum)) {
			return errRecord
		}
		if _, err := hex.Decode(sum[:], []byte(digits)); err != nil {
			return errRecord
		}
		p.r.Entries[i].Blobs = append(p.r.Entries[i].Blobs, sum)
	}
	return nil
}
