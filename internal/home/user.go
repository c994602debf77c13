package home

import (
	"bufio"
	"cmp"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// User is what decides on the environment of checks: whose they are, and what agents can
// write. Its methods do no I/O.
type User struct {
	Home   string
	Env    []string               // NAME=value
	Go     map[string]string      // what `go env -w` has set
	Exists func(path string) bool // whether something is there
	Agents []string               // what agents can write
}

// LoadUser looks at the user whose environment this is.
func LoadUser(env []string, agents []string) User {
	u := User{Env: env, Agents: agents, Exists: func(path string) bool { _, err := os.Stat(path); return err == nil }}
	u.Home = u.getenv("HOME")
	u.Go = goSettings(cmp.Or(u.getenv("GOENV"), u.place(".config/go/env")))
	return u
}

// maxSettings bounds a file of settings.
const maxSettings = 1 << 20

// goSettings reads the file that `go env -w` writes. One that is not there sets nothing.
func goSettings(path string) map[string]string {
	set := map[string]string{}
	f, err := os.Open(path)
	if err != nil {
		return set
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(io.LimitReader(f, maxSettings)); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), "="); ok {
			set[name] = value
		}
	}
	return set
}

// getenv returns a variable of the user's, as the last one of that name has it.
func (u User) getenv(name string) string {
	for _, entry := range slices.Backward(u.Env) {
		if got, value, ok := strings.Cut(entry, "="); ok && same(got, name) {
			return value
		}
	}
	return ""
}

// same reports whether two names are of one variable: npm does not tell the case of its own.
func same(a, b string) bool {
	return a == b || strings.HasPrefix(strings.ToLower(b), "npm_config_") && strings.EqualFold(a, b)
}

// place is where a directory of the user's home lies.
func (u User) place(dir string) string { return sandbox.Place(dir, u.Home, u.getenv) }

// cache is where one of the user's caches lies.
func (u User) cache(c cache) string {
	if at := cmp.Or(u.getenv(c.variable), u.Go[c.variable]); c.variable != "" && filepath.IsAbs(at) {
		return filepath.Clean(at)
	}
	if c.variable == "GOMODCACHE" {
		for _, at := range filepath.SplitList(cmp.Or(u.getenv("GOPATH"), u.Go["GOPATH"])) {
			if filepath.IsAbs(at) {
				return filepath.Join(at, "pkg", "mod")
			}
		}
	}
	return u.place(c.dir)
}

// Caches returns where the user's caches lie, or would, or would if no variable said
// otherwise. One that holds the home directory is not among them.
func (u User) Caches() []string {
	var all []string
	for _, c := range caches {
		for _, at := range []string{u.cache(c), own(u.Home, c.dir)} {
			if c.parts == nil {
				all = append(all, at)
			}
			for _, part := range c.parts {
				all = append(all, filepath.Join(at, part))
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(at string) bool { return sandbox.InAny(u.Home, []string{at}) })
}

// GoDownloads returns the module downloads of the user's, which a check can use as a proxy:
// what comes from there is held against go.sum. It is empty if there are none, or agents
// could write them.
func (u User) GoDownloads() string {
	for _, c := range caches {
		if at := filepath.Join(u.cache(c), "cache", "download"); c.variable == "GOMODCACHE" && u.Exists(at) && !sandbox.InAny(at, u.Agents) {
			return at
		}
	}
	return ""
}

// defaultProxy is where go fetches modules if nobody says otherwise.
const defaultProxy = "https://proxy.golang.org,direct"

// Environment returns the environment of a check whose home directory is the one given:
// the user's, with the tools' caches in that directory, the tools themselves where they are,
// and no programs from what agents can write or from caches.
func (u User) Environment(home string) []string {
	set := map[string]string{}
	for _, m := range moved {
		set[m.variable] = own(home, m.dir)
	}
	for _, c := range caches {
		if c.always || c.variable != "" && filepath.IsAbs(u.getenv(c.variable)) {
			set[c.variable] = own(home, c.dir)
		}
	}
	for _, r := range roots {
		at := u.place(r.dir)
		if r.variable == "PYTHONUSERBASE" && !u.Exists(filepath.Join(at, "lib")) {
			continue
		}
		if u.getenv(r.variable) == "" && u.Exists(at) {
			set[r.variable] = at
		}
	}
	if cmp.Or(u.getenv("PNPM_HOME"), set["PNPM_HOME"]) != "" { // it keeps packages there otherwise
		set["npm_config_store_dir"] = own(home, ".local/share/pnpm/store")
	}
	if !strings.ContainsAny(home, " \t\n") { // Java does not go by HOME
		set["MAVEN_OPTS"] = strings.TrimSpace(u.getenv("MAVEN_OPTS") + " -Dmaven.repo.local=" + own(home, ".m2/repository"))
	}
	if at := u.GoDownloads(); at != "" {
		set["GOPROXY"] = fileURL(at) + "," + cmp.Or(u.getenv("GOPROXY"), u.Go["GOPROXY"], defaultProxy)
	}
	if path := u.path(); path != "" {
		set["PATH"] = path
	}
	env := slices.DeleteFunc(slices.Clone(u.Env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		for to := range set {
			if same(name, to) {
				return true
			}
		}
		return false
	})
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}

// path is the user's PATH, less what lies in caches or where agents can write.
func (u User) path() string {
	shut := append(u.Caches(), u.Agents...)
	dirs := slices.DeleteFunc(filepath.SplitList(u.getenv("PATH")), func(dir string) bool { return sandbox.InAny(dir, shut) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// fileURL names a directory as a URL.
func fileURL(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
