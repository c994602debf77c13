package conductor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Sight says what a person is shown of a task that waits for their review.
func (c *Conductor) Sight(ctx context.Context, id string) (api.Sight, error) {
	subject, task, err := c.ledger.TaskNamed(id)
	if err != nil {
		return api.Sight{}, err
	}
	return c.sight(ctx, subject, task)
}

func (c *Conductor) sight(ctx context.Context, subject, task string) (api.Sight, error) {
	var r delivery.Run
	var part delivery.Part
	v := api.Sight{Task: task}
	c.ledger.WithRun(subject, func(run *delivery.Run) {
		r, v.Work = run.Copy(), order.ItemID(run.ID, task)
		part, v.Role = run.Awaited(run.Task(task))
		if p := run.Task(task).Item.Proposal; v.Role == delivery.RoleMerge {
			v.Commit, v.Tree, v.Base, v.Merge = p.Commit, p.Tree, p.Onto, p.Checked
		}
	})
	switch {
	case part != delivery.PartReview:
		return v, fmt.Errorf("%s: %w", safetext.Escape(v.Work), delivery.ErrNoReview)
	case c.runner == nil:
		return v, errNoDelivery
	case v.Role == delivery.RoleMerge:
		return v, nil
	}
	seen, err := c.at(r.Home).Sight(ctx, r, task)
	v.Commit, v.Tree, v.Base = seen.Commit, seen.Tree, seen.Base
	return v, err
}

// Review takes a person's verdict on a task. It is on what they were shown, and on nothing that came since.
func (c *Conductor) Review(ctx context.Context, actor, id string, v api.Verdict, key string) (api.Run, error) {
	subject, task, err := c.ledger.TaskNamed(id)
	if err != nil {
		return api.Run{}, err
	}
	key = cmp.Or(key, rand.Text())
	if c.heard(subject, task, key) {
		return c.ledger.ShowRun(subject)
	}
	now, err := c.sight(ctx, subject, task)
	if err != nil {
		return api.Run{}, err
	}
	if v.Role != now.Role || v.Commit != now.Commit || v.Tree != now.Tree || v.Base != now.Base {
		return api.Run{}, fmt.Errorf("%s: %w", safetext.Escape(now.Work), delivery.ErrOtherNow)
	}
	if now.Role == delivery.RoleMerge {
		return c.approve(ctx, actor, subject, v, now, key)
	}
	signal, err := signalOf(task, now.Role, v)
	if err != nil {
		return api.Run{}, err
	}
	in := delivery.Review{Actor: actor, Task: task, Role: now.Role, Shown: work.Seen{Commit: now.Commit, Tree: now.Tree, Base: now.Base}, Key: key}
	if in.Signal, in.Said, err = c.hear(signal); err != nil {
		return api.Run{}, err
	}
	return c.say(ctx, subject, in)
}

// approve takes a person's word on a merge that was proposed to them.
func (c *Conductor) approve(ctx context.Context, actor, subject string, v api.Verdict, shown api.Sight, key string) (api.Run, error) {
	comments, err := commentsOf(v)
	if err != nil {
		return api.Run{}, err
	}
	in := delivery.Approval{Actor: actor, Task: shown.Task, Commit: v.Commit, Onto: v.Base, Tree: v.Tree, Accept: v.Accept, Key: key}
	if !v.Accept {
		in.Reason = c.ledger.Redact("- " + strings.Join(comments, "\n- "))
	}
	return c.say(ctx, subject, in)
}

// commentsOf returns the comments of a verdict: those of one that sends work back, which has some.
func commentsOf(v api.Verdict) ([]string, error) {
	comments := commentLines(v.Comments)
	switch {
	case v.Accept && len(comments) > 0:
		return nil, errAcceptComments
	case !v.Accept && len(comments) == 0:
		return nil, errNoComment
	}
	return comments, nil
}

// heard reports whether a person's word with this key is recorded.
func (c *Conductor) heard(subject, task, key string) (heard bool) {
	c.ledger.WithRun(subject, func(r *delivery.Run) {
		if t := r.Task(task); t != nil {
			heard = len(t.Item.Recorded(key)) > 0
		}
	})
	return heard
}

// signalOf is what a role's agent would say.
func signalOf(task string, role agentsig.Role, v api.Verdict) (agentsig.Signal, error) {
	comments, err := commentsOf(v)
	s := agentsig.Signal{Kind: agentsig.KindReviewPassed, Subject: task}
	list := "Issues Found"
	if role == agentsig.RoleAuditor {
		s.Kind, list = agentsig.KindAuditPassed, "Failed Criteria"
	}
	if v.Accept || err != nil {
		return s, err
	}
	if s.Kind = agentsig.KindReviewFailed; role == agentsig.RoleAuditor {
		s.Kind = agentsig.KindAuditFailed
	}
	s.Payload = list + ":\n- " + strings.Join(comments, "\n- ")
	return s, nil
}

