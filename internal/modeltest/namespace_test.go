package modeltest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

// A call of a tool in a namespace names both, in OpenAI Responses.
func TestNamespace(t *testing.T) {
	script, err := modeltest.Parse("namespace", "== one\nasked: Hello\ncalls: mcp__box/list_runs {}\nresult: none\nsays: None.\n")
	if err != nil {
		t.Fatal(err)
	}
	server, err := modeltest.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL()+"/v1/responses", strings.NewReader(`{"model": "m", "input": "Hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var reply struct {
		Output []struct{ Type, Namespace, Name string }
	}
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		t.Fatal(err)
	}
	if len(reply.Output) != 1 || reply.Output[0].Type != "function_call" || reply.Output[0].Namespace != "mcp__box" || reply.Output[0].Name != "list_runs" {
		t.Errorf("%+v", reply.Output)
	}
}
