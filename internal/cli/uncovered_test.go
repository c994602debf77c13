package cli_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/ledger"
)

// What somebody put behind the checkpoint does not verify, in a copy and in the box's own archive, and an
// export does not have it.
func TestVerifyUncovered(t *testing.T) {
	t.Parallel()
	dir := recordSome(t, exitRecord("done"))
	key := filepath.Join(dir, "verifier.key")
	copied := filepath.Join(t.TempDir(), "copy")
	if code, _, errOut := run(t, command.Env{}, "ledger", "export", copied, "--dir", dir); code != 0 {
		t.Fatal(errOut)
	}
	for name, args := range map[string][]string{"box": {"--dir", dir}, "copy": {"--archive", copied, "--key", key}} {
		root := copied
		if name == "box" {
			root = filepath.Join(dir, "archive")
		}
		verify := append([]string{"ledger", "verify", "--json"}, args...)
		if code, out, errOut := run(t, command.Env{}, verify...); code != 0 {
			t.Fatal(out, errOut)
		}
		stored, err := os.ReadFile(filepath.Join(root, "tile/entries/000.p/3"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"tile/entries/000.p/4", "tile/entries/001"} {
			if err := os.WriteFile(filepath.Join(root, file), stored, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, out, _ := run(t, command.Env{}, verify...)
		var said struct {
			OK        bool
			Error     string
			Uncovered []ledger.Uncovered
		}
		if err := json.Unmarshal([]byte(out), &said); err != nil {
			t.Fatal(err)
		}
		want := []ledger.Uncovered{{Kind: "bundle", Count: 2, First: "tile/entries/000.p/4"}}
		if code == 0 || said.OK || said.Error == "" || !slices.Equal(said.Uncovered, want) {
			t.Errorf("%s: exit %d, %s", name, code, out)
		}
	}
	again := filepath.Join(t.TempDir(), "again")
	if code, _, errOut := run(t, command.Env{}, "ledger", "export", again, "--dir", dir); code != 0 {
		t.Fatal(errOut)
	}
	var names []string
	err := fs.WalkDir(os.DirFS(again), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if want := []string{"checkpoint", "key", "tile/0/000.p/3", "tile/entries/000.p/3"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the export has %v, %v; want %v", names, err, want)
	}
}

// A file that is named is read as far as such a file can go.
func TestNamedFilesAreBounded(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Fatal(err)
	}
	dir := recordSome(t)
	for _, args := range [][]string{
		{"ledger", "verify", "--dir", dir, "--key", large}, {"ledger", "check", large, "--dir", dir}, {"run", "--dry-run", large, "--dir", dir},
	} {
		if code, out, _ := run(t, command.Env{}, args...); code == 0 {
			t.Errorf("%v: exit 0, %s", args, out)
		}
	}
}
