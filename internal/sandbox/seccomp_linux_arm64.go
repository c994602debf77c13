package sandbox

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// foreign is empty: every call has one number.
var foreign bpf
