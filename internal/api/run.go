package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// StartRun asks for a plan to be delivered. The same plan again is the same run,
// for as long as it has not ended.
type StartRun struct {
	Plan   string `json:"plan"`              // Markdown
	DryRun bool   `json:"dry_run,omitempty"` // nothing is recorded or started
	Path   string `json:"path,omitempty"`    // of its file: with its title, what the plan is known by
	Amend  bool   `json:"amend,omitempty"`   // if another version of it is being delivered, that run goes on with this one
	Beside bool   `json:"beside,omitempty"`  // or this one is delivered beside it
	Audit  string `json:"audit,omitempty"`   // auto, always or never, as in the settings, which hold if it is empty

	// Settings is the digest of the settings that the run is meant to go by. A box that goes by others starts and amends
	// none then. If it is empty, the box's own hold.
	Settings string `json:"settings,omitempty"`

	Home string `json:"-"` // the box that was asked, of those that share a ledger; no client says it
}

// Amendment is what another version of a plan makes of the run that delivers it. Ids are those of the run.
type Amendment struct {
	Run     string            `json:"run"`
	Done    int               `json:"done"` // tasks that are completed, and stay so
	New     []string          `json:"new"`
	Changed []string          `json:"changed"` // they begin anew
	Gone    []string          `json:"gone"`    // they are given up
	Renamed map[string]string `json:"renamed"` // what tasks of the plan are called in the run: those that were completed as they were before, or given up, are others
}

// MaxPlan is the largest plan, in bytes.
const MaxPlan = 1 << 20

// Run is a plan's run as people see it.
type Run struct {
	ID          string           `json:"id"`                // of a dry run: the run that delivers the same plan and goes on; empty if there is none
	Subject     string           `json:"subject,omitempty"` // of its events; a dry run has none
	Title       string           `json:"title"`
	State       RunState         `json:"state"`
	Outcome     delivery.Outcome `json:"outcome,omitempty"`
	Home        string           `json:"home,omitempty"` // the box in whose directory it was started, of those in a cluster; its branch is in that box's repository alone
	Branch      string           `json:"branch"`         // that work is merged to
	Base        string           `json:"base"`
	StartedAt   time.Time        `json:"started_at,omitzero"`
	FinishedAt  time.Time        `json:"finished_at,omitzero"`
	Agents      int              `json:"agents"`              // that work now
	AtOnce      int              `json:"at_once"`             // that may
	Checks      int              `json:"checks"`              // that the gate runs
	Unprotected []string         `json:"unprotected"`         // which verdicts could be forged, in words
	Unaudited   string           `json:"unaudited,omitempty"` // that no auditor looks at its tasks, and why, in words
	Unchecked   string           `json:"unchecked,omitempty"` // which checks every task passes whatever they say, because the operator declared the environment healthy, in words
	Tasks       []Task           `json:"tasks"`               // in the plan's order
	Others      []Agent          `json:"others"`              // agents that hold no task: remediation, health audit, a repair's critic, experts
	Questions   []Question       `json:"questions"`           // open ones
	Trouble     string           `json:"trouble,omitempty"`   // what remediation is about
	Round       int              `json:"round,omitempty"`
	Repairs     []Repair         `json:"repairs,omitempty"`      // of the environment, that were merged
	Providers   []Provider       `json:"providers,omitempty"`    // that are paused
	Distrust    string           `json:"distrust,omitempty"`     // why the box paused it, if it did, and what to do
	PullRequest string           `json:"pull_request,omitempty"` // its address, once it is opened
	Unpublished string           `json:"unpublished,omitempty"`  // why it could not be
	Usage       delivery.Usage   `json:"usage"`
	Budget      delivery.Spend   `json:"budget,omitzero"` // that it may use before a person is asked; no bound is 0
	Notices     []Notice         `json:"notices"`         // what happened last, oldest first
	Sequence    uint64           `json:"sequence"`
	Amends      *Amendment       `json:"amends,omitempty"`    // of a dry run: what it would make of a run that delivers another version of the plan
	Delivered   string           `json:"delivered,omitempty"` // of a dry run: the latest of the last runs that has completed the same plan
}

// RunState is what a run does.
type RunState string

// The states.
const (
	RunRunning  RunState = "running"
	RunWaiting  RunState = "waiting" // only a person can bring it on
	RunPaused   RunState = "paused"
	RunEnding   RunState = "ending"  // it was cancelled or halted, and its agents end
	RunStopped  RunState = "stopped" // no box is there to bring it on
	RunFinished RunState = "finished"
	RunDry      RunState = "dry_run"
)

