package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/index"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// letGo lets all that is over leave memory, as if it were over for long.
func letGo(t *testing.T, b *Box) {
	t.Helper()
	if _, err := b.archive.Seal(); err != nil {
		t.Fatal(err)
	}
	if err := b.evict(uint64(b.archive.Sealed()), b.now().Add(2*overFor)); err != nil {
		t.Fatal(err)
	}
}

var (
	ulids    = regexp.MustCompile(`[0-7][0-9A-HJKMNP-TV-Z]{25}`)
	expiries = regexp.MustCompile(`"expires_at":"[^"]*"`)
)

// heard is what somebody who asks a box gets to hear, with names in the place of subjects, which
// differ from box to box.
func heard(b *Box, v any, err error) string {
	data, _ := json.Marshal(v)
	text := string(data)
	if err != nil {
		text = Problem(err).Code + ": " + err.Error()
	}
	return ulids.ReplaceAllStringFunc(expiries.ReplaceAllString(text, ""), b.state.nameOf)
}

// Two boxes are asked the same. From one of them all that is over leaves memory again and again, and
// it is started anew now and then; nobody can tell which.
func TestWhatLeftIsFound(t *testing.T) {
	t.Parallel()
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { compareWithPast(t, seed) })
	}
}

// pastPlay asks two boxes the same.
type pastPlay struct {
	t                         *testing.T
	r                         *rand.Rand
	all, leaving              *Box // nothing leaves the first
	clock                     atomic.Int64
	items, keys, talks, holds []string
}

func compareWithPast(t *testing.T, seed uint64) {
	dir := Dir(t.TempDir())
	p := &pastPlay{t: t, r: rand.New(rand.NewPCG(seed, 7))}
	begun := time.Now().UnixMilli()
	p.clock.Store(begun)
	open := func(dir Dir) *Box {
		return onClock(t, dir, archive.Dir(dir.Archive("")), nil, func() time.Time { return time.UnixMilli(p.clock.Load()) })
	}
	p.all, p.leaving = open(Dir(t.TempDir())), open(dir)
	defer func() { closeBox(t, p.all); closeBox(t, p.leaving) }()
	left := 0
	for n := range 400 {
		p.clock.Store(begun + int64(n)) // so that subjects have an order
		p.step(n)
		if n%7 == 0 {
			before := len(p.leaving.state.trails)
			letGo(t, p.leaving)
			left += before - len(p.leaving.state.trails)
		}
		if n%90 == 89 {
			closeBox(t, p.leaving)
			p.leaving = open(dir)
		}
	}
	for _, phase := range append(agentsig.Phases(), "") {
		p.pages(phase)
	}
	t.Logf("subjects left %d times; %d of %d are in memory", left, len(p.leaving.state.trails), len(p.all.state.trails))
	if left < 40 {
		t.Errorf("only %d subjects left memory", left)
	}
}

// same makes a request of both boxes and compares what they say.
func (p *pastPlay) same(what string, ask func(*Box) (any, error)) {
	p.t.Helper()
	v, err := ask(p.all)
	want := heard(p.all, v, err)
	v, err = ask(p.leaving)
	if got := heard(p.leaving, v, err); got != want {
		p.t.Fatalf("%s:\n%s\nand from the box that lets go:\n%s", what, want, got)
	}
}

func (p *pastPlay) pick(from []string) string {
	if len(from) == 0 {
		return "none"
	}
	return from[p.r.IntN(len(from))]
}

// step makes one request. Some name what is there, some what is long over.
func (p *pastPlay) step(n int) {
	ctx, id, key := p.t.Context(), p.pick(p.items), fmt.Sprint("key ", n)
	switch p.r.IntN(10) {
	case 0, 1: // at times a name or a key comes again
		a := api.AddWork{Title: "a title", Phase: agentsig.PhaseImplementation}
		switch p.r.IntN(4) {
		case 0:
			a.ID = id
		case 1:
			a.ID = fmt.Sprint("T-", n)
		case 2:
			key = p.pick(p.keys)
		}
		p.same("add", func(b *Box) (any, error) {
			w, err := b.Add(ctx, work.OperatorActor, a, key)
			if err == nil && b == p.all {
				p.items, p.keys = append(p.items, w.ID), append(p.keys, key)
			}
			return w, err
		})
	case 2, 3:
		p.same("claim "+id, func(b *Box) (any, error) {
			g, err := b.Claim(ctx, api.Claim{Work: id, Actor: "ann"}, key)
			if err == nil && b == p.all {
				p.holds = append(p.holds, id+" "+strconv.FormatUint(g.Token.Counter, 10))
			}
			return g, err
		})
	case 4, 5: // perhaps late
		item, counter, _ := strings.Cut(p.pick(p.holds), " ")
		output, err := agentsig.NewExitSignal(agentsig.PhaseImplementation, agentsig.ExitCompleted).JSON()
		if err != nil {
			p.t.Fatal(err)
		}
		p.same("emit", func(b *Box) (any, error) {
			i, err := b.state.exact(item)
			if err != nil {
				return nil, err
			}
			e, err := b.Emit(i.Subject+"-1."+counter, append(output, '\n'), "")
			return e, err
		})
	case 6, 7:
		to := []agentsig.Phase{agentsig.PhaseCompleted, agentsig.PhaseCompleted, agentsig.PhaseCompleted, agentsig.PhaseImplementation}[p.r.IntN(4)]
		p.same("override "+id, func(b *Box) (any, error) {
			return b.Override(work.OperatorActor, id, api.Override{Phase: to, Reason: "so be it"}, key)
		})
	case 8:
		p.converse(key)
	default:
		p.same("show "+id, func(b *Box) (any, error) {
			return b.Work(id)
		})
	}
}

