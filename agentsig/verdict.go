package agentsig

// Verdict is what a whole output says: one signal, or nothing that can be
// acted upon.
type Verdict struct {
	Kind   Kind   // of the signal, or KindUnknown or KindAmbiguous
	Action Action // what to do next; RequestClarification unless there is one signal
	Signal Signal // the one signal; if ambiguous, the first of two that differ
	Other  Signal // if ambiguous, the second
}

// OK reports whether the output says one thing.
func (v Verdict) OK() bool { return v.Kind != KindUnknown && v.Kind != KindAmbiguous }

// verdict gathers signals, in the order they were said.
type verdict struct {
	first       *Signal // the first terminal signal
	exit, other *Signal // the first terminal signal that is an exit record, and that is not
	conflicting *Signal // the first terminal signal that differs from one before it
	beside      *Signal // the first by priority that is not terminal
}

func (v *verdict) add(s Signal) {
	if !s.Terminal() {
		if v.beside == nil || entryOf(s.Kind).Priority < entryOf(v.beside.Kind).Priority {
			v.beside = &s
		}
		return
	}
	for _, said := range []*Signal{v.exit, v.other} {
		if said != nil && v.conflicting == nil && !said.same(s) {
			v.conflicting = &s
		}
	}
	if v.first == nil {
		v.first = &s
	}
	if s.exit != nil && v.exit == nil {
		v.exit = &s
	}
	if s.exit == nil && v.other == nil {
		v.other = &s
	}
}

func (v *verdict) result() Verdict {
	switch {
	case v.conflicting != nil:
		return Verdict{Kind: KindAmbiguous, Action: RequestClarification, Signal: *v.first, Other: *v.conflicting}
	case v.first != nil:
		return Verdict{Kind: v.first.Kind, Action: v.first.Action(), Signal: *v.first}
	case v.beside != nil:
		return Verdict{Kind: v.beside.Kind, Action: v.beside.Action(), Signal: *v.beside}
	}
	return Verdict{Kind: KindUnknown, Action: RequestClarification}
}
