package home

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// someone is a user in whose home directory these are, and nothing else.
func someone(env []string, there ...string) User {
	return User{
		Home: "/u", Env: append([]string{"HOME=/u"}, env...), Go: map[string]string{},
		Exists: func(path string) bool { return slices.Contains(there, path) },
	}
}

// lookup returns the variables of an environment; one that is there twice is an error.
func lookup(t *testing.T, env []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if _, twice := all[name]; twice {
			t.Errorf("%s is set twice", name)
		}
		all[name] = value
	}
	return all
}

// Each variable of a check, by what the user has set and what is in the home directory.
func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		name  string
		user  User
		wants map[string]string // empty: it is not set
	}{
		{"nothing set", someone(nil), map[string]string{
			"HOME": "/own", "XDG_CACHE_HOME": "/own/.cache", "XDG_CONFIG_HOME": "/own/.config", "XDG_DATA_HOME": "/own/.local/share",
			"XDG_STATE_HOME": "/own/.local/state", "GOCACHE": "/own/.cache/go-build", "GOPATH": "/own/go", "GOMODCACHE": "/own/go/pkg/mod",
			"npm_config_cache": "/own/.npm", "PIP_CACHE_DIR": "/own/.cache/pip", "UV_CACHE_DIR": "/own/.cache/uv", "CARGO_HOME": "/own/.cargo",
			"GRADLE_USER_HOME": "/own/.gradle", "MAVEN_OPTS": "-Dmaven.repo.local=/own/.m2/repository",
			// not set by the user, and tools go by HOME
			"PRE_COMMIT_HOME": "", "YARN_CACHE_FOLDER": "", "CCACHE_DIR": "", "npm_config_store_dir": "",
			// not there
			"RUSTUP_HOME": "", "PYENV_ROOT": "", "GOPROXY": "", "PYTHONUSERBASE": "", "PATH": "",
		}},
		{"what the user has moved", someone([]string{
			"GOCACHE=/fast/go", "PRE_COMMIT_HOME=/x/hooks", "CCACHE_DIR=/x/cc", "PYTHONPYCACHEPREFIX=/x/pyc", "NPM_CONFIG_CACHE=/x/npm",
			"MAVEN_OPTS=-Xmx1g", "PLAYWRIGHT_BROWSERS_PATH=0", "KEPT=yes", "XDG_CACHE_HOME=/x",
		}), map[string]string{
			"GOCACHE": "/own/.cache/go-build", "PRE_COMMIT_HOME": "/own/.cache/pre-commit", "CCACHE_DIR": "/own/.cache/ccache",
			"PYTHONPYCACHEPREFIX": "/own/.cache/pycache", "npm_config_cache": "/own/.npm", "NPM_CONFIG_CACHE": "",
			"MAVEN_OPTS": "-Xmx1g -Dmaven.repo.local=/own/.m2/repository", "PLAYWRIGHT_BROWSERS_PATH": "0", "KEPT": "yes", "XDG_CACHE_HOME": "/own/.cache",
		}},
		{"tools in the home directory", someone([]string{"NVM_DIR=/else", "XDG_DATA_HOME=/data"},
			"/u/.rustup", "/u/.pyenv", "/u/.nvm", "/data/mise", "/u/.local", "/u/.local/lib", "/data/pnpm"), map[string]string{
			"RUSTUP_HOME": "/u/.rustup", "PYENV_ROOT": "/u/.pyenv", "NVM_DIR": "/else", "MISE_DATA_DIR": "/data/mise", "PYTHONUSERBASE": "/u/.local",
			"PNPM_HOME": "/data/pnpm", "npm_config_store_dir": "/own/.local/share/pnpm/store", "VOLTA_HOME": "",
		}},
		{"modules that are there", someone([]string{"GOPROXY=off"}, "/u/go/pkg/mod/cache/download"), map[string]string{
			"GOPROXY": "file:///u/go/pkg/mod/cache/download,off"}},
		{"modules elsewhere", someone([]string{"GOPATH=/a b:/c"}, "/a b/pkg/mod/cache/download"), map[string]string{
			"GOPROXY": "file:///a%20b/pkg/mod/cache/download,https://proxy.golang.org,direct"}},
		{"programs in caches", someone([]string{"PATH=/bin:/u/.cache/bin:/u/.npm/x:/u/.local/bin::rel:/u/.cachet"}), map[string]string{
			"PATH": "/bin:/u/.local/bin::rel:/u/.cachet"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lookup(t, c.user.Environment("/own"))
			for name, want := range c.wants {
				if got[name] != want {
					t.Errorf("%s is %q, want %q", name, got[name], want)
				}
			}
		})
	}
}