// converse asks a model, or goes on with a conversation.
func (p *pastPlay) converse(key string) {
	id := p.pick(p.talks)
	switch p.r.IntN(3) {
	case 0:
		p.same("ask", func(b *Box) (any, error) {
			c, err := b.Ask(p.t.Context(), work.OperatorActor, api.Ask{Question: "why?"}, key)
			if err == nil && b == p.all {
				p.talks = append(p.talks, c.ID)
			}
			return c, err
		})
	case 1:
		p.same("signal", func(b *Box) (any, error) {
			return b.Signalled(id, api.Signalled{Turn: 1, Type: agentsig.KindNeedTurn, At: time.Unix(0, 0)}, key)
		})
	default:
		p.same("answer", func(b *Box) (any, error) {
			return b.Answered(id, api.Answered{Outcome: conversation.OutcomeAnswered}, key)
		})
	}
}

// pages compares lists, page by page.
func (p *pastPlay) pages(phase agentsig.Phase) {
	seen := 0
	for after, more := "", true; more; {
		var next string
		p.same("list after "+after, func(b *Box) (any, error) {
			page, err := b.List(p.t.Context(), phase, api.From{After: after, Limit: 7})
			seen += len(page.Items)
			next = page.Next
			return page, err
		})
		after, more = next, next != ""
	}
	if phase == "" && seen != 2*p.all.state.total {
		p.t.Errorf("%d items are listed twice, and there are %d", seen, p.all.state.total)
	}
}

// finishedRun records a run with tasks that were completed, and returns its subject.
func finishedRun(t *testing.T, b *Box, id string, tasks ...string) string {
	t.Helper()
	subject := startedRun(t, b, id, tasks...)
	for _, task := range tasks {
		if _, err := b.Override(work.OperatorActor, id+"."+task, api.Override{Phase: agentsig.PhaseCompleted, Reason: "it is done"}, ""); err != nil {
			t.Fatal(err)
		}
	}
	recordRun(t, b, subject, delivery.RunFinished, delivery.Finished{Outcome: delivery.Completed})
	return subject
}

// recordRun records an event of a run.
func recordRun(t *testing.T, b *Box, subject, what string, payload any) {
	t.Helper()
	if err := b.Ledger().RecordRun(t.Context(), subject, delivery.Event{Type: what, Actor: work.OperatorActor, Payload: payload}); err != nil {
		t.Fatal(err)
	}
}

// startedRun records a run that goes on, with tasks, and returns its subject.
func startedRun(t *testing.T, b *Box, id string, tasks ...string) string {
	t.Helper()
	plan, err := b.archive.PutBlob([]byte("# A plan\n"))
	if err != nil {
		t.Fatal(err)
	}
	subject := b.newSubject()
	started := delivery.Started{ID: id, Plan: plan, Title: "a plan", Branch: "main", Tasks: len(tasks), Key: "start " + id, Digest: "digest of " + id}
	recordRun(t, b, subject, delivery.RunStarted, started)
	for _, task := range tasks {
		item := b.newSubject()
		if _, err := b.record(item, "", work.Add{ID: id + "." + task, Title: "a task", Phase: agentsig.PhaseImplementation, Run: subject, Task: task, Actor: work.BoxActor}); err != nil {
			t.Fatal(err)
		}
	}
	return subject
}

