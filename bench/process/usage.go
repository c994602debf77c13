package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/bench/handoff"
)

// Usage returns what these processes and this one have used, with their children, also those that
// have ended. It is nothing where there is no /proc of Linux.
func Usage(pids []int) handoff.Usage {
	var u handoff.Usage
	for _, pid := range pids {
		u = u.Add(tree(pid))
	}
	return u.Add(one(os.Getpid()))
}

func tree(pid int) handoff.Usage {
	u := one(pid)
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(children)) {
			if n, err := strconv.Atoi(child); err == nil {
				u = u.Add(tree(n))
			}
		}
	}
	return u
}

// one reads what a process and its ended children have used.
func one(pid int) handoff.Usage {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	io, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	return handoff.Usage{CPU: cpuTime(stat), Written: written(io)}
}

// ticks of the processor's clock are 1/100 s in every Linux that Go runs on.
const tick = 10 * time.Millisecond

// cpuTime reads /proc/PID/stat: fields 14 to 17 are the time in user and system mode, its own and
// that of children which have ended. The name in field 2 may have spaces.
func cpuTime(stat []byte) time.Duration {
	_, rest, ok := bytes.Cut(stat, []byte(") "))
	for ok && bytes.Contains(rest, []byte(") ")) {
		_, rest, _ = bytes.Cut(rest, []byte(") "))
	}
	fields := strings.Fields(string(rest))
	if len(fields) < 15 {
		return 0
	}
	var n int64
	for _, f := range fields[11:15] {
		v, _ := strconv.ParseInt(f, 10, 64)
		n += v
	}
	return time.Duration(n) * tick
}

// written reads /proc/PID/io. It counts what children that have ended wrote, too.
func written(io []byte) uint64 {
	for line := range strings.SplitSeq(string(io), "\n") {
		if value, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			n, _ := strconv.ParseUint(value, 10, 64)
			return n
		}
	}
	return 0
}
