//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// atHome gives the program another home directory: not in /tmp, which Bubblewrap hides anyway.
func (w *world) atHome() (home string) {
	w.t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "signalbox-e2e-home-")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { cleared(w.t, home) })
	w.env = append(w.env, "HOME="+home, "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "XDG_STATE_HOME=")
	return home
}

// cleared removes a home directory. What a program left behind may write there for a moment longer.
func cleared(t *testing.T, home string) {
	t.Helper()
	late := time.Now().Add(patience)
	for err := os.RemoveAll(home); err != nil; err = os.RemoveAll(home) {
		if time.Now().After(late) {
			t.Error(err)
			return
		}
	}
}

// put writes a file with its directories.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A developer that can write the user's caches does not decide what the gate runs: a tool
// that the check has installed in its cache is the one from before any agent was started.
func TestGateBelievesNoCache(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		home := w.atHome()
		w.settings("sandbox: {kind: %s, write: [%s/starts]}\nchecks: [{name: hooks, command: sh check.sh}]\n", kind, w.scripts)
		w.write("hook.sh", "! grep -q backdoor code.txt\n")
		w.write("code.txt", "good\n")
		w.write("check.sh", "hook=$HOME/.cache/hooks/hook\ntest -f $hook || { mkdir -p $HOME/.cache/hooks && cp hook.sh $hook; }\nsh $hook\n")
		w.git("add", "-A")
		w.git("commit", "-qm", "checks")
		hook := filepath.Join(home, ".cache", "hooks", "hook")
		put(t, hook, "exit 0\n")
		w.script("T-1.developer.1", "echo exit 0 >$HOME/.cache/hooks/hook && echo poisoned >>$HOME/.cache/hooks/hook\n"+
			"echo exit 0 >hook.sh\necho backdoor >code.txt\n"+honest["developer"])
		w.script("T-1.developer.2", "echo better >code.txt\n"+honest["developer"])
		w.tasks("T-1")
		w.completed(w.deliver())
		if text, err := os.ReadFile(hook); err != nil || !strings.Contains(string(text), "poisoned") {
			t.Fatalf("the developer could not write the cache, so nothing was tried: %q, %v", text, err)
		}
		if told := w.prompt("T-1", "developer", 2); !strings.Contains(told, "hooks") {
			t.Errorf("the second developer was told\n%s", told)
		}
	})
}

// What a check leaves in its caches is gone for the checks of the merge, and for those of
// the next task.
func TestChecksLeaveNoCache(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		w.atHome()
		w.settings("sandbox: {kind: %s, write: [%s/starts]}\nchecks: [{name: clean, command: sh check.sh}]\nworktree: {setup: 'test ! -f poison.sh || : >$HOME/.cache/setup'}\n", kind, w.scripts)
		places := "$HOME/x $HOME/.cache/x $GOCACHE/x $GOMODCACHE/x $npm_config_cache/x $XDG_STATE_HOME/x $PIP_CACHE_DIR/x"
		w.write("check.sh", "for p in "+places+"; do test ! -e $p || exit 1; done\nif test -f poison.sh; then test -f $HOME/.cache/setup || exit 1; . ./poison.sh; else ! test -e $HOME/.cache/setup; fi\n")
		w.git("add", "-A")
		w.git("commit", "-qm", "checks")
		w.script("T-1.developer", "echo 'for p in "+places+"; do mkdir -p $(dirname $p) && echo evil >$p || exit 1; done' >poison.sh\n"+honest["developer"])
		w.tasks("T-1", "T-2: T-1")
		run := w.deliver()
		w.completed(run)
		for _, task := range []string{"T-1", "T-2"} {
			if _, err := os.Stat(filepath.Join(w.scripts, "starts", task+".developer.2")); err == nil {
				t.Errorf("%s was done twice:\n%s", task, w.story())
			}
		}
		left, err := os.ReadDir(filepath.Join(w.dir, ".signalbox", "caches"))
		if err != nil || len(left) != 2 || left[0].Name() != "began" || left[1].Name() != "seed" {
			t.Errorf("of the home directories there are left %v, %v", left, err)
		}
	})
}

