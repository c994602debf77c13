package model_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// requests are conversations in the order and the shapes that come about, and in some that
// vendors would refuse.
func requests() map[string]model.Request {
	user := func(text string) model.Message { return model.Message{Role: model.User, Text: text} }
	says := func(text string, calls ...model.Call) model.Message {
		return model.Message{Role: model.Assistant, Text: text, Calls: calls}
	}
	gave := func(results ...model.Result) model.Message {
		return model.Message{Role: model.ToolResults, Results: results}
	}
	call := func(id, name, arguments string) model.Call {
		return model.Call{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
	}
	return map[string]model.Request{
		"question": {Model: "m", Messages: []model.Message{user("Where is <it>?")}},
		"tools": {
			Model: "m", System: "You are brief.", MaxTokens: 100,
			Messages: []model.Message{user("Where is it?")},
			Tools: []model.Tool{
				{Name: "find", Description: "Finds files.", Schema: json.RawMessage(
					`{"type":"object","properties":{"name":{"type":"string"},"size":{"const":12345678901234567890}},"required":["name"],"additionalProperties":false}`)},
				{Name: "list"},
				{Name: "read", Schema: json.RawMessage(`{"description":"a path"}`)},
			},
		},
		"results": {Model: "m", Messages: []model.Message{
			user("Where is it?"),
			says("I look.", call("1", "find", `{"name":"it"}`), call("2", "list", `{}`)),
			gave(model.Result{ID: "1", Text: "lib/it"}, model.Result{ID: "2", Text: "no such tool", Failed: true}),
			says("", call("3", "find", `{"_unreadable":"{"}`)),
			gave(model.Result{ID: "3", Text: "Error: the arguments can't be read", Failed: true}),
			user("Answer now."),
		}},
		"repaired": {Model: "m", System: " ", Messages: []model.Message{
			user("One."), user(""), user("Two."),
			says(" \n"),
			user("Three."),
			says("A."), says("B.", call("1", "no such tool!", `{"x":`), call("2", "", ``), call("3", "find", `7`)),
			user("Text before the results."),
			gave(model.Result{ID: "3", Text: "three"}), gave(model.Result{ID: "1", Text: " "}),
			says("C.", call("4", "find", `{}`)),
		}},
	}
}

// The bodies of requests are as the vendors document them.
func TestRequests(t *testing.T) {
	for name, r := range requests() {
		both(t, func(t *testing.T, p model.Provider) {
			var body []byte
			url := raw(t, func(w http.ResponseWriter, req *http.Request) {
				body, _ = io.ReadAll(req.Body)
				req.Body = http.NoBody
				stream(hello(p))(w, req)
			})
			if _, err := client(t, p, url).Reply(t.Context(), r, model.Sink{}); err != nil {
				t.Fatal(err)
			}
			golden(t, name+"."+string(p)+".json", body)
		})
	}
}

// OpenAI's own models want the new name of the limit.
func TestOwnServer(t *testing.T) {
	var body []byte
	c, err := model.New(model.Settings{Provider: model.OpenAI, Key: "k", HTTP: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		body, _ = io.ReadAll(r.Body)
		return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody, Request: r}, nil
	})}})
	if err != nil {
		t.Fatal(err)
	}
	r := question("go")
	r.MaxTokens = 7
	_ = failed(t, c, r)
	if !strings.Contains(string(body), `"max_completion_tokens":7`) || strings.Contains(string(body), `"max_tokens"`) {
		t.Errorf("the request is %s", body)
	}
}

func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var got bytes.Buffer
	if err := json.Indent(&got, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

// What can't be put right is an error before anything is asked.
func TestRequestErrors(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		c := client(t, p, raw(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") }))
		for want, r := range map[string]model.Request{
			`the schema of the tool "a" is no JSON object`: {Tools: []model.Tool{{Name: "a", Schema: json.RawMessage(`[]`)}}},
			`the conversation has a message of an unknown role, "x\x1b"`: {
				Messages: []model.Message{{Role: "x\x1b"}}},
			`the conversation has a result of the call "1", which the reply before it has not made`: {
				Messages: []model.Message{{Role: model.ToolResults, Results: []model.Result{{ID: "1"}}}}},
			`the conversation has a result of the call "2", which the reply before it has not made`: {
				Messages: []model.Message{{Role: model.Assistant, Calls: []model.Call{{ID: "2"}}},
					{Role: model.ToolResults, Results: []model.Result{{ID: "2"}, {ID: "2"}}}}},
		} {
			if e := failed(t, c, r); e.Error() != string(p)+": "+want || e.Temporary {
				t.Errorf("%v, want %s", e, want)
			}
		}
	})
}

func TestUnreadable(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"_unreadable":"{"}`: "{", `{"_unreadable":""}`: "", `{}`: "-", `{"a":1}`: "-", `{"_unreadable":1}`: "-", `{"_unreadable":"a","b":1}`: "-", ``: "-",
	} {
		got, bad := model.Call{Arguments: json.RawMessage(arguments)}.Unreadable()
		if !bad {
			got = "-"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}
