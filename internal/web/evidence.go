package web

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// TaskBox is what the page needs of a box to show a task, besides its API. Who is shown it may read all of the box.
type TaskBox interface {
	// Prove holds a card against the ledger's files, and its merge against the repository.
	Prove(ctx context.Context, c evidence.Card) (evidence.Proof, error)
	// Transcript returns a stretch of what the agent of a session said; Checks the end of what the checks printed on its work, at least so many
	// bytes of it if there are so many. The error is an [fs.ErrNotExist] if there is none.
	Transcript(session string, s Stretch) (Printed, error)
	Checks(session string, most int64) (Printed, error)
	// Changes writes what a task's work is now, in git's format.
	Changes(ctx context.Context, w evidence.Work, r api.Run, to io.Writer) (Changed, error)
}

// How many events of a card are held against the ledger, the last ones; and for how long it is not looked whether one is signed by now.
const (
	maxProven  = 200
	provePause = 2 * time.Second
)

// cardView is the evidence on a task.
type cardView struct {
	evidence.Card
	Problem  string // why there is none
	Unproven string // why nothing is proven
	Earlier  int    // events that were not held against the ledger
	Found    []foundView
	Before   []work.Statement // claims before the last one
	Last     *work.Statement  // the last claim
	work     evidence.Work
	Again    bool // what was asked for and claimed last stands on the page already
}

// foundView is why the task was sent back.
type foundView struct {
	evidence.Finding
	Says    string
	Printed []shade // by the checks
}

// Claimant says who claims something: in which role, if that is known.
func (c cardView) Claimant(s work.Statement) string {
	i := slices.IndexFunc(c.Attempts, func(a evidence.Attempt) bool { return a.Session == s.Session && s.Session != "" && a.Role != "" })
	if i < 0 {
		return s.By
	}
	return fmt.Sprintf("the %s (%s)", c.Attempts[i].Role, c.Attempts[i].By())
}

// LastGate is what the gate said last; nil if it has not.
func (c cardView) LastGate() *evidence.Gate {
	if len(c.Gates) == 0 {
		return nil
	}
	return &c.Gates[len(c.Gates)-1]
}

// Proved reports whether all that could be proven is: of what is not known nothing is good.
func (c cardView) Proved() bool {
	return c.Unproven == "" && c.Earlier == 0 && !c.Proof.Wrong() && (c.Proof.Merge == nil || c.Proof.Merge["ok"] == true) &&
		!slices.ContainsFunc(c.Proof.Events, func(e evidence.Proven) bool { return !e.Holds })
}

// keptCard is a card in the making, and what was proven of it last.
type keptCard struct {
	mu     sync.Mutex
	fold   *evidence.Fold
	upTo   uint64 // the last event that was taken
	proof  evidence.Proof
	proven uint64    // the last event of those that it is of; 0 if there is no proof
	at     time.Time // when it was made
}

// proving is when a card is proven.
type proving int

const (
	never  proving = iota
	gone           // if the task has gone on
	atOnce         // in any case
)

// card makes the evidence on a task as it is at an event.
func (p *Page) card(ctx context.Context, c *api.Client, w api.Work, r api.Run, upTo uint64, when proving) cardView {
	kept := p.tasks.cards.of(w.Subject, maxTasks, func() *keptCard {
		return &keptCard{fold: evidence.NewFold(w.Subject, strings.TrimPrefix(w.ID, r.ID+"."))}
	})
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if upTo > kept.upTo {
		if err := kept.fold.CatchUp(ctx, c, kept.upTo, upTo, w.ID, r.ID); err != nil {
			p.tasks.cards.drop(w.Subject) // a part of the events may have been taken
			return cardView{Problem: err.Error()}
		}
		kept.upTo = upTo
	}
	v := cardView{Card: kept.fold.Card(w), work: kept.fold.Work()}
	v.In(r)
	v.Earlier = max(0, len(v.Rests)-maxProven)
	v.Rests = v.Rests[v.Earlier:]
	if when != never {
		if err := p.prove(ctx, kept, v.Card, when == atOnce); err != nil {
			v.Unproven = err.Error()
		}
	}
	v.Proof = kept.proof
	for _, f := range v.Findings {
		says, printed := evidence.FindingWords(f.Statement)
		// The ledger has escapes as text; colours are made of those again.
		v.Found = append(v.Found, foundView{f, says, coloured(strings.ReplaceAll(printed, `\x1b[`, "\x1b["))})
	}
	if n := len(v.Claims); n > 0 {
		v.Before, v.Last = v.Claims[:n-1], &v.Claims[n-1]
	}
	return v
}

// prove has a card proven, unless that was done for the same events and nothing of them was left to be signed.
func (p *Page) prove(ctx context.Context, kept *keptCard, c evidence.Card, anew bool) error {
	last := uint64(0)
	if len(c.Rests) > 0 {
		last = c.Rests[len(c.Rests)-1].Sequence
	}
	pending := slices.ContainsFunc(kept.proof.Events, func(e evidence.Proven) bool { return e.Pending })
	if !anew && kept.proven == last && last > 0 && (!pending || p.o.Now().Sub(kept.at) < provePause) {
		return nil
	}
	proof, err := p.o.Box.Prove(ctx, c)
	kept.proof, kept.proven, kept.at = proof, last, p.o.Now()
	if err != nil {
		kept.proof, kept.proven = evidence.Proof{}, 0
	}
	return err
}
