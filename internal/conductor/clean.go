package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Clean tells what is left of runs, and removes what may go: what is merged, what is older or more than the settings
// keep, and, if that is asked for, work that is nowhere else. Nothing of a run goes that goes on.
func (c *Conductor) Clean(ctx context.Context, actor string, q api.Clean) (api.Cleaned, error) {
	if c.runner == nil {
		return api.Cleaned{}, errNoDelivery
	}
	unlock, err := c.cleaning.Lock(ctx, struct{}{})
	if err != nil {
		return api.Cleaned{}, err
	}
	defer unlock()
	all, err := c.survey(ctx)
	if err != nil {
		return api.Cleaned{}, err
	}
	judge(all, c.config.Keep, asked{clean: true, unmerged: q.Unmerged, runs: q.Runs}, c.now())
	homes := c.runner.Homes(ctx)
	if len(q.Runs) > 0 { // the rest is only looked at for how much is kept
		all = slices.DeleteFunc(all, func(p *remains) bool { return !slices.Contains(q.Runs, p.run.ID) })
		if !slices.Contains(q.Runs, "") {
			homes = 0
		}
	}
	if q.Remove {
		for _, r := range all {
			_ = c.remove(ctx, r, actor) // it is told with the rest
		}
	}
	return report(all, q.Remove, homes), ctx.Err()
}

// keep removes what is older or more than the settings keep. What can't be removed now is tried again after the
// next run.
func (c *Conductor) keep(ctx context.Context) {
	unlock, err := c.cleaning.Lock(ctx, struct{}{})
	if err != nil {
		return
	}
	defer unlock()
	all, err := c.overdue(ctx)
	if err == nil {
		judge(all, c.config.Keep, asked{}, c.now())
		for _, r := range all {
			err = errors.Join(err, c.remove(ctx, r, work.BoxActor))
		}
	}
	if err != nil && ctx.Err() == nil {
		c.logger.Warn("what is kept no longer was not removed", "error", err)
	}
}

// remains is what is left of a task of a run, or of what the run has besides.
type remains struct {
	run     *ended
	task    string
	done    bool // completed; of what a run has besides, all of it was
	left    *order.Left
	records []order.Record

	work, said fate   // on what is left, and on the records
	by         string // whose word it is
	failed     [2]error
}

// ended is a run that something is left of.
type ended struct {
	delivery.Run
	known bool // by the ledger
	live  bool
}

// fate is what becomes of something, and why.
type fate struct {
	act act
	why string
}

type act int

const (
	stay    act = iota
	putAway     // a worktree goes, and all that is in it is on its branch
	goes
)

// survey looks at all that is left of runs.
func (c *Conductor) survey(ctx context.Context) ([]*remains, error) {
	s := newSurvey(c)
	records, err := c.runner.Records(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		s.record(r)
	}
	ids, err := c.runner.RunsLeft(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := s.works(ctx, id, func(order.Left) bool { return true }); err != nil {
			return nil, err
		}
	}
	return s.all(), nil
}

// overdue looks at what may be older or more than the settings keep, and at no more: not at all that every run has
// left.
func (c *Conductor) overdue(ctx context.Context) ([]*remains, error) {
	s, k, now := newSurvey(c), c.config.Keep, c.now()
	records, err := c.runner.Records(ctx)
	if err != nil {
		return nil, err
	}
	var bytes int64
	for _, r := range records {
		bytes += r.Bytes
	}
	crowded := k.Megabytes > 0 && bytes > k.Bytes()
	for _, r := range records {
		if crowded || k.Transcripts > 0 && now.Sub(r.At) > k.Transcripts {
			s.record(r)
		}
	}
	if k.Worktrees == 0 {
		return s.all(), nil
	}
	ids, err := c.runner.RunsLeft(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if r := s.named(id); r.known && !r.live && now.Sub(r.FinishedAt) > k.Worktrees {
			if err := s.works(ctx, id, func(l order.Left) bool { return l.Worktree != "" }); err != nil {
				return nil, err
			}
		}
	}
	return s.all(), nil
}

// survey gathers what is left, by runs and tasks.
type survey struct {
	c    *Conductor
	runs map[string]*ended // by subject, and by id
	by   map[[2]string]*remains
}

func newSurvey(c *Conductor) *survey {
	return &survey{c: c, runs: map[string]*ended{}, by: map[[2]string]*remains{}}
}

// of returns a run, as it is now.
func (s *survey) of(subject string) *ended {
	r := s.runs[subject]
	if r == nil {
		r = &ended{}
		r.known = s.c.ledger.WithRun(subject, func(run *delivery.Run) { r.Run, r.live = run.Copy(), run.Live() })
		s.runs[subject] = r
	}
	return r
}

// named returns the run with an id.
func (s *survey) named(id string) *ended {
	subject, err := s.c.ledger.RunNamed(id)
	if err != nil {
		r := &ended{}
		r.ID = id // another box's, or one that is not recorded yet
		return r
	}
	return s.of(subject)
}

