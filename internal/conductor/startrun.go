package conductor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/plan"
)

// Deliver starts the delivery of a plan. The same plan again is the same run, for as
// long as that has not ended.
func (c *Conductor) Deliver(ctx context.Context, actor string, q api.StartRun, key string) (api.Run, error) {
	if c.runner == nil {
		return api.Run{}, cmp.Or(c.keepsSettings(q), errNoDelivery)
	}
	q.Plan = c.ledger.Redact(q.Plan)
	text := []byte(q.Plan)
	x := c.at(q.Home)
	p, err := examine(ctx, x, c.config, q)
	if err != nil {
		return api.Run{}, err
	}
	p.path = planPath(x.Root(), q.Path)
	if q.DryRun {
		return c.dryRun(q, p, text)
	}
	unlock, err := c.starting.Lock(ctx, struct{}{})
	if err != nil {
		return api.Run{}, err
	}
	defer unlock()
	subject, err := c.ledger.Delivering(digest(text), key)
	if err != nil {
		return api.Run{}, err
	}
	if subject != "" {
		if err := c.keepsAudit(subject, q); err != nil {
			return api.Run{}, err
		}
		if c.decider(subject) == nil && c.live(subject) { // nobody knew that it was recorded
			c.conduct(subject)
		}
		return c.ledger.ShowRun(subject)
	}
	if err := c.keepsSettings(q); err != nil {
		return api.Run{}, err
	}
	if subject, a, err := c.amends(p, text); err != nil || a != nil && !q.Beside {
		if err == nil && !q.Amend {
			err = fmt.Errorf("%w: %s", errAnotherVersion, a.Run)
		}
		if err != nil {
			return api.Run{}, err
		}
		if err := c.keepsAudit(subject, q); err != nil {
			return api.Run{}, err
		}
		return c.amend(ctx, actor, subject, p, text)
	}
	if q.Amend {
		return api.Run{}, errNothingToAmend
	}
	subject, err = c.startRun(ctx, actor, text, p.plan, delivery.Started{Settings: p.settings, Base: p.base, Onto: p.onto, Key: key, Path: p.path, Home: q.Home})
	if err != nil && !c.live(subject) { // whatever the ledger answers: a run that it has goes on
		if unknown := (box.ConflictError{}); errors.As(err, &unknown) {
			err = fmt.Errorf("the start of the run: %w (%w)", box.ErrOutcomeUnknown, err)
		}
		return api.Run{}, err
	}
	c.conduct(subject)
	return c.ledger.ShowRun(subject)
}

// errOtherSettings is why a plan is not delivered by settings that are not meant any more.
var errOtherSettings = errors.New("the settings are others than those that the box goes by; nothing was started or changed: restart the box " +
	"(Ctrl-C where `signalbox up` runs, and start it again: its agents go on), and then run the plan")

// keepsSettings refuses to start or amend a run that is meant to go by other settings than the box does.
func (c *Conductor) keepsSettings(q api.StartRun) error {
	if q.Settings == "" || c.settings == nil || q.Settings == c.settings.Digest {
		return nil
	}
	return fmt.Errorf("%w; it was started %s, with %s", errOtherSettings, c.settings.Since.UTC().Format(time.RFC3339), c.settings.File)
}

// dryRun says what the delivery of a plan would be like: which run would go on with it, or be amended, if one would.
func (c *Conductor) dryRun(q api.StartRun, p examined, text []byte) (v api.Run, err error) {
	v = p.preview(c.config)
	same, err := c.ledger.Delivering(digest(text), "")
	if err != nil || same != "" {
		c.ledger.WithRun(same, func(r *delivery.Run) { v.ID = r.ID })
		return v, err
	}
	if err := c.keepsSettings(q); err != nil {
		return api.Run{}, err
	}
	if _, v.Amends, err = c.amends(p, text); err != nil || v.Amends != nil {
		return v, err
	}
	if q.Amend {
		return v, errNothingToAmend
	}
	v.Delivered, err = c.ledger.Delivered(digest(text))
	return v, err
}

// startRun records a run of a plan, with a branch that work is merged to.
func (c *Conductor) startRun(ctx context.Context, actor string, text []byte, p plan.Plan, started delivery.Started) (string, error) {
	blob, err := c.ledger.PutBlob(text)
	if err != nil {
		return "", err
	}
	started.Title, started.Plan, started.Digest, started.Tasks = titleOf(p), blob, digest(text), len(p.Tasks)
	x := c.at(started.Home)
	if started.Repo, started.Checks = x.Root(), len(checkNames(c.config, p)); started.Repo == "" {
		return "", order.ErrUnreached
	}
	if err := c.takeBranch(ctx, x, p, &started); err != nil {
		return "", err
	}
	subject := c.ledger.NewSubject()
	if err := x.Begin(ctx, subject, started.Branch, c.alone()); err != nil {
		return "", err
	}
	return subject, c.ledger.RecordRun(ctx, subject, delivery.Event{Type: delivery.RunStarted, Actor: actor, Payload: started})
}

// alone reports whether no run goes on, and what agents of those that have ended changed was looked at: a decider stays
// until then.
func (c *Conductor) alone() bool {
	c.mu.Lock()
	deciders := len(c.deciders)
	c.mu.Unlock()
	return deciders == 0 && len(c.ledger.LiveRuns()) == 0
}

// digest identifies a plan by its text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// takeBranch gives a run its number and the branch that work is merged to. Branches and items of
// an earlier box are not taken for ours.
func (c *Conductor) takeBranch(ctx context.Context, x order.Runner, p plan.Plan, s *delivery.Started) error {
	for n := c.ledger.LastRun() + 1; ; n++ {
		s.ID = fmt.Sprintf("R%d", n)
		s.Branch = c.config.BranchOf(s.ID)
		free, err := x.Free(ctx, s.ID)
		if err != nil {
			return err
		}
		if !free || slices.ContainsFunc(p.Tasks, func(t plan.Task) bool {
			_, err := c.ledger.ItemNamed(order.ItemID(s.ID, t.ID))
			return err == nil
		}) {
			continue
		}
		made, err := x.MakeBranch(ctx, s.Branch, s.Base)
		switch {
		case err != nil || made:
			return err
		case c.config.BranchOf("") == s.Branch:
			return fmt.Errorf("%w: %s", errBranchTaken, s.Branch)
		}
	}
}
