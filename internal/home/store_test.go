//go:build unix

package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shop is a store with a clock, and a user with some settings.
type shop struct {
	*Store
	t    *testing.T
	user User
	at   time.Time
}

func newShop(t *testing.T) *shop {
	s := &shop{t: t, user: LoadUser([]string{"HOME=" + t.TempDir()}, nil), at: time.Unix(1e9, 0)}
	s.Store = Open(filepath.Join(t.TempDir(), "caches"), func() time.Time { return s.at })
	return s
}

func (s *shop) first() *Home {
	s.t.Helper()
	h, err := s.First(s.t.Context(), s.user)
	check(s.t, err)
	return h
}

func (s *shop) take(run string) *Home {
	s.t.Helper()
	h, err := s.Take(s.t.Context(), run, s.user)
	check(s.t, err)
	return h
}

// has fails the test unless a file of a home directory has this text; none if it is empty.
func (s *shop) has(h *Home, name, want string) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.Path, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	if string(data) != want {
		s.t.Errorf("%s has %q, want %q", name, data, want)
	}
}

// names returns what lies in the store.
func (s *shop) names() string {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	check(s.t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// What the first checks of a run leave is what its others begin with; what these leave is
// gone.
func TestStore(t *testing.T) {
	s := newShop(t)
	h := s.first()
	write(t, filepath.Join(h.Path, ".cache", "hook"), "good")
	check(t, h.Keep("R1"))
	one, two := s.take("R1"), s.take("R1")
	s.has(one, ".cache/hook", "good")
	write(t, filepath.Join(one.Path, ".cache", "hook"), "evil")
	s.has(two, ".cache/hook", "good")
	check(t, errors.Join(one.Close(), two.Close()))
	three := s.take("R1")
	s.has(three, ".cache/hook", "good")
	if three.Path != h.Path {
		t.Errorf("it is in %s, not in %s", three.Path, h.Path)
	}
	other := s.take("R2")
	s.has(other, ".cache/hook", "")
	check(t, errors.Join(three.Close(), other.Close()))
	if got := s.names(); got != "base-R1 began" {
		t.Errorf("in the store are %s", got)
	}
}

// The next run's first checks begin with what those of the last one left, unless that was
// begun too long ago or has become too large. There is never more than one.
func TestSeed(t *testing.T) {
	s := newShop(t)
	run := func(name, before string) {
		t.Helper()
		h := s.first()
		s.has(h, "cache", before)
		write(t, filepath.Join(h.Path, "cache"), name)
		check(t, h.Keep(name))
		s.at = s.at.Add(24 * time.Hour)
		check(t, errors.Join(s.Retire(name), s.Retire(name)))
		if got := s.names(); got != "began seed" {
			t.Errorf("in the store are %s", got)
		}
	}
	run("R1", "")
	run("R2", "R1")
	s.at = s.at.Add(maxAge - 49*time.Hour)
	run("R3", "R2")
	run("R4", "")
	run("R5", "R4")
	before := maxSeed
	t.Cleanup(func() { maxSeed = before })
	maxSeed = Size{Files: 1, Bytes: 1}
	run("R6", "")
}

// What was interrupted is never begun with.
func TestStoreAfterKill(t *testing.T) {
	s := newShop(t)
	h := s.first()
	write(t, filepath.Join(h.Path, "half"), "filled")
	s.Store = Open(s.dir, s.now)
	for _, h := range []*Home{s.first(), s.take("R1")} {
		s.has(h, "half", "")
	}
	check(t, Open(s.dir, s.now).Tidy())
	if got := s.names(); got != "" {
		t.Errorf("in the store are %s", got)
	}
}

// Checks get the user's settings of today, and a base has none. A file that agents can write
// is none of the user's; a link in a base leads nowhere.
func TestSettings(t *testing.T) {
	s := newShop(t)
	out := filepath.Join(t.TempDir(), "out")
	write(t, out, "untouched")
	in := func(name string) string { return filepath.Join(s.user.Home, name) }
	write(t, in(".npmrc"), "registry")
	write(t, in(".config/git/config"), "[user]")
	write(t, in(".cargo/config.toml"), "rustc-wrapper")
	write(t, in("dotfiles/gitconfig"), "[alias]")
	check(t, os.Symlink(in("dotfiles/gitconfig"), in(".gitconfig")))
	check(t, os.Mkdir(in(".netrc"), 0o700))
	s.user.Agents = []string{in(".cargo")}
	h := s.first()
	s.has(h, ".npmrc", "registry")
	s.has(h, ".config/git/config", "[user]")
	s.has(h, ".gitconfig", "[alias]")
	s.has(h, ".cargo/config.toml", "")
	check(t, os.Remove(filepath.Join(h.Path, ".npmrc")))
	check(t, os.Symlink(out, filepath.Join(h.Path, ".npmrc")))
	write(t, filepath.Join(h.Path, ".curlrc"), "from a check")
	check(t, h.Keep("R1"))
	for name, what := range describe(t, s.path("base-R1")) {
		if !strings.HasPrefix(what, "d") {
			t.Errorf("the base has %s: %s", name, what)
		}
	}
	check(t, os.Symlink(out, filepath.Join(s.path("base-R1"), ".npmrc")))
	if _, err := s.Take(t.Context(), "R1", s.user); err == nil {
		t.Error("settings were written through a link")
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "untouched" {
		t.Errorf("outside is %q, %v", text, err)
	}
}
