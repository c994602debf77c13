package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/safetext"
)

// ErrNoRepository is returned where there is no git repository to look at.
var ErrNoRepository = errors.New("git finds no repository here, and agents work in git's worktrees: go to yours, or make one with `git init`")

// Found is what a repository and the machine have, as far as settings follow from
// it.
type Found struct {
	Root      string         // the repository's top directory
	Agents    []Offer        // known programs that are installed
	Writer    string         // the name of the agent to propose for what changes files: the first if empty
	Reviewer  string         // the one for what judges it: another one if there is one, if empty
	Sandboxes []sandbox.Kind // that can be had here
	Sandbox   sandbox.Kind   // the one to propose: none if empty
	Tried     string         // what speaks for it, or for none, in a sentence
	Checks    []Check        // what can be run to check it; no timeout is set
	Setup     string         // what makes a fresh worktree ready
	Copy      []string       // files that work needs, and git does not bring along
}

// Root returns the top directory of the git repository that dir is in.
func Root(ctx context.Context, dir string) (string, error) {
	root, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w (%w)", ErrNoRepository, err)
	}
	return filepath.FromSlash(root), err
}

// Look looks at the git repository that dir is in. It changes nothing.
func Look(ctx context.Context, dir string) (Found, error) {
	root, err := Root(ctx, dir)
	if err != nil {
		return Found{}, err
	}
	f := Found{Root: root, Agents: installed()}
	for _, k := range sandbox.Kinds() {
		if k != sandbox.None && sandbox.Available(k) == nil {
			f.Sandboxes = append(f.Sandboxes, k)
		}
	}
	f.lookGo()
	f.lookNode()
	f.lookPython()
	f.lookRust()
	if len(f.Checks) == 0 {
		f.lookMake()
		f.lookScripts()
	}
	if info, err := os.Lstat(f.path(".env")); err == nil && info.Mode().IsRegular() {
		ignored, err := ignores(ctx, root, ".env")
		if err != nil {
			return Found{}, err
		}
		if ignored {
			f.Copy = []string{".env"}
		}
	}
	return f, nil
}

// Casts are the ways to give the roles to agents, the best first: whoever judges is another program than who writes, where
// there are two.
func (f Found) Casts() []Found {
	var casts []Found
	for i, writer := range f.Agents {
		for j, reviewer := range f.Agents {
			if i != j || len(f.Agents) == 1 {
				cast := f
				cast.Writer, cast.Reviewer = writer.Name, reviewer.Name
				casts = append(casts, cast)
			}
		}
	}
	if casts == nil {
		return []Found{f}
	}
	return casts
}

// player is the name of the agent to propose for a role.
func (f Found) player(role agentsig.Role) string {
	cast := f
	if f.Writer == "" {
		cast = f.Casts()[0]
	}
	switch role {
	case agentsig.RoleCritic, agentsig.RoleAuditor, agentsig.RoleHealthAuditor:
		return cast.Reviewer
	}
	return cast.Writer
}

// Commit commits a file of the repository, and nothing else.
func (f Found) Commit(ctx context.Context, file, message string) error {
	if _, err := git(ctx, f.Root, "add", "--", file); err != nil {
		return err
	}
	_, err := git(ctx, f.Root, "commit", "--quiet", "-m", message, "--", file)
	return err
}

// Empty reports whether there is no commit yet that work could begin from.
func (f Found) Empty(ctx context.Context) bool {
	_, err := git(ctx, f.Root, "rev-parse", "--quiet", "--verify", "HEAD")
	return err != nil
}

// Exclude keeps a directory such as .signalbox/ out of version control by the
// repository's own exclude file, which is not shared. It says whether it had to.
func (f Found) Exclude(ctx context.Context, dir string) (bool, error) {
	ignored, err := ignores(ctx, f.Root, dir)
	if err != nil || ignored {
		return false, err
	}
	name, err := git(ctx, f.Root, "rev-parse", "--git-path", "info/exclude")
	if err != nil {
		return false, err
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(f.Root, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return false, err
	}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	line := dir + "\n"
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		line = "\n" + line
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return false, err
	}
	_, err = file.WriteString(line)
	return true, errors.Join(err, file.Close())
}