// commentLines returns the lines of comments that say something.
func commentLines(comments []string) []string {
	var lines []string
	for _, c := range comments {
		for line := range strings.Lines(c) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return slices.DeleteFunc(lines, func(s string) bool { return s == "" })
}

// hear makes of a person's signal what is recorded of an agent's.
func (c *Conductor) hear(s agentsig.Signal) (agentsig.Signal, work.Said, error) {
	wire, err := s.Wire()
	if err != nil {
		return s, work.Said{}, box.BadRequest{Err: fmt.Errorf("what you say can't be told from signals in it: %w", err)}
	}
	return c.ledger.Hear(api.SaidSignal{Wire: wire})
}

// Take gives a task to a person, and makes its worktree ready.
func (c *Conductor) Take(ctx context.Context, actor, id string) (api.Taken, error) {
	subject, task, err := c.ledger.TaskNamed(id)
	if err != nil {
		return api.Taken{}, err
	}
	if _, err := c.say(ctx, subject, delivery.Take{Actor: actor, Task: task}); err != nil {
		return api.Taken{}, err
	}
	v := api.Taken{Task: task}
	var r delivery.Run
	c.ledger.WithRun(subject, func(run *delivery.Run) {
		r, v.Work, v.Session = run.Copy(), order.ItemID(run.ID, task), run.Task(task).Item.Session()
	})
	v.Worktree, err = c.at(r.Home).Room(ctx, r, task)
	return v, err
}

// Give hands in a task that a person has taken: to the gate, or back to agents.
func (c *Conductor) Give(ctx context.Context, actor, id string, g api.Give, key string) (api.Run, error) {
	subject, task, err := c.ledger.TaskNamed(id)
	if err != nil {
		return api.Run{}, err
	}
	if g.Back && g.NoChange != "" {
		return api.Run{}, errBackNoChange
	}
	in := delivery.Give{Actor: actor, Task: task, Back: g.Back, Key: cmp.Or(key, rand.Text())}
	text := strings.Join(commentLines([]string{g.Text}), "\n")
	if g.Back {
		in.Text = c.ledger.Redact(text)
		return c.say(ctx, subject, in)
	}
	s := agentsig.Signal{Kind: agentsig.KindReadyForReview, Subject: task}
	var fields []string
	if text != "" {
		fields = append(fields, "Summary: "+text)
	}
	if reason := strings.Join(commentLines([]string{g.NoChange}), " "); reason != "" {
		fields = append(fields, agentsig.KeyNoChange+": "+reason)
	}
	s.Payload = strings.Join(fields, "\n")
	if in.Signal, in.Said, err = c.hear(s); err != nil {
		return api.Run{}, err
	}
	if in.Commit, err = c.commitGiven(ctx, subject, task, in); err != nil {
		return api.Run{}, err
	}
	return c.say(ctx, subject, in)
}

// commitGiven commits what a person hands in, so that it is what is judged, whenever that is and whatever becomes of the worktree until
// then. What can't be handed in is refused when it is decided upon.
func (c *Conductor) commitGiven(ctx context.Context, subject, task string, in delivery.Give) (string, error) {
	var r *delivery.Run
	c.ledger.WithRun(subject, func(run *delivery.Run) {
		if t := run.Task(task); t != nil && t.Taken() && len(t.Item.Recorded(in.Key)) == 0 {
			kept := run.Copy()
			r = &kept
		}
	})
	if r == nil || c.runner == nil {
		return "", nil
	}
	commit, files, err := c.at(r.Home).Commit(ctx, *r, task)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("%w: %w", errNotGiven, err)
	case files == 0 && in.Said.NoChange() == "":
		return "", fmt.Errorf("%s: %w", task, errNothingGiven)
	}
	return commit, nil
}

// Why what a person hands in is refused, or their verdict.
var (
	errNotGiven       = errors.New("what is in the worktree can't be handed in, and nothing was recorded")
	errNothingGiven   = errors.New("nothing is changed in its worktree: if nothing has to be, say why (--no-change REASON); to leave it to agents, give it back (--back)")
	errNoComment      = errors.New("say what has to be changed: a comment, as path:line: text")
	errBackNoChange   = errors.New("a task goes back to agents, or is handed in because nothing has to be changed: one of them")
	errAcceptComments = errors.New("comments go with work that is sent back: accept it, or reject it with them")
)
