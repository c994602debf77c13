package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

func serve(t *testing.T, handle http.HandlerFunc) *api.Client {
	t.Helper()
	s := httptest.NewServer(handle)
	c := api.NewClient(strings.TrimPrefix(s.URL, "http://"), "token").WithPatience(0)
	t.Cleanup(func() {
		c.Close()
		s.Close()
	})
	return c
}

// What a session sends is what the box reads, under a key that is the report's own.
func TestSendReport(t *testing.T) {
	exit := 3
	sent := api.SessionReport{
		Seq: 7, Kind: api.ReportTurn, Turn: 2, Prompt: "p-1", Verdict: agentsig.KindCheckpoint,
		Signals:    []api.SaidSignal{{Wire: "CHECKPOINT: T-1", Offset: 1, Length: 2, SHA256: "ab", Line: 3}},
		NearMisses: []api.NearMiss{{Line: 1, Kind: agentsig.KindCheckpoint, Reason: "fenced", Hint: "h"}},
		Exit:       &exit, Usage: delivery.Usage{InputTokens: 5, CostUSD: 0.5}, Bytes: 9, SHA256: "cd", At: time.Unix(1, 0).UTC(),
	}
	var got api.SessionReport
	var path, key string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path, key = r.Method+" "+r.URL.EscapedPath(), r.Header.Get(api.KeyHeader)
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, "{}")
	})
	if err := c.SendReport(t.Context(), "s/1", sent); err != nil {
		t.Fatal(err)
	}
	if path != "POST /v1/sessions/s%2F1/report" || key != "report-7" {
		t.Errorf("%s, key %q", path, key)
	}
	if diff := cmp.Diff(sent, got); diff != "" {
		t.Error(diff)
	}
}

func TestActivity(t *testing.T) {
	var got string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		_ = json.NewDecoder(r.Body).Decode(&body)
		got = r.URL.Path + " " + body["line"]
		fmt.Fprint(w, "{}")
	})
	if err := c.Activity(t.Context(), "s-1", api.Activity{Line: "compiling"}); err != nil || got != "/v1/sessions/s-1/activity compiling" {
		t.Errorf("%q, %v", got, err)
	}
}

// Commands come as they are sent; one that was cut off in the middle is none.
func TestCommands(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, ": hello\n\n", `data: {"id":"1","kind":"prompt","text":"go on","answer_ms":5}`, "\n\n",
			`data: {"id":"2","kind":"stop","reason":"later"}`, "\n\n", `data: {"id":"3","kind":"end"}`, "\n")
	})
	var got []api.SessionCommand
	connected := 0
	err := c.Commands(t.Context(), "s-1", func() { connected++ }, func(command api.SessionCommand) error {
		got = append(got, command)
		return nil
	})
	want := []api.SessionCommand{{ID: "1", Kind: api.CommandPrompt, Text: "go on", AnswerMS: 5}, {ID: "2", Kind: api.CommandStop, Reason: "later"}}
	if diff := cmp.Diff(want, got); diff != "" || connected != 1 || !errors.Is(err, api.ErrNoBox) {
		t.Errorf("%s connected %d times, %v", diff, connected, err)
	}
	stop := errors.New("enough")
	if err := c.Commands(t.Context(), "s-1", func() {}, func(api.SessionCommand) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestCommandsEndWithContext(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Commands(ctx, "s-1", cancel, func(api.SessionCommand) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestGone(t *testing.T) {
	for code, want := range map[string]string{
		api.CodeNotFound: "gone", api.CodeConflict: "gone", api.CodeGone: "gone", api.CodeInvalid: "refused",
		api.CodeStopping: "later", api.CodeUnauthorized: "later", api.CodeBusy: "later", api.CodeUnknown: "later",
		api.CodeInternal: "later", api.CodeCannotWrite: "later", "of another version": "later",
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_ = json.NewEncoder(w).Encode(api.Problem{Code: code, Message: "no"})
		})
		err := c.Commands(t.Context(), "s-1", func() { t.Error("connected") }, nil)
		if api.Gone(err) != (want == "gone") || api.Refused(err) != (want == "refused") {
			t.Errorf("%s: %v", code, err)
		}
	}
	if api.Gone(api.ErrNoBox) || api.Gone(nil) || api.Refused(api.ErrNoBox) || api.Refused(nil) {
		t.Error("a box that is away has given up nothing, and refused nothing")
	}
}