// Task is a task of a run.
type Task struct {
	ID         string              `json:"id"`
	Work       string              `json:"work"` // its item's id
	Title      string              `json:"title"`
	Phase      agentsig.Phase      `json:"phase"`
	BlockedBy  []string            `json:"blocked_by,omitempty"`
	Why        delivery.Wait       `json:"why,omitempty"`   // why nobody is started on it now; empty if nothing is in the way
	Waits      Waiting             `json:"waits,omitzero"`  // the same for people; zero if nobody has to be told
	Agent      *Agent              `json:"agent,omitempty"` // that works on it
	Since      time.Time           `json:"since,omitzero"`
	Rework     int                 `json:"rework,omitempty"`      // how often it was sent back since a person looked at it
	GateFailed int                 `json:"gate_failed,omitempty"` // how often in a row the gate sent it back
	GivenUp    string              `json:"given_up,omitempty"`    // who gave it up and why, or with which task it was, in words
	NoChange   string              `json:"no_change,omitempty"`   // why it was completed without a change: the developer's claim, which the critic agreed to
	Unaudited  bool                `json:"unaudited,omitempty"`   // it was merged, or is about to be, and no auditor has looked at it
	Usage      delivery.Usage      `json:"usage"`
	Budget     delivery.Spend      `json:"budget,omitzero"` // that it may use before a person is asked; no bound is 0
	Protection delivery.Protection `json:"protection"`      // whether what judges it can't be spoken for
}

// Waiting is what a task waits for, for people.
type Waiting struct {
	Reason delivery.Wait `json:"reason"`
	Since  time.Time     `json:"since,omitzero"` // when it could first have been gone on with
	Text   string        `json:"text"`           // "for T-1", "for the gate", "for R1-Q1", "no runner has codex"

	// Nowhere says of what waits for a runner that none that is there could go on with it, however free it were.
	Nowhere bool `json:"nowhere,omitempty"`
}

// Sentence says it of a task: "waits for T-1", "waits: no runner has codex".
func (w Waiting) Sentence() string {
	switch {
	case w.Text == "" || w.Reason == delivery.WaitBlocked:
		return w.Text
	case w.Reason == delivery.WaitRunner || w.Reason == delivery.WaitHome:
		return "waits: " + w.Text
	}
	return "waits " + w.Text
}

// Agent is an agent at work.
type Agent struct {
	Session   string        `json:"session"`
	Role      agentsig.Role `json:"role"`
	Name      string        `json:"name"`
	Runner    string        `json:"runner,omitempty"` // that it works on; empty for the box's own machine
	Task      string        `json:"task,omitempty"`
	StartedAt time.Time     `json:"started_at,omitzero"`
	Says      string        `json:"says,omitempty"`      // the last line that it printed
	Asked     string        `json:"asked,omitempty"`     // what it was asked last: progress, signal …
	Waiting   string        `json:"waiting,omitempty"`   // the expert request that it waits for
	Away      bool          `json:"away,omitempty"`      // it is not in touch with the box
	QuietFrom time.Time     `json:"quiet_from,omitzero"` // when it was heard of last; zero if that is not known, or it waits for a tool
	Ending    string        `json:"ending,omitempty"`
}

// Provider is one whose usage limit pauses its agents.
type Provider struct {
	Name  string    `json:"name"`
	Until time.Time `json:"until"`
}

// Repair is what remediation committed, a critic passed and the run merged.
type Repair struct {
	Commit   string    `json:"commit"` // that was reviewed
	Merge    string    `json:"merge"`
	Files    int       `json:"files"` // that it changes
	Names    []string  `json:"names"` // of the first of them
	MergedAt time.Time `json:"merged_at"`
}

// Question waits for a person: to be answered, or to play their part in a task.
type Question struct {
	ID      string         `json:"id"`
	Kind    string         `json:"kind"`           // [KindQuestion], or a [delivery.Part]
	Run     string         `json:"run,omitempty"`  // empty if it is about work that stands alone
	Task    string         `json:"task,omitempty"` // the task, or the work
	Work    string         `json:"work,omitempty"` // the task's item, if it is a part
	Role    agentsig.Role  `json:"role,omitempty"` // that the person plays in a part; or that may claim the work to help, if no person answers first
	Cause   delivery.Cause `json:"cause,omitempty"`
	Text    string         `json:"text"`
	Context string         `json:"context,omitempty"`
	Choices []string       `json:"choices,omitempty"`
	AskedAt time.Time      `json:"asked_at"`
}

