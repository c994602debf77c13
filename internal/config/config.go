// Package config reads signalbox.yaml, the settings of a box and of a delivery.
//
// The comment of a field is its description in docs/signalbox.schema.json.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/advice"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// File is the name that is looked for if none is given.
const File = "signalbox.yaml"

// Config is what can be set. Every setting has a default.
type Config struct {
	ExitProtocol bool              `yaml:"exit_protocol"` // act upon exit records, if the environment does not say otherwise
	Archive      Archive           `yaml:"archive"`       // where the archive lies: its directory, or settings for its parts and what it keeps; paths start at the file's own directory
	Listen       string            `yaml:"listen"`        // the address to listen on; one beyond this machine is served by TLS, beside one of this machine
	TLS          TLS               `yaml:"tls"`           // what is served by TLS, and with which certificate
	Hosts        []string          `yaml:"hosts"`         // hosts that a pull request's URL may name, besides the common forges
	Redact       []string          `yaml:"redact"`        // patterns (RE2) of secrets that must not be stored
	Agents       map[string]Agent  `yaml:"agents"`        // the programs that play roles, each by a name of your choice
	Roles        Roles             `yaml:"roles"`         // who plays what
	Experts      []string          `yaml:"experts"`       // names that EXPERT_REQUEST may target from the start
	Analyst      bool              `yaml:"analyst"`       // whether tasks start in DRAFT, and an analyst expands them first
	Sandbox      Sandbox           `yaml:"sandbox"`       // what keeps agents where they belong
	Rework       Rework            `yaml:"rework"`        // whether a developer whose work was sent back goes on in its own conversation (resumed), or begins afresh (fresh)
	Review       Review            `yaml:"review"`        // whether a run in a sandbox is refused if what a critic or an auditor runs could speak for it (protected), or not (unprotected)
	Audit        Audit             `yaml:"audit"`         // whether an auditor looks at work after the critic: always, never, or in every run but that of a plan of one sentence (auto)
	Checks       []Check           `yaml:"checks"`        // what the gate runs; without any, it passes and records that nothing was checked
	Gate         Gate              `yaml:"gate"`          // where the gate runs the checks, and which work it looks at besides that of runs
	Worktree     Worktree          `yaml:"worktree"`      // what a task's worktree needs before an agent can work in it
	Merge        Merge             `yaml:"merge"`         // where finished work is merged to (branch or pr), or settings for that and for who approves it
	Branch       string            `yaml:"branch"`        // the integration branch; {run} stands for the run's id
	Limits       Limits            `yaml:"limits"`        // when enough is enough
	Budget       Budget            `yaml:"budget"`        // what a run may spend, each of its tasks and each turn of an agent; then agents are ended, and you are asked
	Keep         Keep              `yaml:"keep"`          // how long what runs that have ended leave is kept
	Notify       Notify            `yaml:"notify"`        // who is told of what waits for a person, and of how runs go
	Signals      map[string]Signal `yaml:"signals"`       // line signals of your own, by their names, such as DONE_FOR_TODAY

	// Dir is the directory of the file, absolute: relative paths and commands
	// start there.
	Dir string `yaml:"-"`
	// Path is the file's own, absolute, also if it is not there.
	Path string `yaml:"-"`
}

// Archive is where the ledger's archive lies, and how long it keeps what can be missed.
type Archive struct {
	Dir      string        `yaml:"dir"`      // the archive's directory; in the box's directory if empty
	Segments string        `yaml:"segments"` // a directory for the log's files, on another disk; in the archive if empty
	Mirror   string        `yaml:"mirror"`   // a second directory that the log is written to, both synced before anything is acknowledged; none if empty
	Keep     time.Duration `yaml:"keep"`     // how long it keeps long outputs of agents and models whose work is over, such as 2160h for 90 days; their hashes stay; for ever if not set
}

// TLS is how the box answers beyond this machine.
type TLS struct {
	Always bool   `yaml:"always"` // serve an address of this machine by TLS too
	Cert   string `yaml:"cert"`   // a file with a certificate of your own, and those above it, in PEM; runners pin the box's own key all the same
	Key    string `yaml:"key"`    // the file with its key, in PEM
}

