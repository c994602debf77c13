package clustersim_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

// box is a place where a member can run.
type box struct {
	w     *world
	place int

	id     uint64 // of its member; 0 for none
	disk   *disk
	copies []*disk // as it was some time ago
	peers  []uint64

	// lost says that the disk does not hold what the member with this id has acknowledged: it is to be replaced.
	lost bool
	// left says that the member has stopped, as it was removed.
	left bool
	// waits says that an event with which it joins is not committed yet.
	waits bool

	run *process // nil while it is down
}

// process is a running box.
type process struct {
	m        *member.Member
	now      member.Members // as this box knew them when the output was made that is carried out
	before   member.Members // and before those
	writing  *member.Output // its writes are not synced yet
	events   []member.Applied
	last     map[string]uint64
	gone     map[ledger.Hash]bool
	wanted   []uint64
	joined   uint64            // the highest id that anybody joined with
	tickets  map[uint64]ticket // by index
	reads    map[uint64]uint64 // what has to be applied when a read is answered
	fetching []ledger.Hash
	behind   *member.Mark
	end      map[string]uint64 // the last event on a subject as proposed here
}

type ticket struct {
	member.Ticket
	proposal  int
	operators bool
}

func (b *box) String() string { return fmt.Sprintf("box %c (member %d)", 'A'+b.place, b.id) }

// knows notes who takes part, and who did before.
func (p *process) knows() {
	if m := p.m.Status().Members; !reflect.DeepEqual(m, p.now) {
		p.before, p.now = p.now, m
	}
}

// start runs the box's member.
func (b *box) start() {
	w := b.w
	var kept member.Kept
	if len(b.disk.segments) == 0 {
		kept = member.Kept{State: memberlog.Joining(b.id)}
	} else {
		var err error
		if kept, err = b.disk.read(w.plant); err != nil {
			w.failf("%s can't be started: %v", b, err)
			return
		}
	}
	b.startFrom(kept)
}

func (b *box) startFrom(kept member.Kept) {
	w := b.w
	p := &process{last: map[string]uint64{}, gone: map[ledger.Hash]bool{}, wanted: []uint64{w.founder}, joined: w.founder, tickets: map[uint64]ticket{}, reads: map[uint64]uint64{}, end: map[string]uint64{}}
	b.run = p
	for _, a := range b.disk.sealed {
		b.take(a)
	}
	w.lives++
	var err error
	p.m, err = member.Start(member.Config{
		Life: w.lives, Peers: b.peers, ElectionTicks: 8, Keep: w.keep,
		Last: func(subject string) uint64 { return p.last[subject] },
		Has:  b.has,
	}, kept)
	if err != nil {
		b.run = nil
		w.failf("%s can't be started: %v", b, err)
		return
	}
	p.m.Want(p.wanted, nil, p.joined)
	w.tracef("%s starts: term %d, %d entries after %d, %d events under a checkpoint", b, kept.State.Term, len(kept.Entries), kept.Before.Index, kept.Covered)
	b.pump()
}

func (b *box) has(sum ledger.Hash) bool {
	return b.disk.blobs[sum] || b.run.gone[sum] || b.w.plant == logsWithoutBlob
}

// crash stops the box; what is not synced is kept up to any batch.
func (b *box) crash() {
	if b.run == nil {
		return
	}
	kept := 0
	if n := len(b.disk.unsynced); n > 0 {
		kept = b.w.rng.IntN(n + 1)
		for _, w := range b.disk.unsynced[:kept] {
			b.sync(w)
		}
	}
	b.w.tracef("%s crashes; %d of %d batches that were not synced are kept", b, kept, len(b.disk.unsynced))
	b.disk.unsynced = nil
	b.disk.beside = nil
	b.run = nil
}

// sync makes a batch durable, and has the judge look.
func (b *box) sync(w member.Write) {
	b.w.judge.cuts(b, w)
	b.disk.keep(w)
	b.w.judge.synced(b, w)
}

// pump has the member go on until it waits.
func (b *box) pump() {
	for b.run != nil && b.run.writing == nil && b.w.failed == nil {
		b.run.knows()
		out := b.run.m.Next()
		if out.Empty() {
			break
		}
		if out.Stop != nil {
			b.stopped(out.Stop)
			return
		}
		b.w.send(out.Early)
		for _, sum := range out.Fetch {
			if !slices.Contains(b.run.fetching, sum) {
				b.run.fetching = append(b.run.fetching, sum)
			}
		}
		if out.Behind != nil {
			b.run.behind = out.Behind
		}
		if b.w.plant == acknowledgesEarly {
			b.w.send(out.Send)
			out.Send = nil
		}
		if len(out.Writes) > 0 {
			b.disk.unsynced = out.Writes
			b.run.writing = &out
			break
		}
		b.goOn(out)
	}
	if b.run != nil {
		b.w.judge.looks(b)
	}
}

// synced goes on when the disk has synced.
func (b *box) synced() {
	out := *b.run.writing
	for _, w := range out.Writes {
		b.sync(w)
		if b.w.plant == appliesEarly {
			for _, e := range w.Entries {
				if seq := uint64(len(b.run.events)) + 1; e.Kind == member.Event {
					b.apply(member.Applied{Seq: seq, Entry: e})
				}
			}
		}
		if w.Base != nil {
			for _, a := range b.disk.sealed[min(len(b.run.events), len(b.disk.sealed)):] {
				b.take(a)
			}
			b.run.m.Want(b.run.wanted, nil, b.run.joined)
			clear(b.run.tickets) // nobody knows what became of them
		}
	}
	b.disk.unsynced = nil
	b.run.writing = nil
	if b.w.chance(200) { // a crash after the sync, before anything was said
		b.crash()
		return
	}
	b.run.m.Written()
	b.goOn(out)
	b.pump()
}

