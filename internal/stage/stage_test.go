//go:build linux || darwin

package stage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// makeFiles makes files; a name that ends with a slash is a directory's.
func makeFiles(t *testing.T, top string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(top, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if strings.HasSuffix(name, "/") {
			err = errors.Join(err, os.MkdirAll(path, 0o700))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(name), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// has says how what is in a directory differs from what should be: names with a slash at the end are directories.
func has(t *testing.T, top string, want ...string) {
	t.Helper()
	var got []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(top, path)
		if d != nil && d.IsDir() {
			name += "/"
		}
		if name != "./" {
			got = append(got, name)
		}
		return err
	})
	slices.Sort(want)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q (%v)", got, want, err)
	}
}

func forDir(t *testing.T, to string) *Stage {
	t.Helper()
	s, err := ForDir(to)
	if err == nil {
		err = errors.Join(os.Mkdir(s.Path("new"), 0o700), os.WriteFile(s.Path("new/file"), nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closed(t *testing.T, s *Stage) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// What a directory can't replace is refused before there is any work, and stays.
func TestRefused(t *testing.T) {
	top := t.TempDir()
	makeFiles(t, top, "file", "full/x", "empty/", "here/")
	if err := errors.Join(os.Symlink("empty", filepath.Join(top, "link")), os.Symlink("nothing", filepath.Join(top, "dangling"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(top, "here"))
	for to, reason := range map[string]string{
		"../file": "no empty directory", "../full": "no empty directory", "../link": "it is a link", "../link/": "it is a link", "../dangling": "it is a link",
		".": "you are in this directory", "../here": "you are in this directory", "../file/x": "not a directory", "../dangling/x/y": "",
	} {
		if s, err := ForDir(to); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, %v", to, s, err)
		}
	}
	if s, err := ForFile("../dangling"); !errors.Is(err, ErrExists) {
		t.Errorf("a file over a link: %v, %v", s, err)
	}
	has(t, top, "file", "full/", "full/x", "empty/", "here/", "link", "dangling")
}

// A directory gets its place with those above it. What fails leaves nothing behind that was not there, and takes nothing
// away.
func TestDir(t *testing.T) {
	top := t.TempDir()
	to := filepath.Join(top, "a", "b", "to")
	closed(t, forDir(t, to))
	has(t, top)

	s := forDir(t, to)
	makeFiles(t, top, "a/other")
	closed(t, s)
	has(t, top, "a/", "a/other")

	for _, before := range []bool{false, true} {
		if before {
			makeFiles(t, top, "a/b/to/")
		}
		s = forDir(t, to)
		if err := s.PlaceDir("new"); err != nil {
			t.Error(err)
		}
		closed(t, s)
		has(t, top, "a/", "a/other", "a/b/", "a/b/to/", "a/b/to/file")
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
}

// What came meanwhile is not replaced.
func TestMeanwhile(t *testing.T) {
	for _, came := range []string{"to", "to/x"} {
		top := t.TempDir()
		s := forDir(t, filepath.Join(top, "to"))
		makeFiles(t, top, came)
		if err := s.PlaceDir("new"); !errors.Is(err, ErrOccupied) {
			t.Errorf("%s came: %v", came, err)
		}
		closed(t, s)
		if data, err := os.ReadFile(filepath.Join(top, came)); err != nil || string(data) != came {
			t.Errorf("%s came, and is %q, %v", came, data, err)
		}
	}
	top := t.TempDir()
	makeFiles(t, top, "to/")
	s := forDir(t, filepath.Join(top, "to"))
	if err := s.PlaceDir("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was not made ready: %v", err)
	}
	has(t, s.dir, ".gitignore", "new/", "new/file")
	makeFiles(t, s.dir, "was/x") // so that it can't be moved away
	if err := s.PlaceDir("new"); err == nil || !strings.Contains(err.Error(), "it can't be replaced") {
		t.Errorf("what can't be replaced: %v", err)
	}
	closed(t, s)
	has(t, top, "to/")

	s, err := ForFile(filepath.Join(top, "file"))
	if err != nil {
		t.Fatal(err)
	}
	makeFiles(t, s.dir, "new")
	makeFiles(t, top, "file")
	if err := s.PlaceFile("new"); !errors.Is(err, ErrExists) {
		t.Errorf("a file came: %v", err)
	}
	if err := renameNew(s.Path("new"), s.to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file came, where there are no links: %v", err)
	}
	if data, err := os.ReadFile(s.to); err != nil || string(data) != "file" {
		t.Errorf("the file that came is %q, %v", data, err)
	}
	if err := renameNew(s.Path("none"), filepath.Join(top, "other")); err == nil {
		t.Error("what is not there was renamed")
	}
	if err := renameNew(s.Path("new"), filepath.Join(top, "other")); err != nil {
		t.Error(err)
	}
	closed(t, s)
	has(t, top, "to/", "file", "other")
}

// A stage that a killed process left is removed by the next one beside it. One that is held stays, and so does what
// only has its name.
func TestLeft(t *testing.T) {
	top := t.TempDir()
	begun := func() *Stage {
		t.Helper()
		s, err := ForFile(filepath.Join(top, "file"))
		if err != nil {
			t.Fatal(err)
		}
		makeFiles(t, s.dir, "content/signer.key")
		return s
	}
	killed := begun()
	if err := killed.held.Close(); err != nil { // as the end of a process does
		t.Fatal(err)
	}
	alive, unmarked := begun(), begun()
	if err := errors.Join(unmarked.held.Close(), os.WriteFile(unmarked.Path(ignoreFile), []byte(ignored), 0o600)); err != nil {
		t.Fatal(err)
	}
	makeFiles(t, top, "elsewhere/x", prefix+"file")
	if err := errors.Join(os.WriteFile(filepath.Join(top, "elsewhere", ignoreFile), []byte(mark), 0o600), os.Symlink("elsewhere", filepath.Join(top, prefix+"link"))); err != nil {
		t.Fatal(err)
	}
	next := begun()
	if _, err := os.Lstat(killed.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left stays: %v", err)
	}
	for _, path := range []string{alive.Path("content/signer.key"), unmarked.Path("content/signer.key"), next.dir, filepath.Join(top, prefix+"file"), filepath.Join(top, prefix+"link"), filepath.Join(top, "elsewhere", "x")} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(alive.Close(), next.Close()); err != nil {
		t.Error(err)
	}
}