// Keep says for how long what runs leave is kept after their end.
type Keep struct {
	Transcripts time.Duration `yaml:"transcripts"` // how long what was said in a run, and what checks printed; the hashes stay; 0s for ever
	Megabytes   int           `yaml:"megabytes"`   // how much of that, of all runs that have ended: the oldest goes first; 0 for no limit
	Worktrees   time.Duration `yaml:"worktrees"`   // how long worktrees of work that was not merged; what is in them is committed, and the branch stays; 0s for ever
}

// Bytes is how much of what was said is kept.
func (k Keep) Bytes() int64 { return int64(k.Megabytes) << 20 }

// UnmarshalYAML reads the settings, or the archive's directory alone.
func (a *Archive) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&a.Dir)
	}
	type plain Archive
	return n.Decode((*plain)(a))
}

// DefaultListen is any free port of this machine.
const DefaultListen = "127.0.0.1:0"

// DefaultAgent is the name of the agent that plays what no other does.
const DefaultAgent = "default"

// Person is the name of an agent that is always there, and never started: you.
const Person = "person"

// personRoles are the roles that a person can play.
func personRoles() []agentsig.Role {
	return []agentsig.Role{agentsig.RoleDeveloper, agentsig.RoleCritic, agentsig.RoleAuditor, agentsig.RoleExpert}
}

// Agent is a program that plays roles.
type Agent struct {
	Adapter  Adapter           `yaml:"adapter"`  // how it is driven: any program by its input and output (plain), by the Agent Client Protocol (acp), as Claude Code's own program (claude) or Codex's (codex), or as a model with tools that Signalbox asks itself (ask), which can be the expert alone
	Command  []string          `yaml:"command"`  // the program and its arguments, left out with adapter ask; a plain one gets the prompt on standard input, and its standard output is its voice
	Input    Input             `yaml:"input"`    // what a plain program's standard input is: the prompt (once), or a message on each line for as long as it is open (json)
	Commands Commands          `yaml:"commands"` // how it runs commands, if Signalbox can't know: by "signalbox exec" alone (exec)
	Provider string            `yaml:"provider"` // whose usage limit it shares; the agent's own name if empty
	Env      map[string]string `yaml:"env"`      // variables that are added to its environment
	EnvFrom  []string          `yaml:"env_from"` // names of variables that are taken from the environment of the machine that it runs on: of the box there, or of the runner; it is not started where one is not set
	Model    string            `yaml:"model"`    // with adapter ask: the model, as its server calls it
	Tools    string            `yaml:"tools"`    // with adapter ask: a JSON file that names MCP servers, from the file's own directory; what is built in if left out
	Tree     string            `yaml:"tree"`     // with adapter ask: a behaviour tree's Lua file, from the file's own directory, or the name of one that is built in
	Allow    []string          `yaml:"allow"`    // with adapter ask: tools that may be called although their servers do not say that they change nothing
}

// Adapter is how an agent is driven.
type Adapter string

// Ways to drive an agent.
const (
	AdapterPlain  Adapter = "plain"
	AdapterACP    Adapter = "acp"
	AdapterClaude Adapter = "claude"
	AdapterCodex  Adapter = "codex"
	AdapterAsk    Adapter = "ask"
)

// adapters returns all there are.
func adapters() []Adapter {
	return []Adapter{AdapterPlain, AdapterACP, AdapterClaude, AdapterCodex, AdapterAsk}
}

// Commands is how an agent runs commands.
type Commands string

// CommandsExec is for an agent that runs commands by `signalbox exec` alone, so that what it
// runs can't speak for it.
const CommandsExec Commands = "exec"

// Rework is how a developer goes on whose work was sent back.
type Rework string

// The ways: in its own conversation, if its program still has that, or afresh.
const (
	ReworkResumed Rework = "resumed"
	ReworkFresh   Rework = "fresh"
)

// Review is what is asked of reviewers in a sandbox.
type Review string

// What is asked: that what a reviewer runs can't speak for it, or not.
const (
	ReviewProtected   Review = "protected"
	ReviewUnprotected Review = "unprotected"
)

// Audit is which runs have an auditor.
type Audit string

// Which they are: all but those of a plan of one sentence, all, or none.
const (
	AuditAuto   Audit = "auto"
	AuditAlways Audit = "always"
	AuditNever  Audit = "never"
)

// Audits lists what can be set.
func Audits() []Audit { return []Audit{AuditAuto, AuditAlways, AuditNever} }

// Input is how a plain agent is spoken to.
type Input string

