package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sampled is a directory with a database of the sample files.
func sampled(t *testing.T) (dir string, run func(args ...string) *exec.Cmd) {
	t.Helper()
	dir = t.TempDir()
	samples, err := filepath.Abs("../../../examples/portfolio")
	if err != nil {
		t.Fatal(err)
	}
	run = func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "portfolio", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PORTFOLIO_DB="+filepath.Join(dir, "portfolio.db"))
		return cmd
	}
	for _, args := range [][]string{
		{"accounts", "import", samples + "/accounts.yaml"},
		{"import", samples + "/schwab.csv", samples + "/fidelity.csv", samples + "/ibkr.xml", samples + "/roth.ofx", samples + "/transactions.csv"},
		{"prices", "import", samples + "/prices.csv"},
	} {
		if out, err := run(args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return dir, run
}

// A real client asks the real program: on its standard input and output, and over HTTP.
func TestMCP(t *testing.T) {
	dir, run := sampled(t)
	t.Run("stdio", func(t *testing.T) {
		converse(t, dir, &mcp.CommandTransport{Command: run("mcp", "--as-of", "2026-11-13", "--logs", "logs"), TerminateDuration: time.Minute})
	})
	t.Run("http", func(t *testing.T) {
		server := run("mcp", "--as-of", "2026-11-13", "--logs", "logs", "--http", "127.0.0.1:0")
		stderr, err := server.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(stderr).ReadString('\n')
		_, url, found := strings.Cut(strings.TrimSpace(line), "listening on ")
		if err != nil || !found {
			t.Fatalf("%q, %v", line, err)
		}
		converse(t, dir, &mcp.StreamableClientTransport{Endpoint: url})
		for header, value := range map[string]string{"Origin": "https://example.com", "Host": "example.com"} {
			if status := post(t, url, header, value); status != http.StatusForbidden {
				t.Errorf("%s %s: %d", header, value, status)
			}
		}
		if err := server.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := server.Wait(); err != nil {
			t.Errorf("after an interrupt: %v", err)
		}
	})
}

func post(t *testing.T, url, header, value string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(header, value)
	if header == "Host" {
		req.Host = value
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func converse(t *testing.T, dir string, transport mcp.Transport) {
	t.Helper()
	ctx := t.Context()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	list, err := client.ListTools(ctx, nil)
	if err != nil || len(list.Tools) != 4 {
		t.Fatalf("%+v, %v", list, err)
	}
	exit, harvest := "check_exit_signals", "suggest_tax_loss_harvest"
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
		most      int
	}{
		{exit, map[string]any{"ticker": "SLV"}, `"format":"summary"`, 0},
		{exit, map[string]any{"ticker": "slv", "format": "agent"}, `"flag":"exit_signal"`, 2 << 10},
		{exit, map[string]any{"ticker": "SLV", "format": "full", "shares": 10}, `"requested":"10"`, 0},
		{exit, nil, `"exit_count":3`, 0},
		{exit, map[string]any{"format": "agent"}, `"account_id":"XXXX-3417","sell":207`, 2 << 10},
		{"list_positions", nil, `"position_count":13`, 0},
		{"list_positions", map[string]any{"format": "agent"}, `"flag":"unknown_cost"`, 3 << 10},
		{"list_positions", map[string]any{"format": "full", "symbol": "slv"}, `"lots":[{"account":"U1234567","symbol":"SLV"`, 0},
		{"list_gains", map[string]any{"year": 2025}, `"format":"summary"`, 0},
		{"list_gains", map[string]any{"format": "agent", "year": 2025}, `"short_term_gain"`, 3 << 10},
		{"list_gains", map[string]any{"format": "full"}, `"year":2026`, 0},
		{harvest, map[string]any{"carryover": 5000, "format": "agent"}, `"flag":"limit_used"`, 3 << 10},
		{harvest, nil, `"format":"summary"`, 0},
		{harvest, map[string]any{"format": "agent"}, `"flag":"wash_sale_risk"`, 3 << 10},
		{harvest, map[string]any{"format": "full", "min_loss": 500.5}, `"min_loss":"500.5"`, 0},
		{harvest, map[string]any{"format": "report", "account_id": "XXXX-3417"}, `"report":"# `, 0},
	} {
		text, result := call(ctx, t, client, c.tool, c.arguments)
		if result.IsError || !strings.Contains(text, c.want) || c.most > 0 && len(text) > c.most {
			t.Errorf("%s %v: error %v, %d bytes, want %s\n%s", c.tool, c.arguments, result.IsError, len(text), c.want, text)
		}
	}
	for _, arguments := range []map[string]any{
		{"ticker": "NOPE", "format": "agent"}, {"ticker": "SLV", "format": "agent", "account_id": "none"},
	} {
		if text, result := call(ctx, t, client, exit, arguments); !result.IsError || !strings.Contains(text, `"flag":"signal_error"`) {
			t.Errorf("%v: %s", arguments, text)
		}
	}
	if text, result := call(ctx, t, client, exit, map[string]any{"ticker": "SLV", "format": "yaml"}); !result.IsError || !strings.Contains(text, "summary, full or agent") {
		t.Error(text)
	}
	_, result := call(ctx, t, client, harvest, map[string]any{"format": "agent", "output": "file"})
	var link *mcp.ResourceLink
	for _, content := range result.Content {
		if l, ok := content.(*mcp.ResourceLink); ok {
			link = l
		}
	}
	if link == nil {
		t.Fatalf("no link in %+v", result)
	}
	read, err := client.ReadResource(ctx, &mcp.ReadResourceParams{URI: link.URI})
	if err != nil || len(read.Contents) != 1 {
		t.Fatalf("%+v, %v", read, err)
	}
	var full struct {
		Candidates []any `json:"candidates"`
	}
	if err := json.Unmarshal([]byte(read.Contents[0].Text), &full); err != nil || len(full.Candidates) == 0 {
		t.Errorf("%v, %.200s", err, read.Contents[0].Text)
	}
	files, err := os.ReadDir(filepath.Join(dir, "logs", "tax_harvest"))
	if err != nil || len(files) == 0 {
		t.Errorf("%v, %v", files, err)
	}
}

func call(ctx context.Context, t *testing.T, client *mcp.ClientSession, tool string, arguments map[string]any) (string, *mcp.CallToolResult) {
	t.Helper()
	result, err := client.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%+v", result)
	}
	return text.Text, result
}
