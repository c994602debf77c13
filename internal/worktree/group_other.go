//go:build !unix

package worktree

import "os/exec"

// ownGroup does nothing where there are no process groups: the context ends
// git alone.
func ownGroup(*exec.Cmd) {}

// endGroup has nothing to end.
func endGroup(*exec.Cmd) {}
