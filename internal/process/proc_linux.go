package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// sweeps bounds how often Sweep looks: what starts children faster than they are
// killed can't be had.
const sweeps = 200

var errTooFast = errors.New("processes that a program left behind start others as fast as they are killed")

// StartedAt returns a value that tells a process from a later one with the same
// number, also after the machine was started anew; "" if there is no such process.
func StartedAt(pid int) string {
	s, ok := statOf(pid)
	if !ok {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return s.began
	}
	return s.began + "@" + strings.TrimSpace(string(boot))
}

// Sweep kills every process whose environment carries the marker, except the caller,
// and returns how many it has killed. It looks until there is none left. An empty
// marker is nobody's.
func Sweep(marker string) (killed int, err error) {
	if marker == "" {
		return 0, nil
	}
	clean := 0 // looks in a row that found nothing: a process in the middle of exec has no environment
	for range sweeps {
		found, err := sweep(marker)
		if err != nil {
			return killed, err
		}
		killed += found
		if clean++; found > 0 {
			clean = 0
		}
		if clean == 2 {
			return killed, nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return killed, errTooFast
}

// sweep kills the marked processes that it finds, and waits for none of them: what
// dies has no environment any more.
func sweep(marker string) (found int, err error) {
	pids, err := all()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if pid == os.Getpid() || !carries(pid, marker) {
			continue
		}
		p, err := os.FindProcess(pid) // holds on to the process, not the number
		if err != nil {
			continue
		}
		if carries(pid, marker) && p.Kill() == nil {
			found++
		}
		_ = p.Release()
	}
	return found, nil
}

// carries reports whether a process has the marker in its environment. What can't be
// read is another user's.
func carries(pid int, marker string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	want := []byte(MarkerName + "=" + marker)
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(entry, want) {
			return true
		}
	}
	return false
}

// marked reports whether a member of the group carries the marker.
func marked(pgid int, marker string) bool {
	return member(pgid, func(pid int, _ stat) bool { return marker != "" && carries(pid, marker) })
}

// lives reports whether a group has a member that is not a zombie: those wait for a
// parent, which may never look. A zombie whose other threads are still ending has its
// files open, and so may hold a lock.
func lives(pgid int) bool {
	return member(pgid, func(_ int, s stat) bool { return s.state != "Z" && s.state != "X" || s.threads > 1 })
}

func member(pgid int, is func(int, stat) bool) bool {
	pids, err := all()
	if err != nil {
		return false
	}
	for _, pid := range pids {
		if s, ok := statOf(pid); ok && s.group == pgid && is(pid, s) {
			return true
		}
	}
	return false
}

func all() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// stat is what the kernel says of a process.
type stat struct {
	state   string
	parent  int
	group   int
	threads int
	began   string // in ticks since the machine was started
}

func statOf(pid int) (stat, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, false
	}
	_, rest, _ := strings.Cut(string(data[max(0, bytes.LastIndexByte(data, ')')):]), " ") // a name may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return stat{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return stat{}, false
	}
	group, err := strconv.Atoi(fields[2])
	if err != nil {
		return stat{}, false
	}
	threads, err := strconv.Atoi(fields[17])
	return stat{state: fields[0], parent: parent, group: group, threads: threads, began: fields[19]}, err == nil
}