// A run that has ended leaves with its tasks, and comes back as it was: for who looks at it, for who
// names one of its tasks, and for what happens to one of them late.
func TestRunLeaves(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	b := inDir(t, dir)
	defer func() { closeBox(t, b) }()
	first := finishedRun(t, b, "R1", "T-1", "T-2")
	second := finishedRun(t, b, "R2", "T-2", "T-3")
	show := func(subject string) string {
		t.Helper()
		v, err := b.showRun(subject)
		v.Sequence = 0 // of the ledger as a whole
		return heard(b, v, err)
	}
	one, two := show(first), show(second)
	told := func(id string) (all []uint64) {
		t.Helper()
		subjects, err := b.SubjectsOfRun(id)
		if err == nil {
			err = b.EventsOf(subjects, 0, b.UpTo(), func(records []engine.Record) error {
				for _, r := range records {
					if !slices.Contains(subjects, r.Subject) || len(all) > 0 && all[len(all)-1] >= r.Seq {
						t.Errorf("event %d of %s comes after %d", r.Seq, r.Subject, all)
					}
					all = append(all, r.Seq)
				}
				return nil
			})
		}
		if err != nil || len(subjects) != 3 {
			t.Fatalf("%s has %d subjects, %v", id, len(subjects), err)
		}
		return all
	}
	happened := told("R1")
	gone := func() {
		t.Helper()
		finishedRun(t, b, fmt.Sprint("R", b.state.lastRun()+1)) // so that there is more to seal
		letGo(t, b)
		if n := len(b.state.items) + len(b.state.runs); n > 0 {
			t.Fatalf("%d subjects stayed", n)
		}
	}
	gone()
	if got := show(first); got != one {
		t.Errorf("the run was\n%s\nand is\n%s", one, got)
	}
	if got := told("R1"); len(got) < 5 || !slices.Equal(got, happened) {
		t.Errorf("of the run and its tasks there were %d, and are %d", happened, got)
	}
	if _, err := b.SubjectsOfRun("R9"); err == nil {
		t.Error("there is no run R9")
	}
	gone()
	for task, want := range map[string]string{"T-1": "R1.T-1", "T-2": "R2.T-2", "T-3": "R2.T-3", "R1.T-2": "R1.T-2"} {
		if i, err := b.state.named(task, toLook); err != nil || i.ID != want {
			t.Errorf("%s is %s, %v: want %s", task, i.ID, err, want)
		}
		run, _, err := b.state.taskNamed(task)
		if name := b.state.nameOf(run); err != nil || !strings.HasPrefix(want, name+".") {
			t.Errorf("%s is a task of %s, %v", task, name, err)
		}
	}
	gone()
	if subject, err := b.state.delivering("digest of R1", "start R1"); err != nil || subject != first {
		t.Errorf("the request that started R1 is not known: %q, %v", subject, err)
	}
	for digest, want := range map[string]string{"digest of R1": "R1", "digest of R2": "R2", "another": ""} {
		if id, err := b.Ledger().Delivered(digest); err != nil || id != want {
			t.Errorf("the plan with the %s was delivered by %q, %v: want %q", digest, id, err, want)
		}
	}
	if subject, err := b.state.runNamed("R2"); err != nil || subject != second || show(second) != two {
		t.Errorf("R2 is %q, %v:\n%s", subject, err, show(second))
	}
	gone()
	if _, err := b.Override(work.OperatorActor, "R1.T-1", api.Override{Phase: agentsig.PhaseBlocked, Reason: "too late"}, ""); err != nil {
		t.Fatal(err)
	}
	after := show(first)
	if after == one || b.state.runs[first].Task("T-1").Item.Phase != agentsig.PhaseBlocked {
		t.Errorf("what came late is not seen: %s", after)
	}
	gone()
	closeBox(t, b)
	if err := os.Remove(dir.path(snapshotFile)); err != nil {
		t.Fatal(err)
	}
	b = inDir(t, dir) // which folds all of it again, with the index there
	if got := show(first); got != after {
		t.Errorf("after a restart the run was\n%s\nand is\n%s", after, got)
	}
	if page, err := b.Runs(t.Context(), false, api.From{Limit: 100}); err != nil || len(page.Items) != b.state.lastRun() {
		t.Errorf("%d runs are listed, %v: want %d", len(page.Items), err, b.state.lastRun())
	}
}

// completedOne is a box in a directory with the item T-1, completed and out of memory.
func completedOne(t *testing.T, dir Dir) *Box {
	t.Helper()
	b := oneItem(t, dir, nil)
	override(t, b, agentsig.PhaseCompleted)
	i, err := b.state.exact("T-1")
	if err != nil {
		t.Fatal(err)
	}
	letGo(t, b)
	if len(b.state.items) > 0 {
		t.Fatal("the item stayed")
	}
	if last, err := b.state.last(i.Subject); err != nil || last != 2 {
		t.Errorf("its last event is %d, %v", last, err)
	}
	if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-1", Title: "another"}, ""); !errors.Is(err, work.ErrExists) {
		t.Errorf("the name can be had again: %v", err)
	}
	return b
}

