package oracle

import (
	"context"
	"strings"
	"sync"
	"testing"
)

// What is no question is refused before anything happens.
func TestNoQuestion(t *testing.T) {
	s := settings(t, serve(t, "== none\nasked: .\nsays: A"), providers[0])
	o, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		" \n\t":                            "the question is empty",
		strings.Repeat("?", MaxQuestion+1): "put what is long into a file",
		"what is \xff?":                    "no UTF-8",
	} {
		_, err := o.Ask(context.Background(), text, func(c Chunk) { t.Errorf("%.20q: a chunk %+v", text, c) })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

// The model gets the prompts that belong to the question's class, and what it thinks is
// not part of the answer.
func TestSystemPrompt(t *testing.T) {
	for _, provider := range providers {
		t.Run(string(provider), func(t *testing.T) {
			server := serve(t, script("== it\nasked: .\nthinks: It may check.\nsays: It checks. {enough 0.9}"))
			s := settings(t, server, provider)
			a, told := answerTo(t, s, "What does the function auth do?")
			if a.Class != "code" || a.Text != "It checks." || told.of(Reasoning) != "It may check." {
				t.Errorf("%+v, thought %q", a, told.of(Reasoning))
			}
			system := server.Requests()[0].System
			for name, text := range s.Prompts {
				if want := name == "base" || name == "signals" || name == "tools" || name == "code"; strings.Contains(system, text) != want {
					t.Errorf("the prompt %s is there, or should be: %v", name, want)
				}
			}
		})
	}
}

// One oracle answers several at once.
func TestSeveralAtOnce(t *testing.T) {
	for _, provider := range providers {
		t.Run(string(provider), func(t *testing.T) {
			s := settings(t, serve(t, script("== it\n"+asksWhat+looks+"says: A {need 0.8: one look}\n"+goesOn+"says: It checks. {enough 0.9}")), provider)
			s.Tools = tools{"search": func(string) (string, error) { return "found", nil }}
			o, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					var told story
					a, err := o.Ask(context.Background(), longQuestion, told.chunk)
					if err != nil || a.Outcome != Answered || a.Turns != 3 || a.Signals != 2 || !strings.HasPrefix(told.text(), "I look.\n\nA \n\nIt checks.") {
						t.Errorf("%v, %+v, %q", err, a, told.text())
					}
				})
			}
			all.Wait()
		})
	}
}
