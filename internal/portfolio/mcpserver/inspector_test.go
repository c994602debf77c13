package mcpserver_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mcpserver/mcptest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/mcpserver"
)

// TestInspector asks by a client that is not of the same making: the command line of
// @modelcontextprotocol/inspector, whose program is in $MCP_INSPECTOR.
func TestInspector(t *testing.T) {
	url := listen(t, &fake{dir: t.TempDir()}, mcpserver.Options{Files: true})
	inspector := mcptest.NewInspector(t, "", url, "--transport", "http")
	type answer struct {
		Tools             []struct{ Name string }
		StructuredContent struct{ Status, Shares string }
		Content           []struct{ Type, URI string }
		Contents          []struct{ Text string }
	}
	ask := func(method string, arguments ...string) answer {
		t.Helper()
		return mcptest.Ask[answer](t, inspector, method, arguments...)
	}
	if n := len(ask("tools/list").Tools); n != 4 {
		t.Errorf("%d tools", n)
	}
	called := ask("tools/call", "--tool-name", "check_exit_signals", "--tool-arg", "ticker=VTI", "--tool-arg", "shares=1.5", "--tool-arg", "output=file")
	if called.StructuredContent.Status != "success" || called.StructuredContent.Shares != "1.5" || len(called.Content) != 2 {
		t.Fatalf("%+v", called)
	}
	read := ask("resources/read", "--uri", called.Content[1].URI)
	if len(read.Contents) != 1 || read.Contents[0].Text != `{"full":"result"}` {
		t.Errorf("%+v", read)
	}
}
