package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// load loads a text as the file in dir.
func load(t *testing.T, dir, text string) (config.Config, error) {
	t.Helper()
	path := filepath.Join(dir, config.File)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(path)
}

// settled is the default as Load returns it.
func settled(dir string) config.Config {
	c := config.Default()
	c.Dir, c.Path = dir, filepath.Join(dir, config.File)
	r := &c.Roles
	for _, role := range []*config.Role{&r.Developer, &r.Critic, &r.Auditor, &r.Analyst, &r.Remediation, &r.HealthAuditor, &r.Expert} {
		role.AtOnce, role.Sandbox, role.Network = c.Limits.Agents, sandbox.None, config.On
	}
	return c
}

func TestDefaults(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	got, err := config.LoadIn(".")
	if diff := cmp.Diff(settled(dir), got); err != nil || diff != "" {
		t.Errorf("without a file: %v\n%s", err, diff)
	}
	if _, err := config.Load("missing.yaml"); err == nil {
		t.Error("a file that was named and is not there is no error")
	}
	for _, text := range []string{"", "# nothing\n", "roles:\nlimits:\n  agents:\nchecks: ~\n"} {
		got, err := load(t, dir, text)
		if diff := cmp.Diff(settled(dir), got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

const everything = `
exit_protocol: true
archive: ../copy
listen: 127.0.0.1:7071
hosts: [git.example.org]
redact: ['X-[0-9]+']
agents:
  scripted: {command: [./agent.sh, -q], input: json, provider: acme, env: {PORT: 8080}, env_from: [ACME_KEY]}
  default: {adapter: acp, command: [gemini, --acp]}
roles:
  developer: {agent: scripted, at_once: 3, wall_clock: 90m, prompt: prompts/developer.md, network: on, labels: [gpu, linux-6.1]}
  critic: {wall_clock: 90s, allow: []}
  auditor: {allow: [fetch], sandbox: none}
  expert: {sandbox: bubblewrap}
sandbox: {kind: landlock, network: off, checks: off, write: [~/.cache/go-build, "~", /var/tmp, build]}
experts: [security, data base]
analyst: true
checks:
  - {name: test, command: go test ./..., exit: 3, timeout: 1m, environment: CGO_ENABLED=0}
  - {name: vet, command: go vet ./...}
gate: {checks: on, runner: home}
worktree: {setup: npm ci, copy: [.env, config/local.json], setup_timeout: 2m}
merge: pr
branch: work/{run}/all
limits: {agents: 7, silence: 1m, conflict_retries: 1}
budget: {tokens: 1000, cost_usd: 2.5}
notify: {command: ./notify.sh, webhook: 'https://example.org/hook', secret_env: HOOK_SECRET, kinds: [failed, question]}
signals: {DONE_FOR_TODAY: {kind: ready_for_review, roles: [developer], argument: none, fields: [Summary]}}
`

// A box that is to check and has nothing to check with would pass everything.
func TestGateWithoutChecks(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"gate: {checks: on}", "gate: {checks: on}\nchecks: []"} {
		if _, err := load(t, dir, text); err == nil || !strings.Contains(err.Error(), "gate.checks: there are no checks") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := load(t, dir, "gate: {checks: on}\nchecks: 3"); err == nil || strings.Contains(err.Error(), "gate.checks") {
		t.Errorf("checks that could not be read: %v", err)
	}
	if _, err := load(t, dir, "gate: {checks: off}"); err != nil {
		t.Error(err)
	}
}

func TestEverySetting(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	prompt := filepath.Join(dir, "prompts", "developer.md")
	if err := os.Mkdir(filepath.Dir(prompt), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prompt, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Dir, want.Path = dir, filepath.Join(dir, config.File)
	want.ExitProtocol, want.Archive.Dir, want.Listen = true, filepath.Join(dir, "../copy"), "127.0.0.1:7071"
	want.Hosts, want.Redact = []string{"git.example.org"}, []string{"X-[0-9]+"}
	want.Agents = map[string]config.Agent{
		"scripted": {Adapter: config.AdapterPlain, Command: []string{"./agent.sh", "-q"}, Input: config.InputJSON, Provider: "acme", Env: map[string]string{"PORT": "8080"}, EnvFrom: []string{"ACME_KEY"}},
		"default":  {Adapter: config.AdapterACP, Command: []string{"gemini", "--acp"}, Input: config.InputOnce, Provider: "default"},
	}
	all := []config.Permission{config.AllowEdit, config.AllowExecute, config.AllowFetch}
	role := func(agent string, wallClock time.Duration, allow []config.Permission) config.Role {
		return config.Role{Agent: agent, AtOnce: 7, WallClock: wallClock, Allow: allow, Sandbox: sandbox.Landlock, Network: config.Off}
	}
	want.Roles = config.Roles{
		Developer:     role("scripted", 90*time.Minute, all),
		Critic:        role("default", 90*time.Second, []config.Permission{}),
		Auditor:       role("default", 30*time.Minute, all[2:]),
		Analyst:       role("default", 60*time.Minute, all[1:]),
		Remediation:   role("default", 15*time.Minute, all),
		HealthAuditor: role("default", 15*time.Minute, all[1:]),
		Expert:        role("default", 30*time.Minute, all[1:]),
	}
	developer := &want.Roles.Developer
	developer.AtOnce, developer.Prompt, developer.Network, developer.Labels = 3, prompt, config.On, []string{"gpu", "linux-6.1"}
	want.Roles.Auditor.Sandbox, want.Roles.Expert.Sandbox = sandbox.None, sandbox.Bubblewrap
	want.Sandbox = config.Sandbox{Kind: sandbox.Landlock, Network: config.Off, Checks: config.Off,
		Write: []string{filepath.Join(home, ".cache/go-build"), home, "/var/tmp", filepath.Join(dir, "build")}}
	want.Experts, want.Analyst = []string{"security", "data base"}, true
	want.Checks = []config.Check{
		{Name: "test", Command: "go test ./...", Exit: 3, Timeout: time.Minute, Environment: "CGO_ENABLED=0"},
		{Name: "vet", Command: "go vet ./...", Timeout: 10 * time.Minute},
	}
	want.Gate = config.Gate{Runner: config.GateHome, Checks: config.On}
	want.Worktree = config.Worktree{Setup: "npm ci", Copy: []string{".env", "config/local.json"}, SetupTimeout: 2 * time.Minute}
	want.Merge.Into, want.Branch = config.IntoPR, "work/{run}/all"
	want.Limits.Agents, want.Limits.Silence, want.Limits.ConflictRetries = 7, time.Minute, 1
	want.Budget = config.Budget{Tokens: 1000, CostUSD: 2.5}
	want.Notify = config.Notify{
		Command: "./notify.sh", Webhook: "https://example.org/hook", SecretEnv: "HOOK_SECRET", Kinds: []config.Kind{config.KindFailed, config.KindQuestion},
	}
	want.Signals = map[string]config.Signal{"DONE_FOR_TODAY": {
		Kind: agentsig.KindReadyForReview, Roles: []agentsig.Role{agentsig.RoleDeveloper}, Argument: agentsig.NoOwnArgument, Fields: []string{"Summary"},
	}}

	got, err := load(t, dir, everything)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("%v\n%s", err, diff)
	}
	if branch := got.BranchOf("R1"); branch != "work/R1/all" {
		t.Errorf("the branch is %s", branch)
	}
	for _, role := range agentsig.Roles() {
		if got.Role(role).WallClock == 0 {
			t.Errorf("nothing is set for the role %s", role)
		}
	}
	if diff := cmp.Diff(*developer, got.Role(agentsig.RoleDeveloper)); diff != "" {
		t.Errorf("the developer: %s", diff)
	}
}

func TestTheOnlyAgentPlaysEveryRole(t *testing.T) {
	c, err := load(t, t.TempDir(), "agents: {codex: {command: [codex, exec]}}\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range agentsig.Roles() {
		if got := c.Role(role).Agent; got != "codex" {
			t.Errorf("%s is played by %q", role, got)
		}
	}
}

func TestResolve(t *testing.T) {
	dir := filepath.FromSlash("/repo")
	for in, want := range map[string]string{
		"./agent.sh": filepath.Join(dir, "agent.sh"), "../a/b": filepath.FromSlash("/a/b"),
		"claude": "claude", "bin/agent": "bin/agent", ".agent": ".agent", "/bin/sh": "/bin/sh",
	} {
		a := config.Agent{Command: []string{in, "./x"}}
		if got := a.Resolve(dir); !slices.Equal(got, []string{want, "./x"}) {
			t.Errorf("%s is resolved to %q", in, got)
		}
		if a.Command[0] != in {
			t.Errorf("%s was changed to %s", in, a.Command[0])
		}
	}
}

// refused are files that are no good, and what has to be said of them. Those of
// the first list can be seen by the schema too.
var refused = []struct{ text, want string }{
	{"exit_protcol: true", "exit_protcol: it is no setting; there are: exit_protocol, archive, "},
	{"gate: {checks: hand}", `gate.checks: "hand": it has to be on or off`},
	{"gate: {runner: gpu1}", `gate.runner: "gpu1": it has to be other, any or home`},
	{"gate: on", "gate: it has to be settings, with these names: runner, checks"},
	{"exit_protocol: maybe", "exit_protocol: it has to be true or false"},
	{"- a", "the file: it has to be settings"},
	{"just text", "the file: it has to be settings"},
	{"hosts: git.example.org", "hosts: it has to be a list"},
	{"agents: [a]", "agents: it has to be names"},
	{"agents: {a: {command: claude -p}}", "agents.a.command: it has to be a list"},
	{"agents: {a: {input: once}}", "agents.a.command: it has to be a program and its arguments"},
	{"agents: {a: {command: []}}", "agents.a.command: it has to be a program"},
	{"agents: {a: {command: [''], input: pipe}}", `agents.a.input: "pipe": it has to be once or json`},
	{"agents: {a: {command: [b], comand: [c]}}", "agents.a.comand: it is no setting; there are: adapter, command, input, commands, provider, env"},
	{"agents: {a: {command: [b], adapter: mcp}}", `agents.a.adapter: "mcp": it has to be plain, acp, claude, codex or ask`},
	{"roles: {tester: {}}", "roles.tester: it is no setting; there are: developer, critic, auditor, analyst, remediation, health_auditor, expert"},
	{"roles:\n  developer: {wall_clock: 5}", "roles.developer.wall_clock: it has to be a time such as 90s"},
	{"roles: {developer: {wall_clock: 5 minutes}}", "roles.developer.wall_clock: it has to be a time such as 90s"},
	{"roles: {developer: {at_once: -1}}", "roles.developer.at_once: -1: it has to be 0"},
	{"roles: {developer: {at_once: many}}", "roles.developer.at_once: it has to be a whole number"},
	{"roles: {critic: {allow: edit}}", "roles.critic.allow: it has to be a list"},
	{"roles: {critic: {allow: [fetch, write]}}", `roles.critic.allow[2]: "write": it has to be edit, execute or fetch`},
	{"roles: {critic: {sandbox: docker}}", `roles.critic.sandbox: "docker": it has to be none, landlock or bubblewrap`},
	{"roles: {critic: {network: none}}", `roles.critic.network: "none": it has to be on or off`},
	{"sandbox: landlock", "sandbox: it has to be settings, with these names: kind, network, checks, write"},
	{"sandbox: {kind: seatbelt}", `sandbox.kind: "seatbelt": it has to be none, landlock or bubblewrap`},
	{"sandbox: {network: false}", `sandbox.network: "false": it has to be on or off`},
	{"sandbox: {checks: no}", `sandbox.checks: "no": it has to be on or off`},
	{"sandbox: {write: ['']}", `sandbox.write[1]: "" is no path`},
	{"checks: [go test]", "checks[1]: it has to be settings, with these names: name, command"},
	{"checks: [{command: a}]", `checks[1].name: "" is no name`},
	{"checks: [{name: a}]", "checks[1].command: it has to be a command line"},
	{"checks: [{name: a, command: b, exit: 256}]", "checks[1].exit: 256: an exit code is 0 to 255"},
	{"checks: [{name: a, command: b, exit: -1}]", "checks[1].exit: -1: "},
	{"merge: rebase", `merge: "rebase": it has to be branch or pr`},
	{"limits: {agents: 0}", "limits.agents: 0: it has to be 1 or more"},
	{"limits: {gates: -3}", "limits.gates: -3: it has to be 1 or more"},
	{"limits: {gate: 3}", "limits.gate: it is no setting; there are: agents, silence"},
	{"budget: {tokens: -1}", "budget.tokens: -1: it has to be 0"},
	{"budget: {tokens: 1.5}", "budget.tokens: it has to be a whole number"},
	{"budget: {cost_usd: -0.5}", "budget.cost_usd: -0.5: it has to be 0"},
	{"notify: {webhook: 'file:///etc/passwd'}", `notify.webhook: "file:///etc/passwd": it has to be an http:// or https:// address`},
}

var refusedByLoad = []struct{ text, want string }{
	{"listen: [", "signalbox.yaml: yaml: line "},
	{"listen: a\nlisten: b", "signalbox.yaml:2: listen: it is there twice"},
	{"agents: {a: {command: [x]}, a: {command: [y]}}", "agents.a: it is there twice"},
	{"\nlimits:\n\n  agents: 0", "signalbox.yaml:4: limits.agents: 0: it has to be 1 or more"},
	{"checks:\n- {name: a, command: b}\n- {name: c}", "signalbox.yaml:3: checks[2].command: it has to be a command line"},
	{"listen: a\n---\nlisten: b", "it goes on after the settings"},
	{"agents: &a {x: *a}", "agents.x.x: it is no setting"},
	{"redact: ['(']", `redact: secret pattern 1, "(": `},
	{"redact: ['a*']", "it matches empty text"},
	{"agents: {'a b': {command: [x]}}", `agents."a b": a name begins with a letter or digit`},
	{"agents: {a: {command: [' ']}}", "agents.a.command: it has to be a program"},
	{`agents: {a: {command: [x, "\0"]}}`, "agents.a.command: no argument"},
	{"agents: {a: {command: [x], env: {'A=B': c}}}", `agents.a.env: "A=B" can't be a variable`},
	{`agents: {a: {command: [x], provider: "\e[1m"}}`, `agents.a.provider: "\x1b[1m" is no name`},
	{"agents: {a: {command: [x], adapter: acp, input: json}}", "agents.a.input: json is for plain agents: the adapter acp has its own way to speak to one"},
	{"sandbox: {write: [~]}", `sandbox.write[1]: "~" is nothing: it has to be text; put it in quotes`},
	{"experts: [a, ]\nhosts:\n-\n", "signalbox.yaml:3: hosts[1]: "},
	{"sandbox: {write: [/a, ~root/b]}", `sandbox.write[2]: "~root/b": ~ is your own home`},
	{`sandbox: {write: ["/a\0"]}`, `sandbox.write[1]: "/a\x00" is no path`},
	{"agents: {a: {command: [x]}, b: {command: [y]}}\nroles: {developer: {agent: a}}", "roles.critic.agent: nobody plays it: name one of a, b here, or call one of them default"},
	{"agents: {a: {command: [x]}}\nroles: {critic: {agent: b}}", `roles.critic.agent: there is no agent "b", but: a`},
	{"roles: {critic: {agent: b}}", `roles.critic.agent: there is no agent "b": describe it under agents`},
	{"roles: {critic: {wall_clock: 0s}}", "roles.critic.wall_clock: 0s: it has to be longer than 0s"},
	{"roles: {critic: {prompt: prompts/critic.md}}", filepath.Join("prompts", "critic.md") + ": no such file"},
	{"roles: {critic: {prompt: .}}", "is no file"},
	{"experts: [a, a]", `experts[2]: "a" is there twice`},
	{"experts: ['']", `experts[1]: "" is no name`},
	{"checks: [{name: a, command: b}, {name: a, command: c}]", `checks[2].name: "a" is there twice`},
	{"checks: [{name: a, command: b, timeout: 0s}]", "checks[1].timeout: 0s: it has to be longer than 0s"},
	{"worktree: {copy: [../.env]}", `worktree.copy[1]: "../.env": it has to be a path below the repository`},
	{"worktree: {copy: [.env, /etc/passwd]}", "worktree.copy[2]: "},
	{"worktree: {copy: [a/../..]}", "worktree.copy[1]: "},
	{"worktree: {copy: [.]}", "worktree.copy[1]: "},
	{"worktree: {copy: [.git/config]}", "is git's own"},
	{"worktree: {setup_timeout: 0s}", "worktree.setup_timeout: 0s: "},
	{"branch: a b", `branch: "a b" is no name of a git branch`},
	{"branch: a//b", "branch: "}, {"branch: -f", "branch: "}, {"branch: a..b", "branch: "}, {"branch: a.lock/b", "branch: "},
	{"branch: .a", "branch: "}, {"branch: HEAD", "branch: "}, {"branch: ''", "branch: "}, {"branch: 'a@{1}'", "branch: "},
	{"limits: {runner_lost: 9s}", "limits.runner_lost: 9s: it has to be 10s or longer"},
	{"roles: {developer: {labels: [gpu, GPU]}}", `roles.developer.labels[2]: "GPU": a label has 1 to 64 of a-z`},
	{"roles: {developer: {labels: [gpu, gpu]}}", `roles.developer.labels[2]: "gpu" is there twice`},
	{"roles: {developer: {labels: ['']}}", `roles.developer.labels[1]: "": a label`},
	{"roles: {expert: {labels: [gpu]}}", "roles.expert.labels: an expert is started where the agent is that asks it"},
	{"roles: {remediation: {labels: [gpu]}}", "roles.remediation.labels: the environment is repaired on the box's own machine"},
	{"roles: {critic: {agent: person, labels: [gpu]}}", "roles.critic.labels: you play it"},
	{"agents: {a: {command: [x], env_from: ['s3cret!']}}", "agents.a.env_from[1]: it has to be the name of a variable"},
	{"agents: {a: {command: [x], env_from: [K, K]}}", "agents.a.env_from[2]: K is there twice"},
	{"agents: {a: {command: [x], env: {K: v}, env_from: [K]}}", "agents.a.env_from[1]: K is set below env as well"},
	{"agents: {a: {command: [x], env_from: [GIT_DIR]}}", "agents.a.env_from[1]: GIT_DIR is kept from agents"},
	{"limits: {grace: 0s}", "limits.grace: 0s: "}, {"limits: {silence: -5m}", "limits.silence: -5m0s: "},
	{"budget: {cost_usd: .nan}", "budget.cost_usd: NaN: "}, {"budget: {cost_usd: .inf}", "budget.cost_usd: +Inf: "},
	{"signals: {READY_FOR_REVIEWS: {kind: ready_for_review}}", `signals.READY_FOR_REVIEWS: 'READY_FOR_REVIEWS': it is, or looks like, READY_FOR_REVIEW: call it something else`},
	{"signals: {ALL_DONE: {kind: merge_it}}", `signals.ALL_DONE: 'ALL_DONE': it leads to 'merge_it', which is no kind of line signal`},
	{"signals: {ALL_DONE: {kind: ready_for_review, roles: [critic]}}", "READY_FOR_REVIEW is said by developer"},
	{"signals: {ALL_DONE: {kind: ready_for_review}, ALL_D0NE: {kind: ready_for_review}}", "signals.ALL_DONE: "},
	{"signals: {ALL_DONE: {kind: ready_for_review, action: MERGE}}", "signals.ALL_DONE.action"},
	{"notify: {webhook: 'https:///x'}", "notify.webhook: "},
	{"notify: {webhook: 'https://x', secret_env: whsec_abc}", "notify.secret_env: it has to be the name of an environment variable"},
	{"notify: {webhook: 'https://x', secret_env: 's3cret!'}", "notify.secret_env: it has to be the name of an environment variable"},
	{"notify: {command: x, secret_env: HOOK_SECRET}", "notify.secret_env: there is no notify.webhook"},
	{"notify: {command: x, kinds: [question, lunch]}", `notify.kinds[2]: "lunch": it has to be question, review, finished, failed, stalled, budget or runner_lost`},
	{"notify: {command: x, kinds: []}", "notify.kinds: it is empty"},
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	for _, c := range slices.Concat(refused, refusedByLoad) {
		_, err := load(t, dir, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), config.File) {
			t.Errorf("%s\n%v, want an error with %q and the file's name", c.text, err, c.want)
		}
	}
}

// Every problem is named once, whether a setting can't be read or can't be.
func TestEveryProblemIsNamed(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"merge: rebase\nlimits: {agents: 0, grace: 0s}\nbudget: {tokens: -1}\n", []string{
			":1: merge: ", ":2: limits.agents: ", ":2: limits.grace: ", ":3: budget.tokens: ",
		}},
		{"limits: {agents: -1}\n", []string{":1: limits.agents: "}},
		{"mrege: pr\nlimits: {agents: many, gates: 0}\nagents:\n  a: {command: claude}\n  b: {}\n", []string{
			":1: mrege: ", ":2: limits.agents: ", ":4: agents.a.command: ", ":5: agents.b.command: ", ":2: limits.gates: ",
		}},
		{"agnets: {a: {command: [x]}}\nroles: {critic: {agent: a, at_once: -1}}\n", []string{":1: agnets: ", ":2: roles.critic.at_once: "}},
		{"sandbox: {kind: jail}\nroles:\n  critic: {sandbox: jail, allow: [[edit], fly]}\n", []string{
			":3: roles.critic.allow[1]: ", ":3: roles.critic.sandbox: ", ":1: sandbox.kind: ",
		}},
		{"agents: {a: {command: [x], adapter: y, input: json}}\n", []string{":1: agents.a.adapter: "}},
		{"checks: [go test, {name: a}]\nmerge: rebase\n", []string{":1: checks[1]: ", ":2: merge: "}},
	} {
		_, err := load(t, t.TempDir(), c.text)
		if err == nil {
			t.Errorf("%s\nis loaded", c.text)
			continue
		}
		got := strings.Split(err.Error(), "\n")
		ok := len(got) == len(c.want)
		for i := 0; ok && i < len(got); i++ {
			ok = strings.Contains(got[i], config.File+c.want[i])
		}
		if !ok {
			t.Errorf("%s\nis refused with\n%v\nwant %q", c.text, err, c.want)
		}
	}
}

