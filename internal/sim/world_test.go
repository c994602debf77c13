package sim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/ledger"
)

// world is one schedule. It lives in a bubble of package synctest: its time is the bubble's. It decides everything
// in one goroutine, and only while all others wait for it; so the same seed is the same schedule.
type world struct {
	rand    *rand.Rand
	judge   *judge
	reached counts
	theme   theme
	plan    plan.Plan
	config  config.Config
	asked   string // whether the run is to have an auditor, by who starts it
	calm    bool   // agents are honest, nothing is lost
	silent  bool   // the person is
	talks   bool   // agents leave conversations that can be gone on with

	// The box.
	ledger    *conductortest.Ledger
	conductor *conductor.Conductor
	subject   string        // of the run; empty until that is recorded
	run       *delivery.Run // as it is folded; nobody changes it while the world decides
	fault     fault         // that is to come
	faultAt   time.Time     // when the last one came
	excused   bool          // one came for which the box may say that it does not know
	killed    bool
	draining  bool
	known     int // how many events were folded again
	record    record
	violated  error // the first rule that the box broke

	// What survives a restart of the box.
	processes   map[string]*process
	order       []string  // of the processes, as they were started
	strays      []message // copies that are still under way
	branches    map[string]*branch
	taken       map[string]bool // names of branches
	merged      map[string]bool // commits that the target has
	tip         string          // where the target is
	repair      branch          // what remediation has committed
	commits     int
	broken      bool // the environment is
	unprotected []string
	told        int // messages of the operator's
	spoke       int // words of the operator, or of a client
	versions    int // of the plan, that were handed in after the first
	left        leftovers
	fleet       machines
	cluster     cluster

	// What does not.
	loose []delivery.Input // things that were seen, and not handed in yet

	// What the box's goroutines change, until all of them wait.
	mu      sync.Mutex
	errands map[string]*errand   // orders under way
	done    map[string]bool      // orders that this box gave, and that were carried out
	failed  map[string]time.Time // when an order of this box's failed last
	again   map[string]bool      // orders that were given, by any box
	doubled string               // an order that was given while it went on
	marked  map[string]bool      // runs that may have left something

	story *[]string // nil unless it is told
}

// branch is what a task's agents have written.
type branch struct {
	commit string
	good   bool // whether it passes the checks
	same   bool // nothing is changed in it
}

// violation is a rule that was not kept.
type violation struct{ error }

func breaks(format string, a ...any) error { return violation{fmt.Errorf(format, a...)} }

func newWorld(seed uint64, reached counts, story *[]string) *world {
	w := &world{
		rand: rand.New(rand.NewPCG(seed, 11)), reached: reached, story: story, judge: newJudge(), run: &delivery.Run{},
		processes: map[string]*process{}, branches: map[string]*branch{}, taken: map[string]bool{}, merged: map[string]bool{}, tip: "fedcba8",
		done: map[string]bool{}, again: map[string]bool{}, failed: map[string]time.Time{}, errands: map[string]*errand{},
		marked: map[string]bool{}, record: newRecord(), left: leftovers{gone: map[string]bool{}},
	}
	w.theme = w.chooseTheme()
	w.drawCluster(seed)
	return w
}

func (w *world) chance(percent int) bool { return w.rand.IntN(100) < percent }

func pick[T any](w *world, all []T) T { return all[w.rand.IntN(len(all))] }

func (w *world) tell(format string, a ...any) {
	if w.story != nil {
		*w.story = append(*w.story, fmt.Sprintf(format, a...))
	}
}

// now is the time as the box takes it: what is recorded of it can be read again.
func now() time.Time { return time.Now().UTC().Round(0) }

// begin makes a plan and hands it in until it is delivered.
func (w *world) begin() error {
	w.plan.Title = "a plan"
	for i := range 1 + w.rand.IntN(4) {
		t := plan.Task{ID: fmt.Sprintf("T-%d", i+1), Title: "a task", Work: "Do it."}
		for j := range i {
			if w.chance(40) {
				t.BlockedBy = append(t.BlockedBy, fmt.Sprintf("T-%d", j+1))
			}
		}
		w.plan.Tasks = append(w.plan.Tasks, t)
		w.branches[t.ID] = &branch{commit: w.commit(), good: true, same: true}
	}
	w.broken = w.theme.broken || w.chance(4)
	w.settings()
	if err := w.open(conductortest.New(background, now)); err != nil {
		return err
	}
	for range 100 {
		w.arm()
		run, err := w.conductor.Deliver(background, w.actor(), api.StartRun{Plan: w.plan.Markdown(), Path: planFile, Audit: w.asked}, "deliver")
		settled := w.wait()
		switch {
		case settled != nil:
			return settled
		case err != nil && w.faultAt.IsZero():
			return breaks("the plan is refused: %w", err)
		case err == nil && run.Subject != w.subject:
			return breaks("the run %s is delivered, and %s recorded", run.Subject, w.subject)
		case err == nil && w.run.Audits() == w.light():
			return breaks("the run has an auditor: %v; asked for is %q, set %q", w.run.Audits(), w.asked, w.config.Audit)
		case err == nil:
			return nil
		}
	}
	return breaks("no run begins")
}

