package stage

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// inMount says that the test runs in a file system namespace of its own.
const inMount = "SIGNALBOX_TEST_MOUNT"

// TestMountPoint: an empty directory that something is mounted on can't be replaced, and that is said first, also if what is
// mounted is of the same disk.
func TestMountPoint(t *testing.T) {
	if os.Getenv(inMount) == "" {
		if out, err := exec.CommandContext(t.Context(), "unshare", "-m", "mount", "-t", "tmpfs", "none", t.TempDir()).CombinedOutput(); err != nil {
			t.Skipf("nothing can be mounted here; TestMeanwhile has a directory that can't be moved: %v: %s", err, out)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "unshare", "-m", self, "-test.run", "^TestMountPoint$", "-test.v")
		cmd.Env = append(os.Environ(), inMount+"=yes")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	top := t.TempDir()
	makeFiles(t, top, "disk/", "bound/", "empty/")
	for name, mount := range map[string]func(at string) error{
		"disk":  func(at string) error { return syscall.Mount("none", at, "tmpfs", 0, "size=1m") },
		"bound": func(at string) error { return syscall.Mount(filepath.Join(top, "empty"), at, "", syscall.MS_BIND, "") },
	} {
		at := filepath.Join(top, name)
		if err := mount(at); err != nil {
			t.Fatal(err)
		}
		if s, err := ForDir(at); err == nil || !strings.Contains(err.Error(), "it can't be replaced, as a mount point can't") {
			t.Errorf("%s: %v, %v", name, s, err)
		}
		has(t, top, "disk/", "bound/", "empty/")
		s := forDir(t, filepath.Join(at, "new"))
		if err := s.PlaceDir("new"); err != nil {
			t.Error(err)
		}
		closed(t, s)
		has(t, at, "new/", "new/file")
		if err := syscall.Unmount(at, 0); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(filepath.Join(top, "empty", "new")); err != nil {
			t.Error(err)
		}
	}
}
