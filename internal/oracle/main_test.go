package oracle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// testServer makes the test's binary an MCP server.
const testServer = "ORACLE_TEST_SERVER"

func TestMain(m *testing.M) {
	if file := os.Getenv(testServer); file != "" {
		if err := noteServer(file).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// noteServer is a server that keeps notes in a file.
func noteServer(file string) *mcp.Server {
	type arguments struct {
		Text string `json:"text,omitempty"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	add := func(name string, hints *mcp.ToolAnnotations, run func(string) (string, error)) {
		tool := &mcp.Tool{Name: name, Description: name, Annotations: hints}
		mcp.AddTool(s, tool, func(_ context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, any, error) {
			text, err := run(a.Text)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, err
		})
	}
	write := func(text string) (string, error) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = fmt.Fprintln(f, text)
		return "written", errors.Join(err, f.Close())
	}
	add("read_notes", &mcp.ToolAnnotations{ReadOnlyHint: true}, func(string) (string, error) {
		data, err := os.ReadFile(file)
		return "notes: " + string(data), err
	})
	add("write_note", nil, write)
	add("wipe_notes", &mcp.ToolAnnotations{DestructiveHint: new(true)}, func(string) (string, error) {
		return "wiped", os.Remove(file)
	})
	add("write_and_die", nil, func(text string) (string, error) {
		if _, err := write(text); err != nil {
			return "", err
		}
		os.Exit(3)
		return "", nil
	})
	return s
}
