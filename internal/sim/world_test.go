package sim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

const runSubject = "RUN"

// itemOf names the subject of a task's item.
func itemOf(task string) string { return "ITEM" + strings.TrimPrefix(task, "T-") }

// world is one schedule.
type world struct {
	rand    *rand.Rand
	now     time.Time
	run     *delivery.Run
	items   map[string]work.Item // by subject
	record  []recorded
	judge   *judge
	reached counts
	plan    []work.Add
	theme   theme
	calm    bool // agents are honest, nothing is lost
	silent  bool // the person is

	// What survives a restart of the box.
	processes map[string]*process
	order     []string  // of the processes, as they were started
	strays    []message // copies that are still under way
	branches  map[string]*branch
	merged    map[string]bool // commits that the target has
	repair    branch          // what remediation has committed
	commits   int
	broken    bool // the environment is

	// What does not.
	doing   map[string]bool // commands that were carried out
	results []any           // of gates, merges and baselines

	checked int       // how much of the record was folded again
	story   *[]string // nil unless it is told
}

type recorded struct {
	seq   uint64
	event ledger.Event
}

// branch is what a task's agents have written.
type branch struct {
	commit string
	good   bool // whether it passes the checks
}

// violation is a rule that was not kept.
type violation struct{ error }

func breaks(format string, a ...any) error { return violation{fmt.Errorf(format, a...)} }

func newWorld(seed uint64, reached counts, story *[]string) *world {
	w := &world{
		rand: rand.New(rand.NewPCG(seed, 11)), now: time.Unix(1_800_000_000, 0).UTC(), run: &delivery.Run{},
		items: map[string]work.Item{}, reached: reached, story: story, processes: map[string]*process{},
		branches: map[string]*branch{}, merged: map[string]bool{}, doing: map[string]bool{}, judge: newJudge(),
	}
	w.theme = w.chooseTheme()
	return w
}

func (w *world) chance(percent int) bool { return w.rand.IntN(100) < percent }

func pick[T any](w *world, all []T) T { return all[w.rand.IntN(len(all))] }

func (w *world) tell(format string, a ...any) {
	if w.story != nil {
		*w.story = append(*w.story, fmt.Sprintf(format, a...))
	}
}

// begin makes a plan and starts the run.
func (w *world) begin() error {
	n := 1 + w.rand.IntN(4)
	for i := range n {
		a := work.Add{
			ID: fmt.Sprintf("r-T-%d", i+1), Title: "a task", Phase: agentsig.PhaseImplementation, Actor: work.OperatorActor,
			Run: runSubject, Task: fmt.Sprintf("T-%d", i+1),
		}
		for j := range i {
			if w.chance(40) {
				a.BlockedBy = append(a.BlockedBy, fmt.Sprintf("T-%d", j+1))
			}
		}
		if w.chance(30) {
			a.Phase = agentsig.PhaseDraft
		}
		w.plan = append(w.plan, a)
		w.branches[a.Task] = &branch{commit: w.commit()}
	}
	w.broken = w.theme.broken || w.chance(4)
	err := w.append(runSubject, delivery.Event{Type: delivery.RunStarted, Actor: work.OperatorActor, Payload: delivery.Started{
		ID: "R1", Title: "a plan", Tasks: n, Settings: w.settings(), Base: w.commit(), Branch: "main", Checks: 1,
	}})
	for err == nil && !w.run.Planned() && w.chance(97) {
		if err = w.do(w.run.Commands()[0]); err == nil {
			err = w.finishOutside()
		}
	}
	return err
}

func (w *world) commit() string {
	w.commits++
	return fmt.Sprintf("%07x", 0xa00000+w.commits)
}

func (w *world) settings() delivery.Settings {
	limit := func() int { return 1 + w.rand.IntN(3) }
	s := delivery.Settings{
		Roles: map[agentsig.Role]delivery.Role{}, Experts: []string{"dba"}, Publish: w.chance(20), Protection: delivery.Held,
		Limits: delivery.Limits{
			Agents: 1 + w.rand.IntN(3), Answer: 30 * time.Second,
			Reviews: limit(), Audits: limit(), Gates: limit(), Crashes: limit(), Timeouts: limit(), Unknown: 3, Obstacles: limit(),
			ExpertRequests: limit(), ExpertAttempts: limit(), ExpertAtOnce: 1 + w.rand.IntN(2), RemediationRounds: pick(w, []int{1, 2, 2, 3, 10}),
			ConflictWait: 30 * time.Minute, ConflictRetries: w.rand.IntN(3), ProviderPause: 5 * time.Minute,
		},
	}
	for _, role := range agentsig.Roles() {
		if w.chance(2) {
			continue // nobody plays it
		}
		s.Roles[role] = delivery.Role{Agent: "scripted", Provider: pick(w, []string{"one", "two"}), AtOnce: w.rand.IntN(3)}
	}
	if w.theme.budget || w.chance(5) {
		s.Budget = delivery.Budget{Tokens: int64(100 + w.rand.IntN(400)), CostUSD: float64(w.rand.IntN(3))}
	}
	return s
}

