//go:build amd64 || arm64

package sandbox_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// TestMain is this program as the command line has it, and in two roles more: a box, which
// has things that nobody else may get at, and a program that tries.
func TestMain(m *testing.M) {
	role := ""
	if len(os.Args) > 2 {
		role = os.Args[1]
	}
	var err error
	if nest, command := sandbox.Invoked(os.Args, os.Getenv); command != nil {
		fmt.Fprintln(os.Stderr, sandbox.EnterNest(nest, command))
		os.Exit(126)
	}
	switch role {
	case "nested":
		err = sandbox.EnterNest(os.Args[2], os.Args[4:])
	case "confine":
		err = sandbox.Enter(os.Args[2], os.Args[4:])
	case "box":
		err = runBox(os.Args[2])
	case "try":
		err = try(os.Args[2])
	default:
		code := m.Run()
		if err := os.RemoveAll(template()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
