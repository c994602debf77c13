package config

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// ProposedBudget is what a run may spend by a proposal, in US dollars.
const ProposedBudget = 20

// Propose returns the text of a settings file for what was found: what somebody has to look at, and no more.
func (f Found) Propose() []byte {
	var b strings.Builder
	b.WriteString("# Signalbox's settings for this repository. All there are, with comments: signalbox init --all --print\n")
	if len(f.Agents) == 0 {
		b.WriteString("# None was found of " + strings.Join(KnownAgents(), ", ") + `: put yours here, such as
#   my-agent: {command: [./agent.sh], commands: exec}
agents: {}
`)
	} else {
		b.WriteString("agents:\n")
	}
	for _, o := range f.Agents {
		fmt.Fprintf(&b, "  %s: %s\n", o.Name, o.flow())
	}
	if len(f.Agents) > 1 {
		b.WriteString("roles: # person is you: as developer, critic, auditor or expert\n")
		for _, role := range agentsig.Roles() {
			fmt.Fprintf(&b, "  %s: {agent: %s}\n", role, f.player(role))
		}
	}
	if f.Tried != "" {
		comment(&b, "When this was written: "+f.Tried+".")
	}
	fmt.Fprintf(&b, "sandbox: {kind: %s}\n", cmp.Or(f.Sandbox, sandbox.None))
	if len(f.Checks) == 0 {
		b.WriteString("# Without checks the gate passes everything. Put your tests here, such as\n#   - {name: test, command: make test}\nchecks: []\n")
	} else {
		b.WriteString("checks: # that the gate runs before a review, and on the merged result\n")
	}
	for _, c := range f.Checks {
		fmt.Fprintf(&b, "  - {name: %s, command: %s}\n", c.Name, c.Command)
	}
	if f.Setup != "" || len(f.Copy) > 0 {
		b.WriteString("worktree: # what each task's own one needs\n")
	}
	if f.Setup != "" {
		fmt.Fprintf(&b, "  setup: %s\n", f.Setup)
	}
	if len(f.Copy) > 0 {
		fmt.Fprintf(&b, "  copy: [%s]\n", strings.Join(f.Copy, ", "))
	}
	fmt.Fprintf(&b, "audit: auto # a plan of one sentence has no auditor; always: it has one; never: no plan has one\nmerge: branch # signalbox/RUN; or pr, by a pull request\nlimits: {agents: 5} # at once\nbudget: {cost_usd: %d} # US dollars that a run may spend before you are asked\n", ProposedBudget)
	return []byte(b.String())
}

// ProposeAll returns the same settings with all others that there are: those that are rarely needed are comments, with
// their defaults.
func (f Found) ProposeAll() []byte {
	var b strings.Builder
	b.WriteString(proposeHead)
	f.proposeAgents(&b)
	f.proposeRoles(&b)
	f.proposeSandbox(&b)
	b.WriteString(proposePlan)
	f.proposeChecks(&b)
	b.WriteString(proposeGate)
	f.proposeWorktree(&b)
	fmt.Fprintf(&b, proposeRest, ProposedBudget)
	var aligned bytes.Buffer
	w := tabwriter.NewWriter(&aligned, 0, 0, 1, ' ', 0)
	fmt.Fprint(w, b.String())
	w.Flush()
	return aligned.Bytes()
}

func (f Found) proposeAgents(b *strings.Builder) {
	b.WriteString(`
# The programs that play roles, each by a name of your choice. They use your logins and
# settings.
#   adapter   how it is driven: by the Agent Client Protocol (acp), as Claude Code's own
#             program (claude) or Codex's (codex), or as any other (plain, the default),
#             which gets the prompt on standard input, and says all on standard output;
#             ask: an expert that is a model with tools, and no program of its own
#   command   the program and its arguments; ./ is this file's directory
#   input     of a plain one, once: standard input is the prompt; json: a message on each line
#   commands  exec: it runs commands by "signalbox exec" alone, so that what it runs can't
#             speak for it; the programs that are known have ways of their own
#   provider  whose usage limit it shares; if left out, the agent's own name
#   env       variables that are added to its environment
#   env_from  names of variables that have to be set on the machine where it runs
#   model     with ask: the model, as its server calls it
#   tools     with ask: a JSON file that names MCP servers
#   tree      with ask: a behaviour tree's Lua file, or the name of one that is built in
#   allow     with ask: tools that may be called although they may change something
`)
	if len(f.Agents) == 0 {
		b.WriteString(`# None was found of ` + strings.Join(KnownAgents(), ", ") + `: put yours here, such as
#   my-agent: {adapter: plain, command: [./agent.sh], input: once, commands: exec, provider: acme,
#     env: {KEY: value}, env_from: [ACME_KEY]}
agents: {}
`)
		return
	}
	b.WriteString("agents:\n")
	for _, o := range f.Agents {
		k, _ := o.known()
		fmt.Fprintf(b, "  # %s\n  %s: %s\n", k.title, o.Name, o.flow())
	}
}

