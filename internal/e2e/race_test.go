//go:build unix && race

package e2e_test

// buildFlags are those that the program is built with: the race detector watches it as well.
var buildFlags = []string{"-race"}
