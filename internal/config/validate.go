package config

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// validate finds the settings that can't be. Elements of a list have their numbers
// only if all of them could be read.
func (c *Config) validate(p *problems) {
	if _, err := redact.New(c.Redact); err != nil {
		p.add("redact", "%w", err)
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		p.add("tls", "cert and key go together: name both, or none")
	}
	c.Archive.validate(p)
	c.Keep.validate(p)
	c.validateAgents(p)
	c.validateRoles(p)
	c.validateSignals(p)
	c.Sandbox.validate(p)
	oneOf(p, "rework", c.Rework, []Rework{ReworkResumed, ReworkFresh})
	oneOf(p, "review", c.Review, []Review{ReviewProtected, ReviewUnprotected})
	oneOf(p, "audit", c.Audit, Audits())
	if p.whole("experts") {
		c.validateExperts(p)
	}
	if p.whole("checks") {
		c.validateChecks(p)
	}
	c.validateGate(p)
	if p.whole("worktree") {
		c.validateWorktree(p)
	}
	c.Merge.validate(p)
	if !work.ValidBranch(c.BranchOf("r")) {
		p.add("branch", "%q is no name of a git branch", c.Branch)
	}
	c.Limits.validate(p)
	Spend{c.Budget.Tokens, c.Budget.CostUSD}.validate(p, "budget")
	c.Budget.Task.validate(p, "budget.task")
	c.Budget.Turn.validate(p, "budget.turn")
	c.Notify.validate(p)
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (n Notify) validate(p *problems) {
	if n.Webhook != "" && !validWebhook(n.Webhook) {
		p.add("notify.webhook", "%q: it has to be an http:// or https:// address", n.Webhook)
	}
	switch {
	case n.SecretEnv == "":
	case strings.HasPrefix(n.SecretEnv, SecretPrefix) || !variableName.MatchString(n.SecretEnv): // it may be the secret, so it is not told
		p.add("notify.secret_env", "it has to be the name of an environment variable, which has the secret: no secret belongs into a file")
	case n.Webhook == "":
		p.add("notify.secret_env", "there is no notify.webhook whose messages could be signed")
	}
	if !p.whole("notify.kinds") {
		return
	}
	for i, k := range n.Kinds {
		oneOf(p, fmt.Sprintf("notify.kinds[%d]", i+1), k, Kinds())
	}
	if n.On() && len(n.Kinds) == 0 {
		p.add("notify.kinds", "it is empty, so nobody would be told of anything: name kinds, or leave it out for all")
	}
}

// SecretPrefix begins a secret that is written in base64.
const SecretPrefix = "whsec_"

func (s Spend) validate(p *problems, at string) {
	if s.Tokens < 0 {
		p.add(at+".tokens", "%d: it has to be 0, for no limit, or more", s.Tokens)
	}
	if usd := s.CostUSD; !(usd >= 0) || math.IsInf(usd, 0) {
		p.add(at+".cost_usd", "%v: it has to be 0, for no limit, or more", usd)
	}
}

// oneOf names a setting that is none of those there are.
func oneOf[T ~string](p *problems, at string, value T, all []T) {
	if slices.Contains(all, value) {
		return
	}
	var words strings.Builder
	for i, one := range all {
		switch {
		case i == len(all)-1:
			words.WriteString(" or ")
		case i > 0:
			words.WriteString(", ")
		}
		words.WriteString(string(one))
	}
	p.add(at, "%q: it has to be %s", value, words.String())
}

// validate refuses directories of which one is another, or lies in it: a log that is written twice to
// one place has no second copy.
func (a Archive) validate(p *problems) {
	if a.Keep != 0 && a.Keep < leastKeep {
		p.add("archive.keep", "%v: it has to be %v or longer, or 0s for ever", a.Keep, leastKeep)
	}
	type place struct{ setting, path string }
	places := []place{{"archive.dir", a.Dir}, {"archive.segments", a.Segments}, {"archive.mirror", a.Mirror}}
	for i, one := range places {
		for _, other := range places[:i] {
			if one.path != "" && other.path != "" && (inside(one.path, other.path) || inside(other.path, one.path)) {
				p.add(one.setting, "%q is the directory of %s, or one of them lies in the other: give each its own", one.path, other.setting)
			}
		}
	}
}

func (m Merge) validate(p *problems) {
	at := "merge"
	if p.has("merge.into") {
		at = "merge.into"
	}
	oneOf(p, at, m.Into, []Into{IntoBranch, IntoPR})
	if m.Approve != "" && m.Approve != Person {
		p.add("merge.approve", "%q: it has to be %s, or left out: agents judge work as critic and auditor", m.Approve, Person)
	}
}

func (k Keep) validate(p *problems) {
	for _, one := range []struct {
		at   string
		time time.Duration
	}{{"keep.transcripts", k.Transcripts}, {"keep.worktrees", k.Worktrees}} {
		if one.time != 0 && one.time < leastKeep {
			p.add(one.at, "%v: it has to be %v or longer, or 0s for ever", one.time, leastKeep)
		}
	}
	if k.Megabytes < 0 {
		p.add("keep.megabytes", "%d: it has to be 0, for no limit, or more", k.Megabytes)
	}
}

// leastKeep is longer than it takes from storing an output to recording the event that refers to
// it.
const leastKeep = 24 * time.Hour

// inside says whether a path is a directory or lies in it.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

func (c *Config) validateAgents(p *problems) {
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a, at := c.Agents[name], join("agents", name)
		if !agentsig.ValidID(name) || strings.ContainsAny(name, "#/") {
			p.add(at, "a name begins with a letter or digit, and has letters, digits, '.', '_' and '-' after it, 128 at most")
		}
		if name == Person {
			p.add(at, "%s stands for you, and no program: call it something else", Person)
		}
		a.validateAsk(p, at)
		switch {
		case a.Adapter == AdapterAsk:
		case len(a.Command) == 0 || strings.TrimSpace(a.Command[0]) == "":
			p.add(at+".command", "it has to be a program and its arguments, such as [gemini, --acp]")
		case slices.ContainsFunc(a.Command, func(s string) bool { return strings.Contains(s, "\x00") }):
			p.add(at+".command", "no argument of a program can have a zero byte")
		}
		oneOf(p, at+".adapter", a.Adapter, adapters())
		oneOf(p, at+".input", a.Input, []Input{InputOnce, InputJSON})
		if a.Input == InputJSON && a.Adapter != AdapterPlain && slices.Contains(adapters(), a.Adapter) {
			p.add(at+".input", "%s is for plain agents: the adapter %s has its own way to speak to one; leave it out", a.Input, a.Adapter)
		}
		if p.has(at+".commands") && a.Adapter != AdapterAsk { // else Signalbox knows by the program, or not at all
			oneOf(p, at+".commands", a.Commands, []Commands{CommandsExec})
		}
		if !plain(a.Provider) {
			p.add(at+".provider", "%q is no name", a.Provider)
		}
		for _, key := range slices.Sorted(maps.Keys(a.Env)) {
			if key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(a.Env[key], "\x00") {
				p.add(at+".env", "%q can't be a variable of the environment", key)
			}
		}
		if p.whole(at + ".env_from") {
			a.validateEnvFrom(p, at)
		}
	}
}

