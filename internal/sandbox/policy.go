package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Kind is a way to confine a program.
type Kind string

// The kinds.
const (
	None       Kind = "none"
	Landlock   Kind = "landlock"
	Bubblewrap Kind = "bubblewrap"
)

// Kinds are all there are, the one that confines nothing first.
func Kinds() []Kind { return []Kind{None, Landlock, Bubblewrap} }

var (
	// ErrUnavailable is returned for a sandbox that can't be had here.
	ErrUnavailable = errors.New("this sandbox can't be had here")
	// ErrBadPolicy is returned for a policy that can't be kept.
	ErrBadPolicy = errors.New("the sandbox can't be made as it is asked for")
)

// Policy says what a program may do. Paths are absolute and exist. Each holds for all that
// is below it, less what another one says of a part; of the file system itself, it is to be
// read. Links are followed once, when the program is started, but for a path below a
// writable one: it is writable with it, and a link there is the program's own.
type Policy struct {
	Kind    Kind     `json:"kind"`
	Write   []string `json:"write,omitempty"`
	Read    []string `json:"read,omitempty"` // not to be written, where what is around is writable or hidden
	Hidden  []string `json:"hidden,omitempty"`
	Temp    string   `json:"temp,omitempty"` // writable, and the program's TMPDIR
	Network bool     `json:"network,omitempty"`

	// Nested is for a process that is confined already: what it runs keeps all of its access
	// but to what is hidden, and can neither look into, signal nor trace anything that is not
	// nested with it. Only Kind, Hidden, Read, Shells and Unset count then.
	Nested bool `json:"nested,omitempty"`
	// Shells is a nest whose helper stands in the place of every shell, so that a program that
	// knows no other way runs its commands nested. Bubblewrap can do that.
	Shells string `json:"shells,omitempty"`
	// Unset are the variables that the command does not get.
	Unset []string `json:"unset,omitempty"`
	// Grants are what a nested policy comes to in Landlock's terms. They are found out outside:
	// inside, the directories on the way to what is hidden can't be listed.
	Grants []grant `json:"grants,omitempty"`
}

// confineCommand is the command of this program that calls [Enter].
const confineCommand = "confine"

// Command returns how a command is run confined, by `self confine POLICY -- command`. With
// [None] it is the command itself. The process that is started becomes the command (or
// Bubblewrap, with the command in it), so its process id and group are the command's.
func (p Policy) Command(self string, command []string) ([]string, error) {
	if len(command) == 0 {
		return nil, fmt.Errorf("%w: there is no command", ErrBadPolicy)
	}
	if p.Kind == None {
		return command, nil
	}
	if _, err := p.entries(); err != nil {
		return nil, err
	}
	if err := Available(p.Kind); err != nil {
		return nil, err
	}
	policy, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return append([]string{self, confineCommand, string(policy), "--"}, command...), nil
}

// Available returns nil if a kind of sandbox can be had here, or why not and what to do.
func Available(k Kind) error {
	switch k {
	case None:
		return nil
	case Landlock, Bubblewrap:
		return available(k)
	}
	return fmt.Errorf("%w: there is no sandbox %q: use %s, %s or %s", ErrBadPolicy, safetext.Escape(string(k)), None, Landlock, Bubblewrap)
}

// Enter is what [Policy.Command] starts, which has seen that the sandbox can be had: it
// confines this process and becomes the command. It returns only if that failed.
func Enter(policy string, command []string) error {
	var p Policy
	if err := json.Unmarshal([]byte(policy), &p); err != nil {
		return fmt.Errorf("%w: the policy is not readable: %w", ErrBadPolicy, err)
	}
	if len(command) == 0 {
		return fmt.Errorf("%w: there is no command", ErrBadPolicy)
	}
	if p.Kind != Landlock && p.Kind != Bubblewrap {
		return fmt.Errorf("%w: '%s' is no sandbox to enter", ErrBadPolicy, safetext.Escape(string(p.Kind)))
	}
	entries, err := p.entries()
	if err != nil {
		return err
	}
	return p.enter(entries, command)
}

// entries is what the policy says of which path, links followed.
func (p Policy) entries() (entries, error) {
	write := p.Write
	if p.Temp != "" {
		write = append(write[:len(write):len(write)], p.Temp)
	}
	all := entries{"/": readable}
	if p.Nested {
		all["/"] = writable // as far as what is around permits it
	}
	for _, list := range []struct {
		paths  []string
		access access
	}{{p.Hidden, hidden}, {p.Read, readable}, {write, writable}} {
		for _, path := range list.paths {
			if !filepath.IsAbs(path) {
				return nil, fmt.Errorf("%w: %s is not an absolute path", ErrBadPolicy, safetext.Escape(path))
			}
			if _, err := os.Lstat(path); p.Nested && errors.Is(err, fs.ErrNotExist) {
				continue // there is nothing to hide
			}
			if list.access == writable && writableWith(path, write, p.Hidden, p.Read) {
				continue
			}
			if err := all.add(path, list.access); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
