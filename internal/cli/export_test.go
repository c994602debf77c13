package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/command"
)

// An export replaces nothing that is there, and one that fails leaves everything as it was.
func TestExportReplacesNothing(t *testing.T) {
	t.Parallel()
	dir := recordSome(t, exitRecord("done"))
	top := t.TempDir()
	in := func(name string) string { return top + "/" + name }
	for _, err := range []error{
		os.WriteFile(in("file"), []byte("notes"), 0o600), os.Mkdir(in("empty"), 0o700), os.Mkdir(in("full"), 0o700),
		os.WriteFile(in("full/file"), []byte("notes"), 0o600), os.Symlink("empty", in("link")), os.Symlink("nowhere", in("dangling")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	export := func(to string) (code int, errOut string) {
		code, _, errOut = run(t, command.Env{}, "ledger", "export", in(to), "--dir", dir)
		return code, errOut
	}
	for to, reason := range map[string]string{
		"file": "it is there already, and no empty directory", "full": "it is there already, and no empty directory", "link": "it is a link", "link/": "it is a link", "dangling": "it is a link",
	} {
		if code, errOut := export(to); code == 0 || !strings.Contains(errOut, reason) {
			t.Errorf("to %s: exit %d, %s", to, code, errOut)
		}
	}
	if data, err := os.ReadFile(in("file")); err != nil || string(data) != "notes" {
		t.Errorf("the file: %q, %v", data, err)
	}
	tile := filepath.Join(dir, "archive", "tile", "entries", "000.p", "3")
	bundle, err := os.ReadFile(tile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(tile); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"empty", "new", "a/b/new"} {
		if code, errOut := export(to); code == 0 || !strings.Contains(errOut, "000.p/3") {
			t.Errorf("to %s, without a bundle: exit %d, %s", to, code, errOut)
		}
	}
	var names []string
	entries, err := os.ReadDir(top)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := "dangling empty file full link"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("there is %v, want %s (%v)", names, want, err)
	}
	if err := os.WriteFile(tile, bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"empty", "new"} {
		if code, errOut := export(to); code != 0 {
			t.Errorf("to %s: %s", to, errOut)
		}
	}
}