// Ways to speak to an agent.
const (
	InputOnce Input = "once"
	InputJSON Input = "json"
)

// Resolve returns the command with a program that is given by a relative path
// (./ or ../) made absolute, from dir. That of an agent that asks a model is this one.
func (a Agent) Resolve(dir string) []string {
	if a.Adapter == AdapterAsk {
		return []string{self(), advice.Command}
	}
	command := append([]string{}, a.Command...)
	if len(command) > 0 && (strings.HasPrefix(command[0], "./") || strings.HasPrefix(command[0], "../")) {
		command[0] = filepath.Join(dir, filepath.FromSlash(command[0]))
	}
	return command
}

// Roles are the seven that agents play.
type Roles struct {
	Developer     Role `yaml:"developer"`      // writes the change
	Critic        Role `yaml:"critic"`         // reviews it
	Auditor       Role `yaml:"auditor"`        // has the last look before it is merged
	Analyst       Role `yaml:"analyst"`        // expands a task before it is worked on
	Remediation   Role `yaml:"remediation"`    // puts broken infrastructure right
	HealthAuditor Role `yaml:"health_auditor"` // says whether it is right again
	Expert        Role `yaml:"expert"`         // advises an agent that asks
}

func (r *Roles) of(role agentsig.Role) *Role {
	switch role {
	case agentsig.RoleDeveloper:
		return &r.Developer
	case agentsig.RoleCritic:
		return &r.Critic
	case agentsig.RoleAuditor:
		return &r.Auditor
	case agentsig.RoleAnalyst:
		return &r.Analyst
	case agentsig.RoleRemediation:
		return &r.Remediation
	case agentsig.RoleHealthAuditor:
		return &r.HealthAuditor
	case agentsig.RoleExpert:
		return &r.Expert
	}
	return &Role{}
}

// Role is how one role is played.
type Role struct {
	Agent     string        `yaml:"agent"`      // the agent that plays it; person if you do (developer, critic, auditor or expert); the one called default, or the only one, if empty
	AtOnce    int           `yaml:"at_once"`    // how many at once; 0 for no limit but that of all agents
	WallClock time.Duration `yaml:"wall_clock"` // how long one turn of it may take
	Prompt    string        `yaml:"prompt"`     // a file with a prompt of your own, from the file's own directory
	Allow     []Permission  `yaml:"allow"`      // what it may do besides reading: change files (edit), run commands (execute), use the network (fetch); a plain agent is not kept to it
	Sandbox   sandbox.Kind  `yaml:"sandbox"`    // what keeps it in; as for all roles if left out
	Network   Switch        `yaml:"network"`    // whether its sandbox lets it use the network; as for all roles if left out
	Labels    []string      `yaml:"labels"`     // what a machine has to have that its agent is started on, such as gpu (developer, critic, auditor or analyst); any will do if left out
}

// Permission is something that a role may do besides reading.
type Permission string

// What a role may do.
const (
	AllowEdit    Permission = "edit"
	AllowExecute Permission = "execute"
	AllowFetch   Permission = "fetch"
)

// permissions returns all there are.
func permissions() []Permission { return []Permission{AllowEdit, AllowExecute, AllowFetch} }

// withoutEdit is for roles that judge or advise: they run things, and change none.
func withoutEdit() []Permission { return []Permission{AllowExecute, AllowFetch} }

// Sandbox is what keeps agents where they belong.
type Sandbox struct {
	Kind    sandbox.Kind `yaml:"kind"`    // nothing (none), the kernel's Landlock (landlock), or namespaces by the bwrap program (bubblewrap)
	Network Switch       `yaml:"network"` // whether agents in a sandbox may use the network (on or off); without it they do not reach a model either
	Checks  Switch       `yaml:"checks"`  // whether checks and the setup of worktrees run in the sandbox too: they run what agents wrote (on or off)
	Write   []string     `yaml:"write"`   // files and directories that agents in a sandbox may write, besides their worktree, temporary files and the programs' own; ~ is your home
}

// Switch is on or off.
type Switch string

// The two of them.
const (
	On  Switch = "on"
	Off Switch = "off"
)

// Role returns how a role is played, with nothing left open: Agent is empty only
// if there are no agents, AtOnce is not 0, Sandbox and Network are not empty, and
// Prompt is absolute unless empty.
func (c Config) Role(role agentsig.Role) Role { return *c.Roles.of(role) }

