package stats

// Held is how much is held of sessions and tasks.
func (f *Fold) Held() int { return len(f.sessions) + len(f.tasks) }

// Held is how many sessions are held.
func (t *Table) Held() int { return len(t.open) }
