//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"syscall"
)

// freeSpace returns how many bytes there are left where a directory lies, or would.
func freeSpace(dir string) (uint64, error) {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
