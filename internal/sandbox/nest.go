package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// A nest is a directory through which a confined program runs commands in a domain nested in
// its own. What a reviewer runs is another's: the change's tests, for one. They must not be
// able to write to the reviewer's output, end it, or read what it was told.
//
// Programs come to it in four ways: one that takes a prefix for its commands is given
// [NestPrefix]; one that looks for its shell in PATH or SHELL is given [NestShells] there; one
// that runs shells by their path finds the nest's helper in their place ([Policy].Shells); and
// any program can call `signalbox exec`.

// NestVariable names the nest in a confined program's environment.
const NestVariable = "SIGNALBOX_NEST"

// What lies in a nest.
const (
	nestPolicy = "policy.json"
	prefixFile = "prefix" // this program: runs the command line that is its last argument
	helperFile = "shell"  // this program, in the place of a shell
	shellsDir  = "bin"    // this program, by the names of the shells
)

// shellNames are the shells that programs run command lines with.
var shellNames = []string{"sh", "bash", "dash", "zsh", "ksh", "fish"}

// Shells returns the shells that are there, by name. One that has several names is there by
// the first alone.
func Shells() map[string]string {
	found, seen := map[string]string{}, map[string]bool{}
	for _, name := range shellNames {
		for _, dir := range []string{"/bin", "/usr/bin", "/usr/local/bin"} {
			path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
			if err != nil || seen[path] {
				continue
			}
			seen[path] = true
			if found[name] == "" {
				found[name] = path
			}
		}
	}
	return found
}

// MakeNest makes a nest in a directory that is there, for commands that are kept in by a
// policy. Self is this program.
func MakeNest(dir, self string, p Policy) error {
	p.Nested = true
	e, err := p.entries()
	if err == nil && p.Kind == Landlock {
		p.Grants, err = e.grants()
	}
	if err != nil {
		return err
	}
	policy, err := json.Marshal(p)
	if err != nil {
		return err
	}
	err = errors.Join(os.WriteFile(filepath.Join(dir, nestPolicy), policy, 0o600), os.Symlink(self, filepath.Join(dir, prefixFile)),
		makeShells(NestShells(dir), self))
	if p.Shells == "" || err != nil {
		return err
	}
	err = os.Symlink(self, filepath.Join(dir, helperFile))
	for name := range Shells() { // Bubblewrap puts the shells there
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	return err
}

// makeShells makes a directory with this program by the names of the shells that are there.
func makeShells(dir, self string) error {
	err := os.Mkdir(dir, 0o700)
	for _, name := range shellNames {
		if _, missing := os.Stat(shellPath(name)); missing == nil {
			err = errors.Join(err, os.Symlink(self, filepath.Join(dir, name)))
		}
	}
	return err
}

// NestShells is a directory to be the first in PATH of a program that looks for its shell there.
func NestShells(nest string) string { return filepath.Join(nest, shellsDir) }

// NestShell is the shell in it for command lines, for a user who has a shell.
func NestShell(nest, user string) string {
	return filepath.Join(NestShells(nest), filepath.Base(lineShell(user)))
}

// NestPrefix is the program to put before a command line, given as one argument.
func NestPrefix(nest string) string { return filepath.Join(nest, prefixFile) }

// Invoked reports what this program is to run if it was started as a part of a nest: by the
// name of its prefix, or in the place of a shell.
func Invoked(args []string, getenv func(string) string) (nest string, command []string) {
	name := strings.TrimPrefix(filepath.Base(args[0]), "-")
	nest = getenv(NestVariable)
	switch {
	case name == prefixFile && filepath.IsAbs(args[0]) && len(args) > 1:
		return filepath.Dir(args[0]), []string{lineShell(getenv("SHELL")), "-c", args[len(args)-1]}
	case slices.Contains(shellNames, name):
		// Inside of the nest the shell has its own place again.
		if dir := filepath.Dir(args[0]); filepath.IsAbs(dir) && filepath.Base(dir) == shellsDir && isNest(filepath.Dir(dir)) {
			nest = filepath.Dir(dir) // the program may not have kept the variable
		}
		return cmp.Or(nest, "/"), append([]string{shellPath(name)}, args[1:]...)
	}
	return "", nil
}

func isNest(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, nestPolicy))
	return err == nil
}

// shellPath is where a shell stands for what is nested.
func shellPath(name string) string {
	if path := Shells()[name]; path != "" {
		return path
	}
	return filepath.Join("/bin", name)
}

// lineShell is the shell for a command line: the user's, if it is one that programs write
// command lines for.
func lineShell(user string) string {
	if base := filepath.Base(user); base == "bash" || base == "zsh" {
		return user
	}
	if path := Shells()["bash"]; path != "" {
		return path
	}
	return shellPath("sh")
}

// EnterNest confines this process as a nest says, and becomes the command. It returns only if
// that failed.
func EnterNest(nest string, command []string) error {
	policy, err := os.ReadFile(filepath.Join(nest, nestPolicy))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %s has no policy to run '%s' by: a program that runs commands has to keep %s in their environment",
			ErrBadPolicy, safetext.Escape(nest), safetext.Escape(strings.Join(command, " ")), NestVariable)
	}
	if err == nil {
		err = leaveShells(NestShells(nest))
	}
	if err != nil {
		return err
	}
	return Enter(string(policy), command)
}

// leaveShells gives what runs in a nest the shells themselves: it is nested, and to nest it
// again with each shell that it starts would come to an end.
func leaveShells(dir string) error {
	paths := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(path string) bool { return path == dir })
	err := os.Setenv("PATH", strings.Join(paths, string(filepath.ListSeparator)))
	if shell := os.Getenv("SHELL"); filepath.Dir(shell) == dir {
		err = errors.Join(err, os.Setenv("SHELL", shellPath(filepath.Base(shell))))
	}
	return err
}
