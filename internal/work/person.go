package work

import "github.com/signalbox-dev/signalbox/agentsig"

// PersonAgent is the agent of a lease that a person holds who plays a role in a plan's run. Nothing is started for it,
// and it has no term.
const PersonAgent = "person"

// ByPerson reports whether a person who plays a role holds the lease.
func (l *Lease) ByPerson() bool { return l != nil && l.Agent == PersonAgent }

// Take gives a task of a plan's run to a person, who works on it from then on. It goes to IMPLEMENTATION, so that
// everything is judged anew, and whoever holds it holds it no longer.
type Take struct {
	Epoch uint64
	Actor string
}

// Events implements [Command].
func (Take) Events() []string { return []string{WorkTaken} }

func (c Take) decide(i Item) (Event, error) {
	switch {
	case !validActor(c.Actor):
		return Event{}, ErrBadActor
	case i.Phase == agentsig.PhaseCompleted:
		return Event{}, ErrCompleted
	case i.Judged():
		return Event{}, ErrAudited
	case i.Lease.ByPerson() && i.Phase == agentsig.PhaseImplementation:
		return Event{}, &HeldError{i.ID, i.Lease.Actor, i.Session()}
	}
	t := Token{c.Epoch, i.Granted + 1}
	return Event{
		Type: WorkTaken, Actor: c.Actor, Session: t.Session(i.Subject), Token: t,
		Payload: Taken{i.Phase, Granted{Phase: agentsig.PhaseImplementation, Role: agentsig.RoleDeveloper, Agent: PersonAgent}},
	}, nil
}
