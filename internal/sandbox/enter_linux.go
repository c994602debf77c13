//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// kept are the capabilities that root keeps: files of other users are writable for it where
// anything is, and it can make a user namespace, as sandboxes of agents' own do.
var kept = map[string]uint{
	"CAP_CHOWN":        unix.CAP_CHOWN,
	"CAP_DAC_OVERRIDE": unix.CAP_DAC_OVERRIDE,
	"CAP_FOWNER":       unix.CAP_FOWNER,
	"CAP_SETFCAP":      unix.CAP_SETFCAP,
}

func available(k Kind) error {
	if k == Landlock {
		return landlockAvailable()
	}
	return bubblewrapAvailable()
}

// enter confines this process and executes the command in its place.
func (p Policy) enter(e entries, command []string) error {
	// What restricts a thread holds for the program that the same thread executes.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("descriptors can't be closed: %w", err)
	}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return p.Temp != "" && name == "TMPDIR" || slices.Contains(p.Unset, name)
	})
	if p.Temp != "" {
		env = append(env, "TMPDIR="+p.Temp)
	}
	if p.Kind == Bubblewrap {
		return p.enterBubblewrap(e, command, env)
	}
	program, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	if err := p.restrictSelf(e); err != nil {
		return err
	}
	return execute(program, command, env)
}

func execute(program string, command, env []string) error {
	err := unix.Exec(program, command, env)
	return fmt.Errorf("%s can't be executed: %w", program, err)
}

// dropCapabilities takes from this thread all but what is kept. A thread that can't get
// privileges has what it executes without them, also as root.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	var mask uint32 // all that are kept are among the first 32
	for _, c := range kept {
		mask |= 1 << c
	}
	had := data[0].Permitted
	data = [2]unix.CapUserData{{Effective: had & mask, Permitted: had & mask}}
	return unix.Capset(&header, &data[0])
}
