package toolbox

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever the servers call their tools, each keeps one with a name that vendors take.
func TestNames(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ab/ ]{0,3}`), rapid.StringMatching(`x{60,70}`), rapid.SampledFrom(reserved))
		var lists []listing
		all := 0
		for i := range rapid.IntRange(0, 4).Draw(t, "servers") {
			l := listing{server: fmt.Sprint("s", i)}
			for _, n := range rapid.SliceOfNDistinct(name, 0, 80, rapid.ID).Draw(t, "tools") {
				l.tools = append(l.tools, entry{Tool: Tool{Name: n, Server: l.server}})
			}
			all += len(l.tools)
			lists = append(lists, l)
		}
		builtin := entry{Tool: Tool{Name: nameRead}}
		tools, warnings := assemble([]entry{builtin}, lists)
		if len(tools) > maxTools || all <= maxTools-len(reserved) && len(tools) != all+1 {
			t.Fatalf("%d tools of %d", len(tools), all)
		}
		if (len(warnings) > 0) != (all > maxTools-len(reserved)) {
			t.Fatalf("%d tools: %q", all, warnings)
		}
		for name, e := range tools {
			if !form.MatchString(name) || e.Name != name || e.Server == "" != (name == nameRead) {
				t.Fatalf("%q is %+v", name, e.Tool)
			}
		}
	})
}

func TestNear(t *testing.T) {
	t.Parallel()
	names := []string{"check_exit_signals", "echo", "read_file", "search_code", "suggest_tax_loss_harvest"}
	for name, want := range map[string][]string{
		"serch_code": {"search_code"}, "SearchCode": {"search_code"}, "readfile": {"read_file"}, "portfolio__check_exit_signals": {"check_exit_signals"},
		"exit_signals": {"check_exit_signals"}, "x": nil, "": nil, "weather": nil,
	} {
		if diff := cmp.Diff(want, near(name, names)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
