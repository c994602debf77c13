//go:build linux || darwin

package filelock_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestLockMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestIrregular", Mutant: mutant.Mutant{Name: "a link in the lock's place is followed", File: "filelock_unix.go",
			Old: "info, err := os.Lstat(path)", New: "info, err := os.Stat(path)"}},
		{By: "TestLookingTakesNothing", Mutant: mutant.Mutant{Name: "who looks takes the lock for a moment", File: "filelock_unix.go",
			Old: "err := syscall.FcntlFlock(f.Fd(), ofdGetLock, &asked)",
			New: "asked.Type = syscall.F_UNLCK\n\terr := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)"}},
		{By: "TestTakeDir|TestLock", Mutant: mutant.Mutant{Name: "who has the lock puts up no sign", File: "filelock_unix.go",
			Old: "return syscall.FcntlFlock(f.Fd(), ofdSetLock, &syscall.Flock_t{Type: syscall.F_RDLCK})",
			New: "return nil"}},
	})
}
