package bt

import (
	"slices"
	"testing"
	"time"
)

// Whoever runs a tree is told of each further attempt at a model's reply, and of no other.
func TestAgain(t *testing.T) {
	asked := 0
	library := Library{LLM: func(LLMCall) (Leaf, error) {
		return Func(func(c *Context) Status {
			if asked++; asked == 2 {
				c.Temporary(10 * time.Second)
			} else if asked < 4 {
				c.Temporary(0)
			}
			return Failure
		}), nil
	}}
	p, err := Compile(Tree{Name: "t", Root: Sequence(AskModel("a", LLMCall{Retries: 5, Backoff: time.Second}))}, library)
	if err != nil {
		t.Fatal(err)
	}
	var told []Attempt
	r := p.Start(Options{Again: func(a Attempt) { told = append(told, a) }})
	defer r.Close()
	for _, at := range []int{0, 1, 2, 11, 15} {
		if _, err := r.Tick(t.Context(), time.Unix(int64(at), 0)); err != nil {
			t.Fatal(err)
		}
	}
	want := []Attempt{{1, time.Second, 1, 5}, {1, 10 * time.Second, 2, 5}, {1, 4 * time.Second, 3, 5}}
	if !slices.Equal(told, want) || asked != 4 {
		t.Errorf("asked %d times, told %v, want %v", asked, told, want)
	}
}
