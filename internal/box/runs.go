package box

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// news is what happened to a run lately, in words.
type news struct {
	notices []api.Notice
	watch   []chan struct{} // whoever wants to know that there is more
}

// maxNotices is how many notices are kept of a run.
const maxNotices = 200

// foldRun takes an event on a run's own subject.
func (s *state) foldRun(seq uint64, e ledger.Event, stored []byte) error {
	run := s.runs[e.Subject]
	if run == nil {
		run = &delivery.Run{}
	}
	if err := run.Fold(seq, e, stored); err != nil {
		return err
	}
	if s.runs[e.Subject] == nil {
		s.count(run.ID, runName)
	}
	s.runs[e.Subject] = run
	s.tell(run, seq, e)
	return nil
}

var errNoRun = errors.New("there is no such run")

// runName is the form of a run's name.
const runName = "R%d"

// tell passes on that something happened to a run.
func (s *state) tell(run *delivery.Run, seq uint64, e ledger.Event) {
	n := s.newsOf(run.Subject)
	if !dull(e) {
		n.notices = append(n.notices, api.Notice{Sequence: seq, At: e.Time, Text: delivery.Words(e, run.NameOf), Grave: grave(e.Type)})
	}
	if e.Type == delivery.RunStarted && len(run.Settings.Unprotected) > 0 {
		n.notices = append(n.notices, api.Notice{Sequence: seq, At: e.Time, Text: delivery.NotProtected(run.Settings.Unprotected)})
	}
	if w := run.Settings.Unaudited.Words(); e.Type == delivery.RunStarted && w != "" {
		n.notices = append(n.notices, api.Notice{Sequence: seq, At: e.Time, Text: w})
	}
	if len(n.notices) > maxNotices {
		n.notices = slices.Delete(n.notices, 0, len(n.notices)-maxNotices)
	}
	n.changed()
	if s.conductor != nil { // nil while the past is being read
		s.conductor.Moved(run.Subject)
	}
}

func (s *state) newsOf(subject string) *news {
	n := s.news[subject]
	if n == nil {
		n = &news{}
		s.news[subject] = n
	}
	return n
}

func (n *news) changed() {
	for _, w := range n.watch {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// dull reports whether an event says nothing new to a person: that an agent ended
// which had said its last word, or that something it was to be told has reached it.
func dull(e ledger.Event) bool {
	var p delivery.Ended
	return e.Type == delivery.PromptDelivered ||
		e.Type == delivery.SessionEnded && json.Unmarshal(e.Payload, &p) == nil && p.How == delivery.Done
}

// grave reports whether a person should see an event of this type.
func grave(event string) bool {
	switch event {
	case delivery.QuestionAsked, delivery.SignalFailure, delivery.SignalRefused, delivery.CheckoutTouched, delivery.PermissionDenied,
		delivery.RemediationStarted, delivery.ProviderPaused, delivery.ProtectionLost:
		return true
	}
	return false
}

// withRun calls f with a run, under the lock; f must not keep it. It reports
// whether there is one.
func (s *state) withRun(subject string, f func(*delivery.Run)) bool {
	_ = s.bring(subject) // what can't be found out has stopped the box
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.runs[subject]
	if run != nil {
		f(run)
	}
	return run != nil
}

// lastRun returns the largest number of a run.
func (s *state) lastRun() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.madeUp[runName]
}

// nameOf returns what people call a subject: the id of an item, a run or a conversation.
func (s *state) nameOf(subject string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[subject]; r != nil {
		return r.ID
	}
	if i := s.items[subject]; i != nil {
		return i.ID
	}
	if c := s.conversations[subject]; c != nil {
		return c.ID
	}
	if s.past == nil {
		return ""
	}
	r, _, err := s.past.index.Get(subject)
	if err != nil {
		_ = s.past.trouble(err)
	}
	return r.ID
}

// exact returns the item with this name.
func (s *state) exact(id string) (work.Item, error) {
	if err := s.bringNamed(id); err != nil {
		return work.Item{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.items[s.ids[id]]; i != nil {
		return *i, nil
	}
	return work.Item{}, work.ErrNoItem
}

// runSubjects returns the subjects of all runs that are in memory.
func (s *state) runSubjects() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.runs))
}

