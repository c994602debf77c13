package mcpserver_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// A server that writes where it may not, or says that it does not, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestFilesAreOff$|^TestDefinitions$", []mutant.Mutant{
		{Name: "files are written without a directory", File: "mcpserver.go", Old: "c.output == reply.OutputFile && !s.files", New: "c.output == reply.OutputFile && !s.files && len(s.hosts) > 9"},
		{Name: "who writes is declared to read", File: "mcpserver.go", Old: "t.Hints.ReadOnly = !s.files", New: "t.Hints.ReadOnly = !s.files || len(s.hosts) == 0"},
	}))
}