// validateEnvFrom refuses what is no name of a variable: it may be a secret, so it is not told.
func (a Agent) validateEnvFrom(p *problems, agent string) {
	for i, name := range a.EnvFrom {
		_, set := a.Env[name]
		switch at := fmt.Sprintf("%s.env_from[%d]", agent, i+1); {
		case len(name) > maxVariable || !variableName.MatchString(name):
			p.add(at, "it has to be the name of a variable, of letters, digits and '_': its value stays on the machine where the agent runs")
		case len(process.CleanEnv([]string{name + "="})) == 0:
			p.add(at, "%s is kept from agents: it would make them part of what the box was started from, or git work elsewhere", name)
		case set:
			p.add(at, "%s is set below env as well: leave one of them out", name)
		case slices.Contains(a.EnvFrom[:i], name):
			p.add(at, "%s is there twice", name)
		}
	}
}

// maxVariable is how long the name of a variable can be.
const maxVariable = 128

func (c *Config) validateSignals(p *problems) {
	var good []agentsig.Own
	for _, own := range c.Own() {
		if _, err := agentsig.Extend(append(good, own)...); err != nil {
			p.add(join("signals", own.Name), "%w", err)
			continue
		}
		good = append(good, own)
	}
}

func (c *Config) validateRoles(p *problems) {
	agents := slices.Sorted(maps.Keys(c.Agents))
	for _, role := range agentsig.Roles() {
		r, at := c.Role(role), "roles."+string(role)
		_, there := c.Agents[r.Agent]
		switch {
		case there || r.Agent == "" && len(agents) == 0:
		case r.Agent == Person && slices.Contains(personRoles(), role):
		case r.Agent == Person:
			p.add(at+".agent", "no person plays it: name an agent")
		case p.lost || !p.whole("agents"): // it may be among what could not be read
		case r.Agent == "":
			p.add(at+".agent", "nobody plays it: name one of %s here, or call one of them %s", strings.Join(agents, ", "), DefaultAgent)
		case len(agents) == 0:
			p.add(at+".agent", "there is no agent %q: describe it under agents", r.Agent)
		default:
			p.add(at+".agent", "there is no agent %q, but: %s", r.Agent, strings.Join(agents, ", "))
		}
		c.onlyAdvises(p, role)
		if r.AtOnce < 0 {
			p.add(at+".at_once", "%d: it has to be 0, for no limit but that of all agents, or more", r.AtOnce)
		}
		if r.WallClock <= 0 {
			p.add(at+".wall_clock", "%v: it has to be longer than 0s", r.WallClock)
		}
		if p.whole(at + ".allow") {
			for i, permission := range r.Allow {
				oneOf(p, fmt.Sprintf("%s.allow[%d]", at, i+1), permission, permissions())
			}
		}
		if p.has(at + ".sandbox") { // else it is that of all roles
			oneOf(p, at+".sandbox", r.Sandbox, sandbox.Kinds())
		}
		if p.has(at + ".network") {
			oneOf(p, at+".network", r.Network, []Switch{On, Off})
		}
		if p.whole(at + ".labels") {
			validateLabels(p, at+".labels", role, r)
		}
		if r.Prompt == "" {
			continue
		}
		if info, err := os.Stat(r.Prompt); err != nil {
			p.add(at+".prompt", "%w", err)
		} else if !info.Mode().IsRegular() {
			p.add(at+".prompt", "%s is no file", r.Prompt)
		}
	}
}

