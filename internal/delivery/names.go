package delivery

import (
	"fmt"
	"time"
)

// NameOf returns what people call a subject of the run: the task's id, or the
// run's.
func (r *Run) NameOf(subject string) string {
	if t := r.ofSubject(subject); t != nil {
		return t.ID
	}
	return r.ID
}

// Restored makes a run whole that was kept without its empty parts.
func (r *Run) Restored() {
	if r.Sessions == nil {
		r.Sessions = map[string]*Session{}
	}
	if r.Waits == nil {
		r.Waits = map[string]time.Time{}
	}
	if r.Unknown == nil {
		r.Unknown = map[string]int{}
	}
	r.index()
}

// index finds tasks by their ids and subjects.
func (r *Run) index() {
	r.byID, r.bySubject = make(map[string]*Task, len(r.Tasks)), make(map[string]*Task, len(r.Tasks))
	for _, t := range r.Tasks {
		r.byID[t.ID], r.bySubject[t.Item.Subject] = t, t
	}
}

// MaxTasks is how many tasks one run delivers.
const MaxTasks = 1000

// CheckSize refuses a plan with too many tasks.
func CheckSize(tasks int) error {
	if tasks > MaxTasks {
		return fmt.Errorf("the plan has %d tasks, and one run delivers at most %d: divide it", tasks, MaxTasks)
	}
	return nil
}
