//go:build linux || darwin

package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Take takes the lock of a file, which is made if need be, until release is called or
// the process ends. It takes a moment to see that another has it: a process that was killed
// may have left a child, which has the lock until it becomes another program.
func Take(path string) (release func() error, err error) {
	f, err := take(path)
	if err != nil {
		return nil, err
	}
	return func() error { return giveBack(f) }, nil
}

// giveBack releases a lock at once. Closing the file alone would leave it to a process that was just forked, until that becomes another program.
func giveBack(f *os.File) error {
	return errors.Join(
		syscall.FcntlFlock(f.Fd(), ofdSetLock, &syscall.Flock_t{Type: syscall.F_UNLCK}),
		syscall.Flock(int(f.Fd()), syscall.LOCK_UN),
		f.Close())
}

func take(path string) (*os.File, error) {
	if _, err := there(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|itself, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s", err, path), f.Close())
	}
	return f, nil
}

// itself makes sure that a file is opened which is no link, and that a pipe is not waited for.
const itself = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// there reports whether there is a file. What is no regular one is no lock: a link would lead elsewhere.
func there(path string) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: remove it", path)
	}
	return err == nil, err
}

// lock keeps others out, and then puts up a sign. Who looks asks for the sign, which takes nothing:
// flock can't be asked, only tried, and whoever tries has the lock for a moment if nobody else has.
func lock(f *os.File) error {
	for try := 0; ; try++ {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return syscall.FcntlFlock(f.Fd(), ofdSetLock, &syscall.Flock_t{Type: syscall.F_RDLCK})
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if try == 10 {
			return ErrTaken
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// lockDir locks a directory, if that can be done there.
func lockDir(f *os.File) (locked bool, err error) {
	err = lock(f)
	if unlockable(err) {
		return false, nil
	}
	return err == nil, err
}

// unlockable reports whether an error says that directories can't be locked. Some file systems can't,
// those of other machines above all.
func unlockable(err error) bool {
	for _, can := range []error{syscall.EBADF, syscall.EINVAL, syscall.ENOTSUP, syscall.ENOLCK, syscall.EISDIR} {
		if errors.Is(err, can) {
			return true
		}
	}
	return false
}

// Held reports whether a process has the lock of a file, this one included. A file that
// is not there is not locked.
func Held(path string) (bool, error) {
	if is, err := there(path); !is {
		return false, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|itself, 0)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	return signed(f)
}

// signed reports whether a process has put up its sign. It takes no lock.
func signed(f *os.File) (bool, error) {
	asked := syscall.Flock_t{Type: syscall.F_WRLCK}
	err := syscall.FcntlFlock(f.Fd(), ofdGetLock, &asked)
	return err == nil && asked.Type != syscall.F_UNLCK, err
}

// HeldDir reports whether a process has a directory, this one included. Where directories can't be
// locked nobody has one.
func HeldDir(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	held, err := signed(f)
	if unlockable(err) {
		return false, nil
	}
	return held, err
}