// runnerLabel is what a label of a runner looks like.
var runnerLabel = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// validateLabels refuses labels that no runner has, and those of a role that is not placed by them.
func validateLabels(p *problems, at string, role agentsig.Role, r Role) {
	if len(r.Labels) == 0 {
		return
	}
	switch {
	case role == agentsig.RoleExpert:
		p.add(at, "an expert is started where the agent is that asks it: leave it out")
	case role == agentsig.RoleRemediation || role == agentsig.RoleHealthAuditor:
		p.add(at, "the environment is repaired on the box's own machine: leave it out")
	case r.Agent == Person:
		p.add(at, "you play it, and no machine is chosen for you: leave it out")
	}
	for i, label := range r.Labels {
		switch at := fmt.Sprintf("%s[%d]", at, i+1); {
		case !runnerLabel.MatchString(label):
			p.add(at, "%q: a label has 1 to 64 of a-z, 0-9, '.', '_' and '-', and begins with a letter or digit", label)
		case slices.Contains(r.Labels[:i], label):
			p.add(at, "%q is there twice", label)
		}
	}
}

func (c *Config) validateExperts(p *problems) {
	for i, name := range c.Experts {
		switch at := fmt.Sprintf("experts[%d]", i+1); {
		case !plain(name):
			p.add(at, "%q is no name", name)
		case slices.Contains(c.Experts[:i], name):
			p.add(at, "%q is there twice", name)
		}
	}
}

func (c *Config) validateChecks(p *problems) {
	for i, k := range c.Checks {
		at := fmt.Sprintf("checks[%d]", i+1)
		switch {
		case !plain(k.Name):
			p.add(at+".name", "%q is no name: call it what it checks, such as test", k.Name)
		case slices.ContainsFunc(c.Checks[:i], func(o Check) bool { return o.Name == k.Name }):
			p.add(at+".name", "%q is there twice", k.Name)
		}
		if strings.TrimSpace(k.Command) == "" {
			p.add(at+".command", "it has to be a command line, such as go test ./...")
		}
		if k.Exit < 0 || k.Exit > 255 {
			p.add(at+".exit", "%d: an exit code is 0 to 255", k.Exit)
		}
		if k.Timeout <= 0 {
			p.add(at+".timeout", "%v: it has to be longer than 0s", k.Timeout)
		}
	}
}