// goOn does what comes after the sync.
func (b *box) goOn(out member.Output) {
	b.w.send(out.Send)
	for _, a := range out.Apply {
		if b.w.plant == appliesEarly && a.Seq <= uint64(len(b.run.events)) {
			continue
		}
		b.apply(a)
	}
	applied := b.run.m.Status().Applied.Index
	for _, index := range slices.Sorted(maps.Keys(b.run.tickets)) {
		if t := b.run.tickets[index]; index <= applied {
			delete(b.run.tickets, index)
			b.w.judge.refused(t.proposal)
		}
	}
	for _, id := range out.Reads {
		if known, ok := b.run.reads[id]; ok {
			delete(b.run.reads, id)
			b.w.judge.read(b, known)
		}
	}
}

// apply applies a committed event, and answers who waits for it.
func (b *box) apply(a member.Applied) {
	b.w.judge.applied(b, a)
	b.take(a)
	if t, ok := b.run.tickets[a.Entry.Index]; ok {
		delete(b.run.tickets, a.Entry.Index)
		if t.Term == a.Entry.Term {
			b.w.judge.acknowledged(b, t, a)
		} else {
			b.w.judge.refused(t.proposal)
		}
	}
	b.run.m.Want(b.run.wanted, nil, b.run.joined)
}

// take folds an event.
func (b *box) take(a member.Applied) {
	p := b.run
	p.events = append(p.events, a) // what is sealed of it is clipped
	p.last[a.Entry.Subject] = a.Seq
	_, what, _ := strings.Cut(string(a.Entry.Data), " ")
	verb, rest, _ := strings.Cut(what, " ")
	switch {
	case verb == "removes":
		sum := sumOf(rest)
		p.gone[sum] = true
		delete(b.disk.blobs, sum)
	case a.Seq <= b.w.founded: // its members were those of a cluster before
	case verb == "joins":
		p.wanted, p.joined = slices.Sorted(slices.Values(append(slices.Clone(p.wanted), a.Entry.Index))), a.Entry.Index
	case verb == "replaces":
		old := number(rest)
		p.wanted = slices.DeleteFunc(slices.Clone(p.wanted), func(id uint64) bool { return id == old })
		p.wanted, p.joined = slices.Sorted(slices.Values(append(p.wanted, a.Entry.Index))), a.Entry.Index
	case verb == "leaves": // all but one
		if one := number(rest); slices.Contains(p.wanted, one) {
			p.wanted = []uint64{one}
		}
	}
}

func number(s string) uint64 {
	n, _ := strconv.ParseUint(strings.Fields(s)[0], 10, 64)
	return n
}

func sumOf(name string) ledger.Hash { return sha256.Sum256([]byte(name)) }

// forsaken says that none of the voters that the box knows is left but itself: all were replaced while it was cut off.
func (b *box) forsaken() bool {
	m := b.run.m.Status().Members
	others := slices.DeleteFunc(slices.Concat(m.Voters, m.Outgoing, b.peers), func(id uint64) bool { return id == b.id })
	return (len(m.Voters) != 1 || m.Voters[0] != b.id) && !slices.ContainsFunc(others, func(id uint64) bool { return b.w.boxOf(id) != nil })
}

// changing says that the box's log or its clients have a change of the members that is not applied yet: who loses a disk while it
// becomes the only one that counts has lost all.
func (b *box) changing() bool {
	for index, e := range b.disk.entries() {
		if index > b.disk.state.At.Index && (e.Kind == member.Change || e.Subject == operators) {
			return true
		}
	}
	if b.run == nil {
		return false
	}
	for _, t := range b.run.tickets {
		if t.operators {
			return true
		}
	}
	return !slices.Equal(b.run.wanted, b.run.m.Status().Members.Voters)
}

// stopped says that the member takes part no more.
func (b *box) stopped(why error) {
	b.w.tracef("%s stops: %v", b, why)
	switch b.run = nil; {
	case errors.Is(why, member.ErrRemoved):
		b.w.judge.toldRemoved(b)
		b.left = true
	case errors.Is(why, member.ErrBehind) && b.lost:
		b.w.seen["a disk that was put back or emptied is refused"]++
	default:
		b.w.failf("%s stops: %v", b, why)
	}
	b.disk.unsynced = nil
}

// propose has a client propose an event here.
func (b *box) propose(subject, what string, blobs ...ledger.Hash) (member.Ticket, error) {
	w := b.w
	last := b.run.last[subject]
	if at, ok := b.run.end[subject]; ok && w.chance(2) {
		last = at // it waits for no answer
	}
	if subject != operators && w.chance(20) {
		last = uint64(w.rng.IntN(len(b.run.events) + 2))
	}
	n := w.judge.proposes()
	t, err := b.run.m.Propose(member.Proposal{Subject: subject, Last: last, Blobs: blobs, Data: fmt.Appendf(nil, "%d %s", n, what)})
	var conflict *member.Conflict
	switch {
	case err == nil:
		b.run.tickets[t.Index] = ticket{t, n, subject == operators}
		b.run.end[subject] = t.Seq
	case errors.As(err, &conflict):
		delete(b.run.end, subject)
		w.seen["a conflict"]++
		fallthrough
	default:
		w.judge.refused(n)
	}
	b.pump()
	return t, err
}

// randomness is what the library draws from.
type randomness struct{ next func() uint64 }

func (r randomness) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(binary.BigEndian.Uint64(binary.BigEndian.AppendUint64(nil, r.next())))
	}
	return len(p), nil
}