// part returns what is left of a task, for more to be added.
func (s *survey) part(r *ended, task string) *remains {
	key := [2]string{cmp.Or(r.Subject, r.ID), task}
	p := s.by[key]
	if p == nil {
		p = &remains{run: r, task: task}
		if t := r.Task(task); t != nil {
			p.done = t.Item.Phase == agentsig.PhaseCompleted
		} else {
			p.done = r.Finished != nil && r.Finished.Outcome == delivery.Completed
		}
		s.by[key] = p
	}
	return p
}

// record adds what a session said, or checks printed.
func (s *survey) record(rec order.Record) {
	r := s.of(s.c.ledger.RunOf(rec.Subject))
	task := ""
	for _, t := range r.Tasks {
		if t.Item.Subject == rec.Subject {
			task = t.ID
		}
	}
	p := s.part(r, task)
	p.records = append(p.records, rec)
}

// works adds those worktrees and branches of a run that are wanted. Those of a run that goes on are counted, and not
// looked at more closely: its agents are at work there.
func (s *survey) works(ctx context.Context, id string, wanted func(order.Left) bool) error {
	r := s.named(id)
	if !r.known || r.live {
		s.part(r, "").left = &order.Left{Branch: cmp.Or(r.Branch, id)}
		return nil
	}
	all, err := s.c.at(r.Home).Left(ctx, r.Run)
	for _, l := range all {
		if wanted(l) {
			s.part(r, l.Task).left = &l
		}
	}
	return err
}

// all returns what was gathered, in the order of runs and tasks.
func (s *survey) all() []*remains {
	var all []*remains
	for _, p := range s.by {
		all = append(all, p)
	}
	place := func(p *remains) int {
		return slices.IndexFunc(p.run.Tasks, func(t *delivery.Task) bool { return t.ID == p.task })
	}
	slices.SortFunc(all, func(a, b *remains) int {
		return cmp.Or(cmp.Compare(a.run.First, b.run.First), cmp.Compare(a.run.ID, b.run.ID), cmp.Compare(place(a), place(b)), cmp.Compare(a.task, b.task))
	})
	return all
}

// asked is what a person wants to go, besides what the settings do not keep.
type asked struct {
	clean    bool     // what is merged
	unmerged bool     // and what is not
	runs     []string // of these; of all if there are none
}

// judge decides what becomes of what is left.
func judge(all []*remains, k config.Keep, q asked, now time.Time) {
	var kept int64
	for _, p := range all {
		mine := q
		if len(q.runs) > 0 && !slices.Contains(q.runs, p.run.ID) {
			mine = asked{}
		}
		p.work, p.said = p.judgeWork(k, mine, now), p.judgeSaid(k, mine, now)
		if p.said.act == stay {
			kept += p.bytes()
		}
	}
	if k.Megabytes == 0 {
		return
	}
	for _, p := range all { // the oldest are first
		if kept <= k.Bytes() {
			return
		}
		if p.said.act == stay && p.over() {
			kept -= p.bytes()
			p.said = fate{goes, fmt.Sprintf("no more than %d MB are kept (keep.megabytes)", k.Megabytes)}
		}
	}
}

// bytes is how large the records are.
func (p *remains) bytes() (n int64) {
	for _, r := range p.records {
		n += r.Bytes
	}
	return n
}

// over reports whether what is left is of a run that has ended, and nobody speaks any more.
func (p *remains) over() bool {
	return p.run.known && !p.run.live && !slices.ContainsFunc(p.records, func(r order.Record) bool { return r.Live })
}

// stays says why something stays that is not over.
func (p *remains) stays() fate {
	if !p.run.known {
		return fate{stay, "it is of no run in this box's ledger"}
	}
	return fate{stay, "its run goes on"}
}

func (p *remains) judgeWork(k config.Keep, q asked, now time.Time) fate {
	l := p.left
	old := k.Worktrees > 0 && now.Sub(p.run.FinishedAt) > k.Worktrees
	switch {
	case l == nil:
		return fate{}
	case !p.over():
		return p.stays()
	case l.CheckedOut:
		return fate{stay, "you have it checked out"}
	case q.clean && l.Safe() && p.done:
		return fate{goes, "it is merged"}
	case q.clean && l.Safe():
		return fate{goes, "nothing in it is missing elsewhere"}
	case q.unmerged:
		return fate{goes, "it is not merged, and is to go all the same"}
	case old && l.Worktree != "" && l.Branch != "" && l.Unread == "":
		return fate{putAway, "worktrees are kept for " + days(k.Worktrees) + " (keep.worktrees), and branches for longer"}
	case l.Unread != "":
		return fate{stay, "it is not known what would be lost: " + l.Unread}
	case l.Aside:
		return fate{stay, "it is not in git"}
	case l.Safe():
		return fate{stay, ""}
	}
	return fate{stay, "it is not merged"}
}

