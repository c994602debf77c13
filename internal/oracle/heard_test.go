package oracle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// After each turn a chunk says what is known of signals, also that there is none.
func TestSignalChunks(t *testing.T) {
	for _, provider := range providers {
		server := serve(t, script("== route\n"+asksWhat+"says: A {need 0.8: one look}\ncalls: search {}\nresult: found\nsays: B {need 0.7: one look}\n"+
			goesOn+"says: C\n"+goOn+"says: D {enough 0.9}"))
		s := settings(t, server, provider)
		s.Tools = tools{"search": func(string) (string, error) { return "found", nil }}
		_, told := answerTo(t, s, longQuestion)
		type state struct {
			turn               int
			kind               any
			sameReason, silent int
		}
		var got []state
		for _, c := range told.chunks {
			if c.Type == Signal {
				got = append(got, state{c.Turn, c.Last["type"], c.SameReason, c.Silent})
			}
		}
		want := []state{{1, "need_turn", 1, 0}, {2, "need_turn", 2, 0}, {3, nil, 1, 1}, {4, "context_sufficient", 1, 0}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(state{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", provider, diff)
		}
		last := told.chunks[len(told.chunks)-1]
		if last.State != nil || strings.Contains(told.text(), "signal") {
			t.Errorf("%s: %+v, %q", provider, last, told.text())
		}
	}
}
