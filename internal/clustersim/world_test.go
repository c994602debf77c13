package clustersim_test

import (
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
)

// plant is an error that a world's hosts make on purpose.
type plant string

const (
	noPlant           plant = ""
	acknowledgesEarly plant = "a member's answers go out before its writes are synced"
	forgetsVote       plant = "a segment's head does not repeat term and vote"
	appliesEarly      plant = "events are applied when they are synced, before they are committed"
	cutsCommitted     plant = "a start cuts off the log's last batch, although it is whole"
	logsWithoutBlob   plant = "entries are logged before their blobs"
	rejoinsUnderOldID plant = "a box whose disk was emptied takes part under its old id"
	countsLearners    plant = "learners are counted as voters after a start"
	takesUncommitted  plant = "the last box takes its log's end for committed"
)

const places = 5

// world is everything: boxes, a network, clients, operators, and chance.
type world struct {
	rng   *mathrand.Rand
	plant plant
	keep  int
	judge *judge

	boxes   []*box
	packets []member.Message
	cut     map[[2]int]bool // links that carry nothing, one way
	lives   uint64
	calm    bool

	founder, founded uint64 // the cluster's first member, and how many events the single box had

	steps   int
	seen    map[string]int
	reads   uint64
	asks    uint64 // the read at the end
	final   int    // the proposal at the end
	waiting []join
	trace   [traceLines]line
	traced  int
	failed  error
}

// traceLines is how much of what happened a failing world tells.
const traceLines = 60

// operators is the subject of events about members.
const operators = "members"

func newWorld(seed uint64, p plant) (w *world, restore func()) {
	w = &world{rng: mathrand.New(mathrand.NewPCG(seed, 25)), plant: p, cut: map[[2]int]bool{}, seen: map[string]int{}}
	w.keep = []int{2, 8, 1000}[w.rng.IntN(3)]
	w.judge = newJudge(w)
	for i := range places {
		w.boxes = append(w.boxes, &box{w: w, place: i, disk: newDisk()})
	}
	restore = w.seeded()
	w.found(w.boxes[0], nil)
	return w, restore
}

// found makes a single box's log with its events that of a cluster's first member.
func (w *world) found(b *box, events []member.Applied) {
	state := memberlog.Founding(uint64(len(events)))
	b.id, b.disk.sealed, b.disk.segments, b.disk.end, b.disk.state = state.ID, events, nil, member.Mark{}, member.State{}
	b.disk.keep(member.Write{Base: &state.At, State: state})
	b.lost, b.left = false, false
	w.founder, w.founded = b.id, uint64(len(events))
	b.start()
}

func (w *world) chance(oneIn int) bool { return !w.calm && w.rng.IntN(oneIn) == 0 }

// line is something that happened. It is made words only if somebody wants to read them.
type line struct {
	step   int
	format string
	args   []any
}

func (w *world) tracef(format string, args ...any) {
	for i, a := range args {
		if b, ok := a.(*box); ok {
			args[i] = fmt.Sprint(b)
		}
	}
	w.trace[w.traced%traceLines] = line{w.steps, format, args}
	w.traced++
}

func (w *world) failf(format string, args ...any) {
	if w.failed != nil {
		return
	}
	w.failed = fmt.Errorf("step %d: %s\nwhat happened before:%s", w.steps, fmt.Sprintf(format, args...), w.told())
}

// told returns the last of what happened.
func (w *world) told() string {
	var b strings.Builder
	for i := max(0, w.traced-traceLines); i < w.traced; i++ {
		l := w.trace[i%traceLines]
		fmt.Fprintf(&b, "\n%6d  ", l.step)
		fmt.Fprintf(&b, l.format, l.args...)
	}
	return b.String()
}

// boxOf returns where a member runs, or nil.
func (w *world) boxOf(id uint64) *box {
	for _, b := range w.boxes {
		if b.id == id && id != 0 {
			return b
		}
	}
	return nil
}

// inForce returns the members as the one who has applied most and was not lost knows them, synced.
func (w *world) inForce() (member.Members, bool) {
	var best *box
	for _, b := range w.boxes {
		if b.id != 0 && !b.lost && (best == nil || b.disk.state.At.Index > best.disk.state.At.Index) {
			best = b
		}
	}
	if best == nil {
		return member.Members{}, false
	}
	m := best.disk.state.Members
	if best.run != nil {
		m = best.run.m.Status().Members
	}
	return m, len(m.Voters) > 0
}

// send puts messages on the network, as bytes.
func (w *world) send(all []member.Message) {
	w.packets = append(w.packets, all...)
	if over := len(w.packets) - 40; over > 0 && !w.calm {
		w.packets = slices.Delete(w.packets, 0, over)
	}
}

