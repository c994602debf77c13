package box

import (
	"cmp"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// Awaited is something that waits for a person.
type Awaited struct {
	api.Question
	Seq   uint64 // of the event since which it waits; of a part in a task, an earlier one if others came first
	About string // the run's subject, or that of work that stands alone
}

// Awaited lists all that waits for a person, oldest first.
func (b *Box) Awaited() []Awaited {
	s := b.state
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Awaited
	for subject := range s.asking {
		all = append(all, s.awaitedByHand(subject)...)
	}
	for subject := range s.runs {
		all = append(all, s.awaitedInRun(subject)...)
	}
	return bySeq(all)
}

// AwaitedOn lists what waits for a person in the run that a subject is, or belongs to, or about the work that it is; and says
// what that is. It looks at what is in memory alone: nobody waits for what has left it.
func (b *Box) AwaitedOn(subject string) (about string, all []Awaited) {
	s := b.state
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.items[subject]; i != nil {
		about = i.Run
	}
	if about = cmp.Or(about, subject); s.runs[about] != nil {
		return about, bySeq(s.awaitedInRun(about))
	}
	return about, s.awaitedByHand(about)
}

// About returns the id of a run and the title of its plan; nothing if the subject is none.
func (b *Box) About(subject string) (run, title string) {
	b.state.withRun(subject, func(r *delivery.Run) { run, title = r.ID, r.Title })
	return run, title
}

// Origin is what the box's ledger is known by.
func (b *Box) Origin() string { return b.keys.Origin() }

// awaitedInRun is asked under the lock, as is the next.
func (s *state) awaitedInRun(subject string) (all []Awaited) {
	for _, a := range waiting(s.runs[subject]) {
		all = append(all, Awaited{Question: a.shown, Seq: a.seq, About: subject})
	}
	return all
}

func (s *state) awaitedByHand(subject string) []Awaited {
	i := s.items[subject]
	if i == nil || !s.asking[subject] {
		return nil
	}
	return []Awaited{{Question: *ShowWait(*i), Seq: i.Wait.Seq, About: subject}}
}

func bySeq(all []Awaited) []Awaited {
	slices.SortFunc(all, func(a, b Awaited) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) })
	return all
}