func (w *world) commit() string {
	w.commits++
	return fmt.Sprintf("%07x%033d", 0xa00000+w.commits, 0)
}

// settings makes the settings of the run.
func (w *world) settings() {
	limit := func() int { return 1 + w.rand.IntN(3) }
	c := config.Config{
		Agents:  map[string]config.Agent{"first": {Provider: "one"}, "second": {Provider: "two"}},
		Experts: []string{"dba"}, Analyst: w.chance(30), Branch: "signalbox/{run}", Checks: []config.Check{{Name: "test"}},
		Limits: config.Limits{
			Agents: 1 + w.rand.IntN(3), Answer: 30 * time.Second,
			Reviews: limit(), Audits: limit(), Gates: limit(), Crashes: limit(), Timeouts: limit(),
			ExpertRequests: limit(), ExpertAttempts: limit(), ExpertAtOnce: 1 + w.rand.IntN(2), RemediationRounds: pick(w, []int{1, 2, 2, 3, 10}),
			ConflictWait: 30 * time.Minute, ConflictRetries: w.rand.IntN(3),
		},
	}
	if w.chance(20) {
		c.Merge.Into = config.IntoPR
	}
	by := func(percent int) config.Role {
		r := config.Role{Agent: pick(w, []string{"first", "second"}), AtOnce: w.rand.IntN(3)}
		if w.chance(percent) {
			r.Agent = "nobody"
		}
		return r
	}
	c.Roles = config.Roles{
		Developer: by(0), Critic: by(0), Auditor: by(0), Analyst: by(0), Remediation: by(2), HealthAuditor: by(2), Expert: by(2),
	}
	if !c.Analyst {
		c.Roles.Analyst = by(40)
	}
	if w.theme.budget || w.chance(5) {
		c.Budget = config.Budget{Tokens: int64(100 + w.rand.IntN(400)), CostUSD: float64(w.rand.IntN(3))}
	}
	if w.theme.person || w.chance(5) {
		for _, r := range played(&c.Roles) {
			if w.chance(40) {
				r.Agent = config.Person
			}
		}
	}
	if w.talks = w.chance(70); w.talks {
		c.Limits.ContextPercent, c.Rework = 75, pick(w, []config.Rework{config.ReworkResumed, config.ReworkResumed, config.ReworkResumed, config.ReworkFresh})
	}
	if (w.theme.person || w.chance(5)) && w.chance(40) {
		c.Merge.Approve = config.Person
	}
	w.drawAudit(&c)
	w.drawFleet(&c)
	w.config = c
}

// play runs the whole schedule.
func (w *world) play() error {
	defer w.shut()
	if err := w.begin(); err != nil {
		return err
	}
	chaos := 10 + w.rand.IntN(90)
	for steps := 0; w.record.n < chaos && steps < 1000; steps++ {
		if w.run.Finished != nil && w.chance(20) {
			break
		}
		w.arm()
		if err := w.step(); err != nil {
			return err
		}
	}
	w.silent = w.chance(20)
	w.calm = !w.silent
	if w.calm {
		w.fault = fault{}
	}
	w.tell("     %s", map[bool]string{true: "the person says nothing any more", false: "calm"}[w.silent])
	if err := w.gather(); err != nil {
		return err
	}
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
	if err := w.epilogue(); err != nil {
		return err
	}
	return w.judge.end(w.run.Finished != nil)
}

// step is one step of chaos.
func (w *world) step() error {
	if err := w.perhapsLead(); err != nil {
		return err
	}
	if w.fleet.machines != nil && (w.chance(8) || w.talkOn() != nil && w.chance(60)) {
		return w.rove()
	}
	switch n := w.rand.IntN(150); {
	case n < 44:
		return w.carryOut()
	case n < 74:
		w.act()
	case n < 109:
		_, err := w.deliver()
		return err
	case n < 128:
		_, err := w.finishOutside()
		return err
	case n < 136:
		return w.operate()
	case n < 141:
		return w.pass(time.Duration(1+w.rand.IntN(5)) * time.Second)
	case n < 144:
		return w.pass(time.Duration(1+w.rand.IntN(40)) * time.Minute)
	case n < 146:
		return w.expire()
	case n < 147:
		return w.restart()
	case n < 148:
		return w.connect()
	case n < 149 && w.chance(25):
		return w.drain()
	case n < 149:
		w.crash()
	default:
		w.broken = w.broken || w.theme.broken || w.chance(30)
	}
	return nil
}

