// Package mcptest is for tests of tool servers: it asks them by a client that is not of the same making, the command line of
// @modelcontextprotocol/inspector.
package mcptest

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// Inspector asks one server.
type Inspector struct {
	program, dir string
	server       []string
}

// NewInspector returns one that is started in a directory, or here if that is empty. Server says how it finds the server: a
// URL and --transport http, or a program with its arguments. The test is skipped if $MCP_INSPECTOR does not say where the program is.
func NewInspector(t *testing.T, dir string, server ...string) Inspector {
	t.Helper()
	program := os.Getenv("MCP_INSPECTOR")
	if program == "" {
		t.Skip("MCP_INSPECTOR does not say where mcp-inspector is")
	}
	return Inspector{program, dir, server}
}

// Ask calls a method, and returns the answer as T has it.
func Ask[T any](t *testing.T, i Inspector, method string, arguments ...string) (answer T) {
	t.Helper()
	all := append([]string{"--cli"}, i.server...)
	command := exec.CommandContext(t.Context(), i.program, append(append(all, "--method", method), arguments...)...)
	command.Dir, command.Stderr = i.dir, os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
