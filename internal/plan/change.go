package plan

import (
	"slices"
)

// Change is what is different in a plan that was changed. Each has ids.
type Change struct {
	New, Changed, Gone []string
}

// Compare says what is different in a plan that was another before. What a task is blocked by is no part of its text, nor
// is where it stands.
func Compare(before, after Plan) (c Change) {
	was := map[string]Task{}
	for _, t := range before.Tasks {
		was[t.ID] = t
	}
	for _, t := range after.Tasks {
		old, known := was[t.ID]
		delete(was, t.ID)
		switch {
		case !known:
			c.New = append(c.New, t.ID)
		case !sameText(old, t):
			c.Changed = append(c.Changed, t.ID)
		}
	}
	for _, t := range before.Tasks {
		if _, gone := was[t.ID]; gone {
			c.Gone = append(c.Gone, t.ID)
		}
	}
	return c
}

func sameText(a, b Task) bool {
	return a.Title == b.Title && a.Work == b.Work && a.Environment == b.Environment && slices.Equal(a.Criteria, b.Criteria) && slices.Equal(a.Reading, b.Reading)
}

// Renamed returns the plan with other ids for some of its tasks, also where others are blocked by them.
func (p Plan) Renamed(names map[string]string) Plan {
	if len(names) == 0 {
		return p
	}
	name := func(id string) string {
		if other, ok := names[id]; ok {
			return other
		}
		return id
	}
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		t.ID = name(t.ID)
		t.BlockedBy = slices.Clone(t.BlockedBy)
		for j, id := range t.BlockedBy {
			t.BlockedBy[j] = name(id)
		}
	}
	return p
}

// Blockers returns what each task is blocked by.
func (p Plan) Blockers() map[string][]string {
	all := map[string][]string{}
	for _, t := range p.Tasks {
		all[t.ID] = t.BlockedBy
	}
	return all
}