// validateGate refuses to have nothing checked where the box is to check: everything would pass, and nobody would have reported
// anything.
func (c *Config) validateGate(p *problems) {
	oneOf(p, "gate.checks", c.Gate.Checks, []Switch{On, Off})
	oneOf(p, "gate.runner", c.Gate.Runner, []GateRunner{GateOther, GateAny, GateHome})
	if c.Gate.Checks == On && len(c.Checks) == 0 && p.whole("checks") && !p.lost {
		p.add("gate.checks", "there are no checks that the box could run: put them below checks, or leave this off")
	}
}

func (s Sandbox) validate(p *problems) {
	oneOf(p, "sandbox.kind", s.Kind, sandbox.Kinds())
	oneOf(p, "sandbox.network", s.Network, []Switch{On, Off})
	oneOf(p, "sandbox.checks", s.Checks, []Switch{On, Off})
	if !p.whole("sandbox.write") {
		return
	}
	for i, path := range s.Write {
		switch at := fmt.Sprintf("sandbox.write[%d]", i+1); {
		case path == "" || strings.Contains(path, "\x00"):
			p.add(at, "%q is no path", path)
		case !filepath.IsAbs(path):
			p.add(at, "%q: ~ is your own home, as far as it is known: write the whole path", path)
		}
	}
}

func (c *Config) validateWorktree(p *problems) {
	for i, name := range c.Worktree.Copy {
		at := fmt.Sprintf("worktree.copy[%d]", i+1)
		clean := path.Clean(filepath.ToSlash(name))
		switch {
		case name == "" || clean == "." || !filepath.IsLocal(name) || strings.HasPrefix(name, "/"):
			p.add(at, "%q: it has to be a path below the repository's top directory, without ..", name)
		case clean == ".git" || strings.HasPrefix(clean, ".git/"):
			p.add(at, "%q: what is in .git is git's own", name)
		}
	}
	if c.Worktree.SetupTimeout <= 0 {
		p.add("worktree.setup_timeout", "%v: it has to be longer than 0s", c.Worktree.SetupTimeout)
	}
}

func (l Limits) validate(p *problems) {
	for _, n := range []struct {
		name  string
		value int
	}{
		{"agents", l.Agents}, {"misses", l.Misses}, {"reviews", l.Reviews}, {"audits", l.Audits}, {"gates", l.Gates},
		{"crashes", l.Crashes}, {"timeouts", l.Timeouts}, {"expert_requests", l.ExpertRequests},
		{"expert_attempts", l.ExpertAttempts}, {"expert_at_once", l.ExpertAtOnce},
		{"remediation_rounds", l.RemediationRounds}, {"conflict_retries", l.ConflictRetries},
	} {
		if n.value < 1 {
			p.add("limits."+n.name, "%d: it has to be 1 or more", n.value)
		}
	}
	if l.ContextPercent < 1 || l.ContextPercent > 100 {
		p.add("limits.context_percent", "%d: it has to be 1 to 100", l.ContextPercent)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"silence", l.Silence}, {"answer", l.Answer}, {"conflict_wait", l.ConflictWait},
		{"grace", l.Grace}, {"linger", l.Linger}, {"orphan", l.Orphan},
	} {
		if d.value <= 0 {
			p.add("limits."+d.name, "%v: it has to be longer than 0s", d.value)
		}
	}
	if l.RunnerLost < leastRunnerLost {
		p.add("limits.runner_lost", "%v: it has to be %v or longer, so that a runner that is merely slow is not taken for lost", l.RunnerLost, leastRunnerLost)
	}
}

// leastRunnerLost is longer than a few heartbeats of a runner.
const leastRunnerLost = 10 * time.Second

// plain says whether a name can be shown as it is.
func plain(name string) bool {
	return name != "" && strings.TrimSpace(name) == name && safetext.Escape(name) == name
}

func validWebhook(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