// deliver carries one message, or loses it, or leaves a double on its way.
func (w *world) deliver(i int) {
	m := w.packets[i]
	from, to := w.boxOf(m.From), w.boxOf(m.To)
	switch {
	case to == nil || to.run == nil || from != nil && w.cut[[2]int{from.place, to.place}] || w.chance(40):
		w.packets = slices.Delete(w.packets, i, i+1)
	case w.chance(40):
		w.carryOver(i)
		w.packets = append(w.packets, m)
	default:
		w.carryOver(i)
	}
}

// carryOver carries a message to the box that it is for, as bytes.
func (w *world) carryOver(i int) {
	m := w.packets[i]
	w.packets = slices.Delete(w.packets, i, i+1)
	to := w.boxOf(m.To)
	if to == nil || to.run == nil {
		return
	}
	data, err := m.AppendBinary(nil)
	if err == nil {
		m, err = member.ParseMessage(data)
	}
	if err != nil {
		w.failf("message %v is not read as it was written: %v", m, err)
		return
	}
	w.tracef("%v", m)
	to.run.m.Receive(m)
	to.pump()
}

// up returns the running boxes.
func (w *world) up() (all []*box) {
	for _, b := range w.boxes {
		if b.run != nil {
			all = append(all, b)
		}
	}
	return all
}

func (w *world) leader() *box {
	for _, b := range w.up() {
		if b.run.m.Status().Leads {
			return b
		}
	}
	return nil
}

// step lets one thing happen.
func (w *world) step() {
	w.steps++
	up := w.up()
	n := w.rng.IntN(1000)
	if len(up) == 0 {
		n = 999
	}
	pick := func() *box { return up[w.rng.IntN(len(up))] }
	switch {
	case n < 540 && len(w.packets) > 0:
		w.deliver(w.rng.IntN(len(w.packets)))
	case n < 750:
		if b := pick(); b.run.writing != nil {
			b.synced()
		}
	case n < 840:
		b := pick()
		b.run.m.Tick()
		b.pump()
	case n < 900:
		w.client(pick())
	case n < 945:
		from := w.leader()
		if from == nil || w.rng.IntN(3) == 0 {
			from = w.boxes[w.rng.IntN(places)]
		}
		w.carry(pick(), from)
	case n < 965:
		w.seal(pick())
	case n < 980:
		w.operate()
	case n < 981:
		a, b := w.rng.IntN(places), w.rng.IntN(places)
		w.cut[[2]int{a, b}] = !w.cut[[2]int{a, b}]
	case n < 982:
		w.partition()
	case n < 985:
		clear(w.cut)
	case n < 986:
		b := pick()
		for range 3 { // mostly while something is written
			if b.run.writing == nil {
				b = pick()
			}
		}
		b.crash()
	case n < 989:
		w.losesDisk()
	default:
		for _, b := range w.boxes {
			if b.id != 0 && b.run == nil && !b.lost && !b.left && w.rng.IntN(2) == 0 {
				b.start()
				return
			}
		}
	}
}

// partition cuts one box off, both ways or one way.
func (w *world) partition() {
	a, way := w.rng.IntN(places), w.rng.IntN(3)
	for b := range places {
		if way != 0 {
			w.cut[[2]int{a, b}] = true
		}
		if way != 1 {
			w.cut[[2]int{b, a}] = true
		}
	}
	w.tracef("box %c is cut off", 'A'+a)
}

// client proposes or reads, mostly at the leader.
func (w *world) client(b *box) {
	if l := w.leader(); l != nil && w.rng.IntN(5) > 0 {
		b = l
	}
	switch n := w.rng.IntN(10); {
	case n < 2:
		w.reads++
		b.run.m.Read(w.reads)
		b.run.reads[w.reads] = uint64(len(w.judge.history))
		b.pump()
	case n < 3:
		name := fmt.Sprint("blob", w.rng.IntN(1<<30))
		b.disk.blobs[sumOf(name)] = true
		_, _ = b.propose(w.subject(), "names "+name, sumOf(name))
	case n < 4:
		for _, a := range b.run.events[len(b.run.events)-min(10, len(b.run.events)):] {
			if _, name, ok := strings.Cut(string(a.Entry.Data), " names "); ok && !b.run.gone[sumOf(name)] {
				_, _ = b.propose(w.subject(), "removes "+name)
				return
			}
		}
	default:
		_, _ = b.propose(w.subject(), "says something")
	}
}

func (w *world) subject() string { return string(rune('a' + w.rng.IntN(4))) }

