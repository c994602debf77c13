package delivery

import "slices"

// Copy returns the run as it is now, for whoever reads it while it goes on. Its
// sessions and questions are left out.
func (r *Run) Copy() Run { return r.copyOf(r.Tasks, r.Requests) }

// CopyFor is a Copy for a session on a task, which has of its tasks that one alone, and what was asked for it: many sessions keep theirs for long.
func (r *Run) CopyFor(task string) Run {
	var tasks []*Task
	if t := r.Task(task); t != nil {
		tasks = []*Task{t}
	}
	var requests []*Request
	for _, q := range r.Requests {
		if q.Task == task {
			requests = append(requests, q)
		}
	}
	return r.copyOf(tasks, requests)
}

func (r *Run) copyOf(tasks []*Task, requests []*Request) Run {
	c := *r
	c.Sessions, c.Questions, c.Waits, c.Logins, c.Unknown = nil, nil, nil, nil, nil
	c.Tolerated = slices.Clone(r.Tolerated)
	c.Tasks = make([]*Task, len(tasks))
	for i, t := range tasks {
		task := *t
		task.Briefs = slices.Clone(t.Briefs)
		c.Tasks[i] = &task
	}
	c.index()
	c.Requests = make([]*Request, len(requests))
	for i, q := range requests {
		request := *q
		c.Requests[i] = &request
	}
	return c
}

// Copy returns the command with copies of what it is about.
func (c Command) Copy() Command {
	if c.Session != nil {
		s := *c.Session
		if s.Prompt != nil {
			p := *s.Prompt
			s.Prompt = &p
		}
		c.Session = &s
	}
	if c.Task != nil {
		t := *c.Task
		t.Briefs = slices.Clone(t.Briefs)
		c.Task = &t
	}
	return c
}
