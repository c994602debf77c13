package delivery

import (
	"encoding/json"

	"github.com/signalbox-dev/signalbox/internal/work"
)

// About returns the run with no more than an order on a task needs to know: the task, and of the others where their work is.
func (r Run) About(task string) Run {
	all := r.Tasks
	r.Tasks = make([]*Task, len(all))
	for i, t := range all {
		if r.Tasks[i] = t; t.ID != task {
			r.Tasks[i] = &Task{ID: t.ID, Item: work.Item{Chain: work.Chain{Subject: t.Item.Subject}, Phase: t.Item.Phase, Commit: t.Item.Commit}}
		}
	}
	r.index()
	var requests []*Request
	for _, q := range r.Requests {
		if q.Task == task {
			requests = append(requests, q)
		}
	}
	r.Requests, r.Repairs, r.Told, r.Added, r.Renamed = requests, nil, nil, nil, nil
	return r
}

// UnmarshalJSON reads a run that was written as JSON.
func (r *Run) UnmarshalJSON(data []byte) error {
	type plain Run
	if err := json.Unmarshal(data, (*plain)(r)); err != nil {
		return err
	}
	r.index()
	return nil
}