// Check is a command that the gate runs.
type Check struct {
	Name        string        `yaml:"name"`        // what it is called in reports
	Command     string        `yaml:"command"`     // a command line for the shell
	Exit        int           `yaml:"exit"`        // the exit code that passes
	Timeout     time.Duration `yaml:"timeout"`     // how long it may take
	Environment string        `yaml:"environment"` // variables as KEY=value, or a name that is only shown
}

// UnmarshalYAML fills in the defaults of a check.
func (c *Check) UnmarshalYAML(n *yaml.Node) error {
	type plain Check
	p := plain{Timeout: DefaultCheckTimeout}
	err := n.Decode(&p)
	*c = Check(p)
	return err
}

// DefaultCheckTimeout is how long a check may take that says nothing else.
const DefaultCheckTimeout = 10 * time.Minute

// Gate is where the gate runs the checks, and which work it looks at besides that of runs.
type Gate struct {
	Runner GateRunner `yaml:"runner"` // on which machine the checks run, if there are several that can: another than the developer's (other), any of them (any), or the box's own (home)
	Checks Switch     `yaml:"checks"` // whether the box runs the checks on work that you hand out yourself and that has a branch (signalbox work add --branch), or waits for your CI's report (on or off)
}

// GateRunner is on which machine the gate runs the checks.
type GateRunner string

// Which it is: another than the developer's where there is a choice, any, or the box's own.
const (
	GateOther GateRunner = "other"
	GateAny   GateRunner = "any"
	GateHome  GateRunner = "home"
)

// Worktree is how a worktree is made ready.
type Worktree struct {
	Setup        string        `yaml:"setup"`         // a command line for the shell that is run in each new one, such as npm ci
	Copy         []string      `yaml:"copy"`          // files to copy from your checkout, such as .env
	SetupTimeout time.Duration `yaml:"setup_timeout"` // how long setup may take
}

// Merge is how finished work is merged.
type Merge struct {
	Into    Into   `yaml:"into"`    // to the integration branch (branch), or by a pull request as well (pr)
	Approve string `yaml:"approve"` // who looks at each merge before it is made: you (person), or nobody besides critic and auditor if empty
}

// UnmarshalYAML reads the settings, or where work goes alone.
func (m *Merge) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&m.Into)
	}
	type plain Merge
	return n.Decode((*plain)(m))
}

// Into is where finished work goes.
type Into string

// Where it can go.
const (
	IntoBranch Into = "branch"
	IntoPR     Into = "pr"
)

// runMark stands for the run's id in the name of the integration branch.
const runMark = "{run}"

// BranchOf returns the name of a run's integration branch.
func (c Config) BranchOf(run string) string { return strings.ReplaceAll(c.Branch, runMark, run) }

// Limits say when enough is enough.
type Limits struct {
	Agents            int           `yaml:"agents"`             // agents at once, of all roles
	Silence           time.Duration `yaml:"silence"`            // how long an agent may be silent before it is asked for progress
	Answer            time.Duration `yaml:"answer"`             // how long it has to answer
	Misses            int           `yaml:"misses"`             // answers missed before it counts as stalled
	Reviews           int           `yaml:"reviews"`            // failed reviews of a task before a question
	Audits            int           `yaml:"audits"`             // failed audits of a task before a question
	Gates             int           `yaml:"gates"`              // failures of a task at the gate before a question
	Crashes           int           `yaml:"crashes"`            // crashes of a task's agents before a question
	Timeouts          int           `yaml:"timeouts"`           // time-outs of a task's agents before a question
	ExpertRequests    int           `yaml:"expert_requests"`    // how often an agent may ask experts
	ExpertAttempts    int           `yaml:"expert_attempts"`    // how often an expert may try
	ExpertAtOnce      int           `yaml:"expert_at_once"`     // requests at once to one expert
	RemediationRounds int           `yaml:"remediation_rounds"` // rounds of remediation before a question
	ConflictWait      time.Duration `yaml:"conflict_wait"`      // how long a task waits for files that another one changes
	ConflictRetries   int           `yaml:"conflict_retries"`   // how often it tries again before a question
	ContextPercent    int           `yaml:"context_percent"`    // how full a conversation is, in percent of what its model takes, that a developer does not go on with
	Grace             time.Duration `yaml:"grace"`              // from asking a process to end until it is killed
	Linger            time.Duration `yaml:"linger"`             // how long an agent must be quiet after its signal for its turn to be over
	Orphan            time.Duration `yaml:"orphan"`             // how long an agent goes on while the box is away
	RunnerLost        time.Duration `yaml:"runner_lost"`        // how long nothing is heard of a runner before its work is given to others
}

