package sandbox

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// foreign answers the calls of x32, which are the same ones by other numbers.
var foreign = bpf{
	{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: 0x40000000, Jf: 1},
	answer(missing),
}
