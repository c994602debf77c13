package signals_test

import (
	"os"
	"os/exec"
	"testing"
)

// A program outside this module builds with these packages alone, and its loop is steered by them.
func TestProgramOutside(t *testing.T) {
	t.Parallel()
	run := exec.CommandContext(t.Context(), "go", "run", ".")
	run.Dir = "../../examples/steered-loop"
	run.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const want = `signal: need_turn the search comes first
signal: context_sufficient 
SUCCESS after 2 turns:
I look for it.

It is in main.go.
`
	if string(out) != want {
		t.Errorf("it says\n%s", out)
	}
}
