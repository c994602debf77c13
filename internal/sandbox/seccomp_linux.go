//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"io"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bpf is a filter of system calls.
type bpf []unix.SockFilter

// Where the filter finds things of a call, and what it answers.
const (
	callNumber = 0
	callArch   = 4
	argument0  = 16
	argument1  = 24

	allow   = unix.SECCOMP_RET_ALLOW
	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	missing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	kill    = unix.SECCOMP_RET_KILL_PROCESS
)

// ipc are the calls for memory, messages and semaphores that all processes of a user share.
var ipc = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// tioclinux is the request for things of the console, pasting among them.
const tioclinux = 0x541c

// filter makes one that permits sockets of few families, pairs only of kinds that can't be
// connected to anything else, and nothing that goes around it. Nobody types into a terminal
// for its user, or sets limits to a process other than itself: Landlock keeps in neither.
func filter(network, ownIPC bool) bpf {
	families := []uint32{unix.AF_NETLINK}
	if network {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	absent := []uint32{unix.SYS_IO_URING_SETUP}
	if !ownIPC {
		absent = append(absent, ipc...)
	}
	f := bpf{load(callArch), equal(arch, 1), answer(kill), load(callNumber)}
	f = append(f, foreign...)
	for _, number := range absent {
		f = append(f, skipUnless(number, 1), answer(missing))
	}
	f = slices.Concat(f,
		except(unix.SYS_IOCTL, bpf{load(argument1)}, []uint32{unix.TIOCSTI, tioclinux}),
		among(unix.SYS_PRLIMIT64, bpf{load(argument0)}, []uint32{0}),
		among(unix.SYS_SOCKET, bpf{load(argument0)}, families),
		among(unix.SYS_SOCKETPAIR, bpf{load(argument1), and(0xf)}, []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}))
	return append(f, answer(allow))
}

// among decides on one call: it is permitted if what is looked at is one of some values.
func among(number uint32, look bpf, values []uint32) bpf {
	then := slices.Clone(look)
	for _, v := range values {
		then = append(then, skipUnless(v, 1), answer(allow))
	}
	then = append(then, answer(refuse))
	return append(bpf{skipUnless(number, uint8(len(then)))}, then...)
}

// except decides on one call: it is refused if what is looked at is one of some values.
func except(number uint32, look bpf, values []uint32) bpf {
	then := slices.Clone(look)
	for _, v := range values {
		then = append(then, skipUnless(v, 1), answer(refuse))
	}
	then = append(then, answer(allow))
	return append(bpf{skipUnless(number, uint8(len(then)))}, then...)
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func and(mask uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask}
}

func answer(value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}

// equal skips some instructions if what was loaded is a value.
func equal(value uint32, skip uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: skip}
}

// skipUnless skips some instructions if what was loaded is not a value.
func skipUnless(value uint32, skip uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: skip}
}

// install puts the filter in force for this thread.
func (f bpf) install() error {
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("the filter of system calls can't be put in force: %w", errno)
	}
	return nil
}

// file returns a descriptor of the filter, which the next program inherits.
func (f bpf) file() (int, error) {
	fd, err := unix.MemfdCreate("filter", 0)
	if err != nil {
		return -1, err
	}
	memory := unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), len(f)*int(unsafe.Sizeof(f[0])))
	if _, err := unix.Write(fd, memory); err != nil {
		return -1, err
	}
	_, err = unix.Seek(fd, 0, io.SeekStart)
	return fd, err
}
