package release_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Who imports a public package downloads what that package is made of, and nothing of the rest of this module: an importer is
// built with an empty module cache, and what was downloaded is listed.
func TestImporter(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	proxy := "file://" + filepath.ToSlash(strings.TrimSpace(string(out))) + "/cache/download" // of what was downloaded before
	for pkg, want := range map[string][]string{
		"agentsig": nil, "agentformat": nil, "bt": nil, "bt/groot": nil, "safetext": nil,
		"ledger": {"golang.org/x/mod"},
		"bt/lua": {"github.com/arnodel/golua"},
	} {
		t.Run(pkg, func(t *testing.T) {
			dir, cache := t.TempDir(), t.TempDir()
			for name, content := range map[string]string{
				"go.mod":      fmt.Sprintf("module example.org/importer\n\ngo 1.26.0\n\nrequire github.com/signalbox-dev/signalbox v0.0.0\n\nreplace github.com/signalbox-dev/signalbox => %q\n", root),
				"importer.go": fmt.Sprintf("package importer\n\nimport _ \"github.com/signalbox-dev/signalbox/%s\"\n", pkg),
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-modcacherw", "-trimpath", ".")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOPROXY="+proxy, "GOSUMDB=off", "GOWORK=off", "GOFLAGS=")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if diff := cmp.Diff(want, downloaded(t, cache)); diff != "" {
				t.Errorf("downloaded (-want +got):\n%s", diff)
			}
		})
	}
}

// downloaded lists the modules whose sources are in a module cache.
func downloaded(t *testing.T, cache string) (modules []string) {
	t.Helper()
	downloads := filepath.Join(cache, "cache", "download")
	err := filepath.WalkDir(downloads, func(path string, _ fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if strings.HasSuffix(path, ".zip") {
			name, _ := filepath.Rel(downloads, path)
			module, _, _ := strings.Cut(filepath.ToSlash(name), "/@v/")
			modules = append(modules, module)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return modules
}
