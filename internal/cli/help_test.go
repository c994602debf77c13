package cli_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/command"
)

// Every command that help lists has an example of its own, and one that has others below it refuses what is none of them.
func TestEveryCommandHasAnExample(t *testing.T) {
	_, out, _ := run(t, command.Env{}, "help", "all")
	var names [][]string
	for line := range strings.Lines(out) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "  "), "  "); ok && strings.HasPrefix(line, "  ") && !strings.ContainsAny(name, " -") && name != "" {
			names = append(names, []string{name})
		}
	}
	if len(names) < 30 {
		t.Fatalf("%d commands in:\n%s", len(names), out)
	}
	for i := 0; i < len(names); i++ {
		_, out, _ := run(t, command.Env{}, append(slices.Clone(names[i]), "--help")...)
		if names[i][0] != "completion" && !strings.Contains(out, "\nExamples:\n  ") {
			t.Errorf("%v has no example", names[i])
		}
		_, below, group := strings.Cut(out, "\nCommands:\n")
		if group && names[i][0] != "completion" {
			if code, _, errs := run(t, command.Env{}, append(slices.Clone(names[i]), "chekc")...); code != 2 || errs == "" {
				t.Errorf("%v takes a command that is not there: exit code %d, %q", names[i], code, errs)
			}
		}
		for line := range strings.Lines(below) {
			name, _, ok := strings.Cut(strings.TrimPrefix(line, "  "), "  ")
			if !ok || strings.TrimSpace(line) == "" || names[i][0] == "completion" {
				break
			}
			names = append(names, append(slices.Clone(names[i]), name))
		}
	}
}