// pass lets time pass.
func (w *world) pass(d time.Duration) error {
	w.folded(w.ledger) // what was read until now was read before anybody takes the ledger's lock: the race detector wants to see that
	time.Sleep(d)
	return w.wait()
}

// wait returns when everything that the box does by itself is done. A box that was killed is started again.
func (w *world) wait() error {
	synctest.Wait()
	w.subject, w.run = w.record.run, w.folded(w.ledger)
	switch {
	case w.violated != nil:
		return w.violated
	case w.ledger.Context().Err() == nil:
		return w.rest()
	case !w.killed && !errors.Is(w.ledger.Failed(), errFull):
		return breaks("the box stops by itself: %w", w.ledger.Failed())
	}
	return w.restart()
}

// folded returns the run of a ledger as it is.
func (w *world) folded(l *conductortest.Ledger) *delivery.Run {
	r := &delivery.Run{}
	l.WithRun(w.record.run, func(run *delivery.Run) { r = run })
	return r
}

// leaveAlone is for how long the box may leave alone what it could not record, or carry out.
const leaveAlone = time.Second

// rest looks whether the box has done all that it should have by itself.
func (w *world) rest() error {
	at := now()
	if w.draining || w.subject == "" {
		return nil
	}
	pausing := at.Before(w.faultAt.Add(leaveAlone)) && !w.faultAt.IsZero()
	if d, due := w.run.Next(w.moment()); !due {
		if err := w.judge.rest(at); err != nil {
			return err
		}
	} else if !pausing {
		return breaks("%s%T is due, and the box does nothing", d.Event.Type, d.Do)
	}
	if r := w.run; len(w.unprotected) > 0 && r.Live() && r.Settings.Protection == delivery.Held && !slices.Equal(r.Lost, w.unprotected) && !pausing {
		return breaks("the run is not protected any more, and nobody says so")
	}
	due := map[string]bool{}
	for _, c := range w.run.Commands(w.moment()) {
		due[c.ID] = true
		failed := w.failed[c.ID]
		switch {
		case c.Do == delivery.DoAddTask && !pausing:
			return breaks("task %d is not added", c.N)
		case w.errands[c.ID] != nil && w.errands[c.ID].Runner != c.Runner && !pausing:
			return breaks("%s is carried out on %q, and should be on %q", c.ID, w.errands[c.ID].Runner, c.Runner)
		case c.Do == delivery.DoAddTask, pausing, w.errands[c.ID] != nil, w.done[c.ID], !failed.IsZero() && at.Before(failed.Add(leaveAlone)):
		default:
			return breaks("%s is due, and was not given", c.ID)
		}
	}
	if w.doubled != "" {
		return breaks("%s is given while it goes on", w.doubled)
	}
	for id, e := range w.errands {
		if !due[id] && !pausing {
			return breaks("%s is not due, and goes on", id)
		}
		if e.again && !e.known {
			w.reached.add("world", "order given again")
		}
		e.known = true
	}
	return nil
}

// reason says why something was refused; nothing if that is not the rules' word.
func reason(err error) string {
	for _, e := range rejections {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return ""
}

var rejections = []error{
	delivery.ErrFinished, delivery.ErrNoTask, delivery.ErrNoQuestion, delivery.ErrAnswered, delivery.ErrNoAnswer,
	delivery.ErrTaskOver,
}

// record is what is recorded, as far as the world has to know it.
type record struct {
	run   string // the run's subject
	n     int
	names map[string]string // of the tasks, by their items
	keys  map[string]bool   // of what has to be recorded once
	said  map[string]int    // how often something was said that may be recorded as often, by the type of its event
}

func newRecord() record {
	return record{names: map[string]string{}, keys: map[string]bool{}, said: map[string]int{}}
}

// once refuses an event that was recorded before.
func (r *record) once(e ledger.Event, payload any) error {
	key := ""
	switch p := payload.(type) {
	case delivery.Started:
		key = e.Type
	case delivery.Message:
		key = e.Type + " " + p.Key
	default:
		if e.Key != "" {
			key = e.Subject + " " + e.Type + " " + e.Key
		}
	}
	if key != "" {
		if r.keys[key] {
			return breaks("%s is recorded twice", key)
		}
		r.keys[key] = true
	}
	if slices.Contains([]string{delivery.TaskRetried, delivery.CheckoutTouched, delivery.PlanAmended}, e.Type) {
		if r.said[e.Type]--; r.said[e.Type] < 0 {
			return breaks("%s is recorded more often than it was said", e.Type)
		}
	}
	return nil
}