// No cache of the user's can be read by a check, wherever it lies; other files can.
func TestCachesAreHidden(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		home := w.atHome()
		var secrets []string
		for _, dir := range []string{
			".cache/pre-commit", ".cache/go-build", ".cache/pip", ".local/state/x", ".npm/_npx", "go/pkg/mod/example.org/m@v1.0.0", ".cargo/registry", ".cargo/git",
			".m2/repository", ".gradle/caches", ".gemini", ".ccache", ".bun/install/cache", ".nuget/packages",
		} {
			secrets = append(secrets, filepath.Join(home, dir, "secret"))
		}
		for _, name := range []string{
			"GOCACHE", "npm_config_cache", "YARN_CACHE_FOLDER", "npm_config_store_dir", "PIP_CACHE_DIR", "UV_CACHE_DIR", "POETRY_CACHE_DIR",
			"PRE_COMMIT_HOME", "CCACHE_DIR", "SCCACHE_DIR", "PYTHONPYCACHEPREFIX", "PLAYWRIGHT_BROWSERS_PATH", "DENO_DIR", "NUGET_PACKAGES", "CARGO_TARGET_DIR",
			"CODEX_HOME", "CLAUDE_CONFIG_DIR",
		} {
			dir := filepath.Join(home, "moved", name)
			secrets = append(secrets, filepath.Join(dir, "secret"))
			w.env = append(w.env, name+"="+dir)
		}
		secrets = append(secrets, filepath.Join(home, "named", "go", "pkg", "mod", "secret"))
		w.env = append(w.env, "GOPATH="+filepath.Join(home, "named", "go"), "GOMODCACHE=")
		for _, path := range secrets {
			put(t, path, "secret")
		}
		open := filepath.Join(home, ".profile")
		put(t, open, "open\n")
		put(t, filepath.Join(home, ".npmrc"), "; settings\n")
		list := filepath.Join(home, "list")
		put(t, list, strings.Join(secrets, "\n")+"\n")
		w.settings("sandbox: {kind: %s, write: [%s/starts, %s/named/go/pkg]}\nchecks: [{name: hidden, command: sh check.sh}]\n", kind, w.scripts, home)
		w.write("check.sh", fmt.Sprintf(`test "$HOME" != %s || exit 3
cat %s || exit 4
cat $HOME/.npmrc || exit 5
exec 2>/dev/null
while read -r path; do
	if cat $path || true >$path || echo evil >$(dirname $path)/evil; then echo "let through: $path"; exit 6; fi
done <%s
env | grep -E '^(HOME|XDG_.*_HOME|GO(CACHE|MODCACHE|PATH)|.*_CACHE.*|npm_config_.*|PRE_COMMIT_HOME)=%s' && exit 7
exit 0
`, home, open, list, home))
		w.git("add", "-A")
		w.git("commit", "-qm", "checks")
		w.tasks("T-1")
		w.completed(w.deliver())
		if len(secrets) < 30 {
			t.Errorf("only %d places were tried", len(secrets))
		}
		for _, path := range secrets {
			if text, err := os.ReadFile(path); err != nil || string(text) != "secret" {
				t.Errorf("%s is %q, %v", path, text, err)
			}
		}
	})
}

// Only the first checks of a run fill the caches of the others: not those that see whether
// a repair was one, which run what an agent may have had a hand in.
func TestFirstChecksFillCaches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.settings("checks: [{name: caches, command: sh check.sh}]\n")
	w.write("check.sh", ": >$HOME/.cache/began.$$\ntest -f "+w.scripts+"/works || exit 1\n"+
		"test ! -e $HOME/.cache/filled && : >$HOME/.cache/filled && test $(ls $HOME/.cache | grep -c began) = 2\n")
	w.git("add", "-A")
	w.git("commit", "-qm", "checks")
	// The check that fails at first runs twice, the second time in a home directory of its own: those that follow find one file.
	w.script("remediation", "touch \"$SCRIPTS/works\"\n"+honest["remediation"])
	w.tasks("T-1")
	w.completed(w.deliver())
}

// A Go module whose dependencies the user has downloaded is built without the network.
func TestGoModulesWithoutNetwork(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "golang.org/x/mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(out))
	out, err = exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.TrimSpace(string(out))
	if _, err := os.Stat(filepath.Join(modules, "cache", "download", "golang.org", "x", "mod", "@v", version+".zip")); err != nil {
		t.Skipf("NOT TESTED: the module is not among those downloaded: %v", err)
	}
	sums, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		w.atHome()
		w.env = append(w.env, "GOMODCACHE="+modules, "GOFLAGS=")
		w.settings("sandbox: {kind: %s, network: off, write: [%s/starts]}\nchecks: [{name: list, command: go list -deps .}]\n", kind, w.scripts)
		w.write("go.mod", "module example.org/m\n\ngo 1.26.0\n\nrequire golang.org/x/mod "+version+"\n")
		w.write("go.sum", string(sums))
		w.write("main.go", "package main\n\nimport \"golang.org/x/mod/semver\"\n\nfunc main() { println(semver.IsValid(\"v1\")) }\n")
		w.git("add", "-A")
		w.git("commit", "-qm", "a module")
		w.tasks("T-1")
		w.completed(w.deliver())
	})
}
