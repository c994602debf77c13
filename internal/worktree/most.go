package worktree

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// Most is what each process of a git command may use that works on what a stranger made. A pack that is small may
// unpack to any size, and its deltas may take any time to apply.
type Most struct {
	Memory int64         // bytes of address space; it is kept on Linux alone
	File   int64         // bytes of each file that is written
	CPU    time.Duration // whole seconds
}

// script has the system keep the limits for the program in its arguments, and for all that this one starts. A
// limit that can't be set ends it: nothing runs without.
func (m Most) script() string {
	var s strings.Builder
	limit := func(option string, most int64) { fmt.Fprintf(&s, "ulimit -%s %d || exit 125; ", option, max(most, 1)) }
	s.WriteString("ulimit -c 0; ") // a process that is ended for the time it took leaves no image of its memory
	limit("t", int64(m.CPU/time.Second))
	limit("f", m.File/512) // a shell counts in blocks
	if runtime.GOOS == "linux" {
		limit("v", m.Memory/1024)
	}
	return s.String() + `exec "$@"`
}