// append records an event on the run or an item, and folds it.
func (w *world) append(subject string, what any) error {
	seq := uint64(len(w.record) + 1)
	e := ledger.Event{Format: ledger.Format, Epoch: 1, Subject: subject, ItemSeq: seq, Time: w.now}
	var payload any
	switch what := what.(type) {
	case delivery.Event:
		e.Type, e.Actor, e.Session, payload = what.Type, what.Actor, what.Session, what.Payload
	case work.Event:
		e.Type, e.Actor, e.Session, e.Key, payload = what.Type, what.Actor, what.Session, what.Key, what.Payload
		if what.Token != (work.Token{}) {
			e.Lease = what.Token.String()
		}
	}
	data, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	e.Payload = data
	if len(data) > ledger.MaxPayload {
		return breaks("%s has %d bytes, more than an event may", e.Type, len(data))
	}
	w.record = append(w.record, recorded{seq, e})
	w.noteRecorded(e.Type, payload)
	if w.story != nil {
		w.tell("%4d %s %s", seq, w.now.Format("15:04:05"), delivery.Words(e, w.name))
	}
	before := w.snapshotTask(subject, e.Type)
	if err := fold(w.run, w.items, recorded{seq, e}); err != nil {
		return err
	}
	if before != "" && before != w.snapshotTask(subject, e.Type) {
		return breaks("%s moves something:\n%s\n%s", e.Type, before, w.snapshotTask(subject, e.Type))
	}
	return w.judge.see(e, payload)
}

// noteRecorded counts what was recorded.
func (w *world) noteRecorded(event string, payload any) {
	w.reached.add("event", event)
	switch p := payload.(type) {
	case delivery.Question:
		w.reached.add("cause", string(p.Cause))
	case delivery.Ended:
		w.reached.add("ended", string(p.How))
	case delivery.RepairReview:
		w.reached.add("world", map[bool]string{true: "repair passed", false: "repair refused"}[p.Passed])
	case delivery.Round:
		if event == delivery.RemediationEnded && p.Detail != "" {
			w.reached.add("world", "repair left out")
		}
	case delivery.Finished:
		w.reached.add("outcome", string(p.Outcome))
	}
}

func (w *world) name(subject string) string {
	for _, a := range w.plan {
		if subject == itemOf(a.Task) {
			return a.Task
		}
	}
	return "R1"
}

// snapshotTask describes a task where an event may not move it.
func (w *world) snapshotTask(subject, event string) string {
	if event != work.LateResultRecorded {
		return ""
	}
	for _, t := range w.run.Tasks {
		if t.Item.Subject == subject {
			c := *t
			c.Item.Seq, c.Item.Keys, c.Item.Lease, c.Item.Past, c.Item.Allowed = 0, [8]work.KeyedSeq{}, nil, nil, nil
			return fmt.Sprintf("%+v %s", c, t.Item.Session())
		}
	}
	return ""
}

func fold(r *delivery.Run, items map[string]work.Item, at recorded) error {
	if at.event.Subject == runSubject {
		return r.Evolve(at.seq, at.event)
	}
	after, err := work.Evolve(items[at.event.Subject], at.seq, at.event)
	if err != nil {
		return err
	}
	items[at.event.Subject] = after
	return r.EvolveItem(after, at.event)
}

// write records what was decided. A restart may come between.
func (w *world) write(d delivery.Write) error {
	if d.Item == "" {
		return w.append(runSubject, d.Event)
	}
	e, err := work.Decide(w.items[d.Item], d.Do)
	if err != nil {
		return breaks("what was decided is refused: %#v: %w", d.Do, err)
	}
	return w.append(d.Item, e)
}

