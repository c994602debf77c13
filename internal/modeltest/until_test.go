package modeltest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

// Calls before until: are made again while they give something else, and not for ever.
func TestUntil(t *testing.T) {
	script, err := modeltest.Parse("until", "== one\nasked: Hello\ncalls: look {}\nresult: ok\ncalls: wait {}\nuntil: done\nsays: It is done.\n")
	if err != nil {
		t.Fatal(err)
	}
	looked := []said{{From: "user", Text: "Hello"}, {From: "model", Calls: []call{{"1", "look", "{}"}}}, {From: "tool", Results: []string{"ok"}}}
	waited := func(results ...string) []said {
		all := looked
		for i, r := range results {
			all = append(all[:len(all):len(all)], said{From: "model", Calls: []call{{fmt.Sprint(i + 2), "wait", "{}"}}}, said{From: "tool", Results: []string{r}})
		}
		return all
	}
	many := make([]string, 21)
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			s, err := modeltest.Start(script)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			for i, c := range []struct {
				history []said
				want    string
				status  int
			}{
				{looked, "wait", http.StatusOK},
				{waited("not yet"), "wait", http.StatusOK},
				{waited("not yet", "not yet", "done"), "It is done.", http.StatusOK},
				{waited(many[:20]...), "wait", http.StatusOK},
				{waited(many...), "no result of a call matches", http.StatusBadRequest},
			} {
				resp := post(t, s.URL()+f.path(false), f.body(c.history, []string{"look", "wait"}, false))
				body, err := io.ReadAll(resp.Body)
				if err := errors.Join(err, resp.Body.Close()); err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != c.status || !strings.Contains(string(body), c.want) {
					t.Errorf("%d: status %d, %s", i, resp.StatusCode, body)
				}
			}
		})
	}
}
