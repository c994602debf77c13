//go:build unix && !linux

package e2e_test

// alone does nothing: networks of a process's own are Linux's.
func alone() (int, bool) { return 0, false }
