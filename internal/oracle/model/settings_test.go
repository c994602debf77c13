package model_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// transport answers instead of a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sent is what a request looks like that settings make.
func sent(t *testing.T, s model.Settings) *http.Request {
	t.Helper()
	var seen *http.Request
	s.HTTP = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		seen = r
		return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody, Request: r}, nil
	})}
	c, err := model.New(s)
	if err != nil {
		t.Fatal(err)
	}
	_ = failed(t, c, question("go"))
	return seen
}

func TestBaseURL(t *testing.T) {
	for _, c := range []struct {
		provider  model.Provider
		base, url string
	}{
		{model.OpenAI, "", "https://api.openai.com/v1/chat/completions"},
		{model.OpenAI, "http://localhost:11434/v1", "http://localhost:11434/v1/chat/completions"},
		{model.OpenAI, " http://localhost:11434/v1// ", "http://localhost:11434/v1/chat/completions"},
		{model.OpenAI, "http://localhost:8080", "http://localhost:8080/chat/completions"},
		{model.OpenAI, "https://a.test/api%2Fx/v1/", "https://a.test/api%2Fx/v1/chat/completions"},
		{model.Anthropic, "", "https://api.anthropic.com/v1/messages"},
		{model.Anthropic, "http://localhost:8080", "http://localhost:8080/v1/messages"},
		{model.Anthropic, "http://localhost:8080/", "http://localhost:8080/v1/messages"},
		{model.Anthropic, "http://localhost:8080/v1/", "http://localhost:8080/v1/messages"},
		{model.Anthropic, "https://a.test/anthropic", "https://a.test/anthropic/v1/messages"},
	} {
		if got := sent(t, model.Settings{Provider: c.provider, BaseURL: c.base, Key: "k"}).URL.String(); got != c.url {
			t.Errorf("%s %q: %s, want %s", c.provider, c.base, got, c.url)
		}
	}
}

func TestSettingsErrors(t *testing.T) {
	for _, c := range []struct {
		settings model.Settings
		want     string
	}{
		{model.Settings{}, `no provider ""; there are openai and anthropic`},
		{model.Settings{Provider: "x\x1b"}, `no provider "x\x1b"; there are openai and anthropic`},
		{model.Settings{Provider: model.OpenAI}, "no key for openai: give one, or the base URL of a server that needs none"},
		{model.Settings{Provider: model.Anthropic}, "no key for anthropic: give one, or the base URL of a server that needs none"},
		{model.Settings{Provider: model.OpenAI, Key: "secret\n"}, "the key has a blank or another character in it that no key has"},
		{model.Settings{Provider: model.OpenAI, BaseURL: "localhost:11434"}, "the base URL is no address of a server; one looks like http://localhost:11434/v1"},
		{model.Settings{Provider: model.OpenAI, BaseURL: "ftp://a.test"}, "the base URL is no address of a server; one looks like http://localhost:11434/v1"},
		{model.Settings{Provider: model.OpenAI, BaseURL: "http://u:secret@%zz"}, "the base URL is no address of a server; one looks like http://localhost:11434/v1"},
		{model.Settings{Provider: model.OpenAI, BaseURL: "http://u:secret@a.test/v1"}, "the base URL has a user name or password in it; give the key apart"},
		{model.Settings{Provider: model.OpenAI, BaseURL: "http://a.test/v1?key=secret"}, "the base URL has more than a path behind the server; leave out what begins with ? or #"},
	} {
		_, err := model.New(c.settings)
		if err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.settings, err, c.want)
		}
	}
}

// Whatever the environment has for the vendors' libraries, the request has what the settings
// say and nothing else.
func TestEnvironment(t *testing.T) {
	settings := []model.Settings{
		{Provider: model.OpenAI, Key: "the-key"}, {Provider: model.OpenAI, BaseURL: "http://local.test/v1"},
		{Provider: model.Anthropic, Key: "the-key"}, {Provider: model.Anthropic, BaseURL: "http://local.test"},
	}
	requests := func() []string {
		var all []string
		for _, s := range settings {
			r := sent(t, s)
			var b strings.Builder
			_ = r.Header.Write(&b)
			all = append(all, r.URL.String()+"\n"+b.String())
		}
		return all
	}
	want := requests()
	for i, has := range []string{"Authorization: Bearer the-key", "", "X-Api-Key: the-key", ""} {
		if has != "" && !strings.Contains(want[i], has) || has == "" && (strings.Contains(want[i], "Authorization") || strings.Contains(want[i], "X-Api-Key")) {
			t.Errorf("%s has not %q", want[i], has)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"ADMIN_KEY", "API_KEY", "AUTH_TOKEN", "ORG_ID", "PROJECT_ID", "ORGANIZATION_ID", "WEBHOOK_SECRET",
		"WORKSPACE_ID", "PROFILE", "FEDERATION_RULE_ID", "IDENTITY_TOKEN", "SERVICE_ACCOUNT_ID", "LOG"} {
		t.Setenv("OPENAI_"+name, "from-the-environment")
		t.Setenv("ANTHROPIC_"+name, "from-the-environment")
	}
	t.Setenv("OPENAI_BASE_URL", "http://elsewhere.test/v1")
	t.Setenv("ANTHROPIC_BASE_URL", "http://elsewhere.test")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: from-the-environment")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: from-the-environment")
	t.Setenv("ANTHROPIC_CONFIG_DIR", dir)
	t.Setenv("ANTHROPIC_OPEN_TELEMETRY", "true")
	if diff := cmp.Diff(want, requests()); diff != "" {
		t.Errorf("requests (-without +with the environment):\n%s", diff)
	}
}

// A redirect is not followed: it would take the key elsewhere.
func TestRedirect(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		elsewhere := raw(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
		url := raw(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere+"/v1", http.StatusTemporaryRedirect)
		})
		e := failed(t, client(t, p, url), question("go"))
		if e.Temporary || e.Status != 307 || !strings.Contains(e.Error(), "give the base URL of the server itself") {
			t.Errorf("the error is %v", e)
		}
	})
}
