package config_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// repository makes a git repository with files, and a PATH with git and programs.
func repository(t *testing.T, files map[string]string, programs ...string) string {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	bin, root := t.TempDir(), t.TempDir()
	if err := os.Symlink(real, filepath.Join(bin, "git")); err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(root))
	if out, err := exec.CommandContext(t.Context(), "git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLook(t *testing.T) {
	check := func(pairs ...string) (all []config.Check) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, config.Check{Name: pairs[i], Command: pairs[i+1]})
		}
		return all
	}
	acp := func(name, provider string, command ...string) config.Offer {
		return config.Offer{Name: name, Agent: config.Agent{Adapter: config.AdapterACP, Command: command, Provider: provider}}
	}
	claude, codex := acp("claude", "anthropic", "claude"), acp("codex", "openai", "codex")
	claude.Adapter, codex.Adapter = config.AdapterClaude, config.AdapterCodex
	opencode := acp("opencode", "", "opencode", "acp")
	opencode.Env = map[string]string{"OPENCODE_PERMISSION": `{"edit":"ask","bash":"ask","webfetch":"ask"}`}
	for name, c := range map[string]struct {
		files    map[string]string
		programs []string
		want     config.Found
	}{
		"nothing": {},
		"every program": {nil, []string{"copilot", "opencode", "gemini", "codex", "codex-acp", "claude", "claude-agent-acp"},
			config.Found{Agents: []config.Offer{
				acp("claude", "anthropic", "claude-agent-acp"), acp("codex", "openai", "codex-acp"), acp("gemini", "google", "gemini", "--acp"),
				opencode, acp("copilot", "", "copilot", "--acp"),
			}}},
		"go": {map[string]string{"go.mod": "module m\n", "Makefile": "test:\n"}, []string{"codex", "claude"},
			config.Found{Agents: []config.Offer{claude, codex}, Checks: check("go-vet", "go vet ./...", "go-test", "go test ./...")}},
		"npm": {map[string]string{"package.json": `{"scripts":{"test":"vitest"}}`, "package-lock.json": "{}"}, nil,
			config.Found{Checks: check("npm-test", "npm test"), Setup: "npm ci"}},
		"npm without a lock or a test":     {map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`}, nil, config.Found{}},
		"npm, dependencies without a lock": {map[string]string{"package.json": `{"devDependencies":{"vitest":"1"}}`}, nil, config.Found{Setup: "npm install --no-package-lock"}},
		"poetry":                           {map[string]string{"pytest.ini": "", "poetry.lock": ""}, nil, config.Found{Checks: check("pytest", "poetry run pytest"), Setup: "poetry install"}},
		"requirements":                     {map[string]string{"requirements.txt": "flask\npytest==8.1\n"}, nil, config.Found{Checks: check("pytest", "python3 -m pytest")}},
		"npm that can't be read":           {map[string]string{"package.json": `{`, "package-lock.json": "{}"}, nil, config.Found{}},
		"pnpm": {map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "pnpm-lock.yaml": ""}, nil,
			config.Found{Checks: check("pnpm-test", "pnpm test"), Setup: "pnpm install --frozen-lockfile"}},
		"python":             {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n"}, nil, config.Found{Checks: check("pytest", "python3 -m pytest")}},
		"uv":                 {map[string]string{"pytest.ini": "", "uv.lock": ""}, nil, config.Found{Checks: check("pytest", "uv run pytest")}},
		"python, no tests":   {map[string]string{"pyproject.toml": "[project]\n"}, nil, config.Found{}},
		"rust and npm":       {map[string]string{"Cargo.toml": "", "package.json": `{"scripts":{"test":"x"}}`}, nil, config.Found{Checks: check("npm-test", "npm test", "cargo-test", "cargo test")}},
		"make":               {map[string]string{"Makefile": "test := a\nall: x\nlint test: x\n\tgo\n"}, nil, config.Found{Checks: check("make-test", "make test")}},
		"a script":           {map[string]string{"test.sh": "exit 0\n"}, nil, config.Found{Checks: check("test", "sh test.sh")}},
		"make, no such rule": {map[string]string{"Makefile": "test := a\ntest ::= b\ntests: x\n\ttest: y\n"}, nil, config.Found{}},
		"ignored .env":       {map[string]string{".env": "", ".gitignore": ".env\n"}, nil, config.Found{Copy: []string{".env"}}},
		"kept .env":          {map[string]string{".env": ""}, nil, config.Found{}},
	} {
		t.Run(name, func(t *testing.T) {
			root := repository(t, c.files, c.programs...)
			below := filepath.Join(root, "below")
			if err := os.Mkdir(below, 0o700); err != nil {
				t.Fatal(err)
			}
			got, err := config.Look(t.Context(), below)
			c.want.Root = root
			for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bubblewrap} {
				if sandbox.Available(kind) == nil {
					c.want.Sandboxes = append(c.want.Sandboxes, kind)
				}
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Fatalf("%v\n%s", err, diff)
			}
			checkProposal(t, got)
		})
	}
}

// commented matches a setting that is in a file as a comment.
var commented = regexp.MustCompile(`(?m)^( *)#([^ \n])`)

// checkProposal holds a proposed file to what was found: it loads and says just
// that, also when everything that is commented out is made a setting; the schema
// takes it; it speaks of every setting.
func checkProposal(t *testing.T, f config.Found) {
	t.Helper()
	short := string(f.Propose())
	if n := strings.Count(short, "\n"); n > 22+len(f.Agents) {
		t.Errorf("%d lines:\n%s", n, short)
	}
	text := string(f.ProposeAll())
	all := commented.ReplaceAllString(text, "$1$2")
	s := wanted(t)
	var loaded []config.Config
	for _, text := range []string{short, text, all} {
		c, err := load(t, f.Root, text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		loaded = append(loaded, c)
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := s.check(v, ""); err != nil {
			t.Errorf("the schema refuses the proposal: %v", err)
		}
	}
	want := settled(f.Root)
	want.Budget.CostUSD = config.ProposedBudget
	want.Worktree.Setup, want.Worktree.Copy = f.Setup, f.Copy
	for _, c := range f.Checks {
		c.Timeout = 10 * 60e9
		want.Checks = append(want.Checks, c)
	}
	for _, got := range loaded {
		agents := map[string]config.Agent{}
		for _, o := range f.Agents {
			o.Input = config.InputOnce
			if o.Provider == "" {
				o.Provider = o.Name
			}
			agents[o.Name] = o.Agent
		}
		if diff := cmp.Diff(agents, got.Agents, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the agents are others:\n%s", diff)
		}
		if len(f.Agents) > 0 && (got.Roles.Developer.Agent != f.Agents[0].Name || got.Roles.Critic.Agent != f.Agents[min(len(f.Agents), 2)-1].Name) {
			t.Errorf("the developer is %+v, the critic %+v", got.Roles.Developer, got.Roles.Critic)
		}
		got.Agents = nil
		for _, r := range []*config.Role{&got.Roles.Developer, &got.Roles.Critic, &got.Roles.Auditor, &got.Roles.Analyst,
			&got.Roles.Remediation, &got.Roles.HealthAuditor, &got.Roles.Expert} {
			r.Agent = ""
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the proposal says otherwise:\n%s", diff)
		}
	}
	var walk func(s *schema)
	walk = func(s *schema) {
		for _, p := range s.Properties {
			if !regexp.MustCompile(`(?m)(^ *#?|^#   |\{|, )` + p.name + `(:|  )`).MatchString(text) {
				t.Errorf("the proposal does not speak of %s", p.name)
			}
			walk(p.schema)
		}
		if s.Items != nil {
			walk(s.Items)
		}
		if next, ok := s.Additional.(*schema); ok {
			walk(next)
		}
	}
	walk(s)
	for line := range strings.Lines(text) {
		if len(line) > 121 {
			t.Errorf("too long to read: %s", line)
		}
	}
}

func TestLookOutsideARepository(t *testing.T) {
	root := repository(t, nil)
	if err := os.RemoveAll(filepath.Join(root, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Look(t.Context(), root); !errors.Is(err, config.ErrNoRepository) {
		t.Errorf("outside a repository: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := config.Look(t.Context(), root); err == nil || !strings.Contains(err.Error(), "install it") {
		t.Errorf("without git: %v", err)
	}
}

func TestExclude(t *testing.T) {
	root := repository(t, map[string]string{".git/info/exclude": "# no line end"})
	f, err := config.Look(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		if did, err := f.Exclude(t.Context(), ".signalbox/"); did != want || err != nil {
			t.Errorf("time %d: %v, %v", i+1, did, err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(root, ".git/info/exclude")); string(got) != "# no line end\n.signalbox/\n" {
		t.Errorf("the file is %q, %v", got, err)
	}
	root = repository(t, map[string]string{".gitignore": ".signalbox\n"})
	f.Root = root
	if did, err := f.Exclude(t.Context(), ".signalbox/"); did || err != nil {
		t.Errorf("one that .gitignore names: %v, %v", did, err)
	}
}

func TestProposeSaysWhichSandboxesWork(t *testing.T) {
	for want, kinds := range map[string][]sandbox.Kind{
		"# None works here; `signalbox doctor` says why, of one that is set.\n": nil,
		"# Of them, landlock works here.\n":                                     {sandbox.Landlock},
		"# Here landlock and bubblewrap work.\n":                                {sandbox.Landlock, sandbox.Bubblewrap},
	} {
		f := config.Found{Root: t.TempDir(), Sandboxes: kinds}
		if text := string(f.ProposeAll()); !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
		checkProposal(t, f)
	}
}
