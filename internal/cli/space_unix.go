//go:build darwin || freebsd || linux

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// freeSpace returns how many bytes there are left where a directory lies, or would, and what tells its
// disk from others.
func freeSpace(dir string) (free, disk uint64, err error) {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	var s syscall.Statfs_t
	var at syscall.Stat_t
	if err := errors.Join(syscall.Statfs(dir, &s), syscall.Stat(dir, &at)); err != nil {
		return 0, 0, err
	}
	left := max(0, s.Bavail) // signed in FreeBSD, and less than nothing if only root has room
	return uint64(left) * uint64(s.Bsize), uint64(at.Dev), nil
}