// ignores says whether git ignores a path.
func ignores(ctx context.Context, root, name string) (bool, error) {
	_, err := git(ctx, root, "check-ignore", "--quiet", "--", name)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// git runs git in a directory and returns what it prints, less the line's end.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not installed, and agents work in git worktrees: install it first")
	case err != nil:
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, safetext.Escape(strings.TrimSpace(said.String())))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

func (f *Found) path(name string) string { return filepath.Join(f.Root, name) }

func (f *Found) has(name string) bool {
	info, err := os.Stat(f.path(name))
	return err == nil && info.Mode().IsRegular()
}

// maxLook is how much of a file is looked at.
const maxLook = 1 << 20

// read returns the beginning of a file, and nothing of one that is not there.
func (f *Found) read(name string) []byte {
	if !f.has(name) {
		return nil
	}
	file, err := regular.Open(f.path(name))
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()                  // read only
	data, _ := io.ReadAll(io.LimitReader(file, maxLook)) // what can't be read proposes nothing
	return data
}

func (f *Found) check(name, command string) {
	f.Checks = append(f.Checks, Check{Name: name, Command: command})
}

func (f *Found) lookGo() {
	if f.has("go.mod") {
		f.check("go-vet", "go vet ./...")
		f.check("go-test", "go test ./...")
	}
}

func (f *Found) lookNode() {
	var pkg struct {
		Scripts         map[string]string `json:"scripts"`
		Dependencies    map[string]any    `json:"dependencies"`
		DevDependencies map[string]any    `json:"devDependencies"`
	}
	if json.Unmarshal(f.read("package.json"), &pkg) != nil {
		return
	}
	manager := "npm"
	if len(pkg.Dependencies)+len(pkg.DevDependencies) > 0 {
		f.Setup = "npm install --no-package-lock"
	}
	for _, m := range []struct{ lock, manager, setup string }{
		{"package-lock.json", "npm", "npm ci"},
		{"npm-shrinkwrap.json", "npm", "npm ci"},
		{"pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile"},
		{"yarn.lock", "yarn", "yarn install --frozen-lockfile"},
	} {
		if f.has(m.lock) {
			manager, f.Setup = m.manager, m.setup
			break
		}
	}
	// npm init writes a test that says there is none, and fails.
	if test := pkg.Scripts["test"]; test != "" && !strings.Contains(test, "no test specified") {
		f.check(manager+"-test", manager+" test")
	}
}

func (f *Found) lookPython() {
	tested := f.has("pytest.ini") || f.has("conftest.py") || f.has("tests/conftest.py")
	for _, name := range []string{"pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt"} {
		tested = tested || bytes.Contains(f.read(name), []byte("pytest"))
	}
	if f.has("poetry.lock") && f.Setup == "" { // it has an environment for each directory; uv fills its own when it is needed
		f.Setup = "poetry install"
	}
	switch {
	case tested && f.has("uv.lock"):
		f.check("pytest", "uv run pytest")
	case tested && f.has("poetry.lock"):
		f.check("pytest", "poetry run pytest")
	case tested:
		f.check("pytest", "python3 -m pytest")
	}
}

func (f *Found) lookRust() {
	if f.has("Cargo.toml") {
		f.check("cargo-test", "cargo test")
	}
}

// makeTest matches a rule for the target test, and no variable of that name.
var makeTest = regexp.MustCompile(`(?m)^(?:[\w./-]+[ \t]+)*test(?:[ \t]+[\w./-]+)*[ \t]*:(?:[^=:]|$)`)

// lookScripts takes a script that runs the tests, where nothing else was found that does.
func (f *Found) lookScripts() {
	for _, name := range []string{"test.sh", "run-tests.sh", "run_tests.sh", "script/test", "scripts/test", "scripts/test.sh", "bin/test"} {
		info, err := os.Stat(f.path(name))
		if len(f.Checks) > 0 || err != nil || !info.Mode().IsRegular() {
			continue
		}
		command := "./" + name
		if info.Mode()&0o111 == 0 {
			command = "sh " + name
		}
		f.check("test", command)
	}
}

func (f *Found) lookMake() {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if f.has(name) {
			if makeTest.Match(f.read(name)) {
				f.check("make-test", "make test")
			}
			return // make reads the first one only
		}
	}
}
