//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// minABI is the first that keeps signals in; Linux 6.12 has it.
const minABI = 6

// Rights, in Landlock's terms. Devices are not made by anybody.
const (
	readFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	writeFile = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	readDir   = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeDir  = readDir | writeFile | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
	useDevice = readFile | writeFile | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	handled   = writeDir | useDevice | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// devices are those that every program may use; the rest, disks for one, can't be opened.
var devices = map[string]uint64{
	"/dev/null": useDevice, "/dev/zero": useDevice, "/dev/full": useDevice, "/dev/random": useDevice, "/dev/urandom": useDevice,
	"/dev/tty": useDevice, "/dev/ptmx": useDevice, "/dev/pts": useDevice | readDir, "/dev/shm": writeDir,
}

func landlockAvailable() error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return enough(int(abi), errno)
}

// enough judges what the kernel says of its Landlock.
func enough(abi int, errno unix.Errno) error {
	switch {
	case errno != 0:
		return fmt.Errorf("%w: the kernel has no Landlock, or it is switched off (%w): start Linux 6.12 or later with landlock among its lsm, or use %s",
			ErrUnavailable, errno, Bubblewrap)
	case abi < minABI:
		return fmt.Errorf("%w: the kernel's Landlock has ABI %d and would not keep everything in: start Linux 6.12 (ABI %d) or later, or use %s",
			ErrUnavailable, abi, minABI, Bubblewrap)
	}
	return nil
}

// restrictSelf confines this thread for good.
func (p Policy) restrictSelf(e entries) error {
	grants := p.Grants
	if !p.Nested {
		var err error
		if grants, err = e.grants(); err != nil {
			return err
		}
	}
	attr := unix.LandlockRulesetAttr{
		Handled_access_fs: handled,
		Scoped:            unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL,
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("landlock's rules can't be made: %w", errno)
	}
	ruleset := int(fd)
	for _, g := range grants {
		dir, file := uint64(readDir), uint64(readFile)
		if g.Access == writable {
			dir, file = writeDir, writeFile
		}
		if err := permit(ruleset, g.Path, dir, file); err != nil {
			return err
		}
	}
	for path, rights := range devices {
		if err := permit(ruleset, path, rights, rights&useDevice); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("privileges can't be given up: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("capabilities can't be given up: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock's rules can't be put in force: %w", errno)
	}
	if err := unix.Close(ruleset); err != nil || p.Nested { // the filter of what is around holds
		return err
	}
	return filter(p.Network, false).install()
}

// permit adds a rule: rights for a directory with all below it, or for a file. A link is a
// file, and not followed. What is gone needs no rule.
func permit(ruleset int, path string, dir, file uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s can't be permitted: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("%s can't be permitted: %w", path, err)
	}
	rule := unix.LandlockPathBeneathAttr{Parent_fd: int32(fd), Allowed_access: file}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		rule.Allowed_access = dir
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("%s can't be permitted: %w", path, errno)
	}
	return nil
}
