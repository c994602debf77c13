package cli_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A terminal shows the first part of a long list and says so; elsewhere nothing is left out.
func TestLongList(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a box") // a name that a shell would split
	b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 250 {
		if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: fmt.Sprint("item ", n)}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	list := func(tty bool, args ...string) (lines int, out, said string) {
		t.Helper()
		code, out, said := run(t, command.Env{OutTTY: tty}, append([]string{"work", "list", "--dir", dir}, args...)...)
		if code != 0 {
			t.Fatalf("%v: exit code %d, %s", args, code, said)
		}
		return strings.Count(out, "\n"), out, said
	}
	lines, out, said := list(true)
	if last := strings.Fields(out[strings.LastIndex(strings.TrimSpace(out), "\n"):])[0]; lines != 101 ||
		said != fmt.Sprintf("there is more: signalbox work list --dir '%s' --after %s\n", dir, last) {
		t.Errorf("%d lines; %s", lines, said)
	}
	if lines, _, said := list(true, "--limit", "200"); lines != 201 || !strings.Contains(said, "--limit 200 --after") {
		t.Errorf("%d lines; %s", lines, said)
	}
	if lines, _, said := list(false); lines != 251 || said != "" {
		t.Errorf("%d lines; %s", lines, said)
	}
	var all []api.Work
	if _, out, said := list(true, "--json"); json.Unmarshal([]byte(out), &all) != nil || len(all) != 250 || said != "" {
		t.Errorf("%d items; %s", len(all), said)
	}
	// What the line says leads on to the end, with nothing twice.
	seen, after := map[string]bool{}, []string{}
	for pages := 0; pages < 10; pages++ {
		var page []api.Work
		_, out, said := list(false, append([]string{"--json", "--limit", "60"}, after...)...)
		if err := json.Unmarshal([]byte(out), &page); err != nil {
			t.Fatal(err)
		}
		for _, w := range page {
			seen[w.ID] = true
		}
		if said == "" {
			break
		}
		var next struct{ Next string }
		if err := json.Unmarshal([]byte(said), &next); err != nil {
			t.Fatalf("%q: %v", said, err)
		}
		after = []string{"--after", next.Next}
	}
	if len(seen) != 250 {
		t.Errorf("%d items on the pages", len(seen))
	}
	for _, args := range [][]string{{"--limit", "0"}, {"--after", "nothing"}, {"--limit", "x"}} {
		if code, _, said := run(t, command.Env{}, append([]string{"work", "list", "--dir", dir}, args...)...); code != command.ExitUsage {
			t.Errorf("%v: exit code %d, %s", args, code, said)
		}
	}
}