// flow writes an agent's settings as YAML does between braces.
func (a Agent) flow() string {
	s := fmt.Sprintf("{adapter: %s, command: [%s]", a.Adapter, strings.Join(a.Command, ", "))
	if a.Provider != "" {
		s += ", provider: " + a.Provider
	}
	var env []string
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		env = append(env, fmt.Sprintf("%s: '%s'", name, a.Env[name]))
	}
	if env != nil {
		s += ",\n    env: {" + strings.Join(env, ", ") + "}"
	}
	return s + "}"
}

func (f Found) proposeRoles(b *strings.Builder) {
	b.WriteString(`
# Who plays what. One that is left out is played by the agent called default, or the
# only one.
#   agent       who plays it; person if you do (developer, critic, auditor or expert)
#   at_once     how many at once; 0, the default, for no limit but that of all agents
#   wall_clock  how long one may take
#   prompt      a file with a prompt of your own, from this file's directory
#   allow       what it may do besides reading: edit (change files), execute (run commands),
#               fetch (use the network). Default all for developer and remediation, and for
#               the others all but edit. A plain agent is not kept to it.
#   sandbox     what keeps it in, if not what is set for all below
#   network     on or off for its sandbox, if not as is set for all below
#   labels      what the machine has to have that it is started on, such as [gpu]
roles:
`)
	defaults := Default()
	about := map[agentsig.Role]string{
		agentsig.RoleDeveloper: "writes the change", agentsig.RoleCritic: "reviews it",
		agentsig.RoleAuditor: "has the last look before it is merged", agentsig.RoleAnalyst: "expands a task before it is worked on",
		agentsig.RoleRemediation: "puts broken infrastructure right", agentsig.RoleHealthAuditor: "says whether it is right again",
		agentsig.RoleExpert: "advises an agent that asks",
	}
	for _, role := range agentsig.Roles() {
		agent, allow := "", ""
		if len(f.Agents) > 0 {
			agent = "agent: " + f.player(role) + ", "
		}
		r := defaults.Role(role)
		if len(r.Allow) < len(permissions()) {
			allow = ", allow: [" + list(r.Allow, ", ") + "]"
		}
		fmt.Fprintf(b, "  %s: {%swall_clock: %dm%s}\t# %s\n", role, agent, int(r.WallClock.Minutes()), allow, about[role])
	}
}

func (f Found) proposeSandbox(b *strings.Builder) {
	b.WriteString(`
# What keeps agents in. In a sandbox they can't read the box's directory, and can write
# their worktree, temporary files, their program's own files, and what you list here; and
# what is judged can't speak for the gate, the critic or the auditor. Without one it can.
`)
	switch len(f.Sandboxes) {
	case 0:
		b.WriteString("# None works here; `signalbox doctor` says why, of one that is set.\n")
	case 1:
		fmt.Fprintf(b, "# Of them, %s works here.\n", f.Sandboxes[0])
	default:
		fmt.Fprintf(b, "# Here %s work.\n", list(f.Sandboxes, " and "))
	}
	if f.Tried != "" {
		comment(b, "When this was written: "+f.Tried+".")
	}
	fmt.Fprintf(b, "sandbox:\n  kind: %s", cmp.Or(f.Sandbox, sandbox.None))
	b.WriteString(`	# none; landlock, by the kernel; bubblewrap, by the program bwrap
  #network: on	# off: none in a sandbox, not even to a model's server
  #checks: on	# off: checks and setup run outside of it, with what agents wrote
  #write: []	# files and directories, such as [~/.cache/go-build]; ~ is your home
#rework: resumed	# fresh: a developer whose work was sent back does not go on in its own conversation
#review: protected	# unprotected: in a sandbox, critics and auditors may be programs for which what they run could speak
#audit: auto	# a plan of one sentence has a critic and no auditor; always: it has one too; never: no run has one
`)
}

