//go:build unix

package cli

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, in how files are opened that the user named, is noticed by the test beside it.
func TestNamedMutants(t *testing.T) {
	const read, write = "^TestInterruptedAtAPipe$/^plan_check", "^TestWriteNamedInterrupted$"
	mutant.All(t, []mutant.Noticed{
		{By: read, Mutant: mutant.Mutant{Name: "a pipe's other end is waited for without an end", File: "where.go",
			Old: "return awaited(ctx, func() (*os.File, error) { return os.Open(name) })", New: "return os.Open(name)"}},
		{By: read, Mutant: mutant.Mutant{Name: "what comes through a pipe is waited for without an end", File: "where.go",
			Old: "return awaited(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(in, most)) })", New: "return io.ReadAll(io.LimitReader(in, most))"}},
		{By: write, Mutant: mutant.Mutant{Name: "who reads a pipe is waited for without an end", File: "where.go",
			Old: "_, err := awaited(ctx, func() (struct{}, error) {", New: "_, err := awaited(context.WithoutCancel(ctx), func() (struct{}, error) {"}},
	})
}
