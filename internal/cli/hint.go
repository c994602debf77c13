package cli

import (
	"errors"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// hints say what a person can do next, by what was refused. A box elsewhere tells its refusals as text.
var hints = []struct {
	refusal error
	next    string
}{
	{work.ErrNoItem, "`signalbox work list` lists the work items, and `signalbox status` a run's tasks."},
	{work.ErrExists, "`signalbox work show ID` shows it; `signalbox work add` without --id makes an id of its own."},
	{work.ErrNoSession, "--session takes what `signalbox claim` printed as session; it is not the work item's id."},
	{work.ErrNotHolder, "Its lease ran out or was ended. If the work is still to be done, `signalbox claim --work ID` takes it anew."},
	{delivery.ErrFinished, "What it left undone can be delivered by another run: `signalbox run \"what is left\"`, or a plan with these tasks. `signalbox runs` lists those that were."},
	{delivery.ErrTaskOver, "A change to what it did is a task of another run: `signalbox run \"what to change\"`."},
	{delivery.ErrNoTask, "`signalbox status` shows the run's tasks."},
	{delivery.ErrNoReview, "`signalbox inbox` lists what waits for you, and `signalbox status` what each task waits for."},
	{delivery.ErrNotTaken, "`signalbox take TASK` takes it."},
	{box.ErrByHand, "Whoever works on it claims it (`signalbox claim --work ID`) and hands in what they say (`signalbox emit`)."},
	{conversation.ErrNoConversation, "`signalbox ask --list` lists the questions that were asked, and `signalbox work list` the work items."},
	{delivery.ErrNoQuestion, "`signalbox inbox` lists the questions that are open."},
	{delivery.ErrAnswered, "`signalbox inbox` lists the questions that are open; `signalbox tell` says more to the agent on a task."},
	{pin.ErrOtherBox, "Is that the box's address? Have the runner invited again there, if need be with another one (`signalbox runner invite --address`). If the box has a new key on purpose, a runner that had joined before joins anew in another directory (--dir)."},
	{enrolment.ErrNotReached, notReached},
	{box.ErrLocked, "Use the box that runs (`signalbox status` shows it), or stop it first: Ctrl-C where it was started."},
}

// joining is why a box did not join a cluster.
type joining struct{ error }

func (j joining) Unwrap() error { return j.error }

// rejoining is why a box did not come back.
type rejoining struct{ error }

func (r rejoining) Unwrap() error { return r.error }

// noneReached is what a person can do whose box comes back and reaches none of the others.
const noneReached = "Do the other boxes run, and listen there? Is there a firewall between? If they are elsewhere now, `signalbox cluster replace NAME` at one of them gives this box's place to a new one."

// What a person can do whose box finds no box of the cluster, or another one.
const (
	clusterNotReached = "Does a box of the cluster run there, and listen there (`signalbox up --listen`)? Is there a firewall between? If its address is another one, have this box invited with that (`signalbox cluster invite NAME --contact`)."
	clusterOther      = "Is that the address of a box of the cluster? Have this box invited again there, if need be with another one (`signalbox cluster invite NAME --contact`). Nothing was sent to what answered."
)

// notReached is what a person can do whose runner finds no box.
const notReached = "Is it running, and does it listen there (`signalbox up --listen`)? Is there a firewall between? If its address is another one, have the runner invited with that (`signalbox runner invite --address`)."

// hint is what a person can do next about an error; nothing if the error says it, or nobody knows.
func hint(err error) string {
	var p *api.Problem
	if errors.As(err, &p) && p.Code == api.CodeNothing {
		return "`signalbox work list` shows what is there and who holds it; with --wait, claim waits for something."
	}
	if _, ok := errors.AsType[joining](err); ok {
		switch {
		case errors.Is(err, pin.ErrOtherBox):
			return clusterOther
		case errors.Is(err, enrolment.ErrNotReached):
			return clusterNotReached
		}
	}
	if _, ok := errors.AsType[rejoining](err); ok && (errors.Is(err, pin.ErrOtherBox) || errors.Is(err, enrolment.ErrNotReached)) {
		return noneReached
	}
	for _, h := range hints {
		if errors.Is(err, h.refusal) || p != nil && (strings.HasPrefix(p.Message, h.refusal.Error()) || strings.HasSuffix(p.Message, ": "+h.refusal.Error())) {
			return h.next
		}
	}
	return ""
}