// comment writes a text as comments, on lines that can be read.
func comment(b *strings.Builder, text string) {
	line := "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 90 {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

func list[T ~string](all []T, between string) string {
	var words []string
	for _, one := range all {
		words = append(words, string(one))
	}
	return strings.Join(words, between)
}

func (f Found) proposeChecks(b *strings.Builder) {
	b.WriteString(`
# What the gate runs before a change is reviewed, and again on the merged result.
#   name         what it is called in reports
#   command      a command line for the shell
#   exit         the exit code that passes; default 0
#   timeout      how long it may take; default 10m
#   environment  variables as KEY=value, or a name that is only shown
`)
	if len(f.Checks) == 0 {
		b.WriteString(`# Nothing was found that could be run. Without checks the gate passes everything, and
# records that nothing was checked: put your tests here, such as
#   - {name: test, command: make test, exit: 0, timeout: 10m, environment: CI=1}
checks: []
`)
		return
	}
	b.WriteString("checks:\n")
	for _, c := range f.Checks {
		fmt.Fprintf(b, "  - {name: %s, command: %s}\n", c.Name, c.Command)
	}
}

func (f Found) proposeWorktree(b *strings.Builder) {
	b.WriteString("\n# What a task's own worktree needs before an agent can work in it.\nworktree:\n")
	setup := `  #setup: ""`
	if f.Setup != "" {
		setup = "  setup: " + f.Setup
	}
	files := "  #copy: []"
	if len(f.Copy) > 0 {
		files = "  copy: [" + strings.Join(f.Copy, ", ") + "]"
	}
	fmt.Fprintf(b, "%s\t# a command line that is run in each new one, such as npm ci\n", setup)
	fmt.Fprintf(b, "%s\t# files that git ignores and work needs, such as .env\n", files)
	b.WriteString("  #setup_timeout: 10m\t# how long setup may take\n")
}

const proposeHead = `# Settings of Signalbox for this repository. A line with # and no blank after it is a
# setting with its default: remove the # and change it.
`

const proposeGate = `gate:
  #runner: other	# with several machines: on another than the developer's, on any, or at home
  #checks: off	# on: the box runs the checks on work that you hand out yourself too, if it has a branch
`

const proposePlan = `
#experts: []	# names that EXPERT_REQUEST may target from the start
#analyst: false	# true: an analyst expands each task before a developer gets it
`

const proposeRest = `
merge: branch	# or pr, by a pull request; or {approve: person}: you look at each merge before it is made
#branch: signalbox/{run}	# the integration branch; {run} stands for the run's id

# When enough is enough.
limits:
  agents: 5	# agents at once, of all roles
  #silence: 5m	# how long an agent may be silent before it is asked for progress
  #answer: 30s	# how long it has to answer
  #misses: 3	# answers missed before it counts as stalled
  #reviews: 3	# failed reviews of a task before you are asked
  #audits: 3	# failed audits of a task before you are asked
  #gates: 3	# failures of a task at the gate before you are asked
  #crashes: 3	# crashes of a task's agents before you are asked
  #timeouts: 3	# time-outs of a task's agents before you are asked
  #expert_requests: 3	# how often an agent may ask experts
  #expert_attempts: 3	# how often an expert may try
  #expert_at_once: 2	# requests at once to one expert
  #remediation_rounds: 10	# rounds of remediation before you are asked
  #conflict_wait: 30m	# how long a task waits for files that another one changes
  #conflict_retries: 3	# how often it tries again before you are asked
  #context_percent: 75	# how full a conversation is that a developer does not go on with
  #grace: 5s	# from asking a process to end until it is killed
  #linger: 2s	# how long an agent must be quiet after its signal for its turn to be over
  #orphan: 30m	# how long an agent goes on while the box is away
  #runner_lost: 5m	# how long nothing is heard of a runner before its work is given to others

# What a run may spend; 0 for no limit. At the limit agents are ended, and you are asked.
budget:
  tokens: 0	# tokens, in and out
  cost_usd: %d	# US dollars, as the programs report them
  #task: {tokens: 0, cost_usd: 0}	# all agents on one task together
  #turn: {tokens: 0, cost_usd: 0}	# one turn of an agent

# Who is told of what waits for you and of how runs go, by kinds.
notify:
  #command: ""	# a command line for the shell, run in this file's directory
  #webhook: ""	# an http or https address that gets a POST
  #secret_env: ""	# the variable with the secret that signs what it gets
  #kinds: [question, review, finished, failed, stalled, budget, runner_lost]

# Line signals of your own: names for kinds that there are, such as
# DONE_FOR_TODAY: {kind: ready_for_review, roles: [developer], argument: none, fields: [Summary]}
#signals: {}	# by their names; signalbox signals --json lists the kinds

# How long after a run's end what it leaves is kept; signalbox clean removes more.
keep:
  #transcripts: 2160h	# what was said, and what checks printed; 0s for ever
  #megabytes: 4096	# how much of that, in all; 0 for no limit
  #worktrees: 720h	# of work that was not merged; its branch stays

# The box itself.
#exit_protocol: false	# act upon exit records; AGENT_EXIT_PROTOCOL_ENABLED wins
#archive:
#  dir: ""	# where the archive lies, if not in .signalbox/
#  segments: ""	# a directory for its log, on another disk
#  mirror: ""	# a second directory that the log is written to
#  keep: 0s	# how long outputs of work that is over stay, such as 2160h; 0s for ever
#listen: 127.0.0.1:0	# port 0 is any that is free; beyond this machine by TLS
#tls: {always: false, cert: "", key: ""}	# TLS on this machine too; files with a certificate of yours
#hosts: []	# that a pull request's URL may name, besides the common forges
#redact: []	# patterns (RE2) of secrets that must not be stored
`