func override(t *testing.T, b *Box, to agentsig.Phase) {
	t.Helper()
	if _, err := b.Override(work.OperatorActor, "T-1", api.Override{Phase: to, Reason: "so be it"}, ""); err != nil {
		t.Fatal(err)
	}
}

// foundOne fails the test unless T-1 is found with so many events.
func foundOne(t *testing.T, b *Box, events uint64) {
	t.Helper()
	if w, err := b.Work("T-1"); err != nil || w.Events != events {
		t.Errorf("%+v, %v: want %d events", w, err, events)
	}
}

// A box that lost its index, or has an old one, does not use the snapshot without what left: it folds
// everything again.
func TestIndexLost(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		dir := Dir(t.TempDir())
		b := oneItem(t, dir, nil)
		closeBox(t, b)
		kept := filepath.Join(t.TempDir(), "index")
		if err := os.CopyFS(kept, os.DirFS(dir.path(indexDir))); err != nil {
			t.Fatal(err)
		}
		b = inDir(t, dir)
		override(t, b, agentsig.PhaseCompleted)
		letGo(t, b)
		closeBox(t, b)
		if err := os.RemoveAll(dir.path(indexDir)); err != nil {
			t.Fatal(err)
		}
		if old {
			if err := os.CopyFS(dir.path(indexDir), os.DirFS(kept)); err != nil {
				t.Fatal(err)
			}
		}
		b = inDir(t, dir)
		foundOne(t, b, 2)
		closeBox(t, b)
	}
}

// An index that is damaged stops the box that comes upon it, and the next one makes it again.
func TestIndexDamaged(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	b := completedOne(t, dir)
	if err := b.saveSnapshot(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(dir.path(indexDir + "/*.idx"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[6] ^= 1 // in its first record
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Work("T-1"); err == nil || errors.Is(err, work.ErrNoItem) {
		t.Fatalf("the damage is not noticed: %v, %v", err, b.Close())
	}
	<-b.Done()
	var damage *index.Damage
	if err := b.Close(); !errors.As(err, &damage) {
		t.Error(err)
	}
	b = inDir(t, dir)
	defer closeBox(t, b)
	foundOne(t, b, 2)
}

// A box that starts from an older snapshot takes an item out of the past as it was at that time: the
// index knows what happened to it later.
func TestOlderSnapshotThanIndex(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	b := completedOne(t, dir)
	if err := b.saveSnapshot(); err != nil {
		t.Fatal(err)
	}
	snapshot, err := os.ReadFile(dir.path(snapshotFile))
	if err != nil {
		t.Fatal(err)
	}
	override(t, b, agentsig.PhaseImplementation)
	override(t, b, agentsig.PhaseCompleted)
	letGo(t, b)
	closeBox(t, b)
	if err := os.WriteFile(dir.path(snapshotFile), snapshot, 0o600); err != nil {
		t.Fatal(err)
	}
	b = inDir(t, dir)
	defer closeBox(t, b)
	foundOne(t, b, 4)
}

// A state that is folded again lets go of what the index has already.
func TestLeaveAgain(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	closeBox(t, completedOne(t, dir))
	if err := os.Remove(dir.path(snapshotFile)); err != nil {
		t.Fatal(err)
	}
	b := inDir(t, dir)
	defer closeBox(t, b)
	if len(b.state.items) != 1 {
		t.Fatal("the item is not in memory")
	}
	letGo(t, b)
	if len(b.state.items) > 0 {
		t.Error("the item stays")
	}
	foundOne(t, b, 2)
}

// What something happens to between the index and memory does not leave.
func TestLeaveMeanwhile(t *testing.T) {
	t.Parallel()
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	override(t, b, agentsig.PhaseCompleted)
	out := b.state.leaving(b.now().Add(2*overFor), b.state.upTo())
	override(t, b, agentsig.PhaseImplementation)
	b.state.leaveTo(out, 0)
	if len(b.state.items) != 1 {
		t.Error("an item left that is not over")
	}
	foundOne(t, b, 3)
}

// Names are made up beyond five digits.
func TestManyNames(t *testing.T) {
	t.Parallel()
	s := newState()
	for _, c := range []struct {
		id   string
		want int
	}{{"W-00007", 7}, {"W-100000", 100000}, {"W-0100001", 100000}, {"W-99", 100000}, {"Q-200000", 100000}, {"W-12x", 100000}} {
		if s.name(c.id, "subject", itemName); s.madeUp[itemName] != c.want {
			t.Errorf("after %s the largest is %d, not %d", c.id, s.madeUp[itemName], c.want)
		}
	}
}
