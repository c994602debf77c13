//go:build unix

package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A program that looks for its shell finds this program by the shell's name, which knows the
// nest by where it lies.
func TestNestShells(t *testing.T) {
	nest := t.TempDir()
	if err := MakeNest(nest, "/opt/signalbox", Policy{Kind: Bubblewrap}); err != nil {
		t.Fatal(err)
	}
	shell := filepath.Join(NestShells(nest), "sh")
	if to, err := os.Readlink(shell); err != nil || to != "/opt/signalbox" {
		t.Errorf("%q, %v", to, err)
	}
	none := func(string) string { return "" }
	in, command := Invoked([]string{shell, "-c", "true"}, none)
	if diff := cmp.Diff([]string{nest, shellPath("sh"), "-c", "true"}, append([]string{in}, command...)); diff != "" {
		t.Error(diff)
	}
	// Elsewhere the variable counts, and without one there is no nest to enter.
	for path, want := range map[string]string{"/usr/bin/sh": "/other", "sh": "/other", filepath.Join(t.TempDir(), "bin", "sh"): "/other"} {
		if in, _ := Invoked([]string{path, "-c", "true"}, func(string) string { return "/other" }); in != want {
			t.Errorf("%s: %s", path, in)
		}
		if in, _ := Invoked([]string{path, "-c", "true"}, none); in != "/" {
			t.Errorf("%s: %s", path, in)
		}
	}
}

// What runs in a nest finds the shells themselves.
func TestNestLeft(t *testing.T) {
	dir := "/box/nest/bin"
	t.Setenv("PATH", dir+":/usr/bin:"+dir+":/bin")
	t.Setenv("SHELL", dir+"/sh")
	if err := leaveShells(dir); err != nil {
		t.Fatal(err)
	}
	if path, shell := os.Getenv("PATH"), os.Getenv("SHELL"); path != "/usr/bin:/bin" || shell != shellPath("sh") {
		t.Errorf("PATH=%s SHELL=%s", path, shell)
	}
	t.Setenv("SHELL", "/bin/zsh")
	if err := leaveShells(dir); err != nil || os.Getenv("SHELL") != "/bin/zsh" {
		t.Errorf("SHELL=%s, %v", os.Getenv("SHELL"), err)
	}
}
