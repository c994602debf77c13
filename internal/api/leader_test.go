package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// answering carries requests to a box which answers each with the next of these, and then with the last one again; no leader after 3 seconds, as a box does.
type answering struct {
	codes []string // "" for what was asked
	asked []string // addresses
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r.URL.RequestURI())
	code := a.codes[min(len(a.asked), len(a.codes))-1]
	status, body := http.StatusOK, "{}"
	if code != "" {
		status, body = http.StatusServiceUnavailable, `{"code":"`+code+`","error":"why not"}`
	}
	if code == api.CodeNoLeader {
		time.Sleep(3 * time.Second)
	}
	return &http.Response{StatusCode: status, Header: http.Header{api.AgeHeader: {"1500"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// A client waits for another box to lead, but not for long if none does; and it does not say then that the box went away. What was open before may be
// recorded.
func TestNoLeader(t *testing.T) {
	const open = "may be recorded all the same"
	for name, c := range map[string]struct {
		codes    []string
		patience time.Duration
		reads    bool
		want     string // of the error; "" for none
		without  string
		most     time.Duration
	}{
		"another box leads soon":    {codes: []string{api.CodeNoLeader, ""}, patience: api.Patience, most: 4 * time.Second},
		"none does":                 {codes: []string{api.CodeNoLeader}, patience: api.Patience, want: "why not", without: open, most: 7 * time.Second},
		"none does, for who reads":  {codes: []string{api.CodeNoLeader}, patience: api.Patience, reads: true, want: "why not", without: open, most: 7 * time.Second},
		"none does, and it is open": {codes: []string{api.CodeUnknown, api.CodeNoLeader}, patience: api.Patience, want: open, most: 7 * time.Second},
		"it is open":                {codes: []string{api.CodeUnknown}, patience: api.Patience, want: "asked again and again for 15s", most: 16 * time.Second},
		"a client without patience": {codes: []string{api.CodeNoLeader}, want: "why not", most: 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, began := api.ClientOver(&answering{codes: c.codes}, "token").WithPatience(c.patience), time.Now()
			var err error
			if c.reads {
				_, err = client.Status(t.Context())
			} else {
				_, err = client.Release(t.Context(), "s-1.1")
			}
			took := time.Since(began)
			if took > c.most || (err == nil) != (c.want == "") {
				t.Fatalf("%s: %v after %v", name, err, took)
			}
			if err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "went away") || c.without != "" && strings.Contains(err.Error(), c.without)) {
				t.Errorf("%s: %v", name, err)
			}
			if want := c.codes[len(c.codes)-1] == api.CodeNoLeader; api.NoLeader(err) != want {
				t.Errorf("%s: that none leads is %v", name, !want)
			}
		})
	}
}

// Whoever follows the events goes on when another box leads, and is told if none does.
func TestFollowWithoutLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api.ClientOver(&answering{codes: []string{"", api.CodeNoLeader}}, "token").WithPatience(api.Patience)
		began := time.Now()
		err := client.Events(t.Context(), "", 0, true, func(api.Event) error { return nil })
		if took := time.Since(began); !api.NoLeader(err) || strings.Contains(err.Error(), "went away") || took > 10*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// What may be old is asked for where something is read, and its age is told.
func TestStale(t *testing.T) {
	box := &answering{codes: []string{""}}
	var age api.Age
	client := api.ClientOver(box, "token").Stale(&age)
	_, err := client.Run(t.Context(), "R1")
	if _, e := client.Runs(t.Context(), true, api.From{}); e == nil {
		t.Error("a list is an object")
	}
	if _, e := client.PauseRun(context.Background(), "R1", api.Message{}); err != nil || e != nil {
		t.Error(err, e)
	}
	if got, want := strings.Join(box.asked, " "), "/v1/runs/R1?stale=ok /v1/runs?live=true&stale=ok /v1/runs/R1/pause"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	if want := (api.Age{Known: true, Age: 1500 * time.Millisecond}); age != want {
		t.Errorf("it is %+v", age)
	}
}