// Settings that say the same have the same digest, however they are written; any other setting makes another.
func TestDigest(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		c, err := config.Parse("signalbox.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	base := "agents: {a: {command: [x]}}\nchecks: [{name: test, command: 'true'}]\n"
	for _, same := range []string{
		"# why\n" + base, "checks:\n- command: 'true'\n  name: test\nagents: {a: {command: [x]}}\n", base + "audit: auto\n", base + "listen: 127.0.0.1:7071\n", base + "hosts: []\n",
	} {
		if digest(same) != digest(base) {
			t.Errorf("it says the same, and has another digest:\n%s", same)
		}
	}
	for _, other := range []string{
		"", base + "audit: always\n", base + "roles: {critic: {agent: person}}\n", base + "merge: pr\n", base + "limits: {reviews: 4}\n",
		"agents: {a: {command: [x], env: {A: b}}}\nchecks: [{name: test, command: 'true'}]\n", "agents: {a: {command: [x]}}\nchecks: [{name: test, command: 'false'}]\n",
	} {
		if digest(other) == digest(base) {
			t.Errorf("it says something else, and has the same digest:\n%s", other)
		}
	}
}

// What the boxes of a cluster have to say alike has one digest on all their machines, wherever they keep the ledger.
func TestSharedDigest(t *testing.T) {
	digest := func(file, text string) string {
		t.Helper()
		c, err := config.Parse(file, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.SharedDigest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const base = "agents: {a: {command: [./x]}}\nnotify: {command: ./tell}\narchive: {dir: a, keep: 24h}\n"
	if digest("/one/signalbox.yaml", base) != digest("/two/signalbox.yaml", strings.Replace(base, "dir: a", "dir: /mnt/b, segments: s", 1)) {
		t.Error("two machines that say the same have two digests")
	}
	if digest("/one/signalbox.yaml", base) == digest("/one/signalbox.yaml", strings.Replace(base, "24h", "48h", 1)) {
		t.Error("for how long outputs are kept makes no difference")
	}
}