// carry brings a box what it waits for from another one: a blob or the archive.
func (w *world) carry(b, from *box) {
	if from.run == nil || w.cut[[2]int{from.place, b.place}] {
		return
	}
	p := b.run
	for i, sum := range p.fetching {
		if from.disk.blobs[sum] || from.run.gone[sum] {
			if from.disk.blobs[sum] {
				b.disk.blobs[sum] = true
			} else {
				p.gone[sum] = true
			}
			p.fetching = slices.Delete(p.fetching, i, i+1)
			w.seen["a blob comes late"]++
			return
		}
	}
	if p.behind != nil && uint64(len(from.disk.sealed)) >= p.behind.Seq {
		if len(from.disk.sealed) > len(b.disk.sealed) {
			b.disk.beside = from.disk.sealed
			for sum := range from.disk.blobs {
				b.disk.blobs[sum] = true
			}
		}
		p.behind = nil
		p.m.Fetched(uint64(max(len(b.disk.beside), len(b.disk.sealed))))
		b.pump()
	}
}

// seal puts what a box has applied under a checkpoint.
func (w *world) seal(b *box) { b.disk.sealed = slices.Clip(b.run.events) }

// operate adds, replaces or removes members.
func (w *world) operate() {
	l := w.leader()
	if l == nil || l.run.writing != nil && w.calm {
		return
	}
	now := l.run.m.Status().Members
	settled := len(now.Outgoing)+len(now.Learners) == 0 && slices.Equal(now.Voters, l.run.wanted)
	for _, b := range w.boxes {
		switch {
		case b.waits:
		case b.lost && b.run == nil && slices.Contains(l.run.wanted, b.id):
			w.joins(l, b, fmt.Sprintf("replaces %d", b.id))
			return
		case b.left || b.lost && !slices.Contains(slices.Concat(now.Voters, now.Outgoing), b.id) && !slices.Contains(l.run.wanted, b.id) && b.run == nil:
			*b = box{w: w, place: b.place, disk: newDisk()}
		case b.run != nil && b.forsaken() && !slices.Contains(l.run.wanted, b.id):
			w.seen["a removed box finds nobody that it knows"]++
			w.tracef("an operator empties %s, which knows nobody who is left", b)
			*b = box{w: w, place: b.place, disk: newDisk()}
		}
	}
	if !settled || w.calm {
		return
	}
	switch n := w.rng.IntN(10); {
	case len(now.Voters) == 1 && (n == 0 || n < 9 && w.plant == takesUncommitted):
		w.alone(l)
	case len(now.Voters) < 3 || n == 1 && len(now.Voters) < 4:
		for _, b := range w.boxes {
			if b.id == 0 && !b.waits {
				w.joins(l, b, "joins")
				return
			}
		}
	case n == 0:
		at := now.Voters[w.rng.IntN(len(now.Voters))]
		w.tracef("an operator removes all but member %d", at)
		_, _ = l.propose(operators, fmt.Sprintf("leaves %d", at))
	case n < 4:
		for _, b := range w.boxes {
			if b.id == 0 && !b.waits {
				w.joins(l, b, fmt.Sprintf("replaces %d", now.Voters[w.rng.IntN(len(now.Voters))]))
				return
			}
		}
	case n < 5:
		l.run.m.HandOver(now.Voters[w.rng.IntN(len(now.Voters))])
		l.pump()
	}
}

// joins has an operator add a box: its id is the index of the event that says so, once that is committed.
func (w *world) joins(l, b *box, what string) {
	if b.waits {
		return
	}
	t, err := l.propose(operators, what)
	if err != nil {
		return
	}
	b.waits = true
	w.tracef("an operator: %s, as box %c", what, 'A'+b.place)
	w.waiting = append(w.waiting, join{b, t, slices.Clone(l.run.m.Status().Members.Voters)})
}

// join is a box that waits until the event that it joins with is committed.
type join struct {
	b      *box
	ticket member.Ticket
	peers  []uint64
}

// admit starts the boxes whose joining events are committed.
func (w *world) admit() {
	w.waiting = slices.DeleteFunc(w.waiting, func(j join) bool {
		at, ok := w.judge.first[j.ticket.Index]
		switch {
		case !ok && w.passed(j.ticket.Index) || ok && at.term != j.ticket.Term:
			j.b.waits = false
			return true
		case !ok:
			return false
		}
		b := j.b
		b.run, b.waits = nil, false
		*b = box{w: w, place: b.place, disk: newDisk(), id: j.ticket.Index, peers: j.peers}
		w.seen["a box joins"]++
		b.start()
		return true
	})
}