// Notice is something that happened, in words.
type Notice struct {
	Sequence uint64    `json:"sequence"`
	At       time.Time `json:"at"`
	Text     string    `json:"text"`
	Grave    bool      `json:"grave,omitempty"` // a person should see it
}

// Answer answers a question.
type Answer struct {
	Choice string `json:"choice,omitempty"`
	Text   string `json:"text,omitempty"`
}

// Message is an operator's word on a run or a task: a message, or a reason.
type Message struct {
	Text string `json:"text,omitempty"`
}

// Told says what became of a message.
type Told struct {
	Work string `json:"work"`          // the task's item, such as R1.T-1
	Now  bool   `json:"now"`           // the agent has it; if not, the next one on the task is told
	Why  string `json:"why,omitempty"` // it is not told now, in words; empty of a request that was answered before
}

// Deliver starts the delivery of a plan, or finds the run that does.
func (c *Client) Deliver(ctx context.Context, q StartRun) (Run, error) {
	return post[Run](ctx, c, "/v1/runs", NewKey(), q)
}

// LatestRun is the id of the latest run that has not ended, or of the latest if all have.
const LatestRun = "latest"

// Run returns a run.
func (c *Client) Run(ctx context.Context, id string) (Run, error) {
	return get[Run](ctx, c, runPath(id))
}

// FollowRun calls f with the run as it is, and again whenever it has changed, at
// most some times a second, until it has ended or ctx does.
func (c *Client) FollowRun(ctx context.Context, id string, f func(Run) error) error {
	err := stream(ctx, c, runPath(id)+"/watch", func(r Run) error {
		if err := f(r); err != nil {
			return err
		}
		if r.State == RunFinished {
			return errEnded
		}
		return nil
	})
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// PauseRun stops new starts, ResumeRun goes on, CancelRun ends the run.
func (c *Client) PauseRun(ctx context.Context, id string, m Message) (Run, error) {
	return post[Run](ctx, c, runPath(id)+"/pause", NewKey(), m)
}

// ResumeRun goes on with a run that was paused.
func (c *Client) ResumeRun(ctx context.Context, id string, m Message) (Run, error) {
	return post[Run](ctx, c, runPath(id)+"/resume", NewKey(), m)
}

// CancelRun ends a run.
func (c *Client) CancelRun(ctx context.Context, id string, m Message) (Run, error) {
	return post[Run](ctx, c, runPath(id)+"/cancel", NewKey(), m)
}

// Questions lists what waits for a person.
func (c *Client) Questions(ctx context.Context) ([]Question, error) {
	return get[[]Question](ctx, c, "/v1/questions")
}

// Answer answers a question.
func (c *Client) Answer(ctx context.Context, id string, a Answer) (Question, error) {
	return post[Question](ctx, c, "/v1/questions/"+escapePath(id)+"/answer", NewKey(), a)
}

// Tell gives a message to the agent on a task, or to the next one.
func (c *Client) Tell(ctx context.Context, work string, m Message) (Told, error) {
	return post[Told](ctx, c, workPath(work)+"/tell", NewKey(), m)
}

// CancelTask gives a task up.
func (c *Client) CancelTask(ctx context.Context, work string, m Message) (Run, error) {
	return post[Run](ctx, c, workPath(work)+"/cancel", NewKey(), m)
}

// RetryTask tries a task again, as if nothing had gone wrong with it.
func (c *Client) RetryTask(ctx context.Context, work string, m Message) (Run, error) {
	return post[Run](ctx, c, workPath(work)+"/retry", NewKey(), m)
}

// errEnded ends the watching of a run that has ended.
var errEnded = errors.New("the run has ended")

func runPath(id string) string { return "/v1/runs/" + escapePath(id) }

// stream calls f with each value that a box sends, until it sends no more.
func stream[T any](ctx context.Context, c *Client, path string, f func(T) error) error {
	resp, err := c.send(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	err = serverSent(resp.Body, func(data string) error {
		var v T
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			return fmt.Errorf("the box sent what can't be read: %w", err)
		}
		return f(v)
	})
	if err == nil {
		err = ErrNoBox // which went away before there was an end to see
	}
	return errors.Join(ctx.Err(), err)
}