// Budget is what a run may spend.
type Budget struct {
	Tokens  int64   `yaml:"tokens"`   // tokens, in and out; 0 for no limit
	CostUSD float64 `yaml:"cost_usd"` // US dollars, as the programs report them; 0 for no limit
	Task    Spend   `yaml:"task"`     // what all agents on one task may spend together
	Turn    Spend   `yaml:"turn"`     // what one turn of an agent may spend
}

// Spend is what may be spent.
type Spend struct {
	Tokens  int64   `yaml:"tokens"`   // tokens, in and out; 0 for no limit
	CostUSD float64 `yaml:"cost_usd"` // US dollars, as the programs report them; 0 for no limit
}

// Signal is a line signal of the project's own. What is left out is the kind's.
type Signal struct {
	Kind     agentsig.Kind   `yaml:"kind"`     // the kind of line signal that it leads to, such as ready_for_review; signalbox signals --json lists them
	Roles    []agentsig.Role `yaml:"roles"`    // who may say it: some of those who may say the kind; all of them if left out
	Argument string          `yaml:"argument"` // what stands behind its name: the kind's own, such as task; or none, where the kind's is the agent's own task or request
	Fields   []string        `yaml:"fields"`   // the keys of the lines below it; the kind's own if left out
}

// Own returns the line signals of the project's own.
func (c Config) Own() []agentsig.Own {
	var all []agentsig.Own
	for _, name := range slices.Sorted(maps.Keys(c.Signals)) {
		s := c.Signals[name]
		all = append(all, agentsig.Own{Name: name, Kind: s.Kind, Roles: s.Roles, Argument: s.Argument, Fields: s.Fields})
	}
	return all
}

// ReadSignals reads a file that has no more than signals in it, as a configuration has them.
func ReadSignals(path string, data []byte) ([]agentsig.Own, error) {
	c, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	if len(c.Signals) == 0 {
		return nil, fmt.Errorf("%s has no signals: write them below signals:, as in %s", path, File)
	}
	return c.Own(), nil
}

// Notify is who is told of what waits for a person, and of how runs go.
type Notify struct {
	Command   string `yaml:"command"`    // a command line for the shell, run in the file's own directory
	Webhook   string `yaml:"webhook"`    // an http or https address that gets a POST
	SecretEnv string `yaml:"secret_env"` // the name of an environment variable with the secret that the webhook's messages are signed with; they are not signed if empty
	Kinds     []Kind `yaml:"kinds"`      // of what somebody is told
}

// On reports whether anybody is told.
func (n Notify) On() bool { return n.Command != "" || n.Webhook != "" }

// Kind is what a message to a person is of.
type Kind string

// The kinds.
const (
	KindQuestion Kind = "question" // something is asked, or waits for a person to take it
	KindReview   Kind = "review"   // a person is to review, to audit or to approve a merge
	KindFinished Kind = "finished" // a run has completed all its tasks, or was cancelled
	KindFailed   Kind = "failed"   // a run has ended with less than that
	KindStalled  Kind = "stalled"  // an agent was ended because nothing was heard of it
	KindBudget   Kind = "budget"   // what may be used is used up: a question

	KindRunnerLost Kind = "runner_lost" // nothing was heard of a runner for too long, and it had sessions
)

// Kinds lists what somebody can be told of.
func Kinds() []Kind {
	return []Kind{KindQuestion, KindReview, KindFinished, KindFailed, KindStalled, KindBudget, KindRunnerLost}
}