// passed says whether someone has applied more than this entry: then nothing else will be applied there.
func (w *world) passed(index uint64) bool {
	for _, b := range w.up() {
		if b.run.m.Status().Applied.Index >= index {
			return true
		}
	}
	return false
}

// alone makes the last member's log that of a single box, and that of a cluster again.
func (w *world) alone(b *box) {
	events := b.run.events
	if w.plant == takesUncommitted {
		for _, e := range w.ending(b) {
			events = append(slices.Clip(events), member.Applied{Seq: uint64(len(events)) + 1, Entry: e})
		}
	} else if _, ok := b.run.m.Alone(); !ok {
		return
	}
	w.judge.single(b, events)
	w.tracef("%s is a single box, and founds a cluster", b)
	for _, other := range w.boxes {
		if other != b {
			*other = box{w: w, place: other.place, disk: newDisk()}
		}
	}
	w.packets, w.waiting = nil, nil
	w.judge.anew()
	b.disk.unsynced, b.run = nil, nil
	w.found(b, events)
}

// ending returns the events of a box's log that are not applied.
func (w *world) ending(b *box) (all []member.Entry) {
	entries := b.disk.entries()
	for i := b.run.m.Status().Applied.Index + 1; entries[i].Index == i; i++ {
		if entries[i].Kind == member.Event {
			all = append(all, entries[i])
		}
	}
	return all
}

// losesDisk empties a voter's disk or puts an older one back, while everyone else has theirs: a cluster survives one.
func (w *world) losesDisk() {
	members, ok := w.inForce()
	if !ok || len(members.Outgoing) > 0 || len(members.Voters) < 3 {
		return
	}
	b := w.boxOf(members.Voters[w.rng.IntN(len(members.Voters))])
	if b == nil || b.lost {
		return
	}
	if w.rng.IntN(2) > 0 {
		b.copies = append(b.copies, b.disk.copied()) // a backup, for later
		return
	}
	for _, id := range members.Voters {
		if o := w.boxOf(id); o == nil || o.lost || o.changing() || o != b && o.run == nil {
			return
		}
	}
	old := newDisk()
	if n := len(b.copies); n > 0 && w.plant != rejoinsUnderOldID && w.rng.IntN(3) > 0 {
		old = b.copies[w.rng.IntN(n)].copied()
	}
	if w.knowsMore(members, b, old) {
		w.putBack(b, old)
	}
}

// knowsMore says whether another voter has written that a box acknowledged more than a disk holds. If not, nobody may know: the limit that the
// protocol tells.
func (w *world) knowsMore(members member.Members, b *box, old *disk) bool {
	for _, id := range members.Voters {
		if o := w.boxOf(id); o != b && o.run != nil {
			for _, h := range o.disk.state.Heard {
				if h.ID == b.id && (old.state.Term < h.Term || old.state.Term == h.Term && old.end.Index < h.Index) {
					return true
				}
			}
		}
	}
	return false
}

// putBack starts a box with an older disk than it had, or an empty one, while all others answer.
func (w *world) putBack(b *box, old *disk) {
	b.crash()
	w.tracef("the disk of %s is put back as it was at entry %d", b, old.end.Index)
	term := b.disk.state.Term
	b.disk, b.lost = old, true
	b.peers = nil
	for _, o := range w.boxes {
		if o != b && o.run != nil {
			b.peers = append(b.peers, o.id)
		}
	}
	if w.plant == rejoinsUnderOldID {
		b.lost = false
		b.startFrom(member.Kept{State: member.State{ID: b.id, Term: term + 1}})
		return
	}
	b.start()
	w.asked(b)
	if b.run != nil && w.failed == nil {
		w.failf("%s takes part with a disk that went back", b)
	}
}

// asked lets a box that starts ask all others, and have their answers.
func (w *world) asked(b *box) {
	calm := w.calm
	w.calm = true
	defer func() { w.calm = calm }()
	for range 12 { // as some may not answer: a while
		if b.run == nil {
			return
		}
		before := len(w.packets)
		b.run.m.Tick()
		b.pump()
		for len(w.packets) > before && w.failed == nil {
			if to := w.boxOf(w.packets[before].To); to != nil && to.run != nil && to.run.writing != nil {
				to.synced()
			}
			w.carryOver(before)
		}
	}
}

// seeded has the library draw from the world's chance.
func (w *world) seeded() (restore func()) {
	before := rand.Reader
	draws := mathrand.New(mathrand.NewPCG(w.rng.Uint64(), 26))
	rand.Reader = io.Reader(randomness{draws.Uint64})
	return func() { rand.Reader = before }
}

