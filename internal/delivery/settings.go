package delivery

import (
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// Settings are what a run was started with. They are recorded with it.
type Settings struct {
	Roles   map[agentsig.Role]Role `json:"roles"` // a role that is not there is played by nobody
	Experts []string               `json:"experts,omitempty"`
	Limits  Limits                 `json:"limits"`
	Budget  Budget                 `json:"budget"`
	Publish bool                   `json:"publish,omitempty"` // a pull request is opened at the end
	Rework  Rework                 `json:"rework,omitempty"`  // resumed if it is empty
	Gate    string                 `json:"gate,omitempty"`    // on which machine: another than the developer's if it is empty; [GateAny] or [GateHome]
	Approve string                 `json:"approve,omitempty"` // [Person] if a person approves each merge before it is made

	Unaudited Unaudited `json:"unaudited,omitempty"` // why the run has no auditor; empty if it has one, as all had before this was recorded

	Protection  Protection `json:"protection,omitempty"`  // empty if a version started it that did not record this
	Unprotected []string   `json:"unprotected,omitempty"` // which verdicts could be forged, in words
}

// Role says who plays a role.
type Role struct {
	Agent    string `json:"agent"`
	Provider string `json:"provider"`          // whose usage limit it shares
	AtOnce   int    `json:"at_once,omitempty"` // 0: no limit but that of all agents

	Labels []string `json:"labels,omitempty"` // that a machine has on which it is started
}

// Limits bound what a run does by itself.
type Limits struct {
	Agents            int           `json:"agents"` // at once
	Answer            time.Duration `json:"answer"` // to a request for progress
	Reviews           int           `json:"reviews"`
	Audits            int           `json:"audits"`
	Gates             int           `json:"gates"` // failed gates; and failed merges, by a count of their own
	Crashes           int           `json:"crashes"`
	Timeouts          int           `json:"timeouts"`
	Unknown           int           `json:"unknown"`         // outputs in a row without a signal that counts
	Obstacles         int           `json:"obstacles"`       // tasks given back, or blocked by the environment
	ExpertRequests    int           `json:"expert_requests"` // of one session
	ExpertAttempts    int           `json:"expert_attempts"` // at one request
	ExpertAtOnce      int           `json:"expert_at_once"`  // requests of one expert
	RemediationRounds int           `json:"remediation_rounds"`
	ConflictWait      time.Duration `json:"conflict_wait"`
	ConflictRetries   int           `json:"conflict_retries"`
	ProviderPause     time.Duration `json:"provider_pause"`            // if a provider does not say when its limit ends
	ContextPercent    int           `json:"context_percent,omitempty"` // how full a conversation is that is not gone on with; 0 for no bound
}

// DefaultLimits are the limits if nothing else is set.
func DefaultLimits() Limits {
	return Limits{
		Agents: 5, Answer: 30 * time.Second,
		Reviews: 3, Audits: 3, Gates: 3, Crashes: 3, Timeouts: 3, Unknown: 3, Obstacles: 3,
		ExpertRequests: 3, ExpertAttempts: 3, ExpertAtOnce: 2,
		RemediationRounds: 10, ConflictWait: 30 * time.Minute, ConflictRetries: 3, ProviderPause: 5 * time.Minute,
		ContextPercent: 75,
	}
}

// Usage is what agents have used up.
type Usage struct {
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"`
}

// Tokens returns the sum of both directions.
func (u Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// What one session can have used, at most.
const (
	maxTokens  = 1e12 // in each direction
	maxCostUSD = 1e6
)

// maxUsed is where sums stay: both directions together are a number still, and so is a cost in JSON.
const maxUsed = 1e18

// Check says whether one session can have used so much.
func (u Usage) Check() error {
	switch {
	case u.InputTokens < 0 || u.InputTokens > maxTokens || u.OutputTokens < 0 || u.OutputTokens > maxTokens:
		return fmt.Errorf("a session uses from 0 to %.0f tokens in each direction", maxTokens)
	case !(u.CostUSD >= 0 && u.CostUSD <= maxCostUSD):
		return fmt.Errorf("a session costs from 0 to %.0f USD", maxCostUSD)
	}
	return nil
}

// Add adds what else was used. Ledgers may have amounts that no session can use: what is less than
// nothing, or no number, adds nothing, and no sum gets too large to be added to.
func (u *Usage) Add(v Usage) {
	u.InputTokens = sum(u.InputTokens, v.InputTokens)
	u.OutputTokens = sum(u.OutputTokens, v.OutputTokens)
	u.CostUSD = sum(u.CostUSD, v.CostUSD)
}

// Larger has the larger of both for each count: two reports of the same, of which each may lack something.
func (u Usage) Larger(v Usage) Usage {
	return Usage{max(u.InputTokens, v.InputTokens), max(u.OutputTokens, v.OutputTokens), max(u.CostUSD, v.CostUSD)}
}

func sum[N int64 | float64](a, b N) N {
	if b > 0 {
		a = min(a+min(b, maxUsed), maxUsed)
	}
	return a
}