// What agents can write is no source of modules, and no place for programs.
func TestEnvironmentWhereAgentsWrite(t *testing.T) {
	u := someone([]string{"PATH=/u/.cargo/bin:/bin"}, "/u/go/pkg/mod/cache/download")
	u.Agents = []string{"/u/go/pkg", "/u/.cargo"}
	got := lookup(t, u.Environment("/own"))
	if got["GOPROXY"] != "" || got["PATH"] != "/bin" {
		t.Errorf("GOPROXY=%s PATH=%s", got["GOPROXY"], got["PATH"])
	}
}

// What `go env -w` has set counts where the environment says nothing.
func TestGoSettings(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".config", "go"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".config", "go", "env"), []byte("GOPROXY=https://goproxy.example\nGOMODCACHE="+dir+"/mods\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "mods", "cache", "download"), 0o700); err != nil {
		t.Fatal(err)
	}
	u := LoadUser([]string{"HOME=" + dir}, nil)
	if got, want := lookup(t, u.Environment("/own"))["GOPROXY"], "file://"+dir+"/mods/cache/download,https://goproxy.example"; got != want {
		t.Errorf("GOPROXY is %q, want %q", got, want)
	}
	if !slices.Contains(u.Caches(), filepath.Join(dir, "mods")) {
		t.Errorf("the module cache is not among %q", u.Caches())
	}
}

// Every variable of the table moves the user's place to be hidden and the check's own back
// below its home; none of the check's lies in the user's home.
func TestEveryCacheMoves(t *testing.T) {
	for _, c := range caches {
		if c.variable == "" {
			continue
		}
		u := someone([]string{c.variable + "=/elsewhere/of/the/user"})
		if got := lookup(t, u.Environment("/own"))[c.variable]; !strings.HasPrefix(got, "/own/") {
			t.Errorf("%s is %q", c.variable, got)
		}
		want := []string{"/elsewhere/of/the/user"}
		for n, part := range c.parts {
			want = append(want[:n], "/elsewhere/of/the/user/"+part)
		}
		for _, path := range want {
			if !slices.Contains(u.Caches(), path) {
				t.Errorf("%s: %s is not among the user's caches", c.variable, path)
			}
		}
	}
}

func TestCaches(t *testing.T) {
	u := someone([]string{"GOPATH=/g:/h", "PIP_CACHE_DIR=/", "CCACHE_DIR=/u", "XDG_CACHE_HOME=relative"})
	got := u.Caches()
	for _, path := range []string{"/g/pkg/mod", "/u/go/pkg/mod", "/u/.cache", "/u/.local/state", "/u/.npm", "/u/.cargo/registry", "/u/.m2/repository"} {
		if !slices.Contains(got, path) {
			t.Errorf("%s is not among %q", path, got)
		}
	}
	for _, path := range []string{"/", "/u", "/u/.cargo", "/u/.m2", "/u/go"} {
		if slices.Contains(got, path) {
			t.Errorf("%s is taken for a cache", path)
		}
	}
}

// The user's environment is left as it is.
func TestEnvironmentIsPure(t *testing.T) {
	u := someone([]string{"PATH=/u/.cache/x:/bin", "GOCACHE=/x"})
	before := slices.Clone(u.Env)
	first := u.Environment("/own")
	if diff := cmp.Diff(first, u.Environment("/own")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, u.Env); diff != "" {
		t.Error(diff)
	}
}