// round has everything go on once: all messages arrive, all disks sync, and, now and then, time passes and what is applied is put
// under a checkpoint.
func (w *world) round(n int) {
	for _, b := range w.boxes {
		if b.id != 0 && b.run == nil && !b.lost && !b.left && !b.waits {
			b.start()
		}
	}
	for n := len(w.packets); n > 0 && len(w.packets) > 0 && w.failed == nil; n-- {
		w.steps++
		w.deliver(0)
	}
	for _, b := range w.up() {
		w.steps++
		if b.run != nil && b.run.writing != nil {
			b.synced()
		}
		if b.run != nil && n%3 == 0 {
			b.run.m.Tick()
			b.pump()
		}
		for _, from := range w.boxes {
			if b.run != nil {
				w.carry(b, from)
			}
		}
		if b.run != nil && n%10 == 0 {
			w.seal(b)
		}
	}
	w.admit()
	if n%10 == 9 {
		w.operate()
	}
	if l := w.leader(); l != nil && n%50 == 49 {
		_, _ = l.propose("round", "goes on") // so that it is known what became of proposals before
	}
}

// rests has everything whole, and the cluster come to rest.
func (w *world) rests() {
	w.calm = true
	clear(w.cut)
	for n := range 600 {
		if w.round(n); w.failed != nil || w.rested() {
			return
		}
	}
	w.failf("the cluster does not come to rest: %s", w.describe())
}

// forms has one box become three before anything goes wrong.
func (w *world) forms() {
	w.calm = true
	for n := range 600 {
		if w.round(n); w.failed != nil {
			return
		}
		l := w.leader()
		if l == nil || len(w.waiting) > 0 || len(l.run.m.Status().Members.Voters) == 3 && len(l.run.m.Status().Members.Outgoing) == 0 {
			if l != nil && len(w.waiting) == 0 {
				w.calm = false
				return
			}
			continue
		}
		if free := slices.IndexFunc(w.boxes, func(b *box) bool { return b.id == 0 }); len(l.run.wanted) < 3 {
			w.joins(l, w.boxes[free], "joins")
		}
	}
	w.failf("three boxes do not become a cluster: %s", w.describe())
}

// rested says whether the members that are wanted, and no others, run and are equal, and a proposal and a read get their answers.
func (w *world) rested() bool {
	l := w.leader()
	if l == nil || len(w.waiting) > 0 || len(w.packets) > 40 {
		return false
	}
	now := l.run.m.Status().Members
	if len(now.Outgoing)+len(now.Learners) > 0 || !slices.Equal(now.Voters, l.run.wanted) {
		return false
	}
	for _, b := range w.boxes {
		wanted := slices.Contains(now.Voters, b.id)
		if wanted != (b.run != nil) || wanted && len(b.run.events) != len(w.judge.history) {
			return false
		}
	}
	if w.final == 0 || w.judge.proposals[w.final].refused {
		w.final = len(w.judge.proposals)
		_, _ = l.propose("final", "is the last")
		return false
	}
	if w.judge.proposals[w.final].seq == 0 {
		return false
	}
	if w.asks == 0 {
		w.reads++
		w.asks = w.reads
		l.run.m.Read(w.asks)
		l.run.reads[w.asks] = uint64(len(w.judge.history))
		l.pump()
	}
	if _, unanswered := l.run.reads[w.asks]; unanswered {
		return false
	}
	for _, b := range w.up() {
		if root(b.run.events) != w.judge.root() {
			w.failf("%s has other events than those that were committed", b)
		}
	}
	return true
}

func (w *world) describe() string {
	var b strings.Builder
	for _, x := range w.boxes {
		fmt.Fprintf(&b, "\n  %s lost %t, left %t, waits %t", x, x.lost, x.left, x.waits)
		if x.run != nil {
			s := x.run.m.Status()
			fmt.Fprintf(&b, ": term %d, leader %d, leads %t, applied %d, %d events of %d, members %+v, wanted %v, writing %t, fetching %d, behind %v", s.Term, s.Leader, s.Leads, s.Applied.Index, len(x.run.events), len(w.judge.history),
				s.Members, x.run.wanted, x.run.writing != nil, len(x.run.fetching), x.run.behind)
		}
	}
	return b.String()
}

// play plays a world: so many steps of chaos, and then calm. It returns what was reached.
func play(seed uint64, steps int, p plant) *world {
	w, restore := newWorld(seed, p)
	defer restore()
	if w.rng.IntN(4) > 0 {
		w.forms()
	}
	for w.steps < steps && w.failed == nil {
		w.step()
		w.admit()
	}
	if w.failed == nil {
		w.rests()
	}
	return w
}
