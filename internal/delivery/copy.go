package delivery

import "slices"

// Copy returns the run as it is now, for whoever reads it while it goes on. Its
// sessions and questions are left out.
func (r *Run) Copy() Run {
	c := *r
	c.Sessions, c.Questions, c.Waits, c.Logins, c.Unknown = nil, nil, nil, nil, nil
	c.Tolerated = slices.Clone(r.Tolerated)
	c.Tasks = make([]*Task, len(r.Tasks))
	for i, t := range r.Tasks {
		task := *t
		task.Briefs = slices.Clone(t.Briefs)
		c.Tasks[i] = &task
	}
	c.index()
	c.Requests = make([]*Request, len(r.Requests))
	for i, q := range r.Requests {
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
