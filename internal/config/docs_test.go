package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/plan"
)

const deliveryPage = "../../docs/delivery.md"

// TestDeliveryPage holds the tables of docs/delivery.md to the settings that they
// describe; -update writes them anew.
func TestDeliveryPage(t *testing.T) {
	text := readPage(t)
	for name, table := range map[string]string{"limits": limitsTable(t), "roles": rolesTable(t)} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(text, begin)
		old, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s has no table %q", deliveryPage, name)
		}
		if old != table && !*update {
			t.Errorf("%s: the table %q is not that of the code; `go test ./internal/config -update` writes it:\n%s", deliveryPage, name, table)
		}
		text = before + begin + table + end + after
	}
	if *update {
		if err := os.WriteFile(deliveryPage, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func readPage(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(deliveryPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func limitsTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| `limits` | default | |\n|---|---|---|\n")
	for _, p := range describe(reflect.ValueOf(config.Default().Limits), "limits", comments(t)).Properties {
		fmt.Fprintf(&b, "| `%s` | %v | %s |\n", p.name, p.Default, p.Description)
	}
	return b.String()
}

func rolesTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| `roles` | what it does | `wall_clock` of a turn |\n|---|---|---|\n")
	about := map[string]string{}
	for _, p := range describe(reflect.ValueOf(config.Default().Roles), "roles", comments(t)).Properties {
		about[p.name] = p.Description
	}
	for _, role := range agentsig.Roles() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", role, about[string(role)], short(config.Default().Role(role).WallClock))
	}
	return b.String()
}

// TestDeliveryPageExamples reads the settings and the plan that the page shows.
func TestDeliveryPageExamples(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "prompts"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("prompts/developer.md", "")
	for _, text := range examples(t, "yaml") {
		write(config.File, text)
		if _, err := config.Load(filepath.Join(dir, config.File)); err != nil {
			t.Errorf("the settings\n%s: %v", text, err)
		}
	}
	for _, text := range examples(t, "markdown") {
		p, err := plan.Parse([]byte(text))
		if err != nil || len(p.Tasks) != 2 || len(p.Checks) != 1 {
			t.Errorf("the plan has %d tasks and %d checks: %v", len(p.Tasks), len(p.Checks), err)
		}
	}
}

// examples returns the blocks of code in a language.
func examples(t *testing.T, language string) []string {
	t.Helper()
	parts := strings.Split(readPage(t), "```"+language+"\n")[1:]
	if len(parts) == 0 {
		t.Fatalf("%s has no example in %s", deliveryPage, language)
	}
	for i := range parts {
		parts[i], _, _ = strings.Cut(parts[i], "```\n")
	}
	return parts
}