func (p *remains) judgeSaid(k config.Keep, q asked, now time.Time) fate {
	switch {
	case len(p.records) == 0:
		return fate{}
	case !p.over():
		return p.stays()
	case q.clean && p.done:
		return fate{goes, "it is merged"}
	case q.unmerged:
		return fate{goes, "it is not merged, and is to go all the same"}
	case k.Transcripts > 0 && now.Sub(p.run.FinishedAt) > k.Transcripts:
		return fate{goes, "they are kept for " + days(k.Transcripts) + " (keep.transcripts)"}
	}
	return fate{stay, "it is not merged"}
}

// days writes a time in days, if it is a number of them.
func days(d time.Duration) string {
	if day := 24 * time.Hour; d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}

// maxNamed is how many sessions one event names.
const maxNamed = 100

// remove records what is about to be removed, and removes it.
func (c *Conductor) remove(ctx context.Context, p *remains, by string) error {
	p.by = by
	p.failed[0] = c.removeWork(ctx, p)
	if p.said.act == goes {
		for some := range slices.Chunk(p.records, maxNamed) {
			p.failed[1] = errors.Join(p.failed[1], c.removeRecords(ctx, p, some))
		}
	}
	return errors.Join(p.failed[:]...)
}

func (c *Conductor) removeWork(ctx context.Context, p *remains) error {
	said := delivery.Removed{Task: p.task, Reason: p.work.why}
	switch p.work.act {
	case putAway:
		said.Worktree = true
		if err := c.recordRemoved(ctx, p, said); err != nil {
			return err
		}
		return c.at(p.run.Home).PutAway(ctx, p.run.Run, *p.left)
	case goes:
		said.Worktree, said.Branch, said.Commit = p.left.Worktree != "", p.left.Branch, p.left.Commit
		if err := c.recordRemoved(ctx, p, said); err != nil {
			return err
		}
		return c.at(p.run.Home).Discard(ctx, p.run.Run, *p.left)
	}
	return nil
}

func (c *Conductor) removeRecords(ctx context.Context, p *remains, records []order.Record) error {
	said := delivery.Removed{Task: p.task, Reason: p.said.why}
	for _, r := range records {
		if r.Gate {
			said.Logs = append(said.Logs, r.Name)
		} else {
			said.Sessions = append(said.Sessions, r.Name)
		}
	}
	err := c.recordRemoved(ctx, p, said)
	for _, r := range records {
		if err != nil {
			break
		}
		err = c.at(p.run.Home).RemoveRecord(r)
	}
	return err
}

// recordRemoved records it on the run, which has ended: nobody else writes there.
func (c *Conductor) recordRemoved(ctx context.Context, p *remains, said delivery.Removed) error {
	return c.ledger.RecordRun(ctx, p.run.Subject, delivery.Event{Type: delivery.LeftoversRemoved, Actor: p.by, Payload: said})
}

// report tells what was found, and what became of it.
func report(all []*remains, removed bool, homes int64) api.Cleaned {
	out := api.Cleaned{Removed: removed, Left: []api.Leftover{}}
	add := func(p *remains, l api.Leftover, v fate, err error) {
		if p != nil {
			l.Run, l.Task = p.run.ID, p.task
		}
		l.Why, l.Goes = v.why, v.act == goes || v.act == putAway && l.Kind == api.LeftWorktree
		l.Removed = l.Goes && removed && err == nil
		if err != nil {
			l.Error = safetext.Escape(err.Error())
		}
		if l.Goes && err == nil {
			out.Bytes += l.Bytes
		}
		out.Left = append(out.Left, l)
	}
	for _, p := range all {
		if l := p.left; l != nil && l.Worktree != "" {
			add(p, api.Leftover{Kind: api.LeftWorktree, Name: l.Worktree, Count: 1, Bytes: l.Bytes, Uncommitted: l.Uncommitted}, p.work, p.failed[0])
		}
		if l := p.left; l != nil && l.Branch != "" {
			add(p, api.Leftover{Kind: api.LeftBranch, Name: l.Branch, Count: 1, Commit: l.Commit, Unmerged: l.Unmerged}, p.work, p.failed[0])
		}
		for _, kind := range []api.LeftoverKind{api.LeftTranscripts, api.LeftGateLogs} {
			l := api.Leftover{Kind: kind}
			for _, r := range p.records {
				if r.Gate == (kind == api.LeftGateLogs) {
					l.Count, l.Bytes = l.Count+1, l.Bytes+r.Bytes
				}
			}
			if l.Count > 0 {
				add(p, l, p.said, p.failed[1])
			}
		}
	}
	if homes > 0 {
		add(nil, api.Leftover{Kind: api.LeftHomes, Count: 1, Bytes: homes}, fate{stay, "the next run's checks begin with it"}, nil)
	}
	return out
}