// Default returns what holds where nothing is set.
func Default() Config {
	const minutes = time.Minute
	return Config{
		Listen: DefaultListen,
		Roles: Roles{
			Developer:     Role{WallClock: 60 * minutes, Allow: permissions()},
			Critic:        Role{WallClock: 30 * minutes, Allow: withoutEdit()},
			Auditor:       Role{WallClock: 30 * minutes, Allow: withoutEdit()},
			Analyst:       Role{WallClock: 60 * minutes, Allow: withoutEdit()},
			Remediation:   Role{WallClock: 15 * minutes, Allow: permissions()},
			HealthAuditor: Role{WallClock: 15 * minutes, Allow: withoutEdit()},
			Expert:        Role{WallClock: 30 * minutes, Allow: withoutEdit()},
		},
		Sandbox:  Sandbox{Kind: sandbox.None, Network: On, Checks: On},
		Review:   ReviewProtected,
		Rework:   ReworkResumed,
		Audit:    AuditAuto,
		Gate:     Gate{Runner: GateOther, Checks: Off},
		Worktree: Worktree{SetupTimeout: 10 * minutes},
		Merge:    Merge{Into: IntoBranch},
		Branch:   "signalbox/" + runMark,
		Notify:   Notify{Kinds: Kinds()},
		Keep:     Keep{Transcripts: 90 * 24 * time.Hour, Megabytes: 4096, Worktrees: 30 * 24 * time.Hour},
		Limits: Limits{
			Agents: 5, Silence: 5 * minutes, Answer: 30 * time.Second, Misses: 3,
			Reviews: 3, Audits: 3, Gates: 3, Crashes: 3, Timeouts: 3,
			ExpertRequests: 3, ExpertAttempts: 3, ExpertAtOnce: 2, RemediationRounds: 10,
			ConflictWait: 30 * minutes, ConflictRetries: 3, ContextPercent: 75,
			Grace: 5 * time.Second, Linger: 2 * time.Second, Orphan: 30 * minutes, RunnerLost: 5 * minutes,
		},
	}
}

// Load reads a configuration. A setting that it does not know, or that can't be, is
// an error; it names every one of them.
func Load(path string) (Config, error) {
	data, err := regular.Read(path, maxLook)
	if err != nil {
		return Config{}, fmt.Errorf("the settings can't be read: %w", err)
	}
	return Parse(path, data)
}

// LoadIn reads signalbox.yaml in a directory, as [Load] does. Without one, the
// defaults hold.
func LoadIn(dir string) (Config, error) {
	path := filepath.Join(dir, File)
	c, err := Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Parse(path, nil)
	}
	return c, err
}

// Parse reads a configuration as [Load] does, as if it were in the file that is named.
func Parse(path string, data []byte) (Config, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Config{}, err
	}
	c := Default()
	c.Dir, c.Path = filepath.Dir(absolute), absolute
	p := problems{file: path, lines: map[string]int{}}
	if err := c.read(&p, data); err != nil {
		return Config{}, err
	}
	c.settle()
	c.validate(&p)
	if err := p.err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// settle fills in what depends on other settings.
func (c *Config) settle() {
	c.TLS.Cert, c.TLS.Key = c.from(c.TLS.Cert), c.from(c.TLS.Key)
	c.Archive = Archive{c.from(c.Archive.Dir), c.from(c.Archive.Segments), c.from(c.Archive.Mirror), c.Archive.Keep}
	for i, path := range c.Sandbox.Write {
		c.Sandbox.Write[i] = c.fromHome(path)
	}
	fallback := ""
	for name, a := range c.Agents {
		a.Provider = cmp.Or(a.Provider, name)
		a.Adapter = cmp.Or(a.Adapter, AdapterPlain)
		a.Input = cmp.Or(a.Input, InputOnce)
		a.Tools, a.Tree = c.from(a.Tools), c.treeFrom(a.Tree)
		c.Agents[name] = a
		if name == DefaultAgent || len(c.Agents) == 1 {
			fallback = name
		}
	}
	for _, role := range agentsig.Roles() {
		r := c.Roles.of(role)
		r.Agent = cmp.Or(r.Agent, fallback)
		r.Sandbox = cmp.Or(r.Sandbox, c.Sandbox.Kind)
		r.Network = cmp.Or(r.Network, c.Sandbox.Network)
		if r.AtOnce == 0 && c.Limits.Agents > 0 { // else that is what is wrong
			r.AtOnce = c.Limits.Agents
		}
		r.Prompt = c.from(r.Prompt)
	}
}

// fromHome makes a path absolute that is relative or begins with ~. One whose home
// is not known stays as it is.
func (c *Config) fromHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok {
		return c.from(path)
	}
	if home, err := os.UserHomeDir(); err == nil && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(home, rest)
	}
	return path
}

// from makes a path absolute that is relative to the file's own directory.
func (c *Config) from(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Dir, path)
}
