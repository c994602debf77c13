package process

import (
	"os/exec"
	"syscall"
)

// endWithParent has the kernel send the signal to the program if this process ends.
func endWithParent(cmd *exec.Cmd, how syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = how
	cmd.SysProcAttr.Setpgid = true // Ctrl-C is for this process, which ends the others in order
}
