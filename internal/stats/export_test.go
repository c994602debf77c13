package stats

// Held is how much is held of sessions, tasks and questions.
func (f *Fold) Held() int { return len(f.sessions) + len(f.tasks) + len(f.asked) }

// Held is how many sessions are held.
func (t *Table) Held() int { return len(t.open) }
