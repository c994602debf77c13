package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// Spec is what a session is to do. The box writes it before it starts the session.
// What is zero of the times and counts has a default.
type Spec struct {
	Session string             `json:"session"`
	Box     string             `json:"box"`             // the box's directory; empty for a session without one ([RunAlone])
	Token   string             `json:"token,omitempty"` // by which the session asks the box, and its agent must not
	Dir     string             `json:"dir"`             // the working directory: a worktree
	Role    agentsig.Role      `json:"role,omitempty"`
	Task    string             `json:"task,omitempty"` // what signals name: a task's or a request's id
	Phase   agentsig.Phase     `json:"phase,omitempty"`
	Nonce   string             `json:"nonce,omitempty"`
	Hosts   []string           `json:"hosts,omitempty"`
	Own     []agentsig.Own     `json:"own_signals,omitempty"` // line signals of the project's own
	Agent   agent.Config       `json:"agent"`
	Prompt  string             `json:"prompt"`
	Resume  *Resume            `json:"resume,omitempty"`
	Env     []string           `json:"env,omitempty"`   // NAME=value
	Allow   []agent.Permission `json:"allow,omitempty"` // what the agent may do besides reading

	// Confine is the sandbox that the agent's program runs in; nil for none. Nested is for the
	// commands that it starts, which are kept in more narrowly, within its own sandbox.
	Confine *sandbox.Policy `json:"confine,omitempty"`
	Nested  *sandbox.Policy `json:"nested,omitempty"`
	// Judges is for a role that judges another's work: the agent's program takes no settings
	// from the worktree.
	Judges    bool     `json:"judges,omitempty"`
	GitWrites []string `json:"git_writes,omitempty"` // directories outside Dir that git writes when the agent commits, for a program with a sandbox of its own

	Budget delivery.Allowance `json:"budget,omitzero"` // what the agent may use

	WallClock Duration `json:"wall_clock_ms,omitempty"` // how long a turn may take; 60 minutes
	Silence   Duration `json:"silence_ms,omitempty"`    // before the agent is asked for progress; 5 minutes
	Answer    Duration `json:"answer_ms,omitempty"`     // to say something then; 30 seconds
	Misses    int      `json:"misses,omitempty"`        // in a row, and it has stalled; 3
	Grace     Duration `json:"grace_ms,omitempty"`      // from TERM to KILL; 10 seconds
	Linger    Duration `json:"linger_ms,omitempty"`     // of silence after a terminal signal, and the turn is over; 2 seconds
	Orphan    Duration `json:"orphan_ms,omitempty"`     // for which the box may stay away; 1 hour

	// Asks has the session ask before it begins whether it still may: where several boxes share a ledger, one that led may have started it after
	// another has taken over. Between the answer and the start of the program nobody looks again.
	Asks bool `json:"asks,omitempty"`
}

// Duration is written as a number of milliseconds.
type Duration time.Duration

// MarshalJSON writes the milliseconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).Milliseconds())
}

// UnmarshalJSON reads the milliseconds.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var ms int64
	if err := json.Unmarshal(data, &ms); err != nil {
		return err
	}
	*d = Duration(time.Duration(ms) * time.Millisecond)
	return nil
}

// ErrBadSpec is returned for a spec that no session can carry out.
var ErrBadSpec = errors.New("the session can't be started as it is specified")

// validate names what is wrong with a spec.
func (s Spec) validate() error {
	wrong := ""
	switch {
	case s.Session == "":
		wrong = "it has no name"
	case !filepath.IsAbs(s.Dir):
		wrong = fmt.Sprintf("its working directory %q is not an absolute path", s.Dir)
	}
	if wrong != "" {
		return fmt.Errorf("%w: %s", ErrBadSpec, wrong)
	}
	_, err := agentsig.Extend(s.Own...)
	if err := cmp.Or(s.Agent.Check(), s.options().Validate(), s.Resume.check(s), err); err != nil {
		return fmt.Errorf("%w: %w", ErrBadSpec, err)
	}
	return nil
}

func (s Spec) options() agentsig.Options {
	own, _ := agentsig.Extend(s.Own...) // which was checked
	return agentsig.Options{Role: s.Role, Task: s.Task, Phase: s.Phase, Nonce: s.Nonce, Hosts: s.Hosts, Own: own}
}

// withDefaults fills in what is zero.
func (s Spec) withDefaults() Spec {
	for _, d := range []struct {
		field *Duration
		value time.Duration
	}{
		{&s.WallClock, time.Hour}, {&s.Silence, 5 * time.Minute}, {&s.Answer, 30 * time.Second},
		{&s.Grace, 10 * time.Second}, {&s.Linger, 2 * time.Second}, {&s.Orphan, time.Hour},
	} {
		if *d.field <= 0 {
			*d.field = Duration(d.value)
		}
	}
	if s.Misses <= 0 {
		s.Misses = 3
	}
	s.Agent = s.Agent.WithDefaults()
	return s
}

// Write makes a session's directory, with what it is to do.
func Write(dir string, s Spec) error {
	if err := s.validate(); err != nil {
		return err
	}
	for _, sub := range []string{outboxDir, tempDir, privateDir, nestDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	return writeJSON(filepath.Join(dir, specFile), s)
}

func readSpec(dir string) (Spec, error) {
	var s Spec
	if err := readJSON(filepath.Join(dir, specFile), maxSpec, &s); err != nil {
		return s, err
	}
	return s.withDefaults(), s.validate()
}

// agent is the part of the spec of a session in a directory that the agent's adapter goes by.
func (s Spec) agent(dir, mark string, left func() float64) agent.Spec {
	var resume delivery.Conversation
	if s.Resume != nil {
		resume = s.Resume.Conversation
	}
	return agent.Spec{
		Resume: resume,
		Agent:  s.Agent, Dir: s.Dir, Role: s.Role, Task: s.Task, Nonce: s.Nonce, Env: s.Env, Allow: s.Allow,
		Confine: s.Confine, Nested: s.Nested, Judges: s.Judges, GitWrites: s.GitWrites,
		Answer: time.Duration(s.Answer), Grace: time.Duration(s.Grace), Left: left,
		Marker: mark, Private: Private(dir), Nest: Nest(dir),
		Started: func(pid int, started string) error {
			return writeJSON(filepath.Join(dir, agentFile), leader{pid, started})
		},
	}
}

// Temp returns the directory for temporary files of a session's agent. It and [Private] are
// the only parts of the session's directory that a confined agent can write.
func Temp(dir string) string { return filepath.Join(dir, tempDir) }

// Private returns a directory for temporary files that an agent's program runs code from. The
// commands that it starts can't see it.
func Private(dir string) string { return filepath.Join(dir, privateDir) }

// Nest returns the directory that a confined agent runs commands through. It can be read by
// it, and not written.
func Nest(dir string) string { return filepath.Join(dir, nestDir) }