// liveRuns returns the subjects of the runs that go on.
func (s *state) liveRuns() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for subject, run := range s.runs {
		if run.Live() {
			all = append(all, subject)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(s.runs[a].First, s.runs[b].First) })
	return all
}

// runNamed returns the subject of the run with this id; of the latest if it is
// empty.
func (s *state) runNamed(id string) (string, error) {
	if err := s.bringRun(id); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *delivery.Run
	for _, run := range s.runs {
		if (id == "" || run.ID == id) && (found == nil || found.First < run.First) {
			found = run
		}
	}
	if found == nil {
		return "", fmt.Errorf("%w: %s", errNoRun, safetext.Escape(cmp.Or(id, "none was started yet")))
	}
	return found.Subject, nil
}

// taskNamed finds a task that is to be changed by its item's id, or by its own, as taskOf does.
func (s *state) taskNamed(id string) (run, task string, err error) {
	i, err := s.itemOf(id)
	byHand := err == nil
	switch {
	case err == nil && i.Run != "":
		return i.Run, i.Task, nil
	case err != nil && !errors.Is(err, work.ErrNoItem):
		return "", "", err
	}
	if err := s.bringTask(id); err != nil {
		return "", "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.taskOf(id, toChange)
	switch {
	case err != nil:
		return "", "", err
	case t != nil:
		return t.Item.Run, t.ID, nil
	case byHand:
		return "", "", fmt.Errorf("%s: %w", safetext.Escape(id), ErrByHand)
	}
	return "", "", fmt.Errorf("%w: %s", delivery.ErrNoTask, safetext.Escape(id))
}

// itemOf returns the item with this name, or the task that waits for a person under this name, as the inbox has it, now.
func (s *state) itemOf(id string) (work.Item, error) {
	i, err := s.exact(id)
	if !errors.Is(err, work.ErrNoItem) {
		return i, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		for _, a := range waiting(r) {
			if a.shown.ID == id && !a.shown.Asks() {
				return r.Task(a.shown.Task).Item, nil
			}
		}
	}
	return work.Item{}, err
}

// purpose is what somebody names a task for.
type purpose int

const (
	toLook purpose = iota
	toChange
)

// severalTasks refuses to change a task by an id that several have whose runs go on.
type severalTasks struct {
	id    string
	items []string // their ids, oldest first
}

func (e *severalTasks) Error() string {
	const most = 5 // are named
	named := e.items
	more := ""
	if len(named) > most {
		named, more = named[:most], fmt.Sprintf(" or one of %d more", len(e.items)-most)
	}
	return fmt.Sprintf("%s is a task of %d runs that have not ended: name %s%s", safetext.Escape(e.id), len(e.items), safetext.Escape(strings.Join(named, " or ")), more)
}

// taskOf returns the task with this id in a run that goes on, or else in the latest that has ended; nil if there is
// none. Of several in runs that go on it returns the latest to who looks; who changes something has to say which one.
// The caller holds the lock.
func (s *state) taskOf(id string, why purpose) (*delivery.Task, error) {
	var live, ended []*delivery.Run
	for _, r := range s.runs {
		switch {
		case r.Task(id) == nil:
		case r.Live():
			live = append(live, r)
		default:
			ended = append(ended, r)
		}
	}
	oldest := func(a, b *delivery.Run) int { return cmp.Compare(a.First, b.First) }
	slices.SortFunc(live, oldest)
	if why == toChange && len(live) > 1 {
		several := &severalTasks{id: id}
		for _, r := range live {
			several.items = append(several.items, r.Task(id).Item.ID)
		}
		return nil, several
	}
	switch {
	case len(live) > 0:
		return live[len(live)-1].Task(id), nil
	case len(ended) > 0:
		return slices.MaxFunc(ended, oldest).Task(id), nil
	}
	return nil, nil
}

// showRun returns a run as people see it. The rest is what the rim knows.
func (b *Box) showRun(subject string) (api.Run, error) {
	s := b.state
	if err := s.bring(subject); err != nil {
		return api.Run{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[subject]
	if r == nil {
		return api.Run{}, errNoRun
	}
	at := b.moment(r.Home)
	v := api.Run{
		Home: homeOf(r, s.members),
		ID:   r.ID, Subject: subject, Title: r.Title, State: b.runState(r, at), Branch: r.Branch, Base: r.Base, StartedAt: r.At, FinishedAt: r.FinishedAt,
		AtOnce: r.Settings.Limits.Agents, Checks: r.Checks, Round: r.Remediation.Round, Usage: r.Used, Budget: r.RunBudget(),
		Unprotected: append([]string{}, r.Exposed()...), Unaudited: r.Settings.Unaudited.Words(), Unchecked: r.Unchecked(), Tasks: []api.Task{}, Others: []api.Agent{}, Questions: []api.Question{}, Sequence: s.folded,
		Notices: append([]api.Notice{}, s.newsOf(subject).notices...),
	}
	if r.Finished != nil {
		v.Outcome = r.Finished.Outcome
	}
	if p := r.Publication; p != nil {
		v.PullRequest, v.Unpublished = p.URL, p.Problem
	}
	v.Distrust = r.Distrust
	if r.Remediation.Stage != "" {
		v.Trouble = r.Remediation.Cause
	}
	for _, m := range r.Repairs {
		names := append([]string{}, m.Merged.Names...)
		v.Repairs = append(v.Repairs, api.Repair{Commit: m.Merged.Commit, Merge: m.Merged.Merge, Files: m.Merged.Files, Names: names, MergedAt: m.At})
	}
	for _, t := range r.Tasks {
		v.Tasks = append(v.Tasks, b.showTask(r, t, at))
	}
	for _, a := range r.Sessions {
		if a.Working() {
			v.Agents++
		}
		if !a.Holds() {
			v.Others = append(v.Others, b.showAgent(a))
		}
	}
	slices.SortFunc(v.Others, func(a, b api.Agent) int { return cmp.Compare(a.Session, b.Session) })
	v.Questions = append(v.Questions, Waiting(r)...)
	for name, until := range r.Waits {
		if until.After(at.Now) {
			v.Providers = append(v.Providers, api.Provider{Name: name, Until: until})
		}
	}
	slices.SortFunc(v.Providers, func(a, b api.Provider) int { return cmp.Compare(a.Name, b.Name) })
	return v, nil
}

// homeOf is the box in whose directory a run was started; "" if its ledger is one box's alone. While it was, none was recorded.
func homeOf(r *delivery.Run, m access.Members) string {
	if len(m.All) == 0 {
		return ""
	}
	return cmp.Or(r.Home, m.Founder)
}

// moment is what decisions about runs with a home are made by now, besides what is recorded. The caller holds the state's lock.
func (b *Box) moment(home string) delivery.Moment {
	at := delivery.Moment{Now: b.now()}
	if c := b.state.conductor; c != nil {
		if machines := c.Machines(home); machines != nil {
			sessions := map[string]int{}
			for _, r := range b.state.runs {
				if r.Live() {
					r.CountOn(sessions, home)
				}
			}
			at.Machines = delivery.Loaded(machines, sessions)
		}
	}
	return at
}

func (b *Box) runState(r *delivery.Run, at delivery.Moment) api.RunState {
	switch {
	case !r.Live():
		return api.RunFinished
	case r.Stopping != "":
		return api.RunEnding
	case r.Paused && r.Distrust == "":
		return api.RunPaused
	case r.WaitsForPerson(at):
		return api.RunWaiting
	case r.Paused:
		return api.RunPaused // others are at work yet
	case b.state.conductor != nil && b.state.conductor.Draining():
		return api.RunStopped
	}
	return api.RunRunning
}

func (b *Box) showTask(r *delivery.Run, t *delivery.Task, at delivery.Moment) api.Task {
	v := api.Task{
		ID: t.ID, Work: t.Item.ID, Title: t.Item.Title, Phase: t.Item.Phase, BlockedBy: t.BlockedBy, Why: waitOf(r, t, at), Since: t.Since,
		Rework: t.Count.Reviews + t.Count.Audits + t.Count.Gates + t.Count.Unchanged, GateFailed: t.Count.Gates, Usage: t.Used, Budget: r.TaskBudget(t),
		Protection: r.Protection(t), Unaudited: r.Unaudited(t), GivenUp: r.GivenUp(t),
	}
	if t.Item.Unchanged() {
		v.NoChange = t.Item.NoChange
	}
	if a := r.SessionOf(t.ID); a != nil {
		shown := b.showAgent(a)
		v.Agent = &shown
	} else if claimed(t) {
		v.Agent = &api.Agent{Session: t.Item.Session(), Role: t.Item.Lease.Role, Name: t.Item.Lease.Actor, Task: t.ID, StartedAt: t.Since}
	}
	if words := v.Why.Words(r, t, at); words != "" {
		v.Waits = api.Waiting{Reason: v.Why, Since: r.WaitsSince(t), Text: words, Nowhere: v.Why == delivery.WaitRunner && r.Nowhere(t, at)}
	}
	return v
}

// waitOf returns why nobody is started on a task now.
func waitOf(r *delivery.Run, t *delivery.Task, at delivery.Moment) delivery.Wait {
	why := r.Why(t, at)
	if why == delivery.WaitSession && r.SessionOf(t.ID) == nil && !claimed(t) { // the last one was stopped
		return delivery.WaitAgents
	}
	return why
}

// claimed reports whether somebody has claimed a task by hand.
func claimed(t *delivery.Task) bool { return t.Item.Lease != nil && t.Item.Lease.Agent == "" }

func (b *Box) showAgent(a *delivery.Session) api.Agent {
	v := api.Agent{Session: a.ID, Role: a.Role, Name: a.Agent, Runner: a.Runner, Task: a.Task, StartedAt: a.Started, Waiting: a.Waiting, Ending: a.Over}
	v.Away = true
	if c := b.state.conductor; c != nil {
		v.Says, v.QuietFrom, v.Away = c.Seen(a.ID)
	}
	if a.Prompt != nil {
		v.Asked = string(a.Prompt.Ask)
	}
	return v
}

// ShowQuestion returns a question as people see it.
func ShowQuestion(r *delivery.Run, q *delivery.Asked) api.Question {
	return api.Question{
		ID: q.ID, Kind: api.KindQuestion, Run: r.ID, Task: q.Task, Cause: q.Cause, Text: q.Text, Context: q.Context, Choices: q.Choices, AskedAt: q.At,
	}
}

// awaiting is something that waits for a person, and the ledger's sequence since which it does.
type awaiting struct {
	seq   uint64
	shown api.Question
}

// Waiting returns what of a run waits for a person: its open questions, and tasks that they have a part in, oldest first.
func Waiting(r *delivery.Run) []api.Question { return oldestFirst(waiting(r)) }

func waiting(r *delivery.Run) (all []awaiting) {
	if !r.Live() {
		return nil
	}
	for _, q := range r.Open() {
		all = append(all, awaiting{q.Seq, ShowQuestion(r, q)})
	}
	for _, t := range r.Tasks {
		if part, role := r.Awaited(t); part != "" {
			since := t.Moved
			if role == delivery.RoleMerge {
				since = t.Item.Proposal.Seq
			}
			all = append(all, awaiting{since, api.Question{
				ID: fmt.Sprintf("%s/%d", t.Item.ID, since), Kind: string(part), Run: r.ID, Task: t.ID, Work: t.Item.ID, Role: role,
				Text: part.Words(role) + ": " + t.Item.Title, AskedAt: t.Since,
			}})
		}
	}
	return all
}

// oldestFirst returns what waits, oldest first.
func oldestFirst(all []awaiting) []api.Question {
	slices.SortFunc(all, func(a, b awaiting) int { return cmp.Compare(a.seq, b.seq) })
	shown := make([]api.Question, len(all))
	for i, a := range all {
		shown[i] = a.shown
	}
	return shown
}

// Run returns a run by its id, which may be [api.LatestRun].
func (b *Box) Run(id string) (api.Run, error) {
	find := b.state.runNamed
	if id == api.LatestRun {
		find = func(string) (string, error) { return b.state.latestRun() }
	}
	subject, err := find(id)
	if err != nil {
		return api.Run{}, err
	}
	return b.showRun(subject)
}

// Questions lists what waits for a person, oldest first.
func (b *Box) Questions() []api.Question {
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	all := b.state.byHand()
	for _, r := range b.state.runs {
		all = append(all, waiting(r)...)
	}
	return oldestFirst(all)
}

// byHand returns what is asked about work that stands alone. The caller holds the lock.
func (s *state) byHand() (all []awaiting) {
	for subject := range s.asking {
		i := s.items[subject]
		all = append(all, awaiting{i.Wait.Seq, *ShowWait(*i)})
	}
	return all
}
