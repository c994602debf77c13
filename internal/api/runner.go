package api

import (
	"context"
	"fmt"
	"time"
)

// NewRunner invites a runner.
type NewRunner struct {
	Name    string   `json:"name"`
	Labels  []string `json:"labels,omitempty"`
	TTLMS   int64    `json:"ttl_ms,omitempty"`  // of the invitation; 15 minutes if it is 0
	Address []string `json:"address,omitempty"` // where the runner finds the box; where it listens, if there is none
}

// Invitation is how a runner gets in. It is told once.
type Invitation struct {
	Name      string    `json:"name"`
	Line      string    `json:"line"` // for `signalbox runner join`
	ExpiresAt time.Time `json:"expires_at"`
}

// JoinRunner redeems an invitation. The key that the runner is known by from then on is that of the connection.
type JoinRunner struct {
	Secret string `json:"secret"`
}

// JoinedRunner is what a runner is told when it has joined.
type JoinedRunner struct {
	Name   string   `json:"name"`
	Labels []string `json:"labels,omitempty"`
}

// DrainRunner has a runner take nothing new.
type DrainRunner struct {
	DeadlineMS int64 `json:"deadline_ms,omitempty"` // after it, what is under way there is ended
	Back       bool  `json:"back,omitempty"`        // it takes work again
}

// The states of a runner.
const (
	RunnerInvited  = "invited" // it has not joined
	RunnerPresent  = "present"
	RunnerLost     = "lost" // it is not in contact
	RunnerDraining = "draining"
)

// Runner is a runner as people see it.
type Runner struct {
	Name         string     `json:"name"`
	Labels       []string   `json:"labels,omitempty"`
	State        string     `json:"state"`
	Protocol     int        `json:"protocol,omitempty"`       // that it speaks, if it was in contact
	Sessions     int        `json:"sessions"`                 // that it has
	Places       int        `json:"places,omitempty"`         // for sessions at once; 0 for no limit
	LastContactS *float64   `json:"last_contact_s,omitempty"` // seconds since; not there if it was not in contact since the box started
	Version      string     `json:"version,omitempty"`
	Agents       []string   `json:"agents,omitempty"`     // of the settings, whose programs it has
	Problem      string     `json:"problem,omitempty"`    // why it gets no work
	ExpiresAt    *time.Time `json:"expires_at,omitempty"` // of an invitation
	DrainBy      *time.Time `json:"drain_by,omitempty"`   // of one that is drained

	NotStarted bool       `json:"not_started,omitempty"` // it has joined since the box was started, and was not heard of
	LeftAt     *time.Time `json:"left_at,omitempty"`     // when it left as it should, with nothing under way
}

// Words say how a runner is: its state, or more exactly why it is lost.
func (r Runner) Words() string {
	switch {
	case r.LeftAt != nil:
		return "left"
	case r.NotStarted:
		return "joined"
	}
	return r.State
}

// Remark says why a runner gets no work, or no agents; nothing if it may.
func (r Runner) Remark() string {
	if there := r.State == RunnerPresent || r.State == RunnerDraining; r.Problem == "" && there && r.Protocol != 0 && r.LeftAt == nil && len(r.Agents) == 0 {
		return "it has none of the agents' programs"
	}
	return r.Problem
}

// NotListening says that no runner reaches a box, and what to do about it.
const NotListening = "this box does not listen for runners: set listen: ADDRESS:PORT in signalbox.yaml and start it again, or start it with `signalbox up --listen ADDRESS:PORT`"

// quiet is for how long nothing may be heard of a runner before people are told: a few times as long as it waits before it says again
// that it is there.
const quiet = 15 * time.Second

// Silence says for how long nothing was heard of a runner, or why; nothing if it was heard of just now, or has not joined.
func (r Runner) Silence() string {
	switch {
	case r.State == RunnerInvited:
		return ""
	case r.LeftAt != nil:
		return "at " + r.LeftAt.Local().Format("2006-01-02 15:04")
	case r.NotStarted:
		return "not started yet: `signalbox runner` on its machine"
	case r.LastContactS == nil:
		return "no contact since the box was started"
	}
	switch d := time.Duration(*r.LastContactS * float64(time.Second)); {
	case d < quiet:
		return ""
	case d < 2*time.Minute:
		return fmt.Sprintf("no contact for %d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("no contact for %d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("no contact for %d h", int(d.Hours()))
	}
}

// InviteRunner invites a runner.
func (c *Client) InviteRunner(ctx context.Context, r NewRunner) (Invitation, error) {
	return post[Invitation](ctx, c, "/v1/runners", NewKey(), r)
}

// JoinRunner redeems an invitation with the key of the client's connection.
func (c *Client) JoinRunner(ctx context.Context, j JoinRunner) (JoinedRunner, error) {
	return post[JoinedRunner](ctx, c, "/v1/runner/join", "", j)
}

// Runners lists the runners.
func (c *Client) Runners(ctx context.Context) ([]Runner, error) {
	return get[[]Runner](ctx, c, "/v1/runners")
}

// DrainRunner has a runner take nothing new, or take work again.
func (c *Client) DrainRunner(ctx context.Context, name string, d DrainRunner) (Runner, error) {
	return post[Runner](ctx, c, "/v1/runners/"+escapePath(name)+"/drain", NewKey(), d)
}

// RemoveRunner ends a runner, or withdraws its invitation.
func (c *Client) RemoveRunner(ctx context.Context, name string) (Runner, error) {
	return post[Runner](ctx, c, "/v1/runners/"+escapePath(name)+"/remove", NewKey(), nil)
}