// take decides on an input and records what it leads to. It returns false if the
// box restarted before all of it was recorded.
func (w *world) take(in delivery.Input) (bool, error) {
	writes, err := w.run.Decide(in, w.now)
	if err != nil {
		w.reached.add("refused", reason(err))
		return true, nil
	}
	w.noteHandled(in, len(writes))
	for i, d := range writes {
		if i > 0 && !w.calm && w.chance(10) {
			w.tell("     the box is killed in the middle of a decision")
			return false, w.restart()
		}
		if err := w.write(d); err != nil {
			return true, err
		}
	}
	return true, nil
}

func reason(err error) string {
	for _, e := range rejections {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return "unknown: " + err.Error()
}

var rejections = []error{
	delivery.ErrFinished, delivery.ErrNoTask, delivery.ErrNoQuestion, delivery.ErrAnswered, delivery.ErrNoAnswer,
	delivery.ErrTaskOver,
}

// restart forgets all but the record and what is outside the box.
func (w *world) restart() error {
	w.reached.add("world", "restart")
	w.tell("     the box restarts")
	w.doing, w.results = map[string]bool{}, nil
	if !w.calm && w.chance(5) { // with other settings
		w.results = append(w.results, delivery.Unprotected{What: []string{"checks run without a sandbox"}})
	}
	if len(w.record) == w.checked {
		return nil
	}
	w.checked = len(w.record)
	again, items := &delivery.Run{}, map[string]work.Item{}
	for _, at := range w.record {
		if err := fold(again, items, at); err != nil {
			return err
		}
	}
	if !reflect.DeepEqual(again, w.run) || !reflect.DeepEqual(items, w.items) {
		return breaks("the record folds to another state:\n%s\n%s", dump(again), dump(w.run))
	}
	w.run, w.items = again, items
	if w.chance(20) {
		return w.restore()
	}
	return nil
}

// restore takes the run from a snapshot instead of the record.
func (w *world) restore() error {
	data, err := json.Marshal(w.run)
	if err != nil {
		return err
	}
	kept := &delivery.Run{}
	if err := json.Unmarshal(data, kept); err != nil {
		return err
	}
	kept.Restored()
	if !reflect.DeepEqual(kept, w.run) {
		return breaks("a snapshot is another state:\n%s\n%s", dump(kept), dump(w.run))
	}
	w.run = kept
	return nil
}

func dump(r *delivery.Run) string {
	data, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// next records one thing that is due, if there is one.
func (w *world) next() (bool, error) {
	d, due := w.run.Next(w.now)
	if !due {
		return false, w.judge.rest(w.now)
	}
	return true, w.write(d)
}

// play runs the whole schedule.
func (w *world) play() error {
	if err := w.begin(); err != nil {
		return err
	}
	chaos := 10 + w.rand.IntN(90)
	for steps := 0; len(w.record) < chaos && steps < 1000; steps++ {
		if w.run.Finished != nil && w.chance(20) {
			break
		}
		if err := w.step(); err != nil {
			return err
		}
	}
	w.silent = w.chance(20)
	w.calm = !w.silent
	w.tell("     %s", map[bool]string{true: "the person says nothing any more", false: "calm"}[w.silent])
	if err := w.settle(); err != nil {
		return err
	}
	if w.run.Finished == nil && !w.silent {
		return breaks("the run has not ended")
	}
	for commit := range w.merged {
		if w.judge.repairs[commit] && !w.judge.passed[commit] {
			return breaks("%s of remediation is on the branch, and no critic passed it", commit)
		}
	}
	w.epilogue()
	return w.judge.end(w.run.Finished != nil)
}

// step is one step of chaos.
func (w *world) step() error {
	switch n := w.rand.IntN(200); {
	case n < 56:
		for range 1 + w.rand.IntN(6) {
			if due, err := w.next(); !due || err != nil {
				return err
			}
		}
	case n < 100:
		return w.carryOut()
	case n < 130:
		w.act()
	case n < 165:
		_, err := w.deliver()
		return err
	case n < 184:
		return w.finishOutside()
	case n < 192:
		return w.operate()
	case n < 195:
		w.now = w.now.Add(time.Duration(1+w.rand.IntN(40)) * time.Minute)
	case n < 197:
		return w.expire()
	case n < 198:
		return w.restart()
	default:
		w.broken = w.broken || w.theme.broken || w.chance(30)
	}
	return nil
}
