package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU returns what these processes and this one have used of the processor, with their children, also
// those that have ended. It is nothing where there is no /proc of Linux.
func CPU(pids []int) time.Duration {
	used := one(os.Getpid())
	for _, pid := range pids {
		used += tree(pid)
	}
	return used
}

func tree(pid int) time.Duration {
	used := one(pid)
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(children)) {
			if n, err := strconv.Atoi(child); err == nil {
				used += tree(n)
			}
		}
	}
	return used
}

func one(pid int) time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return cpuTime(stat)
}

// tick is the unit of times in /proc: 1/100 s in every Linux that Go runs on.
const tick = 10 * time.Millisecond

// cpuTime reads /proc/PID/stat: fields 14 to 17 are the time in user and system mode, its own and
// that of children which have ended. The name in field 2 may have spaces and brackets.
func cpuTime(stat []byte) time.Duration {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
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
