package toolbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is hidden is not read, searched or listed, by whatever name.
func TestHidden(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"box/box.json": "SECRET", "box/sessions/S-1/out": "SECRET", "disk/log/1.log": "SECRET", "single": "SECRET", "x.go": "public",
		"sub/.signalbox/box.json": "SECRET",                                                                                      // by its name
		"other/api.token":         "SECRET", "other/signer.key": "SECRET", "other/box.json": "SECRET", "other/index/1": "SECRET", // by its looks
		"half/signer.key": "SECRET", "half/x": "public",
	})
	at := func(name string) string { return filepath.Join(root, name) }
	symlink(t, "box", at("link"))
	symlink(t, "../box/sessions", at("sub/deep"))
	symlink(t, "box/box.json", at("file"))
	hard := true
	for from, to := range map[string]string{"box/box.json": "hard", "single": "twin"} {
		if err := os.Link(at(from), at(to)); err != nil {
			t.Log(err)
			hard = false
		}
	}
	symlink(t, at("disk"), at("way")) // where a hidden directory is said to lie
	b := opened(t, Config{Root: root, Hidden: []string{at("box"), at("way"), at("single"), at("later")}})
	if err := os.MkdirAll(at("later"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("later/x"), []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := []string{
		"box", "box/box.json", "box/none", "box/sessions/S-1/out", "disk", "disk/log/1.log", "single", "sub/.signalbox/box.json", "other", "other/index/1", "later/x",
		"link", "link/box.json", "link/../box/box.json", "sub/deep/S-1/out", "file", "sub/../box", "way/log",
	}
	if hard {
		refused = append(refused, "hard", "twin")
	}
	look := func() {
		t.Helper()
		for _, name := range refused {
			if r := call(t, b, nameRead, object{"path": name}); !r.Failed || strings.Contains(r.Text, "SECRET") || strings.Contains(r.Text, "no file") {
				t.Errorf("%s: %+v", name, r)
			}
			if r := call(t, b, nameSearch, object{"query": "secret", "path": name}); strings.Contains(r.Text, "SECRET") {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if r := call(t, b, nameSearch, object{"query": "secret"}); r.Failed || strings.Contains(r.Text, "SECRET") {
			t.Errorf("%+v", r)
		}
		for _, name := range []string{"x.go", "half/x"} {
			if got := must(t, b, nameRead, object{"path": name}); !strings.Contains(got, "public") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	look()
	if err := os.Rename(at("disk"), at("moved")); err != nil { // while the model is asked
		t.Fatal(err)
	}
	refused = append(refused[:4:4], "moved", "moved/log/1.log")
	look()
}

// A name that leads elsewhere by the time it is opened is not followed.
func TestHiddenByRename(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a/box/archive/x": "SECRET", "a/plain/x": "public"})
	symlink(t, "box/archive", filepath.Join(root, "a/dir"))
	symlink(t, "box/archive/x", filepath.Join(root, "a/file"))
	top, err := os.OpenRoot(filepath.Join(root, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = top.Close() }()
	if dir, err := enter(top, "dir", nil); !errors.Is(err, errChanged) {
		t.Errorf("%v, %v", dir, err)
	}
	if file, err := open(top, "file", nil); err == nil {
		t.Errorf("%s was opened", file.Name())
	}
	dir, err := enter(top, "plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	file, err := open(dir, "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
}

// A box's directory, or what lies in it, is not what a model sees.
func TestRootIsHidden(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"box/archive/log/x": "SECRET", "other/api.token": "SECRET", "other/signer.key": "SECRET", "x": "public"})
	symlink(t, "box", filepath.Join(root, "link"))
	for _, name := range []string{"box", "box/archive/log", "link/archive", "other"} {
		b, err := Open(t.Context(), Config{Root: filepath.Join(root, name), Hidden: []string{filepath.Join(root, "box")}})
		if !errors.Is(err, errBox) {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
}

// Directories are held open on the way, so there may not be many.
func TestDeep(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("d/", maxDepth)
	b := opened(t, Config{Root: tree(t, map[string]string{deep + "x": "needle", deep + "d/y": "needle"})})
	if got := must(t, b, nameRead, object{"path": deep + "x"}); !strings.Contains(got, "needle") {
		t.Error(got)
	}
	if r := call(t, b, nameRead, object{"path": deep + "d/y"}); !r.Failed || !strings.Contains(r.Text, "more than 100 directories deep") {
		t.Errorf("%+v", r)
	}
	if r := call(t, b, nameSearch, object{"query": "needle"}); len(r.Sources) != 1 {
		t.Errorf("%+v", r)
	}
}
