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
	state := memberlog.Founding(uint64(len(events))+1, uint64(len(events)))
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
	var read member.Message
	if err == nil {
		read, err = member.ParseMessage(data)
	}
	if err != nil {
		w.failf("message %v is not read as it was written: %v", m, err)
		return
	}
	w.tracef("%v", m)
	to.run.m.Receive(read)
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
// joins has an operator add a box: its id is the index of the event that says so, once that is committed.
// admit starts the boxes whose joining events are committed.
// passed says whether someone has applied more than this entry: then nothing else will be applied there.
// alone makes the last member's log that of a single box, and that of a cluster again.
// ending returns the events of a box's log that are not applied.
// losesDisk empties a voter's disk or puts an older one back, while everyone else has theirs: a cluster survives one.
// knowsMore says whether another voter has written that a box acknowledged more than a disk holds. If not, nobody may know: the limit that the
// protocol tells.
// putBack starts a box with an older disk than it had, or an empty one, while all others answer.
// asked lets a box that starts ask all others, and have their answers.
// seeded has the library draw from the world's chance.
func (w *world) seeded() (restore func()) {
	before := rand.Reader
	draws := mathrand.New(mathrand.NewPCG(w.rng.Uint64(), 26))
	rand.Reader = io.Reader(randomness{draws.Uint64})
	return func() { rand.Reader = before }
}

// round has everything go on once: all messages arrive, all disks sync, and, now and then, time passes and what is applied is put
// under a checkpoint.
// rests has everything whole, and the cluster come to rest.
// forms has one box become three before anything goes wrong.
// rested says whether the members that are wanted, and no others, run and are equal, and a proposal and a read get their answers.
// play plays a world: so many steps of chaos, and then calm. It returns what was reached.
